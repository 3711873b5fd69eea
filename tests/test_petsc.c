/* test_petsc.c: the same method, preconditioner and tolerance must take as many iterations as in
 * PETSc, and end with the same residual. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "context_fixture.h"
#include "krylov_solve.h"
#include "petsc_solve.h"

/* The cases: method, preconditioner (-1: none) and whether the matrix must be symmetric. */
static const struct {
    gsw_method method;
    int precond;
    int symmetric;
} solvers[] = {
    {GSW_CG, -1, 1},
    {GSW_CG, GSW_JACOBI, 1},
    {GSW_CG, GSW_ILU0, 1},
    {GSW_CG, GSW_IC0, 1},
    {GSW_GMRES, -1, 0},
    {GSW_GMRES, GSW_JACOBI, 0},
    {GSW_GMRES, GSW_ILU0, 0},
    {GSW_GMRES, GSW_IC0, 1},
    {GSW_BICGSTAB, -1, 0},
    {GSW_BICGSTAB, GSW_JACOBI, 0},
    {GSW_BICGSTAB, GSW_ILU0, 0},
    {GSW_BICGSTAB, GSW_IC0, 1},
};
#define SOLVERS ((int)(sizeof solvers / sizeof solvers[0]))

static double true_residual(const gsw_matrix *matrix, int64_t n, const double *b, const double *x) {
    double *r = keep_zeros(n), rr = 0, bb = 0;
    must(context, gsw_residual(context, matrix, GSW_F64, b, x, r));
    for (int64_t i = 0; i < n; i++) {
        rr += r[i] * r[i];
        bb += b[i] * b[i];
    }
    return sqrt(rr / bb);
}

/* The largest difference of the counts. BiCGSTAB is not a minimisation, so rounding changes its
 * path. */
static int64_t slack(gsw_method method, int64_t iterations) {
    if (method != GSW_BICGSTAB)
        return 1;
    return iterations / 5 > 2 ? iterations / 5 : 2;
}

static void compare_solver(const gsw_matrix *matrix, int which, gsw_norm mode, double rtol,
                           const char *name) {
    gsw_method method = solvers[which].method;
    gsw_factor_kind kind = (gsw_factor_kind)solvers[which].precond;
    int preconditioned = solvers[which].precond >= 0;
    gsw_krylov_options options = {
        .size = sizeof options, .rtol = rtol, .norm = mode, .max_iterations = 500};
    gsw_krylov_result result = {.size = sizeof result};
    const size_t mark = keep_mark();
    gsw_factor *factor = NULL;
    int64_t n = oracle_points(&matrix->grid), iterations = -1;
    int converged = -1;
    double *b = keep_zeros(n), *x = keep_zeros(n), *y = keep_zeros(n);
    gsw_random_vector(3, n, b);
    if (preconditioned)
        factor = keep_factor(context, matrix, (gsw_factor_options){.kind = kind});

    gsw_status status = solve_krylov(context, method, matrix, factor, &options, b, x, &result);
    ck_assert_int_eq(gsw_baseline_petsc_krylov(matrix, method, preconditioned ? &kind : NULL,
                                               &options, b, y, &iterations, &converged),
                     0);
    const char *precond = preconditioned ? gsw_factor_kind_name(kind) : "none";
    double theirs = true_residual(matrix, n, b, y);
#define WHERE "%s, %s, %s, norm %d: %lld iterations (PETSc %lld), residual %g (PETSc %g)"
#define WHAT                                                                                       \
    name, gsw_method_name(method), precond, (int)mode, (long long)result.iterations,               \
        (long long)iterations, result.residual, theirs
    ck_assert_msg((status == GSW_SUCCESS) == (converged == 1), "converged: " WHERE, WHAT);
    int64_t apart = llabs(result.iterations - iterations);
    ck_assert_msg(apart <= slack(method, iterations), WHERE, WHAT);
    if (apart == 0 && method != GSW_BICGSTAB)
        ck_assert_msg(result.residual < 2 * theirs && theirs < 2 * result.residual, WHERE, WHAT);
    keep_release(mark);
}

