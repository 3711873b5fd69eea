/* krylov_run.c: what a method does with vectors: products, solves, passes, sums over processes, and
 * bounds of rounding errors. See krylov_method.h. */
#include <float.h>
#include <math.h>

#include "core/sums.h"
#include "krylov_method.h"

/* A status that does not come from the method: a callback may return any. */
static gsw_status outside(gsw_krylov_run *run, gsw_status status) {
    run->failed |= status != GSW_SUCCESS;
    return status;
}

/* ---- Sums over processes ---- */

gsw_status gsw_krylov_sum(gsw_krylov_run *run, int count, double *values) {
    return outside(run, gsw_context_sum(run->context, count, values));
}

/* Sums over processes of values in the backend's memory. */
static gsw_status sum_in_place(gsw_krylov_run *run, int64_t count, double *values) {
    enum { MOST = 64 };
    const gsw_backend_ops *ops = run->context->ops;
    double some[MOST];
    for (int64_t i = 0; i < count && run->context->sum != NULL; i += MOST) {
        const int now = (int)(count - i < MOST ? count - i : MOST);
        const size_t bytes = (size_t)now * sizeof *some;
        GSW_TRY(ops->memory->download(run->context, some, values + i, bytes));
        GSW_TRY(gsw_krylov_sum(run, now, some));
        GSW_TRY(ops->memory->upload(run->context, values + i, some, bytes));
    }
    return GSW_SUCCESS;
}

/* The sums of a pass over all processes. A partition adds all their words; other callbacks get the
 * rounded values. */
static gsw_status sum_pass(gsw_krylov_run *run, int count, gsw_krylov_state *state) {
    gsw_context *context = run->context;
    if (!context->sum_threefold)
        return gsw_krylov_sum(run, count, state->sums);
    return outside(
        run, context->sum_threefold(context->sum_user, context, count, state->exact, state->sums));
}

/* Adds the sums of the other processes to those of a pass, and does its step. */
static gsw_status end_pass(gsw_krylov_run *run, gsw_pass pass) {
    const gsw_backend_ops *ops = run->context->ops;
    const int count = gsw_pass_shapes[pass].products;
    gsw_krylov_state state;
    if (run->context->sum == NULL || count == 0)
        return GSW_SUCCESS;
    GSW_TRY(ops->memory->download(run->context, &state, run->state, sizeof state));
    GSW_TRY(sum_pass(run, count, &state));
    gsw_krylov_step(&state, pass, state.sums);
    return ops->memory->upload(run->context, run->state, &state, sizeof state);
}

/* ---- Products and solves ---- */

/* Ends a call for several runs, whose results begin with `out`. */
static gsw_status end_all(gsw_krylov_run *const *runs, int count, gsw_status status, double *out) {
    for (int i = 0; i < count; i++)
        (void)outside(runs[i], status);
    for (int i = 0; i < count && status == GSW_SUCCESS && runs[i]->system->project != NULL; i++)
        status = runs[i]->system->project(runs[i], out + i * runs[i]->spacing);
    return status;
}

