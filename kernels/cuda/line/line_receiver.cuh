/* line_receiver.cuh: the role of the direct sweep's tiles that brings in lines of other tiles
 * (halos). A receiver is a warp. It brings in every `receivers`-th halo: each lane watches one
 * line, and all lanes copy the points that have arrived. line_kernel.cuh has the protocols and
 * their proof. */
#ifndef GSW_CUDA_LINE_RECEIVER_CUH
#define GSW_CUDA_LINE_RECEIVER_CUH

#include "line_solve.cuh"

namespace {

/* The halo that a lane watches. */
struct watched_halo {
    bool exists;
    int32_t slot;
    int64_t line;       /* -1: it does not exist */
    uint32_t consumers; /* lines that read it, by bit */
};

__device__ __forceinline__ watched_halo halo_of_lane(const line_tiling &tiling, const tile &shared,
                                                     int32_t first) {
    const int32_t halo = first + (int32_t)(threadIdx.x & 31) * tiling.receivers;
    watched_halo own;
    own.slot = tiling.tile_y * tiling.tile_z + halo;
    own.exists = halo < tiling.halos && shared.line[min(own.slot, LINE_SLOTS_MAX - 1)] >= 0;
    own.line = own.exists ? shared.line[own.slot] : -1;
    own.consumers = own.exists ? tiling.consumers[own.slot] : 0;
    return own;
}

/* The points before this one, at most `room`, fit the halo's ring: its readers have finished with
 * the values that these points replace. */
__device__ __forceinline__ int32_t find_room(const line_tiling &tiling, const tile &shared,
                                             uint32_t consumers, int32_t room) {
    for (uint32_t rest = consumers; rest != 0; rest &= rest - 1)
        room = min(room, load_acquire<scope::block>(&shared.progress[__ffs(rest) - 1]) +
                             tiling.ring - tiling.back);
    return room;
}

/* A batch of up to three lines at once, so that their loads overlap. */
enum { RECEIVER_BATCH = 3 };

/* The protocol of counters: where x is b. */
template <typename Real>
__device__ void receive_counted(const line_plan &plan, const line_tiling &tiling, tile &shared,
                                Real *rings, int32_t first) {
    const int32_t lane = threadIdx.x & 31;
    const watched_halo own = halo_of_lane(tiling, shared, first);
    int32_t copied = own.exists ? 0 : plan.nx;
    bounded_wait wait = {0, 0};
    while (!__all_sync(FULL_WARP, copied >= plan.nx)) {
        int32_t end = copied;
        if (copied < plan.nx) {
            const int64_t solved =
                load_acquire<scope::device>(&plan.state->progress[own.line]) - shared.base;
            if (solved > copied) {
                const int32_t room = find_room(tiling, shared, own.consumers, copied + 32);
                end = max(copied, (int32_t)min(solved, (int64_t)room));
            }
        }
        uint32_t come = __ballot_sync(FULL_WARP, end > copied);
        if (come == 0) {
            if (is_due<64>(&wait) &&
                !__all_sync(FULL_WARP,
                            copied >= plan.nx || !is_over(&wait, abandonment_of(plan), own.line)))
                return;
            continue;
        }
        __syncwarp();
        wait.since = 0;
        while (come != 0) {
            Real value[RECEIVER_BATCH];
            int32_t to[RECEIVER_BATCH], x[RECEIVER_BATCH], stop[RECEIVER_BATCH];
#pragma unroll
            for (int k = 0; k < RECEIVER_BATCH; k++) {
                const int32_t from = come != 0 ? __ffs(come) - 1 : 0;
                to[k] = come != 0 ? __shfl_sync(FULL_WARP, own.slot, from) : -1;
                x[k] = __shfl_sync(FULL_WARP, copied, from) + lane;
                stop[k] = __shfl_sync(FULL_WARP, end, from);
                const int64_t row = __shfl_sync(FULL_WARP, own.line, from) * plan.nx + x[k];
                value[k] = 0;
                if (to[k] >= 0 && x[k] < stop[k])
                    value[k] = __ldcg((const Real *)plan.x + plan.step * row);
                come &= come - 1;
            }
#pragma unroll
            for (int k = 0; k < RECEIVER_BATCH; k++) {
                if (to[k] >= 0 && x[k] < stop[k])
                    rings[to[k] * tiling.ring + (x[k] & (tiling.ring - 1))] = value[k];
                __syncwarp();
                if (to[k] >= 0 && lane == 0)
                    store_release<scope::block>(&shared.progress[to[k]], stop[k]);
            }
        }
        copied = end;
    }
}

/* Waits until all lines of the warp are marked. False: the solve is abandoned. */
__device__ __forceinline__ bool await_marks(const line_plan &plan, const tile &shared,
                                            const watched_halo &own, bounded_wait *wait) {
    for (bool marked = !own.exists; !__all_sync(FULL_WARP, marked);) {
        if (!marked)
            marked = load_acquire<scope::device>(&plan.state->progress[own.line]) > shared.base;
        if (is_due<64>(wait) &&
            !__all_sync(FULL_WARP, marked || !is_over(wait, abandonment_of(plan), own.line)))
            return false;
    }
    __syncwarp();
    wait->since = 0;
    return true;
}

/* The protocol of flags: once a line is marked, the receiver polls its values, without a counter.
 */
template <typename Real>
__device__ void receive_marked(const line_plan &plan, const line_tiling &tiling, tile &shared,
                               Real *rings, int32_t first) {
    const int32_t lane = threadIdx.x & 31;
    const watched_halo own = halo_of_lane(tiling, shared, first);
    int32_t copied = own.exists ? 0 : plan.nx, room = tiling.ring - tiling.back;
    bounded_wait wait = {0, 0};
    if (!await_marks(plan, shared, own, &wait))
        return;
    while (!__all_sync(FULL_WARP, copied >= plan.nx)) {
        if (copied < plan.nx && room < min(copied + 32, plan.nx))
            room = find_room(tiling, shared, own.consumers, plan.nx);
        const int32_t end = min(min(copied + 32, plan.nx), room);
        uint32_t open = __ballot_sync(FULL_WARP, end > copied);
        bool moved = false;
        while (open != 0) {
            Real value[RECEIVER_BATCH];
            int32_t from[RECEIVER_BATCH], x[RECEIVER_BATCH];
#pragma unroll
            for (int k = 0; k < RECEIVER_BATCH; k++) {
                from[k] = open != 0 ? __ffs(open) - 1 : -1;
                open &= open - 1;
                const int32_t source = max(from[k], 0);
                const int32_t stop = __shfl_sync(FULL_WARP, end, source);
                const int64_t row = __shfl_sync(FULL_WARP, own.line, source) * plan.nx;
                x[k] = __shfl_sync(FULL_WARP, copied, source) + lane;
                if (from[k] < 0 || x[k] >= stop)
                    x[k] = -1;
                else
                    value[k] = load_relaxed<scope::device>((const Real *)plan.x +
                                                           plan.step * (row + x[k]));
            }
#pragma unroll
            for (int k = 0; k < RECEIVER_BATCH; k++) {
                const uint32_t solved =
                    __ballot_sync(FULL_WARP, x[k] >= 0 && !is_unsolved(value[k]));
                const int32_t count = ~solved != 0 ? __ffs(~solved) - 1 : 32; /* without a gap */
                if (count == 0)
                    continue;
                const int32_t to = __shfl_sync(FULL_WARP, own.slot, from[k]);
                if (lane < count)
                    rings[to * tiling.ring + (x[k] & (tiling.ring - 1))] = value[k];
                __syncwarp();
                if (lane == 0)
                    store_release<scope::block>(&shared.progress[to], x[k] + count);
                if (lane == from[k])
                    copied += count;
                moved = true;
            }
        }
        if (moved) {
            wait.since = 0;
        } else if (is_due<64>(&wait) &&
                   !__all_sync(FULL_WARP, copied >= plan.nx ||
                                              !is_over(&wait, abandonment_of(plan), own.line))) {
            return;
        }
    }
}

} // namespace

#endif
