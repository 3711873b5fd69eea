/* test_krylov.c: the Krylov solvers: the systems that they solve, when they stop, and how they
 * fail. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "hard_systems.h" /* before the fixture: its functions have a context each */
#include "krylov_cases.h"
#include "rescue_cases.h"

#include "context_fixture.h"

/* The same, but with methods queued ahead, as on a device. */
static void open_queue(void) {
    open_context();
    krylov_queue_set(context, 5);
}

static void close_queue(void) {
    krylov_queue_reset(context);
    close_context();
}

/* ---- systems ---- */

typedef struct model {
    gsw_problem *problem;
    const gsw_matrix *matrix;
    int64_t n;
    double *b, *x;
} model;

/* A problem with a random right-hand side and x = 0. */
static model make_system(const char *text) {
    model s = {0};
    ck_assert_msg(gsw_problem_parse(context, text, NULL, &s.problem) == GSW_SUCCESS, "%s", text);
    s.matrix = gsw_problem_matrix(s.problem);
    ck_assert_int_eq(gsw_grid_points(&s.matrix->grid, &s.n), GSW_SUCCESS);
    s.b = malloc((size_t)s.n * sizeof *s.b);
    s.x = calloc((size_t)s.n, sizeof *s.x);
    ck_assert(s.b != NULL && s.x != NULL);
    gsw_random_vector(11, s.n, s.b);
    return s;
}

static void free_system(model *s) {
    gsw_problem_destroy(s->problem);
    free(s->b);
    free(s->x);
}

/* ||b - A x|| / ||b||, computed without the solver. */
static double true_residual(const gsw_matrix *matrix, int64_t n, const double *b, const double *x) {
    double *r = malloc((size_t)n * sizeof *r);
    ck_assert_ptr_nonnull(r);
    ck_assert_int_eq(gsw_residual(context, matrix, GSW_F64, b, x, r), GSW_SUCCESS);
    double value = vector_norm(n, r) / vector_norm(n, b);
    free(r);
    return value;
}

static void make_small(int n, const double *dense, small *s) {
    krylov_make_small(context, n, dense, s);
}

static gsw_factor *make_factor(const gsw_matrix *matrix, gsw_factor_options options) {
    gsw_factor *factor = NULL;
    ck_assert_msg(gsw_factor_create(context, matrix, &options, &factor) == GSW_SUCCESS, "%s",
                  gsw_context_message(context));
    return factor;
}

/* ---- solving ---- */

static const struct {
    const char *text;
    int symmetric;
    int hard; /* not solved without a preconditioner */
} problems[] = {
    {"poisson:17x13x11", 1, 0},    {"poisson:31x29", 1, 0}, {"anisotropic:9x12x10", 1, 0},
    {"convection:12x11x10", 0, 0}, {"hpcg:9x8x7", 1, 0},    {"helmholtz19:10x9x8", 1, 0},
    {"star13:9x9x9", 1, 0},        {"box33:7x8x9", 1, 0},   {"random:3:11x7x8", 0, 0},
    {"lognormal:14x13x9", 1, 1},   {"poisson:1x1x1", 1, 0}, {"poisson:1x40x1", 1, 0},
};
#define PROBLEMS ((int)(sizeof problems / sizeof problems[0]))

static const gsw_factor_kind kinds[] = {GSW_JACOBI, GSW_ILU0, GSW_DILU, GSW_SSOR, GSW_IC0};

static void solve_all_methods(model *s, gsw_factor *factor, int symmetric, gsw_norm mode,
                              const char *what) {
    for (int method = symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_GMRES; method++) {
        gsw_krylov_options options = {
            .size = sizeof options, .rtol = 1e-9, .norm = mode, .max_iterations = 3000};
        gsw_krylov_result result = {.size = sizeof result};
        memset(s->x, 0, (size_t)s->n * sizeof *s->x);
        gsw_status status = solve_krylov(context, (gsw_method)method, s->matrix, factor, &options,
                                         s->b, s->x, &result);
        ck_assert_msg(status == GSW_SUCCESS, "%s, %s, norm %d: %s", what,
                      gsw_method_name((gsw_method)method), (int)mode, gsw_context_message(context));
        ck_assert_int_eq(result.converged, 1);
        ck_assert_double_le(result.recurrence, 1e-9);
        if (mode == GSW_NORM_TRUE)
            ck_assert_double_le(result.residual, 1e-9);
        ck_assert_double_eq_tol(result.residual, true_residual(s->matrix, s->n, s->b, s->x),
                                1e-3 * result.residual + 1e-15);
        ck_assert_int_gt(result.iterations, 0);
        ck_assert(result.solve_ms > 0);
    }
}

START_TEST(every_method_with_every_preconditioner) {
    model s = make_system(problems[_i].text);
    int symmetric = problems[_i].symmetric;
    for (int mode = 0; mode < 2; mode++) {
        if (!problems[_i].hard)
            solve_all_methods(&s, NULL, symmetric, (gsw_norm)mode, problems[_i].text);
        for (int k = 0; k < (symmetric ? 5 : 4); k++) {
            gsw_factor *factor =
                make_factor(s.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options),
                                                           .kind = kinds[k]});
            solve_all_methods(&s, factor, symmetric, (gsw_norm)mode, problems[_i].text);
            gsw_factor_destroy(factor);
        }
    }
    free_system(&s);
}
END_TEST

