/* matrix_row.c: see matrix_row.h. */
#include "matrix_row.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "common/arrays.h"
#include "common/csr.h"
#include "contract/error.h"

int32_t gsw_matrix_offset_of(const gsw_matrix *matrix, int64_t row, int64_t column) {
    const gsw_grid *g = &matrix->grid;
    const int64_t d[3] = {column % g->nx - row % g->nx,
                          column / g->nx % g->ny - row / g->nx % g->ny,
                          column / g->nx / g->ny - row / g->nx / g->ny};
    for (int axis = 0; axis < 3; axis++)
        if (llabs(d[axis]) > GSW_OFFSET_MAX)
            return -1;
    return gsw_stencil_find(&matrix->stencil,
                            (gsw_offset){(int32_t)d[0], (int32_t)d[1], (int32_t)d[2]});
}

/* Copies `count` items from number `first` of an array in the context's memory. */
static gsw_status fetch(gsw_context *context, const void *array, size_t size, int64_t first,
                        int64_t count, void *to) {
    return context->ops->memory->download(context, to, (const char *)array + (size_t)first * size,
                                          (size_t)count * size);
}

static gsw_status read_csr_row(gsw_context *context, const gsw_matrix *matrix, int64_t row,
                               gsw_matrix_row *read) {
    const gsw_csr *csr = &matrix->csr;
    const size_t index = gsw_itype_size(csr->index_type), value = gsw_dtype_size(csr->value_type);
    int64_t pair[2];
    void *columns = NULL, *values = NULL;
    gsw_status status;
    GSW_TRY(fetch(context, csr->row_ptr, index, row, 2, pair));
    const int64_t first = gsw_index_at(pair, csr->index_type, 0);
    const int64_t count = gsw_index_at(pair, csr->index_type, 1) - first;
    if (!gsw_csr_pointers_fit(csr, row, first, first + count) || count == 0)
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(context, (size_t)count, index, "the columns of a row", &columns));
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)count, value, "the values of a row", &values), cleanup);
    GSW_TRY_GOTO(fetch(context, csr->columns, index, first - csr->base, count, columns), cleanup);
    GSW_TRY_GOTO(fetch(context, csr->values, value, first - csr->base, count, values), cleanup);
    read->entries = count;
    for (int64_t k = 0; k < count; k++) {
        const int64_t column = gsw_index_at(columns, csr->index_type, k) - csr->base;
        const int32_t e = gsw_matrix_offset_of(matrix, row, column);
        if (e >= 0)
            read->values[e] = gsw_value_at(values, csr->value_type, k);
        read->stores_diagonal |= column == row;
    }
cleanup:
    free(values);
    free(columns);
    return status;
}

gsw_status gsw_matrix_read_row(gsw_context *context, const gsw_matrix *matrix, int64_t row,
                               gsw_matrix_row *read) {
    const gsw_grid *g = &matrix->grid;
    const gsw_stencil_array *array = &matrix->array;
    const int64_t x = row % g->nx, y = row / g->nx % g->ny, z = row / g->nx / g->ny;
    *read = (gsw_matrix_row){0};
    if (matrix->format == GSW_FORMAT_CSR)
        return read_csr_row(context, matrix, row, read);
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        double word;
        if (array->values[e] == NULL || x + o.dx < 0 || x + o.dx >= g->nx || y + o.dy < 0 ||
            y + o.dy >= g->ny || z + o.dz < 0 || z + o.dz >= g->nz)
            continue;
        GSW_TRY(fetch(context, array->values[e], gsw_dtype_size(array->value_type),
                      gsw_array_line(matrix, y, z) + x, 1, &word));
        read->values[e] = gsw_value_at(&word, array->value_type, 0);
        read->entries++;
        read->stores_diagonal |= e == matrix->stencil.center;
    }
    return GSW_SUCCESS;
}

/* What a row shows whose pivot is bad; "" where that is nothing special. */
static void describe_diagonal(const gsw_matrix *matrix, const gsw_matrix_row *row, int positive,
                              char *text, size_t size) {
    const double diagonal = row->values[matrix->stencil.center];
    text[0] = '\0';
    if (row->entries == 0)
        (void)snprintf(text, size,
                       ": the row is empty; each point needs a row, and one that is left out needs "
                       "a 1 on its diagonal");
    else if (!row->stores_diagonal)
        (void)snprintf(text, size, ": the row has no entry on its diagonal");
    else if (diagonal == 0)
        (void)snprintf(text, size, ": its diagonal is 0");
    else if (positive && diagonal < 0)
        (void)snprintf(text, size,
                       ": ic0 needs a positive diagonal, and that of the row is %g; if all are "
                       "negative, solve -A x = -b, otherwise take ilu0",
                       diagonal);
}

gsw_status gsw_matrix_explain(gsw_context *context, const gsw_quiet *quiet,
                              const gsw_matrix *matrix, int64_t bad_row, int positive,
                              gsw_status status) {
    char text[192];
    gsw_matrix_row row;
    if (status == GSW_ERROR_NOT_A_GRID && matrix->format == GSW_FORMAT_CSR) {
        const gsw_quiet look = gsw_quiet_begin(context);
        const gsw_status found = context->ops->matrix->validate(context, matrix);
        gsw_quiet_end(context, &look,
                      found != GSW_ERROR_NOT_A_GRID && found != GSW_ERROR_INVALID_ARGUMENT);
    } else if (status == GSW_ERROR_ZERO_PIVOT && bad_row >= 0 &&
               gsw_matrix_read_row(context, matrix, bad_row, &row) == GSW_SUCCESS) {
        describe_diagonal(matrix, &row, positive, text, sizeof text);
        (void)gsw_fail(context, status, "%s%s", context->message, text);
    }
    return gsw_quiet_settle(context, quiet, status, 0);
}
