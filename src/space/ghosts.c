/* ghosts.c: see ghosts.h.
 *
 * WINDOWS. Two sets of ghosts in each window take turns, so that a process may write the next
 * ghosts while the other one still reads the last ones. It writes those after the next only after
 * its own next exchange has ended, so after the other one has begun that exchange. By then the
 * other one has queued all work that reads the set before, and its stream has passed that work.
 * Therefore two peers always post to each other and wait for each other, also where only one of
 * them has anything to give. */
#include "ghosts.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
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

static gsw_box grown(const gsw_box *box, const gsw_reach *reach) {
    gsw_box around = *box;
    for (int axis = 0; axis < 3; axis++) {
        around.begin[axis] -= reach->before[axis];
        around.end[axis] += reach->after[axis];
    }
    return around;
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
    const gsw_box around = grown(&mine, &reach);
    return coupled ? gsw_box_intersection(&around, &theirs) : (gsw_box){{0, 0, 0}, {0, 0, 0}};
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

/* ---- Opening ----------------------------------------------------------------------------------
 */

/* Whose points a process wants: those that a stencil reaches, or those of a box. */
typedef struct request {
    const gsw_partition *p;
    const gsw_stencil *stencil;
    const gsw_box *wanted; /* NULL: the stencil says */
    int64_t turns[3];      /* how often boxes lead around the grid at most, in either direction */
} request;

/* The ways around the grid, each of which is so many turns along each axis. */
static int ways_of(const request *q) {
    return (int)((2 * q->turns[0] + 1) * (2 * q->turns[1] + 1) * (2 * q->turns[2] + 1));
}

/* A box moved the way around the grid, or back (sign -1). */
static gsw_box turned(const request *q, const gsw_box *box, int way, int sign) {
    const int64_t extent[3] = {q->p->grid.nx, q->p->grid.ny, q->p->grid.nz};
    gsw_box moved = *box;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t ways = 2 * q->turns[axis] + 1;
        const int64_t by = sign * extent[axis] * (way % ways - q->turns[axis]);
        way = (int)(way / ways);
        moved.begin[axis] += by;
        moved.end[axis] += by;
    }
    return moved;
}

/* Finds how often the boxes lead around. */
static void find_turns(request *q) {
    const int64_t extent[3] = {q->p->grid.nx, q->p->grid.ny, q->p->grid.nz};
    for (int axis = 0; axis < 3; axis++)
        for (int r = 0; r < q->p->transport.processes && q->p->grid.periodic >> axis & 1; r++) {
            const int64_t n = extent[axis];
            const int64_t before = (n - 1 - q->wanted[r].begin[axis]) / n;
            const int64_t after = (q->wanted[r].end[axis] - 1) / n;
            const int64_t most = before > after ? before : after;
            q->turns[axis] = most > q->turns[axis] ? most : q->turns[axis];
        }
}

/* Points of `from` that `to` takes on one of the ways around the grid. Kernels of devices take
 * ghosts of adjacent planes, also of those that no coupling leads to. */
static gsw_box take_of(const request *q, int to, int from, int way) {
    const gsw_box mine = gsw_partition_box(q->p, to), theirs = gsw_partition_box(q->p, from);
    if (!q->wanted && q->p->context->ops->link->on_host)
        return gsw_ghosts_of(q->p, q->stencil, 0, q->stencil->count, to, from);
    if (to == from && way == ways_of(q) / 2)
        return (gsw_box){{0, 0, 0}, {0, 0, 0}};
    if (q->wanted) {
        const gsw_box there = turned(q, &theirs, way, 1);
        return gsw_box_intersection(&q->wanted[to], &there);
    }
    const gsw_reach reach = gsw_reach_of(q->stencil, 0, q->stencil->count);
    const gsw_box around = grown(&mine, &reach);
    return gsw_box_intersection(&around, &theirs);
}

/* Memory for messages, where no windows serve. */
static gsw_status open_messages(gsw_partition *p, gsw_ghost_peer *peer) {
    void *memory;
    GSW_TRY(gsw_partition_alloc(p, (size_t)gsw_box_points(&peer->take), sizeof(double), "ghosts",
                                &memory));
    peer->message = memory;
    GSW_TRY(gsw_partition_alloc(p, (size_t)gsw_box_points(&peer->give), sizeof(double), "ghosts",
                                &memory));
    peer->out = memory;
    return GSW_SUCCESS;
}

