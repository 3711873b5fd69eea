/* dense.h: the inverse of a small matrix, on the host. */
#ifndef GSW_DENSE_H
#define GSW_DENSE_H

#include <stddef.h>
#include <stdint.h>
#include <gridsweep/context.h>

/* Values of the workspace that the inverse of an n x n matrix takes. */
static inline size_t gsw_dense_work(size_t n) {
    return (n + 64) * (n + 64);
}

/* The inverse of the n x n matrix in `work`, by rows, which has gsw_dense_work(n) values and is
 * overwritten. Where the matrix is singular a generalised inverse G, A G A = A, that is symmetric
 * and semidefinite where the matrix is. Errors: ZERO_PIVOT (nothing is left of the matrix, or it is
 * not finite). */
gsw_status gsw_dense_invert(gsw_context *context, int64_t n, double *work, double *inverse);

#endif
