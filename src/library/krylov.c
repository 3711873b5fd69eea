/* krylov.c: the driver of the Krylov methods: it refuses bad arguments, lends the method its
 * vectors, decides when to stop, and compares the end with the true residual. */
#include <math.h>
#include <time.h>

#include "krylov_internal.h"
#include "options.h"
#include "contract/allocate.h"
#include "contract/check.h"

/* How far the true residual may miss the tolerance that the recurrence has met. */
#define DRIFT 10.0

GSW_ENDS_WITH(gsw_krylov_options, monitor_user);
GSW_ENDS_WITH(gsw_krylov_result, solve_ms);

#define DEFAULT_RTOL       1e-8
#define DEFAULT_ITERATIONS 10000
#define DEFAULT_RESTART    30

const char *gsw_method_name(gsw_method method) {
    switch (method) {
    case GSW_CG:
        return "cg";
    case GSW_BICGSTAB:
        return "bicgstab";
    case GSW_GMRES:
        return "gmres";
    }
    return "unknown";
}

/* ---- what the methods call ---- */

gsw_status gsw_krylov_multiply(gsw_krylov_run *run, const double *x, double *y) {
    return gsw_operator_multiply(run->op, x, y);
}

gsw_status gsw_krylov_residual(gsw_krylov_run *run, double *r) {
    return gsw_operator_residual(run->op, run->b, run->x, r);
}

gsw_status gsw_krylov_precondition(gsw_krylov_run *run, const double *in, double *out) {
    if (run->preconditioner == NULL)
        return in != out ? gsw_krylov_copy(run, in, out) : GSW_SUCCESS;
    return gsw_preconditioner_solve(run->preconditioner, in, out);
}

gsw_status gsw_krylov_side_residual(gsw_krylov_run *run, double *r) {
    GSW_TRY(gsw_krylov_residual(run, r));
    return run->options.norm == GSW_NORM_TRUE ? GSW_SUCCESS : gsw_krylov_precondition(run, r, r);
}

gsw_status gsw_krylov_apply(gsw_krylov_run *run, const double *in, double *hat, double *out) {
    if (gsw_krylov_right(run)) {
        GSW_TRY(gsw_krylov_precondition(run, in, hat));
        return gsw_krylov_multiply(run, hat, out);
    }
    GSW_TRY(gsw_krylov_multiply(run, in, out));
    return gsw_krylov_precondition(run, out, out);
}

gsw_status gsw_krylov_pass(gsw_krylov_run *run, gsw_pass pass, double *const *vectors) {
    return run->context->ops->krylov_pass(run->context, pass, run->n, vectors, run->state);
}

gsw_status gsw_krylov_copy(gsw_krylov_run *run, const double *x, double *y) {
    return run->context->ops->copy(run->context, run->n, x, y);
}

gsw_status gsw_krylov_axpby(gsw_krylov_run *run, double a, const double *x, double b, double *y) {
    return run->context->ops->axpby(run->context, run->n, a, x, b, y);
}

gsw_status gsw_krylov_dot(gsw_krylov_run *run, const double *x, const double *y, double *result) {
    return run->context->ops->dot(run->context, run->n, x, y, result);
}

