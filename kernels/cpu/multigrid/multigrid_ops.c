/* multigrid_ops.c: the CPU's multigrid operations. It picks the kernels and the number of threads,
 * and does the work that needs no SIMD. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "contract/context.h"
#include "reference/host.h"
#include "common/csr.h"
#include "contract/error.h"
#include "common/line_stencil.h"
#include "contract/row.h"
#include "cpu/core/cores.h"
#include "cpu/core/kernels.h"
#include "cpu/rows/rows.h"
#include "multigrid.h"
#include "reference/levels.h"

enum { SETUP_GRAIN = 512, TRANSFER_GRAIN = 4096, SMOOTH_GRAIN = 4096, VECTOR_GRAIN = 16384 };

static const gsw_cpu_multigrid *kernels_of(const gsw_context *context) {
    return ((const gsw_cpu_kernels *)context->backend_data)->multigrid;
}

static int64_t points_of(const gsw_grid *grid) {
    return grid->nx * grid->ny * grid->nz;
}

static gsw_status cpu_survey(gsw_context *context, const gsw_matrix *matrix, const gsw_frame *own,
                             const struct gsw_wraps *wraps, int mirror, gsw_survey *survey) {
    const gsw_grid *g = &matrix->grid;
    const gsw_frame all = {{g->nx, g->ny, g->nz}, {g->nx, g->ny, g->nz}, {0, 0, 0}};
    const int threads = gsw_useful_threads(context, points_of(g), SETUP_GRAIN);
    kernels_of(context)->survey(threads, matrix, own ? own : &all, wraps, mirror, survey);
    return GSW_SUCCESS;
}

static gsw_status cpu_copy_arrays(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                  void *const *arrays) {
    const gsw_grid *g = &matrix->grid;
    const int threads = gsw_useful_threads(context, points_of(g), SETUP_GRAIN);
    const gsw_row_source *rows = gsw_rows_of(context->backend_data, matrix);
    const int64_t misfit = rows->copy(threads, matrix, type, arrays);
    return misfit < 0 ? GSW_SUCCESS
                      : gsw_row_refuse_misfit(context, matrix->csr.base, NULL, misfit);
}

static gsw_status cpu_interpolate(gsw_context *context, const gsw_transfer *transfer,
                                  const gsw_matrix *matrix, gsw_rows rows, gsw_dtype type,
                                  void *const *weights, int64_t *degenerate) {
    const int threads = gsw_useful_threads(context, points_of(&transfer->coarse), SETUP_GRAIN);
    *degenerate = kernels_of(context)->interpolate(threads, transfer, matrix, rows, type, weights);
    return GSW_SUCCESS;
}

static gsw_status cpu_triple(gsw_context *context, const gsw_transfer *transfer,
                             const gsw_matrix *matrix, gsw_dtype type, void *const *prolongation,
                             void *const *restriction, double *const *coarse) {
    const int threads = gsw_useful_threads(context, points_of(&transfer->coarse), SETUP_GRAIN);
    kernels_of(context)->triple(threads, transfer, matrix, type, prolongation, restriction, coarse);
    return GSW_SUCCESS;
}

/* Replaces a coarse diagonal that rounding has cancelled by that of the fine point at the same
 * place. */
static void mend_line(const gsw_transfer *t, const gsw_matrix *matrix, int64_t y, int64_t z,
                      double *diagonal) {
    const int64_t sx = t->axes & 1 ? 2 : 1, sy = t->axes & 2 ? 2 : 1, sz = t->axes & 4 ? 2 : 1;
    const void *fine = matrix->array.values[matrix->stencil.center];
    for (int64_t x = 0; x < t->coarse.nx; x++) {
        const double above = gsw_value_at(fine, matrix->array.value_type,
                                          gsw_grid_row(&t->fine, sx * x, sy * y, sz * z));
        if (fabs(diagonal[x]) <= 64 * DBL_EPSILON * fabs(above))
            diagonal[x] = above;
    }
}

static void mend_lines(int threads, const gsw_transfer *t, const gsw_matrix *matrix,
                       double *diagonal) {
    const gsw_grid *g = &t->coarse;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < g->ny * g->nz; line++)
        mend_line(t, matrix, line % g->ny, line / g->ny, diagonal + line * g->nx);
}

