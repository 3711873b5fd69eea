/* suite.h: how the tests of a program are listed and run. */
#ifndef GSW_TESTS_SUITE_H
#define GSW_TESTS_SUITE_H

#include <stdlib.h>

#include <check.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* A group of tests, each between `open` and `close` (or NULL); `seconds`: the time limit of each
 * where it has a process of its own. */
static inline TCase *suite_case(Suite *suite, const char *name, double seconds, SFun open,
                                SFun close) {
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, seconds);
    tcase_add_checked_fixture(tc, open, close);
    suite_add_tcase(suite, tc);
    return tc;
}

/* Adds tests, each for _i = 0, 1, ..., runs - 1; a NULL ends the list. */
static inline void suite_add(TCase *tc, int runs, const TTest *const *tests) {
    for (; *tests != NULL; tests++)
        tcase_add_loop_test(tc, *tests, 0, runs);
}

/* A test, whose body is that of a function; _i is the number of the run. Nothing stands behind it,
 * because Check's END_TEST is empty. */
#define TEST(name) START_TEST(name)

/* TESTS(tc, NAME...) runs each test once, LOOPS(tc, RUNS, NAME...) so many times. */
#define LOOPS(tc, runs, ...) suite_add(tc, runs, (const TTest *const[]){__VA_ARGS__, NULL})
#define TESTS(tc, ...)       LOOPS(tc, 1, __VA_ARGS__)

/* Runs the suite; returns the exit code of the program. */
static inline int suite_run(Suite *suite, enum fork_status processes) {
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, processes);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
