/* squeeze.h: a matrix without the axes along which its grid has one point. The rows stay where they
 * are. Lines along x are then as long as the grid allows; kernels need that to be fast. */
#ifndef GSW_SQUEEZE_H
#define GSW_SQUEEZE_H

#include "common/arrays.h"

typedef struct gsw_squeezed {
    gsw_matrix matrix; /* the extents of 1 come last; its stencil has only offsets that exist */
    const void *values[GSW_STENCIL_MAX]; /* of the matrix, where it is one of stencil arrays */
    int axis[3];                         /* what each of its axes is in the grid */
} gsw_squeezed;

static inline void gsw_squeeze(const gsw_matrix *matrix, gsw_squeezed *squeezed) {
    const int64_t extent[3] = {matrix->grid.nx, matrix->grid.ny, matrix->grid.nz};
    const gsw_stencil *from = &matrix->stencil;
    gsw_stencil *to = &squeezed->matrix.stencil;
    int *axis = squeezed->axis, axes = 0;
    for (int ones = 0; ones < 2; ones++)
        for (int a = 0; a < 3; a++)
            if ((extent[a] == 1) == ones)
                axis[axes++] = a;
    const int arrays = matrix->format == GSW_FORMAT_STENCIL;
    squeezed->matrix = *matrix;
    squeezed->matrix.array.repeat = gsw_repeat_of(matrix);
    squeezed->matrix.grid = (gsw_grid){extent[axis[0]], extent[axis[1]], extent[axis[2]]};
    for (int a = 0; a < 3; a++)
        squeezed->matrix.grid.periodic |= (matrix->grid.periodic >> axis[a] & 1) << a;
    to->count = 0;
    for (int32_t e = 0; e < from->count; e++) {
        const int32_t d[3] = {from->offsets[e].dx, from->offsets[e].dy, from->offsets[e].dz};
        int exists = 1;
        for (int a = 0; a < 3; a++)
            exists = exists && (extent[a] > 1 || d[a] == 0);
        if (!exists)
            continue;
        if (e == from->center)
            to->center = to->count;
        if (arrays)
            squeezed->values[to->count] = matrix->array.values[e];
        to->offsets[to->count++] = (gsw_offset){d[axis[0]], d[axis[1]], d[axis[2]]};
    }
    if (arrays)
        squeezed->matrix.array.values = squeezed->values;
}

#endif