/* The solution is known, and ILU(0) must save iterations. */
START_TEST(solution_is_found_and_preconditioning_helps) {
    model s = make_system("poisson:20x20x20");
    double *known = malloc((size_t)s.n * sizeof *known);
    ck_assert_ptr_nonnull(known);
    gsw_random_vector(5, s.n, known);
    ck_assert_int_eq(gsw_spmv(context, s.matrix, GSW_F64, known, s.b), GSW_SUCCESS);
    gsw_krylov_result plain = {.size = sizeof plain},
                      preconditioned = {.size = sizeof preconditioned};
    gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-12};
    ck_assert_int_eq(solve_cg(context, s.matrix, NULL, &options, s.b, s.x, &plain), GSW_SUCCESS);
    gsw_factor *factor = make_factor(
        s.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options), .kind = GSW_IC0});
    memset(s.x, 0, (size_t)s.n * sizeof *s.x);
    ck_assert_int_eq(solve_cg(context, s.matrix, factor, &options, s.b, s.x, &preconditioned),
                     GSW_SUCCESS);
    for (int64_t i = 0; i < s.n; i++)
        ck_assert_double_eq_tol(s.x[i], known[i], 1e-9);
    ck_assert_int_lt(2 * preconditioned.iterations, plain.iterations);
    gsw_factor_destroy(factor);
    free(known);
    free_system(&s);
}
END_TEST

START_TEST(single_precision_factors_precondition_too) {
    model s = make_system("convection:16x15x14");
    gsw_factor *factor = make_factor(
        s.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options), .factor_type = GSW_F32});
    solve_all_methods(&s, factor, 0, GSW_NORM_TRUE, "fp32 factor");
    gsw_factor_destroy(factor);
    free_system(&s);
}
END_TEST

/* CG on diag(1, 2) from b = (1, 1): alpha = 2/3, x1 = (2/3, 2/3), and x2 is exact. */
START_TEST(cg_by_hand) {
    small s;
    make_small(2, (const double[]){1, 0, 0, 2}, &s);
    const double b[2] = {1, 1};
    double x[2] = {0, 0};
    gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-12, .max_iterations = 1};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_cg(context, &s.matrix, NULL, &options, b, x, &result),
                     GSW_ERROR_NOT_CONVERGED);
    ck_assert_double_eq_tol(x[0], 2.0 / 3.0, 1e-15);
    ck_assert_double_eq_tol(x[1], 2.0 / 3.0, 1e-15);
    ck_assert_double_eq_tol(result.residual, 1.0 / 3.0, 1e-15);
    ck_assert_int_eq(result.iterations, 1);
    ck_assert_int_eq(result.converged, 0);
    x[0] = x[1] = 0;
    options.max_iterations = 0;
    ck_assert_int_eq(solve_cg(context, &s.matrix, NULL, &options, b, x, &result), GSW_SUCCESS);
    ck_assert_int_eq(result.iterations, 2);
    ck_assert_double_eq_tol(x[0], 1.0, 1e-14);
    ck_assert_double_eq_tol(x[1], 0.5, 1e-14);
}
END_TEST

/* ---- stopping ---- */

START_TEST(zero_right_hand_side) {
    model s = make_system("poisson:5x4x3");
    memset(s.b, 0, (size_t)s.n * sizeof *s.b);
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        gsw_krylov_result result = {.size = sizeof result};
        s.x[0] = NAN;
        s.x[1] = 3;
        ck_assert_int_eq(
            solve_krylov(context, (gsw_method)method, s.matrix, NULL, NULL, s.b, s.x, &result),
            GSW_SUCCESS);
        for (int64_t i = 0; i < s.n; i++)
            ck_assert(s.x[i] == 0);
        ck_assert_int_eq(result.iterations, 0);
        ck_assert_int_eq(result.converged, 1);
        ck_assert_double_eq(result.residual, 0);
    }
    free_system(&s);
}
END_TEST

START_TEST(good_initial_guess_needs_no_iteration) {
    model s = make_system("convection:6x5x4");
    gsw_factor *factor =
        make_factor(s.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options)});
    gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-12};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_gmres(context, s.matrix, factor, &options, s.b, s.x, &result),
                     GSW_SUCCESS);
    options.rtol = 1e-10;
    for (int method = GSW_CG; method <= GSW_GMRES; method++)
        for (int mode = 0; mode < 2; mode++) {
            options.norm = (gsw_norm)mode;
            ck_assert_int_eq(solve_krylov(context, (gsw_method)method, s.matrix, factor, &options,
                                          s.b, s.x, &result),
                             GSW_SUCCESS);
            ck_assert_int_eq(result.iterations, 0);
            ck_assert_int_eq(result.converged, 1);
        }
    gsw_factor_destroy(factor);
    free_system(&s);
}
END_TEST

START_TEST(atol_alone_is_absolute) {
    model s = make_system("poisson:8x7x6");
    double b_norm = vector_norm(s.n, s.b);
    gsw_krylov_options options = {.size = sizeof options, .atol = 1e-3 * b_norm};
    gsw_krylov_result loose = {.size = sizeof loose}, tight = {.size = sizeof tight};
    ck_assert_int_eq(solve_cg(context, s.matrix, NULL, &options, s.b, s.x, &loose), GSW_SUCCESS);
    ck_assert_double_le(loose.residual, 1e-3);
    memset(s.x, 0, (size_t)s.n * sizeof *s.x);
    options.rtol = 1e-9; /* the larger of the two counts */
    ck_assert_int_eq(solve_cg(context, s.matrix, NULL, &options, s.b, s.x, &tight), GSW_SUCCESS);
    ck_assert_int_eq(tight.iterations, loose.iterations);
    free_system(&s);
}
END_TEST

