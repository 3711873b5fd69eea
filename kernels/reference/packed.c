/* packed.c: factors: their memory, sweeps, and Eisenstat's form. */
#include "reference/packed.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/error.h"
#include "reference/reference.h"
#include "reference/rows.h"

/* ---- Memory -----------------------------------------------------------------------------------
 */

void gsw_reference_factor_close(gsw_context *context, gsw_factor *factor) {
    struct gsw_packed *packed = factor->packed;
    (void)context;
    if (!packed)
        return;
    for (int e = 0; e < GSW_STENCIL_MAX; e++) {
        free(packed->value[e]);
        free(packed->upper[e]);
    }
    free(packed->diagonal[0]);
    free(packed->diagonal[1]);
    free(packed);
    factor->packed = NULL;
}

/* Whether a neighbour at the offset can be inside the grid. */
static int exists(const gsw_grid *g, gsw_offset o) {
    return llabs(o.dx) < g->nx && llabs(o.dy) < g->ny && llabs(o.dz) < g->nz;
}

/* One value per own row. `bytes` counts them. */
static gsw_status alloc_values(gsw_context *context, const gsw_factor *factor, gsw_dtype type,
                               int64_t *bytes, void **out) {
    const size_t size = gsw_dtype_size(type);
    GSW_TRY(gsw_alloc(context, (size_t)factor->points, size, "the factor", out));
    *bytes += factor->points * (int64_t)size;
    return GSW_SUCCESS;
}

static gsw_status alloc_part(gsw_context *context, gsw_factor *factor, int upper) {
    struct gsw_packed *packed = factor->packed;
    const gsw_stencil *stencil = &packed->stencil;
    const gsw_dtype type = factor->options.factor_type;
    int64_t *bytes = &factor->info.packed_bytes;
    const int32_t first = upper ? stencil->center + 1 : 0;
    const int32_t end = upper ? stencil->count : stencil->center;
    for (int32_t e = first; e < end; e++)
        if (exists(&factor->grid, stencil->offsets[e]))
            GSW_TRY(alloc_values(context, factor, type, bytes, &packed->value[e]));
    if (packed->layout.part[upper].diagonal)
        GSW_TRY(alloc_values(context, factor, type, bytes, &packed->diagonal[upper]));
    return GSW_SUCCESS;
}

static gsw_status alloc_all(gsw_context *context, gsw_factor *factor) {
    struct gsw_packed *packed = factor->packed;
    const gsw_stencil *stencil = &packed->stencil;
    int64_t *bytes = &factor->info.packed_bytes;
    int sweeps = 0;
    for (int part = 0; part < 2; part++) {
        sweeps += packed->layout.present[part];
        if (packed->layout.present[part])
            GSW_TRY(alloc_part(context, factor, part));
    }
    if (factor->options.kind == GSW_JACOBI)
        GSW_TRY(alloc_values(context, factor, factor->options.factor_type, bytes,
                             &packed->diagonal[0]));
    factor->info.moved_bytes = *bytes + (sweeps == 2 ? 4 : INT64_C(2)) * factor->points *
                                            (int64_t)gsw_dtype_size(factor->options.vector_type);
    for (int32_t e = stencil->center; gsw_eliminates(factor->options.kind) && e < stencil->count;
         e++)
        GSW_TRY(alloc_values(context, factor, GSW_F64, &factor->info.work_bytes,
                             (void **)&packed->upper[e]));
    return GSW_SUCCESS;
}

gsw_status gsw_reference_factor_open(gsw_context *context, gsw_factor *factor) {
    struct gsw_packed *packed;
    GSW_TRY(gsw_alloc(context, 1, sizeof *packed, "a factor", (void **)&packed));
    memset(packed, 0, sizeof *packed);
    packed->stencil =
        factor->options.transpose ? gsw_mirrored_stencil(&factor->stencil) : factor->stencil;
    packed->layout = gsw_factor_layout(&factor->options);
    factor->packed = packed;
    factor->sections = gsw_uncut();
    const gsw_status status = alloc_all(context, factor);
    if (status != GSW_SUCCESS)
        gsw_reference_factor_close(context, factor);
    return status;
}

/* ---- Sweeps -----------------------------------------------------------------------------------
 */

/* x of a neighbour, whose row counts from the first own one. `ghosts`: those before the slab, in
 * the sweep's order; NULL: none. */
static double neighbour_value(const gsw_factor *factor, int64_t j, const double *ghosts,
                              const void *x) {
    if (ghosts == NULL || (j >= 0 && j < factor->points))
        return gsw_value_at(x, factor->options.vector_type, j);
    return ghosts[j < 0 ? j + gsw_reference_before(factor) : j - factor->points];
}

