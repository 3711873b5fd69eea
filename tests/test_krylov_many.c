/* test_krylov_many.c: several systems in one call. */
#include <check.h>
#include <gridsweep/gridsweep.h>

#include "krylov_many_cases.h"

#include "context_fixture.h"

START_TEST(systems_end_as_they_do_alone) {
    many_check_problem(context, context, _i);
}
END_TEST

START_TEST(others_are_solved_one_by_one) {
    many_check_one_by_one(context, context);
}
END_TEST

START_TEST(chosen_preconditioners) {
    many_check_choices(context, context);
}
END_TEST

START_TEST(a_breakdown_leaves_the_others) {
    many_check_breakdowns(context, context);
}
END_TEST

START_TEST(systems_begin_again_at_different_times) {
    many_replacements = 0;
    many_check_replacements(context, context);
    ck_assert_int_gt(many_replacements, 4);
}
END_TEST

START_TEST(null_vectors) {
    many_check_nullspace(context, context);
}
END_TEST

START_TEST(products_of_several_vectors) {
    many_check_products(context);
}
END_TEST

/* ---- what is swept ---- */

/* A backend that counts right-hand sides of sweeps and of products. */
static gsw_backend_ops counting;
static const gsw_backend_ops *counted;
static int64_t swept, sweeps, multiplied, products;

static gsw_status count_sweep(gsw_context *where, gsw_factor *factor, int which, int64_t count,
                              const void *b, int64_t ldb, void *x, int64_t ldx) {
    swept += count;
    sweeps++;
    return counted->factor_sweep(where, factor, which, count, b, ldb, x, ldx);
}

static gsw_status count_product(gsw_context *where, const gsw_matrix *matrix, gsw_pass pass,
                                int count, double *x, double *y, int64_t stride,
                                gsw_krylov_state *const *states) {
    multiplied += count;
    products++;
    return counted->multiply_pass(where, matrix, pass, count, x, y, stride, states);
}

/* One sweep serves all systems that still iterate, and no other. Ends are in this order: 1 at once,
 * and the others when they have converged. */
START_TEST(ended_systems_are_not_swept) {
    gsw_problem *problem = NULL;
    gsw_factor *factor = NULL;
    gsw_preconditioner *M = NULL;
    gsw_operator *op = NULL;
    const gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-6};
    const gsw_factor_options ic0 = {.size = sizeof ic0, .kind = GSW_IC0};
    gsw_krylov_result results[8];
    int64_t all = 0, most = 0;
    ck_assert_int_eq(gsw_problem_parse(context, "anisotropic:12x11x10", NULL, &problem),
                     GSW_SUCCESS);
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    many_systems m = many_mixture(context, matrix, 8);
    for (int i = 0; i < 8; i++)
        results[i].size = sizeof results[i];
    ck_assert_int_eq(gsw_factor_create(context, matrix, &ic0, &factor), GSW_SUCCESS);
    ck_assert_int_eq(gsw_preconditioner_from_factor(context, factor, &M), GSW_SUCCESS);
    ck_assert_int_eq(gsw_operator_from_matrix(context, matrix, &op), GSW_SUCCESS);
    counted = context->ops;
    counting = *counted;
    counting.factor_sweep = count_sweep;
    counting.multiply_pass = count_product;
    context->ops = &counting;
    ck_assert_int_eq(
        gsw_krylov_many(context, GSW_CG, op, M, &options, 8, m.b, m.ldb, m.x, m.ldx, results),
        GSW_ERROR_NON_FINITE);
    context->ops = counted;
    for (int i = 0; i < 8; i++) {
        ck_assert(i == 4 || i == 5 || results[i].converged);
        all += results[i].iterations;
        most = results[i].iterations > most ? results[i].iterations : most;
    }
    ck_assert_int_lt(all, 6 * most); /* they end at different times */
    ck_assert_int_eq(multiplied, all);
    ck_assert_int_eq(products, most);
    ck_assert_int_eq(swept, 2 * all);
    ck_assert_int_eq(sweeps, 2 * most);
    gsw_operator_destroy(op);
    gsw_preconditioner_destroy(M);
    gsw_factor_destroy(factor);
    many_free(&m);
    gsw_problem_destroy(problem);
}
END_TEST

