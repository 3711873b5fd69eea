/* windows.c: see windows.h. */
#include "windows.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"

static const gsw_link_ops *ops_of(const gsw_partition *p) {
    return p->context->ops->link;
}

static void free_lists(gsw_windows *w) {
    free(w->wanted);
    free(w->direct);
    free(w->theirs);
    free(w->name);
    free(w->room);
}

/* Memory for so many zeroed values. */
static gsw_status alloc_zeroed(gsw_partition *p, size_t count, size_t size, void *memory) {
    void *made;
    GSW_TRY(gsw_alloc(p->context, count, size, "windows", &made));
    memset(made, 0, count * size);
    memcpy(memory, &made, sizeof made);
    return GSW_SUCCESS;
}

static gsw_status open_own(gsw_windows *w, int value, const unsigned char *wanted,
                           gsw_window_name *name) {
    gsw_partition *p = w->partition;
    const size_t processes = (size_t)p->transport.processes;
    GSW_TRY(alloc_zeroed(p, processes, sizeof *w->name, &w->name));
    GSW_TRY(alloc_zeroed(p, processes, sizeof *w->theirs, &w->theirs));
    GSW_TRY(alloc_zeroed(p, processes, 1, &w->direct));
    GSW_TRY(alloc_zeroed(p, processes, 1, &w->wanted));
    GSW_TRY(alloc_zeroed(p, 1, sizeof *w->room, &w->room));
    memcpy(w->wanted, wanted, processes);
    return ops_of(p)->window_open(p->context, w->bytes, value, &w->own, name);
}

/* What each process tells the others: a bit for each window that it has attached. Processes beyond
 * count as not attached. */
enum { BITS = 8, TOLD = BITS * GSW_ANSWER };

static gsw_status attach(gsw_windows *w, const unsigned char *wanted,
                         unsigned char told[GSW_ANSWER]) {
    gsw_partition *p = w->partition;
    memset(told, 0, GSW_ANSWER);
    for (int i = 0; i < p->transport.processes && i < TOLD; i++) {
        if (!wanted[i])
            continue;
        const gsw_status status = ops_of(p)->window_attach(p->context, &w->name[i], &w->theirs[i]);
        if (status == GSW_SUCCESS)
            told[i / BITS] |= (unsigned char)(1U << i % BITS);
        else if (status != GSW_ERROR_UNSUPPORTED)
            return status;
    }
    return GSW_SUCCESS;
}

/* ---- Idle windows -----------------------------------------------------------------------------
 */

/* Windows with more bytes than that in a process are not kept, nor more of them. */
enum { IDLE_BYTES = 1 << 26, IDLE_MOST = 32 };

/* Whether a window that is idle serves in this process. */
static int serves(const gsw_windows *idle, size_t bytes, const unsigned char *wanted) {
    int all = idle->bytes >= bytes;
    for (int i = 0; i < idle->partition->transport.processes; i++)
        all = all && (idle->wanted[i] || !wanted[i]);
    return all;
}

/* Takes the first idle window that serves in all processes; *windows stays as it is where there is
 * none. The list has the same order in all of them. */
static gsw_status take_idle(gsw_partition *p, size_t bytes, int value, const unsigned char *wanted,
                            gsw_windows *windows) {
    gsw_windows **list = (gsw_windows **)&p->finest->idle_windows, **at;
    uint32_t own = 0, all = UINT32_MAX, other, bit = 1;
    if (!*list)
        return GSW_SUCCESS;
    for (at = list; *at; at = &(*at)->next, bit <<= 1)
        own |= serves(*at, bytes, wanted) ? bit : 0;
    GSW_TRY(gsw_partition_gather(p, &own, sizeof own));
    for (int i = 0; i < p->transport.processes; i++) {
        memcpy(&other, p->answers + (size_t)i * sizeof other, sizeof other);
        all &= other;
    }
    for (at = list, bit = 1; *at && !(all & bit); bit <<= 1)
        at = &(*at)->next;
    if (!*at)
        return GSW_SUCCESS;
    gsw_windows *taken = *at;
    *at = taken->next;
    *windows = *taken;
    windows->room = taken;
    windows->partition = p;
    gsw_status status =
        p->context->ops->memory->set(p->context, windows->own, value, windows->bytes);
    if (status == GSW_SUCCESS)
        status = p->context->ops->synchronize(p->context);
    return gsw_partition_agree(p, status); /* nobody writes before */
}

