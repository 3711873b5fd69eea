/* multigrid.c: copies of levels, Gauss-Seidel, and the vectors of a cycle. */
#include <stdlib.h>
#include "reference/host.h"
#include "reference/levels.h"
#include "contract/allocate.h"
#include "contract/error.h"
#include "contract/row.h"
#include "reference/rows.h"

static gsw_status copy_arrays(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              void *const *arrays) {
    const gsw_grid *g = &matrix->grid;
    for (int64_t row = 0; row < gsw_reference_points(g); row++) {
        const gsw_reference_point p = gsw_reference_point_of(g, row);
        if (!gsw_reference_row_fits(matrix, GSW_FULL, row))
            return gsw_row_refuse_misfit(context, gsw_matrix_row_base(matrix), NULL, row);
        for (int32_t e = 0; e < matrix->stencil.count; e++) {
            double value = 0;
            if (gsw_reference_beside(g, p, matrix->stencil.offsets[e]) >= 0)
                (void)gsw_reference_stored(matrix, row, e, &value);
            if (arrays[e])
                gsw_value_put(arrays[e], type, row, value);
        }
    }
    return GSW_SUCCESS;
}

/* ---- Gauss-Seidel -----------------------------------------------------------------------------
 */

gsw_status gsw_reference_gs_open(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                 int both, gsw_sections sections, int64_t *bytes,
                                 gsw_gauss_seidel **made) {
    const int64_t points = gsw_reference_points(&matrix->grid);
    gsw_gauss_seidel *g;
    gsw_status status;
    (void)sections;
    GSW_TRY(gsw_alloc(context, 1, sizeof *g, "a smoother", (void **)&g));
    *g = (gsw_gauss_seidel){.type = type, .both = both};
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)points, gsw_dtype_size(type), "a smoother", &g->reciprocal),
        fail);
    *bytes += points * (int64_t)gsw_dtype_size(type);
    *made = g;
    return GSW_SUCCESS;

fail:
    free(g);
    return status;
}

gsw_status gsw_reference_gs_fill(gsw_context *context, gsw_gauss_seidel *g,
                                 const gsw_matrix *matrix) {
    (void)context;
    for (int64_t i = 0; i < gsw_reference_points(&matrix->grid); i++) {
        double diagonal;
        (void)gsw_reference_stored(matrix, i, matrix->stencil.center, &diagonal);
        gsw_value_put(g->reciprocal, g->type, i, 1 / diagonal);
    }
    return GSW_SUCCESS;
}

gsw_status gsw_reference_gs_await(gsw_context *context, gsw_gauss_seidel *g) {
    (void)context, (void)g;
    return GSW_SUCCESS;
}

void gsw_reference_gs_close(gsw_context *context, gsw_gauss_seidel *g) {
    (void)context;
    if (g)
        free(g->reciprocal);
    free(g);
}

static void smooth(const gsw_gauss_seidel *g, const gsw_matrix *matrix, int down, int zero,
                   const void *b, void *x) {
    const gsw_grid *grid = &matrix->grid;
    const gsw_dtype type = g->type;
    const int64_t n = gsw_reference_points(grid);
    const int32_t center = matrix->stencil.center;
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = down ? n - 1 - k : k;
        const gsw_reference_point p = gsw_reference_point_of(grid, row);
        double sum = gsw_value_at(b, type, row);
        for (int32_t e = 0; e < matrix->stencil.count; e++) {
            const int64_t j = gsw_reference_beside(grid, p, matrix->stencil.offsets[e]);
            const int later = down ? e < center : e > center;
            double a;
            if (e != center && j >= 0 && !(zero && later) &&
                gsw_reference_stored(matrix, row, e, &a))
                sum = gsw_reference_fused(type, -a, gsw_value_at(x, type, j), sum);
        }
        gsw_value_put(x, type, row, sum * gsw_value_at(g->reciprocal, type, row));
    }
}

static gsw_status step(gsw_context *context, gsw_gauss_seidel *g, const gsw_matrix *matrix,
                       int down, int zero, const void *b, void *x, void *work) {
    (void)context, (void)work;
    smooth(g, matrix, down && !g->both, zero, b, x);
    if (g->both)
        smooth(g, matrix, 1, 0, b, x);
    return GSW_SUCCESS;
}

static gsw_status descend(gsw_context *context, gsw_gauss_seidel *g, const gsw_transfer *transfer,
                          const gsw_matrix *matrix, void *const *weights, const void *b, void *x,
                          void *work, void *to) {
    smooth(g, matrix, 0, 1, b, x);
    return gsw_reference_restrict_residual(context, transfer, matrix, g->type, weights, b, x, work,
                                           to);
}

