/* perf_queue.c: what a call costs inside a queue of 20, as a solver makes them, to compare two
 * builds.
 *
 *   perf_queue [--backend cpu|cuda] [--repeats N] [--stencils D3N7,D3N27]
 *              [--calls sweep,direct,apply,ilu0,ic0,dilu,cg,bicgstab,arrays,constants] [SIZE ...]
 *
 * A SIZE is NXxNYxNZ, or N for a cube. Default: CUDA, 30 repeats, D3N7 and D3N27, cubes of 64, 128
 * and 256. For each grid and stencil, in microseconds per call: a sweep of a packed lower factor,
 * the direct sweep of a lower CSR, an ILU(0) apply, factorisations ILU(0), IC(0) (of the lower
 * part) and DILU from stencil arrays, an iteration of CG with IC(0) (D3N7, poisson), and one of
 * BiCGSTAB with ILU(0) (D3N7, convection). The calls arrays and constants, which are measured only
 * if they are named, are products, packed and direct lower sweeps and SSOR with poisson's
 * coefficients: one a point, or one an offset (gsw_problem_parse_constant()); with both their
 * results are compared, which must be the same bits. The calls cg-form and bicgstab-form, which are
 * measured only if they are named, are these iterations in Eisenstat's form; cg and bicgstab are
 * without it. The clock is the host's, around 20 calls and the wait for them; the median, smallest
 * and largest of the repeats are printed. x is poisoned before the last queue of solves, and
 * compared with the serial reference after it. An iteration is the difference of solves of 25
 * and 5.
 *
 * perf/paired runs two builds of this program in turn and prints the ratios. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/gridsweep.h>
#define PROGRAM "perf_queue"
#include "perf.h"

#define QUEUE 20

enum { SIZES_MAX = 16, SIZE_LENGTH = 32, NAME_LENGTH = 80 };

static gsw_context *context;
static int repeats = 30;
static const char *calls = "sweep,direct,apply,ilu0,ic0,dilu,cg,bicgstab"; /* measured */

/* One matrix, in the context's memory, and what is called. */
typedef struct trial {
    const char *name;
    gsw_matrix arrays; /* the whole matrix */
    gsw_matrix lower;  /* its lower part as CSR */
    gsw_factor *packed, *factor;
    int64_t points;
    double *b, *x; /* in the context's memory */
} trial;

static double now_us(void) {
    return 1e3 * now_ms();
}

static void print(const trial *t, const char *what, double *us, int count, double error) {
    const double middle = median(us, count); /* sorts */
    printf("%-24s %-13s %12.3f %12.3f %12.3f", t->name, what, middle, us[0], us[count - 1]);
    if (error >= 0)
        printf(" %9.1e", error);
    putchar('\n');
    fflush(stdout);
}

static int chosen(const char *what) {
    const size_t length = strlen(what);
    for (const char *at = calls; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, what, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return 1;
    }
    return 0;
}

typedef void (*call_fn)(trial *t);

static void packed_sweep(trial *t) {
    CHECK(gsw_factor_solve(context, t->packed, 1, t->b, t->points, t->x, t->points));
}

static void direct_sweep(trial *t) {
    CHECK(gsw_sptrsv(context, &t->lower, NULL, 1, t->b, t->points, t->x, t->points));
}

static void ilu_apply(trial *t) {
    CHECK(gsw_factor_solve(context, t->factor, 1, t->b, t->points, t->x, t->points));
}

static void refactor(trial *t) {
    CHECK(gsw_factor_refactor(context, t->factor, &t->arrays, NULL));
}

/* The largest difference of t->x from `right`, relative to the largest value. */
static double error_of(const trial *t, const double *right) {
    double *x = allocate((size_t)t->points * sizeof *x), worst = 0, largest = 0;
    CHECK(gsw_memory_download(context, x, t->x, (size_t)t->points * sizeof *x));
    for (int64_t i = 0; i < t->points; i++) {
        const double difference = fabs(x[i] - right[i]);
        if (!(difference <= worst))
            worst = difference; /* NaN stays */
        largest = fmax(largest, fabs(right[i]));
    }
    free(x);
    return worst / largest;
}

