/* relax_loop.h: stencil loops on the arrays and vectors of others: of gsw_relax and of the levels
 * of multigrid. It chooses how sweeps become passes, and queues them. */
#ifndef GSW_RELAX_LOOP_H
#define GSW_RELAX_LOOP_H

#include <gridsweep/relax.h>

#include "domain/wrapped.h"
#include "relax_model.h"

typedef struct gsw_relax_loop {
    gsw_context *context;
    const gsw_matrix *matrix;  /* stencil arrays, none NULL; vectors are of their type */
    gsw_relax_options options; /* resolved; weight and interval may change between calls */
    gsw_relax_tile tile;       /* its work_bytes are those of `work` below */
    gsw_relax_cost cost;

    /* On a periodic grid: W, with which a pass is one sweep on b - W x; NULL: there is none. And a
     * vector for that. */
    const gsw_wrapped *around;
    void *sheared;
} gsw_relax_loop;

/* The factors of sweep after sweep: p = alpha D^-1 r + beta p, then x = x + p. Chebyshev's
 * recurrence is Saad's algorithm 12.1. */
typedef struct gsw_relax_recurrence {
    double center, half, rho;
    int32_t sweep;
} gsw_relax_recurrence;
gsw_relax_recurrence gsw_relax_begin(const gsw_relax_options *options);
void gsw_relax_next(const gsw_relax_options *options, gsw_relax_recurrence *at, double *alpha,
                    double *beta);

/* Chooses the tile for resolved options; a pass makes at most `most` sweeps. The matrix may be
 * still without values. Errors: UNSUPPORTED (no tile of that height), DEVICE. */
gsw_status gsw_relax_loop_open(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_relax_options *options, int32_t most,
                               gsw_relax_loop *loop);

/* Passes of a call. */
int32_t gsw_relax_loop_passes(const gsw_relax_loop *loop, int32_t sweeps);

/* Queues `sweeps` >= 0 sweeps. They begin with x[0], or with zeros, and every pass goes from one x
 * to the other. So the result is x[passes % 2]. Chebyshev's passes write p[1], p[0], p[1], ..., and
 * the last one none. `work`: tile.work_bytes bytes of host memory. */
gsw_status gsw_relax_loop_run(const gsw_relax_loop *loop, int32_t sweeps, int zero, const void *b,
                              void *const x[2], void *const p[2], void *work);

#endif
