/* level_arrays.h: arrays of values of a level: of its matrix, or of the weights of its transfer. */
#ifndef GSW_LEVEL_ARRAYS_H
#define GSW_LEVEL_ARRAYS_H

#include <gridsweep/matrix.h>

/* Arrays of one block of backend memory, as a matrix. */
typedef struct gsw_level_arrays {
    void *block; /* NULL: the values belong to others */
    void *values[GSW_STENCIL_MAX];
    int32_t mirrored; /* arrays before this one are later ones, shifted */
} gsw_level_arrays;

/* Allocates `count` arrays of one value per point, with at least `pad` zeros before each and after
 * the last where kernels read them. Adds their size to *bytes. */
gsw_status gsw_level_alloc_arrays(gsw_context *context, int32_t count, int64_t points, int64_t pad,
                                  gsw_dtype type, int64_t *bytes, gsw_level_arrays *arrays);

/* Allocates arrays of a matrix on this grid. Where the matrix is symmetric, the arrays of the lower
 * part are those of the upper part, seen from the neighbour: (i, i + o) is (j, j - o) with j = i +
 * o. The same holds for the zeros of couplings that leave the grid. */
gsw_status gsw_level_alloc_matrix(gsw_context *context, const gsw_grid *grid,
                                  const gsw_stencil *stencil, int64_t points, int symmetric,
                                  gsw_dtype type, int64_t *bytes, gsw_level_arrays *arrays);

#endif
