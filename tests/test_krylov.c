/* test_krylov.c: the Krylov solvers: the systems that they solve, when they stop, and how they
 * fail. On a device, iterations equal those on the CPU up to one, because sums are taken in another
 * order, and smoothed values are the same. */
#include "krylov_solve.h"
#include "krylov_systems.h"

/* ---- solving ---- */

static const struct {
    const char *text;
    int symmetric;
    int hard;     /* not solved without a preconditioner */
    int compared; /* with the CPU: convergence is smooth enough */
} problems[] = {
    {"poisson:17x13x11", 1, 0, 0},    {"poisson:31x29", 1, 0, 0},
    {"anisotropic:9x12x10", 1, 0, 0}, {"convection:12x11x10", 0, 0, 1},
    {"hpcg:9x8x7", 1, 0, 1},          {"helmholtz19:10x9x8", 1, 0, 1},
    {"star13:9x9x9", 1, 0, 1},        {"box33:7x8x9", 1, 0, 1},
    {"random:3:11x7x8", 0, 0, 0},     {"lognormal:14x13x9", 1, 1, 0},
    {"poisson:1x1x1", 1, 0, 1},       {"poisson:1x40x1", 1, 0, 1},
    {"poisson:8x7x6", 1, 0, 1},       {"random:3:40x30x20", 0, 0, 1},
};
#define PROBLEMS ((int)(sizeof problems / sizeof problems[0]))

static const gsw_factor_options preconditioners[] = {
    {.kind = GSW_JACOBI},
    {.kind = GSW_ILU0},
    {.kind = GSW_ILU0, .factor_type = GSW_F32},
    {.kind = GSW_DILU},
    {.kind = GSW_SSOR},
    {.kind = GSW_IC0}, /* the last: only where the matrix is symmetric */
};
#define PRECONDITIONERS ((int)(sizeof preconditioners / sizeof preconditioners[0]))

/* As many iterations on the device as on the CPU, up to one. */
static void compare_with_cpu(const model *s, gsw_method method, gsw_norm norm, const char *what) {
    const gsw_krylov_options options = {
        .size = sizeof options, .rtol = 1e-8, .norm = norm, .eisenstat = GSW_EISENSTAT_NEVER};
    gsw_krylov_result there = {.size = sizeof there}, here = {.size = sizeof here};
    set_guess(s, 0);
    must(context, solve(s, method, &options, &there));
    set_guess(s, 0);
    must(cpu, solve_krylov(cpu, method, s->host, s->host_factor, &options, s->b, s->x, &here));
    const int64_t difference = there.iterations - here.iterations;
    ck_assert_msg(difference >= -1 && difference <= 1, "%s, %s: %lld iterations, %lld on the CPU",
                  what, gsw_method_name(method), (long long)there.iterations,
                  (long long)here.iterations);
}

static void solve_all_methods(const model *s, int symmetric, gsw_norm norm, const char *what) {
    for (int method = symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_GMRES; method++) {
        const gsw_krylov_options options = {.size = sizeof options,
                                            .rtol = 1e-9,
                                            .norm = norm,
                                            .max_iterations = 3000,
                                            .eisenstat = on_cuda() ? GSW_EISENSTAT_NEVER
                                                                   : GSW_EISENSTAT_AUTO};
        gsw_krylov_result result = {.size = sizeof result};
        set_guess(s, 0);
        ck_assert_msg(solve(s, (gsw_method)method, &options, &result) == GSW_SUCCESS,
                      "%s, %s, norm %d: %s", what, gsw_method_name((gsw_method)method), (int)norm,
                      gsw_context_message(context));
        ck_assert_double_le(result.recurrence, 1e-9);
        ck_assert_int_gt(result.iterations, 0);
        ck_assert(result.solve_ms > 0);
    }
}

/* Preconditioner -1 is none. */
TEST(every_method_with_every_preconditioner) {
    model s = make_system(problems[_i].text);
    const int symmetric = problems[_i].symmetric;
    for (int k = problems[_i].hard ? 0 : -1; k < PRECONDITIONERS - !symmetric; k++) {
        const char *kind = k < 0 ? "none" : gsw_factor_kind_name(preconditioners[k].kind);
        char what[100];
        snprintf(what, sizeof what, "%s, %s", problems[_i].text, kind);
        if (k >= 0)
            factorise(&s, preconditioners[k]);
        for (int norm = GSW_NORM_TRUE; norm <= GSW_NORM_PRECONDITIONED; norm++) {
            solve_all_methods(&s, symmetric, (gsw_norm)norm, what);
            for (int method = symmetric ? GSW_CG : GSW_BICGSTAB;
                 on_cuda() && problems[_i].compared && method <= GSW_GMRES; method++)
                if (k < 0 || norm == GSW_NORM_TRUE)
                    compare_with_cpu(&s, (gsw_method)method, (gsw_norm)norm, what);
        }
    }
}

