/* line_worker.cuh: the role of the direct sweep's tiles that solves. A worker is a warp; the
 * workers of a line take its subtasks in turn. line_kernel.cuh has the protocols and their proof.
 */
#ifndef GSW_CUDA_LINE_WORKER_CUH
#define GSW_CUDA_LINE_WORKER_CUH

#include "line_recurrence.cuh"
#include "line_subtask.cuh"

namespace {

/* ---- Flags: x that is not solved yet ------------------------------------------------------------
 */

/* Stores a solution. If its bits are the sentinel's, another NaN is stored. */
template <typename Real> __device__ __forceinline__ void store_solved(Real *global, Real value) {
    store_relaxed<scope::device>(global, is_unsolved(value) ? (Real)NAN : value);
}

/* Marks the points of a line as unsolved, and publishes that. */
template <typename Real>
__device__ void mark_line(const line_plan &plan, const tile &shared, int64_t line) {
    const int32_t lane = threadIdx.x & 31;
    for (int32_t x = lane; x < plan.nx; x += 32)
        store_relaxed<scope::device>((Real *)plan.x + plan.step * (line * plan.nx + x),
                                     unsolved_value<Real>());
    __syncwarp();
    if (lane == 0)
        store_release<scope::device>(&plan.state->progress[line], shared.base + 1);
}

/* ---- Subtasks -----------------------------------------------------------------------------------
 */

/* Waits, with all lanes, until the line in each lane's `slot` has `needed` points in its ring.
 * False: the solve is abandoned. */
__device__ __forceinline__ bool await(const line_plan &plan, const tile &shared, int32_t slot,
                                      int32_t needed) {
    const int32_t *counter = &shared.progress[slot];
    bounded_wait wait = {0, 0};
    for (;;) {
#pragma unroll 2
        for (int32_t i = 0; i < 128; i++) {
            if (__all_sync(FULL_WARP, load_acquire<scope::block>(counter) >= needed)) {
                __syncwarp();
                return true;
            }
        }
        const bool on = load_acquire<scope::block>(counter) >= needed ||
                        !is_over(&wait, abandonment_of(plan), shared.line[slot]);
        if (!__all_sync(FULL_WARP, on))
            return false;
    }
}

/* Finds the place in the rings that each term of row x reads (-1: a zero). The recurrence handles
 * terms of the own line, except the value before the first row where the way is doubling. */
template <typename Value, typename Real, int TERMS>
__device__ __forceinline__ void find_sources(const line_plan &plan, const line_tiling &tiling,
                                             const worker<Value, Real> &at, int32_t mask, along way,
                                             int32_t x0, int32_t x, uint32_t have, Real (&a)[TERMS],
                                             int32_t (&from)[TERMS]) {
    const Real near = a[1];
#pragma unroll
    for (int j = 1; j < TERMS; j++) {
        from[j] = -1;
        if (j > plan.own && (have >> j & 1))
            from[j] = at.terms[j].ring + ((x + plan.term[j].x) & mask);
        if (j <= plan.own && way != ALONG_ONE_BY_ONE)
            a[j] = 0;
    }
    if (way == ALONG_DOUBLING && (threadIdx.x & 31) == 0 && x0 > 0) {
        from[1] = at.slot * tiling.ring + ((x0 - 1) & mask);
        a[1] = near;
    }
}

/* Subtracts the terms that find_sources() has found, in two chains of sums where there are many. */
template <typename Real, int TERMS>
__device__ __forceinline__ Real subtract_terms(const line_plan &plan, const Real *rings, along way,
                                               const Real (&a)[TERMS], const int32_t (&from)[TERMS],
                                               Real c) {
    Real sum = 0;
#pragma unroll
    for (int j = 1; j < TERMS; j++) {
        if (way == ALONG_ONE_BY_ONE && j <= plan.own)
            continue;
        if (TERMS <= 4 || (j & 1))
            c = multiply_add(-a[j], rings[from[j]], c);
        else
            sum = multiply_add(-a[j], rings[from[j]], sum);
    }
    return TERMS > 4 ? c + sum : c;
}

/* Where the worker's solution goes. */
template <typename Real> struct own_ring {
    Real *ring;
    int32_t mask;  /* place of x: x & mask */
    bool withheld; /* by a test: nothing is published */
    bool exported; /* other tiles read the line */
};

/* Stores row x to the ring and to the user's x, and publishes the rows before `end`. */
template <typename Value, typename Real>
__device__ __forceinline__ void publish(const line_plan &plan, tile &shared,
                                        const worker<Value, Real> &at, const own_ring<Real> &own,
                                        int32_t x, int32_t end, Real c) {
    const int32_t lane = threadIdx.x & 31;
    const bool valid = x < end;
    if (valid)
        own.ring[x & own.mask] = c;
    __syncwarp();
    if (lane == 0 && !own.withheld)
        store_release<scope::block>(&shared.progress[at.slot], end);
    Real *const to = (Real *)plan.x + plan.step * (at.line * plan.nx + x);
    if (own.exported && plan.marked) {
        if (valid && !own.withheld)
            store_solved(to, c);
        return;
    }
    if (valid)
        *to = c;
    if (own.exported) {
        __syncwarp();
        if (lane == 0 && !own.withheld)
            raise_release<scope::device>(&plan.state->progress[at.line], shared.base + end);
    }
}

/* Solves every `workers`-th subtask of the worker's line. Subtasks of neighbouring lines are
 * shifted against each other, so that a line reads no farther than the other line's subtask of the
 * same number. False: the CSR does not hold the entries that its size suggested, and nothing has
 * been solved. */
template <typename Value, typename Real, int TERMS, bool STAGED>
__device__ __forceinline__ bool solve_subtasks(const line_plan &plan, const line_tiling &tiling,
                                               tile &shared, const worker<Value, Real> &at,
                                               int32_t turn, const box_test &test) {
    const int32_t lane = threadIdx.x & 31;
    const int32_t stride = tiling.workers * tiling.rows;
    const own_ring<Real> own = {at.rings + at.slot * tiling.ring, tiling.ring - 1,
                                at.line == plan.withheld_line,
                                (bool)(tiling.exported >> at.slot & 1)};
    /* The line that the lane watches while the worker waits: a line that the worker reads, a
     * reader, or the worker's own line. */
    const bool for_source = lane < plan.groups;
    const bool for_reader = lane >= 16 && (tiling.consumers[at.slot] >> (lane - 16) & 1);
    int32_t watched = at.slot;
    if (for_source)
        watched = tiling.slot[at.slot][lane];
    if (for_reader)
        watched = lane - 16;
    const int32_t ahead = for_source ? plan.group[lane].x : 0;
    subtask<Value, Real> q;
    entry_queue<Value, TERMS> copies;
    Value *stage = at.stage, *next_stage = at.stage + tiling.stage_values;
    const int64_t shift =
        tiling.skew_y * (at.y + (int64_t)plan.shear * at.z) + tiling.skew_z * (int64_t)at.z;
    int32_t start = turn * tiling.rows - (int32_t)(shift & (tiling.rows - 1));
    if (start + tiling.rows <= 0)
        start += stride;
    if (start < plan.nx)
        prefetch<Value, Real, TERMS, STAGED>(plan, shared, at, tiling.rows, max(start, 0),
                                             min(start + tiling.rows, plan.nx), stage, &q, &copies);
    /* If the test fails, the copies that have started do no harm. */
    if (STAGED && !__all_sync(FULL_WARP, passes(test)))
        return false;
    for (; start < plan.nx; start += stride) {
        const int32_t x0 = max(start, 0), end = min(start + tiling.rows, plan.nx);
        const int32_t x = x0 + lane;
        const bool valid = x < end;
        Real a[TERMS];
        const uint32_t have =
            arrange<Value, Real, TERMS, STAGED>(plan, at, tiling.rows, x, valid, q, copies, a);
        Real c = q.b;
        Value *const scratch = stage;
        stage = next_stage;
        next_stage = scratch;
        if (start + stride < plan.nx)
            prefetch<Value, Real, TERMS, STAGED>(plan, shared, at, tiling.rows, start + stride,
                                                 min(start + stride + tiling.rows, plan.nx), stage,
                                                 &q, &copies);
        const along way = choose_along<Real, TERMS>(plan, x, valid, a, have);
        if (way != ALONG_ONE_BY_ONE && !plan.unit && valid) {
            const Real inverse = (Real)1 / a[0];
            c *= inverse;
#pragma unroll
            for (int j = 1; j < TERMS; j++)
                a[j] *= inverse;
        }
        const Real near = a[1], next = TERMS > 2 ? a[TERMS > 2 ? 2 : 1] : (Real)0;
        doubling<Real> doubled;
        if (way == ALONG_DOUBLING)
            doubled = prepare_doubling<Real>(near);
        int32_t from[TERMS];
        find_sources<Value, Real, TERMS>(plan, tiling, at, own.mask, way, x0, x, have, a, from);
        int32_t needed = x0; /* points that it must have in its ring */
        if (for_source)
            needed = min(end + ahead, plan.nx);
        if (for_reader)
            needed = end - tiling.ring + tiling.back;
        if (!await(plan, shared, watched, needed))
            return true;
        c = subtract_terms<Real, TERMS>(plan, at.rings, way, a, from, c);
        c = solve_along<Real, TERMS>(plan, way, doubled, own.ring, own.mask, x0, end - x0,
                                     (Real *)scratch, c, near, next, a, have);
        publish<Value, Real>(plan, shared, at, own, x, end, c);
    }
    return true;
}

/* The same by reading the columns. This is rare in a kernel for boxes, so it is not inlined. */
template <typename Value, typename Real, int TERMS>
__device__ __noinline__ void solve_by_lists(const line_plan &plan, const line_tiling &tiling,
                                            tile &shared, worker<Value, Real> at, int32_t turn) {
    at.lists = true;
    solve_subtasks<Value, Real, TERMS, false>(plan, tiling, shared, at, turn, box_test{});
}

/* The work of one worker in a tile. */
template <typename Value, typename Real, int TERMS, bool STAGED>
__device__ __forceinline__ void work(const line_plan &plan, const line_tiling &tiling, tile &shared,
                                     worker<Value, Real> at, int32_t turn) {
    const int32_t lz = at.slot / tiling.tile_y, ly = at.slot - lz * tiling.tile_y;
    at.line = shared.line[at.slot];
    if (at.line < 0)
        return;
    at.z = shared.z + lz;
    at.y = shared.y + ly - plan.shear * at.z;
    if (plan.marked && turn == 0 && (tiling.exported >> at.slot & 1))
        mark_line<Real>(plan, shared, at.line);
    const box_test test = describe_line<Value, Real>(plan, tiling, shared, &at);
    if (STAGED) {
        if (!solve_subtasks<Value, Real, TERMS, true>(plan, tiling, shared, at, turn, test))
            solve_by_lists<Value, Real, TERMS>(plan, tiling, shared, at, turn);
        return;
    }
    at.lists = plan.source == LINE_LISTS || !__all_sync(FULL_WARP, passes(test));
    solve_subtasks<Value, Real, TERMS, false>(plan, tiling, shared, at, turn, test);
}

} // namespace

#endif