START_TEST(iteration_limit) {
    model s = make_system("poisson:20x19x18");
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        gsw_krylov_options options = {.size = sizeof options, .max_iterations = 7, .restart = 3};
        gsw_krylov_result result = {.size = sizeof result};
        memset(s.x, 0, (size_t)s.n * sizeof *s.x);
        ck_assert_int_eq(
            solve_krylov(context, (gsw_method)method, s.matrix, NULL, &options, s.b, s.x, &result),
            GSW_ERROR_NOT_CONVERGED);
        ck_assert_int_eq(result.iterations, 7);
        ck_assert_int_eq(result.converged, 0);
        ck_assert_double_lt(result.residual, 0.5);
        ck_assert_double_eq_tol(result.residual, true_residual(s.matrix, s.n, s.b, s.x), 1e-12);
        ck_assert_double_eq_tol(result.residual, result.recurrence, 1e-10);
        ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "7 iterations"));
    }
    free_system(&s);
}
END_TEST

START_TEST(monitor_sees_every_iteration_once) {
    model s = make_system("poisson:12x11x10");
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        history seen = {.stop_at = -1};
        gsw_krylov_options options = {
            .size = sizeof options, .restart = 4, .monitor = watch, .monitor_user = &seen};
        gsw_krylov_result result = {.size = sizeof result};
        memset(s.x, 0, (size_t)s.n * sizeof *s.x);
        ck_assert_int_eq(
            solve_krylov(context, (gsw_method)method, s.matrix, NULL, &options, s.b, s.x, &result),
            GSW_SUCCESS);
        ck_assert_int_eq(seen.calls, result.iterations + 1);
        ck_assert_double_eq_tol(seen.residual[0], 1.0, 1e-14);
        ck_assert_double_eq(seen.residual[result.iterations], result.recurrence);
        for (int64_t k = 1; k < seen.calls && method == GSW_GMRES; k++)
            ck_assert_double_le(seen.residual[k], seen.residual[k - 1] * (1 + 1e-12));
    }
    free_system(&s);
}
END_TEST

START_TEST(monitor_stops_with_that_iterate) {
    model s = make_system("convection:12x11x10");
    gsw_factor *factor =
        make_factor(s.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options)});
    for (int method = GSW_BICGSTAB; method <= GSW_GMRES; method++) {
        history seen = {.stop_at = 3};
        gsw_krylov_options options = {
            .size = sizeof options, .rtol = 1e-14, .monitor = watch, .monitor_user = &seen};
        gsw_krylov_result result = {.size = sizeof result};
        memset(s.x, 0, (size_t)s.n * sizeof *s.x);
        ck_assert_int_eq(solve_krylov(context, (gsw_method)method, s.matrix, factor, &options, s.b,
                                      s.x, &result),
                         GSW_ERROR_STOPPED);
        ck_assert_int_eq(result.iterations, 3);
        ck_assert_int_eq(result.converged, 0);
        ck_assert_double_eq_tol(true_residual(s.matrix, s.n, s.b, s.x), seen.residual[3], 1e-10);
    }
    gsw_factor_destroy(factor);
    free_system(&s);
}
END_TEST

/* Below the attainable accuracy the recurrence keeps falling, but the true residual does not
 * follow. */
START_TEST(drift_from_the_truth_is_reported) {
    model s = make_system("lognormal:16x15x14");
    gsw_factor *factor = make_factor(
        s.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options), .kind = GSW_IC0});
    for (int mode = 0; mode < 2; mode++) {
        gsw_krylov_options options = {
            .size = sizeof options, .rtol = 1e-25, .norm = (gsw_norm)mode};
        gsw_krylov_result result = {.size = sizeof result};
        memset(s.x, 0, (size_t)s.n * sizeof *s.x);
        ck_assert_int_eq(solve_cg(context, s.matrix, factor, &options, s.b, s.x, &result),
                         GSW_ERROR_NOT_CONVERGED);
        ck_assert_int_eq(result.converged, 0);
        ck_assert_double_le(result.recurrence, 1e-25);
        ck_assert_double_gt(result.residual, 1e-20);
        ck_assert_int_eq(result.stagnated, 1);
        ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "stagnated"));
        ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "recurrence"));
    }
    gsw_factor_destroy(factor);
    free_system(&s);
}
END_TEST

/* ---- GMRES ---- */

/* On a cyclic shift GMRES makes no progress at all before step n. */
START_TEST(gmres_needs_all_steps_on_a_cyclic_shift) {
    small s;
    make_small(5, (const double[]){0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0,
                                   1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0},
               &s);
    const double b[5] = {1, 0, 0, 0, 0};
    double x[5] = {0};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_gmres(context, &s.matrix, NULL, NULL, b, x, &result), GSW_SUCCESS);
    ck_assert_int_eq(result.iterations, 5);
    ck_assert_double_eq_tol(x[1], 1, 1e-14);

    memset(x, 0, sizeof x);
    gsw_krylov_options options = {.size = sizeof options, .restart = 3, .max_iterations = 20};
    ck_assert_int_eq(solve_gmres(context, &s.matrix, NULL, &options, b, x, &result),
                     GSW_ERROR_NOT_CONVERGED);
    ck_assert_int_eq(result.iterations, 20);
    ck_assert_double_eq_tol(result.residual, 1, 1e-14);
}
END_TEST

