/* krylov_run.h: one solve by a Krylov method, and the functions that its method calls. A method
 * works on vectors through these functions only, because vectors may lie in a device's memory.
 *
 * Several solves may be under way at once. Each has a place in the work vectors: vector k of place
 * p begins at p * spacing + k * stride. So vectors with the same number are `spacing` apart.
 *
 * With a null vector v, the solve is that of P A x = P b with x orthogonal to v, where P = I - v v'
 * / v'v. Products apply P A, gsw_krylov_precondition() applies P M^-1, and run->b is
 * P b. So a method does not depend on v. */
#ifndef GSW_KRYLOV_RUN_H
#define GSW_KRYLOV_RUN_H

#include <gridsweep/krylov.h>

#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "operator.h"
#include "preconditioner.h"

/* How a solve has gone, for krylov_rescue.c. */
typedef struct gsw_krylov_rescued {
    gsw_krylov_end end; /* of the last round, where the method has ended by itself */
    gsw_krylov_scalar scalar;
    double offender; /* that scalar's value */
    int64_t begun;   /* iterations before the present round */
    double least;    /* norm of the iterations; 0 before the first */
    int32_t kept;    /* x has been copied since the norm was least */
    double *x;       /* kept; NULL: none was */
    double early;    /* norm after the first iterations of the round, of a judged preconditioner */
    int grown;       /* how often the norm has left its limit */
    int renewals;    /* starts after a breakdown, */
    int vain;        /* those in succession that have gained little, */
    double norm;     /* and the norm at the last one */
    char cause[160]; /* of a growth; "": unknown */
} gsw_krylov_rescued;

typedef struct gsw_krylov_run {
    gsw_context *context;
    const gsw_operator *op;
    gsw_preconditioner *preconditioner; /* NULL: none */
    gsw_krylov_options options;         /* defaults resolved */
    int applications;                   /* of M^-1 in an iteration */
    int64_t number;                     /* of the system in its call */
    int64_t n;
    const double *b; /* the caller's, or P b */
    double *x;
    double *work; /* vectors of the method, `stride` values apart */
    int64_t stride, spacing;
    const double *null_vector; /* of length 1, or NULL */
    double *null_sums;         /* two scalars of projections, in the backend's memory */
    gsw_krylov_state *state;   /* of a queued method, in the backend's memory */
    double reference;          /* norm that rtol refers to */
    double tolerance;          /* max(rtol * reference, atol) */
    double target;             /* what the method's own norm must reach; at most the tolerance */
    double norm;               /* the method's own norm, as last checked */
    double limit;              /* of the norms of a round; 0 before the first. Queued methods have
                                  theirs in the state */
    int64_t iterations;
    int64_t reported; /* last iteration that the monitor has seen, or -1 */
    int reached;      /* the method's own norm is at most the target */
    int x_is_zero;    /* until the first residual is computed */
    int stopped;      /* the monitor has asked to stop */
    int hopeless;     /* NOT_CONVERGED because more iterations do not help */
    gsw_krylov_rescued rescued;
    int failed; /* a product or a preconditioner has returned an error; the method has not */
} gsw_krylov_run;

/* The distance of vectors of n values that lie one after the other: a multiple of 256 bytes, which
 * a warp reads at a time and which is a multiple of every cache line, and not a power of two,
 * because vectors would then compete for the same sets of a cache. */
static inline int64_t gsw_krylov_spacing(int64_t n) {
    return ((n + 31) / 32 + 3) * 32;
}

static inline double *gsw_krylov_vector(const gsw_krylov_run *run, int64_t number) {
    return run->work + number * run->stride;
}

/* A pass over vectors of a queued method; krylov_passes.h lists the vectors of each pass. */
gsw_status gsw_krylov_pass(gsw_krylov_run *run, gsw_pass pass, void *const *vectors);

/* Records the norm after run->iterations iterations and passes it to the monitor. On success either
 * run->reached is set or the method continues. Errors: STOPPED, NOT_CONVERGED; without a message
 * NON_FINITE and, beyond the limit, NOT_CONVERGED: krylov_rescue.c decides what follows. */
gsw_status gsw_krylov_check(gsw_krylov_run *run, double norm);

/* The same for a norm that has been judged already. KEEP copies x into run->rescued.x, where there
 * is memory for it. */
gsw_status gsw_krylov_settle(gsw_krylov_run *run, gsw_krylov_end end);

/* Frees that copy. */
void gsw_krylov_forget(gsw_krylov_run *run);

/* What follows "iteration" after the number of iterations. */
static inline const char *gsw_krylov_plural(const gsw_krylov_run *run) {
    return run->iterations == 1 ? "" : "s";
}

/* Refuses NaN and infinity in a scalar of the method. The message contains `name`. */
gsw_status gsw_krylov_finite(gsw_krylov_run *run, const char *name, double value);

/* BREAKDOWN in the iteration after run->iterations; `meaning` ends the message. */
gsw_status gsw_krylov_breakdown(gsw_krylov_run *run, const char *name, double value,
                                const char *meaning);

/* y = A x, or P A x with a null vector, of work vectors `from` and `to` of `count` systems in
 * neighbouring places; the second function also makes a pass. If possible the systems share the
 * reading of the matrix. */