/* Row by row, up with the lower part, down with the upper one. */
static void sweep_part(const gsw_factor *factor, int upper, const double *ghosts, const void *b,
                       void *x) {
    const struct gsw_packed *packed = factor->packed;
    const gsw_stencil *stencil = &packed->stencil;
    const gsw_dtype type = factor->options.vector_type, kept = factor->options.factor_type;
    const int64_t n = factor->points, before = gsw_reference_before(factor);
    const int32_t terms = upper ? stencil->count - 1 - stencil->center : stencil->center;
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = upper ? n - 1 - k : k;
        const gsw_reference_point p = gsw_reference_point_of(&factor->grid, row + before);
        double sum = gsw_value_at(b, type, row);
        if (packed->diagonal[upper])
            sum =
                gsw_reference_rounded(type, gsw_value_at(packed->diagonal[upper], kept, row) * sum);
        for (int32_t i = 0; i < terms; i++) {
            const int32_t e = upper ? stencil->count - 1 - i : i;
            const int64_t j = gsw_reference_beside(&factor->grid, p, stencil->offsets[e]);
            const double c = j >= 0 ? gsw_value_at(packed->value[e], kept, row) : 0;
            if (c != 0)
                sum = gsw_reference_fused(type, -c, neighbour_value(factor, j - before, ghosts, x),
                                          sum);
        }
        gsw_value_put(x, type, row, sum);
    }
}

gsw_status gsw_reference_factor_sweep(gsw_context *context, gsw_factor *factor, int which,
                                      int64_t count, const void *b, int64_t ldb, void *x,
                                      int64_t ldx) {
    const struct gsw_packed *packed = factor->packed;
    const gsw_dtype type = factor->options.vector_type, kept = factor->options.factor_type;
    const size_t size = gsw_dtype_size(type);
    (void)context;
    for (int64_t r = 0; r < count; r++) {
        const void *from = (const char *)b + (size_t)(r * ldb) * size;
        void *to = (char *)x + (size_t)(r * ldx) * size;
        if (factor->options.kind != GSW_JACOBI)
            sweep_part(factor, packed->layout.upper[which], NULL, from, to);
        for (int64_t i = 0; factor->options.kind == GSW_JACOBI && i < factor->points; i++)
            gsw_value_put(to, type, i,
                          gsw_value_at(from, type, i) * gsw_value_at(packed->diagonal[0], kept, i));
    }
    return GSW_SUCCESS;
}

void gsw_reference_sweep_bands(gsw_context *context, gsw_factor *factor,
                               const gsw_band_sweep *sweep) {
    (void)context;
    if (sweep->end > sweep->begin)
        sweep_part(factor, factor->packed->layout.upper[sweep->which], sweep->ghosts, sweep->b,
                   sweep->x);
}

/* ---- Values -----------------------------------------------------------------------------------
 */

gsw_status gsw_reference_factor_unpack(gsw_context *context, const gsw_factor *factor, int which,
                                       double *const *arrays) {
    const struct gsw_packed *packed = factor->packed;
    const gsw_dtype type = factor->options.factor_type;
    const int upper = packed->layout.upper[which];
    const int32_t center = packed->stencil.center;
    const int32_t first = upper ? center + 1 : 0, end = upper ? packed->stencil.count : center;
    (void)context;
    for (int64_t row = 0; row < factor->points; row++) {
        const void *reciprocal = packed->diagonal[upper];
        const double diagonal = reciprocal ? 1 / gsw_value_at(reciprocal, type, row) : 1;
        arrays[center][row] = diagonal;
        for (int32_t e = first; e < end; e++)
            arrays[e][row] =
                packed->value[e] ? gsw_value_at(packed->value[e], type, row) * diagonal : 0;
    }
    return GSW_SUCCESS;
}

/* ---- Eisenstat's form -------------------------------------------------------------------------
 */

/* L1 and U1: couplings of A, scaled from both sides. */
static void fill_split_row(const gsw_factor *parts, const gsw_matrix *matrix,
                           const gsw_split *split, int64_t row) {
    const struct gsw_packed *packed = parts->packed;
    const gsw_reference_point p = gsw_reference_point_of(&parts->grid, row);
    for (int32_t e = 0; e < packed->stencil.count; e++) {
        const int64_t j = gsw_reference_beside(&parts->grid, p, packed->stencil.offsets[e]);
        double value = 0;
        if (!packed->value[e])
            continue;
        if (j >= 0 && gsw_reference_stored(matrix, row, e, &value))
            value = value * (split->left ? split->left[row] : 1) * split->right[j];
        gsw_value_put(packed->value[e], GSW_F64, row, value);
    }
}

gsw_status gsw_reference_split_fill(gsw_context *context, const gsw_factor *factor,
                                    const gsw_matrix *matrix, const gsw_split *split, int *fits) {
    const struct gsw_packed *packed = factor->packed;
    const double *reciprocal = packed->diagonal[packed->diagonal[0] ? 0 : 1]; /* 1 / E */
    const int symmetric = split->left == split->right;
    (void)context;
    *fits = 1;
    for (int64_t i = 0; i < factor->points; i++) {
        double diagonal;
        (void)gsw_reference_stored(matrix, i, matrix->stencil.center, &diagonal);
        const double e =
            factor->options.kind == GSW_SSOR ? factor->options.omega / diagonal : reciprocal[i];
        split->k[i] = diagonal * e - 2;
        *fits = *fits && isfinite(e) && (!symmetric || e > 0);
        split->right[i] = symmetric ? sqrt(e) : e;
    }
    for (int64_t i = 0; *fits && i < factor->points; i++)
        fill_split_row(split->parts, matrix, split, i);
    return GSW_SUCCESS;
}
