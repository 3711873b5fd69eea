/* rows.h: the rows of a matrix. rows.c alone looks at the format; the other files of this backend
 * ask it. */
#ifndef GSW_REFERENCE_ROWS_H
#define GSW_REFERENCE_ROWS_H

#include <math.h>
#include "common/csr.h"
#include <gridsweep/matrix.h>

/* A point of a grid. */
typedef struct gsw_reference_point {
    int64_t x, y, z;
} gsw_reference_point;

static inline gsw_reference_point gsw_reference_point_of(const gsw_grid *grid, int64_t row) {
    return (gsw_reference_point){row % grid->nx, row / grid->nx % grid->ny,
                                 row / grid->nx / grid->ny};
}

static inline int64_t gsw_reference_points(const gsw_grid *grid) {
    return grid->nx * grid->ny * grid->nz;
}

/* The row of the neighbour at an offset, or -1 where that is outside the grid. */
static inline int64_t gsw_reference_beside(const gsw_grid *grid, gsw_reference_point p,
                                           gsw_offset o) {
    const int64_t x = p.x + o.dx, y = p.y + o.dy, z = p.z + o.dz;
    if (x < 0 || x >= grid->nx || y < 0 || y >= grid->ny || z < 0 || z >= grid->nz)
        return -1;
    return gsw_grid_row(grid, x, y, z);
}

/* sum + a x with one rounding, and a value rounded, in the arithmetic of a type. */
static inline double gsw_reference_fused(gsw_dtype type, double a, double x, double sum) {
    return type == GSW_F64 ? fma(a, x, sum) : (double)fmaf((float)a, (float)x, (float)sum);
}

static inline double gsw_reference_rounded(gsw_dtype type, double value) {
    return type == GSW_F64 ? value : (double)(float)value;
}

/* The coefficient of a row at offset e of the stencil, whose neighbour is inside the grid. Returns
 * 0, and *value = 0, where the matrix stores none. */
int gsw_reference_stored(const gsw_matrix *matrix, int64_t row, int32_t e, double *value);

/* Adds the products of a row with x to `sum`, or subtracts them, one after the other in the order
 * of the columns. */
double gsw_reference_row_product(const gsw_matrix *matrix, int64_t row, gsw_dtype type, double sum,
                                 int subtract, const void *x);

/* Whether the row's pointers stay in the arrays. Stencil arrays have none. */
int gsw_reference_pointers_fit(const gsw_matrix *matrix, int64_t row);

/* Says how they do not: INVALID_ARGUMENT. */
gsw_status gsw_reference_refuse_pointers(gsw_context *context, const gsw_matrix *matrix,
                                         int64_t row);

/* Whether, in addition, the columns ascend, and all entries of the row's part are in the stencil.
 */
int gsw_reference_row_fits(const gsw_matrix *matrix, gsw_part part, int64_t row);

#endif
