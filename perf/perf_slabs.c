/* perf_slabs.c: one grid on several GPUs, a process for each.
 *
 *   mpirun -n P perf_slabs [--repeats N] [--kind ilu0|ic0|dilu|ssor|mg] [--method cg|bicgstab|none]
 *                          [--scope global|local] [--precision f32|f64] [--cuts Z,Z...]
 * [--iterations N] [--json FILE] PROBLEM...
 *
 * For each model problem with constant coefficients: milliseconds of a sweep (half an application
 * of the factor of the whole grid), of one application alone, of a product, of the set-up, of the
 * same with memory and windows that are there already (refactor), and of a whole solve of A x = 1
 * to 1e-8. A sweep is the median over N samples (11) of BATCH applications that are queued
 * without a wait; an application alone is timed from a barrier to the end of the slowest process.
 * Each process makes its own slab, so the grid may be larger than one machine's memory. --cuts: the
 * planes at which the slabs after the first one begin. With multigrid (mg) the column of sweeps has
 * half a cycle, and --precision is that of cycles.
 *
 * `hash` depends on every bit of M^-1 b for a certain b: equal hashes mean equal bits. It is taken
 * before and after the applications that are timed; the run fails where these two differ. `sketch`
 * (JSON) holds inner products of the solution, or of M^-1 b where nothing is solved, with vectors
 * of random signs. The root mean square of the differences between two sketches estimates the norm
 * of the difference between the two vectors; SKETCHES is the number of samples. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>
#include <gridsweep/mpi.h>
#define PROGRAM "perf_slabs"
#include "perf.h"

enum { REPEATS_MAX = 100, BATCH = 5, PLANES = 5, SKETCHES = 8, SLABS_MAX = 64 };

typedef struct settings {
    int repeats;
    gsw_factor_kind kind;
    int multigrid; /* in place of a factor */
    gsw_scope scope;
    gsw_dtype precision; /* of cycles */
    int method;          /* a gsw_method; -1: none */
    int64_t iterations;  /* at most; 0: the library's limit */
    const char *cuts;
    FILE *json;
    int written;
} settings;

typedef struct slab {
    gsw_partition *partition;
    gsw_matrix matrix;
    gsw_operator *op;
    gsw_factor *factor; /* this one or a hierarchy */
    gsw_multigrid *multigrid;
    gsw_preconditioner *preconditioner;
    gsw_grid grid; /* of the whole */
    int64_t begin, points;
    void *arrays[GSW_STENCIL_MAX];
    double *b, *x; /* on the device */
    double *host;
} slab;

typedef struct figures {
    double setup_ms, refactor_ms, sweep_ms, sweep_least, sweep_largest, alone_ms, product_ms,
        solve_ms, residual;
    long long iterations;
    unsigned long long hash, product_hash, solution_hash;
    double sketch[SKETCHES], norm;
    int64_t factor_bytes;
} figures;

static gsw_context *context;
static int rank, processes;

/* ---- The system -------------------------------------------------------------------------------
 */

static int parse(const char *text, char name[32], gsw_grid *grid) {
    long long n[3];
    if (sscanf(text, "%31[^:]:%lldx%lldx%lld", name, &n[0], &n[1], &n[2]) != 4 || n[2] < PLANES)
        return 0;
    *grid = (gsw_grid){n[0], n[1], n[2]};
    return 1;
}

/* The plane of a problem of PLANES planes that has the coefficients of plane z of the grid: the
 * coefficients are constant, except that couplings which leave the grid are 0. */
static int64_t model_plane(const gsw_grid *g, int64_t z) {
    const int64_t middle = PLANES / 2;
    return z < middle ? z : g->nz - 1 - z < middle ? PLANES - (g->nz - z) : middle;
}

