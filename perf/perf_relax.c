/* perf_relax.c: passes of stencil loops with ghost zones, for all tiles: what the model's constants
 * come from (kernels/cpu/relax/relax_ops.c, kernels/cuda/relax/relax.cu).
 *
 *   perf_relax [--f32] BACKEND STENCIL EXTENTS [LEAST [MOST [--all]]]
 *   such as: perf_relax cuda D3N7 256x256x256 1 8
 *
 * For each height it prints the tile that the model takes and the one that is the fastest, with
 * measured and predicted milliseconds per sweep; with --all every tile. Coefficients vary. Times
 * are medians of 5 batches of passes that take at least 3 ms. The last line compares the model's
 * height and tile with the fastest of all. */
#include <math.h>
#define PROGRAM "perf_relax"
#include "perf.h"

#include "sweep/relax_model.h"
#include "contract/backend.h"
#include "contract/context.h"

enum { BATCHES = 5 };

typedef struct loop {
    gsw_context *context;
    gsw_matrix matrix;
    const void *arrays[GSW_STENCIL_MAX];
    void *b, *x[2];
} loop;

static gsw_context *context; /* of CHECK */
static gsw_dtype type = GSW_F64;

/* A copy in the context's memory, of the type to measure. */
static void *upload(double *values, int64_t points) {
    const size_t bytes = (size_t)points * gsw_dtype_size(type);
    float *narrow = type == GSW_F32 ? allocate(bytes) : NULL;
    void *there;
    for (int64_t i = 0; narrow && i < points; i++)
        narrow[i] = (float)values[i];
    CHECK(gsw_memory_alloc(context, bytes, &there));
    CHECK(gsw_memory_upload(context, there, narrow ? (void *)narrow : values, bytes));
    free(narrow);
    return there;
}

static void open_loop(loop *l, const char *stencil, const char *extents) {
    long long n[3] = {1, 1, 1};
    if (sscanf(extents, "%lldx%lldx%lld", &n[0], &n[1], &n[2]) < 1) {
        fprintf(stderr, PROGRAM ": bad extents %s\n", extents);
        exit(EXIT_FAILURE);
    }
    l->matrix.grid = (gsw_grid){n[0], n[1], n[2]};
    CHECK(gsw_stencil_named(stencil, &l->matrix.stencil));
    l->matrix.format = GSW_FORMAT_STENCIL;
    const int64_t points = n[0] * n[1] * n[2];
    const int32_t count = l->matrix.stencil.count;
    double *values = allocate((size_t)points * sizeof *values);
    gsw_random_vector(1, points, values);
    for (int32_t e = 0; e < count; e++)
        if (e != l->matrix.stencil.center)
            l->arrays[e] = upload(values, points);
    l->b = upload(values, points);
    l->x[0] = upload(values, points);
    l->x[1] = upload(values, points);
    for (int64_t i = 0; i < points; i++)
        values[i] = 2 * count + values[i];
    l->arrays[l->matrix.stencil.center] = upload(values, points);
    free(values);
    l->matrix.array = (gsw_stencil_array){.values = l->arrays, .value_type = type};
}

static double time_passes(const loop *l, const gsw_relax_tile *tile, void *work, int passes) {
    const double start = now_ms();
    for (int k = 0; k < passes; k++) {
        gsw_relax_pass pass = {.matrix = &l->matrix,
                               .tile = tile,
                               .sweeps = tile->height,
                               .b = l->b,
                               .x = l->x[k % 2],
                               .y = l->x[(k + 1) % 2],
                               .work = work};
        for (int32_t s = 0; s < tile->height; s++)
            pass.alpha[s] = 1;
        CHECK(context->ops->relax->pass(context, &pass));
    }
    CHECK(gsw_context_synchronize(context));
    return now_ms() - start;
}

/* Milliseconds per sweep. */
static double measure(const loop *l, const gsw_relax_tile *tile) {
    void *work = tile->work_bytes > 0 ? malloc(tile->work_bytes) : NULL;
    double times[BATCHES];
    (void)time_passes(l, tile, work, 1);
    const double one = time_passes(l, tile, work, 2) / 2;
    const int passes = one > 3 ? 1 : (int)ceil(3 / (one + 1e-6));
    for (int k = 0; k < BATCHES; k++)
        times[k] = time_passes(l, tile, work, passes) / passes / tile->height;
    free(work);
    return median(times, BATCHES);
}

static void print(const char *what, const gsw_relax_tile *t, const gsw_relax_cost *c, double ms) {
    printf(
        "%-7s %d %5lldx%lldx%lld workers %lld ms %.5f predicted %.5f memory %.5f arithmetic %.5f "
        "moved %.0f GB/s\n",
        what, (int)t->height, (long long)t->extent[0], (long long)t->extent[1],
        (long long)t->extent[2], (long long)t->workers, ms, 1e3 * c->seconds / t->height,
        1e3 * c->memory / t->height, 1e3 * c->arithmetic / t->height,
        c->moved / t->height / ms * 1e-6);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--f32") == 0) {
        type = GSW_F32;
        argc--;
        argv++;
    }
    if (argc < 4) {
        fprintf(stderr,
                "usage: perf_relax [--f32] BACKEND STENCIL EXTENTS [LEAST [MOST [--all]]]\n");
        return EXIT_FAILURE;
    }
    gsw_context_options options = {.size = sizeof options,
                                   .backend = strcmp(argv[1], "cuda") == 0 ? GSW_BACKEND_CUDA
                                                                           : GSW_BACKEND_CPU};
    const int least = argc > 4 ? atoi(argv[4]) : 1, most = argc > 5 ? atoi(argv[5]) : 8;
    const int all = argc > 6;
    CHECK(gsw_context_create(&options, &context));
    loop l = {.context = context};
    open_loop(&l, argv[2], argv[3]);
    printf("# %s %s %s\n", context->device, argv[2], argv[3]);
    CHECK(context->ops->relax->prepare(context, &l.matrix));
    gsw_relax_machine machine;
    context->ops->relax->machine(context, type, &machine);
    double best = INFINITY, chosen = 0, chosen_by = INFINITY, first = 0;
    for (int32_t h = least; h <= most; h++) {
        gsw_relax_tile tile, fastest = {0}, taken = {0};
        gsw_relax_cost its = {0}, its_taken = {0};
        double ms_fastest = INFINITY, ms_taken = INFINITY, least_predicted = INFINITY;
        for (int32_t k = 0;; k++) {
            CHECK(context->ops->relax->tile(context, &l.matrix, h, k, &tile));
            if (tile.height == 0)
                break;
            const gsw_relax_cost cost = gsw_relax_predict(&machine, &l.matrix, 0, &tile);
            const double ms = measure(&l, &tile);
            if (all)
                print("tile", &tile, &cost, ms);
            if (ms < ms_fastest)
                ms_fastest = ms, fastest = tile, its = cost;
            if (cost.seconds < least_predicted)
                least_predicted = cost.seconds, taken = tile, its_taken = cost, ms_taken = ms;
        }
        if (ms_fastest == INFINITY)
            continue;
        print("fastest", &fastest, &its, ms_fastest);
        print("model", &taken, &its_taken, ms_taken);
        first = h == 1 ? ms_fastest : first;
        best = ms_fastest < best ? ms_fastest : best;
        if (least_predicted / h < chosen_by)
            chosen_by = least_predicted / h, chosen = ms_taken;
    }
    printf("# chosen %.5f ms, best %.5f ms, ratio %.3f; height 1 %.5f ms, gain %.2f\n", chosen,
           best, chosen / best, first, first / chosen);
    return EXIT_SUCCESS;
}
