/* schedule.h: the order in which a process sweeps the lines of its box, and the messages between.
 *
 * ORDER. Lines (constant y, z) have a key in the grid, wy (y + shear z) + wz z. No coupling of the
 * sweep leads to a larger key. Lines of `keys` successive keys are a block. A process
 * sweeps block by block. Within a block, lines of the same y + shear z + z do not depend on each
 * other; they are a group (the hyperplane method: Lamport, 1974). Downward sweeps take everything
 * in reverse.
 *
 * BANDS. Slabs in z that packed factors sweep have blocks of whole pencils, which are bands of the
 * slab's own y + shear z. So their blocks begin at keys of their own. A process then waits for all
 * messages of slabs before it whose blocks begin within its own block, or earlier.
 *
 * MESSAGES. After a block, a process sends each other process the points of the block that it
 * needs, line by line, in one message. Both sides derive the list from the geometry. Before block
 * k, a process waits for the messages of blocks before k, and for those of block k of processes
 * whose box begins before its own in natural order (after it, in downward sweeps).
 *
 * EXACT. Every value that a line reads is there: it lies in an earlier group of the own block, or
 * in an earlier block, or in block k of a process before this one. The last holds because a block
 * has one key where a coupling points back along an axis that is cut: then a value of another
 * process in the same key is on the same line, at smaller x. Elsewhere couplings lead to processes
 * that are before this one along every cut axis.
 *
 * PROGRESS. Pairs (block, place of the process in natural order) are totally ordered. A process
 * waits for smaller pairs only. So the process with the smallest unfinished pair waits for no one.
 */
#ifndef GSW_SCHEDULE_H
#define GSW_SCHEDULE_H

#include "contract/box_ops.h"
#include "space/partition.h"

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
    int before; /* its messages of a block come before this process's block */
    gsw_pieces take, give;
} gsw_schedule_peer;

typedef struct gsw_schedule {
    gsw_partition *partition;
    gsw_frame frame;
    int down;
    gsw_box_line *line;
    int64_t *group;       /* where groups begin in `line`; one more than there are groups */
    int64_t keys;         /* of a block */
    int64_t *block;       /* the first keys of the own blocks, ascending (descending where down) */
    int64_t *block_group; /* their first groups; one more than there are blocks */
    int64_t blocks;
    int peers;
    gsw_schedule_peer *peer;
} gsw_schedule;

/* `band` > 0: blocks are bands of so many lines, for slabs in z. 0: blocks are chosen. */
gsw_status gsw_schedule_open(gsw_partition *p, const gsw_stencil *stencil, int down, int64_t band,
                             gsw_schedule *schedule);
void gsw_schedule_close(gsw_schedule *schedule);

/* The smallest shear with which no coupling of a sweep leads to a larger y + shear z. */
int64_t gsw_schedule_shear(const gsw_stencil *stencil);

/* Values that one run of the schedule sends, per value of a point. */
int64_t gsw_schedule_sent(const gsw_schedule *schedule);

/* What a run does: `values` arrays are exchanged. */
typedef struct gsw_schedule_run {
    int tag;
    int32_t values;
    double *const *array; /* of the frame; NULL: see `place` */
    /* Where array `value` holds row `row` of the frame and those after it on its line that are
     * ghosts too, or not either. */
    double *(*place)(void *user, int32_t value, int64_t row);
    void (*sweep)(void *user, const gsw_box_lines *lines, int64_t block); /* block: its number */
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
