/* taken.h: the rows of a solver's matrix as stencil arrays, made once. A survey, a hierarchy and
 * factors would each make such arrays of a CSR, and products with arrays are faster: they read no
 * columns (perf/DECISIONS.md, Rows of a CSR taken once). */
#ifndef GSW_TAKEN_H
#define GSW_TAKEN_H

#include <gridsweep/matrix.h>
#include "multigrid/level_arrays.h"

typedef struct gsw_taken {
    gsw_matrix view;         /* the arrays, or the matrix itself */
    gsw_level_arrays arrays; /* block NULL: it is the matrix itself */
    int64_t bytes;
} gsw_taken;

/* Takes a matrix that has been checked; its mask must stay. The view is of the near stencil where
 * the grid is periodic, and inactive points are cut out of it. It is the matrix itself where that
 * is no CSR, has a partition, has so few entries that arrays would be mostly zeros, or where there
 * is no memory for them. Arrays are filled again where *taken has been open before; it must not
 * move. Errors: NOT_A_GRID, OVERFLOW, DEVICE. */
gsw_status gsw_taken_take(gsw_context *context, const gsw_matrix *matrix, gsw_taken *taken);

/* The same for any matrix of one process that is not stencil arrays of all points yet. Close *taken
 * also on failure. Errors: OUT_OF_MEMORY, OVERFLOW, NOT_A_GRID, DEVICE. */
gsw_status gsw_taken_copy(gsw_context *context, const gsw_matrix *matrix, gsw_taken *taken);
void gsw_taken_close(gsw_context *context, gsw_taken *taken);

#endif
