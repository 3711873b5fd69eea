/* ghost.h: the sizes of tiles with ghost zones, for the model and for the kernels. */
#ifndef GSW_GHOST_H
#define GSW_GHOST_H

#include <stdint.h>
#include <gridsweep/grid.h>

/* The largest |component| of a stencil's offsets along each axis, as far as the grid reaches. */
static inline void gsw_stencil_reach(const gsw_stencil *stencil, const gsw_grid *grid,
                                     int32_t reach[3]) {
    const int64_t extent[3] = {grid->nx, grid->ny, grid->nz};
    reach[0] = reach[1] = reach[2] = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int32_t d[3] = {o.dx < 0 ? -o.dx : o.dx, o.dy < 0 ? -o.dy : o.dy,
                              o.dz < 0 ? -o.dz : o.dz};
        for (int a = 0; a < 3; a++)
            if (d[a] > reach[a])
                reach[a] = d[a] < extent[a] ? d[a] : (int32_t)(extent[a] - 1);
    }
}

/* The ghosts at `ends` ends of tiles. The first one has `first` points before the border of the
 * grid, each further one has `tile` more. */
static inline int64_t gsw_ghosts_at(int64_t ends, int64_t first, int64_t tile, int64_t ghost) {
    int64_t near = ghost < first ? 0 : (ghost - first) / tile + 1; /* take all up to the border */
    near = near < ends ? near : ends;
    return near * first + near * (near - 1) / 2 * tile + (ends - near) * ghost;
}

/* The sum over all tiles along an axis of their points, each tile grown by `ghost` points on both
 * sides where the grid goes on. */
static inline int64_t gsw_ghost_sum(int64_t extent, int64_t tile, int64_t ghost) {
    const int64_t ends = (extent - 1) / tile, last = extent - ends * tile;
    return extent + gsw_ghosts_at(ends, tile, tile, ghost) + gsw_ghosts_at(ends, last, tile, ghost);
}

#endif