static gsw_status cpu_mend_diagonal(gsw_context *context, const gsw_transfer *transfer,
                                    const gsw_matrix *matrix, double *diagonal) {
    mend_lines(gsw_useful_threads(context, points_of(&transfer->coarse), SETUP_GRAIN), transfer,
               matrix, diagonal);
    return GSW_SUCCESS;
}

/* ---- Injection --------------------------------------------------------------------------------
 */

/* The fine row of coarse point (0, y, z). *step receives the distance of the fine rows of
 * neighbouring coarse points. */
static int64_t injected_row(const gsw_transfer *t, int64_t y, int64_t z, int64_t *step) {
    *step = t->axes & 1 ? 2 : 1;
    return gsw_grid_row(&t->fine, 0, t->axes & 2 ? 2 * y : y, t->axes & 4 ? 2 * z : z);
}

/* Entry e of the coarse line (y, z). */
static void inject_line(const gsw_transfer *t, const gsw_matrix *matrix, int32_t e, int64_t y,
                        int64_t z, double *to) {
    const gsw_grid *g = &t->coarse;
    const gsw_offset o = t->coarse_stencil.offsets[e];
    const void *array = matrix->array.values[e];
    const int inside =
        array && y + o.dy >= 0 && y + o.dy < g->ny && z + o.dz >= 0 && z + o.dz < g->nz;
    int64_t step;
    const int64_t at = injected_row(t, y, z, &step);
    for (int64_t x = 0; x < g->nx; x++)
        to[x] = inside && x + o.dx >= 0 && x + o.dx < g->nx
                    ? gsw_value_at(array, matrix->array.value_type, at + step * x)
                    : 0;
}

static void inject_lines(int threads, const gsw_transfer *t, const gsw_matrix *matrix,
                         double *const *coarse) {
    const gsw_grid *g = &t->coarse;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < g->ny * g->nz; line++)
        for (int32_t e = 0; e < t->coarse_stencil.count; e++)
            inject_line(t, matrix, e, line % g->ny, line / g->ny, coarse[e] + line * g->nx);
}

static gsw_status cpu_inject(gsw_context *context, const gsw_transfer *transfer,
                             const gsw_matrix *matrix, double *const *coarse) {
    inject_lines(gsw_useful_threads(context, points_of(&transfer->coarse), SETUP_GRAIN), transfer,
                 matrix, coarse);
    return GSW_SUCCESS;
}

/* Down: to = sign * (from at the coarse points). Up: adds `from` to `to` at the coarse points. */
static void inject_vector(const gsw_transfer *t, int threads, gsw_dtype type, int up, int sign,
                          const void *from, void *to) {
    const gsw_grid *g = &t->coarse;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < g->ny * g->nz; line++) {
        int64_t step;
        const int64_t fine = injected_row(t, line % g->ny, line / g->ny, &step);
        const int64_t coarse = line * g->nx;
        for (int64_t x = 0; x < g->nx; x++) {
            const int64_t there = fine + step * x, here = coarse + x;
            if (up)
                gsw_value_put(to, type, there,
                              gsw_value_at(to, type, there) + gsw_value_at(from, type, here));
            else
                gsw_value_put(to, type, here, sign * gsw_value_at(from, type, there));
        }
    }
}

/* ---- Transfers and smoothing ------------------------------------------------------------------
 */

static gsw_status cpu_restrict_residual(gsw_context *context, const gsw_transfer *transfer,
                                        const gsw_matrix *matrix, gsw_dtype type,
                                        void *const *weights, const void *b, const void *x,
                                        void *work, void *to) {
    const int threads = gsw_useful_threads(context, points_of(&transfer->fine), TRANSFER_GRAIN);
    if (transfer->injection) {
        const gsw_cpu_kernels *kernels = context->backend_data;
        /* The other lines contribute nothing. */
        kernels->spmv_lines(threads, matrix, type, transfer->axes & 2 ? 2 : 1,
                            transfer->axes & 4 ? 2 : 1, b, x, work);
        inject_vector(transfer, threads, type, 0, 1, work, to);
        return GSW_SUCCESS;
    }
    kernels_of(context)->restrict_residual(threads, transfer, matrix, type, weights, b, x, to);
    return GSW_SUCCESS;
}

