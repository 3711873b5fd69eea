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

/* The sum over all tiles along an axis of their points, each tile grown by `ghost` points on both
 * sides where the grid goes on. */
static inline int64_t gsw_ghost_sum(int64_t extent, int64_t tile, int64_t ghost) {
    int64_t sum = 0;
    for (int64_t begin = 0; begin < extent; begin += tile) {
        const int64_t low = begin > ghost ? begin - ghost : 0;
        const int64_t high = begin + tile + ghost < extent ? begin + tile + ghost : extent;
        sum += high - low;
    }
    return sum;
}

#endif