static void make_matrix(slab *s, const char *name) {
    char text[96];
    gsw_problem *problem;
    const int64_t plane = s->grid.nx * s->grid.ny;
    snprintf(text, sizeof text, "%s:%lldx%lldx%d", name, (long long)s->grid.nx,
             (long long)s->grid.ny, PLANES);
    CHECK(gsw_problem_parse(context, text, NULL, &problem));
    const gsw_matrix *made = gsw_problem_matrix(problem);
    for (int32_t e = 0; e < made->stencil.count; e++) {
        const double *values = made->array.values[e];
        CHECK(gsw_memory_alloc(context, (size_t)s->points * sizeof(double), &s->arrays[e]));
        for (int64_t z = 0; z < s->points / plane; z++)
            CHECK(gsw_memory_upload(context, (double *)s->arrays[e] + z * plane,
                                    values + model_plane(&s->grid, s->begin + z) * plane,
                                    (size_t)plane * sizeof(double)));
    }
    const gsw_stencil_array array = {.values = (const void *const *)s->arrays,
                                     .value_type = GSW_F64};
    CHECK(gsw_partition_matrix_from_stencil(s->partition, &made->stencil, &array, &s->matrix));
    CHECK(gsw_operator_from_matrix(context, &s->matrix, &s->op));
    gsw_problem_destroy(problem);
}

static void fill(slab *s, double *device, uint64_t seed) {
    const size_t bytes = (size_t)s->points * sizeof(double);
    const int64_t plane = s->grid.nx * s->grid.ny;
#pragma omp parallel for
    for (int64_t z = 0; z < s->points / plane; z++) {
        double *host = s->host + z * plane;
        if (seed > 0)
            gsw_random_vector(seed + (uint64_t)(s->begin + z), plane, host);
        for (int64_t i = 0; seed == 0 && i < plane; i++)
            host[i] = 1;
    }
    CHECK(gsw_memory_upload(context, device, s->host, bytes));
}

/* Cuts the grid into slabs: equal ones, or as the list says. */
static void make_partition(slab *s, const char *list, const gsw_transport *transport) {
    int64_t cuts[SLABS_MAX + 1] = {0};
    gsw_partition_options options = {.size = sizeof options, .processes = {1, 1, processes}};
    if (list != NULL && processes <= SLABS_MAX) {
        for (int i = 1; i < processes; i++) {
            cuts[i] = strtol(list, (char **)(uintptr_t)&list, 10);
            list += *list == ',';
        }
        cuts[processes] = s->grid.nz;
        options.cuts[2] = cuts;
    }
    CHECK(gsw_partition_create(context, transport, &s->grid, &options, &s->partition));
}

static void open_slab(slab *s, const char *name, const char *cuts, const gsw_transport *transport) {
    make_partition(s, cuts, transport);
    const gsw_box box = gsw_partition_box(s->partition, rank);
    s->begin = box.begin[2];
    s->points = s->grid.nx * s->grid.ny * (box.end[2] - box.begin[2]);
    make_matrix(s, name);
    const size_t bytes = (size_t)s->points * sizeof(double);
    s->host = allocate(bytes);
    CHECK(gsw_memory_alloc(context, bytes, (void **)&s->b));
    CHECK(gsw_memory_alloc(context, bytes, (void **)&s->x));
}

static void close_slab(slab *s) {
    gsw_preconditioner_destroy(s->preconditioner);
    gsw_multigrid_destroy(s->multigrid);
    gsw_factor_destroy(s->factor);
    gsw_operator_destroy(s->op);
    gsw_partition_destroy(s->partition);
    for (int32_t e = 0; e < GSW_STENCIL_MAX; e++)
        gsw_memory_free(context, s->arrays[e]);
    gsw_memory_free(context, s->b);
    gsw_memory_free(context, s->x);
    free(s->host);
}

/* ---- Measuring --------------------------------------------------------------------------------
 */

