/* row.c: how messages name rows: in the user's numbering, and as points of the grid. */
#include "contract/row.h"
#include <stdio.h>
#include "contract/context.h"
#include "contract/error.h"

int gsw_row_base(const gsw_context *context, int base) {
    return context != NULL && context->row_base > 0 ? context->row_base - 1 : base;
}

const char *gsw_row_text(const gsw_context *context, int base, const gsw_grid *grid, int64_t row,
                         char text[GSW_ROW_TEXT]) {
    int first = gsw_row_base(context, base);
    int length = snprintf(text, GSW_ROW_TEXT, "%lld (%d-based)", (long long)row + first, first);
    if (grid != NULL && length > 0)
        (void)snprintf(text + length, GSW_ROW_TEXT - (size_t)length,
                       ", (x, y, z) = (%lld, %lld, %lld)", (long long)(row % grid->nx),
                       (long long)(row / grid->nx % grid->ny),
                       (long long)(row / grid->nx / grid->ny));
    return text;
}

int gsw_matrix_row_base(const gsw_matrix *matrix) {
    return matrix->format == GSW_FORMAT_CSR ? matrix->csr.base : 0;
}

gsw_status gsw_row_refuse_misfit(gsw_context *context, int base, const gsw_grid *grid,
                                 int64_t row) {
    char text[GSW_ROW_TEXT];
    return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                    "row %s of the matrix has a coupling outside the stencil or the grid, or "
                    "columns that do not ascend",
                    gsw_row_text(context, base, grid, row, text));
}
