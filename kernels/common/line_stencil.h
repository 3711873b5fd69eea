/* line_stencil.h: which couplings of a stencil the points of one line have.
 *
 * The coordinates of an entry's row and column determine its offset. The difference column - row
 * does not: on a grid that is narrower than the stencil several offsets share one linear distance.
 * The stencil's offsets ascend in (dz, dy, dx). Then the neighbours of one row inside the grid have
 * ascending columns, so one merge matches its entries with the offsets. */
#ifndef GSW_LINE_STENCIL_H
#define GSW_LINE_STENCIL_H

#include <stdint.h>
#include <stdlib.h>
#include <gridsweep/grid.h>
#include "common/csr.h"

/* The offsets whose neighbour lies inside the grid along y and z, for the points of one line
 * (constant y and z). Each row must still check 0 <= x + dx < nx. Distances are in rows; those of
 * the neighbours inside ascend. */
typedef struct gsw_line_stencil {
    int count;
    int32_t dx[GSW_STENCIL_MAX];
    int64_t distance[GSW_STENCIL_MAX];
    int entry[GSW_STENCIL_MAX]; /* index in the stencil */
} gsw_line_stencil;

/* Offsets first..last of the stencil on the line (y, z). */
static inline void gsw_line_stencil_make(const gsw_grid *grid, const gsw_stencil *stencil,
                                         int first, int last, int64_t y, int64_t z,
                                         gsw_line_stencil *line) {
    line->count = 0;
    for (int e = first; e <= last; e++) {
        gsw_offset d = stencil->offsets[e];
        if (y + d.dy < 0 || y + d.dy >= grid->ny || z + d.dz < 0 || z + d.dz >= grid->nz ||
            llabs(d.dx) >= grid->nx)
            continue;
        line->dx[line->count] = d.dx;
        line->distance[line->count] = gsw_grid_row(grid, d.dx, d.dy, d.dz);
        line->entry[line->count] = e;
        line->count++;
    }
}

/* The points of a line from *first on, before *last, have all neighbours of its stencil. */
static inline void gsw_line_inside(const gsw_line_stencil *line, int64_t nx, int64_t *first,
                                   int64_t *last) {
    *first = 0;
    *last = nx;
    for (int e = 0; e < line->count; e++) {
        const int64_t d = line->dx[e];
        *first = -d > *first ? -d : *first;
        *last = nx - d < *last ? nx - d : *last;
    }
}

/* Whether a row's entries `begin` to `end` are exactly the couplings of such a point, as they are
 * in most rows: a quick look, without a search. */
static inline __attribute__((always_inline)) int gsw_line_is_row(const gsw_line_stencil *line,
                                                                 const gsw_csr *csr, gsw_itype type,
                                                                 int64_t row, int64_t begin,
                                                                 int64_t end) {
    const int64_t from = csr->base + row;
    int64_t differ = 0;
    if (end - begin != line->count)
        return 0;
    for (int e = 0; e < line->count; e++)
        differ |= gsw_index_at(csr->columns, type, begin + e) - from - line->distance[e];
    return differ == 0;
}

static inline int gsw_inside_line(const gsw_line_stencil *line, int e, int64_t x, int64_t nx) {
    return (uint64_t)(x + line->dx[e]) < (uint64_t)nx;
}

#endif
