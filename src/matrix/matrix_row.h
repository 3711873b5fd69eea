/* matrix_row.h: single rows of a matrix, wherever its arrays are: for messages, and for looks at a
 * few rows. */
#ifndef GSW_MATRIX_ROW_H
#define GSW_MATRIX_ROW_H

#include <gridsweep/matrix.h>
#include "core/quiet.h"

/* The index in the stencil of the offset that leads from a row to a column inside the grid, or -1.
 */
int32_t gsw_matrix_offset_of(const gsw_matrix *matrix, int64_t row, int64_t column);

typedef struct gsw_matrix_row {
    int64_t entries;                /* stored in a CSR; in stencil arrays: couplings in the grid */
    int stores_diagonal;            /* whether one of them is the diagonal */
    double values[GSW_STENCIL_MAX]; /* by the offsets of the stencil; 0 where nothing is stored */
} gsw_matrix_row;

/* Reads a row from the memory of the context; on a device this waits for the stream. Entries
 * outside the stencil are counted only. Errors: OUT_OF_MEMORY, DEVICE. */
gsw_status gsw_matrix_read_row(gsw_context *context, const gsw_matrix *matrix, int64_t row,
                               gsw_matrix_row *read);

/* Ends the muted set-up of an object from a matrix, and returns its status. After a failure the
 * message also says what the matrix shows. After NOT_A_GRID that is the entry. After ZERO_PIVOT in
 * `bad_row` (0-based; -1: unknown) that is a row without entries, a diagonal that is missing or 0,
 * or a negative one where it must be `positive`. */
gsw_status gsw_matrix_explain(gsw_context *context, const gsw_quiet *quiet,
                              const gsw_matrix *matrix, int64_t bad_row, int positive,
                              gsw_status status);

#endif
