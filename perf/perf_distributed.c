/* perf_distributed.c: one application of a preconditioner on several processes.
 *
 *   mpirun -n P perf_distributed [--threads T] [--repeats N] [--kind ilu0|ic0|dilu|ssor]
 *                                [--boxes XxYxZ] [--json FILE] PROBLEM...
 *
 * For each problem, medians in milliseconds over N applications (default 21, after two that do not
 * count), each from a barrier to the end of the slowest process: the packed factor of the whole
 * grid on one process (P = 1 only), the local and the global preconditioner, the product with A,
 * and the times to make both and to refactor the global one (the least of N). The matrix is
 * made whole in process 0. The JSON holds each median with the least and the largest time;
 * scaling_model.py reads it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/mpi.h>
#define PROGRAM "perf_distributed"
#include "perf.h"

enum { REPEATS_MAX = 200 };

static gsw_context *context;
static int rank, repeats = 21;
static gsw_partition_options cut = {.size = sizeof cut};
static FILE *json;  /* NULL: none */
static int written; /* results in it */

typedef struct times {
    double median, least, largest;
} times;

typedef gsw_status (*action)(void *what, const double *b, double *x);

static gsw_status apply_factor(void *what, const double *b, double *x) {
    return gsw_factor_solve(context, what, 1, b, 0, x, 0);
}

static gsw_status apply_preconditioner(void *what, const double *b, double *x) {
    return gsw_preconditioner_apply(context, what, b, x);
}

static gsw_status apply_operator(void *what, const double *b, double *x) {
    return gsw_operator_apply(context, what, b, x);
}

static times time_of(action act, void *what, const double *b, double *x) {
    double ms[REPEATS_MAX];
    for (int r = -2; r < repeats; r++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double own = now_ms(), slowest;
        CHECK(act(what, b, x));
        own = now_ms() - own;
        MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (r >= 0)
            ms[r] = slowest;
    }
    const double middle = median(ms, repeats); /* sorts them */
    return (times){middle, ms[0], ms[repeats - 1]};
}

static void write_result(const char *problem, const gsw_grid *grid, gsw_factor_kind kind,
                         int processes, const char *what, const times *t) {
    if (json == NULL)
        return;
    fprintf(json,
            "%s\n  {\"command\": \"perf_distributed\", \"version\": \"%s\", \"commit\": \"%s\", "
            "\"backend\": \"cpu\", \"device\": \"%s\", \"threads\": %d, \"processes\": %d, "
            "\"problem\": \"%s\", \"grid\": [%lld, %lld, %lld], \"precond\": \"%s\", "
            "\"what\": \"%s\", \"time_ms\": {\"median\": %.4f, \"min\": %.4f, \"max\": %.4f, "
            "\"repeats\": %d}}",
            written++ > 0 ? "," : "", gsw_version(), gsw_commit(), gsw_context_device(context),
            gsw_context_threads(context), processes, problem, (long long)grid->nx,
            (long long)grid->ny, (long long)grid->nz, gsw_factor_kind_name(kind), what, t->median,
            t->least, t->largest, repeats);
}

static double *vector(int64_t points) {
    double *x = allocate((size_t)points * sizeof *x);
    for (int64_t i = 0; i < points; i++)
        x[i] = 1;
    return x;
}

