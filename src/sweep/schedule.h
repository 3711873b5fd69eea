/* schedule.h: the order in which a process sweeps its slab, and the messages between slabs.
 *
 * ORDER. Lines (constant y, z) have a key, y + shear z, which counts from the first line of the
 * slab's frame. No coupling of the sweep leads to a larger key. Lines of `keys` successive keys are
 * a block: whole pencils of the packed factor. A process sweeps block by block, in downward sweeps
 * in reverse.
 *
 * MESSAGES. After a block, a process sends each other process the points of the block that it
 * needs, line by line, in one message. Both sides derive the list from the geometry. Before a block
 * a process waits for all messages of slabs before it (after it, in downward sweeps) whose blocks
 * begin within its own block, or earlier. Keys of two slabs compare as keys of the grid.
 *
 * EXACT. Slabs are cut along the last axis. So couplings lead to the own slab or to slabs before
 * it, and no value that a block reads has a key beyond the block.
 *
 * PROGRESS. A process waits for slabs before it only. So the first one that has not ended waits for
 * no one.
 */
#ifndef GSW_SCHEDULE_H
#define GSW_SCHEDULE_H

#include "space/ghosts.h"

/* Part of a line that one process sends to another. */
typedef struct gsw_piece {
    int64_t row;    /* in the frame of this process */
    int64_t length; /* points */
    int64_t block;  /* its first key */
} gsw_piece;

/* The pieces that go to a process, or come from it, in the order of the sweep. Message m consists
 * of the pieces begin[m] to begin[m + 1] - 1, and of `points` values from first[m] on. */
typedef struct gsw_pieces {
    gsw_piece *piece;
    int64_t *begin, *first;
    int64_t messages, points;
} gsw_pieces;

typedef struct gsw_schedule_peer {
    int process;
    gsw_pieces take, give;
} gsw_schedule_peer;

typedef struct gsw_schedule {
    gsw_partition *partition;
    gsw_reach reach;
    gsw_frame frame;
    int down;
    int64_t shear;
    int64_t keys; /* of a block */
    int64_t start, blocks;
    int peers;
    gsw_schedule_peer *peer;
} gsw_schedule;

/* keys 0: one block holds all lines, and `shear` is not used. */
gsw_status gsw_schedule_open(gsw_partition *p, const gsw_stencil *stencil, int down, int64_t shear,
                             int64_t keys, gsw_schedule *schedule);
void gsw_schedule_close(gsw_schedule *schedule);

/* Values that one run of the schedule sends, per value of a point. */
int64_t gsw_schedule_sent(const gsw_schedule *schedule);

/* What a run does: `values` arrays are exchanged. */
typedef struct gsw_schedule_run {
    int tag;
    int32_t values;
    /* Where array `value` holds row `row` of the frame and those after it on its line. */
    double *(*place)(void *user, int32_t value, int64_t row);
    void (*sweep)(void *user, int64_t block); /* block: its number in the order of upward sweeps */
    void *user;
} gsw_schedule_run;

/* Memory for the messages of a run. *mailbox can be closed on failure, too. */
typedef struct gsw_mailbox gsw_mailbox;
gsw_status gsw_mailbox_open(const gsw_schedule *schedule, int32_t values, gsw_mailbox **mailbox);
void gsw_mailbox_close(gsw_mailbox *mailbox);

/* Runs through all blocks. Errors: TIMEOUT, COMMUNICATION, OUT_OF_MEMORY. */
gsw_status gsw_schedule_go(const gsw_schedule *schedule, gsw_mailbox *mailbox,
                           const gsw_schedule_run *run);

#endif
