/* check.h: arguments that are refused the same way wherever they come in. */
#ifndef GSW_CHECK_H
#define GSW_CHECK_H

#include <stdint.h>
#include <gridsweep/matrix.h>

/* Whether two vectors of so many fp64 values have any in common. */
static inline int gsw_overlap(const double *a, const double *b, int64_t points) {
    const uintptr_t from_a = (uintptr_t)a, from_b = (uintptr_t)b;
    const uintptr_t distance = from_a < from_b ? from_b - from_a : from_a - from_b;
    return distance / sizeof(double) < (uint64_t)points;
}

/* Checks a view that may have been filled by hand as it would be when it is made. Not the contents
 * of the arrays. Errors: INVALID_ARGUMENT, OVERFLOW. */
gsw_status gsw_matrix_check(gsw_context *context, const gsw_matrix *matrix);

/* Checks everything but the contents of the arrays. `values` may be NULL where `needs_values` is 0.
 * Errors: INVALID_ARGUMENT. */
gsw_status gsw_csr_check(gsw_context *context, const gsw_csr *csr, int needs_values);

/* The same for a CSR or stencil arrays that are to be a matrix on this grid. Errors:
 * INVALID_ARGUMENT, OVERFLOW. */
gsw_status gsw_csr_check_on_grid(gsw_context *context, const gsw_grid *grid,
                                 const gsw_stencil *stencil, const gsw_csr *csr);
gsw_status gsw_array_check_on_grid(gsw_context *context, const gsw_grid *grid,
                                   const gsw_stencil *stencil, const gsw_stencil_array *array);

/* Says what is wrong with a row (0-based) that begins at entry `begin`: its pointers, or a column
 * that is out of range or does not ascend. Always returns INVALID_ARGUMENT. */
gsw_status gsw_csr_refuse_row(gsw_context *context, const gsw_csr *csr, int64_t row, int64_t begin);

/* gsw_matrix_validate() for a CSR in host memory that has passed gsw_matrix_check(). */
gsw_status gsw_matrix_validate_host(gsw_context *context, const gsw_matrix *matrix);

/* Says what gsw_matrix_validate() finds wrong with one row (0-based) of a CSR: its row pointers
 * `first` and `last`, and its columns, an array of the matrix's index type that is read only where
 * the pointers fit. The arrays of the matrix are not read. Always returns an error. */
gsw_status gsw_matrix_refuse_row(gsw_context *context, const gsw_matrix *matrix, int64_t row,
                                 int64_t first, int64_t last, const void *columns);

#endif