/* b is an eigenvector: the space is invariant after one step, and holds the solution. */
START_TEST(gmres_happy_breakdown) {
    small s;
    make_small(3, (const double[]){4, 0, 0, 0, 2, 1, 0, 0, 3}, &s);
    const double b[3] = {8, 0, 0};
    double x[3] = {0};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_gmres(context, &s.matrix, NULL, NULL, b, x, &result), GSW_SUCCESS);
    ck_assert_int_eq(result.iterations, 1);
    ck_assert_double_eq(x[0], 2);
    ck_assert_double_eq(x[1], 0);
}
END_TEST

START_TEST(gmres_singular_matrix_breaks_down) {
    small s;
    make_small(2, (const double[]){0, 1, 0, 0}, &s);
    const double b[2] = {1, 0};
    double x[2] = {0, 0};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_gmres(context, &s.matrix, NULL, NULL, b, x, &result),
                     GSW_ERROR_BREAKDOWN);
    ck_assert_int_eq(result.converged, 0);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "singular"));
    ck_assert_double_eq_tol(result.residual, 1, 1e-15);
}
END_TEST

/* A shift that maps the last of three points to nothing: the space ends with the third product. */
START_TEST(gmres_singular_on_its_space) {
    small s;
    make_small(3, (const double[]){0, 1, 0, 0, 0, 1, 0, 0, 0}, &s);
    const double b[3] = {0, 0, 1};
    double x[3] = {0, 0, 0};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_gmres(context, &s.matrix, NULL, NULL, b, x, &result),
                     GSW_ERROR_BREAKDOWN);
    ck_assert_int_eq(result.converged, 0);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "projected matrix"));
}
END_TEST

START_TEST(gmres_restart_costs_iterations) {
    model s = make_system("poisson:16x15x14");
    gsw_krylov_result full = {.size = sizeof full}, restarted = {.size = sizeof restarted};
    gsw_krylov_options options = {.size = sizeof options, .restart = 200};
    ck_assert_int_eq(solve_gmres(context, s.matrix, NULL, &options, s.b, s.x, &full), GSW_SUCCESS);
    memset(s.x, 0, (size_t)s.n * sizeof *s.x);
    options.restart = 5;
    ck_assert_int_eq(solve_gmres(context, s.matrix, NULL, &options, s.b, s.x, &restarted),
                     GSW_SUCCESS);
    ck_assert_int_gt(restarted.iterations, full.iterations);
    free_system(&s);
}
END_TEST

/* ---- breakdowns ---- */

/* From b = (1, 1): p'Ap = -1, then x = (-2, -2), r = (3, -3), p = (12, 6) and p'Ap = 72. */
START_TEST(cg_indefinite_matrix) {
    small s;
    make_small(2, (const double[]){1, 0, 0, -2}, &s);
    const double b[2] = {1, 1};
    double x[2] = {0, 0};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_cg(context, &s.matrix, NULL, NULL, b, x, &result), GSW_ERROR_BREAKDOWN);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "p'Ap is 72"));
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "iteration 2"));
    ck_assert_int_eq(result.converged, 0);
    ck_assert_int_eq(result.iterations, 1);
    ck_assert_double_eq_tol(result.residual, 3, 1e-14);
    ck_assert_double_eq(x[0], -2);
}
END_TEST

START_TEST(cg_vanishing_curvature) {
    small s;
    make_small(2, (const double[]){1, 0, 0, -1}, &s);
    const double b[2] = {1, 1};
    double x[2] = {0, 0};
    ck_assert_int_eq(solve_cg(context, &s.matrix, NULL, NULL, b, x, NULL), GSW_ERROR_BREAKDOWN);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "p'Ap is 0"));
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "indefinite"));
    ck_assert_double_eq(x[0], 0);
    /* The squares of A p underflow. */
    make_small(2, (const double[]){1e-200, 0, 0, -1e-200}, &s);
    ck_assert_int_eq(solve_cg(context, &s.matrix, NULL, NULL, b, x, NULL), GSW_ERROR_BREAKDOWN);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "leave the range of fp64"));
}
END_TEST

START_TEST(cg_indefinite_preconditioner) {
    small definite, indefinite;
    make_small(2, (const double[]){1, 0, 0, 2}, &definite);
    make_small(2, (const double[]){1, 0, 0, -2}, &indefinite);
    gsw_factor *factor =
        make_factor(&indefinite.matrix,
                    (gsw_factor_options){.size = sizeof(gsw_factor_options), .kind = GSW_JACOBI});
    const double b[2] = {1, 5};
    double x[2] = {0, 0};
    ck_assert_int_eq(solve_cg(context, &definite.matrix, factor, NULL, b, x, NULL),
                     GSW_ERROR_BREAKDOWN);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "r'z"));
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), ", of the other sign than before"));
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "preconditioner"));
    gsw_factor_destroy(factor);
}
END_TEST

/* Many simulators assemble their pressure equation with a negative diagonal. */
START_TEST(cg_takes_a_negative_definite_matrix) {
    small s;
    make_small(3, (const double[]){-2, 1, 0, 1, -2, 1, 0, 1, -2}, &s);
    gsw_factor *factor = make_factor(
        &s.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options), .kind = GSW_JACOBI});
    const double b[3] = {0, 0, -4};
    for (int k = 0; k < 2; k++) {
        double x[3] = {0};
        ck_assert_int_eq(solve_cg(context, &s.matrix, k ? factor : NULL, NULL, b, x, NULL),
                         GSW_SUCCESS);
        for (int i = 0; i < 3; i++)
            ck_assert_double_eq_tol(x[i], i + 1, 1e-13);
    }
    gsw_factor_destroy(factor);
}
END_TEST

