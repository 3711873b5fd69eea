/* plain_row.h: a row of a matrix as the textbook has it, without the library. */
#ifndef GSW_CLI_BENCH_PLAIN_ROW_H
#define GSW_CLI_BENCH_PLAIN_ROW_H

#include <gridsweep/matrix.h>

/* (b_i - sum of a_ij x_j over j != i) / a_ii for the stencil arrays' row i: what Gauss-Seidel makes
 * of x_i, and Jacobi's next x_i. */
static inline double bench_plain_row(const gsw_matrix *matrix, int64_t row, const double *b,
                                     const double *x) {
    const gsw_grid *grid = &matrix->grid;
    const gsw_stencil *stencil = &matrix->stencil;
    const double *diagonal = matrix->array.values[stencil->center];
    double sum = b[row];
    for (int32_t e = 0; e < stencil->count; e++) {
        gsw_offset o = stencil->offsets[e];
        const double *a = matrix->array.values[e];
        int64_t px = row % grid->nx + o.dx, py = row / grid->nx % grid->ny + o.dy;
        int64_t pz = row / (grid->nx * grid->ny) + o.dz;
        if (e != stencil->center && px >= 0 && px < grid->nx && py >= 0 && py < grid->ny &&
            pz >= 0 && pz < grid->nz)
            sum -= a[row] * x[gsw_grid_row(grid, px, py, pz)];
    }
    return sum / diagonal[row];
}

#endif
