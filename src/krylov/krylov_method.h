/* krylov_method.h: what a Krylov method works with: the system that it solves, its run, and the
 * functions that it calls. A method works on vectors through these functions only, because vectors
 * may lie in a device's memory.
 *
 * There are two kinds of methods. CG and BiCGSTAB are queued. `start` computes the first residual
 * and queues the check of its norm. `iterate` queues an iteration of several runs at once. Both use
 * only operations that do not wait. Their scalars lie beside the vectors, and the reason for an end
 * is found there (krylov_passes.h). GMRES and Richardson keep their scalars on the host. `run`
 * iterates until gsw_krylov_check() reports the end or returns an error.
 *
 * Both kinds begin from run->x, and keep run->x and run->iterations current. So the last iterate
 * remains however the method ends, and a method can begin again from there.
 *
 * Several runs may be under way at once. Each has a place in the work vectors: vector k of place
 * p begins at p * spacing + k * stride. So vectors with the same number are `spacing` apart. */
#ifndef GSW_KRYLOV_METHOD_H
#define GSW_KRYLOV_METHOD_H

#include <gridsweep/krylov.h>

#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "matrix/distributed_matrix.h"
#include "domain/masked.h"
#include "preconditioner.h"

typedef struct gsw_krylov_run gsw_krylov_run;
typedef struct gsw_krylov_member gsw_krylov_member; /* krylov_driver.h */

/* ---- What is solved ---- */

struct gsw_operator {
    gsw_context *context; /* the context of its creation */
    int64_t points;
    gsw_apply_fn apply; /* NULL: the matrix is used */
    void *user;
    gsw_distributed_matrix *shared;      /* of several processes: apply() multiplies with it */
    gsw_matrix matrix;                   /* without inactive points */
    const void *arrays[GSW_STENCIL_MAX]; /* of the matrix, where it has stencil arrays */
    gsw_matrix product;                  /* the same, as products read it: */
    const void *halves[GSW_STENCIL_MAX]; /* see gsw_operator_read_half() */
    gsw_masked masked;                   /* the mask, and the matrix's copy */
};

/* Refuses NULL and an operator of another context. */
gsw_status gsw_operator_check(gsw_context *context, const gsw_operator *op);

/* y = A x with checked arguments; x does not overlap y. */
gsw_status gsw_operator_multiply(const gsw_operator *op, const double *x, double *y);

/* Lets products read half of stencil arrays that equal their transpose bit by bit: an entry before
 * the diagonal comes from the mirror image's array, which is shifted by their distance. Products
 * must read nothing outside the grid (gsw_survey.mirrored; perf/DECISIONS.md, Half of a matrix). */
void gsw_operator_read_half(gsw_operator *op);

/* What follows a round of a method, or the beginning of a system. */
typedef enum gsw_krylov_next {
    GSW_NEXT_BEGIN,  /* a round begins from x */
    GSW_NEXT_RESUME, /* the round goes on, to a new target */
    GSW_NEXT_JUDGE,  /* the user's x is judged */
    GSW_NEXT_USER,   /* a round of the user's own system begins from its x */
    GSW_NEXT_END     /* the user's x is the solution */
} gsw_krylov_next;

/* The system that a method solves: the user's own one, or a form of it. `enter` makes b and x of
 * the form from the user's. After each round `leave` makes the user's x from that of the form. The
 * method sees neither: it gets a run with b, x and the norm to reach. There are three systems:
 *
 * - the user's own: A and M^-1,
 * - the user's own with a null vector v: P A and P M^-1, with P b and P x, where P = I - v v' /
 * v'v,
 * - Eisenstat's form: two sweeps apply A and M^-1 together (eisenstat.c). */
typedef struct gsw_krylov_system gsw_krylov_system;
struct gsw_krylov_system {
    const gsw_operator *op;
    gsw_preconditioner *preconditioner; /* NULL: none */
    /* Follows each product and each M^-1. NULL: nothing does, so that passes can be fused with
     * products. */
    gsw_status (*project)(gsw_krylov_run *run, double *v);
    int64_t vectors; /* its own, beside those of the method, for each run */
    int is_trial;    /* its failures are answers, of which the log does not hear */
    /* Sets m->run. Errors are those of the system, or concern all. */
    gsw_status (*enter)(gsw_krylov_system *system, gsw_krylov_member *m, gsw_krylov_next *next);
    /* After a round that has ended with `status`, which does not concern all. Returns how the
     * user's system now stands; *next is JUDGE if it does not set it. */
    gsw_status (*leave)(gsw_krylov_system *system, gsw_krylov_member *m, gsw_status status,
                        gsw_krylov_next *next);
};