/* `right` may be NULL: then nothing is compared. */
static void measure(trial *t, const char *what, call_fn call, const double *right) {
    const size_t bytes = (size_t)t->points * sizeof(double);
    if (!chosen(what))
        return;
    double *us = allocate((size_t)repeats * sizeof *us);
    double *poison = allocate(bytes);
    memset(poison, 0xFF, bytes); /* NaN */
    call(t);
    CHECK(gsw_context_synchronize(context));
    for (int r = 0; r < repeats; r++) {
        if (right != NULL && r == repeats - 1)
            CHECK(gsw_memory_upload(context, t->x, poison, bytes));
        const double begin = now_us();
        for (int k = 0; k < QUEUE; k++)
            call(t);
        CHECK(gsw_context_synchronize(context));
        us[r] = (now_us() - begin) / QUEUE;
    }
    const double error = right != NULL ? error_of(t, right) : -1;
    print(t, what, us, repeats, error);
    if (right != NULL && !(error < 1e-12)) {
        fprintf(stderr, PROGRAM ": %s %s: wrong result\n", t->name, what);
        exit(EXIT_FAILURE);
    }
    free(poison);
    free(us);
}

/* Solves the lower part on the CPU, with the serial reference. */
static void solve_reference(const gsw_matrix *host_lower, const double *b, double *x,
                            int64_t points) {
    const gsw_context_options options = {.size = sizeof options, .backend = GSW_BACKEND_CPU};
    const gsw_sptrsv_options reference = {.size = sizeof reference,
                                          .algorithm = GSW_ALGORITHM_REFERENCE};
    gsw_context *const device = context;
    CHECK(gsw_context_create(&options, &context));
    CHECK(gsw_sptrsv(context, host_lower, &reference, 1, b, points, x, points));
    gsw_context_destroy(context);
    context = device;
}

static void measure_sweeps(const char *stencil_name, const char size[SIZE_LENGTH]) {
    const gsw_factor_options lower_part = {.size = sizeof lower_part, .kind = GSW_FACTOR_LOWER};
    char name[NAME_LENGTH];
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_problem *problem;
    gsw_csr csr;
    gsw_matrix host_lower;
    trial t = {.name = name};
    snprintf(name, sizeof name, "%s %.*s", stencil_name, SIZE_LENGTH, size);
    CHECK(gsw_grid_parse(context, size, &grid));
    CHECK(gsw_stencil_named(stencil_name, &stencil));
    CHECK(gsw_grid_points(&grid, &t.points));
    CHECK(gsw_problem_create(context, "random:1", &grid, &stencil, &problem));
    CHECK(gsw_matrix_to_csr(context, gsw_problem_matrix(problem), GSW_LOWER, GSW_I32, &csr));
    CHECK(gsw_matrix_from_csr(context, &grid, &stencil, &csr, &host_lower));

    const size_t bytes = (size_t)t.points * sizeof(double);
    double *b = allocate(bytes), *right = allocate(bytes);
    gsw_random_vector(2, t.points, b);
    solve_reference(&host_lower, b, right, t.points);
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t.b));
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t.x));
    CHECK(gsw_memory_upload(context, t.b, b, bytes));
    CHECK(gsw_matrix_upload(context, gsw_problem_matrix(problem), &t.arrays));
    CHECK(gsw_matrix_upload(context, &host_lower, &t.lower));
    CHECK(gsw_factor_create(context, &t.lower, &lower_part, &t.packed));
    measure(&t, "sweep", packed_sweep, right);
    measure(&t, "direct", direct_sweep, right);
    gsw_factor_destroy(t.packed);
    for (int kind = GSW_ILU0; kind <= GSW_DILU; kind++) {
        const gsw_factor_options options = {.size = sizeof options, .kind = (gsw_factor_kind)kind};
        CHECK(gsw_factor_create(context, &t.arrays, &options, &t.factor));
        if (kind == GSW_ILU0)
            measure(&t, "apply", ilu_apply, NULL);
        measure(&t, gsw_factor_kind_name(options.kind), refactor, NULL);
        gsw_factor_destroy(t.factor);
    }

    gsw_matrix_release(context, &t.lower);
    gsw_matrix_release(context, &t.arrays);
    gsw_memory_free(context, t.x);
    gsw_memory_free(context, t.b);
    gsw_csr_free(&csr);
    gsw_problem_destroy(problem);
    free(right);
    free(b);
}

static void product(trial *t) {
    CHECK(gsw_spmv(context, &t->arrays, GSW_F64, t->b, t->x));
}

static void line_sweep(trial *t) {
    const gsw_sptrsv_options line = {.size = sizeof line, .algorithm = GSW_ALGORITHM_LINE};
    CHECK(gsw_sptrsv(context, &t->arrays, &line, 1, t->b, t->points, t->x, t->points));
}

/* The results of arrays, in the order of their measurement: those of constants are the same. */
enum { COMPARED = 5 };

