/* gridsweep/matrix.h: views of your matrix, detection of its grid, conversion, products.
 *
 * A gsw_matrix is a view: it points to arrays that you own. All solvers take one.
 *
 * - You have a CSR matrix: use gsw_matrix_fit(). It finds the grid, checks the arrays, and leaves
 *   out stored zeros that are no couplings.
 * - You know the grid and the stencil, and trust the arrays: use gsw_matrix_from_csr().
 * - Your program holds one array per offset of the stencil: use gsw_matrix_from_stencil(). This
 *   format needs no indices.
 * - You do not trust the arrays: use gsw_matrix_validate() once before you solve.
 * - You need a part of a matrix as a new CSR: use gsw_matrix_to_csr().
 * - You need y = A x or r = b - A x: use gsw_spmv() or gsw_residual().
 *
 * A view never changes the arrays that it points to. They must stay valid while the view is used.
 * They are host arrays with the CPU backend and device arrays with CUDA, unless a function says
 * otherwise. Each array needs only the alignment of its type.
 *
 * Order of summation: gsw_spmv(), gsw_residual() and the reference sweep add a row's products in
 * ascending order of columns. Each is one fused multiply-add if the processor has it. This is the
 * canonical arithmetic. The other sweeps sum a row in an order of their own:
 *
 *   line, CPU      from the farthest neighbour to the nearest in the direction of the sweep
 *   line, CUDA     the row times the reciprocal of its diagonal. Neighbours in other lines come
 *                  first, in two sums if there are more than three. Those along x follow; doubling
 *                  can combine the terms of a run of rows
 *   packed, CPU    the row is scaled by the reciprocal of its diagonal; neighbours in the order of
 *                  the packed factor, x - 1 last
 *   packed, CUDA   the same scaling; values of earlier steps first, in two sums for wide stencils,
 *                  then those of the last step
 *
 * Only the grid, the stencil, the types and the backend determine these orders. So each kind of
 * sweep gives the same bits on every run, for any number of threads or blocks. Results of different
 * kinds differ by rounding errors. So do those of CPUs with and without fused multiply-adds. The
 * page src/docs/determinism.md lists what has the same bits, with the tests that show it. */
#ifndef GRIDSWEEP_MATRIX_H
#define GRIDSWEEP_MATRIX_H

#include <stdint.h>
#include <gridsweep/context.h>
#include <gridsweep/grid.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_dtype { GSW_F64 = 0, GSW_F32 = 1 } gsw_dtype;
typedef enum gsw_itype { GSW_I32 = 0, GSW_I64 = 1 } gsw_itype;
typedef enum gsw_part { GSW_LOWER = 0, GSW_UPPER = 1, GSW_FULL = 2 } gsw_part;

/* Bytes of one value or index: 8 or 4. */
GSW_API
size_t gsw_dtype_size(gsw_dtype type);
GSW_API
size_t gsw_itype_size(gsw_itype type);

/* Compressed sparse rows: a full matrix, or only its lower or upper part, with or without its
 * diagonal. Entries that are not stored count as zeros. Columns ascend strictly within a row. */
typedef struct gsw_csr {
    int64_t rows;         /* the matrix is rows x rows */
    int64_t nonzeros;     /* entries in `columns` and `values` */
    const void *row_ptr;  /* rows + 1 indices: the beginning of each row, and the end */
    const void *columns;  /* nonzeros indices */
    const void *values;   /* nonzeros values */
    gsw_itype index_type; /* of row_ptr and columns */
    gsw_dtype value_type;
    int base; /* 0 or 1: the number of the first row and column */
} gsw_csr;

/* Along which axes coefficients are the same. An array then holds one line (or one line per plane)
 * for the whole grid. */
typedef enum gsw_repeat {
    GSW_REPEAT_NONE = 0, /* one value per point: values[e][row] */
    GSW_REPEAT_Y = 1,    /* nx * nz values: values[e][x + nx * z] */
    GSW_REPEAT_YZ = 2,   /* nx values: values[e][x] */
    GSW_REPEAT_XY = 3,   /* as Y, and the nx values of a line are equal */
    GSW_REPEAT_XYZ = 4   /* as YZ, likewise */
} gsw_repeat;

/* Stencil arrays: one contiguous array per offset of the stencil, in the stencil's order, with one
 * value per grid point, or fewer (`repeat`). values[e][row] couples `row` to the row at offset e.
 * Entries whose neighbour lies outside the grid are never used. An array that is NULL counts as all
 * zeros. */
