/* multigrid_loops.h: cycles of two levels with the smoothers JACOBI and CHEBYSHEV against the same
 * cycles by hand, for contexts of any backend. */
#ifndef GSW_TESTS_MULTIGRID_LOOPS_H
#define GSW_TESTS_MULTIGRID_LOOPS_H

#include "geometry/stencil_facts.h"
#include "multigrid_dense.h"

/* The largest sum of |a| over the diagonal. */
static inline double loops_row_ratio(const double *a, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += fabs(a[i * n + j]);
        most = fmax(most, sum / fabs(a[i * n + i]));
    }
    return most;
}

/* to = b - A x */
static inline void loops_residual(const double *a, int64_t n, const double *b, const double *x,
                                  double *to) {
    for (int64_t i = 0; i < n; i++) {
        to[i] = b[i];
        for (int64_t j = 0; j < n; j++)
            to[i] -= a[i * n + j] * x[j];
    }
}

/* A polynomial is written as two steps whose weights are the reciprocals of its roots. */
static inline void loops_smooth(const double *a, int64_t n, gsw_smoother smoother, int steps,
                                const double *b, double *x) {
    const double high = loops_row_ratio(a, n), center = 0.625 * high, half = 0.375 * high;
    const double weights[2] = {1 / (center + half * sqrt(0.5)), 1 / (center - half * sqrt(0.5))};
    const int chebyshev = smoother == GSW_SMOOTHER_CHEBYSHEV;
    double *r = keep_zeros(n);
    for (int k = 0; k < (chebyshev ? 2 : 1) * steps; k++) {
        loops_residual(a, n, b, x, r);
        for (int64_t i = 0; i < n; i++)
            x[i] += (chebyshev ? weights[k % 2] : 2.0 / 3) * r[i] / a[i * n + i];
    }
}

/* x = M b, where the coarser level is smoothed once from zero. */
static inline void loops_cycle(const gsw_multigrid *mg, const gsw_multigrid_options *options,
                               const double *a, int64_t n, const double *b, double *x) {
    gsw_csr p = dense_extract(mg, 0, GSW_MULTIGRID_PROLONGATION);
    gsw_csr r = dense_extract(mg, 0, GSW_MULTIGRID_RESTRICTION);
    gsw_csr matrix = dense_extract(mg, 1, GSW_MULTIGRID_MATRIX);
    const int64_t m = matrix.rows;
    double *coarse = dense_of_csr(&matrix, m), *up = dense_of_csr(&p, m),
           *down = dense_of_csr(&r, n), *left = keep_zeros(n), *coarse_b = keep_zeros(m),
           *coarse_x = keep_zeros(m);
    memset(x, 0, (size_t)n * sizeof *x);
    loops_smooth(a, n, options->smoother, options->pre_sweeps, b, x);
    loops_residual(a, n, b, x, left);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            coarse_b[i] += down[i * n + j] * left[j];
    loops_smooth(coarse, m, options->smoother, 1, coarse_b, coarse_x);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            x[i] += up[i * m + j] * coarse_x[j];
    loops_smooth(a, n, options->smoother, options->post_sweeps, b, x);
}

/* Both smoothers, both types, odd and even numbers of steps. */
static inline void loops_check(const gsw_matrix *host, const char *name) {
    const int64_t n = oracle_points(&host->grid);
    const size_t bytes = (size_t)n * sizeof(double);
    double *a = dense_of(host), *b = keep_random(3, n), *x = keep_zeros(n),
           *expected = keep_zeros(n);
    const gsw_matrix *there = keep_there(context, host);
    double *there_b = keep_upload(context, b, bytes), *there_x = keep_room(context, bytes);
    for (int k = 0; k < 24; k++) {
        const size_t mark = keep_mark();
        const gsw_multigrid_options options = {.smoother = k % 2 ? GSW_SMOOTHER_CHEBYSHEV
                                                                 : GSW_SMOOTHER_JACOBI,
                                               .cycle_type = k / 2 % 2 ? GSW_F32 : GSW_F64,
                                               .pre_sweeps = 1 + k / 4 % 3,
                                               .post_sweeps = 1 + k / 12,
                                               .max_levels = 2,
                                               .coarsest_points = 1};
        gsw_multigrid_info info = {.size = sizeof info};
        gsw_multigrid *mg = keep_multigrid(context, there, options);
        must(context, gsw_multigrid_get_info(mg, &info));
        ck_assert_int_eq(info.levels, 2);
        ck_assert(!info.direct);
        loops_cycle(mg, &options, a, n, b, expected);
        for (int again = 0; again < 2; again++) {
            must(context, gsw_memory_set(context, there_x, 0xff, bytes));
            must(context, gsw_multigrid_apply(context, mg, there_b, there_x));
            download(context, x, there_x, bytes);
            const double error = oracle_error(GSW_F64, n, x, expected);
            ck_assert_msg(error <= oracle_tolerance(options.cycle_type),
                          "%s, %s, %s, %d and %d steps: error %g", name,
                          gsw_smoother_name(options.smoother),
                          options.cycle_type == GSW_F32 ? "f32" : "f64", options.pre_sweeps,
                          options.post_sweeps, error);
        }
        keep_release(mark);
    }
}

/* Prime, flat and narrow grids, a line; with symmetry and without it. */
static const char *const loops_problems[] = {
    "poisson:11x7x5",   "lognormal:23x17",   "hpcg:7x6x5",       "helmholtz19:9x5x7",
    "star13:11x9x5",    "convection:9x11x4", "convection:23x13", "poisson:1x19x14",
    "lognormal:17x1x9", "poisson:2x13x9",    "hpcg:37x2x3",      "poisson:101x1x1"};
#define LOOPS_PROBLEMS ((int)(sizeof loops_problems / sizeof loops_problems[0]))

/* Random matrices with all stencils that reach at most two points and couple something. */
static inline void loops_check_stencil(int i) {
    const gsw_grid grid = {13, 7, 5};
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(i, &name);
    if (gsw_stencil_beyond(stencil, 2) == NULL)
        loops_check(&keep_matrix_of(&grid, stencil, 9, ORACLE_ANY_SIGN)->view, name);
}

#endif