/* Keeps a window that nobody writes any more. */
static void keep_idle(gsw_windows *windows) {
    gsw_windows **at = (gsw_windows **)&windows->partition->finest->idle_windows;
    gsw_windows *kept = windows->room;
    while (*at)
        at = &(*at)->next;
    *kept = *windows;
    kept->partition = windows->partition->finest;
    kept->next = kept->room = NULL;
    *at = kept;
}

static int count_idle(const gsw_partition *p) {
    int count = 0;
    for (const gsw_windows *w = p->finest->idle_windows; w; w = w->next)
        count++;
    return count;
}

static void detach(const gsw_windows *w) {
    const gsw_partition *p = w->partition;
    for (int i = 0; w->theirs && i < p->transport.processes; i++)
        ops_of(p)->window_detach(p->context, &w->name[i], w->theirs[i]);
}

/* Whether another process may write the own window. */
static int is_reached(const gsw_windows *w) {
    for (int i = 0; i < w->partition->transport.processes; i++)
        if (!w->direct || w->direct[i])
            return 1;
    return 0;
}

/* When the partition ends. */
static void drop_idle(gsw_partition *p) {
    gsw_windows *w, *next;
    for (w = p->idle_windows; w; w = w->next)
        detach(w);
    const int all = !p->broken && gsw_partition_agree(p, GSW_SUCCESS) == GSW_SUCCESS;
    for (w = p->idle_windows; w; w = next) {
        next = w->next;
        if (all || !is_reached(w))
            ops_of(p)->window_close(p->context, w->own);
        free_lists(w);
        free(w);
    }
    p->idle_windows = NULL;
}

/* ---- Opening and closing ----------------------------------------------------------------------
 */

gsw_status gsw_windows_open(gsw_partition *p, size_t bytes, int value, const unsigned char *wanted,
                            gsw_windows *windows) {
    const int processes = p->transport.processes, rank = p->transport.rank;
    const size_t used = (size_t)((processes < TOLD ? processes : TOLD) + BITS - 1) / BITS;
    unsigned char told[GSW_ANSWER];
    struct {
        gsw_window_name name;
        uint64_t bytes;
    } own, other;
    *windows = (gsw_windows){.partition = NULL};
    GSW_TRY(take_idle(p, bytes, value, wanted, windows));
    if (windows->partition)
        return GSW_SUCCESS;
    windows->partition = p;
    windows->bytes = own.bytes = bytes;
    GSW_TRY(gsw_partition_agree(p, open_own(windows, value, wanted, &own.name)));
    GSW_TRY(gsw_partition_gather(p, &own, sizeof own));
    for (int i = 0; i < processes; i++) {
        memcpy(&other, p->answers + (size_t)i * sizeof other, sizeof other);
        windows->name[i] = other.name;
        windows->most = other.bytes > windows->most ? other.bytes : windows->most;
    }
    GSW_TRY(gsw_partition_agree(p, attach(windows, wanted, told)));
    GSW_TRY(gsw_partition_gather(p, told, used));
    for (int i = 0; i < processes && rank < TOLD; i++) {
        const unsigned byte = (unsigned char)p->answers[(size_t)i * used + (size_t)(rank / BITS)];
        windows->direct[i] = byte >> rank % BITS & 1U;
    }
    p->finest->drop_idle = drop_idle;
    return GSW_SUCCESS;
}

void gsw_windows_close(gsw_windows *windows) {
    gsw_partition *p = windows->partition;
    if (!p)
        return;
    (void)p->context->ops->synchronize(p->context);
    const int keeps = windows->most > 0 && windows->most <= IDLE_BYTES && count_idle(p) < IDLE_MOST;
    if (!keeps)
        detach(windows);
    /* Nobody writes the window any more once all have come here. */
    const int all = !p->finest->broken && gsw_partition_agree(p, GSW_SUCCESS) == GSW_SUCCESS;
    if (all && keeps) {
        keep_idle(windows);
    } else {
        if (keeps)
            detach(windows);
        if (windows->own && (all || !is_reached(windows)))
            ops_of(p)->window_close(p->context, windows->own);
        free_lists(windows);
    }
    *windows = (gsw_windows){.partition = NULL};
}
