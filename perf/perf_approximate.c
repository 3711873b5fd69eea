/* perf_approximate.c: whole solves with approximate triangular solves, against exact ones.
 *
 *   perf_approximate [--backend cpu|cuda] [--repeats N] [PROBLEM ...]
 *
 * Default: CUDA, 9 repeats, and the problems of the page *Choosing a preconditioner*. For each
 * problem: CG with IC(0), or BiCGSTAB with ILU(0) if the matrix is not symmetric, to 1e-8 from
 * zero, with b of ones, as `gridsweep solve` does. Exact solves come first: as the library does
 * them by itself, and without Eisenstat's form. Then come 1 to 8 Jacobi sweeps for each triangle.
 * Each row has the iterations, the median wall time of the set-up (the factorisation, and the
 * approximate solves from the factor), that of the solve with its smallest and largest, and their
 * sum, all in milliseconds. In each repeat all rows take turns, and the first repeat is not
 * counted. The true residual of each solution is checked. */
#include <gridsweep/gridsweep.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define PROGRAM "perf_approximate"
#include "perf.h"

enum { REPEATS_MAX = 100, SWEEPS_MAX = 8, WAYS = SWEEPS_MAX + 2 };

static gsw_context *context;

typedef struct trial {
    gsw_matrix matrix; /* in the context's memory, as all that follows */
    gsw_operator *op;
    int symmetric;
    int64_t n;
    double *b, *x;
} trial;

/* How the triangles are solved. */
typedef struct way {
    char name[32];
    int32_t sweeps; /* 0: exactly */
    gsw_eisenstat eisenstat;
    int64_t iterations;
    double setup[REPEATS_MAX], solve[REPEATS_MAX];
} way;

static void open_trial(trial *t, const char *name) {
    gsw_context *host = NULL;
    gsw_problem *problem;
    CHECK(gsw_context_create(NULL, &host));
    CHECK(gsw_problem_parse(host, name, NULL, &problem));
    t->symmetric = gsw_problem_symmetric(problem);
    CHECK(gsw_matrix_upload(context, gsw_problem_matrix(problem), &t->matrix));
    CHECK(gsw_grid_points(&t->matrix.grid, &t->n));
    CHECK(gsw_operator_from_matrix(context, &t->matrix, &t->op));
    const size_t bytes = (size_t)t->n * sizeof(double);
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t->b));
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t->x));
    double *ones = allocate(bytes);
    for (int64_t i = 0; i < t->n; i++)
        ones[i] = 1;
    CHECK(gsw_memory_upload(context, t->b, ones, bytes));
    free(ones);
    gsw_problem_destroy(problem);
    gsw_context_destroy(host);
}

static void close_trial(trial *t) {
    gsw_memory_free(context, t->x);
    gsw_memory_free(context, t->b);
    gsw_operator_destroy(t->op);
    gsw_matrix_release(context, &t->matrix);
}

/* The set-up and a solve. */
static void run(const trial *t, way *w, int repeat) {
    const gsw_factor_options of_factor = {.size = sizeof of_factor,
                                          .kind = t->symmetric ? GSW_IC0 : GSW_ILU0};
    const gsw_krylov_options options = {
        .size = sizeof options, .rtol = 1e-8, .eisenstat = w->eisenstat};
    gsw_krylov_result result = {.size = sizeof result};
    gsw_factor *factor;
    gsw_preconditioner *M;
    CHECK(gsw_memory_set(context, t->x, 0, (size_t)t->n * sizeof(double)));
    CHECK(gsw_context_synchronize(context));
    const double begin = now_ms();
    CHECK(gsw_factor_create(context, &t->matrix, &of_factor, &factor));
    if (w->sweeps > 0)
        CHECK(gsw_preconditioner_from_factor_approximate(context, factor, w->sweeps, &M));
    else
        CHECK(gsw_preconditioner_from_factor(context, factor, &M));
    CHECK(gsw_context_synchronize(context));
    const double middle = now_ms();
    CHECK(gsw_krylov(context, t->symmetric ? GSW_CG : GSW_BICGSTAB, t->op, M, &options, t->b, t->x,
                     &result));
    const double end = now_ms();
    if (!(result.residual <= options.rtol)) {
        fprintf(stderr, PROGRAM ": %s: the residual is %g\n", w->name, result.residual);
        exit(EXIT_FAILURE);
    }
    w->iterations = result.iterations;
    if (repeat >= 0) {
        w->setup[repeat] = middle - begin;
        w->solve[repeat] = end - middle;
    }
    gsw_preconditioner_destroy(M);
    gsw_factor_destroy(factor);
}

static void measure(const char *name, int repeats) {
    static way ways[WAYS] = {{.name = "exact"},
                             {.name = "no Eisenstat", .eisenstat = GSW_EISENSTAT_NEVER}};
    trial t;
    for (int32_t k = 1; k <= SWEEPS_MAX; k++) {
        way *w = &ways[k + 1];
        w->sweeps = k;
        (void)snprintf(w->name, sizeof w->name, "approx:%d", (int)k);
    }
    open_trial(&t, name);
    for (int r = -1; r < repeats; r++)
        for (int k = 0; k < WAYS; k++)
            run(&t, &ways[k], r);
    printf("%s, %s\n", name, t.symmetric ? "cg with ic0" : "bicgstab with ilu0");
    for (int k = 0; k < WAYS; k++) {
        way *w = &ways[k];
        const double setup = median(w->setup, repeats), solve = median(w->solve, repeats);
        printf("  %-13s %6lld %10.3f %10.3f (%.3f to %.3f) %10.3f\n", w->name,
               (long long)w->iterations, setup, solve, w->solve[0], w->solve[repeats - 1],
               setup + solve);
    }
    fflush(stdout);
    close_trial(&t);
}

int main(int argc, char **argv) {
    static const char *const problems[] = {"poisson:96x96x96", "anisotropic:96x96x96",
                                           "convection:96x96x96", "lognormal:60x110x85"};
    gsw_context_options where = {.size = sizeof where, .backend = GSW_BACKEND_CUDA};
    int repeats = 9, first = 1;
    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        const char *name = argv[first], *value = argv[first + 1];
        if (strcmp(name, "--backend") == 0)
            where.backend = strcmp(value, "cpu") == 0 ? GSW_BACKEND_CPU : GSW_BACKEND_CUDA;
        else if (strcmp(name, "--repeats") == 0)
            repeats = atoi(value) < 1 ? 1 : atoi(value) > REPEATS_MAX ? REPEATS_MAX : atoi(value);
    }
    CHECK(gsw_context_create(&where, &context));
    printf("gridsweep %s, %s, %d threads; iterations, set-up, solve, both in ms\n", gsw_commit(),
           gsw_context_device(context), gsw_context_threads(context));
    for (int k = first; k < argc; k++)
        measure(argv[k], repeats);
    for (int k = 0; first >= argc && k < 4; k++)
        measure(problems[k], repeats);
    gsw_context_destroy(context);
    return 0;
}