/* The residual of a matrix without couplings is the vector itself. */
static gsw_status cpu_restrict_vector(gsw_context *context, const gsw_transfer *transfer,
                                      gsw_dtype type, void *const *weights, const void *from,
                                      void *to) {
    const gsw_matrix nothing = {
        .grid = transfer->fine, .format = GSW_FORMAT_STENCIL, .array = {.value_type = type}};
    return cpu_restrict_residual(context, transfer, &nothing, type, weights, from, from, NULL, to);
}

static gsw_status fill_gauss_seidel(gsw_context *context, gsw_gauss_seidel *g,
                                    const gsw_matrix *matrix) {
    const int64_t n = points_of(&matrix->grid);
    const int threads = gsw_useful_threads(context, n, VECTOR_GRAIN);
    const void *diagonal = matrix->array.values[matrix->stencil.center];
    const gsw_dtype from = matrix->array.value_type;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < n; i++)
        gsw_value_put(g->reciprocal, g->type, i, 1 / gsw_value_at(diagonal, from, i));
    return GSW_SUCCESS;
}

static gsw_status smooth(gsw_context *context, const gsw_gauss_seidel *g, gsw_smooth_job job) {
    job.type = g->type;
    job.reciprocal = g->reciprocal;
    job.threads = gsw_useful_threads(context, points_of(&job.matrix->grid), SMOOTH_GRAIN);
    kernels_of(context)->smooth(&job);
    return GSW_SUCCESS;
}

static gsw_status step(gsw_context *context, gsw_gauss_seidel *g, const gsw_matrix *matrix,
                       int down, int zero, const void *b, void *x, void *work) {
    gsw_smooth_job job = {.matrix = matrix, .down = down && !g->both, .zero = zero, .b = b, .x = x};
    (void)work;
    GSW_TRY(smooth(context, g, job));
    job.down = 1;
    job.zero = 0;
    return g->both ? smooth(context, g, job) : GSW_SUCCESS;
}

static gsw_status descend(gsw_context *context, gsw_gauss_seidel *g, const gsw_transfer *transfer,
                          const gsw_matrix *matrix, void *const *weights, const void *b, void *x,
                          void *work, void *to) {
    (void)work;
    return smooth(context, g,
                  (gsw_smooth_job){.matrix = matrix,
                                   .zero = 1,
                                   .b = b,
                                   .x = x,
                                   .transfer = transfer,
                                   .weights = weights,
                                   .coarse = to});
}

static gsw_status ascend(gsw_context *context, gsw_gauss_seidel *g, const gsw_transfer *transfer,
                         const gsw_matrix *matrix, void *const *weights, const void *from,
                         const void *b, void *x, void *work) {
    (void)work;
    return smooth(context, g,
                  (gsw_smooth_job){.matrix = matrix,
                                   .down = 1,
                                   .b = b,
                                   .x = x,
                                   .transfer = transfer,
                                   .weights = weights,
                                   .coarse = (void *)(uintptr_t)from});
}

static const gsw_gauss_seidel_ops gauss_seidel = {.open = gsw_reference_gs_open,
                                                  .fill = fill_gauss_seidel,
                                                  .await = gsw_reference_gs_await,
                                                  .step = step,
                                                  .descend = descend,
                                                  .ascend = ascend,
                                                  .close = gsw_reference_gs_close};

static gsw_status cpu_prolong(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                              void *const *weights, const void *from, void *to) {
    const int threads = gsw_useful_threads(context, points_of(&transfer->fine), TRANSFER_GRAIN);
    if (transfer->injection)
        inject_vector(transfer, threads, type, 1, 1, from, to);
    else
        kernels_of(context)->prolong_add(threads, transfer, type, weights, from, to);
    return GSW_SUCCESS;
}

static gsw_status cpu_narrow(gsw_context *context, int64_t n, const double *from, float *to,
                             double *scale) {
    kernels_of(context)->narrow(gsw_useful_threads(context, n, VECTOR_GRAIN), n, from, to, scale);
    return GSW_SUCCESS;
}

static gsw_status cpu_widen(gsw_context *context, int64_t n, const float *from, const double *scale,
                            double *to) {
    kernels_of(context)->widen(gsw_useful_threads(context, n, VECTOR_GRAIN), n, from, *scale, to);
    return GSW_SUCCESS;
}

