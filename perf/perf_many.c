/* perf_many.c: several systems of one matrix in one call, against one call after the other.
 *
 *   perf_many [--backend cpu|cuda] [--repeats N] [--count N] [--precond none|KIND] [--csr]
 *             PROBLEM ...
 *
 * Default: CUDA, 10 repeats, 8 systems, ic0. For each problem: CG (BiCGSTAB, except with ic0) to
 * 1e-8 from zero with random right-hand sides, in three ways in turn in each repeat: one call after
 * the other; the same without Eisenstat's form; and all in one call, which never uses the form.
 * Prints medians of the wall time with the smallest and largest, in milliseconds, the median of the
 * ratios to the last way, and the sum of the iterations: `solve` for the first way, `formless` for
 * the second. Then `apply`: a solve of all right-hand sides with the preconditioner, inside a queue
 * of 10. The first repeat is not counted. The last two ways must end with the same bits. With --csr
 * the matrix is a CSR. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/gridsweep.h>
#define PROGRAM "perf_many"
#include "perf.h"

enum { QUEUE = 10, REPEATS_MAX = 100, COUNT_MAX = 64 };

static gsw_context *context;

typedef struct trial {
    gsw_matrix matrix;
    gsw_operator *op;
    gsw_factor *factor;
    gsw_preconditioner *M; /* NULL: none */
    gsw_method method;
    int64_t n, count;
    double *b, *x;              /* in the context's memory, n values apart */
    double *zero, *found, *own; /* on the host */
} trial;

static size_t bytes_of(const trial *t) {
    return (size_t)(t->n * t->count) * sizeof(double);
}

/* The matrix of a problem, as it comes or as CSR, in the context's memory. */
static void open_matrix(trial *t, const char *name, int csr) {
    gsw_context *host = NULL;
    gsw_problem *problem;
    gsw_csr rows = {0};
    gsw_matrix on_host;
    CHECK(gsw_context_create(NULL, &host));
    CHECK(gsw_problem_parse(host, name, NULL, &problem));
    const gsw_matrix *made = gsw_problem_matrix(problem);
    on_host = *made;
    if (csr) {
        CHECK(gsw_matrix_to_csr(host, made, GSW_FULL, GSW_I32, &rows));
        CHECK(gsw_matrix_from_csr(host, &made->grid, &made->stencil, &rows, &on_host));
    }
    CHECK(gsw_matrix_upload(context, &on_host, &t->matrix));
    gsw_csr_free(&rows);
    gsw_problem_destroy(problem);
    gsw_context_destroy(host);
}

static void open_trial(trial *t, const char *name, const char *precond, int csr) {
    gsw_factor_options options = {.size = sizeof options};
    open_matrix(t, name, csr);
    t->method = strcmp(precond, "ic0") == 0 ? GSW_CG : GSW_BICGSTAB;
    CHECK(gsw_grid_points(&t->matrix.grid, &t->n));
    CHECK(gsw_operator_from_matrix(context, &t->matrix, &t->op));
    if (strcmp(precond, "none") != 0) {
        options.kind = kind_of(precond);
        CHECK(gsw_factor_create(context, &t->matrix, &options, &t->factor));
        CHECK(gsw_preconditioner_from_factor(context, t->factor, &t->M));
    }
    t->zero = allocate(bytes_of(t));
    t->found = allocate(bytes_of(t));
    t->own = allocate(bytes_of(t));
    CHECK(gsw_memory_alloc(context, bytes_of(t), (void **)&t->b));
    CHECK(gsw_memory_alloc(context, bytes_of(t), (void **)&t->x));
    gsw_random_vector(1, t->n * t->count, t->found);
    CHECK(gsw_memory_upload(context, t->b, t->found, bytes_of(t)));
}

static void close_trial(trial *t) {
    gsw_memory_free(context, t->x);
    gsw_memory_free(context, t->b);
    free(t->own);
    free(t->found);
    free(t->zero);
    gsw_preconditioner_destroy(t->M);
    gsw_factor_destroy(t->factor);
    gsw_operator_destroy(t->op);
    gsw_matrix_release(context, &t->matrix);
}

typedef enum way { ALONE, FORMLESS, TOGETHER, WAYS } way;

/* All systems from zero; the solutions end in *to. Returns the wall time. */
static double solve(trial *t, way how, double *to, int64_t *iterations) {
    const gsw_krylov_options options = {.size = sizeof options,
                                        .eisenstat = how == ALONE ? GSW_EISENSTAT_AUTO
                                                                  : GSW_EISENSTAT_NEVER};
    gsw_krylov_result results[COUNT_MAX];
    CHECK(gsw_memory_upload(context, t->x, t->zero, bytes_of(t)));
    CHECK(gsw_context_synchronize(context));
    for (int64_t i = 0; i < t->count; i++)
        results[i].size = sizeof results[i];
    const double begin = now_ms();
    if (how == TOGETHER)
        CHECK(gsw_krylov_many(context, t->method, t->op, t->M, &options, t->count, t->b, t->n, t->x,
                              t->n, results));
    else
        for (int64_t i = 0; i < t->count; i++)
            CHECK(gsw_krylov(context, t->method, t->op, t->M, &options, t->b + i * t->n,
                             t->x + i * t->n, &results[i]));
    const double ms = now_ms() - begin;
    CHECK(gsw_memory_download(context, to, t->x, bytes_of(t)));
    *iterations = 0;
    for (int64_t i = 0; i < t->count; i++)
        *iterations += results[i].iterations;
    return ms;
}