static double slowest(double own) {
    double all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* The sum over all planes of a hash of plane and values. */
static unsigned long long hash_of(slab *s) {
    const int64_t plane = s->grid.nx * s->grid.ny;
    unsigned long long own = 0, all;
    CHECK(gsw_memory_download(context, s->host, s->x, (size_t)s->points * sizeof(double)));
#pragma omp parallel for reduction(+ : own)
    for (int64_t z = 0; z < s->points / plane; z++) {
        uint64_t hash = (uint64_t)(s->begin + z) + 1, bits;
        for (int64_t i = 0; i < plane; i++) {
            memcpy(&bits, &s->host[z * plane + i], sizeof bits);
            hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
            hash ^= hash >> 29;
        }
        own += hash;
    }
    MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* Inner products of the x that hash_of() has brought to the host with vectors of random signs, and
 * its norm. A bit of a number decides each sign, and the number depends on the place in the grid
 * alone. */
static void sketch_of(slab *s, figures *f) {
    const int64_t plane = s->grid.nx * s->grid.ny, planes = s->points / plane;
    double(*of)[SKETCHES + 1] = allocate((size_t)planes * sizeof *of);
    double own[SKETCHES + 1] = {0}, all[SKETCHES + 1];
#pragma omp parallel for
    for (int64_t z = 0; z < planes; z++) {
        double of_plane[SKETCHES + 1] = {0};
        for (int64_t i = z * plane; i < (z + 1) * plane; i++) {
            uint64_t bits = (uint64_t)(s->begin * plane + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
            bits = (bits ^ bits >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
            bits ^= bits >> 29;
            for (int k = 0; k < SKETCHES; k++)
                of_plane[k] += bits >> (8 * k + 3) & 1 ? s->host[i] : -s->host[i];
            of_plane[SKETCHES] += s->host[i] * s->host[i];
        }
        memcpy(of[z], of_plane, sizeof of_plane);
    }
    for (int64_t z = 0; z < planes; z++) {
        for (int k = 0; k <= SKETCHES; k++)
            own[k] += of[z][k];
    }
    free(of);
    MPI_Allreduce(own, all, SKETCHES + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    memcpy(f->sketch, all, sizeof f->sketch);
    f->norm = sqrt(all[SKETCHES]);
}

static const char *kind_name(const settings *set) {
    return set->multigrid ? "mg" : gsw_factor_kind_name(set->kind);
}

/* Milliseconds of one of `batch` calls. */
static double time_calls(slab *s, int product, int batch) {
    CHECK(gsw_context_synchronize(context));
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_ms();
    for (int i = 0; i < batch; i++)
        CHECK(product ? gsw_operator_apply(context, s->op, s->b, s->x)
                      : gsw_preconditioner_apply(context, s->preconditioner, s->b, s->x));
    CHECK(gsw_context_synchronize(context));
    return slowest(now_ms() - begin) / batch;
}

static double median_of_calls(const settings *set, slab *s, int product, int batch, double *least,
                              double *largest) {
    double ms[REPEATS_MAX];
    time_calls(s, product, batch);
    for (int i = 0; i < set->repeats; i++)
        ms[i] = time_calls(s, product, batch);
    const double middle = median(ms, set->repeats);
    *least = ms[0];
    *largest = ms[set->repeats - 1];
    return middle;
}

static void solve(const settings *set, slab *s, figures *f) {
    gsw_krylov_result result = {.size = sizeof result};
    gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-8, .max_iterations = 5};
    for (int i = 0; i < 2; i++) { /* the first one warms up, in few iterations */
        fill(s, s->b, 0);
        CHECK(gsw_memory_set(context, s->x, 0, (size_t)s->points * sizeof(double)));
        CHECK(gsw_context_synchronize(context));
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = now_ms();
        const gsw_status status = gsw_krylov(context, (gsw_method)set->method, s->op,
                                             s->preconditioner, &options, s->b, s->x, &result);
        if (status != GSW_ERROR_NOT_CONVERGED)
            CHECK(status);
        CHECK(gsw_context_synchronize(context));
        f->solve_ms = slowest(now_ms() - begin);
        options.max_iterations = set->iterations;
    }
    f->iterations = result.iterations;
    f->residual = result.residual;
}

static void write_json(settings *set, const char *problem, const figures *f) {
    if (set->json == NULL)
        return;
    fprintf(set->json,
            "%s\n  {\"command\": \"perf_slabs\", \"version\": \"%s\", \"commit\": \"%s\", "
            "\"device\": \"%s\", \"processes\": %d, \"problem\": \"%s\", \"precond\": \"%s\", "
            "\"scope\": \"%s\", \"cycle_type\": %s, \"factor_bytes\": %lld, "
            "\"setup_ms\": %.3f, \"refactor_ms\": %.3f, \"sweep_ms\": {\"median\": %.4f, \"min\": "
            "%.4f, \"max\": %.4f, \"repeats\": %d}, \"apply_alone_ms\": %.4f, \"product_ms\": "
            "%.4f, \"method\": %s%s%s, "
            "\"iterations\": %lld, \"solve_ms\": %.3f, \"residual\": %.3e, \"hash\": \"%016llx\", "
            "\"product_hash\": \"%016llx\", \"solution_hash\": \"%016llx\", "
            "\"norm\": %.17g, \"sketch\": [",
            set->written++ > 0 ? "," : "", gsw_version(), gsw_commit(), gsw_context_device(context),
            processes, problem, kind_name(set), gsw_scope_name(set->scope),
            !set->multigrid             ? "null"
            : set->precision == GSW_F32 ? "\"f32\""
                                        : "\"f64\"",
            (long long)f->factor_bytes, f->setup_ms, f->refactor_ms, f->sweep_ms, f->sweep_least,
            f->sweep_largest, set->repeats, f->alone_ms, f->product_ms,
            set->method < 0 ? "null" : "\"",
            set->method < 0 ? "" : gsw_method_name((gsw_method)set->method),
            set->method < 0 ? "" : "\"", f->iterations, f->solve_ms, f->residual, f->hash,
            f->product_hash, f->solution_hash, f->norm);
    for (int k = 0; k < SKETCHES; k++)
        fprintf(set->json, "%s%.17g", k > 0 ? ", " : "", f->sketch[k]);
    fputs("]}", set->json);
    fflush(set->json);
}

/* The preconditioner; milliseconds. A hierarchy is built twice: the first one warms up. */
static double set_up(const settings *set, slab *s, const gsw_factor_options *options) {
    const gsw_multigrid_options hierarchy = {
        .size = sizeof hierarchy, .scope = set->scope, .cycle_type = set->precision};
    double begin = 0;
    for (int i = 0; i < (set->multigrid ? 2 : 1); i++) {
        gsw_multigrid_destroy(s->multigrid);
        s->multigrid = NULL;
        CHECK(gsw_context_synchronize(context));
        MPI_Barrier(MPI_COMM_WORLD);
        begin = now_ms();
        if (set->multigrid)
            CHECK(gsw_multigrid_create(context, &s->matrix, &hierarchy, &s->multigrid));
        else
            CHECK(gsw_factor_create(context, &s->matrix, options, &s->factor));
    }
    const double ms = slowest(now_ms() - begin);
    CHECK(set->multigrid
              ? gsw_preconditioner_from_multigrid(context, s->multigrid, &s->preconditioner)
              : gsw_preconditioner_from_factor(context, s->factor, &s->preconditioner));
    return ms;
}

/* The same values once more; milliseconds. */
static double refactor(const settings *set, const slab *s) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_ms();
    CHECK(set->multigrid ? gsw_multigrid_refactor(context, s->multigrid, &s->matrix)
                         : gsw_factor_refactor(context, s->factor, &s->matrix, NULL));
    CHECK(gsw_context_synchronize(context));
    return slowest(now_ms() - begin);
}

static void measure(settings *set, const char *problem, const gsw_transport *transport) {
    char name[32];
    slab s = {.partition = NULL};
    figures f = {.solve_ms = 0};
    gsw_factor_info info = {.size = sizeof info};
    double ignored;
    if (!parse(problem, name, &s.grid)) {
        fprintf(stderr, PROGRAM ": %s is not NAME:NXxNYxNZ\n", problem);
        exit(EXIT_FAILURE);
    }
    open_slab(&s, name, set->cuts, transport);
    const gsw_factor_options options = {
        .size = sizeof options, .kind = set->kind, .scope = set->scope};
    f.setup_ms = set_up(set, &s, &options);
    f.refactor_ms = refactor(set, &s);
    if (gsw_factor_get_info(s.factor, &info) == GSW_SUCCESS)
        f.factor_bytes = info.packed_bytes + info.work_bytes;
    fill(&s, s.b, 1);
    CHECK(gsw_memory_set(context, s.x, 0xff, (size_t)s.points * sizeof(double)));
    time_calls(&s, 0, 1);
    f.hash = hash_of(&s);
    f.sweep_ms = median_of_calls(set, &s, 0, BATCH, &f.sweep_least, &f.sweep_largest) / 2;
    f.sweep_least /= 2;
    f.sweep_largest /= 2;
    f.alone_ms = median_of_calls(set, &s, 0, 1, &ignored, &ignored);
    if (hash_of(&s) != f.hash) {
        fprintf(stderr, PROGRAM ": %s: two applications differ\n", problem);
        exit(EXIT_FAILURE);
    }
    if (set->method < 0)
        sketch_of(&s, &f);
    f.product_ms = median_of_calls(set, &s, 1, BATCH, &ignored, &ignored);
    f.product_hash = hash_of(&s);
    if (set->method >= 0) {
        solve(set, &s, &f);
        f.solution_hash = hash_of(&s);
        sketch_of(&s, &f);
    }
    if (rank == 0) {
        printf("%-24s %2d %9.1f %9.1f %8.4f (%.4f to %.4f) %8.4f %8.4f %9.1f %5lld %9.2e %016llx "
               "%016llx %016llx\n",
               problem, processes, f.setup_ms, f.refactor_ms, f.sweep_ms, f.sweep_least,
               f.sweep_largest, f.alone_ms, f.product_ms, f.solve_ms, f.iterations, f.residual,
               f.hash, f.product_hash, f.solution_hash);
        fflush(stdout);
        write_json(set, problem, &f);
    }
    close_slab(&s);
}

/* ---- The program ------------------------------------------------------------------------------
 */

static void set_kind(settings *set, const char *name) {
    set->multigrid = strcmp(name, "mg") == 0;
    if (!set->multigrid)
        set->kind = kind_of(name);
}

static int method_of(const char *name) {
    return strcmp(name, "cg") == 0 ? (int)GSW_CG : strcmp(name, "none") == 0 ? -1 : GSW_BICGSTAB;
}

/* The place of this process among those of its machine. */
static int local_rank(void) {
    MPI_Comm machine;
    int place;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &place);
    MPI_Comm_free(&machine);
    return place;
}

static void log_message(void *user, gsw_status status, const char *message) {
    (void)user;
    if (status != GSW_SUCCESS && status != GSW_ERROR_NOT_CONVERGED)
        fprintf(stderr, PROGRAM ": process %d: %s\n", rank, message);
}

int main(int argc, char **argv) {
    settings set = {
        .repeats = 11, .kind = GSW_ILU0, .scope = GSW_SCOPE_GLOBAL, .method = GSW_BICGSTAB};
    gsw_transport *transport;
    int i = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--repeats") == 0)
            set.repeats = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--kind") == 0)
            set_kind(&set, argv[i + 1]);
        else if (strcmp(argv[i], "--scope") == 0)
            set.scope = strcmp(argv[i + 1], "local") == 0 ? GSW_SCOPE_LOCAL : GSW_SCOPE_GLOBAL;
        else if (strcmp(argv[i], "--precision") == 0)
            set.precision = strcmp(argv[i + 1], "f32") == 0 ? GSW_F32 : GSW_F64;
        else if (strcmp(argv[i], "--method") == 0)
            set.method = method_of(argv[i + 1]);
        else if (strcmp(argv[i], "--cuts") == 0)
            set.cuts = argv[i + 1];
        else if (strcmp(argv[i], "--iterations") == 0)
            set.iterations = atoll(argv[i + 1]);
        else if (strcmp(argv[i], "--json") == 0 && rank == 0 &&
                 (set.json = fopen(argv[i + 1], "w")) == NULL) {
            perror(argv[i + 1]);
            return EXIT_FAILURE;
        }
    }
    set.repeats = set.repeats < 1 ? 1 : set.repeats > REPEATS_MAX ? REPEATS_MAX : set.repeats;
    const int devices = gsw_device_count();
    if (devices == 0) {
        fputs(PROGRAM ": no CUDA device answers\n", stderr);
        MPI_Finalize();
        return 77;
    }
    const gsw_context_options options = {.size = sizeof options,
                                         .backend = GSW_BACKEND_CUDA,
                                         .device = local_rank() % devices,
                                         .log = log_message};
    CHECK(gsw_context_create(&options, &context));
    CHECK(gsw_mpi_transport_create(context, MPI_COMM_WORLD, &transport));
    if (rank == 0)
        printf("gridsweep %s, %s, %s\n%-24s %2s %9s %9s %29s %8s %8s %9s %5s %9s %16s %16s\n",
               gsw_commit(), gsw_context_device(context), kind_name(&set), "problem", "P", "set-up",
               "refactor", "sweep", "apply", "product", "solve", "it.", "residual", "hash",
               "of the solution");
    if (set.json != NULL)
        fputs("{\"results\": [", set.json);
    for (; i < argc; i++)
        measure(&set, argv[i], transport);
    if (set.json != NULL && (fputs("\n]}\n", set.json) < 0 || fclose(set.json) != 0)) {
        perror(PROGRAM);
        return EXIT_FAILURE;
    }
    gsw_mpi_transport_destroy(transport);
    gsw_context_destroy(context);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
