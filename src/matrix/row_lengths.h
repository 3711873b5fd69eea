/* row_lengths.h: distinguishes a grid whose rows are in another order from a matrix that is no
 * grid.
 *
 * The order of the rows does not change how many rows have k entries, nor the symmetry of the
 * pattern. Rows near the boundary of a grid are shorter. So these counts identify one grid and one
 * stencil; a mesh, a tree or a random matrix has other counts. */
#ifndef GSW_ROW_LENGTHS_H
#define GSW_ROW_LENGTHS_H

#include <gridsweep/matrix.h>

/* Entries off the diagonal. */
typedef struct gsw_row_lengths {
    int64_t entries;
    int64_t rows[GSW_STENCIL_MAX]; /* number of rows that hold k entries */
    int symmetric;                 /* the pattern is symmetric, and no row is too long for `rows` */
} gsw_row_lengths;

/* Reads a CSR that has been checked, in one pass. */
void gsw_row_lengths_count(const gsw_csr *csr, gsw_row_lengths *lengths);

/* 1 where a grid with this stencil, in whatever order, has such rows. */
int gsw_row_lengths_fit(const gsw_row_lengths *lengths, const gsw_grid *grid,
                        const gsw_stencil *stencil);

/* 1 where most rows that are coupled to the next one have their farthest coupling one column before
 * that of the next one, as in a grid in natural order. Where no grid fits, it then lacks points. */
int gsw_rows_lack_points(const gsw_csr *csr);

#endif
