/* matrix.c: views of the user's matrix, their validation, and CSR copies.
 *
 * An entry's offset is decided by the coordinates of its row and column, never by column - row:
 * on a grid that is narrower than the stencil several offsets share one linear distance. In one
 * row, however, the neighbours inside the grid have ascending columns when the stencil's offsets
 * ascend in (dz, dy, dx), so entries and offsets of a row are matched in one merge. */
#include <stdlib.h>
#include <string.h>
#include <gridsweep/matrix.h>
#include "contract/row.h"
#include "backend.h"
#include "internal.h"
#include "csr.h"

size_t gsw_dtype_size(gsw_dtype type) {
    return type == GSW_F32 ? sizeof(float) : sizeof(double);
}

size_t gsw_itype_size(gsw_itype type) {
    return type == GSW_I32 ? sizeof(int32_t) : sizeof(int64_t);
}

gsw_status gsw_csr_check(gsw_context *context, const gsw_csr *csr, int needs_values) {
    GSW_REQUIRE(context, csr, "csr must not be NULL");
    GSW_REQUIRE(context, csr->index_type == GSW_I32 || csr->index_type == GSW_I64,
                "csr: index_type %d is not a gsw_itype", (int)csr->index_type);
    GSW_REQUIRE(context, csr->value_type == GSW_F64 || csr->value_type == GSW_F32,
                "csr: value_type %d is not a gsw_dtype", (int)csr->value_type);
    GSW_REQUIRE(context, csr->base == 0 || csr->base == 1, "csr: base must be 0 or 1, not %d",
                csr->base);
    int64_t most = csr->index_type == GSW_I32 ? INT32_MAX - csr->base : INT64_MAX / 16;
    GSW_REQUIRE(context, csr->rows >= 1 && csr->rows <= most,
                "csr: rows must be between 1 and %lld, not %lld", (long long)most,
                (long long)csr->rows);
    GSW_REQUIRE(context, csr->nonzeros >= 0 && csr->nonzeros <= most,
                "csr: nonzeros must be between 0 and %lld, not %lld", (long long)most,
                (long long)csr->nonzeros);
    GSW_REQUIRE(context, csr->row_ptr, "csr: row_ptr must not be NULL");
    GSW_REQUIRE(context, csr->columns || csr->nonzeros == 0, "csr: columns must not be NULL");
    GSW_REQUIRE(context, csr->values || csr->nonzeros == 0 || !needs_values,
                "csr: values must not be NULL");
    return GSW_SUCCESS;
}

static gsw_status refuse_pointers(gsw_context *context, const gsw_csr *csr, int64_t row,
                                  int64_t first, int64_t last) {
    char text[GSW_ROW_TEXT];
    return gsw_fail(context, GSW_ERROR_INVALID_ARGUMENT,
                    "csr: row %s: row_ptr goes from %lld to %lld; it must start at %d, never "
                    "descend, and end at %lld",
                    gsw_row_text(context, csr->base, NULL, row, text), (long long)first,
                    (long long)last, csr->base, (long long)csr->nonzeros + csr->base);
}

/* The `count` columns of a row start at `columns`. */
static gsw_status refuse_columns(gsw_context *context, const gsw_csr *csr, int64_t row,
                                 const void *columns, int64_t count) {
    char text[GSW_ROW_TEXT];
    const char *name = gsw_row_text(context, csr->base, NULL, row, text);
    int64_t previous = csr->base - 1;
    /* What columns and row are counted from in the message. */
    int shift = gsw_row_base(context, csr->base) - csr->base;
    for (int64_t k = 0; k < count; k++) {
        int64_t column = gsw_index_at(columns, csr->index_type, k);
        if (column < csr->base || column - csr->base >= csr->rows)
            return gsw_fail(context, GSW_ERROR_INVALID_ARGUMENT,
                            "csr: row %s: column %lld is out of range", name,
                            (long long)column + shift);
        if (column <= previous)
            return gsw_fail(context, GSW_ERROR_INVALID_ARGUMENT,
                            "csr: row %s: column %lld after column %lld; columns must ascend", name,
                            (long long)column + shift, (long long)previous + shift);
        previous = column;
    }
    return gsw_fail(context, GSW_ERROR_INVALID_ARGUMENT, "csr: row %s changed while it was read",
                    name);
}