/* t and s are orthogonal for every s where A is skew-symmetric, so no other start helps. */
START_TEST(bicgstab_breaks_down_on_a_skew_matrix) {
    small s;
    make_small(2, (const double[]){0, 1, -1, 0}, &s);
    const double b[2] = {1, 1};
    double x[2] = {0, 0};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_bicgstab(context, &s.matrix, NULL, NULL, b, x, &result),
                     GSW_ERROR_BREAKDOWN);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "omega is 0"));
}
END_TEST

/* s is orthogonal to A s: x takes the first half of the step, then omega = 0 ends the method. */
START_TEST(bicgstab_omega_zero) {
    small s;
    make_small(3, (const double[]){1, 0, 0, 0, 0, 1, 1, -1, 0}, &s);
    const double b[3] = {1, 0, 0};
    double x[3] = {0};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_bicgstab(context, &s.matrix, NULL, NULL, b, x, &result),
                     GSW_ERROR_BREAKDOWN);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "omega"));
    ck_assert_double_eq(x[0], 1);
}
END_TEST

/* A solution that the first half of a step reaches exactly. */
/* Squares underflow, or products with the first residual, so nothing is known of the matrix. */
START_TEST(bicgstab_out_of_range) {
    static const struct {
        double second;
        const char *scalar;
    } cases[] = {{-1e-200, "t't is 0"}, {2e-200, "t't is 0"}};
    const double b[2] = {1, 1};
    for (int k = 0; k < 2; k++) {
        small s;
        double x[2] = {0, 0};
        make_small(2, (const double[]){1e-200, 0, 0, cases[k].second}, &s);
        ck_assert_int_eq(solve_bicgstab(context, &s.matrix, NULL, NULL, b, x, NULL),
                         GSW_ERROR_BREAKDOWN);
        ck_assert_ptr_nonnull(strstr(gsw_context_message(context), cases[k].scalar));
        ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "leave the range of fp64"));
    }
}
END_TEST

START_TEST(bicgstab_exact_half_step) {
    small s;
    make_small(2, (const double[]){2, 0, 0, 2}, &s);
    const double b[2] = {2, 6};
    double x[2] = {0, 0};
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve_bicgstab(context, &s.matrix, NULL, NULL, b, x, &result), GSW_SUCCESS);
    ck_assert_int_eq(result.iterations, 1);
    ck_assert_double_eq(x[0], 1);
    ck_assert_double_eq(x[1], 3);
}
END_TEST

/* ---- NaN, infinity, underflow ---- */

START_TEST(non_finite_data_is_reported) {
    static const double bad[] = {NAN, INFINITY};
    for (int method = GSW_CG; method <= GSW_GMRES; method++)
        for (int k = 0; k < 2; k++)
            for (int mode = 0; mode < 2; mode++) {
                model s = make_system("poisson:7x6x5");
                gsw_krylov_options options = {.size = sizeof options, .norm = (gsw_norm)mode};
                gsw_krylov_result result = {.size = sizeof result};
                double kept = s.b[17];
                s.b[17] = bad[k];
                ck_assert_int_eq(solve_krylov(context, (gsw_method)method, s.matrix, NULL, &options,
                                              s.b, s.x, &result),
                                 GSW_ERROR_NON_FINITE);
                ck_assert_int_eq(result.converged, 0);
                ck_assert_double_eq(vector_norm(s.n, s.x), 0);
                s.b[17] = kept;

                s.x[4] = bad[k];
                ck_assert_int_eq(solve_krylov(context, (gsw_method)method, s.matrix, NULL, &options,
                                              s.b, s.x, &result),
                                 GSW_ERROR_NON_FINITE);
                s.x[4] = 0;

                small m;
                make_small(3, (const double[]){2, 1, 0, 1, bad[k], 1, 0, 1, 2}, &m);
                const double b[3] = {1, 2, 3};
                double x[3] = {0};
                ck_assert_int_eq(solve_krylov(context, (gsw_method)method, &m.matrix, NULL,
                                              &options, b, x, &result),
                                 GSW_ERROR_NON_FINITE);
                ck_assert(isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]));
                free_system(&s);
            }
}
END_TEST

/* Squares underflow, of b or of the residual that rtol asks for. */
START_TEST(small_norms_are_refused) {
    static const double scales[] = {1e-200, 1e-160, 1e-150};
    for (int k = 0; k < 3; k++)
        for (int norm = GSW_NORM_TRUE; norm <= GSW_NORM_PRECONDITIONED; norm++) {
            const gsw_krylov_options options = {.size = sizeof options, .norm = (gsw_norm)norm};
            model s = make_system("poisson:5x4x3");
            for (int64_t i = 0; i < s.n; i++)
                s.b[i] *= scales[k];
            ck_assert_int_eq(solve_cg(context, s.matrix, NULL, &options, s.b, s.x, NULL),
                             GSW_ERROR_BREAKDOWN);
            ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "underflow"));
            free_system(&s);
        }
}
END_TEST

/* ---- arguments ---- */