/* The solution is known, and IC(0) must save iterations. */
TEST(solution_is_found_and_preconditioning_helps) {
    model s = make_system("poisson:20x20x20");
    const double *known = keep_random(5, s.n);
    must(cpu, gsw_spmv(cpu, s.host, GSW_F64, known, s.b));
    gsw_krylov_result plain = {.size = sizeof plain},
                      preconditioned = {.size = sizeof preconditioned};
    const gsw_krylov_options options = {
        .size = sizeof options, .rtol = 1e-12, .eisenstat = GSW_EISENSTAT_NEVER};
    must(context, solve(&s, GSW_CG, &options, &plain));
    factorise(&s, (gsw_factor_options){.kind = GSW_IC0});
    set_guess(&s, 0);
    must(context, solve(&s, GSW_CG, &options, &preconditioned));
    for (int64_t i = 0; i < s.n; i++)
        ck_assert_double_eq_tol(s.x[i], known[i], 1e-9);
    ck_assert_int_lt(2 * preconditioned.iterations, plain.iterations);
}

/* ---- small systems ---- */

/* Iterations of a method that has begun again several times. */
enum { SEVERAL = -1 };

/* The ends of systems of two to five points, some with a diagonal preconditioner. */
typedef struct small_system {
    gsw_method method;
    int n;
    double dense[25], b[5];
    gsw_status status;
    int64_t iterations;
    const char *words[3];
    double diagonal[3]; /* of the preconditioner */
    gsw_krylov_options options;
    int known; /* so many values of x, up to the tolerance */
    double x[3], tolerance;
    double residual; /* up to 1e-14; 0: not checked */
} small_system;

