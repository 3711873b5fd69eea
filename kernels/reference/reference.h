/* reference.h: definitions that other code is compared with.
 *
 * The triangular sweep is also an algorithm that users may choose. A reader can check each function
 * against the textbook. None is fast. */
#ifndef GSW_REFERENCE_H
#define GSW_REFERENCE_H

#include <gridsweep/sptrsv.h>
#include "contract/multigrid_ops.h"

/* Row of the neighbour of `row` at `sign` (1 or -1) times an offset, or -1 where that leaves the
 * grid. */
int64_t gsw_reference_neighbour(const gsw_grid *grid, int64_t row, gsw_offset offset, int sign);

/* Looks up the coupling of `row` to its neighbour at offset `e` of the stencil. Returns 1 and sets
 * *value where the matrix stores it inside the grid (a zero counts as stored), else returns 0 and
 * sets *value to 0. */
int gsw_reference_entry(const gsw_matrix *matrix, int64_t row, int32_t e, double *value);

/* The plain serial sweep. See sptrsv.h. */
gsw_status gsw_reference_sptrsv(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_sptrsv_options *options, const void *b, void *x);

/* One sweep of a stencil loop (relax_ops.h). q may be p, and may be NULL. */
void gsw_reference_relax(const gsw_matrix *matrix, double alpha, double beta, int zero,
                         const void *b, const void *x, void *y, const void *p, void *q);

/* ---- Multigrid (interpolation.c) --------------------------------------------------------------
 *
 * Rows are those of stencil arrays, lumped into 27 slots (geometry/multigrid.h). `symmetric`: rows
 * of the matrix itself are lumped so that they stay symmetric. */
typedef struct gsw_reference_lumping {
    gsw_rows rows;
    int symmetric;
} gsw_reference_lumping;

/* Weights of P on the fine grid, from their definition. p holds points x 8 values: p[8 row + d] is
 * the weight of the coarse point at (row's coarse point + d), where d is a bit set of axes. Returns
 * the number of degenerate points. */
int64_t gsw_reference_interpolation(const gsw_matrix *matrix, int axes,
                                    gsw_reference_lumping lumping, double *p);

/* R A P as arrays of a stencil on the coarse grid, from weights as above. Arrays that are NULL are
 * not computed. */
void gsw_reference_triple(const gsw_matrix *matrix, int axes, gsw_reference_lumping lumping,
                          const double *p, const double *r, const gsw_stencil *stencil,
                          double *const *coarse);

#endif
