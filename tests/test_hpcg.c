/* test_hpcg.c: HPCG's hierarchy and method built from the library's parts, against plain serial
 * loops: coarse matrices, the cycle as an operator, the history of the residual. */
#include "../src/cli/bench/hpcg_reference.h"
#include "multigrid_dense.h"

enum { ITERATIONS = 50 };

static const char *const grids[] = {"16x16x16", "24x16x32", "17x15x19", "64x16x16", "33x18x20"};

#define GRIDS ((int)(sizeof grids / sizeof grids[0]))

/* The options that HPCG prescribes. */
static const gsw_multigrid_options prescribed = {.size = sizeof prescribed,
                                                 .smoother = GSW_SMOOTHER_SYMGS,
                                                 .coarsest_points = 1,
                                                 .interpolation = GSW_INTERPOLATION_INJECTION,
                                                 .max_levels = HPCG_LEVELS};

static const gsw_matrix *problem_on(const gsw_grid *grid) {
    gsw_problem *problem;
    must(context, gsw_problem_create(context, "hpcg", grid, NULL, &problem));
    return gsw_problem_matrix(keep(KEPT_PROBLEM, NULL, problem));
}

static const gsw_matrix *problem_named(const char *grid) {
    gsw_grid parsed;
    must(context, gsw_grid_parse(NULL, grid, &parsed));
    return problem_on(&parsed);
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
    const gsw_csr p = dense_extract(mg, number, GSW_MULTIGRID_PROLONGATION),
                  r = dense_extract(mg, number, GSW_MULTIGRID_RESTRICTION);
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
}

/* Every coarse matrix is the one that the problem has on that grid. */
TEST(levels_are_problems) {
    const gsw_matrix *matrix = problem_named(grids[_i]);
    gsw_multigrid *mg = keep_multigrid(context, matrix, prescribed);
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_grid grid = matrix->grid;
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_eq(info.levels, HPCG_LEVELS);
    ck_assert_int_eq(info.interpolation, GSW_INTERPOLATION_INJECTION);
    ck_assert_int_eq(info.direct, 0);
    ck_assert_int_eq(info.degenerate_points, 0);
    for (int number = 0; number < HPCG_LEVELS; number++) {
        gsw_multigrid_level level = {.size = sizeof level};
        must(context, gsw_multigrid_get_level(mg, number, &level));
        ck_assert_int_eq(level.points, oracle_points(&grid));
        ck_assert_int_eq(level.couplings, hpcg_entries(&grid));
        ck_assert_int_eq(level.direct, 0);
        ck_assert_int_eq(level.smoother, GSW_SMOOTHER_SYMGS);
        ck_assert_int_eq(level.axes, number + 1 < HPCG_LEVELS ? 7 : 0);
        const gsw_grid next = hpcg_coarser(&grid);
        if (number > 0) {
            gsw_csr own = dense_extract(mg, number, GSW_MULTIGRID_MATRIX), expected;
            must(context,
                 gsw_matrix_to_csr(context, problem_on(&grid), GSW_FULL, GSW_I64, &expected));
            keep_csr(expected);
            same_csr(grids[_i], &own, &expected);
        }
        if (number + 1 < HPCG_LEVELS)
            check_transfer(mg, number, &grid, &next);
        grid = next;
    }
}

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
    double *b = keep_zeros(n);
    hpcg_rhs(&matrix->grid, b);
    memset(x, 0, (size_t)n * sizeof *x);
    seen->count = 0;
    gsw_operator *op = keep_operator(with, matrix);
    gsw_preconditioner *M = keep_multigrid_M(with, mg);
    ck_assert_int_eq(gsw_cg(with, op, M, &options, b, x, NULL), GSW_ERROR_NOT_CONVERGED);
    ck_assert_int_eq(seen->count, ITERATIONS + 1);
}

/* The norms of the residual are those of the plain loops. Rounding grows where the residual is
 * small. The plain loops themselves, with rows added in descending order, differ by up to 1e-20 of
 * the first norm. */