/* clang-format off */
static const small_system small_systems[] = {
    /* CG by hand: alpha = 2/3, x1 = (2/3, 2/3), and x2 is exact. */
    {GSW_CG, 2, {1, 0, 0, 2}, {1, 1}, GSW_ERROR_NOT_CONVERGED, 1,
     .options = {.rtol = 1e-12, .max_iterations = 1},
     .known = 2, .x = {2.0 / 3, 2.0 / 3}, .tolerance = 1e-15, .residual = 1.0 / 3},
    {GSW_CG, 2, {1, 0, 0, 2}, {1, 1}, GSW_SUCCESS, 2, .options = {.rtol = 1e-12},
     .known = 2, .x = {1, 0.5}, .tolerance = 1e-14},
    /* p'Ap = -1, then x = (-2, -2), r = (3, -3), p = (12, 6) and p'Ap = 72. */
    {GSW_CG, 2, {1, 0, 0, -2}, {1, 1}, GSW_ERROR_BREAKDOWN, 1,
     .words = {"p'Ap is 72", "iteration 2"},
     .known = 1, .x = {-2}, .residual = 3},
    {GSW_CG, 3, {1, 0, 0, 0, -2, 0, 0, 0, 1}, {1, 1, 0}, GSW_ERROR_BREAKDOWN, 1,
     .words = {"p'Ap is"}},
    {GSW_CG, 2, {1, 0, 0, -1}, {1, 1}, GSW_ERROR_BREAKDOWN, 0, .words = {"p'Ap is 0", "indefinite"},
     .known = 1},
    /* The squares of A p underflow. */
    {GSW_CG, 2, {1e-200, 0, 0, -1e-200}, {1, 1}, GSW_ERROR_BREAKDOWN, 0,
     .words = {"leave the range of fp64"}},
    {GSW_CG, 2, {1, 0, 0, 2}, {1, 5}, GSW_ERROR_BREAKDOWN, SEVERAL,
     .words = {"r'z", ", of the other sign than before", "preconditioner"}, .diagonal = {1, -2}},
    {GSW_CG, 3, {1, 0, 0, 0, 2, 0, 0, 0, 1}, {1, 5, 0}, GSW_ERROR_BREAKDOWN, 1, .words = {"r'z is"},
     .diagonal = {1, -2, 1}},
    /* Many simulators assemble their pressure equation with a negative diagonal. */
    {GSW_CG, 3, {-2, 1, 0, 1, -2, 1, 0, 1, -2}, {0, 0, -4}, GSW_SUCCESS, SEVERAL,
     .known = 3, .x = {1, 2, 3}, .tolerance = 1e-13},
    {GSW_CG, 3, {-2, 1, 0, 1, -2, 1, 0, 1, -2}, {0, 0, -4}, GSW_SUCCESS, SEVERAL,
     .diagonal = {-2, -2, -2}, .known = 3, .x = {1, 2, 3}, .tolerance = 1e-13},
    /* t and s are orthogonal for every s where A is skew-symmetric, so no other start helps. */
    {GSW_BICGSTAB, 2, {0, 1, -1, 0}, {1, 1}, GSW_ERROR_BREAKDOWN, SEVERAL, .words = {"omega is 0"}},
    {GSW_BICGSTAB, 3, {0, 1, 0, -1, 0, 0, 0, 0, 1}, {1, 1, 0}, GSW_ERROR_BREAKDOWN, SEVERAL,
     .words = {"omega is 0"}},
    /* s is orthogonal to A s: x takes the first half of the step, then omega = 0 ends it. */
    {GSW_BICGSTAB, 3, {1, 0, 0, 0, 0, 1, 1, -1, 0}, {1, 0, 0}, GSW_ERROR_BREAKDOWN, SEVERAL,
     .words = {"omega is 0"}, .known = 1, .x = {1}},
    {GSW_BICGSTAB, 3, {1, 0, 0, 1, 0, 0, 0, 0, 0}, {1, 0, 0}, GSW_ERROR_BREAKDOWN, 0,
     .words = {"t't is 0"}},
    /* Squares underflow, or products with the first residual: nothing is known of the matrix. */
    {GSW_BICGSTAB, 2, {1e-200, 0, 0, -1e-200}, {1, 1}, GSW_ERROR_BREAKDOWN, SEVERAL,
     .words = {"t't is 0", "leave the range of fp64"}},
    {GSW_BICGSTAB, 2, {1e-200, 0, 0, 2e-200}, {1, 1}, GSW_ERROR_BREAKDOWN, SEVERAL,
     .words = {"t't is 0", "leave the range of fp64"}},
    /* The first half of a step reaches the solution. */
    {GSW_BICGSTAB, 2, {2, 0, 0, 2}, {2, 6}, GSW_SUCCESS, 1, .known = 2, .x = {1, 3}},
    /* On a cyclic shift GMRES makes no progress at all before step n. */
    {GSW_GMRES, 5, {[1] = 1, [7] = 1, [13] = 1, [19] = 1, [20] = 1}, {1}, GSW_SUCCESS, 5,
     .known = 2, .x = {0, 1}, .tolerance = 1e-14},
    {GSW_GMRES, 5, {[1] = 1, [7] = 1, [13] = 1, [19] = 1, [20] = 1}, {1}, GSW_ERROR_NOT_CONVERGED,
     20, .options = {.restart = 3, .max_iterations = 20}, .residual = 1},
    /* b is an eigenvector: the space is invariant after one step, and holds the solution. */
    {GSW_GMRES, 3, {4, 0, 0, 0, 2, 1, 0, 0, 3}, {8}, GSW_SUCCESS, 1, .known = 2, .x = {2, 0}},
    {GSW_GMRES, 2, {0, 1, 0, 0}, {1}, GSW_ERROR_BREAKDOWN, SEVERAL,
     .words = {"singular"}, .residual = 1},
    /* A shift that maps the last of three points to nothing: the space ends with product 3. */
    {GSW_GMRES, 3, {0, 1, 0, 0, 0, 1, 0, 0, 0}, {0, 0, 1}, GSW_ERROR_BREAKDOWN, SEVERAL,
     .words = {"projected matrix"}},
    /* NaN and infinity. The last right-hand side is finite, its product with the matrix is not. */
    {GSW_CG, 3, {2, 1, 0, 1, NAN, 1, 0, 1, 2}, {1, 2, 3}, GSW_ERROR_NON_FINITE, 0,
     .words = {"p'Ap is not"}},
    {GSW_BICGSTAB, 3, {2, 1, 0, 1, NAN, 1, 0, 1, 2}, {1, 2, 3}, GSW_ERROR_NON_FINITE, 0,
     .words = {"product of v"}},
    {GSW_CG, 3, {2, 1, 0, 1, 2, 1, 0, 1, 2}, {1, NAN, 3}, GSW_ERROR_NON_FINITE, 0,
     .words = {"of b"}},
    {GSW_BICGSTAB, 3, {2, 1, 0, 1, 2, 1, 0, 1, 2}, {1, INFINITY, 3}, GSW_ERROR_NON_FINITE, 0,
     .words = {"of b"}},
    {GSW_CG, 3, {1e300, 0, 0, 0, 1e300, 0, 0, 0, 1e300}, {1e10, 1e10, 0}, GSW_ERROR_NON_FINITE, 0,
     .words = {"p'Ap is infinite"}},
};
/* clang-format on */
#define SMALL_SYSTEMS ((int)(sizeof small_systems / sizeof small_systems[0]))

/* However far they are queued ahead. */
TEST(small_systems_end_as_they_must) {
    const small_system *c = &small_systems[_i];
    model s = model_of(keep_dense(c->n, c->dense));
    gsw_krylov_options options = c->options;
    options.size = sizeof options;
    options.max_iterations = options.max_iterations > 0 ? options.max_iterations : 100;
    memcpy(s.b, c->b, (size_t)s.n * sizeof *s.b);
    if (c->diagonal[0] != 0) {
        double dense[9] = {0};
        for (int i = 0; i < c->n; i++)
            dense[i * c->n + i] = c->diagonal[i];
        s.factor = keep_factor(context, keep_there(context, keep_dense(c->n, dense)),
                               (gsw_factor_options){.kind = GSW_JACOBI});
    }
    const ending e =
        check_starts(c->iterations == SEVERAL ? STARTS_MAX : 1, &s, c->method, &options);
    ck_assert_msg(e.status == c->status, "%s: %s", gsw_status_name(e.status), e.message);
    for (int k = 0; k < 3 && c->words[k] != NULL; k++)
        ck_assert_msg(strstr(e.message, c->words[k]) != NULL, "%s", e.message);
    if (c->iterations != SEVERAL)
        ck_assert_int_eq(e.result.iterations, c->iterations);
    if (c->residual != 0)
        ck_assert_double_eq_tol(e.result.residual, c->residual, 1e-14);
    for (int i = 0; i < c->known; i++)
        ck_assert_double_le(fabs(s.x[i] - c->x[i]), c->tolerance);
}

