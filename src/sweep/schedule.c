/* schedule.c: see schedule.h. */
#include "schedule.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/error.h"
#include "geometry/shape.h"
#include "space/ghosts.h"

/* ---- The order --------------------------------------------------------------------------------
 */

typedef struct order {
    int64_t shear, wy, wz; /* of the key */
    int64_t keys;          /* of a block */
    int own_keys;          /* blocks begin with the first key of the process */
} order;

int64_t gsw_schedule_shear(const gsw_stencil *stencil) {
    int64_t shear = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int64_t sign = e < stencil->center ? 1 : -1;
        if (sign * o.dz < 0 && gsw_ceil_div(sign * o.dy, -sign * o.dz) > shear)
            shear = gsw_ceil_div(sign * o.dy, -sign * o.dz);
    }
    return shear;
}

/* Does a coupling of a sweep point back along an axis that is cut? */
static int points_back(const gsw_partition *p, const gsw_stencil *stencil) {
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int sign = e < stencil->center ? 1 : -1;
        if ((p->shape[0] > 1 && sign * o.dx > 0) || (p->shape[1] > 1 && sign * o.dy > 0))
            return 1;
    }
    return 0;
}

/* Blocks are long enough to be worth a message, where that is exact. Slabs in z take bands of lines
 * through all planes, so that the next slab can begin after one band; slabs in y take planes. */
static order order_of(const gsw_partition *p, const gsw_stencil *stencil, int64_t band) {
    const int cut_y = p->shape[1] > 1, cut_z = p->shape[2] > 1;
    const order along_y = {gsw_schedule_shear(stencil), 1, 0, 8, 0},
                along_z = {along_y.shear, 0, 1, 1, 0};
    const order bands = {along_y.shear, 1, 0, band, 1};
    order both = {along_y.shear, 1, 1, 4, 0};
    if (band > 0)
        return bands;
    if (points_back(p, stencil)) {
        both.keys = 1;
        return both;
    }
    if (cut_y && cut_z)
        return both;
    if (cut_y)
        return along_z;
    if (cut_z || p->grid.nz == 1)
        return along_y;
    both.keys = 1;
    return both;
}

/* A line of the grid, and its place in the order. */
typedef struct entry {
    int64_t y, z, block, plane;
} entry;

static int compare(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->plane != b->plane)
        return a->plane < b->plane ? -1 : 1;
    return (a->z > b->z) - (a->z < b->z);
}

static int compare_down(const void *left, const void *right) {
    return compare(right, left);
}

/* The lines of a box of process `owner` in the order of the sweep. *list is freed with free(). */
static gsw_status list_lines(const gsw_partition *p, const order *o, int owner, const gsw_box *box,
                             int down, entry **list, int64_t *count) {
    const gsw_box whole = gsw_partition_box(p, owner);
    const int64_t start = /* of its blocks */
        o->own_keys ? whole.begin[1] + o->shear * whole.begin[2] : 0;
    const int64_t ny = box->end[1] - box->begin[1], nz = box->end[2] - box->begin[2];
    void *memory;
    *count = gsw_box_points(box) > 0 ? ny * nz : 0;
    GSW_TRY(gsw_alloc(p->context, (size_t)*count, sizeof **list, "the order of lines", &memory));
    *list = memory;
    for (int64_t i = 0; i < *count; i++) {
        entry *line = &(*list)[i];
        line->y = box->begin[1] + i % ny;
        line->z = box->begin[2] + i / ny;
        const int64_t sheared = line->y + o->shear * line->z;
        const int64_t key = o->wy * sheared + o->wz * line->z;
        line->block = key - (key - start) % o->keys;
        line->plane = sheared + line->z;
    }
    qsort(*list, (size_t)*count, sizeof **list, down ? compare_down : compare);
    return GSW_SUCCESS;
}

/* ---- The own lines ----------------------------------------------------------------------------
 */

