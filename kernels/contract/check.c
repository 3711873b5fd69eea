/* check.c: see check.h. */
#include <string.h>

#include "contract/backend.h"
#include "contract/check.h"
#include "common/arrays.h"
#include "contract/context.h"
#include "common/csr.h"
#include "contract/error.h"
#include "common/line_stencil.h"
#include "contract/row.h"

gsw_status gsw_csr_check(gsw_context *context, const gsw_csr *csr, int needs_values) {
    GSW_REQUIRE(context, csr, "csr must not be NULL");
    GSW_REQUIRE(context, csr->index_type == GSW_I32 || csr->index_type == GSW_I64,
                "csr: index_type %d is not a gsw_itype", (int)csr->index_type);
    GSW_REQUIRE(context, gsw_is_element(csr->value_type), "csr: value_type %d is not a gsw_dtype",
                (int)csr->value_type);
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

/* Refuses a row, whose `count` columns start at `columns`. */
static gsw_status refuse_columns(gsw_context *context, const gsw_csr *csr, int64_t row,
                                 const void *columns, int64_t count) {
    char text[GSW_ROW_TEXT];
    const char *name = gsw_row_text(context, csr->base, NULL, row, text);
    int64_t previous = csr->base - 1;
    /* The base of columns and rows in the message, less that of the arrays. */
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

/* The caller may have filled the stencil by hand, so its invariants are checked too. */
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

gsw_status gsw_grid_check(gsw_context *context, const gsw_grid *grid, int64_t *points) {
    GSW_REQUIRE(context, grid, "grid must not be NULL");
    gsw_status status = gsw_grid_points(grid, points);
    if (status != GSW_SUCCESS)
        return gsw_fail(context, status, "grid: %lld x %lld x %lld %s", (long long)grid->nx,
                        (long long)grid->ny, (long long)grid->nz,
                        status == GSW_ERROR_OVERFLOW               ? "has more than 2^48 points"
                        : grid->periodic > 7 || grid->periodic < 0 ? "has an unknown periodic axis"
                                                                   : "is not a grid");
    return GSW_SUCCESS;
}

/* Whether neighbours around a periodic grid are different points. `is_csr`: offsets may already
 * lead there without a way around. */
static gsw_status check_periodic(gsw_context *context, const gsw_grid *grid,
                                 const gsw_stencil *stencil, int is_csr) {
    static const char *const names[] = {"x", "y", "z"};
    const int64_t extent[3] = {grid->nx, grid->ny, grid->nz};
    for (int a = 0; a < 3; a++)
        for (int32_t e = 0; e < stencil->count && (grid->periodic >> a & 1); e++) {
            const gsw_offset o = stencil->offsets[e];
            int64_t d = a == 0 ? o.dx : a == 1 ? o.dy : o.dz;
            d = d < 0 ? -d : d;
            if (is_csr && 2 * d > extent[a] && d < extent[a])
                d = extent[a] - d;
            GSW_REQUIRE(context, 2 * d < extent[a],
                        "grid: it is periodic along %s with %lld points, too few for a stencil "
                        "that reaches %lld; it needs %lld",
                        names[a], (long long)extent[a], (long long)d, (long long)(2 * d + 1));
        }
    return GSW_SUCCESS;
}

gsw_status gsw_csr_check_on_grid(gsw_context *context, const gsw_grid *grid,
                                 const gsw_stencil *stencil, const gsw_csr *csr) {
    int64_t points = 0;
    GSW_TRY(gsw_grid_check(context, grid, &points));
    GSW_TRY(check_stencil(context, stencil));
    GSW_TRY(gsw_csr_check(context, csr, 1));
    GSW_REQUIRE(context, csr->rows == points, "csr: %lld rows, but the grid has %lld points",
                (long long)csr->rows, (long long)points);
    return check_periodic(context, grid, stencil, 1);
}

gsw_status gsw_array_check_on_grid(gsw_context *context, const gsw_grid *grid,
                                   const gsw_stencil *stencil, const gsw_stencil_array *array) {
    int64_t points = 0;
    GSW_TRY(gsw_grid_check(context, grid, &points));
    GSW_TRY(check_stencil(context, stencil));
    GSW_REQUIRE(context, array, "array must not be NULL");
    GSW_REQUIRE(context, array->values, "array: values must not be NULL");
    GSW_REQUIRE(context, gsw_is_element(array->value_type),
                "array: value_type %d is not a gsw_dtype", (int)array->value_type);
    GSW_REQUIRE(context, (unsigned)array->repeat <= GSW_REPEAT_XYZ,
                "array: repeat %d is not a gsw_repeat", (int)array->repeat);
    GSW_REQUIRE(context, array->repeat == GSW_REPEAT_NONE || grid->nx > 1,
                "array: repeat needs a grid with more than one point along x");
    return check_periodic(context, grid, stencil, 0);
}

gsw_status gsw_matrix_check(gsw_context *context, const gsw_matrix *matrix) {
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    if (matrix->partition)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "matrix is on a partition; this call takes one of a single process");
    if (matrix->format == GSW_FORMAT_CSR)
        return gsw_csr_check_on_grid(context, &matrix->grid, &matrix->stencil, &matrix->csr);
    GSW_REQUIRE(context, matrix->format == GSW_FORMAT_STENCIL,
                "matrix: format %d is not a gsw_format", (int)matrix->format);
    return gsw_array_check_on_grid(context, &matrix->grid, &matrix->stencil, &matrix->array);
}

/* `zero`: the entry is a stored zero. */
static gsw_status refuse_coupling(gsw_context *context, const gsw_matrix *matrix, int64_t row,
                                  int64_t column, int zero) {
    const gsw_grid *g = &matrix->grid;
    int64_t plane = g->nx * g->ny;
    char text[GSW_ROW_TEXT];
    return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                    "row %s, column %lld: offset (%lld, %lld, %lld) is not in the stencil %s of "
                    "the %lld x %lld x %lld grid%s",
                    gsw_row_text(context, matrix->csr.base, g, row, text),
                    (long long)column + gsw_row_base(context, matrix->csr.base),
                    (long long)(column % g->nx - row % g->nx),
                    (long long)(column / g->nx % g->ny - row / g->nx % g->ny),
                    (long long)(column / plane - row / plane), gsw_stencil_name(&matrix->stencil),
                    (long long)g->nx, (long long)g->ny, (long long)g->nz,
                    zero ? "; the value stored there is 0: gsw_matrix_fit() leaves such zeros out"
                         : "");
}

