/* test_hpcg.c: HPCG's hierarchy and method built from the library's parts, against plain serial
 * loops: coarse matrices, the cycle as an operator, the history of the residual. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "context_fixture.h"
#include "oracle.h"
#include "../src/cli/bench/hpcg_reference.h"

enum { ITERATIONS = 50 };

static const char *const grids[] = {"16x16x16", "24x16x32", "17x15x19", "64x16x16", "33x18x20"};

#define GRIDS ((int)(sizeof grids / sizeof grids[0]))

/* The options that HPCG prescribes. */
static const gsw_multigrid_options prescribed = {.size = sizeof prescribed,
                                                 .smoother = GSW_SMOOTHER_SYMGS,
                                                 .coarsest_points = 1,
                                                 .interpolation = GSW_INTERPOLATION_INJECTION,
                                                 .max_levels = HPCG_LEVELS};

static double *doubles(int64_t n) {
    double *v = calloc((size_t)n + 1, sizeof *v);
    ck_assert_ptr_nonnull(v);
    return v;
}

static gsw_problem *problem_on(const gsw_grid *grid) {
    gsw_problem *problem;
    ck_assert_int_eq(gsw_problem_create(context, "hpcg", grid, NULL, &problem), GSW_SUCCESS);
    return problem;
}

static gsw_problem *problem_named(const char *grid) {
    gsw_grid parsed;
    ck_assert_int_eq(gsw_grid_parse(NULL, grid, &parsed), GSW_SUCCESS);
    return problem_on(&parsed);
}

static gsw_multigrid *make(gsw_context *with, const gsw_matrix *matrix,
                           const gsw_multigrid_options *options) {
    gsw_multigrid *mg = NULL;
    ck_assert_msg(gsw_multigrid_create(with, matrix, options, &mg) == GSW_SUCCESS, "%s",
                  gsw_context_message(with));
    return mg;
}

/* ---- Levels ---- */

static void same_csr(const char *what, const gsw_csr *a, const gsw_csr *b) {
    ck_assert_msg(a->rows == b->rows && a->nonzeros == b->nonzeros, "%s: %lld entries, not %lld",
                  what, (long long)a->nonzeros, (long long)b->nonzeros);
    ck_assert(memcmp(a->row_ptr, b->row_ptr, (size_t)(a->rows + 1) * sizeof(int64_t)) == 0);
    ck_assert(memcmp(a->columns, b->columns, (size_t)a->nonzeros * sizeof(int64_t)) == 0);
    ck_assert_msg(memcmp(a->values, b->values, (size_t)a->nonzeros * sizeof(double)) == 0,
                  "%s: the values differ", what);
}

/* P and R hold one entry of 1 per coarse point: coarse point I and fine point 2 I. */
static void check_transfer(const gsw_multigrid *mg, int number, const gsw_grid *fine,
                           const gsw_grid *coarse) {
    const int64_t n = oracle_points(fine), m = oracle_points(coarse);
    gsw_csr p, r;
    ck_assert_int_eq(gsw_multigrid_extract(context, mg, number, GSW_MULTIGRID_PROLONGATION, &p),
                     GSW_SUCCESS);
    ck_assert_int_eq(gsw_multigrid_extract(context, mg, number, GSW_MULTIGRID_RESTRICTION, &r),
                     GSW_SUCCESS);
    ck_assert_int_eq(p.rows, n);
    ck_assert_int_eq(r.rows, m);
    ck_assert_int_eq(p.nonzeros, m);
    ck_assert_int_eq(r.nonzeros, m);
    for (int64_t row = 0; row < m; row++) {
        const int64_t x = row % coarse->nx, y = row / coarse->nx % coarse->ny,
                      z = row / coarse->nx / coarse->ny;
        const int64_t from = gsw_grid_row(fine, 2 * x, 2 * y, 2 * z);
        ck_assert_int_eq(((const int64_t *)r.columns)[row], from);
        ck_assert_int_eq(((const int64_t *)p.columns)[row], row);
        ck_assert_int_eq(((const int64_t *)p.row_ptr)[from + 1], row + 1);
        ck_assert(((const double *)r.values)[row] == 1 && ((const double *)p.values)[row] == 1);
    }
    gsw_csr_free(&r);
    gsw_csr_free(&p);
}

