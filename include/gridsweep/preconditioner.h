/* gridsweep/preconditioner.h: preconditioners, which make a Krylov method converge sooner.
 *
 * A preconditioner computes x = M^-1 b, where M approximates A. A Krylov method applies it in each
 * iteration. Create it from one of these:
 *
 *   a factor: ILU(0), IC(0), DILU, SSOR, Jacobi   gsw_preconditioner_from_factor()     factor.h
 *   a multigrid hierarchy, for large grids        gsw_preconditioner_from_multigrid()  multigrid.h
 *   your own function                             gsw_preconditioner_from_callback()
 *   whatever the library chooses                  gsw_choose()                         choice.h
 *
 * A preconditioner belongs to the context that it was created with, and serves one solve at a
 * time. */
#ifndef GRIDSWEEP_PRECONDITIONER_H
#define GRIDSWEEP_PRECONDITIONER_H

#include <gridsweep/factor.h>
#include <gridsweep/operator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsw_preconditioner gsw_preconditioner;

/* Creates a preconditioner that solves with `factor`. The factor stays yours and must outlive the
 * preconditioner. gsw_factor_refactor() gives both new values. On failure *preconditioner is NULL.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (the factor's vectors are fp32), OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_preconditioner_from_factor(gsw_context *context, gsw_factor *factor,
                                          gsw_preconditioner **preconditioner);

/* Creates a preconditioner for vectors of `points` values from a callback (operator.h) that
 * computes y = M^-1 x. It passes `user` to each call. M^-1 must be the same linear map in every
 * call, because the methods here are not flexible ones. The preconditioner keeps one vector, so
 * that x and y of the callback never overlap. On failure *preconditioner is NULL. Errors:
 * INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_preconditioner_from_callback(gsw_context *context, int64_t points,
                                            gsw_apply_fn apply, void *user,
                                            gsw_preconditioner **preconditioner);

/* x = M^-1 b, for methods of your own. b and x hold `points` fp64 values each in the context's
 * memory. x may be b; otherwise they must not overlap. With CUDA the work is queued on the
 * context's stream. The call allocates nothing. Errors: INVALID_ARGUMENT, DEVICE, TIMEOUT (CUDA),
 * and what a callback returns. */
GSW_API
gsw_status gsw_preconditioner_apply(gsw_context *context, gsw_preconditioner *preconditioner,
                                    const double *b, double *x);

/* Number of values in b and x; 0 for NULL. */
GSW_API
int64_t gsw_preconditioner_points(const gsw_preconditioner *preconditioner);

/* The name of the preconditioner, for reports: that of the factor's kind, such as "ilu0";
 * "callback"; "none" for NULL. It is never NULL, and lives as long as the preconditioner. */
GSW_API
const char *gsw_preconditioner_name(const gsw_preconditioner *preconditioner);

/* Frees a preconditioner, but not the factor that it was created from. NULL is allowed. */
GSW_API
void gsw_preconditioner_destroy(gsw_preconditioner *preconditioner);

#ifdef __cplusplus
}
#endif

#endif
