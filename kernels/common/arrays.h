/* arrays.h: where stencil arrays hold the coefficients of a point. Kernels go along x with steps of
 * 1; these are the steps from one line, and from one plane, to the next. */
#ifndef GSW_ARRAYS_H
#define GSW_ARRAYS_H

#include <stdint.h>
#include <gridsweep/matrix.h>

typedef struct gsw_array_steps {
    int64_t y, z;
} gsw_array_steps;

/* How lines repeat: NONE, Y or YZ. Where ny is 1, one line per plane is all of them. */
static inline gsw_repeat gsw_repeat_of(const gsw_matrix *matrix) {
    switch (matrix->array.repeat) {
    case GSW_REPEAT_YZ:
    case GSW_REPEAT_XYZ:
        return GSW_REPEAT_YZ;
    case GSW_REPEAT_Y:
    case GSW_REPEAT_XY:
        return matrix->grid.ny > 1 ? GSW_REPEAT_Y : GSW_REPEAT_NONE;
    default:
        return GSW_REPEAT_NONE;
    }
}

/* Whether lines repeat and the values of each one are equal. */
static inline int gsw_has_constant_lines(const gsw_matrix *matrix) {
    return matrix->array.repeat >= GSW_REPEAT_XY && gsw_repeat_of(matrix) != GSW_REPEAT_NONE;
}

static inline gsw_array_steps gsw_array_steps_of(const gsw_matrix *matrix) {
    const gsw_grid *g = &matrix->grid;
    switch (gsw_repeat_of(matrix)) {
    case GSW_REPEAT_Y:
        return (gsw_array_steps){0, g->nx};
    case GSW_REPEAT_YZ:
        return (gsw_array_steps){0, 0};
    default:
        return (gsw_array_steps){g->nx, g->nx * g->ny};
    }
}

/* The coefficient of point (0, y, z). */
static inline int64_t gsw_array_line(const gsw_matrix *matrix, int64_t y, int64_t z) {
    const gsw_array_steps steps = gsw_array_steps_of(matrix);
    return steps.y * y + steps.z * z;
}

static inline int64_t gsw_array_at(const gsw_matrix *matrix, int64_t row) {
    const gsw_grid *g = &matrix->grid;
    if (gsw_repeat_of(matrix) == GSW_REPEAT_NONE)
        return row;
    return row % g->nx + gsw_array_line(matrix, row / g->nx % g->ny, row / g->nx / g->ny);
}

/* The values of one array. */
static inline int64_t gsw_array_values(const gsw_matrix *matrix) {
    const gsw_grid *g = &matrix->grid;
    const gsw_repeat repeat = gsw_repeat_of(matrix);
    return g->nx * (repeat == GSW_REPEAT_NONE ? g->ny * g->nz : repeat == GSW_REPEAT_Y ? g->nz : 1);
}

/* The kinds of matrices that a row source may read: bits of gsw_matrix_ops.kinds. */
typedef enum gsw_matrix_kind { GSW_KIND_CSR, GSW_KIND_ARRAYS, GSW_KIND_REPEAT } gsw_matrix_kind;

static inline gsw_matrix_kind gsw_matrix_kind_of(const gsw_matrix *matrix) {
    if (matrix->format == GSW_FORMAT_CSR)
        return GSW_KIND_CSR;
    return gsw_repeat_of(matrix) == GSW_REPEAT_NONE ? GSW_KIND_ARRAYS : GSW_KIND_REPEAT;
}

/* The type of a matrix's coefficients. */
static inline gsw_dtype gsw_matrix_value_type(const gsw_matrix *matrix) {
    return gsw_matrix_kind_of(matrix) == GSW_KIND_CSR ? matrix->csr.value_type
                                                      : matrix->array.value_type;
}

/* Whether a matrix is stencil arrays with one value per point, which kernels that look at
 * neighbouring rows address by the row. */
static inline int gsw_matrix_is_arrays(const gsw_matrix *matrix) {
    return gsw_matrix_kind_of(matrix) == GSW_KIND_ARRAYS;
}

/* A view of a matrix that outlives the caller's list of arrays; `values` has room for it. */
static inline void gsw_matrix_keep(const gsw_matrix *matrix, gsw_matrix *kept,
                                   const void *values[GSW_STENCIL_MAX]) {
    *kept = *matrix;
    if (gsw_matrix_kind_of(matrix) == GSW_KIND_CSR)
        return;
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        values[e] = matrix->array.values[e];
    kept->array.values = values;
}

#endif
