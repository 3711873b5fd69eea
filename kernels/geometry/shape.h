/* shape.h: a grid and a stencil in sweep coordinates, once, for host and device alike.
 *
 * A lower sweep visits the grid upward. An upper sweep is the lower sweep of the mirrored grid
 * (row -> points - 1 - row), so this file describes lower sweeps only. Extents of 1 are squeezed
 * out first (the order of the rows does not change), and offsets that can never stay inside the
 * grid are dropped. Then the grid is sheared:
 *
 *   y' = y + shear * z   with the smallest shear >= 0 that gives every dependence dy' <= 0:
 *                        0 for D3N7, D3N13 and D3N15X, 1 for the other named stencils of 3D
 *
 * The neighbour at (dx, dy, dz) is found dl = dy + shear*dz values of y' away. How many *steps*
 * back it was computed depends on how lines form pencils: chains.h (CPU) and tiles.h (CUDA). */
#ifndef GSW_SHAPE_H
#define GSW_SHAPE_H

#include <stdint.h>
#include <gridsweep/grid.h>

#include "common/host_device.h"

/* One triangular part in sweep coordinates. Offset j of the part is the stencil's offset
 * source[j]; offsets ascend in the (mirrored) grid. */
typedef struct gsw_shape {
    int32_t count;
    int32_t halo;                       /* values of y' before a line that are read: largest -dl */
    int64_t reach;                      /* steps back that are read: largest back */
    gsw_offset offset[GSW_STENCIL_MAX]; /* in the squeezed, for the upper part mirrored, grid */
    int32_t dl[GSW_STENCIL_MAX];        /* <= 0 */
    int64_t back[GSW_STENCIL_MAX];      /* >= 1 */
    int32_t source[GSW_STENCIL_MAX];
} gsw_shape;

/* The grid without extents of 1, sheared. */
typedef struct gsw_sheared {
    int64_t nx, ny, nz;
    int64_t points;
    int32_t shear;
    int64_t width;     /* values of y' */
    gsw_shape part[2]; /* lower, upper; reach and back are not set */
} gsw_sheared;

/* The coupling of a part that is the stencil's offset e; -1: it can never stay inside the grid, or
 * the part does not have it. */
GSW_HD int32_t gsw_shape_coupling(const gsw_shape *shape, int32_t e) {
    int32_t j = shape->count - 1;
    while (j >= 0 && shape->source[j] != e)
        j--;
    return j;
}

GSW_HD int64_t gsw_floor_div(int64_t a, int64_t b) {
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

GSW_HD int64_t gsw_ceil_div(int64_t a, int64_t b) {
    return -gsw_floor_div(-a, b);
}

/* Squeezes, mirrors and shears. */
GSW_HD void gsw_shear(gsw_sheared *g, const gsw_grid *grid, const gsw_stencil *stencil) {
    const int64_t extent[3] = {grid->nx, grid->ny, grid->nz};
    int64_t squeezed[3] = {1, 1, 1};
    int axis[3] = {-1, -1, -1}; /* squeezed axis of each axis, or -1 */
    int axes = 0;
    for (int a = 0; a < 3; a++) {
        if (extent[a] > 1) {
            axis[a] = axes;
            squeezed[axes++] = extent[a];
        }
    }
    g->nx = squeezed[0];
    g->ny = squeezed[1];
    g->nz = squeezed[2];
    g->points = g->nx * g->ny * g->nz;

    for (int upper = 0; upper < 2; upper++) {
        gsw_shape *shape = &g->part[upper];
        int32_t total = upper ? stencil->count - 1 - stencil->center : stencil->center;
        shape->count = 0;
        for (int32_t i = 0; i < total; i++) {
            int32_t e = upper ? stencil->count - 1 - i : i;
            const gsw_offset o = stencil->offsets[e];
            const int32_t d[3] = {o.dx, o.dy, o.dz};
            int32_t s[3] = {0, 0, 0};
            int fits = 1;
            for (int a = 0; a < 3; a++) {
                int64_t size = d[a] < 0 ? -(int64_t)d[a] : d[a];
                if (size >= extent[a])
                    fits = 0;
                else if (axis[a] >= 0)
                    s[axis[a]] = upper ? -d[a] : d[a];
            }
            if (fits) {
                gsw_offset *to = &shape->offset[shape->count];
                to->dx = s[0];
                to->dy = s[1];
                to->dz = s[2];
                shape->source[shape->count++] = e;
            }
        }
    }

    g->shear = 0;
    for (int upper = 0; upper < 2; upper++) {
        for (int32_t j = 0; j < g->part[upper].count; j++) {
            const gsw_offset o = g->part[upper].offset[j];
            if (o.dz < 0 && gsw_ceil_div(o.dy, -o.dz) > g->shear)
                g->shear = (int32_t)gsw_ceil_div(o.dy, -o.dz);
        }
    }
    g->width = g->ny + g->shear * (g->nz - 1);

    for (int upper = 0; upper < 2; upper++) {
        gsw_shape *shape = &g->part[upper];
        shape->halo = 0;
        for (int32_t j = 0; j < shape->count; j++) {
            shape->dl[j] = shape->offset[j].dy + g->shear * shape->offset[j].dz;
            if (-shape->dl[j] > shape->halo)
                shape->halo = -shape->dl[j];
        }
    }
}

#endif
