/* multigrid_ops.h: the operations of a backend that only multigrid needs: set-up of a level and
 * transfers between levels. All else is done with products and packed factors.
 *
 * Matrices are stencil arrays in the backend's memory. Arrays of weights are those of
 * gsw_transfer, of the cycle's type. Results do not depend on the number of threads. */
#ifndef GSW_MULTIGRID_OPS_H
#define GSW_MULTIGRID_OPS_H

#include <gridsweep/matrix.h>

typedef struct gsw_transfer gsw_transfer; /* geometry/multigrid.h */

/* What is to be known of a level's matrix before it is coarsened. */
typedef struct gsw_survey {
    double coupling[3]; /* mean of max(0, -(couplings along the axis) / diagonal) */
    double row_ratio;   /* largest sum of |a| / |diagonal| */
    double largest;     /* largest |a| */
    double least;       /* least |diagonal| */
    int64_t bad_row;    /* lowest row whose diagonal is zero or not finite, or -1 */
    int symmetric;      /* to 1e-7 of the diagonals */
    int zero_sums;      /* every row's sum vanishes, to 1e-12 of its entries */

    /* For choice.c. Couplings are the entries of a row without its diagonal. */
    double off_diagonal; /* mean over the rows of (sum of the |couplings|) / |diagonal| */
    double same_sign;    /* mean over the rows of (sum of the |couplings| whose sign is that of the
                            diagonal) / |diagonal| */
    int64_t negative;    /* rows whose diagonal is negative */
} gsw_survey;

typedef struct gsw_multigrid_ops {
    /* Result in host memory. `mirror`: look for symmetry; else the answer is yes. */
    gsw_status (*survey)(gsw_context *context, const gsw_matrix *matrix, int mirror,
                         gsw_survey *survey);

    /* A copy of a matrix of either format as arrays of `type`; arrays[e] may be NULL where entry e
     * is not wanted. Couplings that leave the grid become zeros. Errors: NOT_A_GRID. */
    gsw_status (*copy_arrays)(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              void *const *arrays);

    /* Weights of all classes. `symmetric_part`: of (A + A^T) / 2 in place of A. *degenerate: points
     * whose divisor vanished and which got the mean of their coarse neighbours. */
    gsw_status (*interpolate)(gsw_context *context, const gsw_transfer *transfer,
                              const gsw_matrix *matrix, int symmetric_part, gsw_dtype type,
                              void *const *weights, int64_t *degenerate);

    /* The triple product R A P as fp64 arrays of the coarse stencil, zeros where a coupling leaves
     * the coarse grid. */
    gsw_status (*triple)(gsw_context *context, const gsw_transfer *transfer,
                         const gsw_matrix *matrix, gsw_dtype type, void *const *prolongation,
                         void *const *restriction, double *const *coarse);

    /* to = scale * R from; to += P from. */
    gsw_status (*restrict_vector)(gsw_context *context, const gsw_transfer *transfer,
                                  gsw_dtype type, void *const *weights, double scale,
                                  const void *from, void *to);
    gsw_status (*prolong_add)(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                              void *const *weights, const void *from, void *to);

    /* fp64 to fp32 and back. narrow multiplies by a power of two that brings the largest entry into
     * [1, 2) and leaves its reciprocal in *scale, which is in the backend's memory and by which
     * widen multiplies. */
    gsw_status (*narrow)(gsw_context *context, int64_t n, const double *from, float *to,
                         double *scale);
    gsw_status (*widen)(gsw_context *context, int64_t n, const float *from, const double *scale,
                        double *to);

    /* y = a x + b y; with b == 0, y is not read and may be x. */
    gsw_status (*combine)(gsw_context *context, gsw_dtype type, int64_t n, double a, const void *x,
                          double b, void *y);

    /* The inverse of a small matrix as a dense n x n array, by rows. `constants`: the matrix is
     * singular, its null space holds the constants, and the inverse is that on their complement.
     * `work` holds n x n + n values. Errors: ZERO_PIVOT. */
    gsw_status (*dense_invert)(gsw_context *context, const gsw_matrix *matrix, int constants,
                               double *inverse, double *work);
    gsw_status (*dense_apply)(gsw_context *context, int64_t n, const double *inverse,
                              gsw_dtype type, const void *b, void *x);
} gsw_multigrid_ops;

#endif
