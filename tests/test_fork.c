/* test_fork.c: children of a process that has run threads compute with one thread. Otherwise GNU's
 * OpenMP would wait in the child for threads that only the parent has. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#define CONTEXT_THREADS 3
#include "context_fixture.h"

#ifdef GSW_SLOW_BUILD
enum { CHILDREN = 10, LIMIT_MS = 20000 };
#else
enum { CHILDREN = 100, LIMIT_MS = 1000 };
#endif

/* Threads of a child's contexts; without OpenMP the parent has run none. */
#ifdef _OPENMP
enum { CHILD_THREADS = 1 };
#else
enum { CHILD_THREADS = CONTEXT_THREADS };
#endif

enum { POINTS = 28 * 28 * 28, SOLUTIONS = 3 };

/* Runs everything that uses threads: the problem, a direct sweep, ILU(0), multigrid, products,
 * sums. */
static gsw_status solve(gsw_context *at, double *x) {
    const gsw_factor_options ilu0 = {.size = sizeof ilu0, .kind = GSW_ILU0};
    gsw_problem *problem = NULL;
    gsw_operator *A = NULL;
    gsw_factor *factor = NULL;
    gsw_multigrid *multigrid = NULL;
    gsw_preconditioner *sweeps = NULL, *cycle = NULL;
    static double b[POINTS];
    memset(x, 0, SOLUTIONS * POINTS * sizeof *x);
    gsw_random_vector(7, POINTS, b);
    gsw_status status = gsw_problem_parse(at, "lognormal:28x28x28", NULL, &problem);
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    if (!status)
        status = gsw_sptrsv(at, matrix, NULL, 1, b, POINTS, x, POINTS);
    if (!status)
        status = gsw_operator_from_matrix(at, matrix, &A);
    if (!status)
        status = gsw_factor_create(at, matrix, &ilu0, &factor);
    if (!status)
        status = gsw_preconditioner_from_factor(at, factor, &sweeps);
    if (!status)
        status = gsw_bicgstab(at, A, sweeps, NULL, b, x + POINTS, NULL);
    if (!status)
        status = gsw_multigrid_create(at, matrix, NULL, &multigrid);
    if (!status)
        status = gsw_preconditioner_from_multigrid(at, multigrid, &cycle);
    if (!status)
        status = gsw_cg(at, A, cycle, NULL, b, x + (size_t)2 * POINTS, NULL);
    gsw_preconditioner_destroy(cycle);
    gsw_multigrid_destroy(multigrid);
    gsw_preconditioner_destroy(sweeps);
    gsw_factor_destroy(factor);
    gsw_operator_destroy(A);
    gsw_problem_destroy(problem);
    return status;
}

static double *solutions(void) {
    double *x = malloc(SOLUTIONS * POINTS * sizeof *x);
    ck_assert_ptr_nonnull(x);
    return x;
}

/* Solves with the parent's context, or with a new one. 0 where the bits are the parent's. */
static int be_a_child(int new_context, const double *expected) {
    double *x = solutions();
    if (new_context) {
        close_context();
        open_context();
    }
    int differ = gsw_context_threads(context) != CHILD_THREADS;
    differ |= solve(context, x) != GSW_SUCCESS;
    differ |= memcmp(x, expected, SOLUTIONS * POINTS * sizeof *x) != 0;
    free(x);
    return differ;
}

/* Waits for a child, and kills it after LIMIT_MS. */
static int status_of(pid_t child) {
    const struct timespec ms = {.tv_nsec = 1000000};
    int status = -1;
    for (int waited = 0; waited < LIMIT_MS; waited++) {
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
        nanosleep(&ms, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return -1;
}

TEST(children_compute) {
    double *expected = solutions();
    ck_assert_int_eq(solve(context, expected), GSW_SUCCESS);
    ck_assert_int_eq(gsw_context_threads(context), CONTEXT_THREADS);
    for (int i = 0; i < CHILDREN; i++) {
        const pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0)
            _exit(be_a_child(i % 2, expected));
        const int status = status_of(child);
        ck_assert_msg(status != -1, "child %d hangs", i);
        ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d: status %d", i,
                      status);
    }
    free(expected);
}

/* A process that forks before it runs threads, as servers do, loses none. */
TEST(children_of_one_thread_have_all_threads) {
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        close_context();
        open_context();
        _exit(gsw_context_threads(context) == CONTEXT_THREADS ? 0 : 1);
    }
    ck_assert_int_eq(status_of(child), 0);
}

int main(void) {
    Suite *suite = suite_create("fork");
    TCase *group = context_case(suite, "fork", 300);
    TESTS(group, children_compute, children_of_one_thread_have_all_threads);
    return backend_run_suite(suite);
}