gsw_status gsw_krylov_norm(gsw_krylov_run *run, const double *x, double *norm) {
    double square;
    GSW_TRY(gsw_krylov_dot(run, x, x, &square));
    *norm = sqrt(square);
    return GSW_SUCCESS;
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

/* Shows run->norm to the monitor and turns what it means for the method into a status. */
static gsw_status settle(gsw_krylov_run *run, gsw_krylov_end end) {
    const gsw_krylov_options *options = &run->options;
    if (end == GSW_END_NORM)
        return gsw_fail(run->context, GSW_ERROR_NON_FINITE,
                        "iteration %lld: the residual norm is %s", (long long)run->iterations,
                        isnan(run->norm) ? "not a number" : "infinite");
    run->converged = end == GSW_END_CONVERGED;
    /* GMRES checks an iteration twice where it restarts. */
    int stop = 0;
    if (options->monitor != NULL && run->reported < run->iterations)
        stop = options->monitor(options->monitor_user, run->iterations, run->norm / run->reference);
    run->reported = run->iterations;
    if (run->converged)
        return GSW_SUCCESS;
    if (stop)
        return gsw_fail(run->context, GSW_ERROR_STOPPED, "the monitor stopped iteration %lld",
                        (long long)run->iterations);
    if (end == GSW_END_LIMIT)
        return gsw_fail(run->context, GSW_ERROR_NOT_CONVERGED,
                        "after %lld iterations the residual norm is %.3g times the reference",
                        (long long)run->iterations, run->norm / run->reference);
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_check(gsw_krylov_run *run, double norm) {
    run->norm = norm;
    return settle(
        run, gsw_krylov_judge(norm, run->tolerance, run->iterations, run->options.max_iterations));
}

/* ---- queued methods ---- */

/* The scalars that end them, and what it means that one has vanished or turned. */
static const struct {
    const char *name, *meaning;
} scalars[GSW_KRYLOV_SCALARS] = {
    [GSW_SCALAR_RZ] = {"r'z", "the preconditioner is indefinite"},
    [GSW_SCALAR_PW] = {"p'Ap", "the matrix is indefinite"},
    [GSW_SCALAR_RZ_PW] = {"r'z / p'Ap", ""},
    [GSW_SCALAR_RHO] = {"rho", "the residual is orthogonal to the first residual"},
    [GSW_SCALAR_V_SHADOW] = {"the product of v and the first residual", "alpha does not exist"},
    [GSW_SCALAR_ALPHA] = {"alpha", ""},
    [GSW_SCALAR_TT] = {"t't", "omega does not exist"},
    [GSW_SCALAR_OMEGA] = {"omega", "the next direction does not exist"},
};

/* Takes over what a state says. */
static gsw_status look(gsw_krylov_run *run, const gsw_krylov_state *state) {
    run->iterations = state->iterations;
    run->norm = state->norm;
    GSW_TRY(settle(run, state->ended));
    if (state->ended == GSW_END_NON_FINITE)
        return gsw_krylov_finite(run, scalars[state->scalar].name, state->offender);
    if (state->ended == GSW_END_BREAKDOWN)
        return gsw_krylov_breakdown(run, scalars[state->scalar].name, state->offender,
                                    scalars[state->scalar].meaning);
    return GSW_SUCCESS;
}

/* Queues iterations until one has ended the method. The host follows at a distance, so that the
 * device always has the next iteration at hand; what is queued in vain changes nothing. A monitor
 * may stop the method in any iteration, so with one there is no distance. */
static gsw_status follow(gsw_krylov_run *run, gsw_status (*start)(gsw_krylov_run *),
                         gsw_status (*iterate)(gsw_krylov_run *)) {
    const gsw_backend_ops *ops = run->context->ops;
    const int64_t distance = run->options.monitor != NULL ? 0 : ops->krylov_ahead;
    gsw_krylov_state states[GSW_KRYLOV_SLOTS];
    int64_t seen = 0;
    GSW_TRY(start(run));
    for (int64_t queued = 0;; queued++) {
        const int slot = (int)(queued % GSW_KRYLOV_SLOTS);
        GSW_TRY(ops->krylov_post(run->context, slot, run->state, &states[slot]));
        const int64_t ahead = queued < run->options.max_iterations ? distance : 0;
        for (; seen <= queued - ahead; seen++) {
            const int oldest = (int)(seen % GSW_KRYLOV_SLOTS);
            GSW_TRY(ops->krylov_collect(run->context, oldest, &states[oldest]));
            GSW_TRY(look(run, &states[oldest]));
            if (run->converged)
                return GSW_SUCCESS;
        }
        GSW_TRY(iterate(run));
    }
}

/* Runs a queued method. */
static gsw_status queue(gsw_krylov_run *run, gsw_status (*start)(gsw_krylov_run *),
                        gsw_status (*iterate)(gsw_krylov_run *)) {
    const gsw_backend_ops *ops = run->context->ops;
    const gsw_krylov_state first = gsw_krylov_begin(run->tolerance, run->options.max_iterations);
    gsw_status status;
    void *memory;
    GSW_TRY(ops->alloc(run->context, sizeof first, &memory));
    run->state = memory;
    GSW_TRY_GOTO(ops->upload(run->context, memory, &first, sizeof first), cleanup);
    status = follow(run, start, iterate);

cleanup:
    ops->release(run->context, memory);
    run->state = NULL;
    return status;
}

/* ---- arguments ---- */

static gsw_status resolve_options(gsw_context *context, const gsw_krylov_options *given,
                                  gsw_krylov_options *options) {
    GSW_TRY(gsw_options_take(context, "gsw_krylov_options", given, sizeof *options, options));
    GSW_REQUIRE(context, options->rtol >= 0 && isfinite(options->rtol),
                "rtol is %g; it must be finite and not negative", options->rtol);
    GSW_REQUIRE(context, options->atol >= 0 && isfinite(options->atol),
                "atol is %g; it must be finite and not negative", options->atol);
    GSW_REQUIRE(context, options->max_iterations >= 0, "max_iterations is %lld; it must be >= 0",
                (long long)options->max_iterations);
    GSW_REQUIRE(context, options->restart >= 0, "restart is %d; it must be >= 0", options->restart);
    GSW_REQUIRE(context, options->norm == GSW_NORM_TRUE || options->norm == GSW_NORM_PRECONDITIONED,
                "norm %d is unknown", (int)options->norm);
    if (options->rtol == 0 && options->atol == 0)
        options->rtol = DEFAULT_RTOL;
    if (options->max_iterations == 0)
        options->max_iterations = DEFAULT_ITERATIONS;
    if (options->restart == 0)
        options->restart = DEFAULT_RESTART;
    /* Longer cycles could not be completed: this saves their vectors. */
    if (options->restart > options->max_iterations)
        options->restart = (int)options->max_iterations;
    return GSW_SUCCESS;
}

/* NULL is no preconditioner. */
static gsw_status check_preconditioner(gsw_context *context,
                                       const gsw_preconditioner *preconditioner, int64_t points) {
    if (preconditioner == NULL)
        return GSW_SUCCESS;
    GSW_TRY(gsw_preconditioner_check(context, preconditioner));
    const int64_t given = gsw_preconditioner_points(preconditioner);
    GSW_REQUIRE(context, given == points,
                "preconditioner: it has %lld points, but the operator has %lld", (long long)given,
                (long long)points);
    return GSW_SUCCESS;
}

static gsw_status check_vectors(gsw_context *context, const double *b, const double *x,
                                int64_t points) {
    GSW_REQUIRE(context, b != NULL, "b is NULL");
    GSW_REQUIRE(context, x != NULL, "x is NULL");
    GSW_REQUIRE(context, !gsw_overlap(b, x, points), "b and x overlap");
    return GSW_SUCCESS;
}

/* ---- the solve ---- */

/* One allocation for all vectors. They start on lines of the cache, and not a power of two apart,
 * where they would compete for the same sets of it. */
static gsw_status allocate_vectors(gsw_krylov_run *run, int64_t count) {
    size_t bytes;
    run->stride = ((run->n + 7) / 8 + 9) * 8;
    if (!gsw_mul_size((size_t)run->stride, sizeof(double), &bytes) ||
        !gsw_mul_size(bytes, (size_t)count, &bytes))
        return gsw_fail(run->context, GSW_ERROR_OVERFLOW,
                        "%lld work vectors of %lld points exceed 64-bit sizes", (long long)count,
                        (long long)run->n);
    void *memory;
    GSW_TRY(run->context->ops->alloc(run->context, bytes, &memory));
    run->work = memory;
    return GSW_SUCCESS;
}

/* b has norm 0: either it is zero, or its squares have vanished, which scaling by a power of two
 * shows. */
static gsw_status solve_zero(gsw_krylov_run *run) {
    double *scaled = gsw_krylov_vector(run, 0), norm;
    GSW_TRY(gsw_krylov_axpby(run, 0x1p600, run->b, 0, scaled));
    GSW_TRY(gsw_krylov_norm(run, scaled, &norm));
    if (norm != 0)
        return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                        "b is so small that its norm underflows; scale the system");
    run->converged = 1;
    return run->context->ops->fill(run->context, run->n, 0.0, run->x);
}

/* Sets the norm that rtol refers to. */
static gsw_status set_reference(gsw_krylov_run *run, double b_norm) {
    run->reference = b_norm;
    if (run->options.norm == GSW_NORM_PRECONDITIONED) {
        double *z = gsw_krylov_vector(run, 0);
        GSW_TRY(gsw_krylov_precondition(run, run->b, z));
        GSW_TRY(gsw_krylov_norm(run, z, &run->reference));
    }
    if (!isfinite(run->reference))
        return gsw_fail(run->context, GSW_ERROR_NON_FINITE, "the norm of %s is not finite",
                        run->options.norm == GSW_NORM_TRUE ? "b" : "the preconditioned b");
    if (run->reference == 0)
        return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                        "the preconditioner makes b vanish: it is singular");
    run->tolerance = fmax(run->options.rtol * run->reference, run->options.atol);
    return GSW_SUCCESS;
}

