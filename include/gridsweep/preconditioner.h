/* gridsweep/preconditioner.h: what a Krylov method applies in each iteration to converge sooner.
 *
 * A preconditioner computes x = M^-1 b. It is made from a factor (factor.h) or from the user's own
 * function. It belongs to the context that made it, and serves one solve at a time. */
#ifndef GRIDSWEEP_PRECONDITIONER_H
#define GRIDSWEEP_PRECONDITIONER_H

#include <gridsweep/factor.h>
#include <gridsweep/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsw_preconditioner gsw_preconditioner;

/* Makes a preconditioner that solves with `factor`. The factor stays the user's and must outlive
 * the preconditioner; gsw_factor_refactor() gives both new values. On failure *preconditioner is
 * NULL. Errors: INVALID_ARGUMENT, UNSUPPORTED (the factor's vectors are fp32), OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_preconditioner_from_factor(gsw_context *context, gsw_factor *factor,
                                          gsw_preconditioner **preconditioner);

/* Makes a preconditioner for vectors of `points` values from a callback (operator.h) that computes
 * y = M^-1 x; `user` is passed to each call. M^-1 must be the same linear map in every call: the
 * methods are not the flexible ones. The preconditioner keeps one vector, so that x and y of the
 * callback never overlap. On failure *preconditioner is NULL.
 * Errors: INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_preconditioner_from_callback(gsw_context *context, int64_t points,
                                            gsw_apply_fn apply, void *user,
                                            gsw_preconditioner **preconditioner);

/* x = M^-1 b. Both hold `points` fp64 values in the context's memory. x may be b; otherwise they
 * must not overlap. With CUDA the work is queued on the context's stream. Allocates nothing.
 * Errors: INVALID_ARGUMENT, DEVICE, TIMEOUT (CUDA), and what a callback returns. */
GSW_API
gsw_status gsw_preconditioner_apply(gsw_context *context, gsw_preconditioner *preconditioner,
                                    const double *b, double *x);

/* Number of values in b and x; 0 for NULL. */
GSW_API
int64_t gsw_preconditioner_points(const gsw_preconditioner *preconditioner);

/* What it is, for reports: the name of the factor's kind, such as "ilu0"; "callback"; "none" for
 * NULL. Never NULL; lives as long as the preconditioner. */
GSW_API
const char *gsw_preconditioner_name(const gsw_preconditioner *preconditioner);

/* Frees a preconditioner, not the factor that it was made from; NULL is allowed. */
GSW_API
void gsw_preconditioner_destroy(gsw_preconditioner *preconditioner);

#ifdef __cplusplus
}
#endif

#endif
