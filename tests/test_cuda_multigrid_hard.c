/* test_cuda_multigrid_hard.c: the hard cases of multigrid on a CUDA device. Iterations equal those
 * on the CPU up to one, because sums are taken in another order. */
#include "device.h"
#include "multigrid_cases.h"

START_TEST(hard_cases_converge) {
    gsw_context *context = device_context(NULL);
    hard_check(context, &hard_cases[_i], 1);
    gsw_context_destroy(context);
}
END_TEST

START_TEST(closed_grids_converge) {
    gsw_context *context = device_context(NULL);
    hard_check_closed(context, _i, 1);
    gsw_context_destroy(context);
}
END_TEST

START_TEST(halves_without_connection) {
    gsw_context *context = device_context(NULL);
    hard_check_halves(context);
    gsw_context_destroy(context);
}
END_TEST

int main(void) {
    const int stride = device_stride();
    Suite *suite = suite_create("cuda_multigrid_hard");
    TCase *hard = tcase_create("hard");
    tcase_add_loop_test(hard, hard_cases_converge, 0, HARD_CASES / stride);
    tcase_add_loop_test(hard, closed_grids_converge, 0, HARD_CLOSED / stride);
    tcase_add_test(hard, halves_without_connection);
    suite_add_tcase(suite, hard);
    return device_run_suite(suite);
}
