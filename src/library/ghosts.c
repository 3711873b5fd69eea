/* ghosts.c: see ghosts.h. */
#include "ghosts.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/error.h"

gsw_reach gsw_reach_of(const gsw_stencil *stencil, int32_t first, int32_t end) {
    gsw_reach reach = {{0, 0, 0}, {0, 0, 0}};
    for (int32_t e = first; e < end; e++) {
        const int32_t d[3] = {stencil->offsets[e].dx, stencil->offsets[e].dy,
                              stencil->offsets[e].dz};
        for (int axis = 0; axis < 3; axis++) {
            if (-d[axis] > reach.before[axis])
                reach.before[axis] = -d[axis];
            if (d[axis] > reach.after[axis])
                reach.after[axis] = d[axis];
        }
    }
    return reach;
}

gsw_box gsw_ghosts_of(const gsw_partition *p, const gsw_stencil *stencil, int32_t first,
                      int32_t end, int to, int from) {
    const gsw_box mine = gsw_partition_box(p, to), theirs = gsw_partition_box(p, from);
    const gsw_reach reach = gsw_reach_of(stencil, first, end);
    int coupled = 0;
    for (int32_t e = first; e < end && !coupled && to != from; e++) {
        const gsw_box moved = gsw_box_shifted(&mine, stencil->offsets[e]);
        const gsw_box met = gsw_box_intersection(&moved, &theirs);
        coupled = gsw_box_points(&met) > 0;
    }
    gsw_box grown = mine;
    for (int axis = 0; axis < 3; axis++) {
        grown.begin[axis] -= reach.before[axis];
        grown.end[axis] += reach.after[axis];
    }
    return coupled ? gsw_box_intersection(&grown, &theirs) : (gsw_box){{0, 0, 0}, {0, 0, 0}};
}

gsw_frame gsw_frame_of(const gsw_partition *p, const gsw_stencil *stencil) {
    const int64_t extent[3] = {p->grid.nx, p->grid.ny, p->grid.nz};
    const gsw_reach reach = gsw_reach_of(stencil, 0, stencil->count);
    gsw_frame frame;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t before = p->own.begin[axis], after = extent[axis] - p->own.end[axis];
        const int64_t high = reach.after[axis] < after ? reach.after[axis] : after;
        frame.n[axis] = p->own.end[axis] - p->own.begin[axis];
        frame.low[axis] = reach.before[axis] < before ? reach.before[axis] : before;
        frame.e[axis] = frame.low[axis] + frame.n[axis] + high;
    }
    return frame;
}

static gsw_status open_peer(gsw_ghosts *ghosts, int process, const gsw_box *take,
                            const gsw_box *give) {
    gsw_ghost_peer *peer = &ghosts->peer[ghosts->peers++];
    void *memory;
    *peer = (gsw_ghost_peer){.process = process, .take = *take, .give = *give};
    GSW_TRY(gsw_partition_alloc(ghosts->partition, (size_t)gsw_box_points(take), sizeof(double),
                                "ghosts", &memory));
    peer->in = memory;
    GSW_TRY(gsw_partition_alloc(ghosts->partition, (size_t)gsw_box_points(give), sizeof(double),
                                "ghosts", &memory));
    peer->out = memory;
    return GSW_SUCCESS;
}

static gsw_status open_peers(gsw_partition *p, gsw_ghosts *ghosts) {
    void *memory;
    *ghosts = (gsw_ghosts){.partition = p};
    GSW_TRY(gsw_alloc(p->context, (size_t)p->transport.processes, sizeof *ghosts->peer, "ghosts",
                      &memory));
    ghosts->peer = memory;
    return GSW_SUCCESS;
}

