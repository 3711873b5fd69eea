/* krylov_run.c: see krylov_run.h. */
#include <float.h>
#include <math.h>

#include "krylov_run.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "core/sums.h"

/* ---- Sums over processes ---- */

gsw_status gsw_krylov_sum(gsw_krylov_run *run, int count, double *values) {
    const gsw_status status = gsw_context_sum(run->context, count, values);
    run->failed |= status != GSW_SUCCESS;
    return status;
}

/* Sums over processes of values in the backend's memory. */
static gsw_status sum_in_place(gsw_krylov_run *run, int64_t count, double *values) {
    enum { MOST = 64 };
    const gsw_backend_ops *ops = run->context->ops;
    double some[MOST];
    for (int64_t i = 0; i < count && run->context->sum != NULL; i += MOST) {
        const int now = (int)(count - i < MOST ? count - i : MOST);
        const size_t bytes = (size_t)now * sizeof *some;
        GSW_TRY(ops->download(run->context, some, values + i, bytes));
        GSW_TRY(gsw_krylov_sum(run, now, some));
        GSW_TRY(ops->upload(run->context, values + i, some, bytes));
    }
    return GSW_SUCCESS;
}

/* The sums of a pass over all processes. A partition adds all their words; other callbacks get the
 * rounded values. */
static gsw_status sum_pass(gsw_krylov_run *run, int count, gsw_krylov_state *state) {
    gsw_context *context = run->context;
    if (!context->sum_threefold)
        return gsw_krylov_sum(run, count, state->sums);
    const gsw_status status =
        context->sum_threefold(context->sum_user, context, count, state->exact, state->sums);
    run->failed |= status != GSW_SUCCESS;
    return status;
}

/* Adds the sums of the other processes to those of a pass, and does its step. */
static gsw_status end_pass(gsw_krylov_run *run, gsw_pass pass) {
    const gsw_backend_ops *ops = run->context->ops;
    const int count = gsw_pass_shapes[pass].products;
    gsw_krylov_state state;
    if (run->context->sum == NULL || count == 0)
        return GSW_SUCCESS;
    GSW_TRY(ops->download(run->context, &state, run->state, sizeof state));
    GSW_TRY(sum_pass(run, count, &state));
    gsw_krylov_step(&state, pass, state.sums);
    return ops->upload(run->context, run->state, &state, sizeof state);
}

/* ---- Products and solves ---- */

/* y = A x, also with a null vector. A callback may return any status; it does not come from the
 * method. */
static gsw_status apply_operator(gsw_krylov_run *run, const double *x, double *y) {
    const gsw_status status = gsw_operator_multiply(run->op, x, y);
    run->failed |= status != GSW_SUCCESS;
    return status;
}

/* y = A x; P A x with a null vector. */
static gsw_status multiply(gsw_krylov_run *run, const double *x, double *y) {
    GSW_TRY(apply_operator(run, x, y));
    return gsw_krylov_project(run, y);
}

/* An error of a call for several systems. */
static gsw_status fail_all(gsw_krylov_run *const *runs, int count, gsw_status status) {
    for (int i = 0; i < count; i++)
        runs[i]->failed |= status != GSW_SUCCESS;
    return status;
}

