/* line_kernel.cuh: the direct triangular sweep on the user's own arrays: the proof, the kernel for
 * tiles, and the table of kernels. The roles are in line_worker.cuh and line_receiver.cuh, the
 * kernel for stencils that no tile can hold is in line_general.cuh. Each pair of types includes
 * this file once. line_plan.cuh explains coordinates and terms.
 *
 * SOURCE. The scheme is the structured solver of Chen, Yang, Liu and Ma (Journal of Software,
 * 2023). There, lines are task queues and subtasks are runs of consecutive rows. The state is one
 * progress counter per line. The lanes of a warp read entries of consecutive rows ahead of time.
 * The differences have one reason: on present devices a hand-over between blocks takes longer than
 * the work on a subtask.
 * - A block takes a TILE of neighbouring lines, whose hand-overs stay in shared memory.
 * - Asynchronous copies bring entries to shared memory, and from there to the lane of their row. In
 *   the paper a queue of registers holds them and shuffles combine them.
 * - Recursive doubling solves the recurrence along a line.
 * - Where x is not b, values that cross from tile to tile are flags.
 *
 * UNIT OF WORK. A tile: tile_y x tile_z lines in (y', z), where y' = y + shear * z. Each line has
 * `workers` warps that take its subtasks in turn; lane i solves row i of a subtask. `receivers`
 * warps bring in the lines that the tile reads from other tiles (halos). Blocks take tiles by
 * tickets, antidiagonal by antidiagonal.
 *
 * STATE. progress[slot], in shared memory: the number of points of that line that have reached its
 * ring. The ring holds the last `ring` points of the line's solution. progress[slot] only grows.
 * Its one writer is the worker whose turn it is (own lines) or the receiver (halos). Lines that
 * other tiles read (exported ones) also have state->progress[line], in device memory: base + the
 * number of points solved. Where x is not b, progress[line] is base + 1 as soon as all of the
 * line's x holds the sentinel.
 *
 * MEMORY ORDER IN THE BLOCK. Progress is a counter (handover.cuh) at block scope. A worker stores
 * its rows to the ring, calls __syncwarp, and lane 0 publishes progress. Readers acquire progress,
 * call __syncwarp, and read the ring. A ring entry is overwritten only when the progress of all
 * lines that read it shows that they have finished with it.
 *
 * MEMORY ORDER BETWEEN BLOCKS. Two protocols of handover.cuh:
 *   Counters, where x is b. The worker stores x, calls __syncwarp, and lane 0 raises the line's
 *   counter. A receiver's lane acquires it, calls __syncwarp, and all lanes read x. This needs one
 *   worker per line, which make_tiling() in line.cu guarantees. A second worker would start when
 *   the first has published its rows in the ring, before the first stores x. The second could then
 *   raise the counter past rows that are not visible yet.
 *   Flags, where x is not b. The worker fills its line of x with the sentinel, calls __syncwarp,
 *   and lane 0 releases base + 1. After a receiver has acquired that, a relaxed load of x returns
 *   the sentinel or the solution. Where a line has several workers, those that did not fill it
 *   store only after they have acquired the progress of the one that did.
 *
 * PROGRESS. (1) Between tiles. Dependences have dy' <= 0 and dz <= 0, so a tile waits only for
 * tiles of earlier antidiagonals. Tickets are in that order; the rest of the argument is in
 * handover.cuh. A block marks its lines before it waits for anything, and a tile sends nothing back
 * to an earlier one.
 * (2) In a tile. Suppose that the waits form a closed chain of lines. Follow p, the number of
 * points solved, along the chain. There are two kinds of waits. In the first kind a line waits for
 * data of a line at least one step nearer to the tile's corner (y' + z smaller). The p of that line
 * is smaller than the waiting line's p + rows + ahead, where `ahead` is how far the waiting line
 * reads. In the second kind the line's ring is full, and it waits for a reader at most M steps
 * farther. The p of that reader is smaller than the waiting line's p + rows + back - ring. Around
 * the chain the steps cancel, so there are at most M waits of the first kind per wait of the
 * second. With ring >= (M + 1) * rows + M * ahead + back, p would have fallen along the closed
 * chain: a contradiction. So the tile's work goes on as long as its halos do. line.cu chooses the
 * ring by this rule.
 * (3) When the solve is abandoned, receivers return. A worker that waits in vain finds the mark
 * (await() in line_worker.cuh) and returns too. So all blocks leave, and the last one prepares the
 * state for the next solve.
 * What would break this: two writers of progress[slot] at a time, tickets that are not in the order
 * of antidiagonals, a `base` that does not grow from solve to solve. */