/* Every coarse matrix is the one that the problem has on that grid. */
START_TEST(levels_are_problems) {
    gsw_problem *problem = problem_named(grids[_i]);
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    gsw_multigrid *mg = make(context, matrix, &prescribed);
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_grid grid = matrix->grid;
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert_int_eq(info.levels, HPCG_LEVELS);
    ck_assert_int_eq(info.interpolation, GSW_INTERPOLATION_INJECTION);
    ck_assert_int_eq(info.direct, 0);
    ck_assert_int_eq(info.degenerate_points, 0);
    for (int number = 0; number < HPCG_LEVELS; number++) {
        gsw_multigrid_level level = {.size = sizeof level};
        ck_assert_int_eq(gsw_multigrid_get_level(mg, number, &level), GSW_SUCCESS);
        ck_assert_int_eq(level.points, oracle_points(&grid));
        ck_assert_int_eq(level.couplings, hpcg_entries(&grid));
        ck_assert_int_eq(level.direct, 0);
        ck_assert_int_eq(level.smoother, GSW_SMOOTHER_SYMGS);
        ck_assert_int_eq(level.axes, number + 1 < HPCG_LEVELS ? 7 : 0);
        const gsw_grid next = hpcg_coarser(&grid);
        if (number > 0) {
            gsw_problem *other = problem_on(&grid);
            gsw_csr own, expected;
            ck_assert_int_eq(gsw_multigrid_extract(context, mg, number, GSW_MULTIGRID_MATRIX, &own),
                             GSW_SUCCESS);
            ck_assert_int_eq(
                gsw_matrix_to_csr(context, gsw_problem_matrix(other), GSW_FULL, GSW_I64, &expected),
                GSW_SUCCESS);
            same_csr(grids[_i], &own, &expected);
            gsw_csr_free(&expected);
            gsw_csr_free(&own);
            gsw_problem_destroy(other);
        }
        if (number + 1 < HPCG_LEVELS)
            check_transfer(mg, number, &grid, &next);
        grid = next;
    }
    gsw_multigrid_destroy(mg);
    gsw_problem_destroy(problem);
}
END_TEST

/* ---- The method ---- */

typedef struct history {
    int64_t count;
    double relative[ITERATIONS + 1];
} history;

static int record(void *user, int64_t iteration, double residual) {
    history *seen = user;
    ck_assert_int_eq(iteration, seen->count);
    if (iteration <= ITERATIONS)
        seen->relative[iteration] = residual;
    seen->count++;
    return 0;
}

/* ITERATIONS of CG; the norms relative to the first. */
static void run(gsw_context *with, const gsw_matrix *matrix, gsw_multigrid *mg, double *x,
                history *seen) {
    const int64_t n = oracle_points(&matrix->grid);
    const gsw_krylov_options options = {.size = sizeof options,
                                        .atol = 1e-300,
                                        .max_iterations = ITERATIONS,
                                        .monitor = record,
                                        .monitor_user = seen};
    double *b = doubles(n);
    gsw_operator *op;
    gsw_preconditioner *M;
    hpcg_rhs(&matrix->grid, b);
    memset(x, 0, (size_t)n * sizeof *x);
    seen->count = 0;
    ck_assert_int_eq(gsw_operator_from_matrix(with, matrix, &op), GSW_SUCCESS);
    ck_assert_int_eq(gsw_preconditioner_from_multigrid(with, mg, &M), GSW_SUCCESS);
    ck_assert_int_eq(gsw_cg(with, op, M, &options, b, x, NULL), GSW_ERROR_NOT_CONVERGED);
    ck_assert_int_eq(seen->count, ITERATIONS + 1);
    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(op);
    free(b);
}

