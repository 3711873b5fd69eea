/* dense.c: see dense.h. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "contract/context.h"
#include "contract/dense.h"
#include "contract/error.h"

/* Brings the largest entry of rows and columns k.. to (k, k). Returns its size. */
static double bring_pivot(int64_t n, int64_t k, double *a, double *inverse, int64_t *order) {
    int64_t row = k, column = k;
    double most = 0;
    for (int64_t i = k; i < n; i++) {
        double own = 0;
        for (int64_t j = k; j < n; j++)
            own = fabs(a[i * n + j]) > own ? fabs(a[i * n + j]) : own;
        if (!(own > most))
            continue;
        /* A semidefinite matrix has its largest entry on the diagonal. Of equal entries the
         * diagonal one is taken, which keeps the inverse symmetric. */
        const double bound = (1 - 1e-12) * own;
        most = own;
        row = column = i;
        for (int64_t j = k; j < n && fabs(a[i * n + i]) < bound; j++)
            column = fabs(a[i * n + j]) > fabs(a[i * n + column]) ? j : column;
    }
    for (int64_t j = 0; row != k && j < n; j++) {
        const double value = a[row * n + j], left = inverse[row * n + j];
        a[row * n + j] = a[k * n + j];
        inverse[row * n + j] = inverse[k * n + j];
        a[k * n + j] = value;
        inverse[k * n + j] = left;
    }
    for (int64_t i = 0; column != k && i < n; i++) {
        const double value = a[i * n + column];
        a[i * n + column] = a[i * n + k];
        a[i * n + k] = value;
    }
    const int64_t place = order[column];
    order[column] = order[k];
    order[k] = place;
    return most;
}

/* Gauss-Jordan elimination of [a | inverse] with complete pivoting. Where the pivots vanish, the
 * remaining unknowns become 0. Returns the rank; row k of `inverse` then belongs to unknown
 * order[k]. */
static int64_t invert(int64_t n, double *a, double *inverse, int64_t *order) {
    double first = 0;
    memset(inverse, 0, (size_t)(n * n) * sizeof *inverse);
    for (int64_t i = 0; i < n; i++) {
        inverse[i * n + i] = 1;
        order[i] = i;
    }
    for (int64_t k = 0; k < n; k++) {
        const double size = bring_pivot(n, k, a, inverse, order);
        first = k == 0 ? size : first;
        if (!(size > 4 * DBL_EPSILON * (double)n * first && size <= DBL_MAX))
            return k;
        const double value = a[k * n + k];
        for (int64_t j = 0; j < n; j++) {
            a[k * n + j] /= value;
            inverse[k * n + j] /= value;
        }
        for (int64_t i = 0; i < n; i++) {
            const double factor = a[i * n + k];
            if (i == k || factor == 0)
                continue;
            for (int64_t j = k; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
            for (int64_t j = 0; j < n; j++)
                inverse[i * n + j] -= factor * inverse[k * n + j];
        }
    }
    return n;
}

/* Divides rows and columns by the roots of the diagonal, so that pivots are comparable: the scales
 * of equations and unknowns are arbitrary. */
static void equilibrate(int64_t n, double *a, double *scale) {
    for (int64_t i = 0; i < n; i++)
        scale[i] = a[i * n + i] != 0 ? 1 / sqrt(fabs(a[i * n + i])) : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] *= scale[i] * scale[j];
}

gsw_status gsw_dense_invert(gsw_context *context, int64_t n, double *work, double *inverse) {
    double *scale = work + n * n;
    int64_t *order = (int64_t *)(scale + n);
    equilibrate(n, work, scale);
    const int64_t rank = invert(n, work, inverse, order);
    if (rank == 0)
        return gsw_fail(context, GSW_ERROR_ZERO_PIVOT,
                        "multigrid: the coarsest matrix, of %lld points, is zero or not finite",
                        (long long)n);
    memcpy(work, inverse, (size_t)(rank * n) * sizeof *work);
    memset(inverse, 0, (size_t)(n * n) * sizeof *inverse);
    for (int64_t k = 0; k < rank; k++)
        for (int64_t j = 0; j < n; j++)
            inverse[order[k] * n + j] = work[k * n + j] * scale[order[k]] * scale[j];
    return GSW_SUCCESS;
}