static gsw_status ascend(gsw_context *context, gsw_gauss_seidel *g, const gsw_transfer *transfer,
                         const gsw_matrix *matrix, void *const *weights, const void *from,
                         const void *b, void *x, void *work) {
    (void)work;
    GSW_TRY(gsw_reference_prolong_add(context, transfer, g->type, weights, from, x));
    smooth(g, matrix, 1, 0, b, x);
    return GSW_SUCCESS;
}

static const gsw_gauss_seidel_ops gauss_seidel = {.open = gsw_reference_gs_open,
                                                  .fill = gsw_reference_gs_fill,
                                                  .await = gsw_reference_gs_await,
                                                  .step = step,
                                                  .descend = descend,
                                                  .ascend = ascend,
                                                  .close = gsw_reference_gs_close};

static int color_of(gsw_reference_point p) {
    return (int)((p.x & 1) | (p.y & 1) << 1 | (p.z & 1) << 2);
}

/* One point of a sweep in colours. With `zero`, later colours count as 0. */
static void relax_point(const gsw_matrix *matrix, gsw_dtype type, int64_t row, int zero,
                        const void *b, void *x) {
    const gsw_grid *g = &matrix->grid;
    const gsw_reference_point p = gsw_reference_point_of(g, row);
    double sum = gsw_value_at(b, type, row), diagonal = 0;
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const int64_t j = gsw_reference_beside(g, p, matrix->stencil.offsets[e]);
        double a;
        if (j < 0 || !gsw_reference_stored(matrix, row, e, &a))
            continue;
        if (e == matrix->stencil.center)
            diagonal = a;
        else if (!zero || color_of(gsw_reference_point_of(g, j)) <= color_of(p))
            sum -= a * gsw_value_at(x, type, j);
    }
    gsw_value_put(x, type, row, sum / diagonal);
}

static gsw_status color_sweep(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              int down, int zero, const void *b, void *x) {
    const gsw_grid *g = &matrix->grid;
    (void)context;
    for (int k = 0; k < 8; k++)
        for (int64_t row = 0; row < gsw_reference_points(g); row++)
            if (color_of(gsw_reference_point_of(g, row)) == (down ? 7 - k : k))
                relax_point(matrix, type, row, zero, b, x);
    return GSW_SUCCESS;
}

/* ---- Vectors ----------------------------------------------------------------------------------
 */

static gsw_status narrow(gsw_context *context, int64_t n, const double *from, float *to,
                         double *scale) {
    enum { LEAST = -1000 }; /* the reciprocal of 2^-1074 would be infinite */
    double most = 0;
    (void)context;
    for (int64_t i = 0; i < n; i++)
        most = fabs(from[i]) > most ? fabs(from[i]) : most;
    const int wanted = most > 0 && isfinite(most) ? ilogb(most) : 0;
    const int exponent = wanted < LEAST ? LEAST : wanted;
    *scale = ldexp(1, exponent);
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)(ldexp(1, -exponent) * from[i]);
    return GSW_SUCCESS;
}

static gsw_status widen(gsw_context *context, int64_t n, const float *from, const double *scale,
                        double *to) {
    (void)context;
    for (int64_t i = 0; i < n; i++)
        to[i] = *scale * (double)from[i];
    return GSW_SUCCESS;
}

static gsw_status combine(gsw_context *context, gsw_dtype type, int64_t n, double a, const void *x,
                          double b, void *y) {
    (void)context;
    for (int64_t i = 0; i < n; i++) {
        const double first = gsw_reference_rounded(type, a) * gsw_value_at(x, type, i);
        gsw_value_put(y, type, i,
                      b == 0 ? first
                             : gsw_reference_fused(type, b, gsw_value_at(y, type, i),
                                                   gsw_reference_rounded(type, first)));
    }
    return GSW_SUCCESS;
}

const gsw_multigrid_ops gsw_reference_multigrid_ops = {
    .survey = gsw_reference_survey,
    .copy_arrays = copy_arrays,
    .interpolate = gsw_reference_interpolate,
    .triple = gsw_reference_multiply_levels,
    .mend_diagonal = gsw_reference_mend_diagonal,
    .restrict_residual = gsw_reference_restrict_residual,
    .restrict_vector = gsw_reference_restrict_vector,
    .prolong_add = gsw_reference_prolong_add,
    .gauss_seidel = &gauss_seidel,
    .narrow = narrow,
    .widen = widen,
    .combine = combine,
    .dense_invert = gsw_reference_dense_invert,
    .dense_apply = gsw_reference_dense_apply,
    .inject = gsw_reference_inject,
    .color_sweep = color_sweep,
    .transfer_open = gsw_host_transfer_open,
    .transfer_close = gsw_host_transfer_close,
    .aside = gsw_host_aside,
    .sections = gsw_host_sections,
    .prefers_colors = gsw_host_prefers_colors,
    .coarsest_points = 200,
    .together_points = 4096,
};
