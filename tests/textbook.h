/* textbook.h: serial textbook factorisations, with which packed factors of every backend are
 * compared.
 *
 * In fp64. Couplings that the matrix does not store count as zeros of the pattern, which is the
 * whole stencil inside the grid. The factors are stencil arrays in natural order: lower[e] is
 * written for e <= center, upper[e] for e >= center. Arrays of other offsets are not used and may
 * be NULL. Values outside the grid are set to 0.
 *
 * Each returns the lowest row whose pivot is zero or not finite (IC0: or negative), or -1. After a
 * bad pivot it continues in IEEE arithmetic. */
#ifndef GSW_TESTS_TEXTBOOK_H
#define GSW_TESTS_TEXTBOOK_H

#include <gridsweep/matrix.h>

/* L has a unit diagonal. */
int64_t textbook_ilu0(const gsw_matrix *matrix, double *const *lower, double *const *upper);

/* Reads the lower part only. U = L^T; an offset of U whose opposite is not in the stencil stays 0.
 */
int64_t textbook_ic0(const gsw_matrix *matrix, double *const *lower, double *const *upper);

/* L = E + L_A, U = I + E^-1 U_A, where E makes diag(L U) = diag(A). */
int64_t textbook_dilu(const gsw_matrix *matrix, double *const *lower, double *const *upper);

/* L = D/w + L_A, U = (I + w D^-1 U_A) / (2-w). */
int64_t textbook_ssor(const gsw_matrix *matrix, double omega, double *const *lower,
                      double *const *upper);

#endif
