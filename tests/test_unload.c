/* test_unload.c: a program loads the library, solves with two threads, closes the library, and does
 * it again. OpenMP's threads are idle then, and must keep the code in which they wait. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gridsweep/gridsweep.h>

enum { SIDE = 40, POINTS = SIDE * SIDE * SIDE, REPEATS = 10 };

/* The library's functions, by their names. */
static struct {
    gsw_status (*context_create)(const gsw_context_options *, gsw_context **);
    void (*context_destroy)(gsw_context *);
    gsw_status (*problem_parse)(gsw_context *, const char *, const void *, gsw_problem **);
    const gsw_matrix *(*problem_matrix)(const gsw_problem *);
    void (*problem_destroy)(gsw_problem *);
    gsw_status (*factor_create)(gsw_context *, const gsw_matrix *, const gsw_factor_options *,
                                gsw_factor **);
    gsw_status (*factor_solve)(gsw_context *, gsw_factor *, int64_t, const void *, int64_t, void *,
                               int64_t);
    void (*factor_destroy)(gsw_factor *);
} gsw;

static int find(void *library) {
    const struct {
        const char *name;
        void *to;
    } names[] = {{"gsw_context_create", &gsw.context_create},
                 {"gsw_context_destroy", &gsw.context_destroy},
                 {"gsw_problem_parse", &gsw.problem_parse},
                 {"gsw_problem_matrix", &gsw.problem_matrix},
                 {"gsw_problem_destroy", &gsw.problem_destroy},
                 {"gsw_factor_create", &gsw.factor_create},
                 {"gsw_factor_solve", &gsw.factor_solve},
                 {"gsw_factor_destroy", &gsw.factor_destroy}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *const found = dlsym(library, names[i].name);
        if (found == NULL)
            return 0;
        memcpy(names[i].to, &found, sizeof found); /* ISO C has no cast to a function */
    }
    return 1;
}

/* Solves once; returns the sum of the solution, or 0. */
static double solve(void) {
    const gsw_context_options options = {
        .size = sizeof options, .backend = GSW_BACKEND_CPU, .threads = 2};
    static double x[POINTS];
    gsw_context *context = NULL;
    gsw_problem *problem = NULL;
    gsw_factor *factor = NULL;
    double sum = 0;
    for (int i = 0; i < POINTS; i++)
        x[i] = 1;
    if (gsw.context_create(&options, &context) == GSW_SUCCESS &&
        gsw.problem_parse(context, "poisson:40x40x40", NULL, &problem) == GSW_SUCCESS &&
        gsw.factor_create(context, gsw.problem_matrix(problem), NULL, &factor) == GSW_SUCCESS &&
        gsw.factor_solve(context, factor, 1, x, POINTS, x, POINTS) == GSW_SUCCESS)
        for (int i = 0; i < POINTS; i++)
            sum += x[i];
    gsw.factor_destroy(factor);
    gsw.problem_destroy(problem);
    gsw.context_destroy(context);
    return sum;
}

int main(int argc, char **argv) {
    double first = 0;
    for (int i = 0; argc == 2 && i < REPEATS; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL || !find(library)) {
            fprintf(stderr, "%s\n", dlerror());
            return EXIT_FAILURE;
        }
        const double sum = solve();
        first = i == 0 ? sum : first;
        if (sum != first || sum <= 0 || dlclose(library) != 0) {
            fprintf(stderr, "run %d: the sum is %g, not %g\n", i, sum, first);
            return EXIT_FAILURE;
        }
    }
    return first > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
