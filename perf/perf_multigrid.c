/* perf_multigrid.c: where the time of a solve with multigrid goes.
 *
 *   perf_multigrid [--backend cpu|cuda] [--repeats N] [--precision f32|f64] [--cycle V|F|W]
 *                  [--smoother NAME] [--coarsest POINTS] [--apply] PROBLEM ...
 *
 * Default: CUDA, 5 repeats, f32, V, auto. For each problem, medians in milliseconds: making the
 * hierarchy from stencil arrays in the context's memory, filling it anew, a cycle inside a queue of
 * 20, a product with the matrix, CG (BiCGSTAB where the matrix is not symmetric) to 1e-8 from zero
 * with b = 1, hierarchy and solve together, and CG once more from the solution: what a solve takes
 * around its iterations. The first repeat is not counted. The true residual
 * is that of the x of the last solve. With --apply the hierarchy is made and two cycles run: for
 * profilers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/gridsweep.h>
#define PROGRAM "perf_multigrid"
#include "perf.h"

enum { QUEUE = 20, REPEATS_MAX = 100 };

static gsw_context *context;

/* Vectors in the context's memory. */
typedef struct trial {
    gsw_matrix matrix;
    int64_t points;
    double *b, *x;
    double *ones; /* on the host */
} trial;

static double cycle_ms(trial *t, gsw_multigrid *multigrid) {
    double ms[3];
    for (int r = 0; r < 3; r++) {
        const double begin = now_ms();
        for (int k = 0; k < QUEUE; k++)
            CHECK(gsw_multigrid_apply(context, multigrid, t->b, t->x));
        CHECK(gsw_context_synchronize(context));
        ms[r] = (now_ms() - begin) / QUEUE;
    }
    return median(ms, 3);
}

static double product_ms(trial *t) {
    double ms[3];
    for (int r = 0; r < 3; r++) {
        const double begin = now_ms();
        for (int k = 0; k < QUEUE; k++)
            CHECK(gsw_spmv(context, &t->matrix, GSW_F64, t->b, t->x));
        CHECK(gsw_context_synchronize(context));
        ms[r] = (now_ms() - begin) / QUEUE;
    }
    return median(ms, 3);
}

static void zero_x(trial *t) {
    double *zero = allocate((size_t)t->points * sizeof *zero);
    CHECK(gsw_memory_upload(context, t->x, zero, (size_t)t->points * sizeof *zero));
    free(zero);
}

static void measure(const char *name, const gsw_multigrid_options *options, int repeats,
                    int apply_only) {
    double setup[REPEATS_MAX], refill[REPEATS_MAX], solve[REPEATS_MAX], total[REPEATS_MAX];
    double cycle = 0, product = 0, around[REPEATS_MAX];
    gsw_problem *problem;
    gsw_operator *matrix;
    trial t;
    gsw_krylov_result result = {.size = sizeof result};
    gsw_multigrid_info info = {.size = sizeof info};
    CHECK(gsw_problem_parse(context, name, NULL, &problem));
    CHECK(gsw_matrix_upload(context, gsw_problem_matrix(problem), &t.matrix));
    CHECK(gsw_grid_points(&t.matrix.grid, &t.points));
    gsw_problem_destroy(problem);
    const size_t bytes = (size_t)t.points * sizeof(double);
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t.b));
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t.x));
    t.ones = allocate(bytes);
    for (int64_t i = 0; i < t.points; i++)
        t.ones[i] = 1;
    CHECK(gsw_memory_upload(context, t.b, t.ones, bytes));
    CHECK(gsw_operator_from_matrix(context, &t.matrix, &matrix));
    for (int r = 0; r <= repeats; r++) {
        gsw_multigrid *multigrid;
        gsw_preconditioner *M;
        zero_x(&t);
        CHECK(gsw_context_synchronize(context));
        const double begin = now_ms();
        CHECK(gsw_multigrid_create(context, &t.matrix, options, &multigrid));
        CHECK(gsw_context_synchronize(context));
        const double made = now_ms();
        if (apply_only) {
            CHECK(gsw_multigrid_apply(context, multigrid, t.b, t.x));
            CHECK(gsw_multigrid_apply(context, multigrid, t.b, t.x));
            CHECK(gsw_context_synchronize(context));
            gsw_multigrid_destroy(multigrid);
            break;
        }
        CHECK(gsw_multigrid_get_info(multigrid, &info));
        CHECK(gsw_preconditioner_from_multigrid(context, multigrid, &M));
        const gsw_method method = info.symmetric ? GSW_CG : GSW_BICGSTAB;
        gsw_status status = gsw_krylov(context, method, matrix, M, NULL, t.b, t.x, &result);
        if (status != GSW_ERROR_NOT_CONVERGED)
            CHECK(status);
        const double solved = now_ms();
        status = gsw_krylov(context, method, matrix, M, NULL, t.b, t.x, NULL);
        if (status != GSW_ERROR_NOT_CONVERGED)
            CHECK(status);
        if (r > 0)
            around[r - 1] = now_ms() - solved;
        if (r > 0) {
            setup[r - 1] = made - begin;
            solve[r - 1] = solved - made;
            total[r - 1] = solved - begin;
        }
        if (r == repeats) {
            cycle = cycle_ms(&t, multigrid);
            product = product_ms(&t);
        }
        const double again = now_ms();
        CHECK(gsw_multigrid_refactor(context, multigrid, &t.matrix));
        CHECK(gsw_context_synchronize(context));
        if (r > 0)
            refill[r - 1] = now_ms() - again;
        gsw_preconditioner_destroy(M);
        gsw_multigrid_destroy(multigrid);
    }
    if (!apply_only)
        printf("%-26s %8.2f %8.2f %8.3f %8.3f %8.2f %8.2f %8.2f %4lld %9.1e %3d %5.2f %8.1f\n",
               name, median(setup, repeats), median(refill, repeats), cycle, product,
               median(solve, repeats), median(total, repeats), median(around, repeats),
               (long long)result.iterations, result.residual, info.levels, info.operator_complexity,
               (double)info.bytes * 1e-6);
    fflush(stdout);
    free(t.ones);
    gsw_operator_destroy(matrix);
    gsw_memory_free(context, t.b);
    gsw_memory_free(context, t.x);
    gsw_matrix_release(context, &t.matrix);
}

