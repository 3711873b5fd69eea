/* multigrid_ops.c: the CPU's multigrid operations: picks the kernels and the number of threads, and
 * does what needs no vectors of lanes. */
#include <math.h>
#include <string.h>
#include "contract/context.h"
#include "contract/csr.h"
#include "contract/error.h"
#include "contract/line_stencil.h"
#include "cpu/kernels.h"
#include "cpu/multigrid.h"

enum { SETUP_GRAIN = 512, TRANSFER_GRAIN = 4096, SMOOTH_GRAIN = 4096, VECTOR_GRAIN = 16384 };

static const gsw_cpu_multigrid *kernels_of(const gsw_context *context) {
    return ((const gsw_cpu_kernels *)context->backend_data)->multigrid;
}

/* Threads that so many points are worth. */
static int threads_for(const gsw_context *context, int64_t points, int64_t grain) {
    const int64_t worth = 1 + points / grain;
    return worth < context->threads ? (int)worth : context->threads;
}

static int64_t points_of(const gsw_grid *grid) {
    return grid->nx * grid->ny * grid->nz;
}

static gsw_status cpu_survey(gsw_context *context, const gsw_matrix *matrix, int mirror,
                             gsw_survey *survey) {
    const int threads = threads_for(context, points_of(&matrix->grid), SETUP_GRAIN);
    kernels_of(context)->survey(threads, matrix, mirror, survey);
    return GSW_SUCCESS;
}

static void put(void *array, gsw_dtype type, int64_t i, double value) {
    if (type == GSW_F64)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

/* Spreads one line of a CSR over the arrays. Returns the first row that does not fit, or -1. */
static int64_t spread_line(const gsw_matrix *matrix, gsw_dtype type, void *const *arrays, int64_t y,
                           int64_t z) {
    const gsw_csr *csr = &matrix->csr;
    const gsw_itype itype = csr->index_type;
    const gsw_grid *g = &matrix->grid;
    gsw_line_stencil line;
    gsw_line_stencil_make(g, &matrix->stencil, 0, matrix->stencil.count - 1, y, z, &line);
    for (int64_t x = 0; x < g->nx; x++) {
        const int64_t row = gsw_grid_row(g, x, y, z);
        const int64_t first = gsw_index_at(csr->row_ptr, itype, row);
        const int64_t last = gsw_index_at(csr->row_ptr, itype, row + 1);
        if (!gsw_csr_pointers_fit(csr, row, first, last))
            return row;
        int64_t k = first - csr->base;
        for (int32_t e = 0; e < matrix->stencil.count; e++)
            if (arrays[e])
                put(arrays[e], type, row, 0);
        for (int i = 0; i < line.count && k < last - csr->base; i++) {
            if (!gsw_inside_line(&line, i, x, g->nx) ||
                gsw_index_at(csr->columns, itype, k) - csr->base != row + line.distance[i])
                continue;
            if (arrays[line.entry[i]])
                put(arrays[line.entry[i]], type, row,
                    gsw_value_at(csr->values, csr->value_type, k));
            k++;
        }
        if (k != last - csr->base)
            return row;
    }
    return -1;
}

static gsw_status cpu_copy_arrays(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                  void *const *arrays) {
    const gsw_grid *g = &matrix->grid;
    const int threads = threads_for(context, points_of(g), SETUP_GRAIN);
    if (matrix->format == GSW_FORMAT_STENCIL) {
        kernels_of(context)->copy_lines(threads, matrix, type, arrays);
        return GSW_SUCCESS;
    }
    int64_t misfit = INT64_MAX;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : misfit)
    for (int64_t line = 0; line < g->ny * g->nz; line++) {
        const int64_t row = spread_line(matrix, type, arrays, line % g->ny, line / g->ny);
        if (row >= 0 && row < misfit)
            misfit = row;
    }
    if (misfit != INT64_MAX)
        return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                        "row %lld of the matrix has a coupling outside the stencil or the grid, or "
                        "columns that do not ascend",
                        (long long)misfit);
    return GSW_SUCCESS;
}

static gsw_status cpu_interpolate(gsw_context *context, const gsw_transfer *transfer,
                                  const gsw_matrix *matrix, int symmetric_part, gsw_dtype type,
                                  void *const *weights, int64_t *degenerate) {
    const int threads = threads_for(context, points_of(&transfer->coarse), SETUP_GRAIN);
    *degenerate =
        kernels_of(context)->interpolate(threads, transfer, matrix, symmetric_part, type, weights);
    return GSW_SUCCESS;
}

