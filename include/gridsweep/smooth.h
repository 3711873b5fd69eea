/* gridsweep/smooth.h: stationary iterations with a factor, for smoothers of multigrid methods. */
#ifndef GRIDSWEEP_SMOOTH_H
#define GRIDSWEEP_SMOOTH_H

#include <gridsweep/factor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `sweeps` times x = x + M^-1 (b - A x), in natural order exactly, from the x that is given. The
 * kind of the factor, which was made of the same matrix, says what that is:
 *
 *   SSOR with omega 1    symmetric Gauss-Seidel: all points upwards, then all downwards (HPCG's
 *                        SymGS); with another omega, symmetric successive over-relaxation
 *   LOWER, UPPER         Gauss-Seidel upwards, downwards
 *   JACOBI               Jacobi
 *   ILU0, IC0, DILU      the iteration with that factorisation
 *
 * zero_guess: nonzero says that x is 0, whatever it holds; it is then not read, and the first sweep
 * is a solve alone. b, x and work hold one fp64 value a point, in the backend's memory, and must
 * not overlap; work is scratch: its contents are undefined before and after. Allocates nothing and,
 * with CUDA, returns when everything is queued on the context's stream. Bytes moved by a sweep: the
 * matrix and the factor once, x 3 times, b once, work 6 times (4 times with a factor of one
 * sweep). Errors: INVALID_ARGUMENT,
 * UNSUPPORTED (a factor with fp32 vectors), DEVICE, TIMEOUT (CUDA). */
GSW_API
gsw_status gsw_smooth(gsw_context *context, const gsw_matrix *matrix, gsw_factor *factor,
                      int32_t sweeps, int zero_guess, const double *b, double *x, double *work);

#ifdef __cplusplus
}
#endif

#endif
