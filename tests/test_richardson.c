/* test_richardson.c: the stationary iteration: with multigrid and with sweeps, its ends, null
 * spaces, the monitor. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "hard_matrix.h"
#include "krylov_systems.h"

typedef struct solved {
    gsw_status status;
    gsw_krylov_result result;
} solved;

/* Solves with b = 1 from 0 and checks the result's claims about x. */
static solved iterate(const gsw_matrix *matrix, gsw_preconditioner *M,
                      const gsw_krylov_options *options, const double *b, double *x) {
    solved s = {.result.size = sizeof s.result};
    gsw_operator *A = keep_operator(context, matrix);
    s.status = gsw_richardson(context, A, M, options, b, x, &s.result);
    truth_check("richardson", matrix, options, b, x, s.status, &s.result, NULL, NULL);
    return s;
}

static const struct {
    const char *problem;
    gsw_dtype type;
    double rtol;
    int most;
} solves[] = {
    {"poisson:32x32x32", GSW_F64, 1e-8, 15},     {"poisson:32x32x32", GSW_F32, 1e-8, 15},
    {"poisson:32x32x32", GSW_F32, 1e-12, 24},    {"poisson:64x64x64", GSW_F32, 1e-8, 15},
    {"anisotropic:32x32x32", GSW_F32, 1e-8, 14}, {"convection:32x32x32", GSW_F32, 1e-8, 10},
    {"poisson:200x200", GSW_F32, 1e-8, 15},
};
#define SOLVES ((int)(sizeof solves / sizeof solves[0]))

TEST(multigrid_is_a_solver) {
    const gsw_matrix *matrix = keep_problem(solves[_i].problem);
    const int64_t n = oracle_points(&matrix->grid);
    const gsw_multigrid_options hierarchy = {.size = sizeof hierarchy,
                                             .cycle_type = solves[_i].type};
    const gsw_krylov_options options = {.size = sizeof options, .rtol = solves[_i].rtol};
    double *b = keep_random(1, n), *x = keep_zeros(n);
    oracle_fill(GSW_F64, b, n, 1);
    gsw_multigrid *mg = keep_multigrid(context, matrix, hierarchy);
    gsw_preconditioner *M = keep_multigrid_M(context, mg);
    const solved s = iterate(matrix, M, &options, b, x);
    ck_assert_msg(s.status == GSW_SUCCESS, "%s", gsw_context_message(context));
    ck_assert_int_le(s.result.iterations, solves[_i].most);
    ck_assert_int_ge(s.result.iterations, 2);
    ck_assert_int_eq(s.result.replacements, 0);
    ck_assert_double_eq_tol(s.result.recurrence, s.result.residual, 1e-6 * s.result.residual);
}

/* It is symmetric Gauss-Seidel: as many iterations as gsw_smooth() takes sweeps. */
TEST(symmetric_gauss_seidel) {
    const gsw_matrix *matrix = keep_problem("poisson:12x11x10");
    const int64_t n = oracle_points(&matrix->grid);
    double *b = keep_random(1, n), *x = keep_zeros(n);
    double *y = keep_zeros(n), *work = keep_zeros(n);
    gsw_factor *factor = keep_factor(context, matrix, (gsw_factor_options){.kind = GSW_SSOR});
    gsw_preconditioner *M = keep_factor_M(context, factor);
    for (int left = 0; left < 2; left++) {
        const gsw_krylov_options options = {.size = sizeof options, .norm = (gsw_norm)left};
        memset(x, 0, (size_t)n * sizeof *x);
        memset(y, 0, (size_t)n * sizeof *y);
        solved s = {.result.size = sizeof s.result};
        gsw_operator *A = keep_operator(context, matrix);
        s.status = gsw_krylov(context, GSW_RICHARDSON, A, M, &options, b, x, &s.result);
        ck_assert_msg(s.status == GSW_SUCCESS, "%s", gsw_context_message(context));
        ck_assert_int_eq(s.result.converged, 1);
        ck_assert_int_gt(s.result.iterations, 30);
        must(context,
             gsw_smooth(context, matrix, factor, (int32_t)s.result.iterations, 0, b, y, work));
        for (int64_t i = 0; i < n; i++)
            ck_assert_double_eq_tol(x[i], y[i], 1e-12);
    }
}

/* x += b - A x on a Laplacian diverges. Jacobi on it, close to a null vector, converges too
 * slowly. */
TEST(divergence_and_stagnation_are_said) {
    const gsw_matrix *matrix = keep_problem("poisson:32x32x32");
    const int64_t n = oracle_points(&matrix->grid);
    double *b = keep_random(1, n), *x = keep_zeros(n);
    solved s = iterate(matrix, NULL, NULL, b, x);
    ck_assert_int_eq(s.status, GSW_ERROR_NOT_CONVERGED);
    ck_assert_int_eq(s.result.stagnated, 1);
    ck_assert_int_lt(s.result.iterations, 40);
    must_say(context, "diverged after");
    must_say(context, "b - A x");

    gsw_factor *factor = keep_factor(context, matrix, (gsw_factor_options){.kind = GSW_SSOR});
    gsw_preconditioner *M = keep_factor_M(context, factor);
    const gsw_krylov_options few = {.size = sizeof few, .max_iterations = 20},
                             tiny = {.size = sizeof tiny, .rtol = 1e-25};
    memset(x, 0, (size_t)n * sizeof *x);
    s = iterate(matrix, M, &few, b, x);
    ck_assert_int_eq(s.status, GSW_ERROR_NOT_CONVERGED);
    ck_assert_int_eq(s.result.iterations, 20);
    ck_assert_int_eq(s.result.stagnated, 0);
    must_say(context, "after 20 iterations");
    s = iterate(matrix, M, &tiny, b, x);
    ck_assert_int_eq(s.status, GSW_ERROR_NOT_CONVERGED);
    ck_assert_int_eq(s.result.stagnated, 1);
    ck_assert_double_lt(s.result.residual, 1e-12);
    must_say(context, "stagnated after");
}