static gsw_status open_lines(gsw_schedule *s, const order *o) {
    const gsw_partition *p = s->partition;
    entry *list = NULL;
    int64_t count = 0, groups = 0;
    void *memory[4] = {NULL, NULL, NULL, NULL};
    const size_t size[4] = {sizeof *s->line, sizeof *s->group, sizeof *s->block,
                            sizeof *s->block_group};
    GSW_TRY(list_lines(p, o, p->transport.rank, &p->own, s->down, &list, &count));
    for (int i = 0; i < 4; i++) {
        const gsw_status status =
            gsw_alloc(p->context, (size_t)count + 1, size[i], "the order of lines", &memory[i]);
        if (status != GSW_SUCCESS)
            free(list);
        s->line = memory[0];
        s->group = memory[1];
        s->block = memory[2];
        s->block_group = memory[3];
        GSW_TRY(status);
    }
    for (int64_t i = 0; i < count; i++) {
        const int new_block = i == 0 || list[i].block != list[i - 1].block;
        if (new_block) {
            s->block[s->blocks] = list[i].block;
            s->block_group[s->blocks++] = groups;
        }
        if (new_block || list[i].plane != list[i - 1].plane)
            s->group[groups++] = i;
        s->line[i] = (gsw_box_line){(int32_t)(list[i].y - p->own.begin[1]),
                                    (int32_t)(list[i].z - p->own.begin[2])};
    }
    s->group[groups] = count;
    s->block_group[s->blocks] = groups;
    free(list);
    return GSW_SUCCESS;
}

/* ---- The messages -----------------------------------------------------------------------------
 */

static gsw_status open_pieces(const gsw_schedule *s, const order *o, int owner, const gsw_box *box,
                              gsw_pieces *pieces) {
    const gsw_partition *p = s->partition;
    entry *list = NULL;
    int64_t count = 0;
    void *memory;
    GSW_TRY(list_lines(p, o, owner, box, s->down, &list, &count));
    gsw_status status;
    GSW_TRY_GOTO(gsw_alloc(p->context, (size_t)count, sizeof *pieces->piece, "messages", &memory),
                 cleanup);
    pieces->piece = memory;
    GSW_TRY_GOTO(gsw_alloc(p->context, (size_t)count + 1, sizeof(int64_t), "messages", &memory),
                 cleanup);
    pieces->begin = memory;
    GSW_TRY_GOTO(gsw_alloc(p->context, (size_t)count + 1, sizeof(int64_t), "messages", &memory),
                 cleanup);
    pieces->first = memory;
    for (int64_t i = 0; i < count; i++) {
        gsw_piece *piece = &pieces->piece[i];
        piece->row = gsw_frame_row(&s->frame, box->begin[0] - p->own.begin[0],
                                   list[i].y - p->own.begin[1], list[i].z - p->own.begin[2]);
        piece->length = box->end[0] - box->begin[0];
        piece->block = list[i].block;
        if (i == 0 || piece->block != piece[-1].block) {
            pieces->begin[pieces->messages] = i;
            pieces->first[pieces->messages++] = pieces->points;
        }
        pieces->points += piece->length;
    }
    pieces->begin[pieces->messages] = count;
    pieces->first[pieces->messages] = pieces->points;
cleanup:
    free(list);
    return status;
}