/* ---- monitors and errors ---- */

typedef struct sightings {
    int64_t next[9]; /* iteration of each system */
    double last[9];
} sightings;

/* System 7 stops in iteration 3. */
static int watch_all(void *user, int64_t number, int64_t iteration, double residual) {
    sightings *w = user;
    ck_assert(number >= 0 && number < 9);
    ck_assert_int_eq(iteration, w->next[number]);
    w->next[number]++;
    w->last[number] = residual;
    return number == 7 && iteration == 3;
}

START_TEST(monitors_know_the_system) {
    gsw_problem *problem = NULL;
    gsw_operator *op = NULL;
    sightings w = {{0}, {0}};
    const gsw_krylov_options options = {
        .size = sizeof options, .monitor_many = watch_all, .monitor_user = &w};
    gsw_krylov_result results[9], alone = {.size = sizeof alone};
    ck_assert_int_eq(gsw_problem_parse(context, "convection:12x11x10", NULL, &problem),
                     GSW_SUCCESS);
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    many_systems m = many_mixture(context, matrix, 9);
    for (int i = 0; i < 9; i++)
        results[i].size = sizeof results[i];
    ck_assert_int_eq(gsw_operator_from_matrix(context, matrix, &op), GSW_SUCCESS);
    krylov_queue_set(context, _i);
    ck_assert_int_eq(gsw_krylov_many(context, GSW_BICGSTAB, op, NULL, &options, 9, m.b, m.ldb, m.x,
                                     m.ldx, results),
                     GSW_ERROR_NON_FINITE);
    krylov_queue_reset(context);
    for (int i = 0; i < 9; i++) {
        const int at_once = i == 1 || i == 4 || i == 5;
        ck_assert_int_eq(results[i].status, i == 7   ? GSW_ERROR_STOPPED
                                            : i == 4 ? GSW_ERROR_NON_FINITE
                                            : i == 5 ? GSW_ERROR_BREAKDOWN
                                                     : GSW_SUCCESS);
        ck_assert_int_eq(w.next[i], at_once ? 0 : results[i].iterations + 1);
        ck_assert(at_once || w.last[i] == results[i].recurrence);
    }
    ck_assert_int_eq(results[7].iterations, 3);
    /* A call for one system has the number 0. */
    w.next[0] = 0;
    memset(m.x, 0, (size_t)m.n * sizeof *m.x);
    ck_assert_int_eq(gsw_bicgstab(context, op, NULL, &options, m.b, m.x, &alone), GSW_SUCCESS);
    ck_assert_int_eq(w.next[0], alone.iterations + 1);
    gsw_operator_destroy(op);
    many_free(&m);
    gsw_problem_destroy(problem);
}
END_TEST

/* A product by callback, which fails after a number of calls. */
typedef struct failing {
    const gsw_matrix *matrix;
    int64_t left;
} failing;

static gsw_status multiply_or_fail(void *user, gsw_context *where, const double *x, double *y) {
    failing *f = user;
    if (f->left-- == 0)
        return gsw_context_fail(where, GSW_ERROR_NOT_CONVERGED, "no more");
    return gsw_spmv(where, f->matrix, GSW_F64, x, y);
}

/* The error of a callback ends the call. Systems that have converged before keep their results,
 * also where systems wait for a place. */
