/* stencil_facts.h: properties of grids, stencils and matrices that do not depend on values. */
#ifndef GSW_STENCIL_FACTS_H
#define GSW_STENCIL_FACTS_H

#include <gridsweep/matrix.h>

/* Whether the stencil holds -o for each of its offsets o. The offsets ascend. */
int gsw_stencil_is_symmetric(const gsw_stencil *stencil);

int gsw_grid_is_same(const gsw_grid *a, const gsw_grid *b);
int gsw_stencil_is_same(const gsw_stencil *a, const gsw_stencil *b);

/* Whether ILU(0) and IC(0) change nothing but the diagonal: no lower and upper offset add up to
 * another offset. In a symmetric stencil, no two neighbours of a point are neighbours. */
int gsw_stencil_keeps_couplings(const gsw_stencil *stencil);

/* The first offset with a component beyond -reach..reach; NULL: there is none. */
const gsw_offset *gsw_stencil_beyond(const gsw_stencil *stencil, int reach);

/* Whether the matrix is stencil arrays in fp64, none of them NULL: kernels can read them as they
 * are. */
int gsw_matrix_has_f64_arrays(const gsw_matrix *matrix);

/* Couplings of a stencil inside a grid. */
int64_t gsw_stencil_couplings(const gsw_stencil *stencil, const gsw_grid *grid);

#endif