/* ---- stopping ---- */

TEST(zero_right_hand_side) {
    model s = make_system("poisson:9x8x7");
    memset(s.b, 0, (size_t)s.n * sizeof *s.b);
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        gsw_krylov_result result = {.size = sizeof result};
        s.x[0] = NAN;
        s.x[1] = 3;
        must(context, solve(&s, (gsw_method)method, NULL, &result));
        for (int64_t i = 0; i < s.n; i++)
            ck_assert(s.x[i] == 0);
        ck_assert_int_eq(result.iterations, 0);
        ck_assert_double_eq(result.residual, 0);
    }
}

TEST(good_initial_guess_needs_no_iteration) {
    model s = make_system("convection:6x5x4");
    factorise(&s, (gsw_factor_options){0});
    gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-12};
    gsw_krylov_result result = {.size = sizeof result};
    must(context, solve(&s, GSW_GMRES, &options, &result));
    options.rtol = 1e-10;
    for (int method = GSW_CG; method <= GSW_GMRES; method++)
        for (int norm = GSW_NORM_TRUE; norm <= GSW_NORM_PRECONDITIONED; norm++) {
            options.norm = (gsw_norm)norm;
            must(context, solve(&s, (gsw_method)method, &options, &result));
            ck_assert_int_eq(result.iterations, 0);
        }
}

TEST(atol_alone_is_absolute) {
    model s = make_system("poisson:8x7x6");
    gsw_krylov_options options = {.size = sizeof options, .atol = 1e-3 * vector_norm(s.n, s.b)};
    gsw_krylov_result loose = {.size = sizeof loose}, tight = {.size = sizeof tight};
    must(context, solve(&s, GSW_CG, &options, &loose));
    ck_assert_double_le(loose.residual, 1e-3);
    set_guess(&s, 0);
    options.rtol = 1e-9; /* the larger of the two counts */
    must(context, solve(&s, GSW_CG, &options, &tight));
    ck_assert_int_eq(tight.iterations, loose.iterations);
}

/* ||b - A x|| / ||b||, computed without the solver. */
static double true_residual(const model *s) {
    double *r = keep_zeros(s->n);
    must(cpu, gsw_residual(cpu, s->host, GSW_F64, s->b, s->x, r));
    return vector_norm(s->n, r) / vector_norm(s->n, s->b);
}

TEST(iteration_limit) {
    model s = make_system("poisson:20x19x18");
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        const gsw_krylov_options options = {
            .size = sizeof options, .max_iterations = 7, .restart = 3};
        gsw_krylov_result result = {.size = sizeof result};
        set_guess(&s, 0);
        expect_refusal(solve(&s, (gsw_method)method, &options, &result), GSW_ERROR_NOT_CONVERGED,
                       "7 iterations");
        ck_assert_int_eq(result.iterations, 7);
        ck_assert_double_lt(result.residual, 0.5);
        ck_assert_double_eq_tol(result.residual, true_residual(&s), 1e-12);
        ck_assert_double_eq_tol(result.residual, result.recurrence, 1e-10);
    }
}

TEST(monitor_sees_every_iteration_once) {
    model s = make_system("poisson:12x11x10");
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        history seen = {.stop_at = -1};
        const gsw_krylov_options options = {
            .size = sizeof options, .restart = 4, .monitor = watch, .monitor_user = &seen};
        gsw_krylov_result result = {.size = sizeof result};
        set_guess(&s, 0);
        must(context, solve(&s, (gsw_method)method, &options, &result));
        ck_assert_int_eq(seen.calls, result.iterations + 1);
        ck_assert_double_eq_tol(seen.residual[0], 1.0, 1e-14);
        ck_assert_double_eq(seen.residual[result.iterations], result.recurrence);
        for (int64_t k = 1; k < seen.calls && method == GSW_GMRES; k++)
            ck_assert_double_le(seen.residual[k], seen.residual[k - 1] * (1 + 1e-12));
    }
}

