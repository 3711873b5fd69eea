/* multigrid_dense.h: levels of a hierarchy against dense products, for contexts of any backend. */
#ifndef GSW_TESTS_MULTIGRID_DENSE_H
#define GSW_TESTS_MULTIGRID_DENSE_H

#include <stdio.h>

#include "multigrid_matrices.h"

/* A stencil matrix in host memory as a dense one, by rows. */
static inline double *dense_of(const gsw_matrix *m) {
    const gsw_grid *g = &m->grid;
    const int64_t n = oracle_points(g);
    double *a = keep_zeros(n * n);
    for (int64_t row = 0; row < n; row++)
        for (int32_t e = 0; e < m->stencil.count; e++) {
            const int64_t there = hard_neighbour(g, row, m->stencil.offsets[e]);
            const double *values = m->array.values[e];
            if (there >= 0)
                a[row * n + there] += values[row];
            else if (m->stencil.count <= 27 && !isnan(values[row]))
                ck_assert_msg(values[row] == 0, "a coupling leaves the grid");
        }
    return a;
}

/* A part of a hierarchy, whose rows are those of an int64_t CSR with base 0. */
static inline double *dense_of_csr(const gsw_csr *csr, int64_t width) {
    const int64_t *row_ptr = csr->row_ptr, *columns = csr->columns;
    const double *values = csr->values;
    double *a = keep_zeros(csr->rows * width);
    for (int64_t row = 0; row < csr->rows; row++)
        for (int64_t k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            a[row * width + columns[k]] += values[k];
    return a;
}

/* x is y up to 1e-12 of its largest value. */
static inline void dense_compare(const char *what, int64_t n, const double *x, const double *y) {
    double most = 0, error = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(y[i]));
        error = isnan(x[i]) ? INFINITY : fmax(error, fabs(x[i] - y[i]));
    }
    ck_assert_msg(error <= 1e-12 * most, "%s: error %g of %g", what, error, most);
}

/* R A P: a has n rows, the product m. */
static inline double *dense_triple(const gsw_csr *p, const gsw_csr *r, const double *a, int64_t n,
                                   int64_t m) {
    double *product = keep_zeros(m * m), *ap = keep_zeros(n * m);
    const int64_t *p_ptr = p->row_ptr, *p_column = p->columns;
    const int64_t *r_ptr = r->row_ptr, *r_column = r->columns;
    const double *p_value = p->values, *r_value = r->values;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = p_ptr[j]; a[i * n + j] != 0 && k < p_ptr[j + 1]; k++)
                ap[i * m + p_column[k]] += a[i * n + j] * p_value[k];
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = r_ptr[i]; k < r_ptr[i + 1]; k++)
            for (int64_t j = 0; j < m; j++)
                product[i * m + j] += r_value[k] * ap[r_column[k] * m + j];
    return product;
}

/* ---- Whole hierarchies ------------------------------------------------------------------------
 */

/* Stencils of radius 1 with and without symmetry, in two and three dimensions, and one whose axes
 * are coarsened one after the other. */
static const char *const dense_problems[] = {
    "poisson:11x10x9",   "poisson:33x31",     "anisotropic:12x11x9",
    "lognormal:11x10x9", "lognormal:31x30",   "helmholtz19:9x10x8",
    "hpcg:9x10x11",      "convection:9x11x8", "convection:1x33x25",
};
#define DENSE_PROBLEMS ((int)(sizeof dense_problems / sizeof dense_problems[0]))

static inline gsw_csr dense_extract(const gsw_multigrid *mg, int level, gsw_multigrid_part part) {
    gsw_csr csr = {0};
    ck_assert_msg(gsw_multigrid_extract(context, mg, level, part, &csr) == GSW_SUCCESS,
                  "level %d, part %d: %s", level, (int)part, gsw_context_message(context));
    return keep_csr(csr);
}

/* The matrix of each level is R A P of the one above. `host` consists of stencil arrays. */
static inline void dense_check_levels(const gsw_matrix *host, const char *problem) {
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_multigrid *mg = keep_multigrid(context, keep_there(context, host),
                                       (gsw_multigrid_options){.coarsest_points = 20});
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_ge(info.levels, 3);
    double *a = dense_of(host);
    int64_t n = oracle_points(&host->grid);
    for (int level = 0; level + 1 < info.levels; level++) {
        const gsw_csr p = dense_extract(mg, level, GSW_MULTIGRID_PROLONGATION),
                      r = dense_extract(mg, level, GSW_MULTIGRID_RESTRICTION),
                      csr = dense_extract(mg, level + 1, GSW_MULTIGRID_MATRIX);
        const int64_t m = csr.rows;
        double *coarse = dense_of_csr(&csr, m);
        char what[100];
        snprintf(what, sizeof what, "%s, level %d", problem, level + 1);
        dense_compare(what, m * m, coarse, dense_triple(&p, &r, a, n, m));
        a = coarse;
        n = m;
    }
}

#endif