static gsw_status project_all(gsw_krylov_run *const *runs, int count, int number) {
    for (int i = 0; i < count; i++)
        GSW_TRY(gsw_krylov_project(runs[i], gsw_krylov_vector(runs[i], number)));
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_multiply_all(gsw_krylov_run *const *runs, int count, int from, int to) {
    const gsw_krylov_run *first = runs[0];
    const double *x = gsw_krylov_vector(first, from);
    double *y = gsw_krylov_vector(first, to);
    if (first->op->apply == NULL) {
        GSW_TRY(fail_all(runs, count,
                         first->context->ops->multiply(first->context, &first->op->matrix, count, x,
                                                       y, first->spacing)));
        return project_all(runs, count, to);
    }
    for (int i = 0; i < count; i++)
        GSW_TRY(
            multiply(runs[i], gsw_krylov_vector(runs[i], from), gsw_krylov_vector(runs[i], to)));
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_multiply_pass_all(gsw_krylov_run *const *runs, int count, gsw_pass pass,
                                        int from, int to) {
    const gsw_krylov_run *first = runs[0];
    const int at_once = first->op->apply == NULL && first->null_vector == NULL;
    if (at_once) {
        gsw_krylov_state *states[GSW_KRYLOV_SYSTEMS];
        for (int i = 0; i < count; i++)
            states[i] = runs[i]->state;
        GSW_TRY(fail_all(runs, count,
                         first->context->ops->multiply_pass(
                             first->context, &first->op->matrix, pass, count,
                             gsw_krylov_vector(first, from), gsw_krylov_vector(first, to),
                             first->spacing, states)));
    } else {
        GSW_TRY(gsw_krylov_multiply_all(runs, count, from, to));
    }
    for (int i = 0; i < count; i++) {
        void *vectors[] = {gsw_krylov_vector(runs[i], from), gsw_krylov_vector(runs[i], to)};
        GSW_TRY(at_once ? end_pass(runs[i], pass) : gsw_krylov_pass(runs[i], pass, vectors));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_residual(gsw_krylov_run *run, double *r) {
    const int zero = run->x_is_zero;
    run->x_is_zero = 0;
    if (zero)
        return gsw_krylov_copy(run, run->b, r);
    GSW_TRY(multiply(run, run->x, r));
    return gsw_krylov_axpby(run, 1, run->b, -1, r);
}

gsw_status gsw_krylov_precondition(gsw_krylov_run *run, const double *in, double *out) {
    if (run->preconditioner == NULL)
        return in != out ? gsw_krylov_copy(run, in, out) : GSW_SUCCESS;
    const gsw_status status = gsw_preconditioner_solve(run->preconditioner, in, out);
    run->failed |= status != GSW_SUCCESS;
    return status == GSW_SUCCESS ? gsw_krylov_project(run, out) : status;
}

gsw_status gsw_krylov_precondition_all(gsw_krylov_run *const *runs, int count, int from, int to) {
    const gsw_krylov_run *first = runs[0];
    double *in = gsw_krylov_vector(first, from), *out = gsw_krylov_vector(first, to);
    if (count == 1)
        return gsw_krylov_precondition(runs[0], in, out);
    GSW_TRY(fail_all(
        runs, count,
        gsw_preconditioner_solve_several(first->preconditioner, count, in, out, first->spacing)));
    return project_all(runs, count, to);
}

int gsw_krylov_narrow(const gsw_krylov_run *run, float **in, float **out) {
    *in = *out = NULL;
    return run->preconditioner != NULL && run->options.nullspace == GSW_NULLSPACE_NONE &&
           gsw_preconditioner_narrow(run->preconditioner, in, out);
}

gsw_status gsw_krylov_precondition_narrow(gsw_krylov_run *run) {
    const gsw_status status = gsw_preconditioner_solve_narrow(run->preconditioner);
    run->failed |= status != GSW_SUCCESS;
    return status;
}

gsw_status gsw_krylov_side_residual(gsw_krylov_run *run, double *r) {
    GSW_TRY(gsw_krylov_residual(run, r));
    return run->options.norm == GSW_NORM_TRUE ? GSW_SUCCESS : gsw_krylov_precondition(run, r, r);
}

gsw_status gsw_krylov_apply(gsw_krylov_run *run, const double *in, double *hat, double *out) {
    if (gsw_krylov_right(run)) {
        GSW_TRY(gsw_krylov_precondition(run, in, hat));
        return multiply(run, hat, out);
    }
    GSW_TRY(multiply(run, in, out));
    return gsw_krylov_precondition(run, out, out);
}

gsw_status gsw_krylov_pass(gsw_krylov_run *run, gsw_pass pass, void *const *vectors) {
    GSW_TRY(run->context->ops->krylov_pass(run->context, pass, run->n, vectors, run->state));
    return end_pass(run, pass);
}

gsw_status gsw_krylov_products(gsw_krylov_run *run, int64_t count, const double *x, const double *y,
                               double *products) {
    gsw_context *context = run->context;
    GSW_TRY(context->ops->project(context, run->n, count, x, run->stride, y, products));
    return sum_in_place(run, count, products);
}

gsw_status gsw_krylov_subtract(gsw_krylov_run *run, int64_t count, const double *c, const double *x,
                               double *y, double *square) {
    gsw_context *context = run->context;
    GSW_TRY(context->ops->subtract(context, run->n, count, c, x, run->stride, y, square));
    return sum_in_place(run, 1, square);
}

gsw_status gsw_krylov_project(gsw_krylov_run *run, double *v) {
    const double *null = run->null_vector;
    double *sums = run->null_sums;
    if (null == NULL)
        return GSW_SUCCESS;
    GSW_TRY(gsw_krylov_products(run, 1, null, v, sums));
    return gsw_krylov_subtract(run, 1, sums, null, v, sums + 1);
}

gsw_status gsw_krylov_terms(gsw_krylov_run *run, const double *v, double *scratch, double *terms,
                            double *size) {
    GSW_TRY(run->context->ops->change_signs(run->context, run->n, v, scratch));
    GSW_TRY(apply_operator(run, scratch, terms));
    return gsw_krylov_norm(run, terms, size);
}

gsw_status gsw_krylov_cancellation(gsw_krylov_run *run, const double *v, double *scratch,
                                   double *terms, double *product, double *size) {
    GSW_TRY(apply_operator(run, v, terms));
    GSW_TRY(gsw_krylov_norm(run, terms, product));
    return gsw_krylov_terms(run, v, scratch, terms, size);
}

gsw_status gsw_krylov_rounding(gsw_krylov_run *run, double *scratch, double *terms,
                               double *rounding) {
    double size;
    GSW_TRY(gsw_krylov_terms(run, run->x, scratch, terms, &size));
    *rounding = DBL_EPSILON * size;
    return GSW_SUCCESS;
}

int gsw_krylov_vanishes(double product, double size) {
    return product <= 16 * DBL_EPSILON * size;
}

gsw_status gsw_krylov_copy(gsw_krylov_run *run, const double *x, double *y) {
    return run->context->ops->copy(run->context, run->n, x, y);
}

gsw_status gsw_krylov_axpby(gsw_krylov_run *run, double a, const double *x, double b, double *y) {
    return run->context->ops->axpby(run->context, run->n, a, x, b, y);
}

gsw_status gsw_krylov_dot(gsw_krylov_run *run, const double *x, const double *y, double *result) {
    GSW_TRY(run->context->ops->dot(run->context, run->n, x, y, result));
    return gsw_krylov_sum(run, 1, result);
}

gsw_status gsw_krylov_norm(gsw_krylov_run *run, const double *x, double *norm) {
    double square;
    GSW_TRY(gsw_krylov_dot(run, x, x, &square));
    *norm = sqrt(square);
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_underflows(gsw_krylov_run *run, const double *v, double norm, double *scratch,
                                 int *underflows) {
    double scaled;
    *underflows = 0;
    if (norm * norm >= DBL_MIN || isnan(norm))
        return GSW_SUCCESS;
    GSW_TRY(gsw_krylov_axpby(run, 0x1p600, v, 0, scratch));
    GSW_TRY(gsw_krylov_norm(run, scratch, &scaled));
    *underflows = scaled != 0;
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_out_of_range(gsw_krylov_run *run, const double *v, double norm,
                                   double *scratch, int *out) {
    *out = 1;
    return isfinite(norm) ? gsw_krylov_underflows(run, v, norm, scratch, out) : GSW_SUCCESS;
}

gsw_status gsw_krylov_finite(gsw_krylov_run *run, const char *name, double value) {
    if (isfinite(value))
        return GSW_SUCCESS;
    return gsw_fail(run->context, GSW_ERROR_NON_FINITE, "iteration %lld: %s is %s",
                    (long long)run->iterations + 1, name,
                    isnan(value) ? "not a number" : "infinite");
}

gsw_status gsw_krylov_breakdown(gsw_krylov_run *run, const char *name, double value,
                                const char *meaning) {
    return gsw_fail(run->context, GSW_ERROR_BREAKDOWN, "iteration %lld: %s is %g: %s",
                    (long long)run->iterations + 1, name, value, meaning);
}

int gsw_krylov_ended(gsw_status status) {
    return status == GSW_ERROR_NOT_CONVERGED || status == GSW_ERROR_BREAKDOWN ||
           status == GSW_ERROR_NON_FINITE || status == GSW_ERROR_STOPPED;
}

/* Judges a preconditioner by the applications from the fourth to the sixth of a round: the first
 * ones take the easy parts of the residual. */
enum { JUDGED_FROM = 3, JUDGED_TO = 6 };

/* Rounding errors of A x that exceed the tolerance by so much are not those of a tolerance that is
 * a little too small. */
#define HIDDEN 1e3

/* Ends the round as GROWN where rounding errors of A x alone exceed the tolerance by far. Without
 * memory for two vectors it looks at nothing. */
static gsw_status look_at_x(gsw_krylov_run *run) {
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
    const int64_t before = run->iterations - run->rescued.begun;
    const int64_t from = (JUDGED_FROM + 1) / run->applications, to = JUDGED_TO / run->applications;
    if (before > to || !gsw_preconditioner_is_judged(run->preconditioner))
        return 0;
    if (before == from)
        run->rescued.early = run->norm;
    return before == to &&
           gsw_preconditioner_judge(run->preconditioner,
                                    pow(run->norm / run->rescued.early,
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
        GSW_TRY(look_at_x(run));
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
