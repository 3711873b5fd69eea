/* check.h: checks of arguments that several public functions share. */
#ifndef GSW_CHECK_H
#define GSW_CHECK_H

#include <stdint.h>
#include <gridsweep/matrix.h>

/* A vector argument of a public function: `count` right-hand sides of `points` values, `ld` values
 * apart. */
typedef struct gsw_vector {
    const char *name; /* such as "b"; its leading dimension is then "ldb" */
    const void *data;
    int64_t ld;         /* of no meaning where count is 1 */
    int written;        /* 0: only read */
    const char *may_be; /* the name of the vector that this one may be, in place; NULL: none */
} gsw_vector;

/* The convention for all vector arguments. With a count of 0 nothing is checked. Otherwise no
 * vector is NULL, each is aligned to its type, ld >= points where count > 1, and the end of each
 * has an address. A vector that is written shares no value with another vector, except in place
 * with the one that `may_be` names; then both have the same ld. The right-hand sides of two vectors
 * may interleave. Errors: INVALID_ARGUMENT, OVERFLOW. */
gsw_status gsw_check_vectors(gsw_context *context, int64_t points, gsw_dtype type, int64_t count,
                             const gsw_vector *vectors, int number);

/* Refuses vectors that are neither fp64 nor fp32, or fp32 while the matrix is fp64. */
gsw_status gsw_check_vector_type(gsw_context *context, const gsw_matrix *matrix,
                                 gsw_dtype vector_type);

/* Refuses vectors, and arrays of a matrix, that the context's backend cannot reach: host memory
 * with CUDA. This asks the driver about each array, so only calls that wait for the device anyway,
 * or that create objects, do it. In calls that only queue work, the kernel fails at such an array
 * (DEVICE). */
gsw_status gsw_check_place(gsw_context *context, const gsw_vector *vectors, int number);
gsw_status gsw_matrix_check_place(gsw_context *context, const gsw_matrix *matrix);

/* Refuses a kind of matrix that the backend does not read; gsw_matrix_check_place() does, too. */
gsw_status gsw_matrix_check_kind(gsw_context *context, const gsw_matrix *matrix);

/* Checks a grid, and counts its points. Errors: INVALID_ARGUMENT, OVERFLOW. */
gsw_status gsw_grid_check(gsw_context *context, const gsw_grid *grid, int64_t *points);

/* Checks a view, which the caller may have filled by hand, as its constructor would. Does not check
 * the contents of the arrays. Errors: INVALID_ARGUMENT, OVERFLOW, UNSUPPORTED (a matrix on a
 * partition: who takes one looks for it first). */
gsw_status gsw_matrix_check(gsw_context *context, const gsw_matrix *matrix);

/* Checks everything except the contents of the arrays. `values` may be NULL where `needs_values` is
 * 0. Errors: INVALID_ARGUMENT. */
gsw_status gsw_csr_check(gsw_context *context, const gsw_csr *csr, int needs_values);

/* The same for a CSR or stencil arrays that shall become a matrix on this grid. Errors:
 * INVALID_ARGUMENT, OVERFLOW. */
gsw_status gsw_csr_check_on_grid(gsw_context *context, const gsw_grid *grid,
                                 const gsw_stencil *stencil, const gsw_csr *csr);
gsw_status gsw_array_check_on_grid(gsw_context *context, const gsw_grid *grid,
                                   const gsw_stencil *stencil, const gsw_stencil_array *array);

/* Reports what is wrong with a row (0-based) that begins at entry `begin`: its pointers, or a
 * column that is out of range or does not ascend. Always returns INVALID_ARGUMENT. */
gsw_status gsw_csr_refuse_row(gsw_context *context, const gsw_csr *csr, int64_t row, int64_t begin);

/* gsw_matrix_validate() for a CSR in host memory that has passed gsw_matrix_check(). */
gsw_status gsw_matrix_validate_host(gsw_context *context, const gsw_matrix *matrix);

/* The same, but stored zeros outside the stencil are counted instead of refused. */
gsw_status gsw_matrix_count_strays(gsw_context *context, const gsw_matrix *matrix, int64_t *strays);

/* Reports what gsw_matrix_validate() finds wrong with one row (0-based) of a CSR. `first` and
 * `last` are its row pointers. `columns` and `values` are the row's entries, in arrays of the
 * matrix's types, which are read only if the pointers fit. The arrays of the matrix are not read.
 * Always returns an error. */
gsw_status gsw_matrix_refuse_row(gsw_context *context, const gsw_matrix *matrix, int64_t row,
                                 int64_t first, int64_t last, const void *columns,
                                 const void *values);

#endif