static gsw_status open_peers(gsw_schedule *s, const gsw_stencil *stencil, const order *o) {
    gsw_partition *p = s->partition;
    const int processes = p->transport.processes, rank = p->transport.rank;
    const int32_t first = s->down ? stencil->center + 1 : 0;
    const int32_t end = s->down ? stencil->count : stencil->center;
    void *memory;
    GSW_TRY(gsw_alloc(p->context, (size_t)processes, sizeof *s->peer, "messages", &memory));
    s->peer = memory;
    for (int process = 0; process < processes; process++) {
        const gsw_box take = gsw_ghosts_of(p, stencil, first, end, rank, process);
        const gsw_box give = gsw_ghosts_of(p, stencil, first, end, process, rank);
        if (gsw_box_points(&take) == 0 && gsw_box_points(&give) == 0)
            continue;
        gsw_schedule_peer *peer = &s->peer[s->peers++];
        memset(peer, 0, sizeof *peer);
        peer->process = process;
        peer->before = s->down ? process > rank : process < rank;
        GSW_TRY(open_pieces(s, o, process, &take, &peer->take));
        GSW_TRY(open_pieces(s, o, rank, &give, &peer->give));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_schedule_open(gsw_partition *p, const gsw_stencil *stencil, int down, int64_t band,
                             gsw_schedule *schedule) {
    const order o = order_of(p, stencil, band);
    *schedule = (gsw_schedule){
        .partition = p, .frame = gsw_frame_of(p, stencil), .down = down, .keys = o.keys};
    GSW_TRY(open_lines(schedule, &o));
    return open_peers(schedule, stencil, &o);
}

static void close_pieces(gsw_pieces *pieces) {
    free(pieces->piece);
    free(pieces->begin);
    free(pieces->first);
}

void gsw_schedule_close(gsw_schedule *schedule) {
    for (int i = 0; i < schedule->peers; i++) {
        close_pieces(&schedule->peer[i].take);
        close_pieces(&schedule->peer[i].give);
    }
    free(schedule->peer);
    free(schedule->line);
    free(schedule->group);
    free(schedule->block);
    free(schedule->block_group);
    *schedule = (gsw_schedule){0};
}

int64_t gsw_schedule_sent(const gsw_schedule *schedule) {
    int64_t points = 0;
    for (int i = 0; i < schedule->peers; i++)
        points += schedule->peer[i].give.points;
    return points;
}

/* ---- Running ----------------------------------------------------------------------------------
 */

/* One direction of messages with one process. */
typedef struct box {
    const gsw_pieces *pieces;
    double *data;
    void **request; /* of each message */
    int64_t next;   /* messages before it are done with */
} box;

struct gsw_mailbox {
    gsw_partition *partition;
    int32_t values;
    int peers;
    box *in, *out;
};

static gsw_status open_box(gsw_partition *p, const gsw_pieces *pieces, int32_t values, box *made) {
    void *memory;
    made->pieces = pieces;
    GSW_TRY(gsw_partition_alloc(p, (size_t)(pieces->points * values), sizeof(double), "messages",
                                &memory));
    made->data = memory;
    GSW_TRY(gsw_alloc(p->context, (size_t)pieces->messages, sizeof *made->request, "messages",
                      &memory));
    made->request = memory;
    for (int64_t m = 0; m < pieces->messages; m++)
        made->request[m] = NULL;
    return GSW_SUCCESS;
}

gsw_status gsw_mailbox_open(const gsw_schedule *schedule, int32_t values, gsw_mailbox **mailbox) {
    gsw_partition *p = schedule->partition;
    const size_t peers = (size_t)schedule->peers;
    gsw_mailbox *made;
    void *memory;
    GSW_TRY(gsw_alloc(p->context, 1, sizeof *made, "messages", (void **)&made));
    *made = (gsw_mailbox){.partition = p, .values = values};
    *mailbox = made;
    GSW_TRY(gsw_alloc(p->context, 2 * peers, sizeof *made->in, "messages", &memory));
    memset(memory, 0, 2 * peers * sizeof *made->in);
    made->in = memory;
    made->out = made->in + peers;
    made->peers = schedule->peers;
    for (int i = 0; i < made->peers; i++) {
        GSW_TRY(open_box(p, &schedule->peer[i].take, values, &made->in[i]));
        GSW_TRY(open_box(p, &schedule->peer[i].give, values, &made->out[i]));
    }
    return GSW_SUCCESS;
}

void gsw_mailbox_close(gsw_mailbox *mailbox) {
    if (!mailbox)
        return;
    for (int i = 0; i < mailbox->peers; i++) {
        gsw_partition_free(mailbox->partition, mailbox->in[i].data);
        gsw_partition_free(mailbox->partition, mailbox->out[i].data);
        free(mailbox->in[i].request);
        free(mailbox->out[i].request);
    }
    free(mailbox->in);
    free(mailbox);
}

static double *message_of(const box *b, int64_t m, int32_t values, size_t *bytes) {
    *bytes = (size_t)((b->pieces->first[m + 1] - b->pieces->first[m]) * values) * sizeof(double);
    return b->data + b->pieces->first[m] * values;
}

/* Copies the pieces of a message between its buffer and the arrays. */
static void copy_message(const box *b, int64_t m, const gsw_schedule_run *run, int to_buffer) {
    size_t bytes;
    double *data = message_of(b, m, run->values, &bytes);
    for (int64_t i = b->pieces->begin[m]; i < b->pieces->begin[m + 1]; i++) {
        const gsw_piece *piece = &b->pieces->piece[i];
        for (int32_t v = 0; v < run->values; v++, data += piece->length) {
            double *line =
                run->array ? run->array[v] + piece->row : run->place(run->user, v, piece->row);
            memcpy(to_buffer ? data : line, to_buffer ? line : data,
                   (size_t)piece->length * sizeof *data);
        }
    }
}

/* Waits for the messages that block `block` needs; `all`: for all that are left. */
static gsw_status take_messages(const gsw_schedule *s, gsw_mailbox *mailbox,
                                const gsw_schedule_run *run, int64_t block, int all) {
    for (int i = 0; i < s->peers; i++) {
        box *in = &mailbox->in[i];
        for (; in->next < in->pieces->messages; in->next++) {
            const int64_t its = in->pieces->piece[in->pieces->begin[in->next]].block;
            const int earlier = s->down ? its > block : its < block;
            const int meets = s->down ? its + s->keys > block : its < block + s->keys;
            if (!all && !(s->peer[i].before ? meets : earlier))
                break;
            GSW_TRY(gsw_partition_wait(s->partition, s->peer[i].process, &in->request[in->next]));
            copy_message(in, in->next, run, 0);
        }
    }
    return GSW_SUCCESS;
}

static gsw_status give_messages(const gsw_schedule *s, gsw_mailbox *mailbox,
                                const gsw_schedule_run *run, int64_t block) {
    for (int i = 0; i < s->peers; i++) {
        box *out = &mailbox->out[i];
        const int64_t m = out->next;
        if (m > 0)
            GSW_TRY(gsw_partition_poke(s->partition, &out->request[m - 1]));
        if (m == out->pieces->messages || out->pieces->piece[out->pieces->begin[m]].block != block)
            continue;
        size_t bytes;
        const double *data = message_of(out, m, run->values, &bytes);
        copy_message(out, m, run, 1);
        GSW_TRY(gsw_partition_send(s->partition, s->peer[i].process, run->tag, data, bytes,
                                   &out->request[m]));
        out->next++;
    }
    return GSW_SUCCESS;
}

static gsw_status begin(const gsw_schedule *s, gsw_mailbox *mailbox, const gsw_schedule_run *run) {
    for (int i = 0; i < s->peers; i++) {
        box *in = &mailbox->in[i];
        in->next = mailbox->out[i].next = 0;
        for (int64_t m = 0; m < in->pieces->messages; m++) {
            size_t bytes;
            double *data = message_of(in, m, run->values, &bytes);
            GSW_TRY(gsw_partition_receive(s->partition, s->peer[i].process, run->tag, data, bytes,
                                          &in->request[m]));
        }
    }
    return GSW_SUCCESS;
}

static gsw_status go(const gsw_schedule *s, gsw_mailbox *mailbox, const gsw_schedule_run *run) {
    GSW_TRY(begin(s, mailbox, run));
    for (int64_t k = 0; k < s->blocks; k++) {
        const gsw_box_lines lines = {.line = s->line,
                                     .first = s->group + s->block_group[k],
                                     .groups = s->block_group[k + 1] - s->block_group[k]};
        GSW_TRY(take_messages(s, mailbox, run, s->block[k], 0));
        run->sweep(run->user, &lines, k);
        GSW_TRY(give_messages(s, mailbox, run, s->block[k]));
    }
    GSW_TRY(take_messages(s, mailbox, run, 0, 1));
    for (int i = 0; i < s->peers; i++)
        for (int64_t m = 0; m < mailbox->out[i].next; m++)
            GSW_TRY(
                gsw_partition_wait(s->partition, s->peer[i].process, &mailbox->out[i].request[m]));
    return GSW_SUCCESS;
}

static void abandon(gsw_partition *p, box *b) {
    for (int64_t m = 0; m < b->pieces->messages; m++)
        gsw_partition_abandon(p, &b->request[m]);
}

gsw_status gsw_schedule_go(const gsw_schedule *schedule, gsw_mailbox *mailbox,
                           const gsw_schedule_run *run) {
    const gsw_status status = go(schedule, mailbox, run);
    for (int i = 0; status != GSW_SUCCESS && i < schedule->peers; i++) {
        abandon(schedule->partition, &mailbox->in[i]);
        abandon(schedule->partition, &mailbox->out[i]);
    }
    return status;
}
