/* eliminate_kernel.cuh: the elimination's kernel for rows of any shape. eliminate.cu has the proof.
 */
#ifndef GSW_CUDA_ELIMINATE_KERNEL_CUH
#define GSW_CUDA_ELIMINATE_KERNEL_CUH

#include "eliminate_row.cuh"

namespace {

/* ---- Rows of any shape ------------------------------------------------------------------------
 */

/* v where c is not zero, else 0, as a factor keeps it. Sets *beyond if its type does not hold it.
 */
template <class Real>
__device__ __forceinline__ Real kept_where_nonzero(double c, double v, bool *beyond) {
    const double kept = where_nonzero(c, v);
    *beyond = *beyond || (sizeof(Real) == sizeof(float) && gsw_is_beyond_f32(kept));
    return (Real)kept;
}

template <class Real> struct eliminate_listed {
    static __device__ __forceinline__ Real *at(const eliminate_plan &plan, void *values,
                                               int32_t terms, int32_t record_values,
                                               eliminate_spot spot, int32_t term) {
        return static_cast<Real *>(values) + spot.record * record_values +
               gsw_packed_value(terms, plan.members, plan.vector, term, spot.member, spot.lane);
    }

    static __device__ __forceinline__ Real *lower_at(const eliminate_plan &plan,
                                                     eliminate_spot spot, int32_t term) {
        return at(plan, plan.lower, plan.lower_terms, plan.lower_record, spot, term);
    }

    static __device__ __forceinline__ Real *upper_at(const eliminate_plan &plan,
                                                     eliminate_spot spot, int32_t term) {
        return at(plan, plan.upper, plan.upper_terms, plan.upper_record, spot, term);
    }

    static __device__ void eliminate(const eliminate_plan &plan, const eliminate_line &line,
                                     int32_t step) {
        const gsw_updates &updates = plan.lists->updates;
        const int32_t below = plan.lower_terms, above = plan.upper_terms;
        const int32_t x = step - line.trail;
        const eliminate_spot lower = {line.record + record_of(plan, step), line.lane, line.member};
        const eliminate_spot upper = upper_spot(plan, line.ticket[0][0], x, line.ly, line.lz);
        Real *const diagonal =
            plan.dilu ? lower_at(plan, lower, below) : upper_at(plan, upper, above);
        double row[GSW_STENCIL_MAX];
        for (int32_t j = 0; j < below; j++)
            row[j] = (double)*lower_at(plan, lower, j);
        row[below] = (double)*diagonal;
        for (int32_t j = 0; j < above; j++)
            row[below + 1 + j] = (double)*upper_at(plan, upper, j);

        bool beyond = false;
        for (int32_t k = 0; k < below; k++) {
            const eliminate_coupling c = plan.lists->lower[k];
            const double a = row[k];
            const eliminate_spot neighbour = neighbour_spot(plan, line, x, c);
            if (!plan.dilu)
                *lower_at(plan, lower, k) = kept_where_nonzero<Real>(
                    a, a * (double)*upper_at(plan, neighbour, above), &beyond);
            for (int32_t i = updates.first[k]; a != 0 && i < updates.first[k + 1]; i++) {
                const gsw_update to = updates.update[i];
                row[to.target] =
                    fma(-a, (double)*upper_at(plan, neighbour, to.upper), row[to.target]);
            }
        }

        double pivot = row[below];
        const int64_t number = line.row + x * plan.stride[0];
        if (gsw_pivot_is_bad(pivot, plan.positive))
            pivot = mend_pivot<0>(plan, row, below + 1 + above, pivot, number);
        const double reciprocal = 1 / pivot;
        *diagonal = (Real)reciprocal;
        for (int32_t j = 0; plan.dilu && j < below; j++)
            *lower_at(plan, lower, j) =
                kept_where_nonzero<Real>(row[j], row[j] * reciprocal, &beyond);
        for (int32_t j = 0; j < above; j++) {
            const double u = row[below + 1 + j];
            *upper_at(plan, upper, j) = kept_where_nonzero<Real>(u, u * reciprocal, &beyond);
        }
        if (beyond || (sizeof(Real) == sizeof(float) && gsw_pivot_is_beyond_f32(pivot)))
            note_lowest(&plan.pivots->beyond, number);
    }
};

/* ---- The kernel for any shape -----------------------------------------------------------------
 */

/* Prefetches a record, `bytes` long, into the L2 cache. */
__device__ __forceinline__ void prefetch_record(const void *values, int64_t record, int32_t bytes,
                                                int32_t thread, int32_t threads) {
    const char *from = static_cast<const char *>(values) + record * bytes;
    for (int32_t i = thread * 128; i < bytes; i += threads * 128)
        prefetch_to_l2(from + i);
}

/* Prefetches what a pencil's lines will need some steps later. */
template <class Real>
__device__ __forceinline__ void prefetch_step(const eliminate_plan &plan,
                                              const eliminate_line &line, int32_t step) {
    if (step >= plan.nx + plan.delay)
        return;
    const int32_t thread = line.member * GSW_TILE_LANES + line.lane;
    const int32_t threads = plan.members * GSW_TILE_LANES;
    const int64_t mirrored = (int64_t)line.ticket[0][0] * plan.records;
    prefetch_record(plan.lower, line.record + record_of(plan, step),
                    plan.lower_record * (int32_t)sizeof(Real), thread, threads);
    prefetch_record(plan.upper, mirrored + record_of(plan, plan.nx - 1 + plan.delay - step),
                    plan.upper_record * (int32_t)sizeof(Real), thread, threads);
}

/* What the warps of a block share. */
struct eliminate_block {
    int32_t ticket;
    int32_t allowed;   /* receiver: the steps before this one may begin */
    int32_t completed; /* compute: steps */
};

/* The receiver, a warp: polls the counters of the pencils that this one reads, until they have
 * completed all steps that it needs. */
__device__ __forceinline__ void receive_steps(const eliminate_plan &plan, eliminate_block *block) {
    const int32_t lane = (int32_t)threadIdx.x, all = plan.nx + plan.delay;
    const int32_t y = lane % plan.near_y, z = lane / plan.near_y;
    const eliminate_near *near = plan.near + (int64_t)block->ticket * plan.near_y * plan.near_z;
    const int32_t before = lane > 0 && z < plan.near_z ? near[lane].lower : -1;
    const int32_t shift = y * plan.tile_y * plan.skew_y + z * plan.tile_z * plan.skew_z;
    const int32_t *counter = plan.state->steps + (before >= 0 ? before : 0);
    int32_t allowed = 0;
    bounded_wait wait = {0, 0};
    while (allowed < all) {
        const int32_t steps = before >= 0 ? load_relaxed<scope::device>(counter) : all;
        int32_t until = steps < all ? steps - shift + 1 : all;
        for (int32_t away = GSW_TILE_LANES / 2; away > 0; away /= 2)
            until = min(until, __shfl_xor_sync(~0u, until, away));
        if (until <= allowed && is_due<256>(&wait) &&
            __any_sync(~0u, is_over(&wait, abandonment_of(plan), block->ticket)))
            until = all;
        if (until <= allowed) {
            __nanosleep(ELIMINATE_NAP);
            continue;
        }
        acquire_fence<scope::device>(); /* for all that was completed when the counters were
                                           published */
        __syncwarp();
        allowed = until;
        wait.since = 0;
        if (lane == 0)
            store_release<scope::block>(&block->allowed, allowed);
    }
}

/* The publisher, a thread: publishes the number of steps that this pencil has completed. */
__device__ __forceinline__ void publish_steps(const eliminate_plan &plan,
                                              const eliminate_block *block) {
    const int32_t all = plan.nx + plan.delay;
    for (int32_t published = 0; published < all;) {
        await_counter<ELIMINATE_NAP>(&block->completed, published + 1);
        published = load_acquire<scope::block>(&block->completed);
        if (block->ticket != plan.withheld)
            store_release<scope::device>(&plan.state->steps[block->ticket], published);
    }
}

/* A pencil per block. threadIdx: lane, member, role (compute, receiver, publisher). */
template <class Real>
__global__ void __launch_bounds__(GSW_TILE_LANES *ELIMINATE_MEMBERS * 3)
    eliminate_pencils(const __grid_constant__ eliminate_plan plan) {
    __shared__ eliminate_block block;
    const int32_t role = (int32_t)threadIdx.z;
    if (role == 0 && threadIdx.y == 0 && threadIdx.x == 0)
        block = {take_ticket(&plan.state->next), 0, 0};
    __syncthreads();
    if (role > 0) {
        if (role == 1 && threadIdx.y == 0)
            receive_steps(plan, &block);
        else if (role == 2 && threadIdx.y == 0 && threadIdx.x == 0)
            publish_steps(plan, &block);
        return;
    }
    const int32_t steps = plan.nx + plan.delay, threads = plan.members * GSW_TILE_LANES;
    const eliminate_line line =
        line_of(plan, block.ticket, (int32_t)threadIdx.x, (int32_t)threadIdx.y);
    for (int32_t step = 0; step < ELIMINATE_AHEAD; step++)
        prefetch_step<Real>(plan, line, step);
    for (int32_t step = 0; step < steps; step++) {
        const int32_t x = step - line.trail;
        prefetch_step<Real>(plan, line, step + ELIMINATE_AHEAD);
        await_counter<ELIMINATE_NAP>(&block.allowed, step + 1);
        if (line.inside && x >= 0 && x < plan.nx)
            eliminate_listed<Real>::eliminate(plan, line, step);
        /* The pencil's next step reads the results of this one. */
        asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
        if (threadIdx.y == 0 && threadIdx.x == 0)
            store_release<scope::block>(&block.completed, step + 1);
    }
}

} // namespace

#endif