static void compare_bits(const trial *t, const char *what, double **kept) {
    const size_t bytes = (size_t)t->points * sizeof(double);
    double *x = allocate(bytes);
    CHECK(gsw_memory_download(context, x, t->x, bytes));
    if (*kept == NULL) {
        *kept = x;
        return;
    }
    if (memcmp(*kept, x, bytes) != 0) {
        fprintf(stderr, PROGRAM ": %s %s: other bits than with arrays\n", t->name, what);
        exit(EXIT_FAILURE);
    }
    free(x);
    free(*kept);
    *kept = NULL;
}

static void measure_coefficients(const char *what, int constant, const char size[SIZE_LENGTH],
                                 double *kept[COMPARED]) {
    char text[NAME_LENGTH], name[NAME_LENGTH];
    gsw_problem *problem;
    trial t = {.name = name};
    if (!chosen(what))
        return;
    snprintf(text, sizeof text, "poisson:%.*s", SIZE_LENGTH, size);
    CHECK(constant ? gsw_problem_parse_constant(context, text, &problem)
                   : gsw_problem_parse(context, text, NULL, &problem));
    CHECK(gsw_grid_points(&gsw_problem_matrix(problem)->grid, &t.points));
    const size_t bytes = (size_t)t.points * sizeof(double);
    double *b = allocate(bytes);
    gsw_random_vector(2, t.points, b);
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t.b));
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t.x));
    CHECK(gsw_memory_upload(context, t.b, b, bytes));
    CHECK(gsw_matrix_upload(context, gsw_problem_matrix(problem), &t.arrays));
    const struct {
        const char *name;
        call_fn call;
        gsw_factor_kind kind; /* of ilu_apply */
        gsw_dtype type;
    } all[COMPARED] = {{"product", product, GSW_FACTOR_LOWER, GSW_F64},
                       {"lower", ilu_apply, GSW_FACTOR_LOWER, GSW_F64},
                       {"lower fp32", ilu_apply, GSW_FACTOR_LOWER, GSW_F32},
                       {"line", line_sweep, GSW_FACTOR_LOWER, GSW_F64},
                       {"ssor", ilu_apply, GSW_SSOR, GSW_F64}};
    for (int i = 0; i < COMPARED; i++) {
        const gsw_factor_options options = {
            .size = sizeof options, .kind = all[i].kind, .factor_type = all[i].type};
        CHECK(gsw_factor_create(context, &t.arrays, &options, &t.factor));
        CHECK(gsw_memory_set(context, t.x, 0xff, bytes));
        snprintf(name, sizeof name, "%s %.*s", all[i].name, SIZE_LENGTH, size);
        measure(&t, what, all[i].call, NULL);
        compare_bits(&t, what, &kept[i]);
        gsw_factor_destroy(t.factor);
    }
    gsw_matrix_release(context, &t.arrays);
    gsw_memory_free(context, t.x);
    gsw_memory_free(context, t.b);
    gsw_problem_destroy(problem);
    free(b);
}

/* A method with its problem and factor, in one of its forms. */
typedef struct iteration {
    const char *call, *problem;
    gsw_method method;
    gsw_factor_kind kind;
    gsw_eisenstat form;
} iteration;

static const iteration iterations[] = {
    {"cg", "poisson", GSW_CG, GSW_IC0, GSW_EISENSTAT_NEVER},
    {"cg-form", "poisson", GSW_CG, GSW_IC0, GSW_EISENSTAT_ALWAYS},
    {"bicgstab", "convection", GSW_BICGSTAB, GSW_ILU0, GSW_EISENSTAT_NEVER},
    {"bicgstab-form", "convection", GSW_BICGSTAB, GSW_ILU0, GSW_EISENSTAT_ALWAYS},
};

/* The time of a solve that ends after so many iterations. */
static double solve_us(const iteration *i, gsw_operator *matrix, gsw_preconditioner *M,
                       const trial *t, int64_t limit) {
    const gsw_krylov_options options = {
        .size = sizeof options, .rtol = 1e-300, .max_iterations = limit, .eisenstat = i->form};
    gsw_krylov_result result = {.size = sizeof result};
    CHECK(gsw_memory_set(context, t->x, 0, (size_t)t->points * sizeof(double)));
    CHECK(gsw_context_synchronize(context));
    const double begin = now_us();
    const gsw_status status =
        gsw_krylov(context, i->method, matrix, M, &options, t->b, t->x, &result);
    const double end = now_us();
    if (status != GSW_ERROR_NOT_CONVERGED)
        CHECK(status);
    if ((result.eisenstat > 0) != (i->form == GSW_EISENSTAT_ALWAYS)) {
        fprintf(stderr, PROGRAM ": %s did not use its form\n", i->call);
        exit(EXIT_FAILURE);
    }
    return end - begin;
}