START_TEST(errors_of_callbacks_end_the_call) {
    gsw_problem *problem = NULL;
    gsw_factor *factor = NULL;
    gsw_preconditioner *M = NULL;
    gsw_operator *op = NULL;
    const gsw_krylov_options options = {.size = sizeof options};
    ck_assert_int_eq(gsw_problem_parse(context, "convection:12x11x10", NULL, &problem),
                     GSW_SUCCESS);
    failing f = {.matrix = gsw_problem_matrix(problem)};
    ck_assert_int_eq(gsw_factor_create(context, f.matrix, NULL, &factor), GSW_SUCCESS);
    ck_assert_int_eq(gsw_preconditioner_from_factor(context, factor, &M), GSW_SUCCESS);
    ck_assert_int_eq(gsw_operator_from_callback(context, oracle_points(&f.matrix->grid),
                                                multiply_or_fail, &f, &op),
                     GSW_SUCCESS);
    many_systems m = many_mixture(context, f.matrix, 10);
    int ended_before = 0;
    for (int after = 0; after < 400; after += 7) {
        gsw_krylov_result results[10];
        double *x = oracle_copy(GSW_F64, m.x, m.ldx * 10);
        for (int i = 0; i < 10; i++)
            results[i].size = sizeof results[i];
        f.left = after;
        const gsw_status status = gsw_krylov_many(context, GSW_BICGSTAB, op, M, &options, 10, m.b,
                                                  m.ldb, x, m.ldx, results);
        const int failed = f.left < 0;
        ck_assert_int_eq(status, failed ? GSW_ERROR_NOT_CONVERGED : GSW_ERROR_NON_FINITE);
        ck_assert(!failed || strcmp(gsw_context_message(context),
                                    "operator: the callback failed: no more") == 0);
        for (int i = 0; i < 10; i++) {
            const int unfinished = results[i].status == GSW_ERROR_NOT_CONVERGED;
            ck_assert_int_eq(results[i].converged, results[i].status == GSW_SUCCESS);
            ck_assert(failed || !unfinished);
            ck_assert_int_eq(isnan(results[i].residual),
                             unfinished || results[i].status != GSW_SUCCESS);
            ended_before += failed && results[i].converged && results[i].iterations > 1;
            for (int64_t k = 0; k < m.n; k++)
                ck_assert(isfinite(x[i * m.ldx + k]));
        }
        free(x);
    }
    ck_assert_int_gt(ended_before, 0);
    ck_assert_int_ge(f.left, 0); /* the last call did not fail */
    many_free(&m);
    gsw_operator_destroy(op);
    gsw_preconditioner_destroy(M);
    gsw_factor_destroy(factor);
    gsw_problem_destroy(problem);
}
END_TEST

/* ---- arguments ---- */

static int ignore(void *user, int64_t iteration, double residual) {
    (void)user;
    (void)iteration;
    (void)residual;
    return 0;
}

#define REFUSED(words, options, count, b, ldb, x, ldx, results)                                    \
    do {                                                                                           \
        ck_assert_int_eq(                                                                          \
            gsw_krylov_many(context, GSW_CG, op, NULL, options, count, b, ldb, x, ldx, results),   \
            GSW_ERROR_INVALID_ARGUMENT);                                                           \
        ck_assert_ptr_nonnull(strstr(gsw_context_message(context), words));                        \
    } while (0)

