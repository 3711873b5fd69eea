/* perf_sweep.c: the CPU sweeps and factorisations against the memory and against PETSc, in one run.
 *
 *   perf_sweep [--repeats N] [EXTENT ...]      default: 20 repeats; cubes of 64 and 128
 *
 * For each cube, for D3N7 and D3N27, with one thread and with all: the time of an ILU(0) apply (L,
 * then U; b is left as it is) and of a numeric factorisation from CSR, with fp64 and with fp32
 * factors; moved bytes per second (gsw_factor_info) as a fraction of STREAM's triad with the same
 * number of threads; and PETSc's MatSolve and MatLUFactorNumeric (one core), where it was built in.
 * x is poisoned before the run that is compared with the reference sweeps on the extracted L and U.
 * Times are medians. Ratios between columns of one run are what counts on a shared machine. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/gridsweep.h>
#define PROGRAM "perf_sweep"
#include "perf.h"
#include "petsc_solve.h"
#include "triad.h"

/* One matrix and its vectors. */
typedef struct trial {
    gsw_matrix csr;
    gsw_csr arrays;
    int64_t points;
    double *b, *x;
} trial;

static double *new_vector(int64_t n) {
    return allocate((size_t)n * sizeof(double));
}

static double time_apply(gsw_context *context, gsw_factor *factor, const trial *t, int repeats,
                         double *times) {
    for (int r = -2; r < repeats; r++) {
        const double start = now_ms();
        CHECK(gsw_factor_solve(context, factor, 1, t->b, t->points, t->x, t->points));
        if (r >= 0)
            times[r] = now_ms() - start;
    }
    return median(times, repeats);
}

static double time_factor(gsw_context *context, gsw_factor *factor, const trial *t, int repeats,
                          double *times) {
    for (int r = -1; r < repeats; r++) {
        const double start = now_ms();
        CHECK(gsw_factor_refactor(context, factor, &t->csr, NULL));
        if (r >= 0)
            times[r] = now_ms() - start;
    }
    return median(times, repeats);
}

/* max |x - reference| / max |reference| of one more apply into a poisoned x. */
static double apply_error(gsw_context *context, gsw_factor *factor, const trial *t) {
    const gsw_sptrsv_options lower = {.size = sizeof lower,
                                      .part = GSW_LOWER,
                                      .algorithm = GSW_ALGORITHM_REFERENCE},
                             upper = {.size = sizeof upper,
                                      .part = GSW_UPPER,
                                      .algorithm = GSW_ALGORITHM_REFERENCE};
    gsw_csr l, u;
    gsw_matrix ml, mu;
    double *reference = new_vector(t->points);
    memset(t->x, 0xff, (size_t)t->points * sizeof *t->x); /* NaN */
    CHECK(gsw_factor_solve(context, factor, 1, t->b, t->points, t->x, t->points));
    CHECK(gsw_factor_extract(context, factor, GSW_I64, &l, &u));
    CHECK(gsw_matrix_from_csr(context, &t->csr.grid, &t->csr.stencil, &l, &ml));
    CHECK(gsw_matrix_from_csr(context, &t->csr.grid, &t->csr.stencil, &u, &mu));
    CHECK(gsw_sptrsv(context, &ml, &lower, 1, t->b, t->points, reference, t->points));
    CHECK(gsw_sptrsv(context, &mu, &upper, 1, reference, t->points, reference, t->points));
    double error = 0, largest = 0;
    for (int64_t i = 0; i < t->points; i++) {
        const double e = fabs(t->x[i] - reference[i]);
        if (!(e <= error))
            error = e;
        if (fabs(reference[i]) > largest)
            largest = fabs(reference[i]);
    }
    free(reference);
    gsw_csr_free(&l);
    gsw_csr_free(&u);
    return error / largest;
}

static void make_trial(gsw_context *context, const char *name, int64_t extent, trial *t) {
    const gsw_grid grid = {extent, extent, extent};
    gsw_stencil stencil;
    gsw_problem *problem;
    CHECK(gsw_stencil_named(name, &stencil));
    CHECK(gsw_problem_create(context, "random:1", &grid, &stencil, &problem));
    CHECK(gsw_matrix_to_csr(context, gsw_problem_matrix(problem), GSW_FULL, GSW_I32, &t->arrays));
    CHECK(gsw_matrix_from_csr(context, &grid, &stencil, &t->arrays, &t->csr));
    gsw_problem_destroy(problem);
    t->points = extent * extent * extent;
    t->b = new_vector(t->points);
    t->x = new_vector(t->points);
    gsw_random_vector(7, t->points, t->b);
}

