/* reference_relax.c: the plain sweep that the kernels must equal, bit by bit where the processor
 * fuses multiply-adds. */
#include <math.h>
#include "cpu/relax/relax.h"

void gsw_reference_relax(const gsw_matrix *matrix, double alpha, double beta, int zero,
                         const double *b, const double *x, double *y, double *p) {
    const gsw_grid *g = &matrix->grid;
    const gsw_stencil *stencil = &matrix->stencil;
    const double *diagonal = matrix->array.values[stencil->center];
    for (int64_t row = 0; row < g->nx * g->ny * g->nz; row++) {
        const int64_t at_x = row % g->nx, at_y = row / g->nx % g->ny, at_z = row / g->nx / g->ny;
        double sum = b[row];
        for (int32_t e = 0; e < stencil->count && !zero; e++) {
            const gsw_offset o = stencil->offsets[e];
            const int64_t px = at_x + o.dx, py = at_y + o.dy, pz = at_z + o.dz;
            if (px >= 0 && px < g->nx && py >= 0 && py < g->ny && pz >= 0 && pz < g->nz)
                sum = fma(-((const double *)matrix->array.values[e])[row],
                          x[gsw_grid_row(g, px, py, pz)], sum);
        }
        const double t = sum * (1 / diagonal[row]);
        const double before = p ? p[row] : 0;
        const double next = beta != 0 ? fma(alpha, t, beta * before) : alpha * t;
        if (p)
            p[row] = next;
        y[row] = zero ? next : x[row] + next;
    }
}