typedef struct gsw_stencil_array {
    const void *const
        *values; /* stencil.count pointers (the pointer array is always on the host) */
    gsw_dtype value_type;
    gsw_repeat repeat; /* not 0: nx > 1, and the matrix is on one process */
} gsw_stencil_array;

typedef enum gsw_format { GSW_FORMAT_CSR = 0, GSW_FORMAT_STENCIL = 1 } gsw_format;

typedef struct gsw_partition gsw_partition;

/* A matrix on a grid. All solvers take one. */
typedef struct gsw_matrix {
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_format format;
    gsw_csr csr;              /* where format is GSW_FORMAT_CSR */
    gsw_stencil_array array;  /* where format is GSW_FORMAT_STENCIL */
    gsw_partition *partition; /* NULL: the arrays hold the whole grid; else the rows of the own box
                                 (partition.h) */
    const uint8_t *active;    /* one byte per point; NULL: all points are active */
} gsw_matrix;

/* MASKS. Points whose byte in `active` is 0 are inactive: land in an ocean, rock in a reservoir.
 * Set the member after the matrix has been made. The array is in the context's memory, like the
 * others.
 *
 * An inactive point takes no equation. Nothing of its row is used, and of vectors no value there,
 * so NaN is allowed in both. A coupling from an active point to an inactive one counts as none; the
 * diagonal stays as given. Results are 0 at inactive points. At active points they are those of the
 * smaller system of the active points alone, in the same order. A matrix that has rows for these
 * alone: embed.h.
 *
 * A factor, a hierarchy, a solver, an operator and a stencil loop copy the mask and the matrix when
 * they take it: they do not see later changes of the arrays, and need memory for the copy. Kind LU
 * takes the mask of its lower matrix. On a partition (partition.h) the mask is that of the own box;
 * either all processes have one, or none has. */

/* These two fill *matrix from its parts: use the first for CSR, the second for one array per
 * offset. On a periodic grid the stencil is the near one; that of the matrix of a CSR then holds
 * the offsets around the grid, too, as long ones. Missing entries of a CSR count as zeros; NaN and
 * infinity do not travel along them in a solve. Neither function reads the arrays. Errors:
 * INVALID_ARGUMENT, OVERFLOW. */
GSW_API
gsw_status gsw_matrix_from_csr(gsw_context *context, const gsw_grid *grid,
                               const gsw_stencil *stencil, const gsw_csr *csr, gsw_matrix *matrix);
GSW_API
gsw_status gsw_matrix_from_stencil(gsw_context *context, const gsw_grid *grid,
                                   const gsw_stencil *stencil, const gsw_stencil_array *array,
                                   gsw_matrix *matrix);

/* Makes a matrix whose coefficients are constants: one number per offset (`planes` is 1), or one
 * per offset and plane, such as for a grid stretched along z (`planes` is nz). values[e * planes +
 * z] is the coefficient of offset e; it is a host array. Products, sptrsv() and the sweeps of
 * LOWER, UPPER and SSOR then read next to no coefficients; the other objects take them like any
 * others.
 *
 * The arrays are new, in the context's memory and of type `type`: nx values per offset (and plane).
 * Where nx is 1 they have one value per point. Release the matrix with
 * gsw_matrix_release() (memory.h). On failure *matrix is {0}.
 * Errors: INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY, DEVICE. */
GSW_API
gsw_status gsw_matrix_from_constants(gsw_context *context, const gsw_grid *grid,
                                     const gsw_stencil *stencil, const double *values,
                                     int64_t planes, gsw_dtype type, gsw_matrix *matrix);

/* Reads the structure of the matrix once and checks everything that the solvers assume. Use it for
 * arrays that you did not create. In a CSR it refuses row pointers that descend or leave the
 * arrays. It refuses columns that are out of range, out of order or repeated, and couplings outside
 * the stencil, stored zeros included. The message names the first offending row (counted from the
 * matrix's base) and its column or offset. NaN and infinity are allowed: they are data.
 *
 * The arrays are in the context's memory. A context with CUDA takes host arrays as well, and checks
 * them on the host. With device arrays the call waits for the stream. Bytes moved: row pointers and
 * columns once.
 * Errors: INVALID_ARGUMENT, NOT_A_GRID; with device arrays also OUT_OF_MEMORY, DEVICE, and those of
 * earlier solves. */
GSW_API
gsw_status gsw_matrix_validate(gsw_context *context, const gsw_matrix *matrix);