/* ---- A run ---- */

/* How a run has gone, for krylov_rescue.c. */
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

struct gsw_krylov_run {
    gsw_context *context;
    gsw_krylov_member *member; /* whose system it solves */
    const gsw_krylov_system *system;
    gsw_krylov_options options; /* defaults resolved */
    int applications;           /* of M^-1 in an iteration */
    int64_t number;             /* of the user's system in its call */
    int64_t n;
    const double *b; /* the caller's, or what the system makes of it */
    double *x;
    double *work; /* vectors of the method, `stride` values apart */
    int64_t stride, spacing;
    const double *null_vector; /* of length 1, or NULL */
    double *null_sums;         /* two scalars of projections, in the backend's memory */
    gsw_krylov_state *state;   /* of a queued method, in the backend's memory */
    gsw_pass checked;          /* the last pass with a step: after an iteration that of its norm */
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
};

static inline double *gsw_krylov_vector(const gsw_krylov_run *run, int64_t number) {
    return run->work + number * run->stride;
}

/* What follows "iteration" after the number of iterations. */
static inline const char *gsw_krylov_plural(const gsw_krylov_run *run) {
    return run->iterations == 1 ? "" : "s";
}

/* 1 where a method ended for a numerical reason, so that its vectors remain usable. */
static inline int gsw_krylov_ended(gsw_status status) {
    return status == GSW_ERROR_NOT_CONVERGED || status == GSW_ERROR_BREAKDOWN ||
           status == GSW_ERROR_NON_FINITE || status == GSW_ERROR_STOPPED;
}

/* Whether a status ends the whole call: it does not come from a method. */
static inline int gsw_krylov_concerns_all(const gsw_krylov_run *run, gsw_status status) {
    return run->failed || (status != GSW_SUCCESS && !gsw_krylov_ended(status));
}

/* ---- Products and solves: krylov_run.c ----
 *
 * Those of `count` runs are for runs in neighbouring places: vectors of the second one are
 * `spacing` values after those of the first, and so on. If possible they share the reading of the
 * matrix and of the preconditioner. Each run's values have the bits that they have alone. */

/* Whether the preconditioner is applied from the right. Then a method needs vectors for M^-1 p
 * beside p. */
static inline int gsw_krylov_right(const gsw_krylov_run *run) {
    return run->system->preconditioner != NULL && run->options.norm == GSW_NORM_TRUE;
}

/* y = A x; the second function also makes a pass over both that updates nothing. */
gsw_status gsw_krylov_multiply(gsw_krylov_run *const *runs, int count, const double *x, double *y);
gsw_status gsw_krylov_multiply_pass(gsw_krylov_run *const *runs, int count, gsw_pass pass,
                                    double *x, double *y);

/* out = M^-1 in; out may be in. */
gsw_status gsw_krylov_precondition(gsw_krylov_run *const *runs, int count, const double *in,
                                   double *out);

/* The operator of the preconditioned system: from the left out = M^-1 A in, from the right hat =
 * M^-1 in and out = A hat. `hat` is used from the right only. */
gsw_status gsw_krylov_apply(gsw_krylov_run *const *runs, int count, const double *in, double *hat,
                            double *out);

/* Whether the preconditioner takes fp32 vectors. If so, *in and *out receive these vectors, and
 * gsw_krylov_precondition_narrow() computes *out = M^-1 *in. Else both are NULL. */
int gsw_krylov_narrow(const gsw_krylov_run *run, float **in, float **out);
gsw_status gsw_krylov_precondition_narrow(gsw_krylov_run *run);

/* r = b - A x. The product is complete before it is subtracted. If the sum started with b, large
 * terms that cancel would take b's digits with them. */
gsw_status gsw_krylov_residual(gsw_krylov_run *run, double *r);

/* The residual whose norm is checked: r = b - A x, or with a left preconditioner M^-1 (b - A x). */
gsw_status gsw_krylov_side_residual(gsw_krylov_run *run, double *r);

/* ---- Vectors: krylov_run.c ---- */