TEST(history_of_the_residual) {
    const gsw_matrix *matrix = problem_named(grids[_i]);
    const int64_t n = oracle_points(&matrix->grid);
    double norms[ITERATIONS + 1], *x = keep_zeros(n);
    history seen;
    gsw_multigrid *mg = keep_multigrid(context, matrix, prescribed);
    run(context, matrix, mg, x, &seen);
    ck_assert(hpcg_reference_norms(&matrix->grid, ITERATIONS, norms));
    for (int i = 0; i <= ITERATIONS; i++) {
        const double expected = norms[i] / norms[0], error = fabs(seen.relative[i] - expected);
        ck_assert_msg(error <= 1e-12 * expected + 1e-19, "%s, iteration %d: %.16g, not %.16g",
                      grids[_i], i, seen.relative[i], expected);
    }
    for (int64_t k = 0; k < n; k++)
        ck_assert(fabs(x[k] - 1) <= 1e-12);
}

/* The same bits for any number of threads, from a CSR, and after values were filled anew. */
TEST(same_bits) {
    const gsw_matrix *matrix = problem_named(grids[_i]);
    const int64_t n = oracle_points(&matrix->grid);
    double *x = keep_zeros(n), *expected = keep_zeros(n);
    history seen, first;
    gsw_multigrid *mg = keep_multigrid(context, matrix, prescribed);
    run(context, matrix, mg, expected, &first);
    must(context, gsw_multigrid_refactor(context, mg, matrix));
    run(context, matrix, mg, x, &seen);
    ck_assert(memcmp(&seen, &first, sizeof seen) == 0);
    for (int threads = 1; threads <= 5; threads += 2) {
        gsw_context *with = keep_context(threads);
        mg = keep_multigrid(with, matrix, prescribed);
        run(with, matrix, mg, x, &seen);
        ck_assert_msg(memcmp(&seen, &first, sizeof seen) == 0 &&
                          memcmp(x, expected, (size_t)n * sizeof *x) == 0,
                      "%s: %d threads", grids[_i], threads);
    }
    gsw_csr csr;
    gsw_matrix from_csr;
    must(context, gsw_matrix_to_csr(context, matrix, GSW_FULL, GSW_I32, &csr));
    keep_csr(csr);
    must(context, gsw_matrix_from_csr(context, &matrix->grid, &matrix->stencil, &csr, &from_csr));
    mg = keep_multigrid(context, &from_csr, prescribed);
    run(context, matrix, mg, x, &seen);
    ck_assert(memcmp(&seen, &first, sizeof seen) == 0);
}

/* ---- The options beyond what HPCG prescribes ---- */

/* x' M y = y' M x, and M is positive. */
static void check_symmetry(const gsw_matrix *matrix, const gsw_multigrid_options *options,
                           double tolerance) {
    const size_t mark = keep_mark();
    const int64_t n = oracle_points(&matrix->grid);
    double *x = keep_random(1, n), *y = keep_random(2, n), *mx = keep_zeros(n), *my = keep_zeros(n);
    gsw_multigrid *mg = keep_multigrid(context, matrix, *options);
    gsw_multigrid_info info = {.size = sizeof info};
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_eq(info.symmetric, 1);
    must(context, gsw_multigrid_apply(context, mg, x, mx));
    must(context, gsw_multigrid_apply(context, mg, y, my));
    char what[100];
    snprintf(what, sizeof what, "%s, %s, %d levels", gsw_smoother_name(options->smoother),
             gsw_cycle_name(options->cycle), options->max_levels);
    check_symmetric(what, n, x, mx, y, my, tolerance);
    keep_release(mark);
}

/* With every smoother, both interpolations, any limit of levels. Injection gives coarse matrices
 * that are not symmetric where the coefficients vary, and the report states it. */
