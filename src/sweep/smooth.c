/* smooth.c: stationary iterations.
 *
 * An SSOR factor with omega 1 holds M = (D + L) D^-1 (D + U). A Gauss-Seidel sweep in ascending
 * order turns x into (D + L)^-1 (b - U x), and one in descending order into (D + U)^-1 (b - L x).
 * One after the other they give x + M^-1 (b - A x). So a smoother needs no sweep of its own, only a
 * residual and a solve. */
#include <gridsweep/smooth.h>

#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "domain/masked.h"

static gsw_status check(gsw_context *context, const gsw_matrix *matrix, const gsw_factor *factor,
                        int32_t sweeps, const double *b, const double *x, const double *work) {
    int64_t points;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_kind(context, matrix));
    GSW_REQUIRE(context, factor != NULL, "factor is NULL");
    GSW_REQUIRE(context, factor->context == context, "factor belongs to another context");
    GSW_REQUIRE(context, factor->usable, "factor holds no values: its last factorisation failed");
    GSW_REQUIRE(context, !factor->options.transpose,
                "factor: its option transpose is set, but smoothers need it unset");
    if (factor->options.vector_type != GSW_F64)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "factor: its vectors are fp32, but smoothers work in fp64");
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    GSW_REQUIRE(context, factor->points == points,
                "factor: it has %lld points, but the matrix has %lld", (long long)factor->points,
                (long long)points);
    GSW_REQUIRE(context, sweeps >= 0, "sweeps is %d; it must be >= 0", (int)sweeps);
    const gsw_vector vectors[] = {{.name = "b", .data = b},
                                  {.name = "x", .data = x, .written = 1},
                                  {.name = "work", .data = work, .written = 1}};
    return gsw_check_vectors(context, points, GSW_F64, 1, vectors, 3);
}

/* The sweeps, with a matrix that has no inactive points. */
static gsw_status sweep_all(gsw_context *context, const gsw_matrix *matrix, gsw_factor *factor,
                            const gsw_masked *masked, int32_t sweeps, int zero_guess,
                            const double *b, double *x, double *work) {
    const gsw_backend_ops *ops = context->ops;
    const int64_t n = factor->points;
    if (zero_guess) {
        if (sweeps == 0)
            return ops->vector->fill(context, n, 0, x);
        GSW_TRY(gsw_factor_solve(context, factor, 1, b, n, x, n));
    }
    GSW_TRY(gsw_masked_vector(context, masked, GSW_F64, n, x, x));
    for (int32_t sweep = zero_guess ? 1 : 0; sweep < sweeps; sweep++) {
        GSW_TRY(ops->matrix->spmv(context, matrix, GSW_F64, b, x, work));
        GSW_TRY(gsw_wrapped_multiply(context, &masked->around, GSW_F64, -1, x, work));
        GSW_TRY(gsw_masked_vector(context, masked, GSW_F64, n, work, work));
        GSW_TRY(gsw_factor_solve(context, factor, 1, work, n, work, n));
        GSW_TRY(ops->vector->axpby(context, n, 1, work, 1, x));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_smooth(gsw_context *context, const gsw_matrix *matrix, gsw_factor *factor,
                      int32_t sweeps, int zero_guess, const double *b, double *x, double *work) {
    gsw_masked masked = {0};
    gsw_matrix plain;
    GSW_TRY(check(context, matrix, factor, sweeps, b, x, work));
    gsw_status status = gsw_masked_take(context, matrix, 0, &masked, &plain);
    if (status == GSW_SUCCESS)
        status = sweep_all(context, &plain, factor, &masked, sweeps, zero_guess, b, x, work);
    gsw_masked_close(context, &masked);
    return status;
}