START_TEST(bad_arguments_are_refused) {
    gsw_problem *problem = NULL;
    gsw_operator *op = NULL;
    sightings w = {{0}, {0}};
    ck_assert_int_eq(gsw_problem_parse(context, "poisson:5x4x3", NULL, &problem), GSW_SUCCESS);
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    ck_assert_int_eq(gsw_operator_from_matrix(context, matrix, &op), GSW_SUCCESS);
    many_systems m = many_mixture(context, matrix, 3);
    gsw_krylov_options options = {.size = sizeof options};
    gsw_krylov_result results[3] = {{.size = sizeof *results}, {.size = sizeof *results}};
    double *b = m.b, *x = m.x;

    REFUSED("count -1 is negative", &options, -1, b, m.ldb, x, m.ldx, NULL);
    REFUSED("ldb", &options, 3, b, m.n - 1, x, m.ldx, NULL);
    REFUSED("ldx", &options, 3, b, m.ldb, x, m.n - 1, NULL);
    REFUSED("b is NULL", &options, 3, NULL, m.ldb, x, m.ldx, NULL);
    REFUSED("overlap", &options, 3, b, m.ldb, b + 2 * m.ldb, m.ldx, NULL);
    REFUSED("gsw_krylov_result: size is 0", &options, 3, b, m.ldb, x, m.ldx, results);
    results[2].size = sizeof *results - 8;
    REFUSED("results: size of result 2", &options, 3, b, m.ldb, x, m.ldx, results);
    results[2].size = sizeof *results;
    options.monitor = ignore;
    REFUSED("monitor is given; several systems need monitor_many", &options, 3, b, m.ldb, x, m.ldx,
            results);
    options.monitor_many = watch_all;
    options.monitor_user = &w;
    REFUSED("monitor and monitor_many are both given", &options, 3, b, m.ldb, x, m.ldx, results);
    options.monitor = NULL;
    options.monitor_many = NULL;
    options.nullspace = GSW_NULLSPACE_VECTOR;
    options.null_vector = x + 2 * m.ldx;
    REFUSED("x and null_vector overlap", &options, 3, b, m.ldb, x, m.ldx, results);
    options = (gsw_krylov_options){.size = sizeof options, .nullspace = GSW_NULLSPACE_CONSTANT};
    REFUSED("the constant vector is not in the null space", &options, 3, b, m.ldb, x, m.ldx,
            results);
    ck_assert_int_eq(results[2].status, GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(
        gsw_krylov_many(context, (gsw_method)9, op, NULL, NULL, 3, b, m.ldb, x, m.ldx, NULL),
        GSW_ERROR_INVALID_ARGUMENT);
    /* No system: nothing to do. */
    ck_assert_int_eq(gsw_krylov_many(context, GSW_CG, op, NULL, NULL, 0, NULL, 0, NULL, 0, NULL),
                     GSW_SUCCESS);
    many_free(&m);
    gsw_operator_destroy(op);
    gsw_problem_destroy(problem);
}
END_TEST

/* An older program's results are shorter, and so is the distance between them. */
START_TEST(older_results_are_an_array) {
    struct {
        size_t size;
        int64_t iterations;
    } results[4] = {{.size = 16}, {.size = 16}, {.size = 16}, {.size = 77, .iterations = 78}};
    gsw_problem *problem = NULL;
    gsw_operator *op = NULL;
    ck_assert_int_eq(gsw_problem_parse(context, "poisson:5x4x3", NULL, &problem), GSW_SUCCESS);
    ck_assert_int_eq(gsw_operator_from_matrix(context, gsw_problem_matrix(problem), &op),
                     GSW_SUCCESS);
    many_systems m = many_mixture(context, gsw_problem_matrix(problem), 3);
    ck_assert_int_eq(gsw_krylov_many(context, GSW_CG, op, NULL, NULL, 3, m.b, m.ldb, m.x, m.ldx,
                                     (gsw_krylov_result *)(void *)results),
                     GSW_SUCCESS);
    ck_assert(results[0].iterations > 5 && results[1].iterations == 0 && results[2].iterations > 5);
    ck_assert(results[3].size == 77 && results[3].iterations == 78);
    many_free(&m);
    gsw_operator_destroy(op);
    gsw_problem_destroy(problem);
}
END_TEST

static Suite *krylov_many_suite(void) {
    Suite *suite = suite_create("krylov_many");
    TCase *tc = tcase_create("krylov_many");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, open_context, close_context);
    tcase_add_loop_test(tc, systems_end_as_they_do_alone, 0, MANY_PROBLEMS);
    tcase_add_test(tc, others_are_solved_one_by_one);
    tcase_add_test(tc, chosen_preconditioners);
    tcase_add_test(tc, a_breakdown_leaves_the_others);
    tcase_add_test(tc, systems_begin_again_at_different_times);
    tcase_add_test(tc, null_vectors);
    tcase_add_test(tc, products_of_several_vectors);
    tcase_add_test(tc, ended_systems_are_not_swept);
    tcase_add_loop_test(tc, monitors_know_the_system, 0, 3);
    tcase_add_test(tc, errors_of_callbacks_end_the_call);
    tcase_add_test(tc, bad_arguments_are_refused);
    tcase_add_test(tc, older_results_are_an_array);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void) {
    SRunner *runner = srunner_create(krylov_many_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