TEST(monitor_stops_with_that_iterate) {
    model s = make_system("convection:12x11x10");
    factorise(&s, (gsw_factor_options){0});
    for (int method = GSW_BICGSTAB; method <= GSW_GMRES; method++) {
        history seen = {.stop_at = 3};
        const gsw_krylov_options options = {.size = sizeof options,
                                            .rtol = 1e-14,
                                            .eisenstat = GSW_EISENSTAT_NEVER,
                                            .monitor = watch,
                                            .monitor_user = &seen};
        gsw_krylov_result result = {.size = sizeof result};
        set_guess(&s, 0);
        ck_assert_int_eq(solve(&s, (gsw_method)method, &options, &result), GSW_ERROR_STOPPED);
        ck_assert_int_eq(result.iterations, 3);
        ck_assert_double_eq_tol(true_residual(&s), seen.residual[3], 1e-10);
    }
}

/* With a monitor nothing is queued ahead. The monitor sees each iteration, in order, before the
 * next one begins, and a stop keeps the x of that iteration. */
TEST(monitors_are_not_queued_ahead_of) {
    model s = make_system("poisson:12x11x10");
    double *const first = keep_zeros(s.n);
    for (int method = GSW_CG; method <= GSW_BICGSTAB; method++)
        for (int stop_at = -1; stop_at <= 4; stop_at++) {
            history seen[2] = {{.stop_at = stop_at}, {.stop_at = stop_at}};
            for (int k = 0; k < 2; k++) {
                const gsw_krylov_options options = {
                    .size = sizeof options, .monitor = watch, .monitor_user = &seen[k]};
                const ending e = solve_ahead(&s, 5 * k, (gsw_method)method, &options);
                ck_assert_int_eq(e.status, stop_at < 0 ? GSW_SUCCESS : GSW_ERROR_STOPPED);
                ck_assert_int_eq(e.posts, e.result.iterations + 1);
                ck_assert_int_eq(seen[k].calls, e.result.iterations + 1);
                ck_assert(seen[k].residual[e.result.iterations] == e.result.recurrence);
                if (stop_at >= 0)
                    ck_assert_int_eq(e.result.iterations, stop_at);
                if (k == 0)
                    memcpy(first, s.x, (size_t)s.n * sizeof *first);
            }
            ck_assert_mem_eq(seen[0].residual, seen[1].residual,
                             (size_t)seen[0].calls * sizeof(double));
            ck_assert_mem_eq(first, s.x, (size_t)s.n * sizeof *first);
        }
}

/* Below the attainable accuracy the recurrence keeps falling, but the true residual does not
 * follow. */
TEST(drift_from_the_truth_is_reported) {
    model s = make_system("lognormal:16x15x14");
    factorise(&s, (gsw_factor_options){.kind = GSW_IC0});
    for (int norm = GSW_NORM_TRUE; norm <= GSW_NORM_PRECONDITIONED; norm++) {
        const gsw_krylov_options options = {.size = sizeof options,
                                            .rtol = 1e-25,
                                            .norm = (gsw_norm)norm,
                                            .eisenstat = GSW_EISENSTAT_NEVER};
        gsw_krylov_result result = {.size = sizeof result};
        set_guess(&s, 0);
        expect_refusal(solve(&s, GSW_CG, &options, &result), GSW_ERROR_NOT_CONVERGED, "stagnated");
        assert_message("recurrence");
        ck_assert_double_le(result.recurrence, 1e-25);
        ck_assert_double_gt(result.residual, 1e-20);
        ck_assert_int_eq(result.stagnated, 1);
    }
}

TEST(gmres_restart_costs_iterations) {
    model s = make_system("poisson:16x15x14");
    gsw_krylov_result full = {.size = sizeof full}, restarted = {.size = sizeof restarted};
    gsw_krylov_options options = {.size = sizeof options, .restart = 200};
    must(context, solve(&s, GSW_GMRES, &options, &full));
    set_guess(&s, 0);
    options.restart = 5;
    must(context, solve(&s, GSW_GMRES, &options, &restarted));
    ck_assert_int_gt(restarted.iterations, full.iterations);
}

/* ---- NaN, infinity, underflow ---- */

/* In b, in the guess, in the matrix. After such a fault the context can solve the next system. */
TEST(non_finite_data_is_reported) {
    static const double bad[] = {NAN, INFINITY};
    model s = make_system("poisson:9x8x7");
    for (int method = GSW_CG; method <= GSW_GMRES; method++)
        for (int k = 0; k < 2; k++)
            for (int norm = 0; norm < 2; norm++) {
                const gsw_krylov_options options = {.size = sizeof options, .norm = (gsw_norm)norm};
                const double kept = s.b[100], dense[] = {2, 1, 0, 1, bad[k], 1, 0, 1, 2};
                model m = model_of(keep_dense(3, dense));
                set_guess(&s, 0);
                s.b[100] = bad[k];
                ck_assert_int_eq(solve(&s, (gsw_method)method, &options, NULL),
                                 GSW_ERROR_NON_FINITE);
                ck_assert_double_eq(vector_norm(s.n, s.x), 0);
                s.b[100] = kept;
                s.x[4] = bad[k];
                ck_assert_int_eq(solve(&s, (gsw_method)method, &options, NULL),
                                 GSW_ERROR_NON_FINITE);
                ck_assert_int_eq(solve(&m, (gsw_method)method, &options, NULL),
                                 GSW_ERROR_NON_FINITE);
                ck_assert(isfinite(m.x[0]) && isfinite(m.x[1]) && isfinite(m.x[2]));
                set_guess(&s, 0);
                must(context, solve(&s, (gsw_method)method, &options, NULL));
            }
}