static gsw_status iterate(gsw_krylov_run *run, gsw_method method) {
    switch (method) {
    case GSW_CG:
        return queue(run, gsw_cg_start, gsw_cg_iterate);
    case GSW_BICGSTAB:
        return queue(run, gsw_bicgstab_start, gsw_bicgstab_iterate);
    case GSW_GMRES:
        return gsw_gmres_iterate(run);
    }
    return GSW_ERROR_INVALID_ARGUMENT;
}

/* Computes the true residual, and the norm that belongs to it in the mode of the tolerance. */
static gsw_status measure(gsw_krylov_run *run, double *true_norm, double *checked_norm) {
    double *r = gsw_krylov_vector(run, 0);
    GSW_TRY(gsw_krylov_residual(run, r));
    GSW_TRY(gsw_krylov_norm(run, r, true_norm));
    *checked_norm = *true_norm;
    if (run->options.norm == GSW_NORM_TRUE)
        return GSW_SUCCESS;
    GSW_TRY(gsw_krylov_precondition(run, r, r));
    return gsw_krylov_norm(run, r, checked_norm);
}

/* Iterates and compares the end with the truth. */
static gsw_status solve(gsw_krylov_run *run, gsw_method method, gsw_krylov_result *result) {
    double b_norm, true_norm, checked_norm;
    GSW_TRY(gsw_krylov_norm(run, run->b, &b_norm));
    if (b_norm == 0) {
        GSW_TRY(solve_zero(run));
        result->residual = result->recurrence = 0;
        return GSW_SUCCESS;
    }
    GSW_TRY(set_reference(run, b_norm));

    gsw_status status = iterate(run, method);
    if (status != GSW_SUCCESS && !gsw_krylov_ended(status))
        return status;
    GSW_TRY(measure(run, &true_norm, &checked_norm));
    result->residual = true_norm / b_norm;
    result->recurrence = run->norm / run->reference;
    if (status != GSW_SUCCESS)
        run->converged = 0;
    else if (!(checked_norm <= DRIFT * run->tolerance)) {
        run->converged = 0;
        return gsw_fail(run->context, GSW_ERROR_NOT_CONVERGED,
                        "after %lld iterations the recurrence gives %.3g times the reference, but "
                        "the residual b - A x gives %.3g",
                        (long long)run->iterations, result->recurrence,
                        checked_norm / run->reference);
    }
    return status;
}

