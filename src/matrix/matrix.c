/* matrix.c: views of the user's matrix, their validation, and CSR copies. */
#include <stdlib.h>
#include <gridsweep/matrix.h>
#include <gridsweep/memory.h>

#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "common/arrays.h"
#include "common/csr.h"
#include "contract/error.h"
#include "common/line_stencil.h"
#include "matrix_row.h"
#include "domain/wrapped.h"

gsw_status gsw_matrix_from_csr(gsw_context *context, const gsw_grid *grid,
                               const gsw_stencil *stencil, const gsw_csr *csr, gsw_matrix *matrix) {
    GSW_REQUIRE(context, matrix, "matrix must not be NULL");
    GSW_TRY(gsw_csr_check_on_grid(context, grid, stencil, csr));
    gsw_matrix made = {.grid = *grid, .stencil = *stencil, .format = GSW_FORMAT_CSR, .csr = *csr};
    if (grid->periodic)
        GSW_TRY(gsw_stencil_around(context, grid, stencil, &made.stencil));
    *matrix = made;
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_from_stencil(gsw_context *context, const gsw_grid *grid,
                                   const gsw_stencil *stencil, const gsw_stencil_array *array,
                                   gsw_matrix *matrix) {
    GSW_REQUIRE(context, matrix, "matrix must not be NULL");
    GSW_TRY(gsw_array_check_on_grid(context, grid, stencil, array));
    *matrix = (gsw_matrix){
        .grid = *grid, .stencil = *stencil, .format = GSW_FORMAT_STENCIL, .array = *array};
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_from_constants(gsw_context *context, const gsw_grid *grid,
                                     const gsw_stencil *stencil, const double *values,
                                     int64_t planes, gsw_dtype type, gsw_matrix *matrix) {
    const void *lines[GSW_STENCIL_MAX];
    gsw_matrix host;
    gsw_stencil_array array = {lines, type, planes == 1 ? GSW_REPEAT_XYZ : GSW_REPEAT_XY};
    void *memory = NULL;
    GSW_REQUIRE(context, matrix, "matrix must not be NULL");
    *matrix = (gsw_matrix){0};
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_REQUIRE(context, grid, "grid must not be NULL");
    GSW_REQUIRE(context, stencil, "stencil must not be NULL");
    GSW_REQUIRE(context, values, "values must not be NULL");
    if (grid->nx == 1)
        array.repeat = GSW_REPEAT_NONE;
    GSW_TRY(gsw_matrix_from_stencil(context, grid, stencil, &array, &host));
    GSW_REQUIRE(context, planes == 1 || planes == grid->nz,
                "planes must be 1 or nz = %lld, not %lld", (long long)grid->nz, (long long)planes);
    const int64_t count = gsw_array_values(&host);
    const int64_t plane = array.repeat == GSW_REPEAT_NONE ? grid->ny : grid->nx;
    GSW_TRY(gsw_alloc(context, (size_t)count, (size_t)stencil->count * gsw_dtype_size(type),
                      "constant coefficients", &memory));
    for (int32_t e = 0; e < stencil->count; e++) {
        void *line = (char *)memory + (size_t)(e * count) * gsw_dtype_size(type);
        for (int64_t i = 0; i < count; i++)
            gsw_value_put(line, type, i, values[e * planes + (planes > 1 ? i / plane : 0)]);
        lines[e] = line;
    }
    const gsw_status status = gsw_matrix_upload(context, &host, matrix);
    free(memory);
    return status;
}

gsw_status gsw_matrix_validate(gsw_context *context, const gsw_matrix *matrix) {
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_kind(context, matrix));
    if (matrix->format == GSW_FORMAT_STENCIL)
        return GSW_SUCCESS; /* there are no indices to check */
    return context->ops->matrix->validate(context, matrix);
}

/* Allocates the arrays of a CSR with base 0 whose sizes and types are set. */
static gsw_status allocate_csr(gsw_context *context, gsw_csr *csr) {
    size_t index = gsw_itype_size(csr->index_type);
    void *row_ptr = NULL;
    void *columns = NULL;
    void *values = NULL;
    gsw_status status;
    if (csr->index_type == GSW_I32 && (csr->rows > INT32_MAX || csr->nonzeros > INT32_MAX)) {
        (void)gsw_fail(context, GSW_ERROR_OVERFLOW,
                       "index_type: %lld rows and %lld entries do not fit in 32-bit indices",
                       (long long)csr->rows, (long long)csr->nonzeros);
        return GSW_ERROR_OVERFLOW;
    }
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

/* Copies value `i` of an array; NULL counts as all zeros. */
static void put_value(const gsw_csr *to, int64_t k, const void *from, int64_t i) {
    gsw_value_put((void *)to->values, to->value_type, k,
                  from ? gsw_value_at(from, to->value_type, i) : 0);
}

/* A stored zero outside the stencil, in an entry of a row that has been checked. */
static int is_stray(const gsw_matrix *matrix, int64_t row, int64_t k) {
    const gsw_csr *csr = &matrix->csr;
    return gsw_csr_is_zero(csr, k) &&
           gsw_matrix_offset_of(matrix, row,
                                gsw_index_at(csr->columns, csr->index_type, k) - csr->base) < 0;
}

/* The copy of such a row is that of the identity, also where its diagonal is not stored. */
static int is_inactive(const gsw_matrix *matrix, int64_t row) {
    return matrix->active && !matrix->active[row];
}

/* Checks every row and counts the entries of the part. */
static gsw_status count_csr_part(gsw_context *context, const gsw_matrix *matrix, gsw_part part,
                                 int64_t *count) {
    const gsw_csr *csr = &matrix->csr;
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
        *count += is_inactive(matrix, row);
        for (int64_t k = first; k < last && !is_inactive(matrix, row); k++)
            *count += !is_stray(matrix, row, k);
        begin = end;
    }
    return GSW_SUCCESS;
}

static void copy_csr_part(const gsw_matrix *matrix, gsw_part part, gsw_csr *to) {
    const gsw_csr *from = &matrix->csr;
    int64_t begin = 0;
    int64_t next = 0;
    for (int64_t row = 0; row < from->rows; row++) {
        int64_t end = gsw_index_at(from->row_ptr, from->index_type, row + 1) - from->base;
        int64_t first = begin;
        int64_t last = end;
        part_of_row(from, part, row, &first, &last);
        if (is_inactive(matrix, row)) {
            gsw_value_put((void *)to->values, to->value_type, next, 1);
            gsw_index_put((void *)to->columns, to->index_type, next++, row);
        }
        for (int64_t k = first; k < last && !is_inactive(matrix, row); k++) {
            if (is_stray(matrix, row, k))
                continue;
            put_value(to, next, from->values, k);
            gsw_index_put((void *)to->columns, to->index_type, next++,
                          gsw_index_at(from->columns, from->index_type, k) - from->base);
        }
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

static void copy_stencil_part(const gsw_matrix *matrix, int first, int last, gsw_csr *to) {
    const gsw_grid *g = &matrix->grid;
    gsw_line_stencil line;
    int64_t row = 0;
    int64_t next = 0;
    for (int64_t z = 0; z < g->nz; z++)
        for (int64_t y = 0; y < g->ny; y++) {
            gsw_line_stencil_make(g, &matrix->stencil, first, last, y, z, &line);
            for (int64_t x = 0; x < g->nx; x++, row++) {
                for (int e = 0; e < line.count; e++) {
                    if (!gsw_inside_line(&line, e, x, g->nx))
                        continue;
                    gsw_index_put((void *)to->columns, to->index_type, next,
                                  row + line.distance[e]);
                    put_value(to, next++, matrix->array.values[line.entry[e]],
                              gsw_array_line(matrix, y, z) + x);
                }
                gsw_index_put((void *)to->row_ptr, to->index_type, row + 1, next);
            }
        }
}

/* An entry of a row around a periodic grid. */
typedef struct wrapped_entry {
    int64_t column;
    int32_t e;
} wrapped_entry;

/* The entries of a row of stencil arrays on a periodic grid, columns ascending. Returns their
 * number. */
static int find_wrapped_row(const gsw_matrix *matrix, gsw_part part, int64_t row,
                            wrapped_entry entries[GSW_STENCIL_MAX]) {
    const gsw_grid *g = &matrix->grid;
    const int64_t at[3] = {row % g->nx, row / g->nx % g->ny, row / g->nx / g->ny};
    int count = 0;
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        int64_t to[3] = {at[0] + o.dx, at[1] + o.dy, at[2] + o.dz};
        if (!gsw_grid_take_in(g, to))
            continue;
        const int64_t column = gsw_grid_row(g, to[0], to[1], to[2]);
        if ((part == GSW_LOWER && column > row) || (part == GSW_UPPER && column < row))
            continue;
        int k = count++;
        for (; k > 0 && entries[k - 1].column > column; k--)
            entries[k] = entries[k - 1];
        entries[k] = (wrapped_entry){column, e};
    }
    return count;
}

/* The part of such arrays; with `to` NULL only the number of entries. */
static int64_t copy_wrapped_part(const gsw_matrix *matrix, gsw_part part, gsw_csr *to) {
    const gsw_grid *g = &matrix->grid;
    wrapped_entry entries[GSW_STENCIL_MAX];
    int64_t next = 0;
    for (int64_t row = 0; row < g->nx * g->ny * g->nz; row++) {
        const int count = find_wrapped_row(matrix, part, row, entries);
        for (int k = 0; k < count && to != NULL; k++) {
            gsw_index_put((void *)to->columns, to->index_type, next + k, entries[k].column);
            put_value(to, next + k, matrix->array.values[entries[k].e], gsw_array_at(matrix, row));
        }
        next += count;
        if (to != NULL)
            gsw_index_put((void *)to->row_ptr, to->index_type, row + 1, next);
    }
    return next;
}

/* Turns rows of inactive points into those of the identity, and couplings to them into zeros. */
static void cut_csr(const uint8_t *active, gsw_csr *csr) {
    for (int64_t row = 0; row < csr->rows; row++) {
        const int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1);
        for (int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row); k < end; k++) {
            const int64_t column = gsw_index_at(csr->columns, csr->index_type, k);
            if (!active[row] || !active[column])
                gsw_value_put((void *)csr->values, csr->value_type, k, row == column);
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
    GSW_TRY(gsw_matrix_check(context, matrix));
    gsw_csr result = {.index_type = index_type};
    if (matrix->format == GSW_FORMAT_CSR) {
        result.rows = matrix->csr.rows;
        result.value_type = matrix->csr.value_type;
        GSW_TRY(count_csr_part(context, matrix, part, &result.nonzeros));
        GSW_TRY(allocate_csr(context, &result));
        copy_csr_part(matrix, part, &result);
    } else {
        int first = part == GSW_UPPER ? matrix->stencil.center : 0;
        int last = part == GSW_LOWER ? matrix->stencil.center : matrix->stencil.count - 1;
        GSW_TRY(gsw_grid_points(&matrix->grid, &result.rows));
        result.value_type = matrix->array.value_type;
        if (matrix->grid.periodic)
            result.nonzeros = copy_wrapped_part(matrix, part, NULL);
        else
            GSW_TRY(count_stencil_part(context, matrix, first, last, &result.nonzeros));
        GSW_TRY(allocate_csr(context, &result));
        if (matrix->grid.periodic)
            (void)copy_wrapped_part(matrix, part, &result);
        else
            copy_stencil_part(matrix, first, last, &result);
    }
    if (matrix->active)
        cut_csr(matrix->active, &result);
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