/* y = 8 x; the call that `user` counts down to fails. */
static gsw_status fails_in_the_end(void *user, gsw_context *where, const double *x, double *y) {
    int *left = user;
    if ((*left)-- == 0)
        return gsw_context_fail(where, GSW_ERROR_BREAKDOWN, "the callback gave up");
    for (int i = 0; i < 4; i++)
        y[i] = 8 * x[i];
    return GSW_SUCCESS;
}

/* The iteration diverges. The products after its end, which look for the reason, can fail, too. */
TEST(stagnated_is_not_converged) {
    const double b[4] = {1, 2, 3, 4};
    int left, stagnated = 0;
    gsw_operator *A = keep_product(context, 4, fails_in_the_end, &left);
    for (int calls = 0; calls < 30; calls++) {
        double x[4] = {0};
        gsw_krylov_result result = {.size = sizeof result};
        left = calls;
        const gsw_status status = gsw_richardson(context, A, NULL, NULL, b, x, &result);
        ck_assert_int_eq(status, left < 0 ? GSW_ERROR_BREAKDOWN : GSW_ERROR_NOT_CONVERGED);
        ck_assert_int_eq(result.stagnated, left >= 0);
        stagnated += result.stagnated;
    }
    ck_assert_int_gt(stagnated, 0);
}

TEST(null_spaces) {
    const hard_matrix m = {.grid = {32, 31, 30}, .z = 1};
    hard_arrays a = hard_arrays_of(&m);
    const gsw_multigrid_options hierarchy = {.size = sizeof hierarchy, .cycle_type = GSW_F32};
    const gsw_krylov_options options = {.size = sizeof options,
                                        .nullspace = GSW_NULLSPACE_CONSTANT};
    double *b = keep_random(3, a.n), *x = keep_zeros(a.n), sum = 0;
    gsw_multigrid *mg = keep_multigrid(context, &a.view, hierarchy);
    gsw_preconditioner *M = keep_multigrid_M(context, mg);
    solved s = iterate(&a.view, M, &options, b, x);
    ck_assert_msg(s.status == GSW_SUCCESS, "%s", gsw_context_message(context));
    ck_assert_int_le(s.result.iterations, 18);
    ck_assert_double_gt(s.result.removed, 0);
    for (int64_t i = 0; i < a.n; i++)
        sum += x[i];
    ck_assert_double_le(fabs(sum), 1e-8);
    /* Without it the part of b that no x reaches stays, and no result reports it. */
    memset(x, 0, (size_t)a.n * sizeof *x);
    s = iterate(&a.view, M, NULL, b, x);
    ck_assert_int_ne(s.status, GSW_SUCCESS);
    must_say(context, "constant vectors to 0");
}

TEST(monitor_and_arguments) {
    const gsw_matrix *matrix = keep_problem("poisson:9x8x7");
    const int64_t n = oracle_points(&matrix->grid);
    double *b = keep_random(1, n), *x = keep_zeros(n);
    history seen = {.stop_at = -1};
    gsw_krylov_options options = {
        .size = sizeof options, .rtol = 1e-3, .monitor = watch, .monitor_user = &seen};
    gsw_factor *factor = keep_factor(context, matrix, (gsw_factor_options){.kind = GSW_SSOR});
    gsw_preconditioner *M = keep_factor_M(context, factor);
    solved s = iterate(matrix, M, &options, b, x);
    ck_assert_int_eq(s.status, GSW_SUCCESS);
    ck_assert_int_eq(seen.calls, s.result.iterations + 1);
    ck_assert_double_eq_tol(seen.residual[s.result.iterations], s.result.residual, 1e-14);
    seen = (history){.stop_at = -1};
    s = iterate(matrix, M, &options, b, x); /* x is there already */
    ck_assert_int_eq(s.result.iterations, 0);
    seen = (history){.stop_at = 2};
    options.rtol = 1e-8;
    memset(x, 0, (size_t)n * sizeof *x);
    s = iterate(matrix, M, &options, b, x);
    ck_assert_int_eq(s.status, GSW_ERROR_STOPPED);
    ck_assert_int_eq(s.result.iterations, 2);
    memset(b, 0, (size_t)n * sizeof *b);
    s = iterate(matrix, M, NULL, b, x);
    ck_assert_int_eq(s.status, GSW_SUCCESS);
    ck_assert_str_eq(gsw_method_name(GSW_RICHARDSON), "richardson");
    ck_assert_str_eq(gsw_method_name((gsw_method)4), "unknown");
    b[0] = NAN;
    s = iterate(matrix, M, NULL, b, x);
    ck_assert_int_eq(s.status, GSW_ERROR_NON_FINITE);
}

int main(void) {
    Suite *suite = suite_create("richardson");
    TCase *cases = context_case(suite, "richardson", 300);
    TESTS(cases, symmetric_gauss_seidel, divergence_and_stagnation_are_said,
          stagnated_is_not_converged, null_spaces, monitor_and_arguments);
    LOOPS(cases, SOLVES, multigrid_is_a_solver);
    return backend_run_suite(suite);
}
