/* reference.h: the serial references that everything else is compared with.
 *
 * The triangular sweep (gsw_reference_sptrsv, declared in kernels.h) is also an algorithm that
 * users may choose. Only the tests use the factorisations. All functions are written so that a
 * reader can check them against the textbook. They are not fast. */
#ifndef GSW_CPU_REFERENCE_H
#define GSW_CPU_REFERENCE_H

#include <gridsweep/matrix.h>

/* Row of the neighbour of `row` at `sign` (1 or -1) times an offset, or -1 where that leaves the
 * grid. */
int64_t gsw_reference_neighbour(const gsw_grid *grid, int64_t row, gsw_offset offset, int sign);

/* Looks up the coupling of `row` to its neighbour at offset `e` of the stencil. Returns 1 and sets
 * *value where the matrix stores it inside the grid (a zero counts as stored), else returns 0 and
 * sets *value to 0. */
int gsw_reference_entry(const gsw_matrix *matrix, int64_t row, int32_t e, double *value);

/* Factorisations in fp64. Couplings that the matrix does not store count as zeros of the pattern,
 * which is the whole stencil inside the grid. The factors are stencil arrays in natural order:
 * lower[e] is written for e <= center, upper[e] for e >= center. Arrays of other offsets are not
 * used and may be NULL. Values outside the grid are set to 0.
 *
 * Each returns the lowest row whose pivot is zero or not finite (IC0: or negative), or -1. After a
 * bad pivot it continues in IEEE arithmetic. */

/* L has a unit diagonal. */
int64_t gsw_reference_ilu0(const gsw_matrix *matrix, double *const *lower, double *const *upper);

/* Reads the lower part only. U = L^T; an offset of U whose opposite is not in the stencil stays 0.
 */
int64_t gsw_reference_ic0(const gsw_matrix *matrix, double *const *lower, double *const *upper);

/* L = E + L_A, U = I + E^-1 U_A, where E makes diag(L U) = diag(A). */
int64_t gsw_reference_dilu(const gsw_matrix *matrix, double *const *lower, double *const *upper);

/* L = D/w + L_A, U = (I + w D^-1 U_A) / (2-w). */
int64_t gsw_reference_ssor(const gsw_matrix *matrix, double omega, double *const *lower,
                           double *const *upper);

#endif
