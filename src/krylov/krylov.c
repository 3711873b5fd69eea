/* krylov.c: the entry points of the Krylov methods. They check arguments and resolve the options;
 * krylov_solve.c solves. */
#include <math.h>

#include "contract/check.h"
#include "core/clock.h"
#include "core/options.h"
#include "krylov_driver.h"
#include "space/partition.h"

GSW_ENDS_WITH(gsw_krylov_options, keep_inactive);
GSW_ENDS_WITH(gsw_krylov_result, rounding);

#define DEFAULT_RTOL       1e-8
#define DEFAULT_ITERATIONS 10000
#define DEFAULT_RESTART    30

static const gsw_krylov_method *find_method(gsw_method method) {
    switch (method) {
    case GSW_CG:
        return &gsw_cg_method;
    case GSW_BICGSTAB:
        return &gsw_bicgstab_method;
    case GSW_GMRES:
        return &gsw_gmres_method;
    case GSW_RICHARDSON:
        return &gsw_richardson_method;
    }
    return NULL;
}

const char *gsw_method_name(gsw_method method) {
    const gsw_krylov_method *known = find_method(method);
    return known != NULL ? known->name : "unknown";
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
    GSW_REQUIRE(context,
                options->nullspace == GSW_NULLSPACE_NONE ||
                    options->nullspace == GSW_NULLSPACE_CONSTANT ||
                    options->nullspace == GSW_NULLSPACE_VECTOR,
                "nullspace %d is unknown", (int)options->nullspace);
    GSW_REQUIRE(context,
                (options->nullspace == GSW_NULLSPACE_VECTOR) == (options->null_vector != NULL),
                options->null_vector != NULL ? "null_vector is given, but nullspace is not VECTOR"
                                             : "null_vector is NULL, but nullspace is VECTOR");
    GSW_REQUIRE(context,
                options->eisenstat >= GSW_EISENSTAT_AUTO &&
                    options->eisenstat <= GSW_EISENSTAT_ALWAYS,
                "eisenstat %lld is unknown", (long long)options->eisenstat);
    GSW_REQUIRE(context, options->keep_inactive == 0 || options->keep_inactive == 1,
                "keep_inactive is %lld; it must be 0 or 1", (long long)options->keep_inactive);
    GSW_REQUIRE(context, options->monitor == NULL || options->monitor_many == NULL,
                "monitor and monitor_many are both given");
    if (options->rtol == 0 && options->atol == 0)
        options->rtol = DEFAULT_RTOL;
    if (options->max_iterations == 0)
        options->max_iterations = DEFAULT_ITERATIONS;
    if (options->restart == 0)
        options->restart = DEFAULT_RESTART;
    /* Longer cycles could never be completed. A shorter restart saves their vectors. */
    if (options->restart > options->max_iterations)
        options->restart = (int)options->max_iterations;
    return GSW_SUCCESS;
}

/* b and x of all systems, and the null vector. */
static gsw_status check_vectors(const gsw_krylov_job *job) {
    gsw_context *context = job->context;
    const void *null_vector = job->options.null_vector;
    const gsw_vector vectors[] = {{.name = "b", .data = job->b, .ld = job->ldb},
                                  {.name = "x", .data = job->x, .ld = job->ldx, .written = 1}};
    GSW_TRY(gsw_check_vectors(context, job->n, GSW_F64, job->count, vectors, 2));
    GSW_TRY(gsw_check_place(context, vectors, 2));
    for (int64_t i = 0; i < job->count && null_vector != NULL; i++) {
        const gsw_vector both[] = {{.name = "x", .data = job->x + i * job->ldx, .written = 1},
                                   {.name = "null_vector", .data = null_vector}};
        GSW_TRY(gsw_check_vectors(context, job->n, GSW_F64, 1, both, 2));
        GSW_TRY(gsw_check_place(context, both, 2));
    }
    return GSW_SUCCESS;
}

