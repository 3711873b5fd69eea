/* gridsweep/smooth.h: steps x = x + M^-1 (b - A x) with a factor, for your own multigrid method.
 *
 * Use gsw_smooth() as the smoother of a multigrid method that you write yourself. For the multigrid
 * method of this library see multigrid.h. To iterate until a tolerance is met use
 * gsw_richardson() in krylov.h. */
#ifndef GRIDSWEEP_SMOOTH_H
#define GRIDSWEEP_SMOOTH_H

#include <gridsweep/factor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Does `sweeps` steps x = x + M^-1 (b - A x), exactly in natural order, beginning with the given x.
 * The factor must come from the same matrix. Its kind chooses the smoother:
 *
 *   SSOR with omega 1    symmetric Gauss-Seidel: all points upwards, then all downwards (HPCG's
 *                        SymGS); with another omega, symmetric successive over-relaxation. The
 *                        usual smoother for a symmetric matrix
 *   LOWER, UPPER         Gauss-Seidel upwards, downwards
 *   JACOBI               Jacobi
 *   ILU0, IC0, DILU      the iteration with that factorisation
 *
 * If zero_guess is nonzero, x counts as 0 and is not read; the first step is then a solve alone. b,
 * x and work hold one fp64 value per point, in the backend's memory, and must not overlap. `work`
 * is scratch: its contents are undefined before and after. The call allocates nothing. With CUDA it
 * returns when everything is queued on the context's stream.
 *
 * Bytes moved per step: the matrix, the factor and b once, x 3 times, work 6 times (4 times with a
 * factor of one sweep).
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (a factor with fp32 vectors), DEVICE, TIMEOUT (CUDA). */
GSW_API
gsw_status gsw_smooth(gsw_context *context, const gsw_matrix *matrix, gsw_factor *factor,
                      int32_t sweeps, int zero_guess, const double *b, double *x, double *work);

#ifdef __cplusplus
}
#endif

#endif
