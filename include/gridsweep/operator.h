/* gridsweep/operator.h: the matrix A of a Krylov method, from arrays or from your own function.
 *
 * An operator computes y = A x. Krylov methods (krylov.h) take A in this form. If A is stored, use
 * gsw_operator_from_matrix(). If A is never stored, or is not a matrix on a grid, use
 * gsw_operator_from_callback() with a function that computes A x. An operator belongs to the
 * context that it was created with. */
#ifndef GRIDSWEEP_OPERATOR_H
#define GRIDSWEEP_OPERATOR_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes y from x: A x for an operator, M^-1 x for a preconditioner.
 *
 * x and y hold `points` fp64 values each, in the memory of the context: host memory with the CPU
 * backend, device memory with CUDA. They do not overlap. The callback must not write x. The values
 * of y are undefined before.
 *
 * With CUDA, x is complete in the order of the context's stream, and y must be complete in that
 * order. So queue the work on the stream that the context was created with. The callback may wait
 * for the stream, but need not. The host queues iterations ahead of the device, so a solve can call
 * a callback a few times more than its iterations need.
 *
 * The callback may call the library with `context`, except for Krylov methods: a solve inside a
 * solve needs a context of its own. It must not destroy anything that the solve uses. It returns
 * GSW_SUCCESS, or another status, which ends the solve. The solve then returns that status, and the
 * message of the context says which callback failed and why. Give the reason with
 * gsw_context_fail(). */
typedef gsw_status (*gsw_apply_fn)(void *user, gsw_context *context, const double *x, double *y);

typedef struct gsw_operator gsw_operator;

/* Creates an operator that multiplies with `matrix`, for a matrix that is stored. It copies the
 * view, including the list of pointers of stencil arrays. The arrays stay yours and must outlive
 * the operator. If you change their values, the operator has the new values (not those of a CSR on
 * several processes, see partition.h). On failure *op is NULL. Errors: INVALID_ARGUMENT, OVERFLOW,
 * OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_operator_from_matrix(gsw_context *context, const gsw_matrix *matrix,
                                    gsw_operator **op);

/* Creates an operator of `points` rows and columns from a callback, for a matrix that is not
 * stored. It passes `user` to each call. The matrix needs no grid. On failure *op is NULL. Errors:
 * INVALID_ARGUMENT, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_operator_from_callback(gsw_context *context, int64_t points, gsw_apply_fn apply,
                                      void *user, gsw_operator **op);

/* y = A x. Both hold `points` fp64 values in the context's memory and must not overlap. With CUDA
 * the product is queued on the context's stream. Bytes moved: the matrix once, x and y once.
 * Errors: INVALID_ARGUMENT, DEVICE, and what a callback returns. */
GSW_API
gsw_status gsw_operator_apply(gsw_context *context, const gsw_operator *op, const double *x,
                              double *y);

/* Number of rows; 0 for NULL. */
GSW_API
int64_t gsw_operator_points(const gsw_operator *op);

/* Frees an operator, but not its arrays. NULL is allowed. */
GSW_API
void gsw_operator_destroy(gsw_operator *op);

#ifdef __cplusplus
}
#endif

#endif
