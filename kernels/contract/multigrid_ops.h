/* multigrid_ops.h: the operations of a backend that only multigrid needs: set-up of a level and
 * transfers between levels. Everything else uses products and packed factors.
 *
 * Matrices are stencil arrays in the backend's memory. Arrays of weights are those of
 * gsw_transfer, of the cycle's type. Results do not depend on the number of threads. */
#ifndef GSW_MULTIGRID_OPS_H
#define GSW_MULTIGRID_OPS_H

#include <stddef.h>
#include <gridsweep/matrix.h>
#include "contract/box_ops.h"
#include "contract/gauss_seidel_ops.h"

struct gsw_wraps; /* common/wraps.h */

/* The entry of stencil arrays that holds the mirror images of entry e; -1 where these are zeros. */
static inline int32_t gsw_matrix_mirror(const gsw_matrix *matrix, int32_t e) {
    const gsw_offset o = matrix->stencil.offsets[e], back = {-o.dx, -o.dy, -o.dz};
    const int32_t mirror = gsw_stencil_find(&matrix->stencil, back);
    return mirror >= 0 && matrix->array.values[mirror] != NULL ? mirror : -1;
}

/* Properties of a level's matrix, found before it is coarsened. */
typedef struct gsw_survey {
    double coupling[3]; /* mean of max(0, -(couplings along the axis) / diagonal) */
    double row_ratio;   /* largest sum of |a| / |diagonal| */
    double largest;     /* largest sum of |a| of a row */
    double least;       /* least |diagonal| */
    int64_t bad_row;    /* lowest row whose diagonal is zero or not finite, or -1 */
    int symmetric;      /* to 1e-7 of the diagonals */
    int mirrored;       /* to the last bit, where products read no array outside the grid; else 0 */
    int zero_sums;      /* every row's sum vanishes, to 1e-12 of its entries */
    int constants;      /* the same to 10 roundings: A maps constants to 0 */
    int isolated;       /* some row has no entry but its diagonal */

    /* For choice.c. Couplings are the entries of a row without its diagonal. */
    double off_diagonal; /* mean over the rows of (sum of the |couplings|) / |diagonal| */
    double same_sign;    /* mean over the rows of (sum of the |couplings| whose sign is that of the
                            diagonal) / |diagonal| */
    double strongest;    /* mean over the rows of the largest of a row's three couplings */
    int64_t negative;    /* rows whose diagonal is negative */
    int64_t fixed;       /* rows that determine their unknown nearly alone (gsw_row_is_fixed()) */
} gsw_survey;

/* The rows from which weights are computed: those of A; of (A + A^T) / 2; or of the latter without
 * couplings to rows that have no couplings themselves. Such a row is a condition x_i = b_i: its
 * scale is arbitrary, and it contains no other unknown. */
typedef enum gsw_rows {
    GSW_ROWS_OF_MATRIX = 0,
    GSW_ROWS_OF_SYMMETRIC_PART = 1,
    GSW_ROWS_OF_SYMMETRIC_PART_CUT = 2
} gsw_rows;

/* Steps of work aside. What is queued between begin and end waits for what was queued before, and
 * may run beside what is queued later. After a join, new work waits for all of it. Memory that it
 * uses is reserved before and released after the join. */
typedef enum gsw_aside { GSW_ASIDE_BEGIN = 0, GSW_ASIDE_END = 1, GSW_ASIDE_JOIN = 2 } gsw_aside;

