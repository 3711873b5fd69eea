/* row.h: how messages name rows. */
#ifndef GSW_ROW_H
#define GSW_ROW_H

#include <gridsweep/context.h>
#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GSW_ROW_TEXT 128

/* Writes the text after "row" in a message: "17 (0-based), (x, y, z) = (1, 2, 0)"; without the grid
 * point if `grid` is NULL. `row` is counted from 0. `base` is that of the user's CSR, or 0 if there
 * is none; gsw_context_set_row_base() overrides it. Returns `text`. */
const char *gsw_row_text(const gsw_context *context, int base, const gsw_grid *grid, int64_t row,
                         char text[GSW_ROW_TEXT]);

/* The base from which messages count rows and columns. */
int gsw_row_base(const gsw_context *context, int base);

/* That of the matrix's CSR; 0 for stencil arrays. */
int gsw_matrix_row_base(const gsw_matrix *matrix);

/* NOT_A_GRID: this row of a matrix does not fit its stencil. */
gsw_status gsw_row_refuse_misfit(gsw_context *context, int base, const gsw_grid *grid, int64_t row);

#ifdef __cplusplus
}
#endif

#endif