/* Squares underflow, of b or of the residual that rtol asks for. */
TEST(small_norms_are_refused) {
    static const double scales[] = {1e-200, 1e-160, 1e-150};
    for (int k = 0; k < 3; k++)
        for (int norm = GSW_NORM_TRUE; norm <= GSW_NORM_PRECONDITIONED; norm++) {
            const gsw_krylov_options options = {.size = sizeof options, .norm = (gsw_norm)norm};
            model s = make_system("poisson:5x4x3");
            for (int64_t i = 0; i < s.n; i++)
                s.b[i] *= scales[k];
            expect_refusal(solve(&s, GSW_CG, &options, NULL), GSW_ERROR_BREAKDOWN, "underflow");
        }
}

/* ---- arguments ---- */

#define OPTIONS(...) (&(gsw_krylov_options){.size = sizeof(gsw_krylov_options), __VA_ARGS__})

TEST(bad_arguments_are_refused) {
    model s = make_system("poisson:5x4x3"), other = make_system("poisson:5x4x4");
    const size_t bytes = (size_t)s.n * sizeof(double);
    const gsw_matrix *m = s.there;
    double *b = keep_upload(context, s.b, bytes), *x = keep_upload(context, s.x, bytes);
    double *zero = keep_upload(context, s.x, bytes);
    factorise(&other, (gsw_factor_options){0});
    must_reject(solve_cg(NULL, m, NULL, OPTIONS(0), b, x, NULL));
    expect_rejection(solve_cg(context, NULL, NULL, NULL, b, x, NULL), "matrix");
    expect_rejection(solve_cg(context, m, NULL, NULL, NULL, x, NULL), "b is NULL");
    expect_rejection(solve_cg(context, m, NULL, NULL, b, NULL, NULL), "x is NULL");
    expect_rejection(solve_cg(context, m, NULL, NULL, b, b, NULL), "overlap");
    expect_rejection(solve_cg(context, m, NULL, NULL, b, b + 1, NULL), "overlap");
    expect_rejection(solve_cg(context, m, other.factor, NULL, b, x, NULL),
                     "preconditioner: it has");
    expect_rejection(solve_krylov(context, (gsw_method)7, m, NULL, NULL, b, x, NULL), "method");
    expect_rejection(solve_gmres(context, m, NULL, OPTIONS(.restart = -1), b, x, NULL), "restart");
    const struct {
        gsw_krylov_options options;
        const char *words;
    } wrong[] = {
        {{.rtol = -1}, "rtol"},
        {{.rtol = NAN}, "rtol"},
        {{.atol = -1e-9}, "atol"},
        {{.max_iterations = -1}, "max_iterations"},
        {{.norm = (gsw_norm)2}, "norm"},
        {{.nullspace = (gsw_nullspace)3}, "nullspace 3 is unknown"},
        {{.nullspace = GSW_NULLSPACE_VECTOR}, "null_vector is NULL"},
        {{.nullspace = GSW_NULLSPACE_VECTOR, .null_vector = x + 1}, "x and null_vector overlap"},
        {{.null_vector = b}, "nullspace is not VECTOR"},
        {{.nullspace = GSW_NULLSPACE_VECTOR, .null_vector = zero}, "null_vector has the length"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        gsw_krylov_options o = wrong[k].options;
        o.size = sizeof o;
        expect_rejection(solve_cg(context, m, NULL, &o, b, x, NULL), wrong[k].words);
    }
    const double tiny = 1e-300;
    must(context, gsw_memory_upload(context, zero, &tiny, sizeof tiny));
    expect_rejection(solve_cg(context, m, NULL,
                              OPTIONS(.nullspace = GSW_NULLSPACE_VECTOR, .null_vector = zero), b, x,
                              NULL),
                     "must not underflow");
    download(context, s.x, x, bytes);
    for (int64_t i = 0; i < s.n; i++)
        ck_assert(s.x[i] == 0);
}

TEST(single_precision_vectors_are_unsupported) {
    model s = make_system("poisson:5x4x3");
    gsw_factor *factor = keep_factor(
        context, s.there, (gsw_factor_options){.factor_type = GSW_F32, .vector_type = GSW_F32});
    gsw_preconditioner *preconditioner = (gsw_preconditioner *)&s;
    ck_assert_int_eq(gsw_preconditioner_from_factor(context, factor, &preconditioner),
                     GSW_ERROR_UNSUPPORTED);
    ck_assert_ptr_null(preconditioner);
}

TEST(names_of_the_methods) {
    ck_assert_str_eq(gsw_method_name(GSW_CG), "cg");
    ck_assert_str_eq(gsw_method_name(GSW_BICGSTAB), "bicgstab");
    ck_assert_str_eq(gsw_method_name(GSW_GMRES), "gmres");
}

/* ---- the same bits ---- */

TEST(bits_do_not_depend_on_threads) {
    gsw_context *const usual = context, *const usual_cpu = cpu;
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        const char *text = method == GSW_CG ? "poisson:37x31x29" : "convection:37x31x29";
        const double *first = NULL;
        gsw_krylov_result expected = {.size = sizeof expected};
        for (int threads = 1; threads <= 5; threads++) {
            gsw_krylov_result result = {.size = sizeof result};
            context = cpu = keep_context(threads);
            model s = make_system(text);
            factorise(&s, (gsw_factor_options){0});
            must(context, solve(&s, (gsw_method)method, NULL, &result));
            if (threads == 1) {
                first = s.x;
                expected = result;
            }
            ck_assert_mem_eq(first, s.x, (size_t)s.n * sizeof *first);
            ck_assert_int_eq(result.iterations, expected.iterations);
            ck_assert(result.residual == expected.residual);
        }
    }
    context = usual;
    cpu = usual_cpu;
}