static gsw_status cpu_combine(gsw_context *context, gsw_dtype type, int64_t n, double a,
                              const void *x, double b, void *y) {
    kernels_of(context)->combine(gsw_useful_threads(context, n, VECTOR_GRAIN), type, n, a, x, b, y);
    return GSW_SUCCESS;
}

/* ---- Sweeps in colours ------------------------------------------------------------------------
 */

/* A sweep in colours over one line. Every second point has the same colour. */
static void relax_line(const gsw_matrix *matrix, const gsw_line_stencil *line, gsw_dtype type,
                       int color, int zero, int64_t y, int64_t z, const void *b, void *x) {
    const gsw_grid *g = &matrix->grid;
    const gsw_offset *offsets = matrix->stencil.offsets;
    const int32_t center = matrix->stencil.center;
    for (int64_t i = color & 1; i < g->nx; i += 2) {
        const int64_t row = gsw_grid_row(g, i, y, z);
        double sum = gsw_value_at(b, type, row);
        for (int k = 0; k < line->count; k++) {
            const int32_t e = line->entry[k];
            const gsw_offset o = offsets[e];
            const int theirs =
                (int)(((i + o.dx) & 1) | ((y + o.dy) & 1) << 1 | ((z + o.dz) & 1) << 2);
            if (e == center || matrix->array.values[e] == NULL ||
                !gsw_inside_line(line, k, i, g->nx) || (zero && theirs > color))
                continue;
            sum -= gsw_value_at(matrix->array.values[e], type, row) *
                   gsw_value_at(x, type, row + line->distance[k]);
        }
        gsw_value_put(x, type, row, sum / gsw_value_at(matrix->array.values[center], type, row));
    }
}

/* The points of one colour. */
static void relax_color(int threads, const gsw_matrix *matrix, gsw_dtype type, int color, int zero,
                        const void *b, void *x) {
    const gsw_grid *g = &matrix->grid;
    const int64_t first_y = color >> 1 & 1, first_z = color >> 2 & 1;
    const int64_t lines_y = (g->ny + 1 - first_y) / 2, lines_z = (g->nz + 1 - first_z) / 2;
    const int64_t began = gsw_team_begins(threads);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        gsw_thread_begins(began);
#pragma omp for schedule(static) nowait
        for (int64_t l = 0; l < lines_y * lines_z; l++) {
            const int64_t y = first_y + 2 * (l % lines_y), z = first_z + 2 * (l / lines_y);
            gsw_line_stencil line;
            gsw_line_stencil_make(g, &matrix->stencil, 0, matrix->stencil.count - 1, y, z, &line);
            relax_line(matrix, &line, type, color, zero, y, z, b, x);
        }
    }
}

static gsw_status cpu_color_sweep(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                  int down, int zero, const void *b, void *x) {
    const gsw_grid *g = &matrix->grid;
    for (int k = 0; k < 8; k++) {
        const int threads = gsw_useful_threads(context, points_of(g), TRANSFER_GRAIN);
        relax_color(threads, matrix, type, down ? 7 - k : k, zero, b, x);
    }
    return GSW_SUCCESS;
}

const gsw_multigrid_ops gsw_cpu_multigrid_ops = {
    .shares_mirrored = 1,
    .survey = cpu_survey,
    .copy_arrays = cpu_copy_arrays,
    .interpolate = cpu_interpolate,
    .triple = cpu_triple,
    .mend_diagonal = cpu_mend_diagonal,
    .restrict_residual = cpu_restrict_residual,
    .restrict_vector = cpu_restrict_vector,
    .prolong_add = cpu_prolong,
    .gauss_seidel = &gauss_seidel,
    .narrow = cpu_narrow,
    .widen = cpu_widen,
    .combine = cpu_combine,
    .dense_invert = gsw_reference_dense_invert,
    .dense_apply = gsw_reference_dense_apply,
    .inject = cpu_inject,
    .color_sweep = cpu_color_sweep,
    .reads_margins = 1,
    .transfer_open = gsw_host_transfer_open,
    .transfer_close = gsw_host_transfer_close,
    .aside = gsw_host_aside,
    .sections = gsw_host_sections,
    .prefers_colors = gsw_host_prefers_colors,
    .coarsest_points = 200,
    .together_points = 4096,
};