static gsw_status check_results(const gsw_krylov_job *job) {
    gsw_context *context = job->context;
    for (int64_t i = 0; i < job->count && job->results != NULL; i++) {
        const gsw_krylov_result *result = gsw_krylov_result_of(job, i);
        GSW_TRY(gsw_result_check(context, "gsw_krylov_result", result));
        GSW_REQUIRE(context, result->size == job->results->size,
                    "results: size of result %lld is %zu, but that of the first one is %zu",
                    (long long)i, result->size, job->results->size);
    }
    return GSW_SUCCESS;
}

/* Checks all arguments, and resolves the options into the job. */
static gsw_status check_arguments(gsw_krylov_job *job, gsw_method method,
                                  const gsw_krylov_options *options) {
    gsw_context *context = job->context;
    GSW_REQUIRE(context, job->method != NULL, "method %d is unknown", (int)method);
    GSW_TRY(resolve_options(context, options, &job->options));
    GSW_REQUIRE(context, !job->several || job->options.monitor == NULL,
                "monitor is given; several systems need monitor_many");
    if (job->several) /* they share what they read instead */
        job->options.eisenstat = GSW_EISENSTAT_NEVER;
    GSW_TRY(check_results(job));
    GSW_TRY(gsw_operator_check(context, job->op));
    if (job->preconditioner != NULL) {
        const int64_t points = gsw_preconditioner_points(job->preconditioner);
        GSW_TRY(gsw_preconditioner_check(context, job->preconditioner));
        GSW_REQUIRE(context, points == job->n,
                    "preconditioner: it has %lld points, but the operator has %lld",
                    (long long)points, (long long)job->n);
    }
    return job->count == 0 ? GSW_SUCCESS : check_vectors(job);
}

/* What processes that solve together must pass alike. */
static uint64_t mark_of(const gsw_krylov_job *job, gsw_method method) {
    const gsw_krylov_options *o = &job->options;
    const int64_t numbers[] = {method,
                               job->count,
                               job->several,
                               job->preconditioner != NULL,
                               o->max_iterations,
                               o->restart,
                               o->norm,
                               o->nullspace,
                               o->eisenstat};
    const uint64_t mark = gsw_mark(0, numbers, sizeof numbers / sizeof *numbers);
    return gsw_mark_real(gsw_mark_real(mark, o->rtol), o->atol);
}

static gsw_status solve(gsw_context *context, gsw_method method, const gsw_operator *A,
                        gsw_preconditioner *M, const gsw_krylov_options *options,
                        gsw_krylov_job job) {
    job.begin = gsw_seconds_now();
    job.context = context;
    job.method = find_method(method);
    job.op = A;
    job.preconditioner = M;
    job.n = gsw_operator_points(A);

    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(
        context, !context->solving,
        "context is inside a Krylov method; a solve in a callback needs a context of its own");
    gsw_status status = check_arguments(&job, method, options);
    if (context->agree_to_solve != NULL)
        status = context->agree_to_solve(context->sum_user, status, mark_of(&job, method));
    if (status != GSW_SUCCESS || job.count == 0)
        return status;

    context->solving = 1;
    status = gsw_krylov_solve(&job);
    context->solving = 0;
    return status;
}

gsw_status gsw_krylov(gsw_context *context, gsw_method method, const gsw_operator *A,
                      gsw_preconditioner *M, const gsw_krylov_options *options, const void *b,
                      void *x, gsw_krylov_result *result) {
    return solve(context, method, A, M, options,
                 (gsw_krylov_job){.count = 1, .b = b, .x = x, .results = result});
}

gsw_status gsw_krylov_many(gsw_context *context, gsw_method method, const gsw_operator *A,
                           gsw_preconditioner *M, const gsw_krylov_options *options, int64_t count,
                           const void *b, int64_t ldb, void *x, int64_t ldx,
                           gsw_krylov_result *results) {
    const gsw_krylov_job job = {count, b, ldb, x, ldx, results, .several = 1};
    return solve(context, method, A, M, options, job);
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

gsw_status gsw_richardson(gsw_context *context, const gsw_operator *A, gsw_preconditioner *M,
                          const gsw_krylov_options *options, const void *b, void *x,
                          gsw_krylov_result *result) {
    return gsw_krylov(context, GSW_RICHARDSON, A, M, options, b, x, result);
}
