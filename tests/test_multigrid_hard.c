/* test_multigrid_hard.c: hard cases of multigrid: media and winds that its smoothers do not
 * resolve, singular matrices, conditions inside the grid, numbers of all sizes. Counts of
 * iterations may exceed the measured ones by less than a tenth. */
#include "multigrid_cases.h"

#define CONTEXT_THREADS 1 /* counts do not depend on it */
#include "context_fixture.h"

/* With a sanitizer large grids take minutes and show nothing that the others do not. */
static int too_large(const char *problem) {
    int large = 0;
#ifdef GSW_SLOW_BUILD
    const char *extents = strrchr(problem, ':');
    gsw_grid grid;
    ck_assert_int_eq(gsw_grid_parse(context, extents ? extents + 1 : problem, &grid), GSW_SUCCESS);
    large = oracle_points(&grid) > 50000;
#else
    (void)problem;
#endif
    return large;
}

START_TEST(hard_cases_converge) {
    if (!too_large(hard_cases[_i].problem))
        hard_check(context, &hard_cases[_i], 0);
}
END_TEST

START_TEST(closed_grids_converge) {
    if (!too_large(hard_closed[_i].problem))
        hard_check_closed(context, _i, 0);
}
END_TEST

START_TEST(halves_without_connection) {
    hard_check_halves(context);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("multigrid_hard");
    TCase *hard = tcase_create("hard");
    tcase_add_checked_fixture(hard, open_context, close_context);
    tcase_set_timeout(hard, 300);
    tcase_add_loop_test(hard, hard_cases_converge, 0, HARD_CASES);
    tcase_add_loop_test(hard, closed_grids_converge, 0, HARD_CLOSED);
    tcase_add_test(hard, halves_without_connection);
    suite_add_tcase(suite, hard);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