gsw_status gsw_krylov_multiply_all(gsw_krylov_run *const *runs, int count, int from, int to);
gsw_status gsw_krylov_multiply_pass_all(gsw_krylov_run *const *runs, int count, gsw_pass pass,
                                        int from, int to);

/* r = b - A x. The product is complete before it is subtracted. If the sum started with b, large
 * terms that cancel would take b's digits with them. */
gsw_status gsw_krylov_residual(gsw_krylov_run *run, double *r);

/* out = M^-1 in, or P M^-1 in; out may be in. */
gsw_status gsw_krylov_precondition(gsw_krylov_run *run, const double *in, double *out);

/* The same for work vectors `from` and `to` of `count` systems in neighbouring places. If it takes
 * several (gsw_preconditioner_takes_several()), they share the reading of the preconditioner. */
gsw_status gsw_krylov_precondition_all(gsw_krylov_run *const *runs, int count, int from, int to);

/* Whether the preconditioner takes fp32 vectors. If so, *in and *out receive these vectors, and
 * gsw_krylov_precondition_narrow() computes *out = M^-1 *in. Else both are NULL. */
int gsw_krylov_narrow(const gsw_krylov_run *run, float **in, float **out);
gsw_status gsw_krylov_precondition_narrow(gsw_krylov_run *run);

/* Whether the preconditioner is applied from the right. Then a method needs vectors for M^-1 p
 * beside p. */
static inline int gsw_krylov_right(const gsw_krylov_run *run) {
    return run->preconditioner != NULL && run->options.norm == GSW_NORM_TRUE;
}

/* The residual whose norm is checked: r = b - A x, or with a left preconditioner M^-1 (b - A x). */
gsw_status gsw_krylov_side_residual(gsw_krylov_run *run, double *r);

/* The operator of the preconditioned system: from the left out = M^-1 A in, from the right hat =
 * M^-1 in and out = A hat. `hat` is used from the right only. */
gsw_status gsw_krylov_apply(gsw_krylov_run *run, const double *in, double *hat, double *out);

/* v -= (its part along the null vector). Does nothing where there is no null vector. */
gsw_status gsw_krylov_project(gsw_krylov_run *run, double *v);

/* The size of the terms that a product A v adds up. *size estimates the square root of the sum of
 * all (a_ij v_j)^2 as ||A S v||, where S changes signs at random. The rounding error of A v is
 * about DBL_EPSILON times that, however much of A v cancels. It needs no entry of A. `terms`
 * receives A S v, and `scratch` is overwritten. v may be `terms`, but not `scratch`. */
gsw_status gsw_krylov_terms(gsw_krylov_run *run, const double *v, double *scratch, double *terms,
                            double *size);

/* How much of a product cancels: *product = ||A v||, and *size as above. `terms` and `scratch` are
 * overwritten. */
gsw_status gsw_krylov_cancellation(gsw_krylov_run *run, const double *v, double *scratch,
                                   double *terms, double *product, double *size);

/* A bound of the rounding error in b - A x as computed from the present x. */
gsw_status gsw_krylov_rounding(gsw_krylov_run *run, double *scratch, double *terms,
                               double *rounding);

/* Where rounding is this share of b, x is mostly a vector that A maps to 0. */
#define GSW_SINGULAR_ROUNDING 1e-6

/* Whether a product is so small that it is rounding error. */
int gsw_krylov_vanishes(double product, double size);

gsw_status gsw_krylov_copy(gsw_krylov_run *run, const double *x, double *y);

/* y = a x + b y; with b = 0, y may be x. */
gsw_status gsw_krylov_axpby(gsw_krylov_run *run, double a, const double *x, double b, double *y);

gsw_status gsw_krylov_dot(gsw_krylov_run *run, const double *x, const double *y, double *result);

/* The sums of these values, in host memory, over all processes. */
gsw_status gsw_krylov_sum(gsw_krylov_run *run, int count, double *values);

/* ops->project and ops->subtract over the points of all processes, for vectors of this run. */
gsw_status gsw_krylov_products(gsw_krylov_run *run, int64_t count, const double *x, const double *y,
                               double *products);
gsw_status gsw_krylov_subtract(gsw_krylov_run *run, int64_t count, const double *c, const double *x,
                               double *y, double *square);

gsw_status gsw_krylov_norm(gsw_krylov_run *run, const double *x, double *norm);

/* Whether squares of v underflow, so that its norm, which is given, is wrong, although v is not 0.
 */
gsw_status gsw_krylov_underflows(gsw_krylov_run *run, const double *v, double norm, double *scratch,
                                 int *underflows);

/* Whether squares of v, whose norm is given, over- or underflow. Norms then explain nothing. */
gsw_status gsw_krylov_out_of_range(gsw_krylov_run *run, const double *v, double norm,
                                   double *scratch, int *out);
#define GSW_OUT_OF_RANGE "squares of these numbers leave the range of fp64; scale the system"

/* 1 where a method ended for a numerical reason, so that its vectors remain usable. */
int gsw_krylov_ended(gsw_status status);

#endif