static void run(const char *name, int64_t extent, int repeats, int threads, double triad,
                double *petsc_factor, double *petsc_solve) {
    const gsw_context_options where = {
        .size = sizeof where, .backend = GSW_BACKEND_CPU, .threads = threads};
    gsw_context *context;
    trial t;
    if (gsw_context_create(&where, &context) != GSW_SUCCESS)
        exit(EXIT_FAILURE);
    make_trial(context, name, extent, &t);
#ifdef GSW_HAVE_PETSC
    if (*petsc_solve == 0 &&
        gsw_baseline_petsc_ilu0(&t.csr, t.b, t.x, repeats, petsc_factor, petsc_solve) != 0)
        *petsc_solve = NAN;
#else
    *petsc_factor = *petsc_solve = NAN;
#endif
    double *times = new_vector(repeats);
    double fp64 = 0;
    for (int f32 = 0; f32 < 2; f32++) {
        const gsw_factor_options options = {
            .size = sizeof options, .kind = GSW_ILU0, .factor_type = f32 ? GSW_F32 : GSW_F64};
        gsw_factor *factor;
        gsw_factor_info info = {.size = sizeof info};
        CHECK(gsw_factor_create(context, &t.csr, &options, &factor));
        gsw_factor_get_info(factor, &info);
        const double apply = time_apply(context, factor, &t, repeats, times);
        const double making = time_factor(context, factor, &t, (repeats + 3) / 4, times);
        const double rate = (double)info.moved_bytes / apply * 1e-6;
        fp64 = f32 ? fp64 : apply;
        printf("%-6s %4lld^3 %7d %-6s %9.3f %8.1f %6.1f%% %8.2fx %8.2fx %9.2f %8.2fx %9.1e\n", name,
               (long long)extent, threads, f32 ? "f32" : "f64", apply, rate, 100 * rate / triad,
               *petsc_solve / apply, fp64 / apply, making, *petsc_factor / making,
               apply_error(context, factor, &t));
        fflush(stdout);
        gsw_factor_destroy(factor);
    }
    free(times);
    free(t.b);
    free(t.x);
    gsw_csr_free(&t.arrays);
    gsw_context_destroy(context);
}

static void print_head(int all, const double triad[2]) {
    gsw_context *context;
    if (gsw_context_create(
            &(gsw_context_options){.size = sizeof(gsw_context_options), .backend = GSW_BACKEND_CPU},
            &context) == GSW_SUCCESS)
        printf("gridsweep %s, commit %s, %s\n", gsw_version(), gsw_commit(),
               gsw_context_device(context));
    gsw_context_destroy(context);
    printf("triad %.1f GB/s with 1 thread, %.1f with %d\n", triad[0], triad[1], all);
    printf("%-6s %6s %7s %-6s %9s %8s %7s %9s %9s %9s %9s %9s\n", "", "grid", "threads", "factor",
           "apply ms", "GB/s", "triad", "x PETSc", "x f64", "ILU0 ms", "x PETSc", "error");
}

int main(int argc, char **argv) {
    int repeats = 20;
    gsw_context *context;
    if (gsw_context_create(
            &(gsw_context_options){.size = sizeof(gsw_context_options), .backend = GSW_BACKEND_CPU},
            &context) != GSW_SUCCESS)
        return EXIT_FAILURE;
    const int all = gsw_context_threads(context);
    gsw_context_destroy(context);
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--repeats") == 0) {
        repeats = atoi(argv[2]) > 0 ? atoi(argv[2]) : repeats;
        first = 3;
    }
#ifdef GSW_HAVE_PETSC
    if (gsw_baseline_petsc_begin() != 0)
        return EXIT_FAILURE;
#endif
    const int64_t elements = gsw_baseline_elements();
    const double triad[2] = {gsw_baseline_triad(1, elements, 10),
                             gsw_baseline_triad(all, elements, 10)};
    print_head(all, triad);
    static const char *const names[] = {"D3N7", "D3N27"};
    static const int64_t usual[] = {64, 128};
    const int sizes = first < argc ? argc - first : 2;
    for (int s = 0; s < sizes; s++) {
        const int64_t extent = first < argc ? atoll(argv[first + s]) : usual[s];
        for (int n = 0; n < 2 && extent > 0; n++) {
            double petsc_factor = 0, petsc_solve = 0;
            run(names[n], extent, repeats, 1, triad[0], &petsc_factor, &petsc_solve);
            printf("%-6s %4lld^3       1 PETSc  %9.3f %52.2f\n", names[n], (long long)extent,
                   petsc_solve, petsc_factor);
            if (all > 1)
                run(names[n], extent, repeats, all, triad[1], &petsc_factor, &petsc_solve);
        }
    }
#ifdef GSW_HAVE_PETSC
    gsw_baseline_petsc_end();
#endif
    return EXIT_SUCCESS;
}