static gsw_status open_peers(const request *q, gsw_ghosts *ghosts) {
    gsw_partition *p = ghosts->partition;
    const int processes = p->transport.processes, rank = p->transport.rank, ways = ways_of(q);
    void *memory;
    GSW_TRY(gsw_alloc(p->context, (size_t)processes, (size_t)ways * sizeof *ghosts->peer, "ghosts",
                      &memory));
    ghosts->peer = memory;
    for (int process = 0; process < processes; process++)
        for (int way = 0; way < ways; way++) {
            const gsw_box take = take_of(q, rank, process, way);
            const gsw_box given = take_of(q, process, rank, way);
            if (gsw_box_points(&take) > 0 || gsw_box_points(&given) > 0)
                ghosts->peer[ghosts->peers++] = (gsw_ghost_peer){
                    .process = process, .take = take, .give = turned(q, &given, way, -1)};
        }
    return GSW_SUCCESS;
}

/* Bytes of a window before the ghosts: a counter for each process. */
static size_t header_of(const gsw_partition *p) {
    return ((size_t)p->transport.processes * sizeof(uint64_t) + 255) / 256 * 256;
}

/* The points of a set of process `of`; *place: where those of process `from` begin. Without ways
 * around the grid. */
static int64_t set_of(const request *q, int of, int from, int64_t *place) {
    int64_t points = 0;
    for (int process = 0; process < q->p->transport.processes; process++) {
        const gsw_box take = take_of(q, of, process, 0);
        if (process == from)
            *place = points;
        points += gsw_box_points(&take);
    }
    return points;
}

static gsw_status plan_windows(const request *q, gsw_ghosts *ghosts, unsigned char **wanted) {
    gsw_partition *p = ghosts->partition;
    const int rank = p->transport.rank;
    void *memory;
    GSW_TRY(gsw_alloc(p->context, (size_t)p->transport.processes, 1, "windows", &memory));
    *wanted = memory;
    memset(*wanted, 0, (size_t)p->transport.processes);
    for (int i = 0; i < ghosts->peers; i++) {
        gsw_ghost_peer *peer = &ghosts->peer[i];
        if (ways_of(q) > 1) { /* in host memory, where no other process writes */
            peer->place = ghosts->set;
            ghosts->set += gsw_box_points(&peer->take);
            continue;
        }
        ghosts->set = set_of(q, rank, peer->process, &peer->place);
        peer->pitch = set_of(q, peer->process, rank, &peer->to);
        (*wanted)[peer->process] = 1;
    }
    return GSW_SUCCESS;
}

static gsw_status open_windows(const request *q, gsw_ghosts *ghosts) {
    gsw_partition *p = ghosts->partition;
    unsigned char *wanted = NULL;
    gsw_status status = gsw_partition_agree(p, plan_windows(q, ghosts, &wanted));
    if (status == GSW_SUCCESS)
        status = gsw_windows_open(p, header_of(p) + 2 * (size_t)ghosts->set * sizeof(double), 0,
                                  wanted, &ghosts->windows);
    free(wanted);
    for (int i = 0; status == GSW_SUCCESS && i < ghosts->peers; i++) {
        gsw_ghost_peer *peer = &ghosts->peer[i];
        peer->window =
            ghosts->windows.direct[peer->process] ? ghosts->windows.theirs[peer->process] : NULL;
        if (!peer->window)
            status = open_messages(p, peer);
    }
    return gsw_partition_agree(p, status);
}

static gsw_status open_ghosts(const request *q, gsw_partition *p, gsw_ghosts *ghosts) {
    ghosts->partition = p;
    gsw_status status = open_peers(q, ghosts);
    if (p->transport.processes == 1)
        return status;
    status = gsw_partition_agree(p, status);
    return status == GSW_SUCCESS ? open_windows(q, ghosts) : status;
}

gsw_status gsw_ghosts_open(gsw_partition *p, const gsw_stencil *stencil, gsw_ghosts *ghosts) {
    *ghosts = (gsw_ghosts){.value = sizeof(double), .frame = gsw_frame_of(p, stencil)};
    return open_ghosts(&(request){.p = p, .stencil = stencil}, p, ghosts);
}