START_TEST(bad_arguments_are_refused) {
    model s = make_system("poisson:5x4x3"), other = make_system("poisson:5x4x4");
    gsw_krylov_options o = {.size = sizeof o};
    gsw_factor *big =
        make_factor(other.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options)});
    ck_assert_int_eq(solve_cg(NULL, s.matrix, NULL, &o, s.b, s.x, NULL),
                     GSW_ERROR_INVALID_ARGUMENT);
#define REFUSED(call, word)                                                                        \
    do {                                                                                           \
        ck_assert_int_eq(call, GSW_ERROR_INVALID_ARGUMENT);                                        \
        ck_assert_ptr_nonnull(strstr(gsw_context_message(context), word));                         \
    } while (0)
    REFUSED(solve_cg(context, NULL, NULL, &o, s.b, s.x, NULL), "matrix");
    REFUSED(solve_cg(context, s.matrix, NULL, &o, NULL, s.x, NULL), "b is NULL");
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, NULL, NULL), "x is NULL");
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.b, NULL), "overlap");
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.b + 1, NULL), "overlap");
    REFUSED(solve_cg(context, s.matrix, big, &o, s.b, s.x, NULL), "preconditioner: it has");
    REFUSED(solve_krylov(context, (gsw_method)7, s.matrix, NULL, &o, s.b, s.x, NULL), "method");
    o.rtol = -1;
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "rtol");
    o.rtol = NAN;
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "rtol");
    o = (gsw_krylov_options){.size = sizeof(gsw_krylov_options), .atol = -1e-9};
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "atol");
    o = (gsw_krylov_options){.size = sizeof(gsw_krylov_options), .max_iterations = -1};
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "max_iterations");
    o = (gsw_krylov_options){.size = sizeof(gsw_krylov_options), .restart = -1};
    REFUSED(solve_gmres(context, s.matrix, NULL, &o, s.b, s.x, NULL), "restart");
    o = (gsw_krylov_options){.size = sizeof(gsw_krylov_options), .norm = (gsw_norm)2};
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "norm");
    o = (gsw_krylov_options){.size = sizeof o, .nullspace = (gsw_nullspace)3};
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "nullspace 3 is unknown");
    o = (gsw_krylov_options){.size = sizeof o, .nullspace = GSW_NULLSPACE_VECTOR};
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "null_vector is NULL");
    o.null_vector = s.x + 1;
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "x and null_vector overlap");
    o = (gsw_krylov_options){.size = sizeof o, .null_vector = s.b};
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "nullspace is not VECTOR");
    double *zero = calloc((size_t)s.n, sizeof *zero);
    o = (gsw_krylov_options){
        .size = sizeof o, .nullspace = GSW_NULLSPACE_VECTOR, .null_vector = zero};
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "null_vector has the length");
    zero[0] = 1e-300;
    REFUSED(solve_cg(context, s.matrix, NULL, &o, s.b, s.x, NULL), "must not underflow");
    free(zero);
#undef REFUSED
    for (int64_t i = 0; i < s.n; i++)
        ck_assert(s.x[i] == 0);
    gsw_factor_destroy(big);
    free_system(&s);
    free_system(&other);
}
END_TEST

/* ---- singular, indefinite and badly scaled systems ---- */

START_TEST(hard_systems_end_as_they_must) {
    check_hard_systems(context);
}
END_TEST

/* Products 3 to 6 of this matrix are wrong by 1e-4. x does not get what the recurrence takes from
 * these products, on any machine. */
typedef struct rough_products {
    const gsw_matrix *matrix;
    int64_t n, products;
} rough_products;

static gsw_status multiply_roughly(void *user, gsw_context *where, const double *x, double *y) {
    rough_products *rough = user;
    const gsw_status status = gsw_spmv(where, rough->matrix, GSW_F64, x, y);
    const int64_t product = rough->products++;
    for (int64_t i = 0; product >= 3 && product <= 6 && i < rough->n; i++)
        y[i] *= i % 2 == 0 ? 1 + 1e-4 : 1 - 1e-4;
    return status;
}

/* Each method replaces a recurrence that has drifted. The monitor then still sees each iteration
 * once, in ascending order. */
START_TEST(drifted_recurrences_are_replaced) {
    const gsw_method method = (gsw_method)_i;
    const hard_matrix spd = {.grid = {9, 9, 9}, .z = 1, .shift = 0.1};
    hard_arrays a = hard_make(context, &spd);
    double *b = oracle_vector(GSW_F64, 3, a.n), *x = oracle_vector(GSW_F64, 3, a.n);
    history seen = {.stop_at = -1};
    rough_products rough = {.matrix = &a.view, .n = a.n};
    gsw_operator *op = NULL;
    const gsw_krylov_options options = {
        .size = sizeof options, .restart = 200, .monitor = watch, .monitor_user = &seen};
    gsw_krylov_result result = {.size = sizeof result};
    oracle_fill(GSW_F64, x, a.n, 0);
    ck_assert_int_eq(gsw_operator_from_callback(context, a.n, multiply_roughly, &rough, &op),
                     GSW_SUCCESS);
    ck_assert_int_eq(gsw_krylov(context, method, op, NULL, &options, b, x, &result), GSW_SUCCESS);
    truth_check("rough", &a.view, &options, b, x, GSW_SUCCESS, &result, context, NULL);
    ck_assert_int_gt(result.replacements, 0);
    ck_assert_int_eq(seen.calls, result.iterations + 1);
    gsw_operator_destroy(op);
    free(x);
    free(b);
    hard_free(&a);
}
END_TEST

