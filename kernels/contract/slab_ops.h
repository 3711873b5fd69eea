/* slab_ops.h: what a backend with memory of its own does for slabs: a grid is cut along z, and each
 * process has the planes of one slab. Its neighbours are the process below (smaller z) and the one
 * above.
 *
 * FACES. The packed factor of a slab sweeps only its own pencils. What the pencils of the process
 * before it publish arrives in its inbox, and what its own last pencils publish goes to its outbox:
 * the inbox of the process after it, or memory of its own that is then staged. Between sweeps all
 * bytes of an inbox are 0xff; the sweep that reads it puts them back.
 *
 * DEALT FACTORS. Where tiles are sheared, the sweep of a slab can begin only when a triangle of the
 * slab before it is done. So the rows of tiles may be dealt out instead: row k belongs to process
 * k mod P, whichever slab has its planes. A second packed factor, of the whole grid, holds the
 * pencils of this process. Its values, inboxes and vectors lie in one window per process, which all
 * others attach. The first sweep reads b and the last one writes x in the window of the process
 * whose slab has the pencil's planes, or in the vectors of its own process. What passes from sweep
 * to sweep stays with the process.
 *
 * STEPS. Some factors are made in steps, which all slabs make at the same time. One of them is a
 * sweep upwards, with faces as usual. After GIVE and SWEEP a process has written into the window of
 * the one above what the next step there needs. The steps may find that the factor cannot be made
 * so.
 *
 * BORDERS. Other factorisations read the eliminated rows of the slab below. They are the border:
 * bytes that the process below has after its elimination, and that this one needs before its own.
 */
#ifndef GSW_SLAB_OPS_H
#define GSW_SLAB_OPS_H

#include <stddef.h>
#include <stdint.h>
#include <gridsweep/factor.h>

enum { GSW_BELOW = 0, GSW_ABOVE = 1 };

typedef enum gsw_slab_step {
    GSW_STEP_GIVE,   /* the matrix's values for the process above */
    GSW_STEP_BEFORE, /* takes those of the process below, and prepares the sweep */
    GSW_STEP_SWEEP,  /* upwards; gives its results */
    GSW_STEP_AFTER   /* takes those of the process below */
} gsw_slab_step;

/* How a dealt factor is dealt. */
enum { GSW_DEAL_MAX = 64 };
typedef struct gsw_deal {
    int32_t processes, rank;
    int64_t begin[GSW_DEAL_MAX + 1]; /* first plane of each slab; then the number of planes */
    void *window[GSW_DEAL_MAX];      /* as this process reaches them */
} gsw_deal;

/* A part of a slab's matrix: what a sweep upwards or downwards leaves (multigrid_ops.h), or all of
 * it. Couplings to other slabs belong to it where the sweep does not cross to them. */
typedef enum gsw_slab_part {
    GSW_PART_ALL = 0,
    GSW_PART_AFTER_UP = 1,
    GSW_PART_AFTER_DOWN = 2
} gsw_slab_part;

/* y = b - the part times x. Ghosts are in place: x[-nx ny below] is their first value, and `above`
 * planes follow the slab's. */
typedef struct gsw_slab_rest {
    const gsw_matrix *matrix; /* of the slab; stencil arrays, offsets of at most 2 */
    gsw_slab_part part;
    int64_t planes; /* of the sections that are swept at once, the first of which begins with this
                       slab; no coupling reaches beyond the next plane. 0: one sweep crosses all */
    int64_t below, above;
    gsw_dtype type; /* of the vectors; fp32 ones need a matrix of fp32 */
    const void *b;  /* of the slab; NULL: zeros */
    const void *x;
    void *y; /* of the slab */
} gsw_slab_rest;

typedef struct gsw_slab_ops {
    /* Slabs of a factor consist of a multiple of so many planes, except the last one; 1: the
     * stencil does not couple planes. 0: the factor cannot be cut. */
    int64_t (*unit)(gsw_context *context, const gsw_grid *grid, const gsw_stencil *stencil);

    gsw_status (*rest)(gsw_context *context, const gsw_slab_rest *job);

    /* For a factor with ghost planes. Bytes of the inbox of sweep `which` and of the outbox; 0:
     * there is none. connect sets both; `limit` bounds the waits for other processes, in seconds.
     */
    void (*face_bytes)(const gsw_factor *factor, int which, size_t *inbox, size_t *outbox);
    void (*connect)(gsw_factor *factor, int which, void *inbox, void *outbox, double limit);

    /* Whether the factor can be made in steps from this matrix; the bytes of the window for that;
     * 0: there are none. A step is queued. `taken`: where the process below has written; NULL:
     * there is none. `given`: the same in the window of the process above. After the last step
     * steps_await says whether the factor has been made. */
    int (*has_steps)(const gsw_factor *factor, const gsw_matrix *matrix);
    size_t (*step_bytes)(const gsw_factor *factor);
    gsw_status (*step)(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                       gsw_slab_step step, const void *taken, void *given);
    gsw_status (*steps_await)(gsw_context *context, gsw_factor *factor, int *made);

    /* The border that a process gives to the one above it, and that it takes from the one below.
     * `bytes`: of the host, or in a window. Both return when the bytes have been copied. */
    void (*border_bytes)(const gsw_factor *factor, size_t *given, size_t *taken);
    gsw_status (*border_give)(gsw_context *context, const gsw_factor *factor, void *bytes);
    gsw_status (*border_take)(gsw_context *context, gsw_factor *factor, const void *bytes);

    /* Dealt factors: factor->deal is set before factor_open. Whether dealing pays for the factor of
     * a slab; the bytes of a process's window, whose first ones are a counter for each process; a
     * number for the order of all pencils: another order has another number. */
    int (*deals)(const gsw_factor *slab);
    size_t (*deal_bytes)(const gsw_factor *dealt, int process);
    uint64_t (*deal_order)(const gsw_factor *dealt);

    /* Bytes that this process writes to the memory of others, or reads there, in an application, at
     * most. */
    int64_t (*deal_sent)(const gsw_factor *dealt);

    /* After all windows are known. */
    void (*deal_connect)(gsw_factor *dealt, double limit);

    /* Queued: copies the values of a slab's pencils to the processes that sweep them. */
    gsw_status (*deal_fill)(gsw_context *context, const gsw_factor *slab, gsw_factor *dealt);

    /* Queued: gives the planes of b that others sweep to the own window; sweep `which`; brings the
     * planes of x that others have swept from the own window. All processes must have given before
     * a sweep, and have swept before one takes. */
    gsw_status (*deal_give)(gsw_context *context, const gsw_factor *dealt, const double *b);
    gsw_status (*deal_sweep)(gsw_context *context, gsw_factor *dealt, int which, const double *b,
                             double *x);
    gsw_status (*deal_take)(gsw_context *context, const gsw_factor *dealt, double *x);
} gsw_slab_ops;

#endif
