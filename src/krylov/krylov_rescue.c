/* krylov_rescue.c: how a round goes, why it does not converge, and what follows: a start with
 * another shadow after a breakdown, another smoother after slow iterations, or the best x that is
 * known after growth (gridsweep/krylov.h). x is copied when the norm has grown to 100 times its
 * least value (gsw_krylov_should_keep()). A solve without such growth copies nothing. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "core/quiet.h"
#include "core/reserve.h"
#include "krylov_driver.h"
#include "matrix/unknowns.h"

/* ---- a round ---- */

/* Judges a preconditioner by the applications from the fourth to the sixth of a round: the first
 * ones take the easy parts of the residual. */
enum { JUDGED_FROM = 3, JUDGED_TO = 6 };

/* Rounding errors of A x that exceed the tolerance by so much are not those of a tolerance that is
 * a little too small. */
#define HIDDEN 1e3

/* Ends the round as GROWN where rounding errors of A x alone exceed the tolerance by far. Without
 * memory for two vectors it looks at nothing. */
static gsw_status look_for_growth(gsw_krylov_run *run) {
    double *scratch = NULL, *terms = NULL, rounding = 0;
    const gsw_quiet quiet = gsw_quiet_begin(run->context);
    gsw_status status = gsw_reserve_vector(run->context, run->n, &scratch);
    if (status == GSW_SUCCESS)
        status = gsw_reserve_vector(run->context, run->n, &terms);
    gsw_quiet_end(run->context, &quiet, status == GSW_ERROR_OUT_OF_MEMORY);
    if (status == GSW_SUCCESS)
        status = gsw_krylov_rounding(run, scratch, terms, &rounding);
    gsw_unreserve(run->context, terms);
    gsw_unreserve(run->context, scratch);
    const double most = fmax(HIDDEN * run->tolerance, GSW_SINGULAR_ROUNDING * run->reference);
    if (!(rounding <= most) && run->options.norm == GSW_NORM_TRUE)
        run->rescued.end = GSW_END_GROWN;
    return status == GSW_ERROR_OUT_OF_MEMORY ? GSW_SUCCESS : status;
}

static int is_slow(gsw_krylov_run *run) {
    const gsw_preconditioner *M = run->system->preconditioner;
    const int64_t before = run->iterations - run->rescued.begun;
    const int64_t from = (JUDGED_FROM + 1) / run->applications, to = JUDGED_TO / run->applications;
    if (before > to || M == NULL || !M->ops.is_judged(M->self))
        return 0;
    if (before == from)
        run->rescued.early = run->norm;
    return before == to &&
           M->ops.judge(M->self, pow(run->norm / run->rescued.early,
                                     1.0 / (double)((to - from) * run->applications)));
}

/* Keeps a copy of x, or nothing where there is no memory for it. */
static gsw_status keep(gsw_krylov_run *run) {
    gsw_krylov_rescued *rescued = &run->rescued;
    if (rescued->x == NULL) {
        const gsw_quiet quiet = gsw_quiet_begin(run->context);
        const gsw_status status = gsw_reserve_vector(run->context, run->n, &rescued->x);
        gsw_quiet_end(run->context, &quiet, status == GSW_ERROR_OUT_OF_MEMORY);
        if (status != GSW_SUCCESS)
            return status == GSW_ERROR_OUT_OF_MEMORY ? GSW_SUCCESS : status;
    }
    return gsw_krylov_copy(run, run->x, rescued->x);
}

void gsw_krylov_forget(gsw_krylov_run *run) {
    gsw_unreserve(run->context, run->rescued.x);
    run->rescued.x = NULL;
}