/* After the first round x is mostly the rounding error of an x0 that was far too large. */
START_TEST(far_guesses_are_no_stagnation) {
    static const struct {
        const char *text;
        gsw_method method;
    } cases[] = {{"poisson:13x12x11", GSW_CG},
                 {"convection:13x12x11", GSW_BICGSTAB},
                 {"convection:13x12x11", GSW_GMRES},
                 {"anisotropic:40x30", GSW_CG}};
    for (int k = 0; k < 4; k++) {
        model s = make_system(cases[k].text);
        gsw_factor *factor = NULL;
        const gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-12};
        gsw_krylov_result result = {.size = sizeof result};
        ck_assert_int_eq(gsw_factor_create(context, s.matrix, NULL, &factor), GSW_SUCCESS);
        for (int64_t i = 0; i < s.n; i++) {
            s.b[i] = i == s.n / 2 ? 1e-20 : 0;
            s.x[i] = sin((double)i);
        }
        ck_assert_msg(solve_krylov(context, cases[k].method, s.matrix, factor, &options, s.b, s.x,
                                   &result) == GSW_SUCCESS,
                      "%s: %s", cases[k].text, gsw_context_message(context));
        ck_assert_int_eq(result.converged, 1);
        gsw_factor_destroy(factor);
        free_system(&s);
    }
}
END_TEST

/* A start far along the null vector does not matter. x is orthogonal to it, and the part of b along
 * it is reported. */
START_TEST(null_vector_leaves_no_trace) {
    const hard_matrix neumann = {.grid = {12, 11, 10}, .z = 1};
    hard_arrays a = hard_make(context, &neumann);
    double *b = oracle_vector(GSW_F64, 3, a.n), *x = oracle_vector(GSW_F64, 4, a.n);
    const gsw_krylov_options options = {
        .size = sizeof options, .nullspace = GSW_NULLSPACE_CONSTANT, .rtol = 1e-12};
    double along = 0, square = 0;
    for (int64_t i = 0; i < a.n; i++) {
        b[i] += 0.25;
        along += b[i];
        square += b[i] * b[i];
    }
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        gsw_krylov_result result = {.size = sizeof result};
        double sum = 0, largest = 0;
        for (int64_t i = 0; i < a.n; i++)
            x[i] = 1e8;
        ck_assert_int_eq(
            solve_krylov(context, (gsw_method)method, &a.view, NULL, &options, b, x, &result),
            GSW_SUCCESS);
        for (int64_t i = 0; i < a.n; i++) {
            sum += x[i];
            largest = fmax(largest, fabs(x[i]));
        }
        ck_assert_double_le(fabs(sum), 1e-12 * largest * (double)a.n);
        ck_assert_double_eq_tol(result.removed, along / sqrt(square * (double)a.n), 1e-12);
    }
    free(x);
    free(b);
    hard_free(&a);
}
END_TEST

START_TEST(single_precision_vectors_are_unsupported) {
    model s = make_system("poisson:5x4x3");
    gsw_factor *factor =
        make_factor(s.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options),
                                                   .factor_type = GSW_F32,
                                                   .vector_type = GSW_F32});
    gsw_preconditioner *preconditioner = (gsw_preconditioner *)&s;
    ck_assert_int_eq(gsw_preconditioner_from_factor(context, factor, &preconditioner),
                     GSW_ERROR_UNSUPPORTED);
    ck_assert_ptr_null(preconditioner);
    gsw_factor_destroy(factor);
    free_system(&s);
}
END_TEST

START_TEST(names_of_the_methods) {
    ck_assert_str_eq(gsw_method_name(GSW_CG), "cg");
    ck_assert_str_eq(gsw_method_name(GSW_BICGSTAB), "bicgstab");
    ck_assert_str_eq(gsw_method_name(GSW_GMRES), "gmres");
}
END_TEST

/* ---- vector operations ---- */

START_TEST(passes_do_what_they_say) {
    check_vector_operations(context, krylov_lengths[_i]);
}
END_TEST

START_TEST(products_end_in_passes) {
    check_products(context);
}
END_TEST

/* ---- the same bits ---- */

static void check_threads(const char *text, gsw_method first_method, gsw_method last_method) {
    model s = make_system(text);
    double *first = malloc((size_t)s.n * sizeof *first);
    ck_assert_ptr_nonnull(first);
    for (int method = (int)first_method; method <= (int)last_method; method++) {
        gsw_krylov_result expected = {.size = sizeof expected};
        for (int threads = 1; threads <= 5; threads++) {
            gsw_context_options options = {
                .size = sizeof options, .backend = GSW_BACKEND_CPU, .threads = threads};
            gsw_context *own = NULL;
            gsw_factor *factor = NULL;
            gsw_krylov_result result = {.size = sizeof result};
            ck_assert_int_eq(gsw_context_create(&options, &own), GSW_SUCCESS);
            ck_assert_int_eq(gsw_factor_create(own, s.matrix, NULL, &factor), GSW_SUCCESS);
            memset(s.x, 0, (size_t)s.n * sizeof *s.x);
            ck_assert_int_eq(
                solve_krylov(own, (gsw_method)method, s.matrix, factor, NULL, s.b, s.x, &result),
                GSW_SUCCESS);
            if (threads == 1) {
                memcpy(first, s.x, (size_t)s.n * sizeof *first);
                expected = result;
            }
            ck_assert_int_eq(memcmp(first, s.x, (size_t)s.n * sizeof *first), 0);
            ck_assert_int_eq(result.iterations, expected.iterations);
            ck_assert(result.residual == expected.residual);
            gsw_factor_destroy(factor);
            gsw_context_destroy(own);
        }
    }
    free(first);
    free_system(&s);
}