static void measure_iteration(const iteration *i, const char size[SIZE_LENGTH]) {
    const gsw_factor_options options = {.size = sizeof options, .kind = i->kind};
    char name[NAME_LENGTH];
    gsw_problem *problem;
    gsw_operator *matrix;
    gsw_preconditioner *M;
    trial t = {.name = name};
    snprintf(name, sizeof name, "%s:%.*s", i->problem, SIZE_LENGTH, size);
    CHECK(gsw_problem_parse(context, name, NULL, &problem));
    CHECK(gsw_grid_points(&gsw_problem_matrix(problem)->grid, &t.points));
    const size_t bytes = (size_t)t.points * sizeof(double);
    double *b = allocate(bytes), *us = allocate((size_t)repeats * sizeof *us);
    gsw_random_vector(2, t.points, b);
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t.b));
    CHECK(gsw_memory_alloc(context, bytes, (void **)&t.x));
    CHECK(gsw_memory_upload(context, t.b, b, bytes));
    CHECK(gsw_matrix_upload(context, gsw_problem_matrix(problem), &t.arrays));
    CHECK(gsw_factor_create(context, &t.arrays, &options, &t.factor));
    CHECK(gsw_operator_from_matrix(context, &t.arrays, &matrix));
    CHECK(gsw_preconditioner_from_factor(context, t.factor, &M));
    (void)solve_us(i, matrix, M, &t, 5);
    for (int r = 0; r < repeats; r++) {
        const double few = solve_us(i, matrix, M, &t, 5);
        us[r] = (solve_us(i, matrix, M, &t, 25) - few) / 20;
    }
    print(&t, i->call, us, repeats, -1);
    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(matrix);
    gsw_factor_destroy(t.factor);
    gsw_matrix_release(context, &t.arrays);
    gsw_memory_free(context, t.x);
    gsw_memory_free(context, t.b);
    gsw_problem_destroy(problem);
    free(us);
    free(b);
}

/* NXxNYxNZ, also for "N". False: it is too long, or does not begin with a number. */
static int name_size(const char *text, char size[SIZE_LENGTH]) {
    const int length = strchr(text, 'x') != NULL
                           ? snprintf(size, SIZE_LENGTH, "%s", text)
                           : snprintf(size, SIZE_LENGTH, "%sx%sx%s", text, text, text);
    return length < SIZE_LENGTH && atoll(text) > 0;
}

int main(int argc, char **argv) {
    gsw_context_options options = {.size = sizeof options, .backend = GSW_BACKEND_CUDA};
    const char *stencils = "D3N7,D3N27";
    char sizes[SIZES_MAX][SIZE_LENGTH] = {"64x64x64", "128x128x128", "256x256x256"};
    int count = 0;
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--backend") == 0 && k + 1 < argc)
            options.backend = strcmp(argv[++k], "cpu") == 0 ? GSW_BACKEND_CPU : GSW_BACKEND_CUDA;
        else if (strcmp(argv[k], "--repeats") == 0 && k + 1 < argc)
            repeats = atoi(argv[++k]);
        else if (strcmp(argv[k], "--stencils") == 0 && k + 1 < argc)
            stencils = argv[++k];
        else if (strcmp(argv[k], "--calls") == 0 && k + 1 < argc)
            calls = argv[++k];
        else if (count < SIZES_MAX && name_size(argv[k], sizes[count]))
            count++;
        else {
            fprintf(stderr, PROGRAM ": bad argument '%s'; see the head of perf_queue.c\n", argv[k]);
            return 2;
        }
    }
    if (count == 0)
        count = 3;
    if (repeats < 2)
        repeats = 2;
    CHECK(gsw_context_create(&options, &context));
    printf("gridsweep %s, %s, microseconds per call in a queue of %d\n", gsw_commit(),
           gsw_context_device(context), QUEUE);
    printf("%-24s %-13s %12s %12s %12s %9s\n", "case", "call", "median", "min", "max", "error");
    for (int k = 0; k < count; k++) {
        char list[128];
        snprintf(list, sizeof list, "%s", stencils);
        for (char *name = strtok(list, ","); name != NULL; name = strtok(NULL, ","))
            measure_sweeps(name, sizes[k]);
        double *kept[COMPARED] = {NULL};
        measure_coefficients("arrays", 0, sizes[k], kept);
        measure_coefficients("constants", 1, sizes[k], kept);
        for (int i = 0; i < COMPARED; i++)
            free(kept[i]);
        for (size_t i = 0; i < sizeof iterations / sizeof iterations[0]; i++)
            if (chosen(iterations[i].call))
                measure_iteration(&iterations[i], sizes[k]);
    }
    gsw_context_destroy(context);
    return 0;
}