/* The columns from entry `begin` on. */
static const void *columns_from(const gsw_csr *csr, int64_t begin) {
    const size_t offset = (size_t)begin * gsw_itype_size(csr->index_type);
    return offset > 0 ? (const char *)csr->columns + offset : csr->columns;
}

gsw_status gsw_csr_refuse_row(gsw_context *context, const gsw_csr *csr, int64_t row,
                              int64_t begin) {
    int64_t end;
    if (!gsw_csr_row_end(csr, csr->index_type, row, begin, &end))
        return refuse_pointers(context, csr, row, gsw_index_at(csr->row_ptr, csr->index_type, row),
                               gsw_index_at(csr->row_ptr, csr->index_type, row + 1));
    return refuse_columns(context, csr, row, columns_from(csr, begin), end - begin);
}

static int offset_before(gsw_offset a, gsw_offset b) {
    if (a.dz != b.dz)
        return a.dz < b.dz;
    if (a.dy != b.dy)
        return a.dy < b.dy;
    return a.dx < b.dx;
}

static int offset_in_reach(gsw_offset d) {
    return d.dx >= -GSW_OFFSET_MAX && d.dx <= GSW_OFFSET_MAX && d.dy >= -GSW_OFFSET_MAX &&
           d.dy <= GSW_OFFSET_MAX && d.dz >= -GSW_OFFSET_MAX && d.dz <= GSW_OFFSET_MAX;
}

/* A stencil may have been filled by hand, so its promises are checked too. */
static gsw_status check_stencil(gsw_context *context, const gsw_stencil *stencil) {
    GSW_REQUIRE(context, stencil, "stencil must not be NULL");
    GSW_REQUIRE(context, stencil->count >= 1 && stencil->count <= GSW_STENCIL_MAX,
                "stencil: count must be between 1 and %d, not %d", GSW_STENCIL_MAX,
                (int)stencil->count);
    for (int32_t e = 0; e < stencil->count; e++) {
        GSW_REQUIRE(context, offset_in_reach(stencil->offsets[e]),
                    "stencil: offset %d has a component beyond %d", (int)e, GSW_OFFSET_MAX);
        GSW_REQUIRE(context, e == 0 || offset_before(stencil->offsets[e - 1], stencil->offsets[e]),
                    "stencil: offset %d is not after the one before it in (dz, dy, dx)", (int)e);
    }
    int32_t center = stencil->center;
    GSW_REQUIRE(context, center >= 0 && center < stencil->count,
                "stencil: center %d is not one of the %d offsets", (int)center,
                (int)stencil->count);
    gsw_offset c = stencil->offsets[center];
    GSW_REQUIRE(context, c.dx == 0 && c.dy == 0 && c.dz == 0,
                "stencil: offset %d must be the centre (0, 0, 0)", (int)center);
    return GSW_SUCCESS;
}

static gsw_status check_grid(gsw_context *context, const gsw_grid *grid, int64_t *points) {
    GSW_REQUIRE(context, grid, "grid must not be NULL");
    gsw_status status = gsw_grid_points(grid, points);
    if (status != GSW_SUCCESS)
        return gsw_fail(context, status, "grid: %lld x %lld x %lld is not a grid",
                        (long long)grid->nx, (long long)grid->ny, (long long)grid->nz);
    return GSW_SUCCESS;
}

static gsw_status check_csr_on_grid(gsw_context *context, const gsw_grid *grid,
                                    const gsw_stencil *stencil, const gsw_csr *csr) {
    int64_t points = 0;
    GSW_TRY(check_grid(context, grid, &points));
    GSW_TRY(check_stencil(context, stencil));
    GSW_TRY(gsw_csr_check(context, csr, 1));
    GSW_REQUIRE(context, csr->rows == points, "csr: %lld rows, but the grid has %lld points",
                (long long)csr->rows, (long long)points);
    return GSW_SUCCESS;
}

