/* masked.h: matrices with inactive points, as what reads matrices takes them: arrays of all points
 * in which inactive rows are those of the identity, and the mask itself for vectors. */
#ifndef GSW_MASKED_H
#define GSW_MASKED_H

#include <gridsweep/matrix.h>

/* What an object keeps of a mask; {0} where there is none. */
typedef struct gsw_masked {
    uint8_t *active; /* a copy in the backend's memory; NULL: all points are active */
    void *block;     /* of the arrays; NULL: none */
    void *arrays[GSW_STENCIL_MAX];
    int64_t bytes;
} gsw_masked;

/* Takes a matrix that has been checked. *plain is a view of it where it has no mask, or nothing to
 * cut: no couplings of inactive rows, and none to them. Else it is a copy without its inactive
 * points, of the matrix's type, whose list of arrays is in *masked. Values are copied again where
 * *masked has been open before. Close *masked also after a failure. Errors: OVERFLOW,
 * OUT_OF_MEMORY, NOT_A_GRID, DEVICE. */
gsw_status gsw_masked_take(gsw_context *context, const gsw_matrix *matrix, gsw_masked *masked,
                           gsw_matrix *plain);

/* Takes the mask alone. */
gsw_status gsw_masked_take_mask(gsw_context *context, const gsw_matrix *matrix, gsw_masked *masked);

/* Turns a copy of a matrix with a mask, in fp64, into one in which inactive points are coupled
 * weakly to their neighbours (common/mask.h). It is symmetric, an M-matrix, or singular where the
 * matrix of the active points is. Errors: OUT_OF_MEMORY. */
gsw_status gsw_masked_extend(gsw_context *context, const gsw_matrix *matrix, double *const *arrays);

/* Frees the arrays, and keeps the mask; frees all. Both queue it after what has been queued. */
void gsw_masked_drop_arrays(gsw_context *context, gsw_masked *masked);
void gsw_masked_close(gsw_context *context, gsw_masked *masked);

/* y = x at active points, and 0 at the others; y may be x. Without a mask nothing is done where y
 * is x. */
gsw_status gsw_masked_vector(gsw_context *context, const gsw_masked *masked, gsw_dtype type,
                             int64_t points, const void *x, void *y);

/* y = A x where b is NULL, else y = b - A x, of what gsw_masked_take() made of a matrix with a
 * mask. Vectors may hold anything at inactive points; y is 0 there. Errors: OUT_OF_MEMORY. */
gsw_status gsw_masked_multiply(gsw_context *context, const gsw_masked *masked,
                               const gsw_matrix *plain, gsw_dtype type, const void *b,
                               const void *x, void *y);

#endif
