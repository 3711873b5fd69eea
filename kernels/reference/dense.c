/* dense.c: the coarsest level. */
#include "contract/dense.h"
#include <string.h>
#include "common/wraps.h"
#include "contract/error.h"
#include "reference/levels.h"
#include "reference/rows.h"

static void fill_dense(const gsw_matrix *matrix, int64_t n, double *a) {
    memset(a, 0, (size_t)(n * n) * sizeof *a);
    for (int64_t row = 0; row < n; row++) {
        const gsw_reference_point p = gsw_reference_point_of(&matrix->grid, row);
        for (int32_t e = 0; e < matrix->stencil.count; e++) {
            const int64_t column =
                gsw_reference_beside(&matrix->grid, p, matrix->stencil.offsets[e]);
            double value;
            if (column >= 0 && gsw_reference_stored(matrix, row, e, &value))
                a[row * n + column] += value;
        }
    }
}

/* With v the normalised constants and A v = 0, (A + s v v^T)^-1 maps v to v / s. Without that term
 * it is the inverse on the complement. */
gsw_status gsw_reference_dense_invert(gsw_context *context, const gsw_matrix *matrix,
                                      const gsw_wraps *wraps, int constants, double *inverse,
                                      double *work) {
    const int64_t n = gsw_reference_points(&matrix->grid);
    const double part = 1.0 / (double)n;
    double shift = 0;
    fill_dense(matrix, n, work);
    for (int64_t k = 0; wraps && k < wraps->seam.count; k++)
        gsw_wraps_add_to_dense(wraps, k, n, work);
    for (int64_t i = 0; i < n; i++)
        shift += work[i * n + i] * part;
    for (int64_t i = 0; constants && i < n * n; i++)
        work[i] += shift * part;
    GSW_TRY(gsw_dense_invert(context, n, work, inverse));
    for (int64_t i = 0; constants && i < n * n; i++)
        inverse[i] -= part / shift;
    return GSW_SUCCESS;
}

gsw_status gsw_reference_dense_apply(gsw_context *context, int64_t n, const double *inverse,
                                     gsw_dtype type, const void *b, void *x) {
    (void)context;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += inverse[i * n + j] * gsw_value_at(b, type, j);
        gsw_value_put(x, type, i, sum);
    }
    return GSW_SUCCESS;
}