/* Finds the grid and the stencil of a CSR matrix in natural order from its column offsets, in one
 * pass over the entries. The arrays are host arrays. A stored zero is no coupling. If `values` is
 * NULL or all values are 0, every entry counts.
 *
 * If `extents` is NULL, the call infers the grid. If several grids explain the matrix, it takes the
 * one with the smallest stencil, named stencils first, then the larger nx. If `extents` is given,
 * it uses that grid and finds only the stencil; do this where the order of the axes is ambiguous.
 * Extents in the order of a NumPy shape, (nz, ny, nx), are refused where only (nx, ny, nz) fits.
 * The stencil is the smallest named one that holds all couplings, else exactly the offsets that
 * occur and the centre.
 *
 * Couplings around the grid are found whether `extents` is given or not: *grid says which axes are
 * periodic, and the stencil is that of the other couplings. A periodic axis has at most
 * GSW_OFFSET_MAX + 1 points. If `extents` says which axes are periodic, there must be no others,
 * and the matrix is read so even where axes are short or rows lack couplings. Errors:
 * INVALID_ARGUMENT; OUT_OF_MEMORY; NOT_A_GRID with an offending row and its coupling in the
 * message. The message also says if the rows are in another order, or rows are missing; this check
 * takes a few more passes. */
GSW_API
gsw_status gsw_detect(gsw_context *context, const gsw_csr *csr, const gsw_grid *extents,
                      gsw_grid *grid, gsw_stencil *stencil);

/* Makes a matrix that every solver takes: gsw_detect() and gsw_matrix_from_csr() in one call. If
 * `stencil` is given, nothing is found, but the arrays are checked as by gsw_matrix_validate();
 * `grid` must be given, too. The arrays are host arrays.
 *
 * Usually the matrix is a view of `csr`, and *copy is {0}. If the CSR stores zeros outside the
 * stencil, which no solver takes, *copy is a CSR without them, and the matrix is a view of that.
 * Free the copy with gsw_csr_free() after the last use of the matrix. A copy does not follow later
 * changes of the values: call again. If a zero has become a coupling outside the stencil, that call
 * with the stencil ends with NOT_A_GRID.
 * Errors: those of gsw_detect(), OVERFLOW. After an error *matrix and *copy are unchanged. */
GSW_API
gsw_status gsw_matrix_fit(gsw_context *context, const gsw_csr *csr, const gsw_grid *grid,
                          const gsw_stencil *stencil, gsw_matrix *matrix, gsw_csr *copy);

/* The stencil of a matrix without offsets around a periodic grid; else its stencil. Nothing is
 * checked. */
GSW_API
void gsw_matrix_near_stencil(const gsw_matrix *matrix, gsw_stencil *stencil);

/* Writes into text[size] what may be wrong with a matrix although it fits its grid, or "" where
 * nothing is known. A text that is longer is cut; 256 bytes hold it. It says where an axis of 2 to
 * 6 points seems to be unknowns of one point. Reads a few hundred rows from the context's memory;
 * with CUDA the call waits for the stream. Errors: INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY,
 * DEVICE. */
GSW_API
gsw_status gsw_matrix_remark(gsw_context *context, const gsw_matrix *matrix, char *text,
                             size_t size);

/* Copies a part of a matrix to a CSR in newly allocated host arrays: columns ascend, base 0. From
 * stencil arrays every coupling inside the grid becomes an entry, also a zero. From a CSR the copy
 * holds the entries of that part unchanged, except zeros outside the stencil: these are left out.
 * With a mask the rows of inactive points are those of the identity, and couplings to them zeros.
 * The diagonal belongs to every part. The arrays of
 * `matrix` are host arrays, too. Free the copy with gsw_csr_free().
 * Errors: INVALID_ARGUMENT, OVERFLOW (int32 indices too small), OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_matrix_to_csr(gsw_context *context, const gsw_matrix *matrix, gsw_part part,
                             gsw_itype index_type, gsw_csr *csr);

/* Frees the arrays of a CSR that the library allocated, and sets it to {0}. NULL is allowed. */
GSW_API
void gsw_csr_free(gsw_csr *csr);

/* gsw_spmv() computes y = A x, gsw_residual() r = b - A x. Vectors have type `vector_type` and one
 * value per point. y and r must not overlap x. r may be b; otherwise they must not overlap. Bytes
 * moved: the matrix once, x and y (and b) once. Types: vector_type F64 with values F64 or F32;
 * vector_type F32 with values F32. The calls do not look for rows or columns out of bounds: see
 * gsw_matrix_validate().
 * Errors: INVALID_ARGUMENT, UNSUPPORTED, NOT_A_GRID. */
GSW_API
gsw_status gsw_spmv(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                    const void *x, void *y);
GSW_API
gsw_status gsw_residual(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                        const void *b, const void *x, void *r);

#ifdef __cplusplus
}
#endif

#endif
