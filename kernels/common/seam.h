/* seam.h: the rows near both ends of the periodic axes of a grid, in an order of their own. What is
 * done around a periodic grid is done for these rows alone, after the kernels that know boxes.
 *
 * Along each axis the seam has `low` planes at the beginning and `high` planes at the end. Its rows
 * come in three blocks: those near the ends of z, of the others those near the ends of y, and then
 * those near the ends of x. In each block x is fastest. */
#ifndef GSW_SEAM_H
#define GSW_SEAM_H

#include <gridsweep/grid.h>
#include "common/host_device.h"

typedef struct gsw_seam {
    int64_t n[3];            /* extents of the grid */
    int64_t low[3], high[3]; /* planes; low + high <= n */
    int64_t block[3];        /* rows in the blocks of x, y and z */
    int64_t count;           /* rows in all */
} gsw_seam;

GSW_HD int64_t gsw_seam_extent(const gsw_grid *g, int axis) {
    return axis == 0 ? g->nx : axis == 1 ? g->ny : g->nz;
}

/* Moves a point around periodic axes into the grid. Returns 0 where it is outside. */
GSW_HD int gsw_grid_take_in(const gsw_grid *g, int64_t at[3]) {
    for (int a = 0; a < 3; a++) {
        const int64_t n = gsw_seam_extent(g, a);
        if (at[a] >= 0 && at[a] < n)
            continue;
        if (!(g->periodic >> a & 1))
            return 0;
        at[a] += at[a] < 0 ? n : -n;
    }
    return 1;
}

/* The seam of a grid with `low` and `high` planes at the ends of axes, as far as these have so
 * many.
 */
static inline gsw_seam gsw_seam_make(const gsw_grid *g, const int64_t low[3],
                                     const int64_t high[3]) {
    gsw_seam s;
    int64_t inside[3];
    for (int a = 0; a < 3; a++) {
        s.n[a] = gsw_seam_extent(g, a);
        s.low[a] = low[a] < s.n[a] ? low[a] : s.n[a];
        s.high[a] = high[a] < s.n[a] - s.low[a] ? high[a] : s.n[a] - s.low[a];
        inside[a] = s.n[a] - s.low[a] - s.high[a];
    }
    s.block[0] = (s.low[0] + s.high[0]) * inside[1] * inside[2];
    s.block[1] = s.n[0] * (s.low[1] + s.high[1]) * inside[2];
    s.block[2] = s.n[0] * s.n[1] * (s.low[2] + s.high[2]);
    s.count = s.block[0] + s.block[1] + s.block[2];
    return s;
}

/* Where plane k of the seam along an axis is in the grid, and whether a plane of the grid is one of
 * the seam's: its number, else -1. */
GSW_HD int64_t gsw_seam_plane(const gsw_seam *s, int axis, int64_t k) {
    return k < s->low[axis] ? k : k + s->n[axis] - s->low[axis] - s->high[axis];
}

GSW_HD int64_t gsw_seam_number(const gsw_seam *s, int axis, int64_t at) {
    if (at < s->low[axis])
        return at;
    const int64_t from_end = s->n[axis] - s->high[axis];
    return at >= from_end ? at - from_end + s->low[axis] : -1;
}

/* The point of row k of the seam. */
GSW_HD void gsw_seam_point(const gsw_seam *s, int64_t k, int64_t at[3]) {
    if (k < s->block[2]) {
        at[0] = k % s->n[0];
        at[1] = k / s->n[0] % s->n[1];
        at[2] = gsw_seam_plane(s, 2, k / s->n[0] / s->n[1]);
        return;
    }
    k -= s->block[2];
    if (k < s->block[1]) {
        const int64_t planes = s->low[1] + s->high[1];
        at[0] = k % s->n[0];
        at[1] = gsw_seam_plane(s, 1, k / s->n[0] % planes);
        at[2] = k / s->n[0] / planes + s->low[2];
        return;
    }
    k -= s->block[1];
    const int64_t planes = s->low[0] + s->high[0], inside = s->n[1] - s->low[1] - s->high[1];
    at[0] = gsw_seam_plane(s, 0, k % planes);
    at[1] = k / planes % inside + s->low[1];
    at[2] = k / planes / inside + s->low[2];
}

/* The row of the seam at a point; -1: it is not in the seam. */
GSW_HD int64_t gsw_seam_row(const gsw_seam *s, const int64_t at[3]) {
    const int64_t z = gsw_seam_number(s, 2, at[2]);
    if (z >= 0)
        return at[0] + s->n[0] * (at[1] + s->n[1] * z);
    const int64_t y = gsw_seam_number(s, 1, at[1]), w = at[2] - s->low[2];
    if (y >= 0)
        return s->block[2] + at[0] + s->n[0] * (y + (s->low[1] + s->high[1]) * w);
    const int64_t x = gsw_seam_number(s, 0, at[0]);
    if (x < 0)
        return -1;
    const int64_t inside = s->n[1] - s->low[1] - s->high[1];
    return s->block[2] + s->block[1] + x +
           (s->low[0] + s->high[0]) * (at[1] - s->low[1] + inside * w);
}

GSW_HD int64_t gsw_seam_grid_row(const gsw_seam *s, const int64_t at[3]) {
    return at[0] + s->n[0] * (at[1] + s->n[1] * at[2]);
}

#endif
