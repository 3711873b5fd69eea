/* gridsweep/embed.h: matrices that have rows for the active points of a grid alone, rows in another
 * order, or one more row for the mean.
 *
 * A gsw_embedding says at which point of a grid each row is. It is made once, from a mask or from
 * the coordinates of the rows. With it gsw_matrix_from_active() makes a matrix of all points, which
 * every solver takes. Points without a row are its inactive points (matrix.h, MASKS).
 *
 *   gsw_embedding *embedding;
 *   gsw_embedding_create(context, &grid, active, &embedding);
 *   gsw_matrix_from_active(context, &csr, embedding, NULL, &matrix);
 *   gsw_embedding_spread(context, embedding, GSW_F64, b, b_points);
 *   gsw_solve(context, &matrix, NULL, b_points, x_points, NULL);
 *   gsw_embedding_collect(context, embedding, GSW_F64, x_points, x);
 *
 * b and x have one value per row of your matrix, b_points and x_points one per point of the grid.
 * x is that of your system: no other equation takes part. Messages of later calls count points
 * of the grid instead of rows. */
#ifndef GRIDSWEEP_EMBED_H
#define GRIDSWEEP_EMBED_H

#include <gridsweep/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* At which point of a grid each row of a matrix is. */
typedef struct gsw_embedding gsw_embedding;

/* The rows are the active points in natural order (x fastest). `active` has one byte per point, in
 * the context's memory: 0 is inactive. It is copied. At least one point is active. The work is done
 * where the mask is. With CUDA the call waits for the stream. Bytes moved: 4 per point, 8 per row.
 * On failure *embedding is NULL. Errors: INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY, DEVICE. */
GSW_API
gsw_status gsw_embedding_create(gsw_context *context, const gsw_grid *grid, const uint8_t *active,
                                gsw_embedding **embedding);

/* The rows are in any order, and row i lies at coordinates[axes * i], ... (x first). This is a host
 * array, and `axes` is 1, 2 or 3. The distinct values along an axis are the planes of the grid, so
 * its spacing may vary. Values are the same plane if they differ by at most 1e-6 times the span of
 * the axis, or 1e-9 times the largest coordinate of all. The grid has at most 16 points per row;
 * more means that the rows are on no regular grid. On failure *embedding is NULL.
 * Errors: INVALID_ARGUMENT (among others a number that is not finite); NOT_A_GRID (two rows at one
 * point, or too many planes); OUT_OF_MEMORY, DEVICE. */
GSW_API
gsw_status gsw_embedding_create_from_coordinates(gsw_context *context, int64_t rows, int axes,
                                                 const double *coordinates,
                                                 gsw_embedding **embedding);

/* Frees an embedding, and the mask of the matrices that were made with it. NULL is allowed. */
GSW_API
void gsw_embedding_destroy(gsw_embedding *embedding);

/* The number of rows; 0 for NULL. */
GSW_API
int64_t gsw_embedding_rows(const gsw_embedding *embedding);

/* The point of each row, counted from 0: an array of the embedding, in the context's memory. NULL
 * for NULL. */
GSW_API
const int64_t *gsw_embedding_points(const gsw_embedding *embedding);

/* Makes a matrix on the whole grid from a CSR with a row and a column for each row of the
 * embedding. The CSR's arrays are host arrays, of any base; columns ascend. The matrix has stencil
 * arrays: new ones in the context's memory, of the CSR's value type. Rows of inactive points are
 * those of the identity. Its mask is the embedding's, and NULL where each point has a row. Release
 * it with gsw_matrix_release() (memory.h) before the embedding is destroyed.
 *
 * `stencil` may be NULL: then it is the smallest named one that holds all couplings, else the
 * offsets that occur and the centre. With an embedding of a mask, it reaches 2 points at most: rows
 * in another order would be farther apart. A stored zero is no coupling.
 *
 * Host memory for one copy of the arrays is needed meanwhile. Bytes moved: the CSR once, or twice
 * without `stencil`, and the arrays three times. With CUDA the call waits for the stream. On
 * failure *matrix is {0}. Errors: INVALID_ARGUMENT; NOT_A_GRID with the row and the column of a
 * coupling that no stencil holds, or that `stencil` does not hold; OVERFLOW, OUT_OF_MEMORY, DEVICE.
 */