/* The norms of the residual are those of the plain loops. Rounding grows where the residual is
 * small. The plain loops themselves, with rows added in descending order, differ by up to 1e-20 of
 * the first norm. */
START_TEST(history_of_the_residual) {
    gsw_problem *problem = problem_named(grids[_i]);
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    const int64_t n = oracle_points(&matrix->grid);
    double norms[ITERATIONS + 1], *x = doubles(n);
    history seen;
    gsw_multigrid *mg = make(context, matrix, &prescribed);
    run(context, matrix, mg, x, &seen);
    ck_assert(hpcg_reference_norms(&matrix->grid, ITERATIONS, norms));
    for (int i = 0; i <= ITERATIONS; i++) {
        const double expected = norms[i] / norms[0], error = fabs(seen.relative[i] - expected);
        ck_assert_msg(error <= 1e-12 * expected + 1e-19, "%s, iteration %d: %.16g, not %.16g",
                      grids[_i], i, seen.relative[i], expected);
    }
    for (int64_t k = 0; k < n; k++)
        ck_assert(fabs(x[k] - 1) <= 1e-12);
    gsw_multigrid_destroy(mg);
    free(x);
    gsw_problem_destroy(problem);
}
END_TEST

/* The same bits for any number of threads, from a CSR, and after values were filled anew. */
START_TEST(same_bits) {
    gsw_problem *problem = problem_named(grids[_i]);
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    const int64_t n = oracle_points(&matrix->grid);
    double *x = doubles(n), *expected = doubles(n);
    history seen, first;
    gsw_multigrid *mg = make(context, matrix, &prescribed);
    run(context, matrix, mg, expected, &first);
    ck_assert_int_eq(gsw_multigrid_refactor(context, mg, matrix), GSW_SUCCESS);
    run(context, matrix, mg, x, &seen);
    ck_assert(memcmp(&seen, &first, sizeof seen) == 0);
    gsw_multigrid_destroy(mg);
    for (int threads = 1; threads <= 5; threads += 2) {
        gsw_context *with = oracle_context(threads);
        mg = make(with, matrix, &prescribed);
        run(with, matrix, mg, x, &seen);
        ck_assert_msg(memcmp(&seen, &first, sizeof seen) == 0 &&
                          memcmp(x, expected, (size_t)n * sizeof *x) == 0,
                      "%s: %d threads", grids[_i], threads);
        gsw_multigrid_destroy(mg);
        gsw_context_destroy(with);
    }
    gsw_csr csr;
    gsw_matrix from_csr;
    ck_assert_int_eq(gsw_matrix_to_csr(context, matrix, GSW_FULL, GSW_I32, &csr), GSW_SUCCESS);
    ck_assert_int_eq(gsw_matrix_from_csr(context, &matrix->grid, &matrix->stencil, &csr, &from_csr),
                     GSW_SUCCESS);
    mg = make(context, &from_csr, &prescribed);
    run(context, matrix, mg, x, &seen);
    ck_assert(memcmp(&seen, &first, sizeof seen) == 0);
    gsw_multigrid_destroy(mg);
    gsw_csr_free(&csr);
    free(expected);
    free(x);
    gsw_problem_destroy(problem);
}
END_TEST

/* ---- The options beyond what HPCG prescribes ---- */

