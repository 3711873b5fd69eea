/* relax_model.c: a model of sweeps with ghost zones, after Meng and Skadron (relax.h).
 *
 * A pass makes h sweeps. Let V(g) be the sum of all tiles' points when each tile is grown by g
 * halos where the grid goes on; V(0) is the grid. A pass then
 *
 *   reads x             8 V(h) bytes, and coefficients, b and p: 8 (terms + 1, or + 2) V(h - 1)
 *   writes x (and p)    8 or 16 V(0)
 *   computes            the sum of V(0) .. V(h - 1) points
 *   waits               once per sweep and layer, where a worker proceeds by layers
 *
 * Bytes that only a ghost zone reads may come from a cache, so they cost a share of others. Tiles
 * run in rounds of as many as there are workers, and the last round counts whole. Memory and
 * arithmetic overlap, as far as the machine can do both at a time. */
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

gsw_relax_cost gsw_relax_predict(const gsw_relax_machine *machine, const gsw_matrix *matrix,
                                 int directed, const gsw_relax_tile *tile) {
    const gsw_grid *grid = &matrix->grid;
    geometry g = {.extent = {grid->nx, grid->ny, grid->nz}, .tile = tile->extent};
    gsw_relax_cost cost = {0};
    const double terms = matrix->stencil.count, h = tile->height;
    double tiles = 1;
    gsw_stencil_reach(&matrix->stencil, grid, g.reach);
    for (int a = 0; a < 3; a++)
        tiles *= (double)((g.extent[a] + g.tile[a] - 1) / g.tile[a]);
    const double points = volume(&g, 0);
    const double record = 8 * (terms + (directed ? 2 : 1)), written = directed ? 16 : 8;

    cost.moved = (record + 8 + written) * points;
    double bytes = cost.moved + machine->ghost * (record * (volume(&g, tile->height - 1) - points) +
                                                  8 * (volume(&g, tile->height) - points));
    if (machine->cache_bytes > 0 && tile->height > 1 &&
        (record + 32) * volume(&g, tile->height - 1) > machine->cache_bytes * tiles)
        bytes = (record + 8 + written) * h * volume(&g, tile->height - 1);
    cost.memory = bytes / machine->bandwidth;

    for (int32_t s = 0; s < tile->height; s++)
        cost.computed += volume(&g, s);
    const double workers = (double)tile->workers, lines = cost.computed / (double)grid->nx;
    const double rounds = (double)(int64_t)((tiles + workers - 1) / workers), each = rounds / tiles;
    const double alone =
        cost.computed * (machine->point + machine->term * terms) + lines * machine->line;
    cost.arithmetic = larger(
        alone * each, cost.computed * (machine->device_point + machine->device_term * terms));
    if (tile->stream >= 0) {
        const double layers = (double)tile->extent[tile->stream] + 2 * h * g.reach[tile->stream];
        cost.waiting = rounds * layers * (h + 1) * machine->synchronise;
    }
    const double busy = larger(cost.arithmetic, cost.waiting);
    const double longer = larger(cost.memory, busy), shorter = cost.memory + busy - longer;
    cost.seconds = machine->start + longer + (1 - machine->overlap) * shorter;
    return cost;
}

gsw_status gsw_relax_choose(gsw_context *context, const gsw_matrix *matrix, int directed,
                            int32_t height, gsw_relax_tile *tile, gsw_relax_cost *cost) {
    const gsw_relax_ops *ops = context->ops->relax;
    const gsw_relax_machine *machine = ops->machine(context);
    int found = 0;
    for (int32_t h = 1; h <= GSW_RELAX_HEIGHT_MAX; h++) {
        gsw_relax_tile one;
        for (int32_t k = 0;
             (height == 0 || h == height) && ops->tile(context, matrix, h, directed, k, &one);
             k++) {
            const gsw_relax_cost its = gsw_relax_predict(machine, matrix, directed, &one);
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