typedef struct gsw_multigrid_ops {
    /* Whether arrays of the lower part of a symmetric level may be those of the upper part,
     * shifted. They are then not aligned and must not be written; copy_arrays and triple receive
     * NULL for them. */
    int shares_mirrored;
    /* The result is in host memory. `mirror`: test for symmetry; else the answer is yes. With `own`
     * the matrix is that of a frame, and only the rows of its box count. There slabs may be all
     * that the backend takes. `wraps`: the couplings around a periodic grid, which count, too;
     * NULL: there are none. */
    gsw_status (*survey)(gsw_context *context, const gsw_matrix *matrix, const gsw_frame *own,
                         const struct gsw_wraps *wraps, int mirror, gsw_survey *survey);

    /* A copy of a matrix of either format as arrays of `type`; arrays[e] may be NULL where entry e
     * is not needed. Couplings that leave the grid become zeros. Errors: NOT_A_GRID. */
    gsw_status (*copy_arrays)(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              void *const *arrays);

    /* Weights of all classes, from the rows that `rows` names. *degenerate: number of points whose
     * divisor vanished; they interpolate the mean of their coarse neighbours. */
    gsw_status (*interpolate)(gsw_context *context, const gsw_transfer *transfer,
                              const gsw_matrix *matrix, gsw_rows rows, gsw_dtype type,
                              void *const *weights, int64_t *degenerate);

    /* The triple product R A P as fp64 arrays of the coarse stencil, with zeros where a coupling
     * leaves the coarse grid. Arrays that are NULL are not computed. */
    gsw_status (*triple)(gsw_context *context, const gsw_transfer *transfer,
                         const gsw_matrix *matrix, gsw_dtype type, void *const *prolongation,
                         void *const *restriction, double *const *coarse);

    /* Coarse rows of a region without couplings to the rest, whose rows add up to 0, consist of
     * rounding errors. If a coarse diagonal has cancelled, to 64 roundings of the fine point's
     * diagonal there, it becomes the fine one. */
    gsw_status (*mend_diagonal)(gsw_context *context, const gsw_transfer *transfer,
                                const gsw_matrix *matrix, double *diagonal);

    /* Sections by which Gauss-Seidel sweeps a level of that grid, the finest one or another. */
    gsw_sections (*sections)(const gsw_grid *grid, int finest);

    /* to = R (b - A x); A is of `type`. `work` is a vector of the fine level for the backend to
     * use: its contents are undefined before and after. It may be NULL where
     * gauss_seidel->needs_work is 0 and the transfer is without injection. */
    gsw_status (*restrict_residual)(gsw_context *context, const gsw_transfer *transfer,
                                    const gsw_matrix *matrix, gsw_dtype type, void *const *weights,
                                    const void *b, const void *x, void *work, void *to);

    /* to = R from. */
    gsw_status (*restrict_vector)(gsw_context *context, const gsw_transfer *transfer,
                                  gsw_dtype type, void *const *weights, const void *from, void *to);

    /* to += P from. With `injection` of the transfer there are no weights, and the fine points that
     * are not coarse points are neither read nor written. */
    gsw_status (*prolong_add)(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                              void *const *weights, const void *from, void *to);

    /* Gauss-Seidel in natural order. DEFAULT: a gsw_packed_gauss_seidel_ops. */
    const gsw_gauss_seidel_ops *gauss_seidel;

    /* fp64 to fp32 and back. narrow multiplies by a power of two that keeps the largest entry far
     * from the ends of fp32's range. It leaves the reciprocal in *scale, which is in the backend's
     * memory and by which widen multiplies. */
    gsw_status (*narrow)(gsw_context *context, int64_t n, const double *from, float *to,
                         double *scale);
    gsw_status (*widen)(gsw_context *context, int64_t n, const float *from, const double *scale,
                        double *to);

    /* y = a x + b y; with b == 0, y is not read and may be x. */
    gsw_status (*combine)(gsw_context *context, gsw_dtype type, int64_t n, double a, const void *x,
                          double b, void *y);

    /* The inverse of a small matrix as a dense n x n array, by rows. `constants`: the matrix is
     * singular, its null space holds the constants, and the result is the inverse on their
     * complement. If the matrix is singular in another way, the result is a generalised inverse G,
     * A G A = A, which is symmetric and semidefinite if the matrix is. `work` holds
     * gsw_dense_work(n) values. Errors: ZERO_PIVOT (the matrix has rank 0 or is not finite). */
    gsw_status (*dense_invert)(gsw_context *context, const gsw_matrix *matrix,
                               const struct gsw_wraps *wraps, int constants, double *inverse,
                               double *work);
    gsw_status (*dense_apply)(gsw_context *context, int64_t n, const double *inverse,
                              gsw_dtype type, const void *b, void *x);

    /* For a transfer with `injection`: the coarse matrix as fp64 arrays of the coarse stencil,
     * which is the fine one. f(I) is the fine point of coarse point I: 2 I along coarsened axes, I
     * along the others. coarse[e] at I is entry e of row f(I) if I + offset e lies inside the
     * coarse grid, else 0. `matrix` is fp64 or fp32; where it has no array for entry e, coarse[e]
     * is 0. Every array is written whole. */
    gsw_status (*inject)(gsw_context *context, const gsw_transfer *transfer,
                         const gsw_matrix *matrix, double *const *coarse);

    /* A Gauss-Seidel sweep in eight colours: the colour of a point is the parity of its indices, x
     * lowest. Colours ascend, or descend with `down`. `zero`: x counts as 0 before, whatever it
     * holds. No coupling reaches farther than one point. Matrix and vectors are of `type`. */
    gsw_status (*color_sweep)(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              int down, int zero, const void *b, void *x);

    /* Copies the transfer's tables for the kernels to transfer->tables. Nothing where kernels use
     * the host's tables. Called when the transfer is complete, before any of the above. */
    gsw_status (*transfer_open)(gsw_context *context, gsw_transfer *transfer);
    void (*transfer_close)(gsw_context *context, gsw_transfer *transfer);

    /* Nothing where work is not queued. */
    gsw_status (*aside)(gsw_context *context, gsw_aside step);

    /* Whether kernels read beyond arrays of weights and matrices. Then zeros lie there. */
    int reads_margins;

    /* Whether sweeps are fast only with named stencils. Coarse stencils are then extended to one.
     */
    int named_stencils;

    /* Whether AUTO smooths a coarse level of that grid in colours. It does so if that is much
     * faster than sweeps in these sections. The level's stencil reaches one point. */
    int (*prefers_colors)(const gsw_grid *grid, gsw_sections sections);

    /* AUTO takes ILU(0) for the finest level alone. */
    int coarse_sweeps_are_slow;

    /* Largest level that is solved directly by default, in points; and that processes do not share:
     * to exchange ghosts takes longer than to sweep it. */
    int64_t coarsest_points, together_points;
} gsw_multigrid_ops;

#endif