gsw_status gsw_ghosts_open_boxes(gsw_partition *p, const gsw_box *wanted, gsw_ghosts *ghosts) {
    const int rank = p->transport.rank;
    *ghosts = (gsw_ghosts){.value = sizeof(double)};
    for (int axis = 0; axis < 3; axis++) {
        ghosts->frame.n[axis] = p->own.end[axis] - p->own.begin[axis];
        ghosts->frame.low[axis] = p->own.begin[axis] - wanted[rank].begin[axis];
        ghosts->frame.e[axis] = wanted[rank].end[axis] - wanted[rank].begin[axis];
    }
    request q = {.p = p, .wanted = wanted};
    find_turns(&q);
    return open_ghosts(&q, p, ghosts);
}

void gsw_ghosts_close(gsw_ghosts *ghosts) {
    gsw_partition *p = ghosts->partition;
    for (int i = 0; i < ghosts->peers; i++) {
        gsw_ghost_peer *peer = &ghosts->peer[i];
        gsw_partition_free(p, peer->message);
        gsw_partition_free(p, peer->out);
    }
    gsw_windows_close(&ghosts->windows);
    free(ghosts->peer);
    *ghosts = (gsw_ghosts){0};
}

/* ---- Exchanges --------------------------------------------------------------------------------
 */

gsw_status gsw_ghosts_copy(const gsw_ghosts *ghosts, const gsw_box *box, int framed,
                           const void *array, void *dense, int to_dense) {
    const gsw_partition *p = ghosts->partition;
    const gsw_frame *frame = &ghosts->frame;
    gsw_box_array place = {.value = ghosts->value};
    for (int axis = 0; axis < 3; axis++) {
        place.origin[axis] = p->own.begin[axis] - (framed ? frame->low[axis] : 0);
        place.extent[axis] = framed ? frame->e[axis] : frame->n[axis];
    }
    return p->context->ops->link->copy_box(p->context, box, &place, (void *)(uintptr_t)array, dense,
                                           to_dense);
}

static uint64_t *counter_of(void *window, int process) {
    return (uint64_t *)window + process;
}

/* Where ghosts of the current exchange lie in a window. The sets stay where they are when the size
 * of a value changes. */
static char *place_in(const gsw_ghosts *ghosts, char *window, int64_t pitch, int64_t place) {
    const size_t set = (size_t)(ghosts->round % 2) * (size_t)pitch * sizeof(double);
    return window + header_of(ghosts->partition) + set + (size_t)place * ghosts->value;
}

static gsw_status send_to(gsw_ghosts *ghosts, gsw_ghost_peer *peer, const void *x) {
    gsw_partition *p = ghosts->partition;
    gsw_context *context = p->context;
    const gsw_link_ops *link = context->ops->link;
    const size_t bytes = (size_t)gsw_box_points(&peer->give) * ghosts->value;
    if (peer->window) {
        if (bytes > 0)
            GSW_TRY(gsw_ghosts_copy(ghosts, &peer->give, 0, x,
                                    place_in(ghosts, peer->window, peer->pitch, peer->to), 1));
        return link->post(context, counter_of(peer->window, p->transport.rank), ghosts->round);
    }
    if (bytes == 0)
        return GSW_SUCCESS;
    if (peer->process == p->transport.rank)
        return gsw_ghosts_copy(ghosts, &peer->give, 0, x,
                               place_in(ghosts, ghosts->windows.own, ghosts->set, peer->place), 1);
    GSW_TRY(gsw_ghosts_copy(ghosts, &peer->give, 0, x, peer->out, 1));
    return gsw_partition_send(p, peer->process, GSW_TAG_GHOSTS, peer->out, bytes, &peer->sending);
}

gsw_status gsw_ghosts_begin(gsw_ghosts *ghosts, const void *x) {
    gsw_partition *p = ghosts->partition;
    ghosts->round++;
    for (int i = 0; i < ghosts->peers; i++) {
        gsw_ghost_peer *peer = &ghosts->peer[i];
        const size_t bytes = (size_t)gsw_box_points(&peer->take) * ghosts->value;
        if (bytes > 0 && !peer->window && peer->process != p->transport.rank)
            GSW_TRY(gsw_partition_receive(p, peer->process, GSW_TAG_GHOSTS, peer->message, bytes,
                                          &peer->receiving));
    }
    for (int i = 0; i < ghosts->peers; i++)
        GSW_TRY(send_to(ghosts, &ghosts->peer[i], x));
    return GSW_SUCCESS;
}

