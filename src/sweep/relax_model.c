/* relax_model.c: a model of sweeps with ghost zones, after Meng and Skadron (relax.h).
 *
 * A pass makes h sweeps. Let V(g) be the sum of all tiles' points when each tile is grown by g
 * halos where the grid goes on; V(0) is the grid. A pass then
 *
 *   reads x        8 V(h) bytes, and coefficients, b and p: 8 (terms + 1, or + 2) V(h - 1)
 *   writes x, p    8 or 16 V(0); in fp32 all these are half as many
 *   computes       V(0) + ... + V(h - 1) points
 *
 * Bytes that only a ghost zone reads may come from a cache, so they cost a share of others. Tiles
 * run in rounds of as many as there are workers, and the last round counts whole.
 *
 *   memory      bytes / bandwidth (of a cache, if all fits it); where workers proceed by layers
 *               at least
 *               steps latency + bytes / stream_bandwidth, with steps = rounds (layers of a tile)
 *   arithmetic  (points (point + term terms) + lines line) load rounds / tiles; by layers
 *               steps h (synchronise + load (point + term terms)) effort
 *   a pass      the longer one, and of the shorter one what does not overlap with it
 *
 * These are that paper's memory cycles, passes (latency + bytes / bandwidth), its computation
 * cycles and its synchronisation. */
#include "relax_model.h"

#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "geometry/ghost.h"

/* Points of all tiles, and tiles, where each is grown by so many halos. */
typedef struct geometry {
    int64_t extent[3];
    int32_t reach[3];
    const int64_t *tile;
} geometry;

static double volume(const geometry *g, int32_t halos) {
    double product = 1;
    for (int a = 0; a < 3; a++)
        product *= (double)gsw_ghost_sum(g->extent[a], g->tile[a], (int64_t)halos * g->reach[a]);
    return product;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

gsw_relax_cost gsw_relax_predict(const gsw_relax_machine *machine, const gsw_matrix *matrix,
                                 int directed, const gsw_relax_tile *tile) {
    const gsw_grid *grid = &matrix->grid;
    geometry g = {.extent = {grid->nx, grid->ny, grid->nz}, .tile = tile->extent};
    gsw_relax_cost cost = {0};
    const double terms = matrix->stencil.count, h = tile->height;
    const double size = (double)gsw_dtype_size(matrix->array.value_type);
    double tiles = 1;
    gsw_stencil_reach(&matrix->stencil, grid, g.reach);
    for (int a = 0; a < 3; a++) {
        const int64_t along = (g.extent[a] + g.tile[a] - 1) / g.tile[a];
        tiles *= (double)along;
    }
    const double points = volume(&g, 0), ghosts = volume(&g, tile->height - 1);
    const double record = size * (terms + (directed ? 2 : 1)), written = size * (directed ? 2 : 1);
    const double workers = (double)tile->workers;
    const double rounds = (double)(int64_t)((tiles + workers - 1) / workers);

    cost.moved = (record + size + written) * points;
    double bytes = cost.moved + machine->ghost * (record * (ghosts - points) +
                                                  size * (volume(&g, tile->height) - points));
    if (machine->cache_bytes > 0 && tile->height > 1 &&
        (record + 4 * size) * ghosts > machine->cache_bytes * tiles)
        bytes = (record + size + written) * h * ghosts;
    for (int32_t s = 0; s < tile->height; s++)
        cost.computed += volume(&g, s);

    cost.memory = bytes / (cost.moved <= machine->near_bytes ? machine->stream_bandwidth
                                                             : machine->bandwidth);
    const double each = machine->point + machine->term * terms;
    if (tile->stream >= 0) {
        const double steps =
            rounds * ((double)tile->extent[tile->stream] + 2 * h * g.reach[tile->stream]);
        cost.memory =
            larger(cost.memory, steps * machine->latency + bytes / machine->stream_bandwidth);
        cost.arithmetic = steps * h * (machine->synchronise + tile->load * each) * tile->effort;
    } else {
        const double grown = (double)tile->extent[0] + 2 * h * g.reach[0];
        const int together = grid->nx <= machine->short_line && tile->extent[0] == grid->nx;
        const double lines = together ? 0 : cost.computed / smaller(grown, (double)grid->nx);
        cost.arithmetic =
            (cost.computed * each + lines * machine->line) * tile->load * rounds / tiles;
    }
    cost.seconds = larger(cost.memory, cost.arithmetic) +
                   (1 - machine->overlap) * smaller(cost.memory, cost.arithmetic);
    return cost;
}

gsw_status gsw_relax_choose(gsw_context *context, const gsw_matrix *matrix, int directed,
                            int32_t height, int32_t most, gsw_relax_tile *tile,
                            gsw_relax_cost *cost) {
    const gsw_relax_ops *ops = context->ops->relax;
    gsw_relax_machine machine;
    int found = 0;
    ops->machine(context, matrix->array.value_type, &machine);
    for (int32_t h = 1; h <= (height == 0 ? most : height); h++) {
        for (int32_t k = 0; height == 0 || h == height; k++) {
            gsw_relax_tile one;
            GSW_TRY(ops->tile(context, matrix, h, k, &one));
            if (one.height == 0)
                break;
            const gsw_relax_cost its = gsw_relax_predict(&machine, matrix, directed, &one);
            if (found && its.seconds / h >= cost->seconds / tile->height)
                continue;
            *tile = one;
            *cost = its;
            found = 1;
        }
    }
    if (!found)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "relax: no tile of height %d fits this device with stencil %s", (int)height,
                        gsw_stencil_name(&matrix->stencil));
    return GSW_SUCCESS;
}