static gsw_status check_array_on_grid(gsw_context *context, const gsw_grid *grid,
                                      const gsw_stencil *stencil, const gsw_stencil_array *array) {
    int64_t points = 0;
    GSW_TRY(check_grid(context, grid, &points));
    GSW_TRY(check_stencil(context, stencil));
    GSW_REQUIRE(context, array, "array must not be NULL");
    GSW_REQUIRE(context, array->values, "array: values must not be NULL");
    GSW_REQUIRE(context, array->value_type == GSW_F64 || array->value_type == GSW_F32,
                "array: value_type %d is not a gsw_dtype", (int)array->value_type);
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_from_csr(gsw_context *context, const gsw_grid *grid,
                               const gsw_stencil *stencil, const gsw_csr *csr, gsw_matrix *matrix) {
    GSW_REQUIRE(context, matrix, "matrix must not be NULL");
    GSW_TRY(check_csr_on_grid(context, grid, stencil, csr));
    *matrix =
        (gsw_matrix){.grid = *grid, .stencil = *stencil, .format = GSW_FORMAT_CSR, .csr = *csr};
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_from_stencil(gsw_context *context, const gsw_grid *grid,
                                   const gsw_stencil *stencil, const gsw_stencil_array *array,
                                   gsw_matrix *matrix) {
    GSW_REQUIRE(context, matrix, "matrix must not be NULL");
    GSW_TRY(check_array_on_grid(context, grid, stencil, array));
    *matrix = (gsw_matrix){
        .grid = *grid, .stencil = *stencil, .format = GSW_FORMAT_STENCIL, .array = *array};
    return GSW_SUCCESS;
}

static gsw_status check_matrix(gsw_context *context, const gsw_matrix *matrix) {
    GSW_REQUIRE(context, matrix, "matrix must not be NULL");
    if (matrix->format == GSW_FORMAT_CSR)
        return check_csr_on_grid(context, &matrix->grid, &matrix->stencil, &matrix->csr);
    GSW_REQUIRE(context, matrix->format == GSW_FORMAT_STENCIL,
                "matrix: format %d is not a gsw_format", (int)matrix->format);
    return check_array_on_grid(context, &matrix->grid, &matrix->stencil, &matrix->array);
}

/* The offsets whose neighbour lies inside the grid for the points of one line (constant y and z),
 * as far as y and z say: what remains to be asked of each row is 0 <= x + dx < nx. Distances are in
 * rows; those of the neighbours inside ascend. */
typedef struct line_stencil {
    int count;
    int32_t dx[GSW_STENCIL_MAX];
    int64_t distance[GSW_STENCIL_MAX];
    int entry[GSW_STENCIL_MAX]; /* index in the stencil */
} line_stencil;

/* Offsets first..last of the stencil on the line (y, z). */
static void line_stencil_make(const gsw_grid *grid, const gsw_stencil *stencil, int first, int last,
                              int64_t y, int64_t z, line_stencil *line) {
    line->count = 0;
    for (int e = first; e <= last; e++) {
        gsw_offset d = stencil->offsets[e];
        if (y + d.dy < 0 || y + d.dy >= grid->ny || z + d.dz < 0 || z + d.dz >= grid->nz ||
            llabs(d.dx) >= grid->nx)
            continue;
        line->dx[line->count] = d.dx;
        line->distance[line->count] = gsw_grid_row(grid, d.dx, d.dy, d.dz);
        line->entry[line->count] = e;
        line->count++;
    }
}

static inline int inside_line(const line_stencil *line, int e, int64_t x, int64_t nx) {
    return (uint64_t)(x + line->dx[e]) < (uint64_t)nx;
}

static gsw_status refuse_coupling(gsw_context *context, const gsw_matrix *matrix, int64_t row,
                                  int64_t column) {
    const gsw_grid *g = &matrix->grid;
    int64_t plane = g->nx * g->ny;
    char text[GSW_ROW_TEXT];
    return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                    "row %s, column %lld: offset (%lld, %lld, %lld) is not in the stencil %s of "
                    "the %lld x %lld x %lld grid",
                    gsw_row_text(context, matrix->csr.base, g, row, text),
                    (long long)column + gsw_row_base(context, matrix->csr.base),
                    (long long)(column % g->nx - row % g->nx),
                    (long long)(column / g->nx % g->ny - row / g->nx % g->ny),
                    (long long)(column / plane - row / plane), gsw_stencil_name(&matrix->stencil),
                    (long long)g->nx, (long long)g->ny, (long long)g->nz);
}

/* Matches the entries of one row, whose columns start at `columns`, with the offsets of its line.
 * `type` is a constant where the loop is hot, so that the compiler makes a loop for each. */
static inline gsw_status validate_columns(gsw_context *context, const gsw_matrix *matrix,
                                          const line_stencil *line, gsw_itype type, int64_t row,
                                          int64_t x, const void *columns, int64_t count) {
    const gsw_csr *csr = &matrix->csr;
    int64_t previous = csr->base - 1;
    int e = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t column = gsw_index_at(columns, type, k);
        if (column <= previous || column >= csr->rows + csr->base)
            return refuse_columns(context, csr, row, columns, count);
        previous = column;
        int64_t distance = column - csr->base - row;
        while (e < line->count &&
               (line->distance[e] < distance || !inside_line(line, e, x, matrix->grid.nx)))
            e++;
        if (e == line->count || line->distance[e] != distance)
            return refuse_coupling(context, matrix, row, row + distance);
        e++;
    }
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_refuse_row(gsw_context *context, const gsw_matrix *matrix, int64_t row,
                                 int64_t first, int64_t last, const void *columns) {
    const gsw_grid *g = &matrix->grid;
    const gsw_csr *csr = &matrix->csr;
    line_stencil line;
    if (!gsw_csr_pointers_fit(csr, row, first, last))
        return refuse_pointers(context, csr, row, first, last);
    line_stencil_make(g, &matrix->stencil, 0, matrix->stencil.count - 1, row / g->nx % g->ny,
                      row / g->nx / g->ny, &line);
    GSW_TRY(validate_columns(context, matrix, &line, csr->index_type, row, row % g->nx, columns,
                             last - first));
    return refuse_columns(context, csr, row, columns, last - first);
}

static inline gsw_status validate_rows(gsw_context *context, const gsw_matrix *matrix,
                                       gsw_itype type) {
    const gsw_grid *g = &matrix->grid;
    line_stencil line;
    int64_t row = 0;
    int64_t begin = 0;
    for (int64_t z = 0; z < g->nz; z++)
        for (int64_t y = 0; y < g->ny; y++) {
            line_stencil_make(g, &matrix->stencil, 0, matrix->stencil.count - 1, y, z, &line);
            for (int64_t x = 0; x < g->nx; x++, row++) {
                int64_t end;
                if (!gsw_csr_row_end(&matrix->csr, type, row, begin, &end))
                    return gsw_csr_refuse_row(context, &matrix->csr, row, begin);
                GSW_TRY(validate_columns(context, matrix, &line, type, row, x,
                                         columns_from(&matrix->csr, begin), end - begin));
                begin = end;
            }
        }
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_check(gsw_context *context, const gsw_matrix *matrix) {
    gsw_matrix checked;
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    GSW_REQUIRE(context, matrix->format == GSW_FORMAT_CSR || matrix->format == GSW_FORMAT_STENCIL,
                "matrix has the unknown format %d", (int)matrix->format);
    if (matrix->format == GSW_FORMAT_CSR)
        return gsw_matrix_from_csr(context, &matrix->grid, &matrix->stencil, &matrix->csr,
                                   &checked);
    return gsw_matrix_from_stencil(context, &matrix->grid, &matrix->stencil, &matrix->array,
                                   &checked);
}

gsw_status gsw_matrix_validate_host(gsw_context *context, const gsw_matrix *matrix) {
    if (matrix->csr.index_type == GSW_I32)
        return validate_rows(context, matrix, GSW_I32);
    return validate_rows(context, matrix, GSW_I64);
}

gsw_status gsw_matrix_validate(gsw_context *context, const gsw_matrix *matrix) {
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_TRY(check_matrix(context, matrix));
    if (matrix->format == GSW_FORMAT_STENCIL)
        return GSW_SUCCESS; /* there are no indices that could be wrong */
    return context->ops->validate(context, matrix);
}

/* Allocates the arrays of a CSR with base 0 whose sizes and types are set. */
static gsw_status allocate_csr(gsw_context *context, gsw_csr *csr) {
    size_t index = gsw_itype_size(csr->index_type);
    void *row_ptr = NULL;
    void *columns = NULL;
    void *values = NULL;
    gsw_status status;
    if (csr->index_type == GSW_I32 && (csr->rows > INT32_MAX || csr->nonzeros > INT32_MAX))
        return gsw_fail(context, GSW_ERROR_OVERFLOW,
                        "index_type: %lld rows and %lld entries do not fit in 32-bit indices",
                        (long long)csr->rows, (long long)csr->nonzeros);
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)csr->rows + 1, index, "row pointers", &row_ptr),
                 cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)csr->nonzeros, index, "columns", &columns), cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)csr->nonzeros, gsw_dtype_size(csr->value_type),
                           "values", &values),
                 cleanup);
    csr->row_ptr = row_ptr;
    csr->columns = columns;
    csr->values = values;
    gsw_index_put(row_ptr, csr->index_type, 0, 0);
    return GSW_SUCCESS;