static gsw_status receive_from(gsw_ghosts *ghosts, gsw_ghost_peer *peer) {
    gsw_partition *p = ghosts->partition;
    gsw_context *context = p->context;
    const size_t bytes = (size_t)gsw_box_points(&peer->take) * ghosts->value;
    peer->in = place_in(ghosts, ghosts->windows.own, ghosts->set, peer->place);
    if (peer->window)
        return context->ops->link->await(context, counter_of(ghosts->windows.own, peer->process),
                                         ghosts->round, p->wait_limit);
    if (peer->process == p->transport.rank)
        return GSW_SUCCESS;
    GSW_TRY(gsw_partition_wait(p, peer->process, &peer->receiving));
    GSW_TRY(gsw_partition_wait(p, peer->process, &peer->sending));
    return bytes > 0 ? context->ops->memory->upload(context, peer->in, peer->message, bytes)
                     : GSW_SUCCESS;
}

gsw_status gsw_ghosts_end(gsw_ghosts *ghosts) {
    gsw_partition *p = ghosts->partition;
    gsw_status status = GSW_SUCCESS;
    for (int i = 0; i < ghosts->peers; i++) {
        gsw_ghost_peer *peer = &ghosts->peer[i];
        if (status == GSW_SUCCESS)
            status = receive_from(ghosts, peer);
        if (status != GSW_SUCCESS) {
            gsw_partition_abandon(p, &peer->receiving);
            gsw_partition_abandon(p, &peer->sending);
        }
    }
    return status;
}

/* ---- Frames -----------------------------------------------------------------------------------
 */

gsw_status gsw_ghosts_put_others(const gsw_ghosts *ghosts, void *frame) {
    for (int i = 0; i < ghosts->peers; i++) {
        const gsw_ghost_peer *peer = &ghosts->peer[i];
        if (gsw_box_points(&peer->take) > 0)
            GSW_TRY(gsw_ghosts_copy(ghosts, &peer->take, 1, frame, peer->in, 0));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_ghosts_update(gsw_ghosts *ghosts, const void *x, void *frame) {
    GSW_TRY(gsw_ghosts_begin(ghosts, x));
    GSW_TRY(gsw_ghosts_end(ghosts));
    GSW_TRY(gsw_ghosts_put_own(ghosts, x, frame));
    return gsw_ghosts_put_others(ghosts, frame);
}

gsw_status gsw_ghosts_take_own(const gsw_ghosts *ghosts, const void *frame, void *x) {
    return gsw_ghosts_copy(ghosts, &ghosts->partition->own, 1, frame, x, 1);
}

gsw_status gsw_ghosts_put_own(const gsw_ghosts *ghosts, const void *x, void *frame) {
    return gsw_ghosts_copy(ghosts, &ghosts->partition->own, 1, frame, (void *)(uintptr_t)x, 0);
}

/* Whether the ghosts of a peer, which begin at `next`, continue those in the patch. */
static int continues(const gsw_patch *patch, const gsw_patch *next) {
    int64_t points = patch->end[2] - patch->begin[2];
    int same = patch->end[2] == next->begin[2];
    for (int axis = 0; axis < 2; axis++) {
        points *= patch->end[axis] - patch->begin[axis];
        same =
            same && patch->begin[axis] == next->begin[axis] && patch->end[axis] == next->end[axis];
    }
    return same && next->x == patch->x + points;
}

int gsw_ghosts_patches(const gsw_ghosts *ghosts, const double *x, gsw_patch *patch) {
    const gsw_box *own = &ghosts->partition->own;
    int count = 1;
    patch[0] = (gsw_patch){.x = x};
    memcpy(patch[0].end, ghosts->frame.n, sizeof patch[0].end);
    for (int i = 0; i < ghosts->peers; i++) {
        const gsw_ghost_peer *peer = &ghosts->peer[i];
        gsw_patch *next = &patch[count];
        if (gsw_box_points(&peer->take) == 0)
            continue;
        *next = (gsw_patch){.x = peer->in};
        for (int axis = 0; axis < 3; axis++) {
            next->begin[axis] = peer->take.begin[axis] - own->begin[axis];
            next->end[axis] = peer->take.end[axis] - own->begin[axis];
        }
        if (count > 1 && continues(next - 1, next))
            next[-1].end[2] = next->end[2];
        else
            count++;
    }
    return count;
}
