/* line_receiver.cuh: the role of the direct sweep's tiles that brings in lines of other tiles. */
#ifndef GSW_CUDA_LINE_RECEIVER_CUH
#define GSW_CUDA_LINE_RECEIVER_CUH

#include "cuda/line_solve.cuh"

namespace {

/* A helper brings in every `helpers`-th halo: its lanes watch one line each, and all of them copy
 * what has come. */
template <typename Real>
__device__ void receive_counted(const line_plan &plan, const line_tiling &tiling, tile &shared,
                                Real *rings, int32_t first) {
    const int32_t lane = threadIdx.x & 31;
    const int32_t halo = first + lane * tiling.receivers;
    const int32_t slot = tiling.tile_y * tiling.tile_z + halo;
    const bool mine = halo < tiling.halos && shared.line[min(slot, LINE_SLOTS_MAX - 1)] >= 0;
    const int64_t line = mine ? shared.line[slot] : -1;
    const uint32_t consumers = mine ? tiling.consumers[slot] : 0;
    int32_t copied = mine ? 0 : plan.nx;
    bounded_wait wait = {0, 0};
    while (!__all_sync(FULL_WARP, copied >= plan.nx)) {
        int32_t end = copied;
        if (copied < plan.nx) {
            const int64_t solved =
                load_acquire<scope::device>(&plan.state->progress[line]) - shared.base;
            if (solved > copied) {
                int32_t room = copied + 32;
                for (uint32_t rest = consumers; rest != 0; rest &= rest - 1)
                    room = min(room, load_acquire<scope::block>(&shared.progress[__ffs(rest) - 1]) +
                                         tiling.ring - tiling.back);
                end = max(copied, (int32_t)min(solved, (int64_t)room));
            }
        }
        uint32_t come = __ballot_sync(FULL_WARP, end > copied);
        if (come == 0) {
            if (is_due<64>(&wait) &&
                __any_sync(FULL_WARP,
                           copied < plan.nx && is_over(&wait, abandonment_of(plan), line)))
                return;
            continue;
        }
        __syncwarp();
        wait.since = 0;
        while (come != 0) {
            /* Up to three lines at once: their loads overlap. */
            Real value[3];
            int32_t to[3], x[3], stop[3];
#pragma unroll
            for (int k = 0; k < 3; k++) {
                const int32_t from = come != 0 ? __ffs(come) - 1 : 0;
                to[k] = come != 0 ? __shfl_sync(FULL_WARP, slot, from) : -1;
                x[k] = __shfl_sync(FULL_WARP, copied, from) + lane;
                stop[k] = __shfl_sync(FULL_WARP, end, from);
                const int64_t row = __shfl_sync(FULL_WARP, line, from) * plan.nx + x[k];
                value[k] = 0;
                if (to[k] >= 0 && x[k] < stop[k])
                    value[k] = __ldcg((const Real *)plan.x + plan.step * row);
                come &= come - 1;
            }
#pragma unroll
            for (int k = 0; k < 3; k++) {
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

/* The same where unsolved values are marked: once a line is, its values are looked at themselves,
 * and no counter has to be waited for. */
template <typename Real>
__device__ void receive_marked(const line_plan &plan, const line_tiling &tiling, tile &shared,
                               Real *rings, int32_t first) {
    const int32_t lane = threadIdx.x & 31;
    const int32_t halo = first + lane * tiling.receivers;
    const int32_t slot = tiling.tile_y * tiling.tile_z + halo;
    const bool mine = halo < tiling.halos && shared.line[min(slot, LINE_SLOTS_MAX - 1)] >= 0;
    const int64_t line = mine ? shared.line[slot] : -1;
    int32_t copied = mine ? 0 : plan.nx, room = tiling.ring - tiling.back;
    bounded_wait wait = {0, 0};
    for (bool marked = !mine; !__all_sync(FULL_WARP, marked);) {
        if (!marked)
            marked = load_acquire<scope::device>(&plan.state->progress[line]) > shared.base;
        if (is_due<64>(&wait) &&
            __any_sync(FULL_WARP, !marked && is_over(&wait, abandonment_of(plan), line)))
            return;
    }
    __syncwarp();
    wait.since = 0;
    while (!__all_sync(FULL_WARP, copied >= plan.nx)) {
        if (copied < plan.nx && room < min(copied + 32, plan.nx)) {
            room = plan.nx;
            for (uint32_t rest = tiling.consumers[slot]; rest != 0; rest &= rest - 1)
                room = min(room, load_acquire<scope::block>(&shared.progress[__ffs(rest) - 1]) +
                                     tiling.ring - tiling.back);
        }
        const int32_t end = min(min(copied + 32, plan.nx), room);
        uint32_t open = __ballot_sync(FULL_WARP, end > copied);
        bool moved = false;
        while (open != 0) {
            /* Up to three lines at once: their loads overlap. */
            Real value[3];
            int32_t from[3], x[3];
#pragma unroll
            for (int k = 0; k < 3; k++) {
                from[k] = open != 0 ? __ffs(open) - 1 : -1;
                open &= open - 1;
                const int32_t source = max(from[k], 0);
                const int32_t stop = __shfl_sync(FULL_WARP, end, source);
                const int64_t row = __shfl_sync(FULL_WARP, line, source) * plan.nx;
                x[k] = __shfl_sync(FULL_WARP, copied, source) + lane;
                if (from[k] < 0 || x[k] >= stop)
                    x[k] = -1;
                else
                    value[k] = load_relaxed<scope::device>((const Real *)plan.x +
                                                           plan.step * (row + x[k]));
            }
#pragma unroll
            for (int k = 0; k < 3; k++) {
                const uint32_t solved =
                    __ballot_sync(FULL_WARP, x[k] >= 0 && !is_unsolved(value[k]));
                const int32_t count = ~solved != 0 ? __ffs(~solved) - 1 : 32; /* without a gap */
                if (count == 0)
                    continue;
                const int32_t to = __shfl_sync(FULL_WARP, slot, from[k]);
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
                   __any_sync(FULL_WARP,
                              copied < plan.nx && is_over(&wait, abandonment_of(plan), line))) {
            return;
        }
    }
}

} // namespace

#endif