static gsw_status cpu_triple(gsw_context *context, const gsw_transfer *transfer,
                             const gsw_matrix *matrix, gsw_dtype type, void *const *prolongation,
                             void *const *restriction, double *const *coarse) {
    const int threads = threads_for(context, points_of(&transfer->coarse), SETUP_GRAIN);
    kernels_of(context)->triple(threads, transfer, matrix, type, prolongation, restriction, coarse);
    return GSW_SUCCESS;
}

static gsw_status cpu_restrict_residual(gsw_context *context, const gsw_transfer *transfer,
                                        const gsw_matrix *matrix, gsw_dtype type,
                                        void *const *weights, const void *b, const void *x,
                                        void *work, void *to) {
    (void)work;
    const int threads = threads_for(context, points_of(&transfer->fine), TRANSFER_GRAIN);
    kernels_of(context)->restrict_residual(threads, transfer, matrix, type, weights, b, x, to);
    return GSW_SUCCESS;
}

static gsw_status cpu_invert_diagonal(gsw_context *context, const gsw_matrix *matrix,
                                      gsw_dtype type, void *reciprocal) {
    const int64_t n = points_of(&matrix->grid);
    const int threads = threads_for(context, n, VECTOR_GRAIN);
    const void *diagonal = matrix->array.values[matrix->stencil.center];
    const gsw_dtype from = matrix->array.value_type;
#pragma omp parallel for simd schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < n; i++) {
        const double value = 1 / gsw_value_at(diagonal, from, i);
        if (type == GSW_F64)
            ((double *)reciprocal)[i] = value;
        else
            ((float *)reciprocal)[i] = (float)value;
    }
    return GSW_SUCCESS;
}

static gsw_status run_smooth(gsw_context *context, gsw_smooth_job job) {
    job.threads = threads_for(context, points_of(&job.matrix->grid), SMOOTH_GRAIN);
    kernels_of(context)->smooth(&job);
    return GSW_SUCCESS;
}

static gsw_status cpu_smooth(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                             const void *reciprocal, int down, int zero, const void *b, void *x) {
    return run_smooth(context, (gsw_smooth_job){.matrix = matrix,
                                                .type = type,
                                                .reciprocal = reciprocal,
                                                .down = down,
                                                .zero = zero,
                                                .b = b,
                                                .x = x});
}

static gsw_status cpu_smooth_restrict(gsw_context *context, const gsw_transfer *transfer,
                                      const gsw_matrix *matrix, gsw_dtype type,
                                      const void *reciprocal, void *const *weights, const void *b,
                                      void *x, void *to) {
    return run_smooth(context, (gsw_smooth_job){.matrix = matrix,
                                                .type = type,
                                                .reciprocal = reciprocal,
                                                .zero = 1,
                                                .b = b,
                                                .x = x,
                                                .transfer = transfer,
                                                .weights = weights,
                                                .coarse = to});
}

static gsw_status cpu_prolong_smooth(gsw_context *context, const gsw_transfer *transfer,
                                     const gsw_matrix *matrix, gsw_dtype type,
                                     const void *reciprocal, void *const *weights, const void *from,
                                     const void *b, void *x) {
    return run_smooth(context, (gsw_smooth_job){.matrix = matrix,
                                                .type = type,
                                                .reciprocal = reciprocal,
                                                .down = 1,
                                                .b = b,
                                                .x = x,
                                                .transfer = transfer,
                                                .weights = weights,
                                                .coarse = (void *)(uintptr_t)from});
}

static gsw_status cpu_prolong(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                              void *const *weights, const void *from, void *to) {
    const int threads = threads_for(context, points_of(&transfer->fine), TRANSFER_GRAIN);
    kernels_of(context)->prolong_add(threads, transfer, type, weights, from, to);
    return GSW_SUCCESS;
}

static gsw_status cpu_narrow(gsw_context *context, int64_t n, const double *from, float *to,
                             double *scale) {
    kernels_of(context)->narrow(threads_for(context, n, VECTOR_GRAIN), n, from, to, scale);
    return GSW_SUCCESS;
}

static gsw_status cpu_widen(gsw_context *context, int64_t n, const float *from, const double *scale,
                            double *to) {
    kernels_of(context)->widen(threads_for(context, n, VECTOR_GRAIN), n, from, *scale, to);
    return GSW_SUCCESS;
}

static gsw_status cpu_combine(gsw_context *context, gsw_dtype type, int64_t n, double a,
                              const void *x, double b, void *y) {
    kernels_of(context)->combine(threads_for(context, n, VECTOR_GRAIN), type, n, a, x, b, y);
    return GSW_SUCCESS;
}

