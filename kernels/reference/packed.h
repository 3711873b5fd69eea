/* packed.h: a factor of the reference backend: arrays in natural order. */
#ifndef GSW_REFERENCE_PACKED_H
#define GSW_REFERENCE_PACKED_H

#include "contract/backend.h"
#include "geometry/layout.h"

/* A row of a part is x_i = r_i b_i - sum of c_ij x_j: the reciprocal diagonal r, and coefficients
 * that are scaled by it. `stencil` is that of the rows: the matrix's, or its mirror image for a
 * transpose. Values are of the factor's type. */
struct gsw_packed {
    gsw_stencil stencil;
    gsw_layout layout;
    void *value[GSW_STENCIL_MAX]; /* c at each offset; NULL: the kind or the grid has none */
    void *diagonal[2];            /* r of the lower and of the upper part; NULL: ones */

    /* ILU(0), IC(0) and DILU, in fp64: at the centre the reciprocal pivots, above it the scaled
     * upper rows. */
    double *upper[GSW_STENCIL_MAX];
};

/* Points of the frame before the first own row. */
static inline int64_t gsw_reference_before(const gsw_factor *factor) {
    const gsw_grid *g = &factor->grid;
    const int64_t plane = g->nz > 1 ? g->nx * g->ny : g->ny > 1 ? g->nx : 1;
    return factor->ghosts[0] * plane;
}

/* See backend.h. */
gsw_status gsw_reference_factor_open(gsw_context *context, gsw_factor *factor);
gsw_status gsw_reference_factor_fill(gsw_context *context, gsw_factor *factor,
                                     const gsw_matrix *matrix, const gsw_matrix *upper);
gsw_status gsw_reference_factor_sweep(gsw_context *context, gsw_factor *factor, int which,
                                      int64_t count, const void *b, int64_t ldb, void *x,
                                      int64_t ldx);
gsw_status gsw_reference_factor_unpack(gsw_context *context, const gsw_factor *factor, int which,
                                       double *const *arrays);
void gsw_reference_factor_close(gsw_context *context, gsw_factor *factor);
gsw_status gsw_reference_split_fill(gsw_context *context, const gsw_factor *factor,
                                    const gsw_matrix *matrix, const gsw_split *split, int *fits);

/* See box_ops.h. The whole slab is one band. */
int64_t gsw_reference_eliminate_bands(gsw_context *context, gsw_factor *factor,
                                      const gsw_matrix *matrix, const gsw_band_eliminate *bands);
void gsw_reference_sweep_bands(gsw_context *context, gsw_factor *factor,
                               const gsw_band_sweep *sweep);

#endif