static int64_t vectors_needed(gsw_method method, const gsw_krylov_run *run) {
    if (method == GSW_CG)
        return GSW_CG_VECTORS;
    if (method == GSW_BICGSTAB)
        return GSW_BICGSTAB_VECTORS + (gsw_krylov_right(run) ? GSW_BICGSTAB_RIGHT_VECTORS : 0);
    return (int64_t)run->options.restart + GSW_GMRES_EXTRA_VECTORS;
}

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

gsw_status gsw_krylov(gsw_context *context, gsw_method method, const gsw_operator *A,
                      gsw_preconditioner *M, const gsw_krylov_options *options, const void *b,
                      void *x, gsw_krylov_result *result) {
    double start = milliseconds();
    gsw_krylov_run run = {.context = context,
                          .op = A,
                          .preconditioner = M,
                          .n = gsw_operator_points(A),
                          .b = b,
                          .x = x,
                          .reported = -1};
    gsw_krylov_result made = {.size = sizeof made, .residual = NAN, .recurrence = NAN};
    gsw_status status;

    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, method == GSW_CG || method == GSW_BICGSTAB || method == GSW_GMRES,
                "method %d is unknown", (int)method);
    GSW_TRY(resolve_options(context, options, &run.options));
    GSW_TRY(gsw_result_check(context, "gsw_krylov_result", result));
    GSW_TRY(gsw_operator_check(context, A));
    GSW_TRY(check_preconditioner(context, M, run.n));
    GSW_TRY(check_vectors(context, b, x, run.n));

    GSW_TRY_GOTO(allocate_vectors(&run, vectors_needed(method, &run)), cleanup);
    status = solve(&run, method, &made);

cleanup:
    if (run.work != NULL)
        context->ops->release(context, run.work);
    made.iterations = run.iterations;
    made.converged = run.converged;
    made.solve_ms = milliseconds() - start;
    gsw_result_give(result, &made, sizeof made);
    return status;
}

gsw_status gsw_cg(gsw_context *context, const gsw_operator *A, gsw_preconditioner *M,
                  const gsw_krylov_options *options, const void *b, void *x,
                  gsw_krylov_result *result) {
    return gsw_krylov(context, GSW_CG, A, M, options, b, x, result);
}

gsw_status gsw_bicgstab(gsw_context *context, const gsw_operator *A, gsw_preconditioner *M,
                        const gsw_krylov_options *options, const void *b, void *x,
                        gsw_krylov_result *result) {
    return gsw_krylov(context, GSW_BICGSTAB, A, M, options, b, x, result);
}

gsw_status gsw_gmres(gsw_context *context, const gsw_operator *A, gsw_preconditioner *M,
                     const gsw_krylov_options *options, const void *b, void *x,
                     gsw_krylov_result *result) {
    return gsw_krylov(context, GSW_GMRES, A, M, options, b, x, result);
}