static void compare_all(const gsw_matrix *matrix, int symmetric, double rtol, const char *name) {
    for (int which = 0; which < SOLVERS; which++)
        for (int mode = 0; mode < 2; mode++)
            if (symmetric || !solvers[which].symmetric)
                compare_solver(matrix, which, (gsw_norm)mode, rtol, name);
}

static const char *const problems[] = {
    "poisson:20x19x18",  "poisson:41x37",        "anisotropic:15x16x17", "convection:19x18x17",
    "hpcg:13x12x11",     "helmholtz19:12x13x14", "star13:12x11x13",      "box33:11x12x10",
    "random:4:14x13x12", "convection:30x31",
};

TEST(iterations_equal_on_generated_problems) {
    gsw_problem *problem = NULL;
    ck_assert_int_eq(gsw_problem_parse(context, problems[_i], NULL, &problem), GSW_SUCCESS);
    compare_all(gsw_problem_matrix(problem), gsw_problem_symmetric(problem), 1e-8, problems[_i]);
    gsw_problem_destroy(problem);
}

/* Rounding leaves the counts alone here only with a good preconditioner. */
TEST(iterations_equal_on_lognormal) {
    const gsw_matrix *matrix = keep_problem("lognormal:16x18x11");
    for (int which = 0; which < SOLVERS; which++)
        if (solvers[which].precond == GSW_ILU0 || solvers[which].precond == GSW_IC0)
            for (int mode = 0; mode < 2; mode++)
                compare_solver(matrix, which, (gsw_norm)mode, 1e-5, "lognormal");
}

static const struct {
    const char *name;
    int symmetric;
} files[] = {{"orsreg_1.mtx", 0}, {"sherman1.mtx", 1}};

/* Reservoir matrices that may lie beside the source tree; without them there is nothing to do. */
TEST(iterations_equal_on_reservoirs) {
    char path[4096];
    snprintf(path, sizeof path, "%s/../shared/data/%s", GSW_SOURCE_DIR, files[_i].name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    fclose(file);
    gsw_csr csr = {0};
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_matrix matrix;
    must(context, gsw_mm_read_matrix(context, path, &csr));
    keep_csr(csr);
    must(context, gsw_detect(context, &csr, NULL, &grid, &stencil));
    must(context, gsw_matrix_from_csr(context, &grid, &stencil, &csr, &matrix));
    for (int which = 0; which < SOLVERS; which++)
        if (solvers[which].precond == GSW_ILU0 &&
            (files[_i].symmetric || !solvers[which].symmetric))
            for (int mode = 0; mode < 2; mode++)
                compare_solver(&matrix, which, (gsw_norm)mode, 1e-8, files[_i].name);
}

/* One ILU(0) solve is the same triangular arithmetic in another order. */
TEST(ilu0_solve_is_the_same) {
    const gsw_matrix *matrix = keep_problem(problems[_i]);
    const int64_t n = oracle_points(&matrix->grid);
    double *b = keep_zeros(n), *x = keep_zeros(n), *y = keep_zeros(n);
    double factor_ms = -1, solve_ms = -1;
    gsw_random_vector(9, n, b);
    gsw_factor *factor = keep_factor(context, matrix, (gsw_factor_options){.kind = GSW_ILU0});
    must(context, gsw_factor_solve(context, factor, 1, b, n, x, n));
    ck_assert_int_eq(gsw_baseline_petsc_ilu0(matrix, b, y, 2, &factor_ms, &solve_ms), 0);
    ck_assert(factor_ms > 0 && solve_ms > 0);
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(y[i]));
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(x[i], y[i], 1e-12 * largest);
}

/* MPI does not survive a fork, so the tests share this process. */
int main(void) {
    if (gsw_baseline_petsc_begin() != 0) {
        fprintf(stderr, "PETSc could not be started\n");
        return EXIT_FAILURE;
    }
    const int count = (int)(sizeof problems / sizeof problems[0]);
    Suite *suite = suite_create("petsc");
    TCase *tc = context_case(suite, "petsc", 120);
    TESTS(tc, iterations_equal_on_lognormal);
    LOOPS(tc, count, iterations_equal_on_generated_problems, ilu0_solve_is_the_same);
    LOOPS(tc, 2, iterations_equal_on_reservoirs);
    const int code = suite_run(suite, CK_NOFORK);
    gsw_baseline_petsc_end();
    return code;
}