gsw_status gsw_ghosts_open(gsw_partition *p, const gsw_stencil *stencil, gsw_ghosts *ghosts) {
    const int rank = p->transport.rank;
    GSW_TRY(open_peers(p, ghosts));
    ghosts->frame = gsw_frame_of(p, stencil);
    for (int process = 0; process < p->transport.processes; process++) {
        const gsw_box take = gsw_ghosts_of(p, stencil, 0, stencil->count, rank, process);
        const gsw_box give = gsw_ghosts_of(p, stencil, 0, stencil->count, process, rank);
        if (gsw_box_points(&take) > 0 || gsw_box_points(&give) > 0)
            GSW_TRY(open_peer(ghosts, process, &take, &give));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_ghosts_open_boxes(gsw_partition *p, const gsw_box *wanted, gsw_ghosts *ghosts) {
    const int rank = p->transport.rank;
    GSW_TRY(open_peers(p, ghosts));
    for (int axis = 0; axis < 3; axis++) {
        ghosts->frame.n[axis] = p->own.end[axis] - p->own.begin[axis];
        ghosts->frame.low[axis] = p->own.begin[axis] - wanted[rank].begin[axis];
        ghosts->frame.e[axis] = wanted[rank].end[axis] - wanted[rank].begin[axis];
    }
    for (int process = 0; process < p->transport.processes; process++) {
        const gsw_box theirs = gsw_partition_box(p, process);
        const gsw_box take = gsw_box_intersection(&wanted[rank], &theirs);
        const gsw_box give = gsw_box_intersection(&wanted[process], &p->own);
        if (process != rank && (gsw_box_points(&take) > 0 || gsw_box_points(&give) > 0))
            GSW_TRY(open_peer(ghosts, process, &take, &give));
    }
    return GSW_SUCCESS;
}

void gsw_ghosts_close(gsw_ghosts *ghosts) {
    for (int i = 0; i < ghosts->peers; i++) {
        gsw_partition_free(ghosts->partition, ghosts->peer[i].in);
        gsw_partition_free(ghosts->partition, ghosts->peer[i].out);
    }
    free(ghosts->peer);
    *ghosts = (gsw_ghosts){0};
}

/* Copies a box of the grid between an array of the own box, or of the frame, and dense values. */
static void copy_box(const gsw_box *box, const int64_t origin[3], const int64_t extent[3],
                     double *array, double *dense, int to_dense) {
    const size_t length = (size_t)(box->end[0] - box->begin[0]);
    for (int64_t z = box->begin[2]; z < box->end[2]; z++) {
        for (int64_t y = box->begin[1]; y < box->end[1]; y++) {
            double *line = array + (box->begin[0] - origin[0]) +
                           extent[0] * ((y - origin[1]) + extent[1] * (z - origin[2]));
            memcpy(to_dense ? dense : line, to_dense ? line : dense, length * sizeof *dense);
            dense += length;
        }
    }
}

gsw_status gsw_ghosts_begin(gsw_ghosts *ghosts, const double *x) {
    gsw_partition *p = ghosts->partition;
    for (int i = 0; i < ghosts->peers; i++) {
        gsw_ghost_peer *peer = &ghosts->peer[i];
        const size_t bytes = (size_t)gsw_box_points(&peer->take) * sizeof *x;
        if (bytes > 0)
            GSW_TRY(gsw_partition_receive(p, peer->process, GSW_TAG_GHOSTS, peer->in, bytes,
                                          &peer->receiving));
    }
    for (int i = 0; i < ghosts->peers; i++) {
        gsw_ghost_peer *peer = &ghosts->peer[i];
        const size_t bytes = (size_t)gsw_box_points(&peer->give) * sizeof *x;
        if (bytes == 0)
            continue;
        copy_box(&peer->give, p->own.begin, ghosts->frame.n, (double *)(uintptr_t)x, peer->out, 1);
        GSW_TRY(
            gsw_partition_send(p, peer->process, GSW_TAG_GHOSTS, peer->out, bytes, &peer->sending));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_ghosts_end(gsw_ghosts *ghosts) {
    gsw_partition *p = ghosts->partition;
    gsw_status status = GSW_SUCCESS;
    for (int i = 0; i < ghosts->peers; i++) {
        gsw_ghost_peer *peer = &ghosts->peer[i];
        if (status == GSW_SUCCESS)
            status = gsw_partition_wait(p, peer->process, &peer->receiving);
        if (status == GSW_SUCCESS)
            status = gsw_partition_wait(p, peer->process, &peer->sending);
        if (status != GSW_SUCCESS) {
            gsw_partition_abandon(p, &peer->receiving);
            gsw_partition_abandon(p, &peer->sending);
        }
    }
    return status;
}

/* The first point of the frame, in the grid. */
static void find_origin(const gsw_ghosts *ghosts, int64_t origin[3]) {
    for (int axis = 0; axis < 3; axis++)
        origin[axis] = ghosts->partition->own.begin[axis] - ghosts->frame.low[axis];
}

void gsw_ghosts_put_others(const gsw_ghosts *ghosts, double *frame) {
    int64_t origin[3];
    find_origin(ghosts, origin);
    for (int i = 0; i < ghosts->peers; i++)
        copy_box(&ghosts->peer[i].take, origin, ghosts->frame.e, frame, ghosts->peer[i].in, 0);
}

void gsw_ghosts_fill(const gsw_ghosts *ghosts, const double *x, double *frame) {
    gsw_ghosts_put_own(ghosts, x, frame);
    gsw_ghosts_put_others(ghosts, frame);
}

gsw_status gsw_ghosts_update(gsw_ghosts *ghosts, const double *x, double *frame) {
    GSW_TRY(gsw_ghosts_begin(ghosts, x));
    GSW_TRY(gsw_ghosts_end(ghosts));
    gsw_ghosts_fill(ghosts, x, frame);
    return GSW_SUCCESS;
}

void gsw_ghosts_take_own(const gsw_ghosts *ghosts, const double *frame, double *x) {
    int64_t origin[3];
    find_origin(ghosts, origin);
    copy_box(&ghosts->partition->own, origin, ghosts->frame.e, (double *)(uintptr_t)frame, x, 1);
}

void gsw_ghosts_put_own(const gsw_ghosts *ghosts, const double *x, double *frame) {
    int64_t origin[3];
    find_origin(ghosts, origin);
    copy_box(&ghosts->partition->own, origin, ghosts->frame.e, frame, (double *)(uintptr_t)x, 0);
}
