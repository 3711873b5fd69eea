/* windows.c: see windows.h. */
#include "windows.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"

static const gsw_slab_ops *ops_of(const gsw_partition *p) {
    return p->context->ops->slab;
}

static gsw_status open_own(gsw_windows *w, size_t bytes, int value, gsw_window_name *name) {
    gsw_partition *p = w->partition;
    const size_t processes = (size_t)p->transport.processes;
    void *memory;
    GSW_TRY(gsw_alloc(p->context, processes, sizeof *w->name, "windows", &memory));
    w->name = memory;
    GSW_TRY(gsw_alloc(p->context, processes, sizeof *w->theirs, "windows", &memory));
    w->theirs = memory;
    memset(memory, 0, processes * sizeof *w->theirs);
    GSW_TRY(gsw_alloc(p->context, processes, sizeof *w->direct, "windows", &memory));
    w->direct = memory;
    memset(memory, 0, processes);
    return ops_of(p)->window_open(p->context, bytes, value, &w->own, name);
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

gsw_status gsw_windows_open(gsw_partition *p, size_t bytes, int value, const unsigned char *wanted,
                            gsw_windows *windows) {
    const int processes = p->transport.processes, rank = p->transport.rank;
    const size_t used = (size_t)((processes < TOLD ? processes : TOLD) + BITS - 1) / BITS;
    unsigned char told[GSW_ANSWER];
    gsw_window_name own;
    *windows = (gsw_windows){.partition = p};
    GSW_TRY(gsw_partition_agree(p, open_own(windows, bytes, value, &own)));
    GSW_TRY(gsw_partition_gather(p, &own, sizeof own));
    memcpy(windows->name, p->answers, (size_t)processes * sizeof own);
    GSW_TRY(gsw_partition_agree(p, attach(windows, wanted, told)));
    GSW_TRY(gsw_partition_gather(p, told, used));
    for (int i = 0; i < processes && rank < TOLD; i++) {
        const unsigned byte = (unsigned char)p->answers[(size_t)i * used + (size_t)(rank / BITS)];
        windows->direct[i] = byte >> rank % BITS & 1U;
    }
    return GSW_SUCCESS;
}

void gsw_windows_close(gsw_windows *windows) {
    gsw_partition *p = windows->partition;
    if (!p)
        return;
    (void)p->context->ops->synchronize(p->context);
    for (int i = 0; windows->theirs && i < p->transport.processes; i++)
        ops_of(p)->window_detach(p->context, &windows->name[i], windows->theirs[i]);
    /* Nobody writes the window any more once all have come here. */
    if (!p->finest->broken && gsw_partition_agree(p, GSW_SUCCESS) == GSW_SUCCESS && windows->own)
        ops_of(p)->window_close(p->context, windows->own);
    free(windows->direct);
    free(windows->theirs);
    free(windows->name);
    *windows = (gsw_windows){.partition = NULL};
}