cleanup:
    free(columns);
    free(row_ptr);
    return status;
}

/* Finds the entries of a row that belong to the part: *first up to (not including) *last. */
static void part_of_row(const gsw_csr *csr, gsw_part part, int64_t row, int64_t *first,
                        int64_t *last) {
    int64_t diagonal = row + csr->base;
    if (part == GSW_UPPER)
        while (*first < *last && gsw_index_at(csr->columns, csr->index_type, *first) < diagonal)
            (*first)++;
    if (part == GSW_LOWER)
        while (*first < *last && gsw_index_at(csr->columns, csr->index_type, *last - 1) > diagonal)
            (*last)--;
}

/* Checks every row and counts the entries of the part. */
static gsw_status count_csr_part(gsw_context *context, const gsw_csr *csr, gsw_part part,
                                 int64_t *count) {
    int64_t begin = 0;
    *count = 0;
    for (int64_t row = 0; row < csr->rows; row++) {
        int64_t end;
        if (!gsw_csr_row_end(csr, csr->index_type, row, begin, &end))
            return gsw_csr_refuse_row(context, csr, row, begin);
        int64_t previous = csr->base - 1;
        for (int64_t k = begin; k < end; k++) {
            int64_t column = gsw_index_at(csr->columns, csr->index_type, k);
            if (column <= previous || column >= csr->rows + csr->base)
                return gsw_csr_refuse_row(context, csr, row, begin);
            previous = column;
        }
        int64_t first = begin;
        int64_t last = end;
        part_of_row(csr, part, row, &first, &last);
        *count += last - first;
        begin = end;
    }
    return GSW_SUCCESS;
}