/* ---- The coarsest level ----------------------------------------------------------------------
 */

static void fill_dense(const gsw_matrix *matrix, int64_t n, double *a) {
    const gsw_grid *g = &matrix->grid;
    memset(a, 0, (size_t)(n * n) * sizeof *a);
    for (int64_t row = 0; row < n; row++) {
        const int64_t x = row % g->nx, y = row / g->nx % g->ny, z = row / g->nx / g->ny;
        for (int32_t e = 0; e < matrix->stencil.count; e++) {
            const gsw_offset o = matrix->stencil.offsets[e];
            if (!matrix->array.values[e] || x + o.dx < 0 || x + o.dx >= g->nx || y + o.dy < 0 ||
                y + o.dy >= g->ny || z + o.dz < 0 || z + o.dz >= g->nz)
                continue;
            a[row * n + row + gsw_grid_row(g, o.dx, o.dy, o.dz)] +=
                gsw_value_at(matrix->array.values[e], matrix->array.value_type, row);
        }
    }
}

/* Gauss-Jordan elimination of [a | inverse] with partial pivoting. Returns 0 where a is singular.
 */
static int invert(int64_t n, double *a, double *inverse) {
    double largest = 0;
    for (int64_t i = 0; i < n * n; i++)
        largest = fabs(a[i]) > largest ? fabs(a[i]) : largest;
    memset(inverse, 0, (size_t)(n * n) * sizeof *inverse);
    for (int64_t i = 0; i < n; i++)
        inverse[i * n + i] = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
                pivot = i;
        const double value = a[pivot * n + k];
        if (!(fabs(value) > 1e-300 && fabs(value) > 1e-15 * largest / (double)n))
            return 0;
        for (int64_t j = 0; j < n; j++) {
            const double left = a[pivot * n + j], right = inverse[pivot * n + j];
            a[pivot * n + j] = a[k * n + j];
            inverse[pivot * n + j] = inverse[k * n + j];
            a[k * n + j] = left / value;
            inverse[k * n + j] = right / value;
        }
        for (int64_t i = 0; i < n; i++) {
            const double factor = a[i * n + k];
            if (i == k || factor == 0)
                continue;
            for (int64_t j = k; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
            for (int64_t j = 0; j < n; j++)
                inverse[i * n + j] -= factor * inverse[k * n + j];
        }
    }
    return 1;
}

/* With v the normalised constants and A v = 0: (A + s v v^T)^-1 maps v to v / s; without that it is
 * the inverse on the complement. */
static gsw_status cpu_dense_invert(gsw_context *context, const gsw_matrix *matrix, int constants,
                                   double *inverse, double *work) {
    const int64_t n = points_of(&matrix->grid);
    const double part = 1.0 / (double)n;
    double shift = 0;
    fill_dense(matrix, n, work);
    for (int64_t i = 0; i < n; i++)
        shift += work[i * n + i] * part;
    for (int64_t i = 0; constants && i < n * n; i++)
        work[i] += shift * part;
    if (!invert(n, work, inverse))
        return gsw_fail(context, GSW_ERROR_ZERO_PIVOT,
                        "multigrid: the coarsest matrix, of %lld points, is singular",
                        (long long)n);
    for (int64_t i = 0; constants && i < n * n; i++)
        inverse[i] -= part / shift;
    return GSW_SUCCESS;
}

static gsw_status cpu_dense_apply(gsw_context *context, int64_t n, const double *inverse,
                                  gsw_dtype type, const void *b, void *x) {
    (void)context;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += inverse[i * n + j] * gsw_value_at(b, type, j);
        put(x, type, i, sum);
    }
    return GSW_SUCCESS;
}

const gsw_multigrid_ops gsw_cpu_multigrid_ops = {
    .shares_mirrored = 1,
    .survey = cpu_survey,
    .copy_arrays = cpu_copy_arrays,
    .interpolate = cpu_interpolate,
    .triple = cpu_triple,
    .restrict_residual = cpu_restrict_residual,
    .prolong_add = cpu_prolong,
    .invert_diagonal = cpu_invert_diagonal,
    .smooth = cpu_smooth,
    .smooth_restrict = cpu_smooth_restrict,
    .prolong_smooth = cpu_prolong_smooth,
    .narrow = cpu_narrow,
    .widen = cpu_widen,
    .combine = cpu_combine,
    .dense_invert = cpu_dense_invert,
    .dense_apply = cpu_dense_apply,
};
