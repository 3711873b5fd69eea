/* schedule.c: see schedule.h. */
#include "schedule.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/error.h"

/* ---- The order --------------------------------------------------------------------------------
 */

/* A line of the grid, and its block. */
typedef struct entry {
    int64_t y, z, block;
} entry;

static int compare(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->z != b->z)
        return a->z < b->z ? -1 : 1;
    return (a->y > b->y) - (a->y < b->y);
}

static int compare_down(const void *left, const void *right) {
    return compare(right, left);
}

/* The key of the first line in the frame of a process. */
static int64_t start_of(const gsw_schedule *s, int process) {
    const gsw_box box = gsw_partition_box(s->partition, process);
    int64_t first[3];
    for (int axis = 1; axis < 3; axis++) {
        const int64_t before = s->reach.before[axis], begin = box.begin[axis];
        first[axis] = begin > before ? begin - before : 0;
    }
    return first[1] + s->shear * first[2];
}

/* The lines of a box of process `owner` in the order of its blocks. *list is freed with free(). */
static gsw_status list_lines(const gsw_schedule *s, int owner, const gsw_box *box, entry **list,
                             int64_t *count) {
    const int64_t start = start_of(s, owner);
    const int64_t ny = box->end[1] - box->begin[1], nz = box->end[2] - box->begin[2];
    void *memory;
    *count = gsw_box_points(box) > 0 ? ny * nz : 0;
    GSW_TRY(gsw_alloc(s->partition->context, (size_t)*count, sizeof **list, "the order of lines",
                      &memory));
    *list = memory;
    for (int64_t i = 0; i < *count; i++) {
        entry *line = &(*list)[i];
        line->y = box->begin[1] + i % ny;
        line->z = box->begin[2] + i / ny;
        const int64_t key = line->y + s->shear * line->z;
        line->block = key - (key - start) % s->keys;
    }
    qsort(*list, (size_t)*count, sizeof **list, s->down ? compare_down : compare);
    return GSW_SUCCESS;
}

/* ---- The messages -----------------------------------------------------------------------------
 */

static gsw_status open_pieces(const gsw_schedule *s, int owner, const gsw_box *box,
                              gsw_pieces *pieces) {
    const gsw_partition *p = s->partition;
    entry *list = NULL;
    int64_t count = 0;
    void *memory;
    GSW_TRY(list_lines(s, owner, box, &list, &count));
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

static gsw_status open_peers(gsw_schedule *s, const gsw_stencil *stencil) {
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
        GSW_TRY(open_pieces(s, process, &take, &peer->take));
        GSW_TRY(open_pieces(s, rank, &give, &peer->give));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_schedule_open(gsw_partition *p, const gsw_stencil *stencil, int down, int64_t shear,
                             int64_t keys, gsw_schedule *schedule) {
    const gsw_frame frame = gsw_frame_of(p, stencil);
    const int64_t all = frame.e[1] + shear * (frame.e[2] - 1);
    *schedule = (gsw_schedule){.partition = p,
                               .reach = gsw_reach_of(stencil, 0, stencil->count),
                               .frame = frame,
                               .down = down,
                               .shear = keys > 0 ? shear : 0,
                               .keys = keys > 0 ? keys : INT64_MAX / 2,
                               .blocks = keys > 0 ? (all + keys - 1) / keys : 1};
    schedule->start = start_of(schedule, p->transport.rank);
    return open_peers(schedule, stencil);
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
            double *line = run->place(run->user, v, piece->row);
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
            if (!all && !(s->down ? its + s->keys > block : its < block + s->keys))
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
        const int64_t number = s->down ? s->blocks - 1 - k : k;
        const int64_t block = s->start + number * s->keys;
        GSW_TRY(take_messages(s, mailbox, run, block, 0));
        run->sweep(run->user, number);
        GSW_TRY(give_messages(s, mailbox, run, block));
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
