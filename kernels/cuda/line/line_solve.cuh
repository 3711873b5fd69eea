/* line_solve.cuh: what the kernels of the direct sweep share: abandoning, tickets, and leaving. */
#ifndef GSW_CUDA_LINE_SOLVE_CUH
#define GSW_CUDA_LINE_SOLVE_CUH

#include "cuda/device/handover.cuh"
#include "line_plan.cuh"

namespace {

#define FULL_WARP 0xffffffffu

__device__ __forceinline__ double multiply_add(double a, double b, double c) {
    return fma(a, b, c);
}

__device__ __forceinline__ float multiply_add(float a, float b, float c) {
    return fmaf(a, b, c);
}

/* ---- Abandoning ---------------------------------------------------------------------------------
 */

__device__ __forceinline__ abandonment<uint32_t> abandonment_of(const line_plan &plan) {
    return {&plan.state->abandoned, 1u, plan.report, plan.wait_limit_ns, GSW_CUDA_LINE};
}

/* This row shows that the matrix does not belong to the grid. */
__device__ void refuse_row(const line_plan &plan, int64_t row) {
    abandon(abandonment_of(plan), GSW_ERROR_NOT_A_GRID, row);
}

/* ---- Tickets --------------------------------------------------------------------------------- */

/* The antidiagonal of the last ticket. Tickets grow, so the next search goes on from there. */
struct cursor {
    int64_t first; /* ticket of the antidiagonal's first tile */
    int32_t diagonal, low, count;
};

/* Tile of a ticket that is smaller than the number of tiles. */
__device__ void find_tile(const line_plan &plan, int32_t tile_y, int32_t tile_z, int32_t tiles_y,
                          int32_t tiles_z, int64_t ticket, cursor *at, int32_t *ty, int32_t *tz) {
    while (ticket >= at->first + at->count) {
        at->first += at->count;
        at->diagonal++;
        gsw_antidiagonal(plan, tile_y, tile_z, tiles_y, tiles_z, at->diagonal, &at->low,
                         &at->count);
    }
    *tz = at->low + (int32_t)(ticket - at->first);
    *ty = at->diagonal - *tz;
}

/* The last block to leave puts the state in order for the next solve. */
__device__ void leave(const line_plan &plan) {
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __threadfence();
    if (atomicAdd(&plan.state->finished, 1u) != gridDim.x - 1)
        return;
    __threadfence();
    plan.state->base += (int64_t)plan.nx + 1;
    plan.state->ticket = 0;
    plan.state->finished = 0;
    plan.state->abandoned = 0;
}

} // namespace

#endif
