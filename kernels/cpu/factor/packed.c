/* packed.c: sweeps of packed factors, and their values from and to arrays in natural order. */
#include <string.h>

#include "packed.h"
#include "contract/context.h"
#include "common/csr.h"
#include "cpu/core/cores.h"
#include "cpu/factor/factors.h"
#include "cpu/core/kernels.h"

static const gsw_cpu_kernels *kernels_of(const gsw_context *context) {
    return (const gsw_cpu_kernels *)context->backend_data;
}

int gsw_cpu_band_threads(const gsw_context *context, const gsw_chains *g, int64_t pencils) {
    const gsw_tuning *tuning = &context->tuning;
    const int useful =
        gsw_useful_threads(context, g->points * pencils / g->pencils,
                           g->nz == 1 ? tuning->sweep_grain_flat : tuning->sweep_grain);
    /* A pencil follows the one before at this distance. So the steps of a pencil bound the number
     * of threads that have work. */
    const int64_t behind = tuning->sweep_chunk + (int64_t)g->chains * g->skew;
    const int64_t busy = (g->records / g->pencils + behind - 1) / behind;
    const int64_t most = busy < pencils ? busy : pencils;
    const int threads = useful < most ? useful : (int)most;
    /* Very short lines: another core's values arrive later than a plane of a pencil is swept. */
    return (threads - 1) * g->nx < 8 ? 1 : threads;
}

static int sweep_threads(const gsw_context *context, const gsw_chains *g) {
    return gsw_cpu_band_threads(context, g, g->pencils);
}

/* ---- Sweeps -----------------------------------------------------------------------------------
 */

/* All pencils, without vectors. */
static gsw_sweep_job job_of(const gsw_context *context, const gsw_factor *factor, int which) {
    struct gsw_packed *packed = factor->packed;
    const int upper = packed->upper[which];
    return (gsw_sweep_job){
        .chains = upper ? &packed->mirrored : &packed->chains,
        .upper = upper,
        .end = packed->chains.pencils,
        .chunk = context->tuning.sweep_chunk,
        .slack = context->tuning.sweep_slack,
        .factor_type = factor->options.factor_type,
        .vector_type = factor->options.vector_type,
        .diagonal = packed->part[upper].diagonal,
        .packed = packed->part[upper].packed,
        .records = &packed->records[upper],
        .count = 1,
        .progress = &packed->progress,
        .work = packed->sweep_work,
        .work_bytes = packed->sweep_work_bytes,
    };
}

gsw_status gsw_cpu_factor_sweep(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                                const void *b, int64_t ldb, void *x, int64_t ldx) {
    struct gsw_packed *packed = factor->packed;
    const size_t size = gsw_dtype_size(factor->options.vector_type);
    if (factor->options.kind == GSW_JACOBI) {
        gsw_cpu_apply_jacobi(context, factor, packed->reciprocal, count, b, ldb, x, ldx);
        return GSW_SUCCESS;
    }
    gsw_sweep_job job = job_of(context, factor, which);
    job.threads = sweep_threads(context, &packed->chains);
    job.ldb = ldb;
    job.ldx = ldx;
    for (int64_t r = 0; r < count; r += RHS_BATCH) {
        job.count = count - r < RHS_BATCH ? count - r : RHS_BATCH;
        job.b = (const char *)b + (size_t)(r * ldb) * size;
        job.x = (char *)x + (size_t)(r * ldx) * size;
        kernels_of(context)->sweep(&job);
    }
    return GSW_SUCCESS;
}

void gsw_cpu_sweep_bands(gsw_context *context, gsw_factor *factor, const gsw_band_sweep *sweep) {
    const gsw_chains *g = &factor->packed->chains;
    gsw_sweep_job job = job_of(context, factor, sweep->which);
    job.begin = sweep->begin;
    job.end = sweep->end;
    job.b = sweep->b;
    job.x = sweep->x;
    job.ghosts = sweep->ghosts;
    job.threads = gsw_cpu_band_threads(context, g, job.end - job.begin);
    if (job.end > job.begin)
        kernels_of(context)->sweep(&job);
}

void gsw_cpu_bands(const gsw_factor *factor, gsw_bands *bands) {
    const gsw_chains *g = &factor->packed->chains;
    *bands = (gsw_bands){
        .count = g->pencils, .lines = g->chains, .shear = g->shear, .has_planes = g->nz > 1};
}

/* ---- Values -----------------------------------------------------------------------------------
 */

/* Finds the packed values of step s, chain l of a pencil: the index of the first one and the row.
 * Returns 0 outside the grid. */
static int find_values(const gsw_factor *factor, int upper, int64_t pencil, int64_t s, int64_t l,
                       int64_t *index, int64_t *row) {
    const struct gsw_packed *packed = factor->packed;
    const gsw_chains *g = &packed->chains;
    const int64_t values = g->part[upper].count + packed->part[upper].diagonal;
    int64_t first_plane, last_plane;
    gsw_pencil_planes(g, upper, pencil, &first_plane, &last_plane);
    const gsw_place place = gsw_place_of(g, gsw_first_chain(g, upper, pencil), first_plane, s, l);
    const int64_t mirrored = place.row + place.x;
    *row = upper ? g->points - 1 - mirrored : mirrored;
    *index = gsw_record_of(&packed->records[upper], g->nx, pencil, s) * values * g->chains + l;
    return place.inside;
}

