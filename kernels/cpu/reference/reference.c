/* reference.c: the plain serial triangular sweep, the oracle of every other kernel.
 *
 * Row i of T x = b by substitution, in the canonical arithmetic of matrix.h: s = b_i; for the
 * entries j != i of the row in ascending column order s = fma(-T_ij, x_j, s); x_i = s / T_ii. A row
 * of a transpose is gathered from the column. Nothing here is meant to be fast. */
#include <math.h>
#include <stdbool.h>

#include "common/csr.h"
#include "contract/error.h"
#include "contract/row.h"
#include "cpu/core/kernels.h"
#include "reference.h"

/* One row of T or of its transpose. */
struct row {
    int32_t count;
    int64_t column[GSW_STENCIL_MAX]; /* ascending, without the diagonal */
    double value[GSW_STENCIL_MAX];
    double diagonal;
};

int64_t gsw_reference_neighbour(const gsw_grid *grid, int64_t row, gsw_offset offset, int sign) {
    int64_t x = row % grid->nx + (int64_t)sign * offset.dx;
    int64_t y = row / grid->nx % grid->ny + (int64_t)sign * offset.dy;
    int64_t z = row / grid->nx / grid->ny + (int64_t)sign * offset.dz;
    if (x < 0 || x >= grid->nx || y < 0 || y >= grid->ny || z < 0 || z >= grid->nz)
        return -1;
    return gsw_grid_row(grid, x, y, z);
}

/* The offset from one row to another. */
static gsw_offset offset_between(const gsw_grid *grid, int64_t from, int64_t to, bool *fits) {
    int64_t dx = to % grid->nx - from % grid->nx;
    int64_t dy = to / grid->nx % grid->ny - from / grid->nx % grid->ny;
    int64_t dz = to / grid->nx / grid->ny - from / grid->nx / grid->ny;
    *fits = dx >= -GSW_OFFSET_MAX && dx <= GSW_OFFSET_MAX && dy >= -GSW_OFFSET_MAX &&
            dy <= GSW_OFFSET_MAX && dz >= -GSW_OFFSET_MAX && dz <= GSW_OFFSET_MAX;
    gsw_offset offset = {0, 0, 0};
    if (*fits)
        offset = (gsw_offset){(int32_t)dx, (int32_t)dy, (int32_t)dz};
    return offset;
}

int gsw_reference_entry(const gsw_matrix *matrix, int64_t row, int32_t e, double *value) {
    const gsw_csr *csr = &matrix->csr;
    int64_t column = gsw_reference_neighbour(&matrix->grid, row, matrix->stencil.offsets[e], 1);
    *value = 0;
    if (column < 0)
        return 0;
    if (matrix->format == GSW_FORMAT_STENCIL) {
        const void *values = matrix->array.values[e];
        if (values != NULL)
            *value = gsw_value_at(values, matrix->array.value_type, row);
        return values != NULL;
    }
    int64_t begin = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
    int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
    for (int64_t p = begin; p < end; p++) {
        if (gsw_index_at(csr->columns, csr->index_type, p) - csr->base == column) {
            *value = gsw_value_at(csr->values, csr->value_type, p);
            return 1;
        }
    }
    return 0;
}

/* Whether the row pointers stay in the arrays, and all entries of the row's part are in the
 * stencil, in ascending order. */
static bool csr_row_fits(const gsw_matrix *matrix, gsw_part part, int64_t row) {
    const gsw_csr *csr = &matrix->csr;
    int64_t begin = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
    int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
    int64_t last = -1;
    if (begin < 0 || begin > end || end > csr->nonzeros)
        return false;
    for (int64_t p = begin; p < end; p++) {
        int64_t column = gsw_index_at(csr->columns, csr->index_type, p) - csr->base;
        bool fits;
        if (column <= last || column >= csr->rows)
            return false;
        last = column;
        if (part == GSW_LOWER ? column > row : column < row)
            continue;
        gsw_offset offset = offset_between(&matrix->grid, row, column, &fits);
        if (!fits || gsw_stencil_find(&matrix->stencil, offset) < 0)
            return false;
    }
    return true;
}

static void append(struct row *t, int64_t column, double value) {
    t->column[t->count] = column;
    t->value[t->count] = value;
    t->count++;
}

/* Row `row` of T. The offsets of the part ascend, and so do the columns. */
static void get_row(const gsw_matrix *matrix, gsw_part part, int64_t row, struct row *t) {
    const gsw_stencil *stencil = &matrix->stencil;
    int32_t first = part == GSW_LOWER ? 0 : stencil->center + 1;
    int32_t end = part == GSW_LOWER ? stencil->center : stencil->count;
    for (int32_t e = first; e < end; e++) {
        double value;
        if (gsw_reference_entry(matrix, row, e, &value))
            append(t, gsw_reference_neighbour(&matrix->grid, row, stencil->offsets[e], 1), value);
    }
}

/* Row `row` of T^T, which is column `row` of T. Row j of T couples to `row` at the offset that
 * leads from j to `row`. The last offset comes from the smallest j. */
static void get_column(const gsw_matrix *matrix, gsw_part part, int64_t row, struct row *t) {
    const gsw_stencil *stencil = &matrix->stencil;
    int32_t first = part == GSW_LOWER ? 0 : stencil->center + 1;
    int32_t end = part == GSW_LOWER ? stencil->center : stencil->count;
    for (int32_t e = end - 1; e >= first; e--) {
        int64_t j = gsw_reference_neighbour(&matrix->grid, row, stencil->offsets[e], -1);
        double value;
        if (j >= 0 && gsw_reference_entry(matrix, j, e, &value))
            append(t, j, value);
    }
}

static double solve_row_f64(const struct row *t, double b, const double *x) {
    double s = b;
    for (int32_t k = 0; k < t->count; k++)
        s = fma(-t->value[k], x[t->column[k]], s);
    return s / t->diagonal;
}

static float solve_row_f32(const struct row *t, float b, const float *x) {
    float s = b;
    for (int32_t k = 0; k < t->count; k++)
        s = fmaf(-(float)t->value[k], x[t->column[k]], s);
    return s / (float)t->diagonal;
}

gsw_status gsw_reference_sptrsv(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_sptrsv_options *options, const void *b, void *x) {
    int64_t points = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
    bool downward = (options->part == GSW_UPPER) != (options->transpose != 0);
    char text[GSW_ROW_TEXT];

    for (int64_t row = 0; matrix->format == GSW_FORMAT_CSR && row < points; row++)
        if (!csr_row_fits(matrix, options->part, row))
            return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                            "row %s does not fit the grid and the stencil",
                            gsw_row_text(context, matrix->csr.base, &matrix->grid, row, text));

    for (int64_t k = 0; k < points; k++) {
        int64_t i = downward ? points - 1 - k : k;
        struct row t;
        t.count = 0;
        if (options->transpose)
            get_column(matrix, options->part, i, &t);
        else
            get_row(matrix, options->part, i, &t);
        if (options->unit_diagonal)
            t.diagonal = 1;
        else
            gsw_reference_entry(matrix, i, matrix->stencil.center, &t.diagonal);
        if (options->vector_type == GSW_F64)
            ((double *)x)[i] = solve_row_f64(&t, ((const double *)b)[i], x);
        else
            ((float *)x)[i] = solve_row_f32(&t, ((const float *)b)[i], x);
    }
    return GSW_SUCCESS;
}