static void print(const char *what, int64_t number, const double *alone, const double *together,
                  int repeats) {
    double a[REPEATS_MAX], b[REPEATS_MAX], ratio[REPEATS_MAX];
    for (int r = 0; r < repeats; r++) {
        a[r] = alone[r];
        b[r] = together[r];
        ratio[r] = alone[r] / together[r];
    }
    const double of_a = median(a, repeats), of_b = median(b, repeats);
    printf("  %-10s %6lld %10.3f (%.3f to %.3f) %10.3f (%.3f to %.3f) %6.2f\n", what,
           (long long)number, of_a, a[0], a[repeats - 1], of_b, b[0], b[repeats - 1],
           median(ratio, repeats));
    fflush(stdout);
}

/* One solve of all right-hand sides with the preconditioner's factor, inside a queue. */
static double apply(trial *t, int together) {
    const double begin = now_ms();
    for (int k = 0; k < QUEUE; k++)
        for (int64_t i = 0; i < t->count; i += together ? t->count : 1)
            CHECK(gsw_factor_solve(context, t->factor, together ? t->count : 1, t->b + i * t->n,
                                   t->n, t->x + i * t->n, t->n));
    CHECK(gsw_context_synchronize(context));
    return (now_ms() - begin) / QUEUE;
}

static void measure(const char *name, const char *precond, int csr, int64_t count, int repeats) {
    double ms[WAYS][REPEATS_MAX] = {0};
    int64_t iterations[WAYS] = {0};
    trial t = {.count = count};
    open_trial(&t, name, precond, csr);
    printf("%s%s, %s, %s, %lld systems\n", name, csr ? " as CSR" : "", gsw_method_name(t.method),
           precond, (long long)count);
    for (int r = -1; r < repeats; r++) {
        const int at = r < 0 ? 0 : r; /* the next repeat replaces the first one's times */
        ms[ALONE][at] = solve(&t, ALONE, t.own, &iterations[ALONE]);
        ms[FORMLESS][at] = solve(&t, FORMLESS, t.own, &iterations[FORMLESS]);
        ms[TOGETHER][at] = solve(&t, TOGETHER, t.found, &iterations[TOGETHER]);
        if (iterations[TOGETHER] != iterations[FORMLESS] ||
            memcmp(t.own, t.found, bytes_of(&t)) != 0) {
            fprintf(stderr, PROGRAM ": %s: the solutions differ\n", name);
            exit(EXIT_FAILURE);
        }
    }
    print("solve", iterations[ALONE], ms[ALONE], ms[TOGETHER], repeats);
    print("formless", iterations[FORMLESS], ms[FORMLESS], ms[TOGETHER], repeats);
    for (int r = -1; r < repeats && t.factor != NULL; r++) {
        const int at = r < 0 ? 0 : r;
        ms[ALONE][at] = apply(&t, 0);
        ms[TOGETHER][at] = apply(&t, 1);
    }
    if (t.factor != NULL)
        print("apply", count, ms[ALONE], ms[TOGETHER], repeats);
    close_trial(&t);
}

int main(int argc, char **argv) {
    gsw_context_options where = {.size = sizeof where, .backend = GSW_BACKEND_CUDA};
    const char *precond = "ic0";
    int repeats = 10, csr = 0, first = 1;
    int64_t count = 8;
    for (; first < argc && argv[first][0] == '-'; first++) {
        const char *name = argv[first], *value = first + 1 < argc ? argv[first + 1] : "";
        if (strcmp(name, "--csr") == 0) {
            csr = 1;
            continue;
        }
        if (strcmp(name, "--backend") == 0)
            where.backend = strcmp(value, "cpu") == 0 ? GSW_BACKEND_CPU : GSW_BACKEND_CUDA;
        else if (strcmp(name, "--repeats") == 0)
            repeats = atoi(value) < 1 ? 1 : atoi(value) > REPEATS_MAX ? REPEATS_MAX : atoi(value);
        else if (strcmp(name, "--count") == 0)
            count = atoi(value) < 1 ? 1 : atoi(value) > COUNT_MAX ? COUNT_MAX : atoi(value);
        else if (strcmp(name, "--precond") == 0)
            precond = value;
        first++;
    }
    if (first >= argc) {
        fprintf(stderr, PROGRAM ": name a problem; see the head of perf_many.c\n");
        return 2;
    }
    CHECK(gsw_context_create(&where, &context));
    printf("gridsweep %s, %s, %d threads; alone, together, ratio\n", gsw_commit(),
           gsw_context_device(context), gsw_context_threads(context));
    for (int k = first; k < argc; k++)
        measure(argv[k], precond, csr, count, repeats);
    gsw_context_destroy(context);
    return 0;
}