gsw_status gsw_krylov_settle(gsw_krylov_run *run, gsw_krylov_end end) {
    const gsw_krylov_options *options = &run->options;
    const double relative = run->norm / run->reference;
    run->rescued.end = end;
    if (end == GSW_END_NORM)
        return GSW_ERROR_NON_FINITE;
    run->reached = end == GSW_END_CONVERGED;
    /* Where a method begins again, it checks the same iteration a second time. */
    if (run->reported < run->iterations && options->monitor != NULL)
        run->stopped = options->monitor(options->monitor_user, run->iterations, relative);
    else if (run->reported < run->iterations && options->monitor_many != NULL)
        run->stopped =
            options->monitor_many(options->monitor_user, run->number, run->iterations, relative);
    run->reported = run->iterations;
    if (run->reached)
        return GSW_SUCCESS;
    if (run->stopped)
        return gsw_fail(run->context, GSW_ERROR_STOPPED, "the monitor stopped iteration %lld",
                        (long long)run->iterations);
    if (end == GSW_END_LIMIT)
        return gsw_fail(run->context, GSW_ERROR_NOT_CONVERGED,
                        "after %lld iteration%s the recurrence gives %.3g times the reference",
                        (long long)run->iterations, gsw_krylov_plural(run), relative);
    if (end == GSW_END_KEEP)
        return keep(run);
    if (end == GSW_END_LOOK) {
        GSW_TRY(look_for_growth(run));
        return run->rescued.end == GSW_END_GROWN ? GSW_ERROR_NOT_CONVERGED : GSW_SUCCESS;
    }
    if (end == GSW_END_NOT && is_slow(run)) {
        run->rescued.end = GSW_END_SLOW;
        return GSW_ERROR_NOT_CONVERGED;
    }
    return end == GSW_END_GROWN ? GSW_ERROR_NOT_CONVERGED : GSW_SUCCESS;
}

gsw_status gsw_krylov_check(gsw_krylov_run *run, double norm) {
    run->norm = norm;
    gsw_krylov_rescued *rescued = &run->rescued;
    if (run->limit == 0)
        run->limit = gsw_krylov_limit(norm, run->target);
    gsw_krylov_end end = gsw_krylov_judge(norm, run->target, run->limit, run->iterations,
                                          run->options.max_iterations);
    if (end == GSW_END_NOT && gsw_krylov_should_keep(norm, &rescued->least, &rescued->kept))
        end = GSW_END_KEEP;
    if (end == GSW_END_NOT && gsw_krylov_should_look(run->iterations) &&
        run->iterations > rescued->begun)
        end = GSW_END_LOOK;
    return gsw_krylov_settle(run, end);
}

/* ---- the cause ---- */

/* A product that is this share of its terms counts as 0: x has grown along a null vector. */
#define ALMOST_ZERO 1e-6
/* x has grown where its terms are so many times as long as b. Less may be an ordinary solution. */
#define HUGE_TERMS 1e6

/* Whether constant vectors are mapped to 0. *trace = v'A v for a v of random signs: near the sum of
 * the diagonal. */
static gsw_status look_at_constants(gsw_krylov_run *run, int *constants, double *trace) {
    double *ones = gsw_krylov_vector(run, 0), *scratch = gsw_krylov_vector(run, 1);
    double *terms = gsw_krylov_vector(run, 2), product, size;
    GSW_TRY(run->context->ops->vector->fill(run->context, run->n, 1.0, ones));
    GSW_TRY(gsw_krylov_cancellation(run, ones, scratch, terms, &product, &size));
    *constants = size > 0 && gsw_krylov_vanishes(product, size);
    return gsw_krylov_dot(run, scratch, terms, trace);
}

/* What x shows. */
typedef struct evidence {
    double energy;  /* x'A x; 0 where it is rounding error */
    double length;  /* of x */
    double part;    /* of b that is along x */
    int along_null; /* x has grown, and A x has not */
} evidence;