/* The same bits on every run. */
TEST(runs_repeat) {
    model s = make_system("convection:40x30x20");
    for (int method = GSW_BICGSTAB; method <= GSW_GMRES; method++) {
        const gsw_krylov_options options = {
            .size = sizeof options, .max_iterations = 20, .rtol = 1e-30};
        const double *first = NULL;
        for (int run = 0; run < 5; run++) {
            gsw_krylov_result result = {.size = sizeof result};
            set_guess(&s, 0);
            ck_assert_int_eq(solve(&s, (gsw_method)method, &options, &result),
                             GSW_ERROR_NOT_CONVERGED);
            ck_assert_int_eq(result.iterations, 20);
            if (first == NULL)
                first = keep_copy(s.x, s.n);
            ck_assert_mem_eq(first, s.x, (size_t)s.n * sizeof *first);
        }
    }
}

/* However far the host queues a method ahead, the bits are the same, whether it ends within the
 * queue by convergence or at the limit. */
TEST(queues_end_with_the_same_bits) {
    model s = make_system(problems[_i].text);
    for (int k = 0; k < 8; k++) {
        const gsw_krylov_options options = {.size = sizeof options,
                                            .norm = (gsw_norm)(k % 2),
                                            .eisenstat = GSW_EISENSTAT_NEVER,
                                            .max_iterations = k & 2 ? 4 : 300};
        if (k == 4)
            factorise(&s, (gsw_factor_options){.kind = GSW_ILU0});
        for (int method = problems[_i].symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_BICGSTAB;
             method++)
            (void)check_starts(1, &s, (gsw_method)method, &options);
    }
}

/* ---- callbacks ---- */

/* The objects that the callbacks use, and the number of the call that fails, or 0. */
typedef struct calls {
    const model *s;
    int made, fail_at;
} calls;

static gsw_status multiply(void *user, gsw_context *where, const double *x, double *y) {
    calls *c = user;
    if (++c->made == c->fail_at)
        return gsw_context_fail(where, GSW_ERROR_IO, "lost");
    return gsw_spmv(where, c->s->there, GSW_F64, x, y);
}

static gsw_status precondition(void *user, gsw_context *where, const double *b, double *x) {
    calls *c = user;
    if (b == x)
        return GSW_ERROR_INVALID_ARGUMENT;
    if (++c->made == c->fail_at)
        return gsw_context_fail(where, GSW_ERROR_IO, "lost");
    return gsw_factor_solve(where, c->s->factor, 1, b, c->s->n, x, c->s->n);
}

/* Callbacks that only queue their work give the same result as matrix and factor. One that fails
 * ends the solve, and the context remains usable. */
TEST(callbacks_solve_in_the_order_of_the_stream) {
    model s = make_system("poisson:12x11x10");
    const size_t bytes = (size_t)s.n * sizeof(double);
    calls a = {.s = &s}, m = {.s = &s};
    factorise(&s, (gsw_factor_options){.kind = GSW_IC0});
    gsw_operator *op = keep_product(context, s.n, multiply, &a);
    gsw_preconditioner *M = keep_callback_M(context, s.n, precondition, &m);
    double *b = keep_upload(context, s.b, bytes), *x = keep_room(context, bytes);
    double *found = keep_zeros(s.n);
    for (int k = 0; k < 6; k++) {
        const gsw_method method = (gsw_method)(k / 2);
        const gsw_krylov_options options = {.size = sizeof options,
                                            .rtol = 1e-9,
                                            .norm = (gsw_norm)(k % 2),
                                            .eisenstat = GSW_EISENSTAT_NEVER};
        gsw_krylov_result one = {.size = sizeof one}, other = {.size = sizeof other};
        set_guess(&s, 0);
        must(context, solve(&s, method, &options, &one));
        for (int fails = 0; fails < 3; fails++) { /* none; the product; the preconditioner */
            a.made = m.made = 0;
            a.fail_at = fails == 1 ? 3 : 0;
            m.fail_at = fails == 2 ? 3 : 0;
            must(context, gsw_memory_set(context, x, 0, bytes));
            const gsw_status status = gsw_krylov(context, method, op, M, &options, b, x, &other);
            ck_assert_int_eq(status, fails ? GSW_ERROR_IO : GSW_SUCCESS);
            if (fails) {
                ck_assert_str_eq(gsw_context_message(context),
                                 fails == 2 ? "preconditioner: the callback failed: lost"
                                            : "operator: the callback failed: lost");
                must(context, gsw_context_synchronize(context));
                continue;
            }
            download(context, found, x, bytes);
            ck_assert_int_eq(other.iterations, one.iterations);
            ck_assert_double_le(oracle_error(GSW_F64, s.n, found, s.x), 1e-12);
        }
    }
}

