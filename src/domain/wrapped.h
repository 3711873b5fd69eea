/* wrapped.h: matrices on periodic grids, as what knows boxes takes them: the matrix of the box B,
 * and the couplings around the grid W (common/wraps.h).
 *
 * A CSR on a periodic grid has a stencil with long offsets, which lead to the same columns without
 * a way around the grid: products and exact triangular solves need nothing else. Its near stencil
 * has short ones in their place. Stencil arrays have the near stencil at once, and hold W at the
 * places that kernels for boxes do not read. */
#ifndef GSW_WRAPPED_H
#define GSW_WRAPPED_H

#include "common/wraps.h"
#include "contract/context.h"

/* W; {0} where the grid is not periodic. */
typedef struct gsw_wrapped {
    gsw_wraps wraps; /* values == NULL everywhere: there is none */
    void *block;     /* NULL: there is no W */
    int64_t bytes;
} gsw_wrapped;

/* Moves the components of an offset that are longer than half of a periodic axis to its other side.
 * Returns whether there are any. */
int gsw_offset_shorten(const gsw_grid *grid, int64_t d[3]);

/* The stencil of a CSR with a near one: also the offsets around the grid. Errors: UNSUPPORTED. */
gsw_status gsw_stencil_around(gsw_context *context, const gsw_grid *grid, const gsw_stencil *near,
                              gsw_stencil *stencil);

/* The near stencil of a matrix that has been checked. inside[e]: the entry of the near stencil that
 * offset e of the matrix's is; -1: it leads around the grid. `inside` may be NULL. */
void gsw_stencil_near(const gsw_matrix *matrix, gsw_stencil *near, int32_t *inside);

/* The matrix on the box alone, with the near stencil, without values and mask: what an object is
 * opened for. */
gsw_matrix gsw_matrix_of_box(const gsw_matrix *matrix);

/* B as arrays of the near stencil, of `type`. */
gsw_status gsw_wrapped_copy_box(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                void *const *arrays);

/* Refuses stencil arrays on a periodic grid, for exact triangular solves. Errors: UNSUPPORTED. */
gsw_status gsw_wrapped_check_exact(gsw_context *context, const gsw_matrix *matrix);

/* Opens W for a grid and its near stencil, without values; reads W from a matrix. Does nothing
 * where the grid is not periodic, or W open already. Errors: OUT_OF_MEMORY, OVERFLOW. */
gsw_status gsw_wrapped_open(gsw_context *context, const gsw_grid *grid, const gsw_stencil *near,
                            gsw_wrapped *wrapped);
gsw_status gsw_wrapped_take(gsw_context *context, const gsw_matrix *matrix, gsw_wrapped *wrapped);
void gsw_wrapped_close(gsw_context *context, gsw_wrapped *wrapped);

/* W of a matrix; NULL: there is none. */
static inline const gsw_wraps *gsw_wraps_of(const gsw_wrapped *wrapped) {
    return wrapped->block != NULL ? &wrapped->wraps : NULL;
}

/* y += sign W x. Does nothing where there is no W. */
gsw_status gsw_wrapped_multiply(gsw_context *context, const gsw_wrapped *wrapped, gsw_dtype type,
                                double sign, const void *x, void *y);

#endif