gsw_status gsw_krylov_multiply(gsw_krylov_run *const *runs, int count, const double *x, double *y) {
    const gsw_operator *op = runs[0]->system->op;
    const int64_t ld = runs[0]->spacing;
    if (op->apply == NULL && count > 1)
        return end_all(
            runs, count,
            op->context->ops->matrix->multiply(op->context, &op->product, count, x, y, ld), y);
    for (int i = 0; i < count; i++)
        GSW_TRY(
            end_all(runs + i, 1, gsw_operator_multiply(op, x + i * ld, y + i * ld), y + i * ld));
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_multiply_pass(gsw_krylov_run *const *runs, int count, gsw_pass pass,
                                    double *x, double *y) {
    const gsw_krylov_system *system = runs[0]->system;
    const gsw_operator *op = system->op;
    const int64_t ld = runs[0]->spacing;
    const int at_once = op->apply == NULL && system->project == NULL;
    if (at_once) {
        gsw_krylov_state *states[GSW_KRYLOV_SYSTEMS] = {NULL};
        for (int i = 0; i < count; i++)
            states[i] = runs[i]->state;
        GSW_TRY(end_all(runs, count,
                        op->context->ops->krylov->multiply_pass(op->context, &op->product, pass,
                                                                count, x, y, ld, states),
                        y));
    } else {
        GSW_TRY(gsw_krylov_multiply(runs, count, x, y));
    }
    for (int i = 0; i < count; i++)
        GSW_TRY(at_once ? end_pass(runs[i], pass)
                        : gsw_krylov_pass(runs[i], pass, (void *[]){x + i * ld, y + i * ld}));
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_precondition(gsw_krylov_run *const *runs, int count, const double *in,
                                   double *out) {
    gsw_preconditioner *M = runs[0]->system->preconditioner;
    const int64_t ld = runs[0]->spacing;
    for (int i = 0; i < count && M == NULL && in != out; i++)
        GSW_TRY(gsw_krylov_copy(runs[i], in + i * ld, out + i * ld));
    if (M == NULL)
        return GSW_SUCCESS;
    return end_all(runs, count,
                   count == 1 ? gsw_preconditioner_solve(M, in, out)
                              : M->ops.apply_several(M->self, M->context, count, in, out, ld),
                   out);
}

gsw_status gsw_krylov_apply(gsw_krylov_run *const *runs, int count, const double *in, double *hat,
                            double *out) {
    if (gsw_krylov_right(runs[0])) {
        GSW_TRY(gsw_krylov_precondition(runs, count, in, hat));
        return gsw_krylov_multiply(runs, count, hat, out);
    }
    GSW_TRY(gsw_krylov_multiply(runs, count, in, out));
    return gsw_krylov_precondition(runs, count, out, out);
}

int gsw_krylov_narrow(const gsw_krylov_run *run, float **in, float **out) {
    const gsw_preconditioner *M = run->system->preconditioner;
    *in = *out = NULL;
    return M != NULL && run->system->project == NULL && M->ops.narrow(M->self, in, out);
}

gsw_status gsw_krylov_precondition_narrow(gsw_krylov_run *run) {
    const gsw_preconditioner *M = run->system->preconditioner;
    return outside(run, M->ops.apply_narrow(M->self, M->context));
}

gsw_status gsw_krylov_residual(gsw_krylov_run *run, double *r) {
    const int zero = run->x_is_zero;
    run->x_is_zero = 0;
    if (zero)
        return gsw_krylov_copy(run, run->b, r);
    GSW_TRY(gsw_krylov_multiply(&run, 1, run->x, r));
    return gsw_krylov_axpby(run, 1, run->b, -1, r);
}

gsw_status gsw_krylov_side_residual(gsw_krylov_run *run, double *r) {
    GSW_TRY(gsw_krylov_residual(run, r));
    return run->options.norm == GSW_NORM_TRUE ? GSW_SUCCESS
                                              : gsw_krylov_precondition(&run, 1, r, r);
}

/* ---- Vectors ---- */

gsw_status gsw_krylov_pass(gsw_krylov_run *run, gsw_pass pass, void *const *vectors) {
    if (gsw_pass_shapes[pass].products > 0)
        run->checked = pass;
    GSW_TRY(run->context->ops->krylov->pass(run->context, pass, run->n, vectors, run->state));
    return end_pass(run, pass);
}

gsw_status gsw_krylov_each(gsw_krylov_run *const *runs, int count,
                           gsw_status (*part)(gsw_krylov_run *run)) {
    for (int i = 0; i < count; i++)
        GSW_TRY(part(runs[i]));
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_products(gsw_krylov_run *run, int64_t count, const double *x, const double *y,
                               double *products) {
    gsw_context *context = run->context;
    GSW_TRY(context->ops->vector->project(context, run->n, count, x, run->stride, y, products));
    return sum_in_place(run, count, products);
}

gsw_status gsw_krylov_subtract(gsw_krylov_run *run, int64_t count, const double *c, const double *x,
                               double *y, double *square) {
    gsw_context *context = run->context;
    GSW_TRY(context->ops->vector->subtract(context, run->n, count, c, x, run->stride, y, square));
    return sum_in_place(run, 1, square);
}

gsw_status gsw_krylov_terms(gsw_krylov_run *run, const double *v, double *scratch, double *terms,
                            double *size) {
    GSW_TRY(run->context->ops->vector->change_signs(run->context, run->n, v, scratch));
    GSW_TRY(outside(run, gsw_operator_multiply(run->system->op, scratch, terms)));
    return gsw_krylov_norm(run, terms, size);
}

gsw_status gsw_krylov_cancellation(gsw_krylov_run *run, const double *v, double *scratch,
                                   double *terms, double *product, double *size) {
    GSW_TRY(outside(run, gsw_operator_multiply(run->system->op, v, terms)));
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
    return run->context->ops->vector->copy(run->context, run->n, x, y);
}

gsw_status gsw_krylov_axpby(gsw_krylov_run *run, double a, const double *x, double b, double *y) {
    return run->context->ops->vector->axpby(run->context, run->n, a, x, b, y);
}

gsw_status gsw_krylov_dot(gsw_krylov_run *run, const double *x, const double *y, double *result) {
    GSW_TRY(run->context->ops->vector->dot(run->context, run->n, x, y, result));
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
