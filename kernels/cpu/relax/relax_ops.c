/* relax_ops.c: tiles of stencil loops for a CPU's caches, and their model's constants. */
#include "contract/backend.h"
#include "contract/context.h"
#include "cpu/core/cores.h"
#include "cpu/core/kernels.h"
#include "relax.h"
#include "geometry/ghost.h"

enum { GRAIN = 4096 }; /* points of a pass: as many take about as long as waking a thread */

/* Points of a tile along each axis, as far as the grid reaches. Whole lines come first, because
 * their values lie side by side. */
static const int64_t tiles[][3] = {{INT64_MAX, 16, 16}, {INT64_MAX, 8, 8},  {INT64_MAX, 32, 32},
                                   {INT64_MAX, 64, 64}, {INT64_MAX, 32, 8}, {512, 16, 16},
                                   {512, 32, 32},       {512, 64, 16},      {256, 8, 8},
                                   {256, 16, 16},       {256, 32, 32},      {128, 16, 16},
                                   {128, 64, 64},       {2048, 32, 1},      {1024, 64, 1},
                                   {512, 128, 1},       {INT64_MAX, 128, 1}};

/* Tiles for one sweep, which has no use for a cache: some for each thread, in the order of the rows
 * as far as possible. Memory is the faster, the longer the ranges are that a thread reads. */
static void cut_evenly(const gsw_context *context, const int64_t extent[3], int64_t tile[3]) {
    static const int64_t least[3] = {4096, 1, 1};
    int64_t wanted = 8 * (int64_t)context->threads;
    for (int a = 2; a >= 0; a--) {
        const int64_t even = extent[a] / wanted, most = even > least[a] ? even : least[a];
        tile[a] = most < extent[a] ? most : extent[a];
        wanted = (wanted * tile[a] + extent[a] - 1) / extent[a];
    }
}

static gsw_status cpu_tile(gsw_context *context, const gsw_matrix *matrix, int32_t height,
                           int32_t k, gsw_relax_tile *tile) {
    const gsw_grid *g = &matrix->grid;
    const int64_t extent[3] = {g->nx, g->ny, g->nz};
    const int64_t least = (int64_t)(sizeof tiles / sizeof *tiles);
    int64_t values = 1;
    int32_t reach[3];
    *tile = (gsw_relax_tile){0};
    if (k >= (height == 1 ? 1 : least))
        return GSW_SUCCESS;
    gsw_stencil_reach(&matrix->stencil, g, reach);
    *tile = (gsw_relax_tile){
        .height = height, .stream = -1, .workers = context->threads, .load = 1, .effort = 1};
    if (height == 1) {
        cut_evenly(context, extent, tile->extent);
        return GSW_SUCCESS;
    }
    for (int a = 0; a < 3; a++) {
        const int64_t ghost = 2 * (int64_t)(height - 1) * reach[a];
        tile->extent[a] = tiles[k][a] < extent[a] ? tiles[k][a] : extent[a];
        values *= tile->extent[a] + ghost < extent[a] ? tile->extent[a] + ghost : extent[a];
    }
    tile->work_bytes =
        (size_t)context->threads * 4 * (size_t)values * gsw_dtype_size(matrix->array.value_type);
    return GSW_SUCCESS;
}

static gsw_status cpu_prepare(gsw_context *context, const gsw_matrix *matrix) {
    (void)context;
    (void)matrix;
    return GSW_SUCCESS;
}

static gsw_status cpu_pass(gsw_context *context, const gsw_relax_pass *pass) {
    const gsw_cpu_kernels *kernels = context->backend_data;
    const gsw_grid *g = &pass->matrix->grid;
    const int64_t extent[3] = {g->nx, g->ny, g->nz};
    gsw_relax_job job = {.pass = pass, .buffers = pass->work};
    gsw_stencil_reach(&pass->matrix->stencil, g, job.reach);
    for (int a = 0; a < 3; a++) {
        job.tile[a] = pass->tile->extent[a];
        job.tiles[a] = (extent[a] + job.tile[a] - 1) / job.tile[a];
    }
    job.buffer =
        (int64_t)(pass->tile->work_bytes / gsw_dtype_size(pass->matrix->array.value_type)) /
        (4 * context->threads);
    kernels->relax(gsw_useful_threads(context, g->nx * g->ny * g->nz, GRAIN), &job);
    return GSW_SUCCESS;
}

/* Constants of the model, fitted to the times of 500 tiles with two threads of an EPYC whose cores
 * share 32 MB (perf/DECISIONS.md, Model of stencil loops). */
static void cpu_machine(gsw_context *context, gsw_dtype type, gsw_relax_machine *machine) {
    /* A copy is measured with all threads. */
    const double copy = context->threads > 1 ? 1e6 * (double)context->tuning.copy_mb_s : 0;
    const double share = (double)gsw_dtype_size(type) / sizeof(double); /* of a register */
    *machine = (gsw_relax_machine){.bandwidth = copy > 0 ? copy : 5.5e10,
                                   .ghost = 0.3,
                                   .point = 1.2e-11 * share,
                                   .term = 2.8e-10 * share,
                                   .line = 5.8e-8,
                                   .short_line = GSW_RELAX_SHORT,
                                   .cache_bytes = 8 << 20,
                                   .overlap = 0};
}

const gsw_relax_ops gsw_cpu_relax_ops = {
    .machine = cpu_machine, .tile = cpu_tile, .prepare = cpu_prepare, .pass = cpu_pass};
