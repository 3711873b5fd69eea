/* krylov_rescue.c: see krylov_rescue.h. */
#include <math.h>

#include "krylov_evidence.h"
#include "krylov_rescue.h"

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
    return run->context->ops->fill(run->context, run->n, 0, run->x);
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
        return gsw_preconditioner_change(run->preconditioner);
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
    GSW_TRY(ops->fill(run->context, run->n, norm / sqrt(points), shadow));
    GSW_TRY(ops->change_signs(run->context, run->n, shadow, shadow));
    return gsw_krylov_axpby(run, 1, r, 1, shadow);
}
