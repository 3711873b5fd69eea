/* krylov_truth.h: a check of every solve in the tests: "converged" is a statement about the true
 * residual of the x that is returned. The residual is computed here row by row in long double from
 * the arrays of the host, without any part of the library. */
#ifndef GSW_TESTS_KRYLOV_TRUTH_H
#define GSW_TESTS_KRYLOV_TRUTH_H

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "common/csr.h"

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

static inline double vector_norm(int64_t n, const double *v) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

/* Whether ||b - A x|| <= rtol ||b||. */
static inline int truth_converged(const gsw_matrix *matrix, const double *b, const double *x,
                                  double rtol) {
    const int64_t n = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
    long double rest = 0, whole = 0, terms;
    for (int64_t row = 0; row < n; row++) {
        const long double r = b[row] - truth_row(matrix, row, x, &terms);
        rest += r * r;
        whole += (long double)b[row] * b[row];
    }
    return rest <= (long double)rtol * rtol * whole * 1.01L;
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

/* r = b - A x and, into `wanted`, b; both without the null vector's part. */
static inline truth truth_vectors(const gsw_matrix *matrix, const gsw_krylov_options *options,
                                  const double *b, const double *x, long double *r,
                                  long double *wanted) {
    const int64_t n = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
    truth t = {0};
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
    return t;
}

/* ||M^-1 v|| of a factor that lies on the host, without the null vector's part; overwrites v. */
static inline long double truth_preconditioned(gsw_context *where, gsw_factor *factor,
                                               const gsw_krylov_options *options, int64_t n,
                                               long double *v) {
    double *z = malloc((size_t)n * sizeof *z);
    ck_assert_ptr_nonnull(z);
    for (int64_t i = 0; i < n; i++)
        z[i] = (double)v[i];
    ck_assert_int_eq(gsw_factor_solve(where, factor, 1, z, n, z, n), GSW_SUCCESS);
    for (int64_t i = 0; i < n; i++)
        v[i] = z[i];
    if (options->nullspace != GSW_NULLSPACE_NONE)
        truth_project(n, options->null_vector, v);
    free(z);
    return truth_norm(n, v);
}

/* Checks the claims of a result. The arrays are in host memory; options are the caller's (may be
 * NULL). In PRECONDITIONED mode `where` and `factor` are a CPU context and its preconditioner.
 * Where they are NULL, the norm of M^-1 r is not checked. */
static inline void truth_check(const char *what, const gsw_matrix *matrix,
                               const gsw_krylov_options *options, const double *b, const double *x,
                               gsw_status status, const gsw_krylov_result *result,
                               gsw_context *where, gsw_factor *factor) {
    const int64_t n = matrix != NULL ? matrix->grid.nx * matrix->grid.ny * matrix->grid.nz : 0;
    const double atol = options != NULL ? options->atol : 0;
    const double rtol = options != NULL && (options->rtol > 0 || atol > 0) ? options->rtol : 1e-8;
    const int left = options != NULL && options->norm == GSW_NORM_PRECONDITIONED;
    if (status == GSW_ERROR_INVALID_ARGUMENT || status == GSW_ERROR_UNSUPPORTED ||
        result->size < sizeof *result)
        return;
    ck_assert_msg(result->converged == (status == GSW_SUCCESS), "%s: %s, but converged is %d", what,
                  gsw_status_name(status), result->converged);
    if (status != GSW_SUCCESS)
        return;
    ck_assert_msg(!result->stagnated, "%s: converged and stagnated", what);
    long double *r = malloc((size_t)n * sizeof *r), *wanted = malloc((size_t)n * sizeof *wanted);
    ck_assert(r != NULL && wanted != NULL);
    truth t = truth_vectors(matrix, options, b, x, r, wanted);
    ck_assert_msg(fabsl(t.residual - (t.b > 0 ? t.b : 1) * result->residual) <=
                      1e-3L * t.residual + 4e-16L * (t.terms + t.b) +
                          16 * DBL_EPSILON * t.given * (t.b <= 16 * DBL_EPSILON * t.given),
                  "%s: the residual is %Lg, not %g", what, t.residual / t.b, result->residual);
    /* Where b consists of rounding errors only, x = 0 is the solution. */
    if (t.b > 16 * DBL_EPSILON * t.given && (!left || factor != NULL || where != NULL)) {
        if (left && factor != NULL) {
            t.residual = truth_preconditioned(where, factor, options, n, r);
            t.b = truth_preconditioned(where, factor, options, n, wanted);
        }
        const long double tolerance = fmaxl(rtol * t.b, atol);
        ck_assert_msg(t.residual <= tolerance,
                      "%s: converged, but the true residual is %Lg, above its tolerance %Lg", what,
                      t.residual, tolerance);
    }
    free(wanted);
    free(r);
}

#endif