static void copy_csr_part(const gsw_csr *from, gsw_part part, gsw_csr *to) {
    size_t size = gsw_dtype_size(from->value_type);
    int64_t begin = 0;
    int64_t next = 0;
    for (int64_t row = 0; row < from->rows; row++) {
        int64_t end = gsw_index_at(from->row_ptr, from->index_type, row + 1) - from->base;
        int64_t first = begin;
        int64_t last = end;
        part_of_row(from, part, row, &first, &last);
        if (last > first)
            memcpy((char *)to->values + (size_t)next * size,
                   (const char *)from->values + (size_t)first * size,
                   (size_t)(last - first) * size);
        for (int64_t k = first; k < last; k++)
            gsw_index_put((void *)to->columns, to->index_type, next++,
                          gsw_index_at(from->columns, from->index_type, k) - from->base);
        gsw_index_put((void *)to->row_ptr, to->index_type, row + 1, next);
        begin = end;
    }
}

/* The number of couplings inside the grid among offsets first..last. */
static gsw_status count_stencil_part(gsw_context *context, const gsw_matrix *matrix, int first,
                                     int last, int64_t *count) {
    const gsw_grid *g = &matrix->grid;
    *count = 0;
    for (int e = first; e <= last; e++) {
        gsw_offset d = matrix->stencil.offsets[e];
        int64_t nx = g->nx - llabs(d.dx);
        int64_t ny = g->ny - llabs(d.dy);
        int64_t nz = g->nz - llabs(d.dz);
        if (nx <= 0 || ny <= 0 || nz <= 0)
            continue;
        if (__builtin_add_overflow(*count, nx * ny * nz, count))
            return gsw_fail(context, GSW_ERROR_OVERFLOW,
                            "matrix: the number of couplings does not fit in 64 bits");
    }
    return GSW_SUCCESS;
}

