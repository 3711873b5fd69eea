/* multigrid_loops.h: cycles of two levels with the smoothers JACOBI and CHEBYSHEV against the same
 * cycles by hand, for contexts of any backend. */
#ifndef GSW_TESTS_MULTIGRID_LOOPS_H
#define GSW_TESTS_MULTIGRID_LOOPS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    double *r = hard_doubles(n);
    for (int k = 0; k < (chebyshev ? 2 : 1) * steps; k++) {
        loops_residual(a, n, b, x, r);
        for (int64_t i = 0; i < n; i++)
            x[i] += (chebyshev ? weights[k % 2] : 2.0 / 3) * r[i] / a[i * n + i];
    }
    free(r);
}

/* x = M b, where the coarser level is smoothed once from zero. */
static inline void loops_cycle(gsw_context *context, const gsw_multigrid *mg,
                               const gsw_multigrid_options *options, const double *a, int64_t n,
                               const double *b, double *x) {
    gsw_csr p = dense_extract(context, mg, 0, GSW_MULTIGRID_PROLONGATION);
    gsw_csr r = dense_extract(context, mg, 0, GSW_MULTIGRID_RESTRICTION);
    gsw_csr matrix = dense_extract(context, mg, 1, GSW_MULTIGRID_MATRIX);
    const int64_t m = matrix.rows;
    double *coarse = dense_of_csr(&matrix, m), *up = dense_of_csr(&p, m),
           *down = dense_of_csr(&r, n), *left = hard_doubles(n), *coarse_b = hard_doubles(m),
           *coarse_x = hard_doubles(m);
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
    free(coarse_x);
    free(coarse_b);
    free(left);
    free(down);
    free(up);
    free(coarse);
    gsw_csr_free(&matrix);
    gsw_csr_free(&r);
    gsw_csr_free(&p);
}

/* Both smoothers, both types, odd and even numbers of steps. */
static inline void loops_check(gsw_context *context, const gsw_matrix *host, const char *name) {
    const int64_t n = oracle_points(&host->grid);
    const size_t bytes = (size_t)n * sizeof(double);
    double *a = dense_of(host), *b = hard_doubles(n), *x = hard_doubles(n),
           *expected = hard_doubles(n);
    gsw_matrix there;
    void *there_b, *there_x;
    gsw_random_vector(3, n, b);
    ck_assert_int_eq(gsw_matrix_upload(context, host, &there), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_alloc(context, bytes, &there_b), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_alloc(context, bytes, &there_x), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_upload(context, there_b, b, bytes), GSW_SUCCESS);
    for (int k = 0; k < 24; k++) {
        const gsw_multigrid_options options = {.size = sizeof options,
                                               .smoother = k % 2 ? GSW_SMOOTHER_CHEBYSHEV
                                                                 : GSW_SMOOTHER_JACOBI,
                                               .cycle_type = k / 2 % 2 ? GSW_F32 : GSW_F64,
                                               .pre_sweeps = 1 + k / 4 % 3,
                                               .post_sweeps = 1 + k / 12,
                                               .max_levels = 2,
                                               .coarsest_points = 1};
        gsw_multigrid_info info = {.size = sizeof info};
        gsw_multigrid *mg = NULL;
        ck_assert_msg(gsw_multigrid_create(context, &there, &options, &mg) == GSW_SUCCESS, "%s: %s",
                      name, gsw_context_message(context));
        ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
        ck_assert_int_eq(info.levels, 2);
        ck_assert(!info.direct);
        loops_cycle(context, mg, &options, a, n, b, expected);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(gsw_memory_set(context, there_x, 0xff, bytes), GSW_SUCCESS);
            ck_assert_int_eq(gsw_multigrid_apply(context, mg, there_b, there_x), GSW_SUCCESS);
            ck_assert_int_eq(gsw_memory_download(context, x, there_x, bytes), GSW_SUCCESS);
            const double error = oracle_error(GSW_F64, n, x, expected);
            ck_assert_msg(error <= oracle_tolerance(options.cycle_type),
                          "%s, %s, %s, %d and %d steps: error %g", name,
                          gsw_smoother_name(options.smoother),
                          options.cycle_type == GSW_F32 ? "f32" : "f64", options.pre_sweeps,
                          options.post_sweeps, error);
        }
        gsw_multigrid_destroy(mg);
    }
    gsw_memory_free(context, there_x);
    gsw_memory_free(context, there_b);
    gsw_matrix_release(context, &there);
    free(expected);
    free(x);
    free(b);
    free(a);
}

/* Prime, flat and narrow grids, a line; with symmetry and without it. */
static const char *const loops_problems[] = {
    "poisson:11x7x5",   "lognormal:23x17",   "hpcg:7x6x5",       "helmholtz19:9x5x7",
    "star13:11x9x5",    "convection:9x11x4", "convection:23x13", "poisson:1x19x14",
    "lognormal:17x1x9", "poisson:2x13x9",    "hpcg:37x2x3",      "poisson:101x1x1"};
#define LOOPS_PROBLEMS ((int)(sizeof loops_problems / sizeof loops_problems[0]))

static inline void loops_check_problem(gsw_context *context, int i) {
    gsw_context *cpu = oracle_context(1);
    gsw_problem *problem;
    ck_assert_int_eq(gsw_problem_parse(cpu, loops_problems[i], NULL, &problem), GSW_SUCCESS);
    loops_check(context, gsw_problem_matrix(problem), loops_problems[i]);
    gsw_problem_destroy(problem);
    gsw_context_destroy(cpu);
}

/* Random matrices with all stencils that reach at most two points and couple something. */
static inline void loops_check_stencil(gsw_context *context, int i) {
    const gsw_grid grid = {13, 7, 5};
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(i, &name);
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        if (abs(o.dx) > 2 || abs(o.dy) > 2 || abs(o.dz) > 2)
            return;
    }
    oracle_matrix *matrix = oracle_random(&grid, stencil, 9, ORACLE_ANY_SIGN);
    loops_check(context, &matrix->view, name);
    oracle_free(matrix);
}

#endif
