/* dense.h: the inverse of a small matrix, on the host. */
#ifndef GSW_DENSE_H
#define GSW_DENSE_H

#include <stddef.h>
#include <stdint.h>
#include <gridsweep/context.h>

/* Number of values in the workspace for the inverse of an n x n matrix. */
static inline size_t gsw_dense_work(size_t n) {
    return (n + 64) * (n + 64);
}

/* Computes the inverse of the n x n matrix in `work`, by rows. `work` has gsw_dense_work(n) values
 * and is overwritten. If the matrix is singular, the result is a generalised inverse G, A G A = A,
 * which is symmetric and semidefinite if the matrix is. Errors: ZERO_PIVOT (the matrix has rank 0
 * or is not finite). */
gsw_status gsw_dense_invert(gsw_context *context, int64_t n, double *work, double *inverse);

#endif
