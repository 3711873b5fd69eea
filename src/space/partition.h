/* partition.h: a grid cut into boxes, and messages between their processes. */
#ifndef GSW_PARTITION_H
#define GSW_PARTITION_H

#include <gridsweep/partition.h>

struct gsw_partition {
    gsw_context *context;
    gsw_transport transport;
    gsw_grid grid;
    int32_t shape[3]; /* processes along each axis */
    int64_t *cuts[3]; /* shape[axis] + 1 values */
    gsw_box own;
    double wait_limit;     /* seconds */
    int64_t timeouts;      /* of the backend (slab_ops.h), before the partition was made */
    int broken;            /* a wait has ended without an answer, or a factorisation has failed
                              between two processes: no more messages */
    char *answers;         /* of all processes: room for gathers */
    gsw_partition *finest; /* itself, or the partition that it is a coarser level of */
    gsw_partition *older;  /* that set the context's sums before it; NULL: none */
    void *idle_windows;    /* of the finest one (windows.c), */
    void (*drop_idle)(gsw_partition *partition); /* and what frees them; NULL: there are none */
};

/* The partition of a matrix whose rows several processes share; NULL: this process has them all. */
static inline gsw_partition *gsw_partition_of(const gsw_matrix *matrix) {
    gsw_partition *p = matrix->partition;
    return p && p->transport.processes > 1 ? p : NULL;
}

/* Whether the context's sums are those of one process. */
int gsw_context_is_alone(const gsw_context *context);

/* Tags of messages, one for each purpose. */
enum { GSW_TAG_GHOSTS = 1, GSW_TAG_SWEEP, GSW_TAG_ELIMINATE, GSW_TAG_VECTOR, GSW_TAG_MATRIX };

/* The partition of the grid that has only the points of even index along some axes (bit 0: x): each
 * process keeps those of its box. It uses the messages of `fine`, which must outlive it, and sets
 * no sums. *coarse is NULL, without an error, where a process would have no points. */
gsw_status gsw_partition_coarsen(gsw_partition *fine, int axes, gsw_partition **coarse);

/* The last axis along which the grid has several points, else 0; and whether all cuts are there. */
int gsw_partition_last_axis(const gsw_partition *p);
int gsw_partition_has_slabs(const gsw_partition *p);

/* The same grid in slabs along that axis, one for each process; for the rest like a coarser one.
 * Errors: UNSUPPORTED (fewer planes than processes), OUT_OF_MEMORY. */
gsw_status gsw_partition_slabs(gsw_partition *boxes, gsw_partition **slabs);

/* Memory for messages. It is kept where a transfer was abandoned, which may still write to it. */
gsw_status gsw_partition_alloc(gsw_partition *p, size_t count, size_t size, const char *what,
                               void **memory);
void gsw_partition_free(gsw_partition *p, void *memory);

/* Begin a transfer to or from a process. *request is NULL where it has failed or ended. */
gsw_status gsw_partition_send(gsw_partition *p, int to, int tag, const void *data, size_t bytes,
                              void **request);
gsw_status gsw_partition_receive(gsw_partition *p, int from, int tag, void *data, size_t bytes,
                                 void **request);

/* Lets transfers proceed, without a wait. */
gsw_status gsw_partition_poke(gsw_partition *p, void **request);

/* Waits for a transfer with process `other`; < 0: with all. Errors: TIMEOUT and COMMUNICATION; the
 * partition is then broken. A NULL request has ended. */
gsw_status gsw_partition_wait(gsw_partition *p, int other, void **request);

/* A transfer between this process and another one: begins it and waits. The process `from` passes
 * what it sends, the process `to` gets it in `data`. */
gsw_status gsw_partition_transfer(gsw_partition *p, int to, int from, int tag, void *data,
                                  size_t bytes);

/* Refuses a broken partition; one also breaks where a wait has ended without an answer on a device.
 */
gsw_status gsw_partition_usable(gsw_partition *p);

/* Breaks a partition after an error that leaves processes with different state. */
void gsw_partition_break(gsw_partition *p);

/* Gives up a transfer, after an error. */
void gsw_partition_abandon(gsw_partition *p, void **request);

/* Brings `bytes` (at most GSW_ANSWER) of every process to every process: p->answers, in the order
 * of the ranks. */
enum { GSW_ANSWER = 512 };
gsw_status gsw_partition_gather(gsw_partition *p, const void *own, size_t bytes);

/* Whether `own` is nonzero in all processes. Collective. */
gsw_status gsw_partition_all(gsw_partition *p, int own, int *all);

/* Refuses an address for a result that is NULL. The others hear of it when they agree. */
gsw_status gsw_partition_check_result(const gsw_partition *p, const void *result, const char *name);

/* The same status in all processes: that of the first one, by rank, that has failed, with its
 * message. */
gsw_status gsw_partition_agree(gsw_partition *p, gsw_status own);

/* The same; where all have succeeded, and processes have passed different marks, all refuse `what`:
 * INVALID_ARGUMENT. */
gsw_status gsw_partition_agree_on(gsw_partition *p, gsw_status own, const char *what,
                                  uint64_t mark);

/* Adds numbers to a mark, which is 0 at first: different numbers give different marks, except by a
 * rare accident. */
uint64_t gsw_mark(uint64_t mark, const int64_t *numbers, int count);
uint64_t gsw_mark_real(uint64_t mark, double number);

/* Row and point of the grid of a row of the own box. */
int64_t gsw_partition_row(const gsw_partition *p, int64_t row, int64_t at[3]);

/* Arithmetic of boxes. */
int64_t gsw_box_points(const gsw_box *box);
gsw_box gsw_box_intersection(const gsw_box *a, const gsw_box *b);
gsw_box gsw_box_shifted(const gsw_box *box, gsw_offset by);

#endif