static int is_option(const char *name, int k, int argc, char **argv) {
    return strcmp(argv[k], name) == 0 && k + 1 < argc;
}

int main(int argc, char **argv) {
    gsw_context_options where = {.size = sizeof where, .backend = GSW_BACKEND_CUDA};
    gsw_multigrid_options options = {.size = sizeof options, .cycle_type = GSW_F32};
    int repeats = 5, apply_only = 0, first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "--apply") == 0) {
            apply_only = 1;
            continue;
        }
        if (first + 1 == argc)
            break;
        const char *value = argv[first + 1];
        if (is_option("--backend", first, argc, argv))
            where.backend = strcmp(value, "cpu") == 0 ? GSW_BACKEND_CPU : GSW_BACKEND_CUDA;
        else if (is_option("--repeats", first, argc, argv))
            repeats = atoi(value) < 1 ? 1 : atoi(value) > REPEATS_MAX ? REPEATS_MAX : atoi(value);
        else if (is_option("--precision", first, argc, argv))
            options.cycle_type = strcmp(value, "f64") == 0 ? GSW_F64 : GSW_F32;
        else if (is_option("--coarsest", first, argc, argv))
            options.coarsest_points = atoll(value);
        else if (is_option("--cycle", first, argc, argv))
            for (int c = 0; c <= GSW_CYCLE_W; c++)
                options.cycle =
                    strcmp(value, gsw_cycle_name(c)) == 0 ? (gsw_cycle)c : options.cycle;
        else if (is_option("--smoother", first, argc, argv))
            for (int s = 0; s <= GSW_SMOOTHER_MULTICOLOR; s++)
                options.smoother =
                    strcmp(value, gsw_smoother_name(s)) == 0 ? (gsw_smoother)s : options.smoother;
        first++;
    }
    if (first >= argc) {
        fprintf(stderr, PROGRAM ": name a problem; see the head of perf_multigrid.c\n");
        return 2;
    }
    CHECK(gsw_context_create(&where, &context));
    printf("gridsweep %s, %s\n%-26s %8s %8s %8s %8s %8s %8s %8s %4s %9s %3s %5s %8s\n",
           gsw_commit(), gsw_context_device(context), "problem", "set-up", "refill", "cycle",
           "product", "solve", "total", "around", "its", "residual", "lev", "compl", "MB");
    for (int k = first; k < argc; k++)
        measure(argv[k], &options, repeats, apply_only);
    gsw_context_destroy(context);
    return 0;
}
