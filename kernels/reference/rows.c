/* rows.c: see rows.h. A row is read entry by entry, with a search in a CSR. */
#include "reference/rows.h"
#include "common/arrays.h"
#include "contract/check.h"
#include "reference/reference.h"

int64_t gsw_reference_neighbour(const gsw_grid *grid, int64_t row, gsw_offset offset, int sign) {
    const gsw_offset o = {sign * offset.dx, sign * offset.dy, sign * offset.dz};
    return gsw_reference_beside(grid, gsw_reference_point_of(grid, row), o);
}

int gsw_reference_pointers_fit(const gsw_matrix *matrix, int64_t row) {
    const gsw_csr *csr = &matrix->csr;
    return matrix->format == GSW_FORMAT_STENCIL ||
           gsw_csr_pointers_fit(csr, row, gsw_index_at(csr->row_ptr, csr->index_type, row),
                                gsw_index_at(csr->row_ptr, csr->index_type, row + 1));
}

gsw_status gsw_reference_refuse_pointers(gsw_context *context, const gsw_matrix *matrix,
                                         int64_t row) {
    const gsw_csr *csr = &matrix->csr;
    const int64_t begin = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
    return gsw_csr_refuse_row(context, csr, row, row > 0 ? begin : 0);
}

/* The entries of a row of a CSR: *begin to *end - 1. None where its pointers leave the arrays. */
static void find_entries(const gsw_csr *csr, int64_t row, int64_t *begin, int64_t *end) {
    *begin = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
    *end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
    if (*begin < 0 || *end > csr->nonzeros)
        *end = *begin;
}

int gsw_reference_stored(const gsw_matrix *matrix, int64_t row, int32_t e, double *value) {
    *value = 0;
    if (matrix->format == GSW_FORMAT_STENCIL) {
        const void *values = matrix->array.values[e];
        if (values != NULL)
            *value = gsw_value_at(values, matrix->array.value_type, gsw_array_at(matrix, row));
        return values != NULL;
    }
    const gsw_csr *csr = &matrix->csr;
    const gsw_offset o = matrix->stencil.offsets[e];
    const int64_t column = row + gsw_grid_row(&matrix->grid, o.dx, o.dy, o.dz);
    int64_t begin, end;
    find_entries(csr, row, &begin, &end);
    for (int64_t p = begin; p < end; p++) {
        if (gsw_index_at(csr->columns, csr->index_type, p) - csr->base == column) {
            *value = gsw_value_at(csr->values, csr->value_type, p);
            return 1;
        }
    }
    return 0;
}

int gsw_reference_entry(const gsw_matrix *matrix, int64_t row, int32_t e, double *value) {
    *value = 0;
    return gsw_reference_neighbour(&matrix->grid, row, matrix->stencil.offsets[e], 1) >= 0 &&
           gsw_reference_stored(matrix, row, e, value);
}

double gsw_reference_row_product(const gsw_matrix *matrix, int64_t row, gsw_dtype type, double sum,
                                 int subtract, const void *x) {
    const double sign = subtract ? -1 : 1;
    if (matrix->format == GSW_FORMAT_STENCIL) {
        const gsw_reference_point p = gsw_reference_point_of(&matrix->grid, row);
        for (int32_t e = 0; e < matrix->stencil.count; e++) {
            const int64_t j = gsw_reference_beside(&matrix->grid, p, matrix->stencil.offsets[e]);
            double a;
            if (j >= 0 && gsw_reference_stored(matrix, row, e, &a))
                sum = gsw_reference_fused(type, sign * a, gsw_value_at(x, type, j), sum);
        }
        return sum;
    }
    const gsw_csr *csr = &matrix->csr;
    int64_t begin, end;
    find_entries(csr, row, &begin, &end);
    for (int64_t p = begin; p < end; p++) {
        const int64_t j = gsw_index_at(csr->columns, csr->index_type, p) - csr->base;
        sum = gsw_reference_fused(type, sign * gsw_value_at(csr->values, csr->value_type, p),
                                  gsw_value_at(x, type, j), sum);
    }
    return sum;
}

/* The offset from one row to another; all components are 0 where one is too large for a stencil. */
static int find_offset(const gsw_grid *grid, int64_t from, int64_t to, gsw_offset *offset) {
    const gsw_reference_point a = gsw_reference_point_of(grid, from),
                              b = gsw_reference_point_of(grid, to);
    const int64_t d[3] = {b.x - a.x, b.y - a.y, b.z - a.z};
    for (int axis = 0; axis < 3; axis++)
        if (d[axis] < -GSW_OFFSET_MAX || d[axis] > GSW_OFFSET_MAX)
            return 0;
    *offset = (gsw_offset){(int32_t)d[0], (int32_t)d[1], (int32_t)d[2]};
    return 1;
}

int gsw_reference_row_fits(const gsw_matrix *matrix, gsw_part part, int64_t row) {
    const gsw_csr *csr = &matrix->csr;
    if (matrix->format == GSW_FORMAT_STENCIL)
        return 1;
    const int64_t begin = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
    const int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
    int64_t last = -1;
    if (begin < 0 || begin > end || end > csr->nonzeros)
        return 0;
    for (int64_t p = begin; p < end; p++) {
        const int64_t column = gsw_index_at(csr->columns, csr->index_type, p) - csr->base;
        gsw_offset offset;
        if (column <= last || column >= csr->rows)
            return 0;
        last = column;
        if ((part == GSW_LOWER && column > row) || (part == GSW_UPPER && column < row))
            continue;
        if (!find_offset(&matrix->grid, row, column, &offset) ||
            gsw_stencil_find(&matrix->stencil, offset) < 0)
            return 0;
    }
    return 1;
}