TEST(cycles_are_symmetric) {
    static const char *const names[] = {"hpcg:17x15x19", "poisson:16x9x20", "lognormal:14x21x10",
                                        "box33:13x16x9", "poisson:37x29"};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
        const gsw_matrix *matrix = keep_problem(names[i]);
        const int varying = strncmp(names[i], "lognormal", 9) == 0;
        for (int levels = 0; levels <= 3; levels += levels ? 2 : 1)
            for (int choice = 0; choice < 4; choice += varying ? 2 : 1) {
                gsw_multigrid_options options = {.size = sizeof options,
                                                 .smoother = (gsw_smoother)_i,
                                                 .coarsest_points = 2,
                                                 .max_levels = levels};
                options.interpolation = (gsw_interpolation)(choice & 1);
                options.cycle = choice & 2 ? GSW_CYCLE_W : GSW_CYCLE_V;
                check_symmetry(matrix, &options, 1e-10);
                options.cycle_type = GSW_F32;
                check_symmetry(matrix, &options, 1e-5);
            }
    }
}

/* One level: the step of symmetric Gauss-Seidel of gsw_smooth(). */
TEST(one_level_is_one_step) {
    const gsw_matrix *matrix = keep_problem("lognormal:14x21x10");
    const int64_t n = oracle_points(&matrix->grid);
    double *b = keep_random(1, n), *x = keep_zeros(n), *expected = keep_zeros(n),
           *work = keep_zeros(n);
    const gsw_factor_options kind = {.size = sizeof kind, .kind = GSW_SSOR};
    const gsw_multigrid_options options = {.size = sizeof options, .max_levels = 1};
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_factor *factor = keep_factor(context, matrix, kind);
    must(context, gsw_smooth(context, matrix, factor, 1, 1, b, expected, work));
    gsw_multigrid *mg = keep_multigrid(context, matrix, options);
    must(context, gsw_multigrid_apply(context, mg, b, x));
    for (int64_t i = 0; i < n; i++) /* sums in another order */
        ck_assert_msg(fabs(x[i] - expected[i]) <= 1e-12 * fabs(expected[i]), "row %lld: %g, not %g",
                      (long long)i, x[i], expected[i]);
    must(context, gsw_multigrid_apply(context, mg, b, b));
    ck_assert(memcmp(b, x, (size_t)n * sizeof *x) == 0);
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert(info.levels == 1 && info.direct == 0);
}

/* A limit that the direct solve does not need changes nothing. Injection takes stencils of any
 * reach. A matrix without symmetry is injected in the same way. */
TEST(limits_and_stencils) {
    const gsw_matrix *matrix = problem_named("20x18x16");
    gsw_multigrid_options options = {.size = sizeof options, .max_levels = 64};
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_multigrid *mg = keep_multigrid(context, matrix, options);
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert(info.direct == 1 && info.levels == 3);
    options.max_levels = info.levels - 1;
    mg = keep_multigrid(context, matrix, options);
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert(info.direct == 0 && info.levels == 2);

    const gsw_offset far[] = {{0, 0, 0}, {-3, 0, 0}, {3, 0, 0}, {0, -1, 0}, {1, 2, 0}};
    const gsw_grid grid = {40, 21, 1};
    gsw_stencil stencil;
    must(context, gsw_stencil_from_offsets(far, 5, &stencil));
    oracle_matrix *wide = keep_matrix_of(&grid, &stencil, 1, ORACLE_POSITIVE);
    options = (gsw_multigrid_options){.size = sizeof options,
                                      .interpolation = GSW_INTERPOLATION_INJECTION};
    mg = keep_multigrid(context, &wide->view, options);
    const gsw_csr coarse = dense_extract(mg, 1, GSW_MULTIGRID_MATRIX);
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

    matrix = keep_problem("lognormal:24x20x16");
    mg = keep_multigrid(context, matrix, options);
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_eq(info.symmetric, 0);
    must(context, gsw_multigrid_refactor(context, mg, matrix));
}

int main(void) {
    Suite *suite = suite_create("hpcg");
    TCase *levels = context_case(suite, "levels", 30), *method = context_case(suite, "method", 300),
          *options = context_case(suite, "options", 300);
    LOOPS(levels, GRIDS, levels_are_problems);
    LOOPS(method, GRIDS, history_of_the_residual, same_bits);
    TESTS(options, one_level_is_one_step, limits_and_stencils);
    LOOPS(options, GSW_SMOOTHER_CHEBYSHEV + 1, cycles_are_symmetric);
    return backend_run_suite(suite);
}