START_TEST(bits_do_not_depend_on_threads) {
    check_threads("convection:37x31x29", GSW_BICGSTAB, GSW_GMRES);
    check_threads("poisson:37x31x29", GSW_CG, GSW_CG);
}
END_TEST

START_TEST(queues_end_with_the_same_bits) {
    for (int p = 0; p < PROBLEMS; p++) {
        model s = make_system(problems[p].text);
        gsw_factor *factor =
            make_factor(s.matrix, (gsw_factor_options){.size = sizeof(gsw_factor_options)});
        for (int method = problems[p].symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_BICGSTAB;
             method++)
            for (int k = 0; k < 8; k++) {
                const gsw_krylov_options options = {.size = sizeof options,
                                                    .norm = (gsw_norm)(k % 2),
                                                    .max_iterations = k & 2 ? 4 : 300};
                check_queues(context, (gsw_method)method, s.matrix, k & 4 ? factor : NULL, &options,
                             s.n, s.b);
            }
        gsw_factor_destroy(factor);
        free_system(&s);
    }
}
END_TEST

START_TEST(queues_end_in_the_same_faults) {
    check_faults(context);
}
END_TEST

START_TEST(few_entries_of_b_are_not_zero) {
    rescue_check_sparse(context);
}
END_TEST

START_TEST(singular_systems_end_early) {
    rescue_check_singular(context);
}
END_TEST

START_TEST(monitors_are_not_queued_ahead_of) {
    model s = make_system("poisson:12x11x10");
    check_monitors(context, s.matrix, s.n, s.b);
    free_system(&s);
}
END_TEST

static void add_tests(TCase *tc) {
    tcase_add_loop_test(tc, every_method_with_every_preconditioner, 0, PROBLEMS);
    tcase_add_test(tc, solution_is_found_and_preconditioning_helps);
    tcase_add_test(tc, single_precision_factors_precondition_too);
    tcase_add_test(tc, cg_by_hand);
    tcase_add_test(tc, zero_right_hand_side);
    tcase_add_test(tc, good_initial_guess_needs_no_iteration);
    tcase_add_test(tc, atol_alone_is_absolute);
    tcase_add_test(tc, iteration_limit);
    tcase_add_test(tc, monitor_sees_every_iteration_once);
    tcase_add_test(tc, monitor_stops_with_that_iterate);
    tcase_add_test(tc, drift_from_the_truth_is_reported);
    tcase_add_test(tc, gmres_needs_all_steps_on_a_cyclic_shift);
    tcase_add_test(tc, gmres_happy_breakdown);
    tcase_add_test(tc, gmres_singular_matrix_breaks_down);
    tcase_add_test(tc, gmres_singular_on_its_space);
    tcase_add_test(tc, gmres_restart_costs_iterations);
    tcase_add_test(tc, cg_indefinite_matrix);
    tcase_add_test(tc, cg_vanishing_curvature);
    tcase_add_test(tc, cg_indefinite_preconditioner);
    tcase_add_test(tc, cg_takes_a_negative_definite_matrix);
    tcase_add_test(tc, bicgstab_breaks_down_on_a_skew_matrix);
    tcase_add_test(tc, bicgstab_omega_zero);
    tcase_add_test(tc, bicgstab_out_of_range);
    tcase_add_test(tc, bicgstab_exact_half_step);
    tcase_add_test(tc, non_finite_data_is_reported);
    tcase_add_test(tc, small_norms_are_refused);
    tcase_add_test(tc, bad_arguments_are_refused);
    tcase_add_test(tc, single_precision_vectors_are_unsupported);
    tcase_add_test(tc, hard_systems_end_as_they_must);
    tcase_add_loop_test(tc, drifted_recurrences_are_replaced, GSW_CG, GSW_GMRES + 1);
    tcase_add_test(tc, far_guesses_are_no_stagnation);
    tcase_add_test(tc, null_vector_leaves_no_trace);
    tcase_add_test(tc, names_of_the_methods);
}

static Suite *krylov_suite(void) {
    Suite *suite = suite_create("krylov");
    TCase *tc = tcase_create("krylov"), *queued = tcase_create("queued"),
          *vectors = tcase_create("vectors");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, open_context, close_context);
    add_tests(tc);
    tcase_add_test(tc, bits_do_not_depend_on_threads);
    tcase_add_test(tc, queues_end_with_the_same_bits);
    tcase_add_test(tc, queues_end_in_the_same_faults);
    tcase_add_test(tc, monitors_are_not_queued_ahead_of);
    tcase_add_test(tc, few_entries_of_b_are_not_zero);
    tcase_add_test(tc, singular_systems_end_early);
    suite_add_tcase(suite, tc);
    tcase_set_timeout(queued, 120);
    tcase_add_checked_fixture(queued, open_queue, close_queue);
    add_tests(queued);
    suite_add_tcase(suite, queued);
    tcase_set_timeout(vectors, 120);
    tcase_add_checked_fixture(vectors, open_context, close_context);
    tcase_add_loop_test(vectors, passes_do_what_they_say, 0, KRYLOV_LENGTHS);
    tcase_add_test(vectors, products_end_in_passes);
    suite_add_tcase(suite, vectors);
    return suite;
}

int main(void) {
    SRunner *runner = srunner_create(krylov_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