/* x' M y = y' M x, and M is positive. */
static void check_symmetry(const gsw_matrix *matrix, const gsw_multigrid_options *options,
                           double tolerance) {
    const int64_t n = oracle_points(&matrix->grid);
    double *x = doubles(n), *y = doubles(n), *mx = doubles(n), *my = doubles(n);
    double xmy = 0, ymx = 0, xmx = 0, ymy = 0;
    gsw_multigrid *mg = make(context, matrix, options);
    gsw_multigrid_info info = {.size = sizeof info};
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert_int_eq(info.symmetric, 1);
    gsw_random_vector(1, n, x);
    gsw_random_vector(2, n, y);
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, x, mx), GSW_SUCCESS);
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, y, my), GSW_SUCCESS);
    for (int64_t k = 0; k < n; k++) {
        xmy += x[k] * my[k];
        ymx += y[k] * mx[k];
        xmx += x[k] * mx[k];
        ymy += y[k] * my[k];
    }
    ck_assert_msg(xmx > 0 && ymy > 0, "%s: not positive", gsw_smoother_name(options->smoother));
    ck_assert_msg(fabs(xmy - ymx) <= tolerance * sqrt(xmx * ymy), "%s, %s, %d levels: %.16g and %g",
                  gsw_smoother_name(options->smoother), gsw_cycle_name(options->cycle),
                  options->max_levels, xmy, ymx);
    gsw_multigrid_destroy(mg);
    free(my);
    free(mx);
    free(y);
    free(x);
}

/* With every smoother, both interpolations, any limit of levels. Injection gives coarse matrices
 * that are not symmetric where the coefficients vary, and the report states it. */
START_TEST(cycles_are_symmetric) {
    static const char *const names[] = {"hpcg:17x15x19", "poisson:16x9x20", "lognormal:14x21x10",
                                        "box33:13x16x9", "poisson:37x29"};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
        gsw_problem *problem;
        ck_assert_int_eq(gsw_problem_parse(context, names[i], NULL, &problem), GSW_SUCCESS);
        const int varying = strncmp(names[i], "lognormal", 9) == 0;
        for (int levels = 0; levels <= 3; levels += levels ? 2 : 1)
            for (int choice = 0; choice < 4; choice += varying ? 2 : 1) {
                gsw_multigrid_options options = {.size = sizeof options,
                                                 .smoother = (gsw_smoother)_i,
                                                 .coarsest_points = 2,
                                                 .max_levels = levels};
                options.interpolation = (gsw_interpolation)(choice & 1);
                options.cycle = choice & 2 ? GSW_CYCLE_W : GSW_CYCLE_V;
                check_symmetry(gsw_problem_matrix(problem), &options, 1e-10);
                options.cycle_type = GSW_F32;
                check_symmetry(gsw_problem_matrix(problem), &options, 1e-5);
            }
        gsw_problem_destroy(problem);
    }
}
END_TEST

/* One level: the step of symmetric Gauss-Seidel of gsw_smooth(). */
START_TEST(one_level_is_one_step) {
    gsw_problem *problem;
    ck_assert_int_eq(gsw_problem_parse(context, "lognormal:14x21x10", NULL, &problem), GSW_SUCCESS);
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    const int64_t n = oracle_points(&matrix->grid);
    double *b = doubles(n), *x = doubles(n), *expected = doubles(n), *work = doubles(n);
    const gsw_factor_options kind = {.size = sizeof kind, .kind = GSW_SSOR};
    const gsw_multigrid_options options = {.size = sizeof options, .max_levels = 1};
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_factor *factor;
    gsw_random_vector(1, n, b);
    ck_assert_int_eq(gsw_factor_create(context, matrix, &kind, &factor), GSW_SUCCESS);
    ck_assert_int_eq(gsw_smooth(context, matrix, factor, 1, 1, b, expected, work), GSW_SUCCESS);
    gsw_multigrid *mg = make(context, matrix, &options);
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, x), GSW_SUCCESS);
    for (int64_t i = 0; i < n; i++) /* sums in another order */
        ck_assert_msg(fabs(x[i] - expected[i]) <= 1e-12 * fabs(expected[i]), "row %lld: %g, not %g",
                      (long long)i, x[i], expected[i]);
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, b), GSW_SUCCESS);
    ck_assert(memcmp(b, x, (size_t)n * sizeof *x) == 0);
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert(info.levels == 1 && info.direct == 0);
    gsw_multigrid_destroy(mg);
    gsw_factor_destroy(factor);
    free(work);
    free(expected);
    free(x);
    free(b);
    gsw_problem_destroy(problem);
}
END_TEST