static gsw_status look_at_x(gsw_krylov_run *run, double trace, evidence *e) {
    double *x = gsw_krylov_vector(run, 0), *terms = gsw_krylov_vector(run, 1);
    double product, size, b, along, points = (double)run->n;
    GSW_TRY(gsw_krylov_copy(run, run->x, x));
    GSW_TRY(gsw_krylov_multiply(&run, 1, x, terms));
    GSW_TRY(gsw_krylov_dot(run, x, terms, &e->energy));
    GSW_TRY(gsw_krylov_norm(run, x, &e->length));
    GSW_TRY(gsw_krylov_cancellation(run, run->x, x, terms, &product, &size));
    GSW_TRY(gsw_krylov_norm(run, run->b, &b));
    GSW_TRY(gsw_krylov_dot(run, run->x, run->b, &along));
    GSW_TRY(gsw_krylov_sum(run, 1, &points));
    /* Signs at random may let the few terms cancel that have grown. */
    const double scale = fmax(size, fabs(trace) / points * e->length);
    e->along_null = isfinite(product) && scale > HUGE_TERMS * b && product <= ALMOST_ZERO * scale;
    if (!isfinite(e->length)) { /* x has overflowed. A bounded residual means that A x has not. */
        e->length = INFINITY;
        e->along_null = isfinite(run->norm);
    }
    e->part = isfinite(e->length) ? fabs(along) / (e->length * b) : NAN;
    if (!isfinite(e->energy) || gsw_krylov_vanishes(fabs(e->energy), e->length * scale))
        e->energy = 0;
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_find_cause(gsw_krylov_run *run, char *cause, size_t size) {
    const gsw_operator *op = run->system->op;
    gsw_unknowns seen = {.count = 1};
    evidence e;
    double trace;
    int constants;
    cause[0] = '\0';
    GSW_TRY(look_at_constants(run, &constants, &trace));
    if (op->apply == NULL && run->context->sum == NULL)
        GSW_TRY(gsw_unknowns_look(run->context, &op->matrix, &seen));
    GSW_TRY(look_at_x(run, trace, &e));
    if (constants && run->null_vector == NULL)
        (void)snprintf(cause, size, "; the matrix maps constant vectors to 0: see nullspace");
    else if (seen.count > 1)
        (void)snprintf(
            cause, size,
            "; the rows look like %d unknowns per point, numbered as one axis of the grid",
            seen.count);
    else if (e.along_null)
        (void)snprintf(cause, size,
                       "; the matrix is singular or nearly so: it maps x, which had grown to %.1e, "
                       "almost to 0; b does not fit where it has a part along x (%.1g of it)",
                       e.length, e.part);
    else if (e.energy * trace < 0)
        (void)snprintf(cause, size,
                       "; the matrix is indefinite: x'Ax and the diagonal have different signs");
    return GSW_SUCCESS;
}

/* ---- after a round ---- */

/* The scalars that can end a method. */
static const char *const scalar_names[GSW_KRYLOV_SCALARS] = {
    [GSW_SCALAR_RZ] = "r'z",
    [GSW_SCALAR_PW] = "p'Ap",
    [GSW_SCALAR_RZ_PW] = "r'z / p'Ap",
    [GSW_SCALAR_RHO] = "rho",
    [GSW_SCALAR_V_SHADOW] = "the product of v and the shadow",
    [GSW_SCALAR_ALPHA] = "alpha",
    [GSW_SCALAR_TT] = "t't",
    [GSW_SCALAR_OMEGA] = "omega",
};

/* So many renewals in succession may leave more than this of the residual. */
#define VAIN_MAX 8
#define PROGRESS 0.5

/* Replaces x by the one that was kept, or by 0 where that is better. */
static gsw_status take_best(gsw_krylov_run *run) {
    double *r = gsw_krylov_vector(run, 0), norm = INFINITY;
    run->x_is_zero = 0;
    if (run->rescued.x != NULL) {
        GSW_TRY(gsw_krylov_copy(run, run->rescued.x, run->x));
        GSW_TRY(gsw_krylov_side_residual(run, r));
        GSW_TRY(gsw_krylov_norm(run, r, &norm));
    }
    if (norm < run->reference) /* false for NaN */
        return GSW_SUCCESS;
    run->x_is_zero = 1;
    return run->context->ops->vector->fill(run->context, run->n, 0, run->x);
}

/* The message of a norm beyond the limit, or of a value that is not finite. */
static gsw_status say(gsw_krylov_run *run) {
    const gsw_krylov_rescued *rescued = &run->rescued;
    switch (rescued->end) {
    case GSW_END_GROWN:
        if (gsw_krylov_should_look(run->iterations))
            return gsw_fail(run->context, GSW_ERROR_NOT_CONVERGED,
                            "diverged after %lld iterations: x has grown until rounding errors of "
                            "A x exceed the tolerance",
                            (long long)run->iterations);
        return gsw_fail(run->context, GSW_ERROR_NOT_CONVERGED,
                        "diverged after %lld iteration%s: the residual norm has grown to %.3g "
                        "times the reference",
                        (long long)run->iterations, gsw_krylov_plural(run),
                        run->norm / run->reference);
    case GSW_END_NORM:
        return gsw_fail(run->context, GSW_ERROR_NON_FINITE,
                        "iteration %lld: the residual norm is %s", (long long)run->iterations,
                        isnan(run->norm) ? "not a number" : "infinite");
    default:
        return gsw_krylov_finite(run, scalar_names[rescued->scalar], rescued->offender);
    }
}

/* After a norm beyond the limit, or a value that is not finite. */
static gsw_status after_growth(gsw_krylov_run *run, int *again) {
    gsw_krylov_rescued *rescued = &run->rescued;
    const int at_once = rescued->end != GSW_END_GROWN && run->iterations <= rescued->begun + 1;
    const int by_x = rescued->end == GSW_END_GROWN && gsw_krylov_should_look(run->iterations);
    gsw_status status = GSW_SUCCESS;
    *again =
        rescued->grown++ == 0 && !at_once && !by_x && run->iterations < run->options.max_iterations;
    if (!*again) {
        run->hopeless = 1;
        GSW_TRY(gsw_krylov_find_cause(run, rescued->cause, sizeof rescued->cause));
        status = say(run);
    }
    if (run->iterations > 0 && !(by_x && run->norm < run->reference))
        GSW_TRY(take_best(run));
    return status;
}

/* Whether a start with another shadow may help after a breakdown. */
static int may_renew(gsw_krylov_run *run, const gsw_krylov_method *method) {
    gsw_krylov_rescued *rescued = &run->rescued;
    if (method->renews == NULL || !method->renews(rescued->scalar))
        return 0;
    const int progress = rescued->renewals++ == 0 || run->norm <= PROGRESS * rescued->norm;
    rescued->vain = progress ? 0 : rescued->vain + 1;
    rescued->norm = run->norm;
    return rescued->vain < VAIN_MAX;
}

gsw_status gsw_krylov_rescue(gsw_krylov_run *run, const gsw_krylov_method *method,
                             gsw_status status, int *again) {
    const gsw_krylov_rescued *rescued = &run->rescued;
    const gsw_preconditioner *M = run->system->preconditioner;
    *again = 0;
    if (run->failed)
        return status;
    switch (rescued->end) {
    case GSW_END_GROWN:
    case GSW_END_NORM:
    case GSW_END_NON_FINITE:
        return after_growth(run, again);
    case GSW_END_SLOW:
        *again = 1;
        return M->ops.change(M->self, M->context);
    case GSW_END_BREAKDOWN:
        *again = may_renew(run, method);
        return *again ? GSW_SUCCESS : method->explain(run, rescued->scalar, rescued->offender);
    default:
        return status;
    }
}

gsw_status gsw_krylov_make_shadow(gsw_krylov_run *run, const double *r, double *shadow) {
    const gsw_backend_ops *ops = run->context->ops;
    double norm, points = (double)run->n;
    if (run->rescued.vain == 0)
        return gsw_krylov_copy(run, r, shadow);
    GSW_TRY(gsw_krylov_norm(run, r, &norm));
    GSW_TRY(gsw_krylov_sum(run, 1, &points));
    GSW_TRY(ops->vector->fill(run->context, run->n, norm / sqrt(points), shadow));
    GSW_TRY(ops->vector->change_signs(run->context, run->n, shadow, shadow));
    return gsw_krylov_axpby(run, 1, r, 1, shadow);
}