/* A pass over vectors of a queued method; krylov_passes.h lists the vectors of each pass. */
gsw_status gsw_krylov_pass(gsw_krylov_run *run, gsw_pass pass, void *const *vectors);

/* A part of an iteration, run by run. Passes that follow each other belong into one part, so that a
 * vector is in the cache when the next pass reads it. */
gsw_status gsw_krylov_each(gsw_krylov_run *const *runs, int count,
                           gsw_status (*part)(gsw_krylov_run *run));

gsw_status gsw_krylov_copy(gsw_krylov_run *run, const double *x, double *y);

/* y = a x + b y; with b = 0, y may be x. */
gsw_status gsw_krylov_axpby(gsw_krylov_run *run, double a, const double *x, double b, double *y);

gsw_status gsw_krylov_dot(gsw_krylov_run *run, const double *x, const double *y, double *result);
gsw_status gsw_krylov_norm(gsw_krylov_run *run, const double *x, double *norm);

/* The sums of these values, in host memory, over all processes. */
gsw_status gsw_krylov_sum(gsw_krylov_run *run, int count, double *values);

/* ops->vector->project and ops->vector->subtract over the points of all processes, for vectors of
 * this run. */
gsw_status gsw_krylov_products(gsw_krylov_run *run, int64_t count, const double *x, const double *y,
                               double *products);
gsw_status gsw_krylov_subtract(gsw_krylov_run *run, int64_t count, const double *c, const double *x,
                               double *y, double *square);

/* ---- What rounding leaves: krylov_run.c ---- */

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

/* Whether squares of v underflow, so that its norm, which is given, is wrong, although v is not 0.
 */
gsw_status gsw_krylov_underflows(gsw_krylov_run *run, const double *v, double norm, double *scratch,
                                 int *underflows);

/* Whether squares of v, whose norm is given, over- or underflow. Norms then explain nothing. */
gsw_status gsw_krylov_out_of_range(gsw_krylov_run *run, const double *v, double norm,
                                   double *scratch, int *out);
#define GSW_OUT_OF_RANGE "squares of these numbers leave the range of fp64; scale the system"

/* Refuses NaN and infinity in a scalar of the method. The message contains `name`. */
gsw_status gsw_krylov_finite(gsw_krylov_run *run, const char *name, double value);

/* BREAKDOWN in the iteration after run->iterations; `meaning` ends the message. */
gsw_status gsw_krylov_breakdown(gsw_krylov_run *run, const char *name, double value,
                                const char *meaning);

/* ---- How a round goes: krylov_rescue.c ---- */

/* Records the norm after run->iterations iterations and passes it to the monitor. On success either
 * run->reached is set or the method continues. Errors: STOPPED, NOT_CONVERGED; without a message
 * NON_FINITE and, beyond the limit, NOT_CONVERGED: krylov_rescue.c decides what follows. */
gsw_status gsw_krylov_check(gsw_krylov_run *run, double norm);

/* Makes the shadow for a start: r, or r and signs at random. */
gsw_status gsw_krylov_make_shadow(gsw_krylov_run *run, const double *r, double *shadow);

/* ---- The methods ---- */

typedef struct gsw_krylov_method {
    const char *name;
    int64_t (*vectors)(const gsw_krylov_run *run); /* work vectors that it needs: at least 3 */
    int applications;                              /* of M^-1 in an iteration */

    /* Queued methods. `rest` is what of an iteration follows the check of its norm; NULL: nothing
     * does. An error may leave some runs after the iteration and others before it; each x is an
     * iterate. `explain` finds the meaning of a breakdown and raises the error. It may overwrite
     * work vectors. */
    gsw_status (*start)(gsw_krylov_run *run);
    gsw_status (*iterate)(gsw_krylov_run *const *runs, int count);
    gsw_status (*rest)(gsw_krylov_run *run);
    gsw_status (*explain)(gsw_krylov_run *run, gsw_krylov_scalar scalar, double value);
    /* Whether another start from x may cure a breakdown; NULL: it never does. */
    int (*renews)(gsw_krylov_scalar scalar);

    gsw_status (*run)(gsw_krylov_run *run); /* the others */
} gsw_krylov_method;

extern const gsw_krylov_method gsw_cg_method;
extern const gsw_krylov_method gsw_bicgstab_method;
extern const gsw_krylov_method gsw_gmres_method;
extern const gsw_krylov_method gsw_richardson_method;

#endif
