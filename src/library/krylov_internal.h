/* krylov_internal.h: what the driver in krylov.c and the methods share.
 *
 * A method speaks to the vectors through the functions below only: they may lie in a device's
 * memory. There are two kinds.
 *
 * CG and BiCGSTAB are queued: `start` makes the first residual and has its norm checked, `iterate`
 * queues one iteration, and both only call what does not wait. Their scalars live beside the
 * vectors, and what ends them is found there (krylov_passes.h). The driver queues iterations and
 * looks at the state after each, late enough that the device need not wait.
 *
 * GMRES knows its scalars on the host. It iterates until gsw_krylov_check() says that it has
 * converged or returns an error, and keeps run->x and run->iterations up to date, so that whatever
 * ends the iteration leaves the last iterate behind. */
#ifndef GSW_KRYLOV_INTERNAL_H
#define GSW_KRYLOV_INTERNAL_H

#include <gridsweep/krylov.h>

#include "operator.h"
#include "preconditioner.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"

typedef struct gsw_krylov_run {
    gsw_context *context;
    const gsw_operator *op;
    gsw_preconditioner *preconditioner; /* NULL: none */
    gsw_krylov_options options;         /* defaults resolved */
    int64_t n;
    const double *b;
    double *x;
    double *work; /* vectors of the method, `stride` values apart */
    int64_t stride;
    gsw_krylov_state *state; /* of a queued method, in the backend's memory */
    double reference;        /* norm that rtol refers to */
    double tolerance;        /* max(rtol * reference, atol) */
    double norm;             /* the last one that was checked */
    int64_t iterations;
    int64_t reported; /* last iteration that the monitor has seen, or -1 */
    int converged;
} gsw_krylov_run;

static inline double *gsw_krylov_vector(const gsw_krylov_run *run, int64_t number) {
    return run->work + number * run->stride;
}

/* A pass over vectors of a queued method; see krylov_passes.h for the vectors of each. */
gsw_status gsw_krylov_pass(gsw_krylov_run *run, gsw_pass pass, double *const *vectors);

/* Records the norm after run->iterations iterations and shows it to the monitor. On success either
 * run->converged is set or the method goes on. Errors: NON_FINITE, STOPPED, NOT_CONVERGED. */
gsw_status gsw_krylov_check(gsw_krylov_run *run, double norm);

/* Refuses NaN and infinity in a scalar of the method, named in the message. */
gsw_status gsw_krylov_finite(gsw_krylov_run *run, const char *name, double value);

/* BREAKDOWN in the iteration that follows run->iterations; `meaning` ends the sentence. */
gsw_status gsw_krylov_breakdown(gsw_krylov_run *run, const char *name, double value,
                                const char *meaning);

/* y = A x. */
gsw_status gsw_krylov_multiply(gsw_krylov_run *run, const double *x, double *y);

/* r = b - A x. */
gsw_status gsw_krylov_residual(gsw_krylov_run *run, double *r);

/* out = M^-1 in; out may be in. */
gsw_status gsw_krylov_precondition(gsw_krylov_run *run, const double *in, double *out);

/* Whether the preconditioner stands to the right of the matrix: then a method needs vectors for
 * M^-1 p beside p. */
static inline int gsw_krylov_right(const gsw_krylov_run *run) {
    return run->preconditioner != NULL && run->options.norm == GSW_NORM_TRUE;
}

/* The residual whose norm is checked: r = b - A x, with the left preconditioner M^-1 (b - A x). */
gsw_status gsw_krylov_side_residual(gsw_krylov_run *run, double *r);

/* The operator of the preconditioned system: from the left out = M^-1 A in, from the right
 * hat = M^-1 in and out = A hat. `hat` is used from the right only. */
gsw_status gsw_krylov_apply(gsw_krylov_run *run, const double *in, double *hat, double *out);

gsw_status gsw_krylov_copy(gsw_krylov_run *run, const double *x, double *y);

/* y = a x + b y; with b = 0, y may be x. */
gsw_status gsw_krylov_axpby(gsw_krylov_run *run, double a, const double *x, double b, double *y);

gsw_status gsw_krylov_dot(gsw_krylov_run *run, const double *x, const double *y, double *result);

gsw_status gsw_krylov_norm(gsw_krylov_run *run, const double *x, double *norm);

/* 1 where a method ended for a reason of the numbers, so that vectors can still be worked with. */
int gsw_krylov_ended(gsw_status status);

/* The methods, and the number of vectors that each needs. */
#define GSW_CG_VECTORS             3
#define GSW_BICGSTAB_VECTORS       5
#define GSW_BICGSTAB_RIGHT_VECTORS 2 /* more with a preconditioner from the right */
#define GSW_GMRES_EXTRA_VECTORS    2 /* besides one for each of the `restart` steps */

gsw_status gsw_cg_start(gsw_krylov_run *run);
gsw_status gsw_cg_iterate(gsw_krylov_run *run);
gsw_status gsw_bicgstab_start(gsw_krylov_run *run);
gsw_status gsw_bicgstab_iterate(gsw_krylov_run *run);
gsw_status gsw_gmres_iterate(gsw_krylov_run *run);

#endif
