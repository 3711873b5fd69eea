/* relax.c: a pass of sweeps over tiles that stay in a core's cache.
 *
 * A thread takes a tile. The first sweep reads x itself, the last one writes y; between them x lies
 * in two buffers of the thread, by turns. Two more buffers keep the reciprocal diagonal, which the
 * first sweep computes, and p. The arrays of the matrix are not copied: a tile is so small that its
 * part of them stays in the cache from one sweep to the next.
 *
 * Lines are computed in strips, as products are (spmv_rows.inc); the points at their ends whose
 * neighbours lie outside the grid are computed one by one. */
#include <stdint.h>
#include <string.h>

#include "contract/relax_ops.h"
#include "cpu/cores.h"
#include "cpu/kernels.h"
#include "cpu/multiply_add.h"
#include "cpu/relax_job.h"
#include "cpu/strip.h"
#include "cpu/threads.h"

#define STRIP STRIP_VALUES(VALUE)
enum { STRIPS = 4, PREFETCH = 512 };

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

#define VALUE      double
#define SIMD(name) name##_f64
#include "cpu/relax_tile.inc"

#define VALUE      float
#define SIMD(name) name##_f32
#include "cpu/relax_tile.inc"

void GSW_ISA_FN(gsw_relax)(int threads, const gsw_relax_job *job) {
    const gsw_grid *g = &job->pass->matrix->grid;
    const int64_t *tile = job->tile, *tiles = job->tiles;
    const int64_t extent[3] = {g->nx, g->ny, g->nz}, all = tiles[0] * tiles[1] * tiles[2];
    const int64_t began = gsw_team_begins(threads);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        gsw_thread_begins(began);
#pragma omp for schedule(dynamic) nowait
        for (int64_t number = 0; number < all; number++) {
            const int64_t place[3] = {number % tiles[0], number / tiles[0] % tiles[1],
                                      number / tiles[0] / tiles[1]};
            box own;
            for (int a = 0; a < 3; a++) {
                own.begin[a] = place[a] * tile[a];
                own.end[a] =
                    own.begin[a] + tile[a] < extent[a] ? own.begin[a] + tile[a] : extent[a];
            }
            const int64_t mine = gsw_thread_index() * 4 * job->buffer;
            if (job->pass->matrix->array.value_type == GSW_F32)
                sweep_tile_f32(job, &own, job->buffers ? (float *)job->buffers + mine : NULL);
            else
                sweep_tile_f64(job, &own, job->buffers ? (double *)job->buffers + mine : NULL);
        }
    }
}