static void put_value(const gsw_csr *to, int64_t k, const void *from, int64_t row) {
    if (to->value_type == GSW_F64)
        ((double *)to->values)[k] = from ? ((const double *)from)[row] : 0.0;
    else
        ((float *)to->values)[k] = from ? ((const float *)from)[row] : 0.0F;
}

static void copy_stencil_part(const gsw_matrix *matrix, int first, int last, gsw_csr *to) {
    const gsw_grid *g = &matrix->grid;
    line_stencil line;
    int64_t row = 0;
    int64_t next = 0;
    for (int64_t z = 0; z < g->nz; z++)
        for (int64_t y = 0; y < g->ny; y++) {
            line_stencil_make(g, &matrix->stencil, first, last, y, z, &line);
            for (int64_t x = 0; x < g->nx; x++, row++) {
                for (int e = 0; e < line.count; e++) {
                    if (!inside_line(&line, e, x, g->nx))
                        continue;
                    gsw_index_put((void *)to->columns, to->index_type, next,
                                  row + line.distance[e]);
                    put_value(to, next++, matrix->array.values[line.entry[e]], row);
                }
                gsw_index_put((void *)to->row_ptr, to->index_type, row + 1, next);
            }
        }
}

gsw_status gsw_matrix_to_csr(gsw_context *context, const gsw_matrix *matrix, gsw_part part,
                             gsw_itype index_type, gsw_csr *csr) {
    GSW_REQUIRE(context, csr, "csr must not be NULL");
    GSW_REQUIRE(context, part == GSW_LOWER || part == GSW_UPPER || part == GSW_FULL,
                "part %d is not a gsw_part", (int)part);
    GSW_REQUIRE(context, index_type == GSW_I32 || index_type == GSW_I64,
                "index_type %d is not a gsw_itype", (int)index_type);
    GSW_TRY(check_matrix(context, matrix));
    gsw_csr result = {.index_type = index_type};
    if (matrix->format == GSW_FORMAT_CSR) {
        result.rows = matrix->csr.rows;
        result.value_type = matrix->csr.value_type;
        GSW_TRY(count_csr_part(context, &matrix->csr, part, &result.nonzeros));
        GSW_TRY(allocate_csr(context, &result));
        copy_csr_part(&matrix->csr, part, &result);
    } else {
        int first = part == GSW_UPPER ? matrix->stencil.center : 0;
        int last = part == GSW_LOWER ? matrix->stencil.center : matrix->stencil.count - 1;
        GSW_TRY(gsw_grid_points(&matrix->grid, &result.rows));
        result.value_type = matrix->array.value_type;
        GSW_TRY(count_stencil_part(context, matrix, first, last, &result.nonzeros));
        GSW_TRY(allocate_csr(context, &result));
        copy_stencil_part(matrix, first, last, &result);
    }
    *csr = result;
    return GSW_SUCCESS;
}

void gsw_csr_free(gsw_csr *csr) {
    if (!csr)
        return;
    free((void *)csr->values);
    free((void *)csr->columns);
    free((void *)csr->row_ptr);
    *csr = (gsw_csr){0};
}
