/* slabs.c: see slabs.h.
 *
 * GHOSTS. Two sets of planes in each window take turns, so that a process may write the next planes
 * while its neighbour still reads the last ones. It writes those after the next only after its own
 * next exchange has ended, so after its neighbour has begun that exchange. By then the neighbour
 * has queued all work that reads the set before, and its stream has passed that work. */
#include "slabs.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "ghosts.h"

static const gsw_slab_ops *ops_of(const gsw_partition *p) {
    return p->context->ops->slab;
}

static int other(int side) {
    return side == GSW_BELOW ? GSW_ABOVE : GSW_BELOW;
}

gsw_status gsw_slabs_check(const gsw_partition *p) {
    if (p->shape[0] == 1 && p->shape[1] == 1)
        return GSW_SUCCESS;
    return gsw_fail(p->context, GSW_ERROR_UNSUPPORTED,
                    "the backend %s takes slabs in z, not %d x %d x %d boxes",
                    gsw_backend_name(p->context->backend), (int)p->shape[0], (int)p->shape[1],
                    (int)p->shape[2]);
}

/* ---- Links ------------------------------------------------------------------------------------
 */

typedef struct introduction {
    gsw_window_name name;
    int64_t place[2];
} introduction;

static gsw_status introduce(gsw_slab_link *link, const introduction *own) {
    gsw_partition *p = link->partition;
    GSW_TRY(gsw_partition_gather(p, own, sizeof *own));
    for (int side = 0; side < 2; side++) {
        introduction theirs;
        if (link->process[side] < 0)
            continue;
        memcpy(&theirs, p->answers + (size_t)link->process[side] * sizeof theirs, sizeof theirs);
        link->theirs[side] = theirs.name;
        memcpy(link->place[side], theirs.place, sizeof theirs.place);
    }
    return GSW_SUCCESS;
}

/* Attaches what can be attached. What cannot is no failure: messages take its place. */
static gsw_status attach(gsw_slab_link *link) {
    gsw_partition *p = link->partition;
    int32_t mine[2] = {0, 0}, theirs[2];
    for (int side = 0; side < 2; side++) {
        if (link->process[side] < 0)
            continue;
        const gsw_status status =
            ops_of(p)->window_attach(p->context, &link->theirs[side], &link->attached[side]);
        if (status != GSW_SUCCESS && status != GSW_ERROR_UNSUPPORTED)
            return gsw_partition_agree(p, status);
        mine[side] = status == GSW_SUCCESS;
    }
    GSW_TRY(gsw_partition_agree(p, GSW_SUCCESS));
    GSW_TRY(gsw_partition_gather(p, mine, sizeof mine));
    for (int side = 0; side < 2; side++) {
        if (link->process[side] < 0)
            continue;
        memcpy(theirs, p->answers + (size_t)link->process[side] * sizeof theirs, sizeof theirs);
        link->direct[side] = theirs[other(side)];
    }
    return GSW_SUCCESS;
}

gsw_status gsw_slab_link_open(gsw_partition *p, size_t bytes, int value, const int64_t place[2],
                              gsw_slab_link *link) {
    const int rank = p->transport.rank, processes = p->transport.processes;
    introduction own = {.place = {place[0], place[1]}};
    *link = (gsw_slab_link){
        .partition = p,
        .process = {rank > 0 ? rank - 1 : -1, rank + 1 < processes ? rank + 1 : -1}};
    GSW_TRY(gsw_partition_agree(
        p, ops_of(p)->window_open(p->context, bytes, value, &link->window, &own.name)));
    GSW_TRY(introduce(link, &own));
    return attach(link);
}

void gsw_slab_link_close(gsw_slab_link *link) {
    gsw_partition *p = link->partition;
    if (!p)
        return;
    (void)p->context->ops->synchronize(p->context);
    for (int side = 0; side < 2; side++)
        ops_of(p)->window_detach(p->context, &link->theirs[side], link->attached[side]);
    /* Nobody writes the window any more once all have come here. */
    if (!p->finest->broken && gsw_partition_agree(p, GSW_SUCCESS) == GSW_SUCCESS)
        ops_of(p)->window_close(p->context, link->window);
    *link = (gsw_slab_link){.partition = NULL};
}

/* ---- Ghosts -----------------------------------------------------------------------------------
 */

enum { HEADER = 256 }; /* bytes of a window before the planes: a counter for each side */

/* Where the planes that come from `side` lie in a window. */
static size_t place_of(const gsw_slab_ghosts *g, int side) {
    const int64_t before = (int64_t)(g->round % 2) * (g->room[0] + g->room[1]);
    return HEADER +
           (size_t)((before + (side == GSW_ABOVE ? g->room[0] : 0)) * g->plane) * sizeof(double);
}

static uint64_t *counter_of(void *window, int side) {
    return (uint64_t *)window + side;
}

static size_t bytes_of(const gsw_slab_ghosts *g, int64_t planes) {
    return (size_t)(planes * g->plane) * sizeof(double);
}

static gsw_status open_messages(gsw_slab_ghosts *g, gsw_partition *p) {
    for (int side = 0; side < 2; side++) {
        void *memory;
        if (g->link.process[side] < 0)
            continue;
        if (!g->link.direct[side]) {
            GSW_TRY(gsw_partition_alloc(p, 1, bytes_of(g, g->take[side]), "ghosts", &memory));
            g->in[side] = memory;
        }
        if (!g->link.attached[side]) {
            GSW_TRY(gsw_partition_alloc(p, 1, bytes_of(g, g->give[side]), "ghosts", &memory));
            g->out[side] = memory;
        }
    }
    return GSW_SUCCESS;
}