static void unpack_pencil(const gsw_factor *factor, int upper, int64_t pencil,
                          double *const *arrays) {
    const struct gsw_packed *packed = factor->packed;
    const gsw_chains *g = &packed->chains;
    const gsw_packed_part *part = &packed->part[upper];
    const gsw_shape *shape = &g->part[upper];
    const gsw_dtype type = factor->options.factor_type;
    const int64_t steps = gsw_pencil_steps(g, upper, pencil);
    for (int64_t i = 0; i < steps * g->chains; i++) {
        int64_t index, row;
        double diagonal = 1;
        if (!find_values(factor, upper, pencil, i / g->chains, i % g->chains, &index, &row))
            continue;
        if (part->diagonal) {
            diagonal = 1 / gsw_value_at(part->packed, type, index);
            index += g->chains;
        }
        arrays[factor->stencil.center][row] = diagonal;
        for (int32_t j = 0; j < shape->count; j++, index += g->chains)
            arrays[shape->source[j]][row] = gsw_value_at(part->packed, type, index) * diagonal;
    }
}

gsw_status gsw_cpu_factor_unpack(gsw_context *context, const gsw_factor *factor, int which,
                                 double *const *arrays) {
    const gsw_chains *g = &factor->packed->chains;
    const int upper = factor->packed->upper[which], threads = sweep_threads(context, g);
    const int32_t center = factor->stencil.center;
    const int32_t first = upper ? center + 1 : 0, end = upper ? factor->stencil.count : center;
    for (int32_t e = first; e < end; e++) {
        if (gsw_shape_coupling(&g->part[upper], e) < 0)
            memset(arrays[e], 0, (size_t)factor->points * sizeof(double));
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (int64_t q = 0; q < g->pencils; q++)
        unpack_pencil(factor, upper, q, arrays);
    return GSW_SUCCESS;
}

/* Where a record's values come from: arrays[e][row], times left[row] and right[neighbour]; NULL: 1.
 */
typedef struct pack_source {
    const double *const *arrays;
    const double *left, *right;
} pack_source;

/* The coefficient that couples the row of a point to its neighbour at offset e, or 0 where the grid
 * ends. */
static double coupling(const gsw_factor *factor, const pack_source *from, const int64_t point[3],
                       int64_t row, int32_t e) {
    const gsw_grid *g = &factor->grid;
    const gsw_offset o = factor->stencil.offsets[e];
    const int64_t x = point[0] + o.dx, y = point[1] + o.dy, z = point[2] + o.dz;
    if (x < 0 || x >= g->nx || y < 0 || y >= g->ny || z < 0 || z >= g->nz)
        return 0;
    double value = from->arrays[e][row];
    if (from->left != NULL)
        value *= from->left[row];
    if (from->right != NULL)
        value *= from->right[gsw_grid_row(g, x, y, z)];
    return value;
}

static void pack_pencil(const gsw_factor *factor, int upper, const pack_source *from,
                        int64_t pencil) {
    const struct gsw_packed *packed = factor->packed;
    const gsw_chains *g = &packed->chains;
    const gsw_shape *shape = &g->part[upper];
    const gsw_grid *grid = &factor->grid;
    double *values = packed->part[upper].packed;
    const int64_t steps = gsw_pencil_steps(g, upper, pencil);
    for (int64_t i = 0; i < steps * g->chains; i++) {
        int64_t index, row;
        const int inside =
            find_values(factor, upper, pencil, i / g->chains, i % g->chains, &index, &row);
        if (packed->part[upper].diagonal) {
            values[index] = inside ? from->arrays[factor->stencil.center][row] : 1;
            index += g->chains;
        }
        const int64_t point[3] = {row % grid->nx, row / grid->nx % grid->ny,
                                  row / grid->nx / grid->ny};
        for (int32_t j = 0; j < shape->count; j++, index += g->chains)
            values[index] = inside ? coupling(factor, from, point, row, shape->source[j]) : 0;
    }
}

void gsw_cpu_pack_scaled(const gsw_factor *factor, int which, const double *const *arrays,
                         const double *left, const double *right) {
    const pack_source from = {.arrays = arrays, .left = left, .right = right};
    const gsw_chains *g = &factor->packed->chains;
    const int threads = sweep_threads(factor->context, g);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (int64_t q = 0; q < g->pencils; q++)
        pack_pencil(factor, factor->packed->upper[which], &from, q);
}

void gsw_cpu_unpack_diagonal(const gsw_factor *factor, int which, double *out) {
    const struct gsw_packed *packed = factor->packed;
    const gsw_chains *g = &packed->chains;
    const int upper = packed->upper[which], threads = sweep_threads(factor->context, g);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (int64_t q = 0; q < g->pencils; q++) {
        const int64_t steps = gsw_pencil_steps(g, upper, q);
        for (int64_t i = 0; i < steps * g->chains; i++) {
            int64_t index, row;
            if (find_values(factor, upper, q, i / g->chains, i % g->chains, &index, &row))
                out[row] =
                    gsw_value_at(packed->part[upper].packed, factor->options.factor_type, index);
        }
    }
}