/* A limit that the direct solve does not need changes nothing. Injection takes stencils of any
 * reach. A matrix without symmetry is injected in the same way. */
START_TEST(limits_and_stencils) {
    gsw_problem *problem = problem_named("20x18x16");
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    gsw_multigrid_options options = {.size = sizeof options, .max_levels = 64};
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_multigrid *mg = make(context, matrix, &options);
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert(info.direct == 1 && info.levels == 3);
    gsw_multigrid_destroy(mg);
    options.max_levels = info.levels - 1;
    mg = make(context, matrix, &options);
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert(info.direct == 0 && info.levels == 2);
    gsw_multigrid_destroy(mg);
    gsw_problem_destroy(problem);

    const gsw_offset far[] = {{0, 0, 0}, {-3, 0, 0}, {3, 0, 0}, {0, -1, 0}, {1, 2, 0}};
    const gsw_grid grid = {40, 21, 1};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_from_offsets(far, 5, &stencil), GSW_SUCCESS);
    oracle_matrix *wide = oracle_random(&grid, &stencil, 1, ORACLE_POSITIVE);
    options = (gsw_multigrid_options){.size = sizeof options,
                                      .interpolation = GSW_INTERPOLATION_INJECTION};
    mg = make(context, &wide->view, &options);
    gsw_csr coarse;
    ck_assert_int_eq(gsw_multigrid_extract(context, mg, 1, GSW_MULTIGRID_MATRIX, &coarse),
                     GSW_SUCCESS);
    ck_assert_int_eq(coarse.rows, 20 * 11);
    const int64_t *row_ptr = coarse.row_ptr, *columns = coarse.columns;
    const double *values = coarse.values;
    for (int64_t row = 0, k = 0; row < coarse.rows; row++) {
        const int64_t x = row % 20, y = row / 20;
        for (int32_t e = 0; e < stencil.count; e++) {
            const gsw_offset o = stencil.offsets[e];
            if (x + o.dx < 0 || x + o.dx >= 20 || y + o.dy < 0 || y + o.dy >= 11)
                continue;
            ck_assert_int_eq(columns[k], row + o.dx + 20 * o.dy);
            ck_assert(values[k++] == ((const double *)wide->arrays[e])[2 * x + 40 * 2 * y]);
        }
        ck_assert_int_eq(row_ptr[row + 1], k);
    }
    gsw_csr_free(&coarse);
    gsw_multigrid_destroy(mg);
    oracle_free(wide);

    ck_assert_int_eq(gsw_problem_parse(context, "lognormal:24x20x16", NULL, &problem), GSW_SUCCESS);
    mg = make(context, gsw_problem_matrix(problem), &options);
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert_int_eq(info.symmetric, 0);
    ck_assert_int_eq(gsw_multigrid_refactor(context, mg, gsw_problem_matrix(problem)), GSW_SUCCESS);
    gsw_multigrid_destroy(mg);
    gsw_problem_destroy(problem);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("hpcg");
    TCase *levels = tcase_create("levels"), *method = tcase_create("method"),
          *options = tcase_create("options");
    tcase_add_checked_fixture(levels, open_context, close_context);
    tcase_add_loop_test(levels, levels_are_problems, 0, GRIDS);
    suite_add_tcase(suite, levels);
    tcase_add_checked_fixture(method, open_context, close_context);
    tcase_set_timeout(method, 300);
    tcase_add_loop_test(method, history_of_the_residual, 0, GRIDS);
    tcase_add_loop_test(method, same_bits, 0, GRIDS);
    suite_add_tcase(suite, method);
    tcase_add_checked_fixture(options, open_context, close_context);
    tcase_set_timeout(options, 300);
    tcase_add_loop_test(options, cycles_are_symmetric, 0, GSW_SMOOTHER_CHEBYSHEV + 1);
    tcase_add_test(options, one_level_is_one_step);
    tcase_add_test(options, limits_and_stencils);
    suite_add_tcase(suite, options);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