static void measure(const char *name, gsw_factor_kind kind, const gsw_transport *transport) {
    gsw_problem *problem;
    gsw_partition *partition;
    gsw_matrix matrix;
    gsw_operator *op;
    gsw_factor *local, *global;
    gsw_preconditioner *local_M, *global_M;
    CHECK(gsw_problem_parse(context, name, NULL, &problem));
    const gsw_matrix *whole = gsw_problem_matrix(problem);
    CHECK(gsw_partition_create(context, transport, &whole->grid, &cut, &partition));
    CHECK(gsw_partition_scatter(partition, 0, whole, &matrix));
    CHECK(gsw_operator_from_matrix(context, &matrix, &op));
    gsw_factor_options options = {.size = sizeof options, .kind = kind};
    const int64_t points = gsw_operator_points(op);
    double *b = vector(points), *x = vector(points);
    times packed = {0};
    if (transport->processes == 1) {
        const gsw_factor_options plain = {.size = sizeof plain, .kind = kind};
        gsw_factor *factor;
        CHECK(gsw_factor_create(context, whole, &plain, &factor));
        packed = time_of(apply_factor, factor, b, x);
        gsw_factor_destroy(factor);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now_ms(), refactor = HUGE_VAL;
    CHECK(gsw_factor_create(context, &matrix, &options, &local));
    const double setup_local = now_ms() - begin;
    options.scope = GSW_SCOPE_GLOBAL;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = now_ms();
    CHECK(gsw_factor_create(context, &matrix, &options, &global));
    const double setup = now_ms() - begin;
    for (int r = 0; r < repeats; r++) {
        MPI_Barrier(MPI_COMM_WORLD);
        begin = now_ms();
        CHECK(gsw_factor_refactor(context, global, &matrix, NULL));
        refactor = fmin(refactor, now_ms() - begin);
    }
    CHECK(gsw_preconditioner_from_factor(context, local, &local_M));
    CHECK(gsw_preconditioner_from_factor(context, global, &global_M));
    const times of_local = time_of(apply_preconditioner, local_M, b, x);
    const times of_global = time_of(apply_preconditioner, global_M, b, x);
    const times product = time_of(apply_operator, op, b, x);
    if (rank == 0)
        printf("%-26s %4d %8d %9.3f %9.3f %9.3f %9.3f %9.1f %9.1f %9.1f\n", name,
               transport->processes, gsw_context_threads(context), packed.median, of_local.median,
               of_global.median, product.median, setup_local, setup, refactor);
    if (transport->processes == 1)
        write_result(name, &whole->grid, kind, 1, "packed", &packed);
    write_result(name, &whole->grid, kind, transport->processes, "local", &of_local);
    write_result(name, &whole->grid, kind, transport->processes, "global", &of_global);
    write_result(name, &whole->grid, kind, transport->processes, "product", &product);
    gsw_preconditioner_destroy(global_M);
    gsw_preconditioner_destroy(local_M);
    gsw_factor_destroy(global);
    gsw_factor_destroy(local);
    gsw_operator_destroy(op);
    gsw_matrix_release(context, &matrix);
    gsw_partition_destroy(partition);
    gsw_problem_destroy(problem);
    free(b);
    free(x);
}

int main(int argc, char **argv) {
    gsw_context_options options = {.size = sizeof options, .backend = GSW_BACKEND_CPU};
    gsw_factor_kind kind = GSW_ILU0;
    gsw_transport *transport;
    int i = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--threads") == 0)
            options.threads = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--repeats") == 0)
            repeats = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--kind") == 0)
            kind = kind_of(argv[i + 1]);
        else if (strcmp(argv[i], "--boxes") == 0 &&
                 sscanf(argv[i + 1], "%" SCNd32 "x%" SCNd32 "x%" SCNd32, &cut.processes[0],
                        &cut.processes[1], &cut.processes[2]) == 3)
            continue;
        else if (strcmp(argv[i], "--json") == 0 && rank == 0 &&
                 (json = fopen(argv[i + 1], "w")) == NULL) {
            perror(argv[i + 1]);
            return EXIT_FAILURE;
        }
    }
    repeats = repeats < 1 ? 1 : repeats > REPEATS_MAX ? REPEATS_MAX : repeats;
    CHECK(gsw_context_create(&options, &context));
    CHECK(gsw_mpi_transport_create(context, MPI_COMM_WORLD, &transport));
    if (rank == 0)
        printf("gridsweep %s, %s\n%-26s %4s %8s %9s %9s %9s %9s %9s %9s %9s\n", gsw_commit(),
               gsw_context_device(context), "problem", "P", "threads", "packed", "local", "global",
               "product", "make local", "global", "refactor");
    if (json != NULL)
        fputs("{\"results\": [", json);
    for (; i < argc; i++)
        measure(argv[i], kind, transport);
    if (json != NULL && (fputs("\n]}\n", json) < 0 || fclose(json) != 0)) {
        perror(PROGRAM);
        return EXIT_FAILURE;
    }
    gsw_mpi_transport_destroy(transport);
    gsw_context_destroy(context);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
