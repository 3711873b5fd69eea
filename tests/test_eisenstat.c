/* test_eisenstat.c: Krylov methods in Eisenstat's form on the CPU. */
#include <check.h>
#include <gridsweep/gridsweep.h>

#include "cpu/backend.h"
#include "eisenstat_cases.h"

#include "context_fixture.h"

START_TEST(two_sweeps_apply_the_operator) {
    eisenstat_check_grid(context, _i);
}
END_TEST

START_TEST(solves) {
    eisenstat_check_problem(context, context, _i);
}
END_TEST

START_TEST(exceptions) {
    eisenstat_check_exceptions(context, context);
}
END_TEST

START_TEST(a_factor_of_older_values) {
    eisenstat_check_old_factor(context, context);
}
END_TEST

START_TEST(breakdowns) {
    eisenstat_check_breakdowns(context, context);
}
END_TEST

START_TEST(monitors) {
    eisenstat_check_monitors(context, context);
}
END_TEST

START_TEST(queues) {
    eisenstat_check_queues(context, context);
}
END_TEST

/* ---- the driver --------------------------------------------------------------------------------
 */

/* A backend whose products are wrong, after some that are right: the drift of a recurrence. */
static gsw_backend_ops drifting;
static int right, wrong;

static gsw_status spoil_product(gsw_context *where, const gsw_matrix *matrix, gsw_dtype type,
                                const void *b, const void *x, void *y) {
    const gsw_status status = gsw_backend_cpu()->spmv(where, matrix, type, b, x, y);
    if (right-- <= 0 && wrong-- > 0)
        ((double *)y)[0] += 1e-3;
    return status;
}

/* Where b - A x does not follow the recurrence, the form gives up, and the method without it goes
 * on from x. */
START_TEST(drift_ends_the_form) {
    gsw_problem *problem = NULL;
    const gsw_factor_options ic0 = {.size = sizeof ic0, .kind = GSW_IC0};
    gsw_krylov_result result;
    ck_assert_int_eq(gsw_problem_parse(context, "poisson:13x12x11", NULL, &problem), GSW_SUCCESS);
    eisenstat_case c = eisenstat_open(context, gsw_problem_matrix(problem), &ic0);
    double *x = calloc((size_t)c.n, sizeof *x);
    ck_assert_ptr_nonnull(x);
    drifting = *context->ops;
    drifting.spmv = spoil_product;
    context->ops = &drifting;
    right = 1; /* the first measurement of the form */
    wrong = 2; /* the second one, and the verdict on its x */
    ck_assert_int_eq(eisenstat_solve(&c, GSW_CG, (gsw_krylov_options){.rtol = 1e-10},
                                     GSW_EISENSTAT_ALWAYS, x, &result),
                     GSW_SUCCESS);
    context->ops = gsw_backend_cpu();
    ck_assert_int_gt(result.eisenstat, 0);
    ck_assert_int_lt(wrong, 0); /* the form has not measured a third time */
    ck_assert_int_eq(result.replacements, 1);
    free(x);
    eisenstat_close(&c);
    gsw_problem_destroy(problem);
}
END_TEST

/* The same bits for any number of threads. */
START_TEST(threads) {
    gsw_problem *problem = NULL;
    const gsw_factor_options ilu0 = {.size = sizeof ilu0, .kind = GSW_ILU0};
    double *first = NULL;
    ck_assert_int_eq(gsw_problem_parse(context, "convection:33x32x31", NULL, &problem),
                     GSW_SUCCESS);
    for (int count = 1; count <= 4; count++) {
        gsw_context *other = oracle_context(count);
        eisenstat_case c = eisenstat_open(other, gsw_problem_matrix(problem), &ilu0);
        eisenstat_check_bits(&c, GSW_BICGSTAB, &first);
        eisenstat_close(&c);
        gsw_context_destroy(other);
    }
    free(first);
    gsw_problem_destroy(problem);
}
END_TEST

START_TEST(the_default_on_this_backend) {
    gsw_problem *problem = NULL;
    const gsw_factor_options ilu0 = {.size = sizeof ilu0, .kind = GSW_ILU0};
    gsw_krylov_result result;
    ck_assert_int_eq(gsw_problem_parse(context, "convection:12x11x10", NULL, &problem),
                     GSW_SUCCESS);
    eisenstat_case c = eisenstat_open(context, gsw_problem_matrix(problem), &ilu0);
    double *x = calloc((size_t)c.n, sizeof *x);
    ck_assert_ptr_nonnull(x);
    ck_assert_int_eq(eisenstat_solve(&c, GSW_BICGSTAB, (gsw_krylov_options){.rtol = 0},
                                     GSW_EISENSTAT_AUTO, x, &result),
                     GSW_SUCCESS);
    ck_assert_int_eq(result.eisenstat, 0);
    expect_refusal(eisenstat_solve(&c, GSW_BICGSTAB, (gsw_krylov_options){.rtol = 0},
                                   (gsw_eisenstat)3, x, &result),
                   GSW_ERROR_INVALID_ARGUMENT, "eisenstat 3");
    free(x);
    eisenstat_close(&c);
    gsw_problem_destroy(problem);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("eisenstat");
    TCase *cases = tcase_create("cpu");
    tcase_set_timeout(cases, 240);
    tcase_add_checked_fixture(cases, open_context, close_context);
    tcase_add_loop_test(cases, two_sweeps_apply_the_operator, 0, oracle_grid_count());
    tcase_add_loop_test(cases, solves, 0, EISENSTAT_PROBLEMS);
    tcase_add_test(cases, exceptions);
    tcase_add_test(cases, a_factor_of_older_values);
    tcase_add_test(cases, breakdowns);
    tcase_add_test(cases, monitors);
    tcase_add_test(cases, queues);
    tcase_add_test(cases, drift_ends_the_form);
    tcase_add_test(cases, threads);
    tcase_add_test(cases, the_default_on_this_backend);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