/* ---- on a device alone ---- */

/* From a guess that is not zero. */
TEST(smoothed_values_are_those_of_the_cpu) {
    model s = make_system(problems[_i].text);
    const size_t bytes = (size_t)s.n * sizeof(double);
    double *b = keep_upload(context, s.b, bytes), *x = keep_room(context, bytes);
    double *work = keep_room(context, bytes), *r = keep_zeros(s.n), *found = keep_zeros(s.n);
    for (int k = 0; k < PRECONDITIONERS - !problems[_i].symmetric; k++) {
        /* Coefficients are rounded to fp32 from sums in different orders. */
        const double tolerance = preconditioners[k].factor_type == GSW_F32 ? 1e-6 : 1e-12;
        factorise(&s, preconditioners[k]);
        memcpy(s.x, s.b, bytes);
        must(context, gsw_memory_upload(context, x, s.b, bytes));
        must(cpu, gsw_smooth(cpu, s.host, s.host_factor, 3, 0, s.b, s.x, r));
        must(context, gsw_smooth(context, s.there, s.factor, 3, 0, b, x, work));
        download(context, found, x, bytes);
        ck_assert_msg(oracle_error(GSW_F64, s.n, found, s.x) <= tolerance, "%s, %s",
                      problems[_i].text, gsw_factor_kind_name(preconditioners[k].kind));
    }
}

/* Host arrays are refused, or accepted where the device can page host memory in. They never break
 * the device. */
TEST(host_arrays_are_seen) {
    model s = make_system("poisson:8x7x6");
    const size_t bytes = (size_t)s.n * sizeof(double);
    double *b = keep_upload(context, s.b, bytes), *x = keep_upload(context, s.x, bytes);
    gsw_operator *op = keep_operator(context, s.there), *on_host = NULL;
    gsw_factor *factor = NULL;
    const gsw_status status = gsw_operator_from_matrix(context, s.host, &on_host);
    if (status == GSW_SUCCESS) { /* such a device */
        gsw_operator_destroy(on_host);
    } else {
        expect_rejection(status, "array: values is in host");
        ck_assert_ptr_null(on_host);
        must_reject(gsw_factor_create(context, s.host, NULL, &factor));
        expect_rejection(gsw_cg(context, op, NULL, NULL, s.b, x, NULL), "b is in host memory");
        expect_rejection(gsw_cg(context, op, NULL, NULL, b, s.x, NULL), "x is in host memory");
    }
    must(context, gsw_cg(context, op, NULL, NULL, b, x, NULL));
}

static void add_tests(TCase *tc) {
    TESTS(tc, solution_is_found_and_preconditioning_helps, zero_right_hand_side,
          good_initial_guess_needs_no_iteration, atol_alone_is_absolute, iteration_limit,
          monitor_sees_every_iteration_once, monitor_stops_with_that_iterate,
          drift_from_the_truth_is_reported, gmres_restart_costs_iterations,
          non_finite_data_is_reported, small_norms_are_refused, bad_arguments_are_refused,
          single_precision_vectors_are_unsupported, names_of_the_methods, runs_repeat,
          callbacks_solve_in_the_order_of_the_stream);
    LOOPS(tc, PROBLEMS, every_method_with_every_preconditioner);
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("krylov");
    TCase *tc = context_case(suite, "krylov", 120);
    add_tests(tc);
    TESTS(tc, monitors_are_not_queued_ahead_of);
    LOOPS(tc, SMALL_SYSTEMS, small_systems_end_as_they_must);
    LOOPS(tc, PROBLEMS, queues_end_with_the_same_bits);
    if (on_cuda()) {
        TESTS(tc, host_arrays_are_seen);
        LOOPS(tc, PROBLEMS, smoothed_values_are_those_of_the_cpu);
    } else if (on_cpu()) {
        TCase *queued = suite_case(suite, "queued", 120, krylov_queue_open, krylov_queue_close);
        TESTS(tc, bits_do_not_depend_on_threads);
        add_tests(queued);
    }
    return backend_run_suite(suite);
}
