/* krylov_truth.h: what every solve in the tests must stand: "converged" is a statement about the
 * true residual of the x that is returned. The residual is computed here row by row in long double
 * from the arrays of the host, by nothing that the library uses. */
#ifndef GSW_TESTS_KRYLOV_TRUTH_H
#define GSW_TESTS_KRYLOV_TRUTH_H

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "contract/csr.h"

/* Row `row` of A x; *terms receives the sum of the squares of its terms. */
static inline long double truth_row(const gsw_matrix *matrix, int64_t row, const double *x,
                                    long double *terms) {
    const gsw_grid *g = &matrix->grid;
    long double sum = 0;
    *terms = 0;
    if (matrix->format == GSW_FORMAT_CSR) {
        const gsw_csr *csr = &matrix->csr;
        const int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
        for (int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base; k < end;
             k++) {
            const int64_t column = gsw_index_at(csr->columns, csr->index_type, k) - csr->base;
            const long double term =
                (long double)gsw_value_at(csr->values, csr->value_type, k) * x[column];
            sum += term;
            *terms += term * term;
        }
        return sum;
    }
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        const int64_t px = row % g->nx + o.dx, py = row / g->nx % g->ny + o.dy;
        const int64_t pz = row / g->nx / g->ny + o.dz;
        if (matrix->array.values[e] == NULL || px < 0 || px >= g->nx || py < 0 || py >= g->ny ||
            pz < 0 || pz >= g->nz)
            continue;
        const long double term =
            (long double)gsw_value_at(matrix->array.values[e], matrix->array.value_type, row) *
            x[px + g->nx * (py + g->ny * pz)];
        sum += term;
        *terms += term * term;
    }
    return sum;
}

/* v -= its part along `null`, or along the constant vector where that is NULL. */
static inline void truth_project(int64_t n, const double *null, long double *v) {
    long double along = 0, square = 0;
    for (int64_t i = 0; i < n; i++) {
        const long double w = null != NULL ? null[i] : 1;
        along += w * v[i];
        square += w * w;
    }
    for (int64_t i = 0; i < n; i++)
        v[i] -= along / square * (null != NULL ? null[i] : 1);
}

static inline long double truth_norm(int64_t n, const long double *v) {
    long double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sqrtl(sum);
}

/* ||b - A x|| and ||b||, both without the null vector's part, ||b|| with it, and the size of the
 * terms of A x. */
typedef struct truth {
    long double residual, b, given, terms;
} truth;

static inline truth truth_of(const gsw_matrix *matrix, const gsw_krylov_options *options,
                             const double *b, const double *x) {
    const int64_t n = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
    long double *r = malloc((size_t)n * sizeof *r), *wanted = malloc((size_t)n * sizeof *wanted);
    truth t = {0};
    ck_assert(r != NULL && wanted != NULL);
    for (int64_t i = 0; i < n; i++) {
        long double terms;
        wanted[i] = b[i];
        r[i] = b[i] - truth_row(matrix, i, x, &terms);
        t.terms += terms;
    }
    t.given = truth_norm(n, wanted);
    if (options != NULL && options->nullspace != GSW_NULLSPACE_NONE) {
        truth_project(n, options->null_vector, wanted);
        truth_project(n, options->null_vector, r);
    }
    t.residual = truth_norm(n, r);
    t.b = truth_norm(n, wanted);
    t.terms = sqrtl(t.terms);
    free(wanted);
    free(r);
    return t;
}

/* Checks what a solve says. Arrays of the host; options as they were given (may be NULL). */
static inline void truth_check(const char *what, const gsw_matrix *matrix,
                               const gsw_krylov_options *options, const double *b, const double *x,
                               gsw_status status, const gsw_krylov_result *result) {
    const double atol = options != NULL ? options->atol : 0;
    const double rtol = options != NULL && (options->rtol > 0 || atol > 0) ? options->rtol : 1e-8;
    if (status == GSW_ERROR_INVALID_ARGUMENT || status == GSW_ERROR_UNSUPPORTED ||
        result->size < sizeof *result)
        return;
    ck_assert_msg(result->converged == (status == GSW_SUCCESS), "%s: %s, but converged is %d", what,
                  gsw_status_name(status), result->converged);
    if (status != GSW_SUCCESS)
        return;
    ck_assert_msg(!result->stagnated, "%s: converged and stagnated", what);
    const truth t = truth_of(matrix, options, b, x);
    if (t.b <= 16 * DBL_EPSILON * t.given) { /* nothing is left of b but its rounding errors */
        ck_assert(result->residual == 0 && t.residual <= t.b);
        return;
    }
    ck_assert_msg(fabsl(t.residual - (t.b > 0 ? t.b : 1) * result->residual) <=
                      1e-3L * t.residual + 4e-16L * (t.terms + t.b),
                  "%s: the residual is %Lg, not %g", what, t.residual / t.b, result->residual);
    if (options != NULL && options->norm == GSW_NORM_PRECONDITIONED)
        return;
    const long double tolerance = fmaxl(rtol * t.b, atol);
    ck_assert_msg(t.residual <= tolerance,
                  "%s: converged, but the true residual is %Lg, above its tolerance %Lg", what,
                  t.residual, tolerance);
}

#endif
