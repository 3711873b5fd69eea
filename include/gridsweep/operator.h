/* gridsweep/operator.h: the matrix of a Krylov method, as arrays or as the user's own function.
 *
 * An operator computes y = A x. It is made from a gsw_matrix, or from a callback where the matrix
 * is never stored. It belongs to the context that made it. */
#ifndef GRIDSWEEP_OPERATOR_H
#define GRIDSWEEP_OPERATOR_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes y from x: A x for an operator, M^-1 x for a preconditioner.
 *
 * x and y hold `points` fp64 values each, in the memory of the context: host memory with the CPU
 * backend, device memory with CUDA. They do not overlap, and x must not be written. y holds
 * undefined values before.
 *
 * With CUDA, x is complete in the order of the context's stream, and y must be complete in that
 * order: queue the work on the stream that the context was created with. The callback may wait for
 * the stream, but need not. The host queues iterations ahead of the device, so a solve can call a
 * callback a few times more than its iterations need.
 *
 * The callback may call the library with `context`, but must not destroy what the solve uses. It
 * returns GSW_SUCCESS, or another status, which ends the solve. That status is the solve's, and the
 * message of the context says which callback failed and why: give the reason with
 * gsw_context_fail(). */
typedef gsw_status (*gsw_apply_fn)(void *user, gsw_context *context, const double *x, double *y);

typedef struct gsw_operator gsw_operator;

/* Makes an operator that multiplies with `matrix`. It copies the view, the list of pointers of
 * stencil arrays included; the arrays stay the user's and must outlive the operator. New values in
 * these arrays are new values of the operator. On failure *op is NULL.
 * Errors: INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_operator_from_matrix(gsw_context *context, const gsw_matrix *matrix,
                                    gsw_operator **op);

/* Makes an operator of `points` rows and columns from a callback; `user` is passed to each call.
 * The matrix needs no grid. On failure *op is NULL. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
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

/* Frees an operator, not its arrays; NULL is allowed. */
GSW_API
void gsw_operator_destroy(gsw_operator *op);

#ifdef __cplusplus
}
#endif

#endif
