/* relax.c: a pass of sweeps over tiles that stay in a core's cache.
 *
 * A thread takes a tile. The first sweep reads x itself, the last one writes y; between them x lies
 * in two buffers of the thread, by turns. Two more buffers keep the reciprocal diagonal, which the
 * first sweep computes, and p. The arrays of the matrix are not copied: a tile is so small that its
 * part of them stays in the cache from one sweep to the next.
 *
 * Lines are computed in strips, as products are (spmv_rows.inc), short lines several at a time.
 * Masks clear what lies beyond the end of a line. Where that may not even be read, points are
 * computed one by one. */
#include <stdint.h>

#include "common/elements.h"
#include "contract/relax_ops.h"
#include "cpu/core/cores.h"
#include "cpu/core/kernels.h"
#include "cpu/core/multiply_add.h"
#include "cpu/relax/relax.h"
#include "cpu/core/strip.h"
#include "cpu/core/threads.h"

#define STRIP STRIP_VALUES(VALUE)
enum { STRIPS = 4, PREFETCH = 512 };

/* Lines of at most SHORT points are computed together, if couplings reach at most SHORT_REACH
 * points along them. */
enum { SHORT = GSW_RELAX_SHORT, SHORT_REACH = 2 };

/* Whether points of a block may lack neighbours along x. */
typedef enum line_ends { NO_ENDS, END_OF_LINE, ENDS_OF_SHORT_LINES } line_ends;

/* Points begin..end-1 along each axis. */
typedef struct box {
    int64_t begin[3], end[3];
} box;

/* The tile, `halos` halos larger where the grid goes on. */
static box grown(const gsw_grid *grid, const gsw_relax_job *job, const box *tile, int32_t halos) {
    const int64_t extent[3] = {grid->nx, grid->ny, grid->nz};
    box b;
    for (int a = 0; a < 3; a++) {
        const int64_t ghost = (int64_t)halos * job->reach[a];
        b.begin[a] = tile->begin[a] > ghost ? tile->begin[a] - ghost : 0;
        b.end[a] = tile->end[a] < extent[a] - ghost ? tile->end[a] + ghost : extent[a];
    }
    return b;
}

/* Tile number `number`. */
static box tile_number(const gsw_grid *grid, const gsw_relax_job *job, int64_t number) {
    const int64_t extent[3] = {grid->nx, grid->ny, grid->nz}, *tiles = job->tiles;
    const int64_t place[3] = {number % tiles[0], number / tiles[0] % tiles[1],
                              number / tiles[0] / tiles[1]};
    box b;
    for (int a = 0; a < 3; a++) {
        b.begin[a] = place[a] * job->tile[a];
        b.end[a] = b.begin[a] + job->tile[a] < extent[a] ? b.begin[a] + job->tile[a] : extent[a];
    }
    return b;
}

/* The lines of `now` from y on in a plane that all have neighbours on the same sides: one, where
 * couplings along y leave the grid. */
static int64_t lines_alike(const gsw_relax_job *job, const box *now, int64_t y) {
    const int64_t first = job->reach[1], last = job->pass->matrix->grid.ny - first;
    if (y < first || y >= last)
        return 1;
    return (now->end[1] < last ? now->end[1] : last) - y;
}

#define GSW_VALUES "cpu/relax/relax_tile.inc"
#include "cpu/core/typed.inc"

void GSW_ISA_FN(gsw_relax)(int threads, const gsw_relax_job *job) {
    GSW_CALL_VALUE(sweep_tiles, job->pass->matrix->array.value_type, threads, job);
}