gsw_status gsw_slab_ghosts_open(gsw_partition *p, const gsw_stencil *stencil,
                                gsw_slab_ghosts *ghosts) {
    const gsw_reach reach = gsw_reach_of(stencil, 0, stencil->count);
    const int64_t nowhere[2] = {0, 0};
    gsw_slab_ghosts *g = ghosts;
    *g = (gsw_slab_ghosts){.plane = p->grid.nx * p->grid.ny,
                           .nz = p->own.end[2] - p->own.begin[2],
                           .room = {reach.before[2], reach.after[2]}};
    if (p->transport.processes == 1 || reach.before[2] + reach.after[2] == 0)
        return GSW_SUCCESS;
    for (int32_t i = 0; i < p->shape[2]; i++) {
        if (p->cuts[2][i + 1] - p->cuts[2][i] < reach.before[2] ||
            p->cuts[2][i + 1] - p->cuts[2][i] < reach.after[2])
            return gsw_fail(p->context, GSW_ERROR_UNSUPPORTED,
                            "the slab of process %d is thinner than the stencil's reach", (int)i);
    }
    GSW_TRY(gsw_slab_link_open(p, HEADER + 2 * bytes_of(g, g->room[0] + g->room[1]), 0, nowhere,
                               &g->link));
    g->take[GSW_BELOW] = g->link.process[GSW_BELOW] < 0 ? 0 : reach.before[2];
    g->take[GSW_ABOVE] = g->link.process[GSW_ABOVE] < 0 ? 0 : reach.after[2];
    g->give[GSW_BELOW] = g->link.process[GSW_BELOW] < 0 ? 0 : reach.after[2];
    g->give[GSW_ABOVE] = g->link.process[GSW_ABOVE] < 0 ? 0 : reach.before[2];
    return open_messages(g, p);
}

void gsw_slab_ghosts_close(gsw_slab_ghosts *ghosts) {
    gsw_partition *p = ghosts->link.partition;
    for (int side = 0; p && side < 2; side++) {
        gsw_partition_free(p, ghosts->in[side]);
        gsw_partition_free(p, ghosts->out[side]);
    }
    gsw_slab_link_close(&ghosts->link);
}

static gsw_status give(gsw_slab_ghosts *g, int side, const double *x) {
    gsw_partition *p = g->link.partition;
    const double *from = side == GSW_BELOW ? x : x + (g->nz - g->give[side]) * g->plane;
    const size_t bytes = bytes_of(g, g->give[side]);
    char *window = g->link.attached[side];
    if (bytes == 0)
        return GSW_SUCCESS;
    if (window) {
        GSW_TRY(ops_of(p)->put(p->context, window + place_of(g, other(side)), from, bytes));
        return ops_of(p)->post(p->context, counter_of(window, other(side)), g->round);
    }
    GSW_TRY(p->context->ops->download(p->context, g->out[side], from, bytes));
    return gsw_partition_send(p, g->link.process[side], GSW_TAG_GHOSTS, g->out[side], bytes,
                              &g->sending[side]);
}

gsw_status gsw_slab_ghosts_begin(gsw_slab_ghosts *ghosts, const double *x) {
    gsw_slab_ghosts *g = ghosts;
    gsw_partition *p = g->link.partition;
    if (!p)
        return GSW_SUCCESS;
    g->round++;
    for (int side = 0; side < 2; side++) {
        if (g->take[side] > 0 && !g->link.direct[side])
            GSW_TRY(gsw_partition_receive(p, g->link.process[side], GSW_TAG_GHOSTS, g->in[side],
                                          bytes_of(g, g->take[side]), &g->receiving[side]));
    }
    for (int side = 0; side < 2; side++)
        GSW_TRY(give(g, side, x));
    return GSW_SUCCESS;
}

static gsw_status take(gsw_slab_ghosts *g, int side) {
    gsw_partition *p = g->link.partition;
    const size_t bytes = bytes_of(g, g->take[side]);
    if (bytes == 0)
        return GSW_SUCCESS;
    if (g->link.direct[side])
        return ops_of(p)->await(p->context, counter_of(g->link.window, side), g->round,
                                p->wait_limit);
    GSW_TRY(gsw_partition_wait(p, g->link.process[side], &g->receiving[side]));
    return p->context->ops->upload(p->context, (char *)g->link.window + place_of(g, side),
                                   g->in[side], bytes);
}

gsw_status gsw_slab_ghosts_end(gsw_slab_ghosts *ghosts, const double *planes[2]) {
    gsw_slab_ghosts *g = ghosts;
    gsw_partition *p = g->link.partition;
    planes[GSW_BELOW] = planes[GSW_ABOVE] = NULL;
    for (int side = 0; p && side < 2; side++) {
        GSW_TRY(take(g, side));
        if (g->take[side] > 0)
            planes[side] =
                (const double *)(const void *)((char *)g->link.window + place_of(g, side));
        if (g->sending[side])
            GSW_TRY(gsw_partition_wait(p, g->link.process[side], &g->sending[side]));
    }
    return GSW_SUCCESS;
}
