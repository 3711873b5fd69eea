/* masked.h: matrices with inactive points or on a periodic grid, as what reads matrices takes them:
 * a matrix of all points of a box, in which inactive rows are those of the identity; the couplings
 * around the grid; and the mask itself for vectors. */
#ifndef GSW_MASKED_H
#define GSW_MASKED_H

#include "wrapped.h"

/* What an object keeps of a mask and of a periodic grid; {0} where there is neither. */
typedef struct gsw_masked {
    uint8_t *active; /* a copy in the backend's memory; NULL: all points are active */
    void *block;     /* of the arrays; NULL: none */
    void *arrays[GSW_STENCIL_MAX];
    int64_t bytes;
    gsw_wrapped around; /* the couplings around the grid that `plain` does not have */
} gsw_masked;

/* Takes a matrix that has been checked. *plain is a view of it where it has no mask, or nothing to
 * cut: no couplings of inactive rows, and none to them. Else it is a copy without its inactive
 * points, of the matrix's type, whose list of arrays is in *masked. `box`: the couplings around a
 * periodic grid are left out; *plain has the near stencil then. Values are copied again where
 * *masked has been open before. Close *masked also after a failure. Errors: OVERFLOW,
 * OUT_OF_MEMORY, NOT_A_GRID, DEVICE. */
gsw_status gsw_masked_take(gsw_context *context, const gsw_matrix *matrix, int box,
                           gsw_masked *masked, gsw_matrix *plain);

/* Takes the mask alone. */
gsw_status gsw_masked_take_mask(gsw_context *context, const gsw_matrix *matrix, gsw_masked *masked);

/* Turns a copy of a matrix with a mask, in fp64, into one in which inactive points are coupled
 * weakly to their neighbours (common/mask.h), also around a periodic grid. It is symmetric, an
 * M-matrix, or singular where the matrix of the active points is. `matrix` says the grid, the near
 * stencil and the mask. Errors: OUT_OF_MEMORY. */
gsw_status gsw_masked_extend(gsw_context *context, const gsw_matrix *matrix,
                             const gsw_wrapped *around, double *const *arrays);

/* Free the arrays alone; the mask alone; and all. They queue it after what has been queued. */
void gsw_masked_drop_arrays(gsw_context *context, gsw_masked *masked);
void gsw_masked_drop_mask(gsw_context *context, gsw_masked *masked);
void gsw_masked_close(gsw_context *context, gsw_masked *masked);

/* y = x at active points, and 0 at the others; y may be x. Without a mask nothing is done where y
 * is x. */
gsw_status gsw_masked_vector(gsw_context *context, const gsw_masked *masked, gsw_dtype type,
                             int64_t points, const void *x, void *y);

/* y = A x where b is NULL, else y = b - A x, of what gsw_masked_take() made of a whole matrix.
 * Vectors may hold anything at inactive points; y is 0 there. Errors: OUT_OF_MEMORY. */
gsw_status gsw_masked_multiply(gsw_context *context, const gsw_masked *masked,
                               const gsw_matrix *plain, gsw_dtype type, const void *b,
                               const void *x, void *y);

#endif
