/* test_cores.c: the number of threads that a kernel gets on a machine that other processes use as
 * well. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "contract/context.h"
#include "cpu/core/cores.h"
#define CONTEXT_THREADS 4
#include "context_fixture.h"

enum { MUCH = 1 << 20 };

static int threads_now(void) {
    return gsw_useful_threads(context, MUCH, 1);
}

static void wait_until_long(void) {
    gsw_wait wait = {0};
    while (!wait.reported)
        gsw_wait_turn(&wait);
}

static void nap(int ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

/* ms until all threads are tried again. Waits at most 5 s. */
static int ms_until_tried(void) {
    int ms = 0;
    for (; ms < 5000 && threads_now() < CONTEXT_THREADS; ms++)
        nap(1);
    return ms;
}

TEST(work_gets_the_threads_it_is_worth) {
    ck_assert_int_eq(gsw_useful_threads(context, 0, 100), 1);
    ck_assert_int_eq(gsw_useful_threads(context, 99, 100), 1);
    ck_assert_int_eq(gsw_useful_threads(context, 100, 100), 2);
    ck_assert_int_eq(gsw_useful_threads(context, 1000, 100), CONTEXT_THREADS);
}

/* A core is lost for some time. If the machine stops this test for as long, the test checks
 * nothing. */
TEST(a_long_wait_takes_a_thread_for_a_while) {
    int fewer = CONTEXT_THREADS;
    for (int attempt = 0; attempt < 20 && fewer == CONTEXT_THREADS; attempt++) {
        wait_until_long();
        fewer = threads_now();
    }
    ck_assert_int_eq(fewer, CONTEXT_THREADS - 1);
    ck_assert_int_lt(ms_until_tried(), 5000);
    ck_assert_int_eq(threads_now(), CONTEXT_THREADS);
}

TEST(a_short_wait_takes_nothing) {
    gsw_wait wait = {0};
    for (int turn = 0; turn < 3 * GSW_WAIT_PAUSES; turn++)
        gsw_wait_turn(&wait);
    if (!wait.reported) /* this thread has kept its own core */
        ck_assert_int_eq(threads_now(), CONTEXT_THREADS);
}

/* The other threads have done its work and wait for it: no wait inside the kernel shows that. */
TEST(a_late_thread_counts_as_a_lost_core) {
    const int64_t team_began = gsw_team_begins(2);
    gsw_thread_begins(team_began);
    if (gsw_team_begins(2) - team_began < 2000000) /* this thread has kept its own core */
        ck_assert_int_eq(threads_now(), CONTEXT_THREADS);
    int fewer = CONTEXT_THREADS;
    for (int attempt = 0; attempt < 20 && fewer == CONTEXT_THREADS; attempt++) {
        gsw_thread_begins(gsw_team_begins(2) - 3000000);
        fewer = threads_now();
    }
    ck_assert_int_eq(fewer, CONTEXT_THREADS - 1);
    ck_assert_int_lt(ms_until_tried(), 5000);
}

TEST(one_thread_is_always_left) {
    for (int i = 0; i < 3 * CONTEXT_THREADS; i++) {
        wait_until_long();
        nap(6); /* or it would count as the same event */
        ck_assert_int_ge(threads_now(), 1);
    }
    ck_assert_int_eq(threads_now(), 1);
    ck_assert_int_lt(ms_until_tried(), 5000);
}

/* Failed trials make the next trials rarer; a successful one makes them frequent again. */
TEST(backoff_grows_and_is_forgotten) {
    wait_until_long();
    const int first = ms_until_tried();
    wait_until_long();
    const int second = ms_until_tried();
    wait_until_long();
    const int third = ms_until_tried();
    ck_assert_int_gt(third, first + first / 2);
    ck_assert_int_gt(third, second);
    nap(600);
    wait_until_long();
    ck_assert_int_lt(ms_until_tried(), third);
}

#if defined(_OPENMP) && !defined(GSW_SLOW_BUILD)

static char warning[512];

static void hear(void *user, gsw_status status, const char *message) {
    (void)user;
    if (status == GSW_SUCCESS)
        snprintf(warning, sizeof warning, "%s", message);
}

/* Leaves address space for so many MiB more. Sanitizers do without such limits. */
static void leave_memory(int64_t mib) {
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lld", &pages), 1);
    fclose(file);
    const rlim_t bytes = (rlim_t)(pages * sysconf(_SC_PAGESIZE) + mib * (1 << 20));
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}), 0);
}

/* A thread that has not tried them yet finds out as well. */
static void *solve_elsewhere(void *few) {
    const int threads = gsw_useful_threads(few, MUCH, 1);
    int ran = 0;
#pragma omp parallel num_threads(threads) reduction(+ : ran)
    ran++;
    ck_assert_int_eq(ran, threads);
    return NULL;
}

/* OpenMP's runtime would end this process with exit code 1 at the first kernel. */
TEST(fewer_threads_where_the_system_starts_fewer) {
    const gsw_context_options options = {.size = sizeof options,
                                         .backend = GSW_BACKEND_CPU,
                                         .threads = 1000,
                                         .tuning = "",
                                         .log = hear};
    gsw_context *few = NULL;
    gsw_problem *problem = NULL;
    pthread_t thread;
    leave_memory(300); /* a thread takes 8 MiB, as a rule */
    must(context, gsw_context_create(&options, &few));
    keep(KEPT_CONTEXT, NULL, few);
    ck_assert_str_eq(warning, "");
    must(few, gsw_problem_parse(few, "poisson:20x20x20", NULL, &problem)); /* the first kernel */
    keep(KEPT_PROBLEM, NULL, problem);
    ck_assert_ptr_nonnull(strstr(warning, "of 1000 threads start"));
    ck_assert_int_lt(gsw_context_threads(few), 1000);
    ck_assert_int_eq(gsw_context_threads(few), gsw_useful_threads(few, MUCH, 1));
    (void)keep_factor(few, gsw_problem_matrix(problem), (gsw_factor_options){0});
    ck_assert_int_eq(pthread_create(&thread, NULL, solve_elsewhere, few), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

#endif

int main(void) {
    Suite *suite = suite_create("cores");
    TCase *group = context_case(suite, "cores", 60);
    TESTS(group, work_gets_the_threads_it_is_worth, a_long_wait_takes_a_thread_for_a_while,
          a_short_wait_takes_nothing, a_late_thread_counts_as_a_lost_core,
          one_thread_is_always_left, backoff_grows_and_is_forgotten);
#if defined(_OPENMP) && !defined(GSW_SLOW_BUILD)
    TESTS(group, fewer_threads_where_the_system_starts_fewer);
#endif
    return backend_run_suite(suite);
}
