/* test_cuda_eisenstat.c: Krylov methods in Eisenstat's form on a CUDA device.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six (see device.h). */
#include "device.h"
#include "eisenstat_cases.h"

static gsw_context *cuda, *cpu;

static void open_contexts(void) {
    cuda = device_context(NULL);
    cpu = oracle_context(2);
}

static void close_contexts(void) {
    gsw_context_destroy(cpu);
    gsw_context_destroy(cuda);
}

START_TEST(two_sweeps_apply_the_operator) {
    for (int g = 0; g < oracle_grid_count(); g += device_stride())
        eisenstat_check_grid(cuda, g);
}
END_TEST

/* Lines that end within a chunk, and more pencils than a device holds at a time. */
START_TEST(larger_grids) {
    static const gsw_grid grids[] = {{131, 67, 93}, {1, 301, 57}, {517, 1, 9}, {40, 200, 200}};
    for (int g = 0; g < 4; g++) {
        for (int k = 0; k < EISENSTAT_KINDS - 1; k++) {
            oracle_matrix *random = oracle_random(&grids[g], oracle_stencil_named("D3N7"),
                                                  (uint64_t)(g + 1), ORACLE_POSITIVE);
            eisenstat_check_operator(cuda, &random->view, &eisenstat_kinds[k], k & 1);
            oracle_free(random);
        }
    }
}
END_TEST

START_TEST(solves) {
    eisenstat_check_problem(cuda, cpu, _i);
}
END_TEST

START_TEST(exceptions) {
    eisenstat_check_exceptions(cuda, cpu);
}
END_TEST

START_TEST(a_factor_of_older_values) {
    eisenstat_check_old_factor(cuda, cpu);
}
END_TEST

START_TEST(breakdowns) {
    eisenstat_check_breakdowns(cuda, cpu);
}
END_TEST

START_TEST(monitors) {
    eisenstat_check_monitors(cuda, cpu);
}
END_TEST

START_TEST(queues) {
    eisenstat_check_queues(cuda, cpu);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda_eisenstat");
    TCase *tc = tcase_create("eisenstat");
    tcase_add_checked_fixture(tc, open_contexts, close_contexts);
    tcase_add_test(tc, two_sweeps_apply_the_operator);
    tcase_add_test(tc, larger_grids);
    tcase_add_loop_test(tc, solves, 0, EISENSTAT_PROBLEMS);
    tcase_add_test(tc, exceptions);
    tcase_add_test(tc, a_factor_of_older_values);
    tcase_add_test(tc, breakdowns);
    tcase_add_test(tc, monitors);
    tcase_add_test(tc, queues);
    suite_add_tcase(suite, tc);
    return device_run_suite(suite);
}