/* Matches the entries of one row, `begin` to `end` of the arrays of `csr`, with the offsets of its
 * line. Counts stored zeros outside the stencil in *zeros; NULL refuses them. `type` is a constant
 * where the loop is hot, so that the compiler generates one loop per type. */
static inline gsw_status validate_columns(gsw_context *context, const gsw_matrix *matrix,
                                          const gsw_line_stencil *line, gsw_itype type, int64_t row,
                                          int64_t x, const gsw_csr *csr, int64_t begin, int64_t end,
                                          int64_t *zeros) {
    int64_t previous = csr->base - 1;
    int e = 0;
    for (int64_t k = begin; k < end; k++) {
        int64_t column = gsw_index_at(csr->columns, type, k);
        if (column <= previous || column >= csr->rows + csr->base)
            return refuse_columns(context, csr, row, columns_from(csr, begin), end - begin);
        previous = column;
        int64_t distance = column - csr->base - row;
        while (e < line->count &&
               (line->distance[e] < distance || !gsw_inside_line(line, e, x, matrix->grid.nx)))
            e++;
        if (e < line->count && line->distance[e] == distance) {
            e++;
            continue;
        }
        const int zero = gsw_csr_is_zero(csr, k);
        if (!zero || zeros == NULL)
            return refuse_coupling(context, matrix, row, row + distance, zero);
        ++*zeros;
    }
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_refuse_row(gsw_context *context, const gsw_matrix *matrix, int64_t row,
                                 int64_t first, int64_t last, const void *columns,
                                 const void *values) {
    const gsw_grid *g = &matrix->grid;
    gsw_csr csr = matrix->csr;
    gsw_line_stencil line;
    csr.columns = columns;
    csr.values = values;
    if (!gsw_csr_pointers_fit(&csr, row, first, last))
        return refuse_pointers(context, &csr, row, first, last);
    gsw_line_stencil_make(g, &matrix->stencil, 0, matrix->stencil.count - 1, row / g->nx % g->ny,
                          row / g->nx / g->ny, &line);
    GSW_TRY(validate_columns(context, matrix, &line, csr.index_type, row, row % g->nx, &csr, 0,
                             last - first, NULL));
    return refuse_columns(context, &csr, row, columns, last - first);
}

static inline gsw_status validate_rows(gsw_context *context, const gsw_matrix *matrix,
                                       gsw_itype type, int64_t *zeros) {
    const gsw_grid *g = &matrix->grid;
    gsw_line_stencil line;
    int64_t first, last;
    int64_t row = 0;
    int64_t begin = 0;
    for (int64_t z = 0; z < g->nz; z++)
        for (int64_t y = 0; y < g->ny; y++) {
            gsw_line_stencil_make(g, &matrix->stencil, 0, matrix->stencil.count - 1, y, z, &line);
            gsw_line_inside(&line, g->nx, &first, &last);
            for (int64_t x = 0; x < g->nx; x++, row++) {
                int64_t end;
                if (!gsw_csr_row_end(&matrix->csr, type, row, begin, &end))
                    return gsw_csr_refuse_row(context, &matrix->csr, row, begin);
                if (x < first || x >= last ||
                    !gsw_line_is_row(&line, &matrix->csr, type, row, begin, end))
                    GSW_TRY(validate_columns(context, matrix, &line, type, row, x, &matrix->csr,
                                             begin, end, zeros));
                begin = end;
            }
        }
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_validate_host(gsw_context *context, const gsw_matrix *matrix) {
    if (matrix->csr.index_type == GSW_I32)
        return validate_rows(context, matrix, GSW_I32, NULL);
    return validate_rows(context, matrix, GSW_I64, NULL);
}

gsw_status gsw_matrix_count_strays(gsw_context *context, const gsw_matrix *matrix,
                                   int64_t *strays) {
    *strays = 0;
    return validate_rows(context, matrix, matrix->csr.index_type, strays);
}

/* ---- vectors ---- */

static int64_t distance_of(const gsw_vector *v, int64_t count) {
    return count > 1 ? v->ld : 0;
}

/* Checks NULL, alignment, leading dimension, and whether the end of the last right-hand side has an
 * address. */
static gsw_status check_vector(gsw_context *context, int64_t points, size_t size, int64_t count,
                               const gsw_vector *v) {
    int64_t bytes;
    uintptr_t end;
    GSW_REQUIRE(context, v->data != NULL, "%s is NULL", v->name);
    GSW_REQUIRE(context, (uintptr_t)v->data % size == 0, "%s is not aligned to %zu bytes", v->name,
                size);
    GSW_REQUIRE(context, count == 1 || v->ld >= points,
                "ld%s is %lld, less than the %lld points of the grid", v->name, (long long)v->ld,
                (long long)points);
    if (__builtin_mul_overflow(count - 1, distance_of(v, count), &bytes) ||
        __builtin_add_overflow(bytes, points, &bytes) ||
        __builtin_mul_overflow(bytes, (int64_t)size, &bytes) ||
        __builtin_add_overflow((uintptr_t)v->data, (uintptr_t)bytes, &end))
        return gsw_fail(context, GSW_ERROR_OVERFLOW,
                        "%lld right-hand sides of %s exceed 64-bit sizes", (long long)count,
                        v->name);
    return GSW_SUCCESS;
}

/* Whether a right-hand side of one vector shares a value with one of the other. Both ascend, so one
 * merge decides. */
static int share_values(int64_t points, size_t size, int64_t count, const gsw_vector *a,
                        const gsw_vector *b) {
    const uintptr_t length = (uintptr_t)points * size;
    const uintptr_t step_a = (uintptr_t)distance_of(a, count) * size;
    const uintptr_t step_b = (uintptr_t)distance_of(b, count) * size;
    uintptr_t from_a = (uintptr_t)a->data, from_b = (uintptr_t)b->data;
    for (int64_t i = 0, j = 0; i < count && j < count;) {
        if (from_a + length <= from_b) {
            from_a += step_a;
            i++;
        } else if (from_b + length <= from_a) {
            from_b += step_b;
            j++;
        } else {
            return 1;
        }
    }
    return 0;
}

static int may_be(const gsw_vector *a, const gsw_vector *b) {
    return a->may_be != NULL && strcmp(a->may_be, b->name) == 0;
}

static gsw_status check_pair(gsw_context *context, int64_t points, size_t size, int64_t count,
                             const gsw_vector *a, const gsw_vector *b) {
    if (!a->written && !b->written)
        return GSW_SUCCESS;
    if (a->data == b->data && (may_be(a, b) || may_be(b, a))) {
        GSW_REQUIRE(context, count == 1 || a->ld == b->ld, "in place, ld%s and ld%s must be equal",
                    a->name, b->name);
        return GSW_SUCCESS;
    }
    GSW_REQUIRE(context, !share_values(points, size, count, a, b), "%s and %s overlap", a->name,
                b->name);
    return GSW_SUCCESS;
}

gsw_status gsw_check_vector_type(gsw_context *context, const gsw_matrix *matrix,
                                 gsw_dtype vector_type) {
    GSW_REQUIRE(context, gsw_is_element(vector_type), "vector_type %d is unknown",
                (int)vector_type);
    if (gsw_dtype_size(gsw_matrix_value_type(matrix)) > gsw_dtype_size(vector_type))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "fp32 vectors need a matrix with fp32 values");
    return GSW_SUCCESS;
}

gsw_status gsw_check_vectors(gsw_context *context, int64_t points, gsw_dtype type, int64_t count,
                             const gsw_vector *vectors, int number) {
    const size_t size = gsw_dtype_size(type);
    GSW_REQUIRE(context, count >= 0, "count %lld is negative", (long long)count);
    if (count == 0)
        return GSW_SUCCESS;
    for (int v = 0; v < number; v++)
        GSW_TRY(check_vector(context, points, size, count, &vectors[v]));
    for (int v = 1; v < number; v++)
        for (int u = 0; u < v; u++)
            GSW_TRY(check_pair(context, points, size, count, &vectors[u], &vectors[v]));
    return GSW_SUCCESS;
}

/* ---- place ---- */

gsw_status gsw_check_place(gsw_context *context, const gsw_vector *vectors, int number) {
    for (int v = 0; v < number; v++)
        GSW_TRY(context->ops->memory->check_place(context, vectors[v].name, vectors[v].data));
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_check_kind(gsw_context *context, const gsw_matrix *matrix) {
    static const char *const kinds[] = {[GSW_KIND_CSR] = "a CSR",
                                        [GSW_KIND_ARRAYS] = "stencil arrays",
                                        [GSW_KIND_REPEAT] = "arrays whose values repeat"};
    const gsw_matrix_kind kind = gsw_matrix_kind_of(matrix);
    return context->ops->matrix->kinds >> kind & 1
               ? GSW_SUCCESS
               : gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                          "matrix: it is %s, which this backend does not take", kinds[kind]);
}

gsw_status gsw_matrix_check_place(gsw_context *context, const gsw_matrix *matrix) {
    GSW_TRY(gsw_matrix_check_kind(context, matrix));
    const gsw_vector mask = {.name = "active", .data = matrix->active};
    if (matrix->active != NULL)
        GSW_TRY(gsw_check_place(context, &mask, 1));
    if (matrix->format == GSW_FORMAT_CSR) {
        const gsw_csr *csr = &matrix->csr;
        const gsw_vector arrays[] = {{.name = "csr: row_ptr", .data = csr->row_ptr},
                                     {.name = "csr: columns", .data = csr->columns},
                                     {.name = "csr: values", .data = csr->values}};
        return gsw_check_place(context, arrays, csr->nonzeros > 0 ? 3 : 1);
    }
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_vector array = {.name = "array: values", .data = matrix->array.values[e]};
        if (array.data != NULL)
            GSW_TRY(gsw_check_place(context, &array, 1));
    }
    return GSW_SUCCESS;
}