GSW_API
gsw_status gsw_matrix_from_active(gsw_context *context, const gsw_csr *csr,
                                  gsw_embedding *embedding, const gsw_stencil *stencil,
                                  gsw_matrix *matrix);

/* Writes other values into the arrays of such a matrix; no stencil is looked for. The CSR may have
 * another structure, on the same stencil, but no other value type. Then give the matrix to
 * gsw_solver_update(), or to another call that takes new values. Memory and bytes: as above. On
 * failure the arrays are unchanged, except after DEVICE. Errors: as above. */
GSW_API
gsw_status gsw_matrix_refill_active(gsw_context *context, const gsw_csr *csr,
                                    gsw_embedding *embedding, const gsw_matrix *matrix);

/* These two move a vector. spread: `points` gets the value of each row at its point, and 0 at the
 * others. collect: `rows` gets the value of each row's point. `rows` has a value per row and
 * `points` one per point, both of `type`, in the context's memory; they share no value. The calls
 * work in the order of the stream, and do not wait. Bytes moved: `rows` and `points` once, and 8
 * per row. Errors: INVALID_ARGUMENT, OVERFLOW, DEVICE. */
GSW_API
gsw_status gsw_embedding_spread(gsw_context *context, const gsw_embedding *embedding,
                                gsw_dtype type, const void *rows, void *points);
GSW_API
gsw_status gsw_embedding_collect(gsw_context *context, const gsw_embedding *embedding,
                                 gsw_dtype type, const void *points, void *rows);

/* A ROW FOR THE MEAN. Some codes fix the mean of x by one more row and column, which couple all
 * points with a multiplier:
 *
 *   [A  c] [x]   [b]
 *   [r' d] [m] = [e]       the rows and the columns of A add up to 0, but for rows with a diagonal
 *                          alone, such as those of cells in an obstacle
 *
 * A border takes these off. A is a matrix of the grid, and its system is solved by itself:
 *
 *   gsw_border_create(context, &csr, &inner, &border);
 *   gsw_matrix_fit(context, &inner, NULL, NULL, &matrix, &copy);
 *   gsw_border_right_side(context, border, b, b_points, NULL);
 *   gsw_solve(context, &matrix, NULL, b_points, x, NULL);
 *   gsw_border_solution(context, border, b, x);
 *
 * b and x have points + 1 values here, b_points one per point. For another matrix create another
 * border. */
typedef struct gsw_border gsw_border;

/* Takes the last row and column off a CSR on the host, of any base, whose columns ascend. They are
 * a border where the last row has an entry for each other row, and each other row one for the last
 * column; a last row with a diagonal must have more than 128 entries. Its numbers may differ, such
 * as the volumes of cells. *inner is A, a new CSR on the host: free it with gsw_csr_free(). Where
 * there is no border, *border is NULL and *inner {0}, as on failure. The border keeps three vectors
 * of fp64 in the context's memory. Bytes moved: the CSR three times.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, OVERFLOW, DEVICE; NOT_A_GRID where there is a border,
 * but a row or a column of A does not add up to 0 (to 10 roundings of fp64), or the border does. */
GSW_API
gsw_status gsw_border_create(gsw_context *context, const gsw_csr *csr, gsw_csr *inner,
                             gsw_border **border);

/* Frees a border. NULL is allowed. */
GSW_API
void gsw_border_destroy(gsw_border *border);

/* right_side: inner = b - m c, the right-hand side of A, where m is the sum of b over that of c.
 * *share = ||inner|| / ||b||, 1 for b = 0: a residual of A's system relative to ||inner|| is so
 * many times that of the whole one relative to ||b||. `share` may be NULL; else the call waits for
 * the stream, as it does for m. solution: x holds the solution of A's system in its first values.
 * It is moved by the constant that the last equation asks for, and gets m as its last value. b is
 * that of right_side. All vectors are fp64 in the context's memory, and share no value. Bytes
 * moved: 6 and 6 vectors. Errors: INVALID_ARGUMENT, DEVICE. */
GSW_API
gsw_status gsw_border_right_side(gsw_context *context, const gsw_border *border, const void *b,
                                 void *inner, double *share);
GSW_API
gsw_status gsw_border_solution(gsw_context *context, const gsw_border *border, const void *b,
                               void *x);

#ifdef __cplusplus
}
#endif

#endif
