/* multigrid_ops.c: the CPU's multigrid operations: picks the kernels and the number of threads, and
 * does what needs no vectors of lanes. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "contract/context.h"
#include "contract/csr.h"
#include "contract/error.h"
#include "contract/line_stencil.h"
#include "cpu/kernels.h"
#include "cpu/multigrid.h"

enum { SETUP_GRAIN = 512, TRANSFER_GRAIN = 4096, VECTOR_GRAIN = 16384 };

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
                                  const gsw_matrix *matrix, gsw_rows rows, gsw_dtype type,
                                  void *const *weights, int64_t *degenerate) {
    const int threads = threads_for(context, points_of(&transfer->coarse), SETUP_GRAIN);
    *degenerate = kernels_of(context)->interpolate(threads, transfer, matrix, rows, type, weights);
    return GSW_SUCCESS;
}

static gsw_status cpu_triple(gsw_context *context, const gsw_transfer *transfer,
                             const gsw_matrix *matrix, gsw_dtype type, void *const *prolongation,
                             void *const *restriction, double *const *coarse) {
    const int threads = threads_for(context, points_of(&transfer->coarse), SETUP_GRAIN);
    kernels_of(context)->triple(threads, transfer, matrix, type, prolongation, restriction, coarse);
    return GSW_SUCCESS;
}

static gsw_status cpu_mend_diagonal(gsw_context *context, const gsw_transfer *transfer,
                                    const gsw_matrix *matrix, double *diagonal) {
    const gsw_grid *g = &transfer->coarse, *f = &transfer->fine;
    const int threads = threads_for(context, points_of(g), SETUP_GRAIN);
    const int64_t sx = transfer->axes & 1 ? 2 : 1, sy = transfer->axes & 2 ? 2 : 1,
                  sz = transfer->axes & 4 ? 2 : 1;
    const void *fine = matrix->array.values[matrix->stencil.center];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < g->ny * g->nz; line++)
        for (int64_t x = 0; x < g->nx; x++) {
            double *own = &diagonal[line * g->nx + x];
            const double above =
                gsw_value_at(fine, matrix->array.value_type,
                             gsw_grid_row(f, sx * x, sy * (line % g->ny), sz * (line / g->ny)));
            if (fabs(*own) <= 64 * DBL_EPSILON * fabs(above))
                *own = above;
        }
    return GSW_SUCCESS;
}

static gsw_status cpu_restrict(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                               void *const *weights, double scale, const void *from, void *to) {
    const int threads = threads_for(context, points_of(&transfer->fine), TRANSFER_GRAIN);
    kernels_of(context)->restrict_vector(threads, transfer, type, weights, scale, from, to);
    return GSW_SUCCESS;
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

/* Brings the largest entry of rows and columns k.. to (k, k). Returns its size. */
static double bring_pivot(int64_t n, int64_t k, double *a, double *inverse, int64_t *order) {
    int64_t row = k, column = k;
    double most = 0;
    for (int64_t i = k; i < n; i++) {
        double own = 0;
        for (int64_t j = k; j < n; j++)
            own = fabs(a[i * n + j]) > own ? fabs(a[i * n + j]) : own;
        if (!(own > most))
            continue;
        /* A semidefinite matrix has its largest entry on the diagonal: of equal ones that is taken,
         * which keeps the inverse symmetric. */
        const double bound = (1 - 1e-12) * own;
        most = own;
        row = column = i;
        for (int64_t j = k; j < n && fabs(a[i * n + i]) < bound; j++)
            column = fabs(a[i * n + j]) > fabs(a[i * n + column]) ? j : column;
    }
    for (int64_t j = 0; row != k && j < n; j++) {
        const double value = a[row * n + j], left = inverse[row * n + j];
        a[row * n + j] = a[k * n + j];
        inverse[row * n + j] = inverse[k * n + j];
        a[k * n + j] = value;
        inverse[k * n + j] = left;
    }
    for (int64_t i = 0; column != k && i < n; i++) {
        const double value = a[i * n + column];
        a[i * n + column] = a[i * n + k];
        a[i * n + k] = value;
    }
    const int64_t place = order[column];
    order[column] = order[k];
    order[k] = place;
    return most;
}

/* Gauss-Jordan elimination of [a | inverse] with complete pivoting. Where the pivots vanish, the
 * unknowns that are left become 0. Returns the rank; row k of `inverse` then belongs to unknown
 * order[k]. */
static int64_t invert(int64_t n, double *a, double *inverse, int64_t *order) {
    double first = 0;
    memset(inverse, 0, (size_t)(n * n) * sizeof *inverse);
    for (int64_t i = 0; i < n; i++) {
        inverse[i * n + i] = 1;
        order[i] = i;
    }
    for (int64_t k = 0; k < n; k++) {
        const double size = bring_pivot(n, k, a, inverse, order);
        first = k == 0 ? size : first;
        if (!(size > 4 * DBL_EPSILON * (double)n * first && size <= DBL_MAX))
            return k;
        const double value = a[k * n + k];
        for (int64_t j = 0; j < n; j++) {
            a[k * n + j] /= value;
            inverse[k * n + j] /= value;
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
    return n;
}

/* Rows and columns divided by the roots of the diagonal, so that the size of a pivot means
 * something: sizes of equations and unknowns are arbitrary. */
static void equilibrate(int64_t n, double *a, double *scale) {
    for (int64_t i = 0; i < n; i++)
        scale[i] = a[i * n + i] != 0 ? 1 / sqrt(fabs(a[i * n + i])) : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] *= scale[i] * scale[j];
}

/* With v the normalised constants and A v = 0: (A + s v v^T)^-1 maps v to v / s; without that it is
 * the inverse on the complement. */
static gsw_status cpu_dense_invert(gsw_context *context, const gsw_matrix *matrix, int constants,
                                   double *inverse, double *work) {
    const int64_t n = points_of(&matrix->grid);
    const double part = 1.0 / (double)n;
    double *scale = work + n * n, shift = 0;
    int64_t *order = (int64_t *)(scale + n);
    fill_dense(matrix, n, work);
    for (int64_t i = 0; i < n; i++)
        shift += work[i * n + i] * part;
    for (int64_t i = 0; constants && i < n * n; i++)
        work[i] += shift * part;
    equilibrate(n, work, scale);
    const int64_t rank = invert(n, work, inverse, order);
    if (rank == 0)
        return gsw_fail(context, GSW_ERROR_ZERO_PIVOT,
                        "multigrid: the coarsest matrix, of %lld points, is zero or not finite",
                        (long long)n);
    memcpy(work, inverse, (size_t)(rank * n) * sizeof *work);
    memset(inverse, 0, (size_t)(n * n) * sizeof *inverse);
    for (int64_t k = 0; k < rank; k++)
        for (int64_t j = 0; j < n; j++)
            inverse[order[k] * n + j] = work[k * n + j] * scale[order[k]] * scale[j];
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
    .survey = cpu_survey,
    .copy_arrays = cpu_copy_arrays,
    .interpolate = cpu_interpolate,
    .triple = cpu_triple,
    .mend_diagonal = cpu_mend_diagonal,
    .restrict_vector = cpu_restrict,
    .prolong_add = cpu_prolong,
    .narrow = cpu_narrow,
    .widen = cpu_widen,
    .combine = cpu_combine,
    .dense_invert = cpu_dense_invert,
    .dense_apply = cpu_dense_apply,
};