#ifndef GSW_CUDA_LINE_KERNEL_CUH
#define GSW_CUDA_LINE_KERNEL_CUH

#include "line_general.cuh"
#include "line_receiver.cuh"
#include "line_worker.cuh"

namespace {

/* Fills the table of slots for the tile at (ty, tz). Called by all threads. */
__device__ void open_tile(const line_plan &plan, const line_tiling &tiling, tile *shared) {
    const int32_t own = tiling.tile_y * tiling.tile_z;
    for (int32_t s = threadIdx.x; s < own + tiling.halos; s += blockDim.x) {
        const int32_t ly = s < own ? s % tiling.tile_y : tiling.halo_y[s - own];
        const int32_t lz = s < own ? s / tiling.tile_y : tiling.halo_z[s - own];
        const int64_t z = (int64_t)shared->z + lz;
        const int64_t y = (int64_t)shared->y + ly - plan.shear * z;
        const bool inside = y >= 0 && y < plan.ny && z >= 0 && z < plan.nz;
        shared->line[s] = inside ? y + plan.ny * z : -1;
        shared->progress[s] = inside ? 0 : plan.nx;
    }
}

template <typename Value, typename Real, int TERMS, bool STAGED>
__global__ void __launch_bounds__(LINE_THREADS(TERMS), 1)
    sweep_tiles(const __grid_constant__ line_plan plan,
                const __grid_constant__ line_tiling tiling) {
    extern __shared__ __align__(16) unsigned char memory[];
    tile &shared = *(tile *)memory;
    const int32_t warp = __shfl_sync(FULL_WARP, (int32_t)threadIdx.x / 32, 0);
    const int32_t own = tiling.tile_y * tiling.tile_z, workers = own * tiling.workers;
    Real *rings = (Real *)(memory + sizeof(tile)); /* a zero stands before them */
    unsigned char *scratch = (unsigned char *)(rings + (own + tiling.halos) * tiling.ring);
    cursor at = {0, -1, 0, 0};

    if (threadIdx.x == blockDim.x - 1) { /* another warp than the one that fetches the ticket */
        shared.base = *(volatile int64_t *)&plan.state->base;
        rings[-1] = 0;
    }
    if (plan.source == LINE_BOX)
        describe_edges(plan, &shared);
    for (;;) {
        if (threadIdx.x == 0) {
            const bool abandoned = is_abandoned(abandonment_of(plan));
            shared.ticket = take_ticket(&plan.state->ticket);
            if (shared.ticket < tiling.tiles && !abandoned) {
                int32_t ty, tz;
                find_tile(plan, tiling.tile_y, tiling.tile_z, tiling.tiles_y, tiling.tiles_z,
                          shared.ticket, &at, &ty, &tz);
                shared.y = ty * tiling.tile_y;
                shared.z = tz * tiling.tile_z;
            } else {
                shared.ticket = -1;
            }
        }
        __syncthreads();
        if (shared.ticket < 0)
            break;
        open_tile(plan, tiling, &shared);
        __syncthreads();
        if (warp < workers) {
            worker<Value, Real> one = {};
            unsigned char *mine = scratch + warp * tiling.worker_bytes;
            one.slot = warp % own;
            one.terms = (line_term *)mine;
            one.stage = (Value *)(mine + plan.terms * sizeof(line_term));
            one.rings = rings;
            work<Value, Real, TERMS, STAGED>(plan, tiling, shared, one, warp / own);
        } else if (plan.marked) {
            receive_marked<Real>(plan, tiling, shared, rings, warp - workers);
        } else {
            receive_counted<Real>(plan, tiling, shared, rings, warp - workers);
        }
        __syncthreads();
    }
    leave(plan);
}

/* ---- The table ---------------------------------------------------------------------------------
 */

template <typename Value, typename Real> const line_kernels *make_table(void) {
    static const line_kernels table = {
        {(const void *)sweep_tiles<Value, Real, 4, true>,
         (const void *)sweep_tiles<Value, Real, 8, true>,
         (const void *)sweep_tiles<Value, Real, 14, true>,
         (const void *)sweep_tiles<Value, Real, 18, true>},
        {(const void *)sweep_tiles<Value, Real, 4, false>,
         (const void *)sweep_tiles<Value, Real, 18, false>},
        (const void *)sweep_lines<Value, Real>,
    };
    return &table;
}

} // namespace

#endif
