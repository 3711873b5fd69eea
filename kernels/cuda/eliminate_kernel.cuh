/* eliminate_kernel.cuh: what eliminations share, and the kernel for rows of any shape. */
#ifndef GSW_CUDA_ELIMINATE_KERNEL_CUH
#define GSW_CUDA_ELIMINATE_KERNEL_CUH

#include <float.h>
#include <math.h>

#include "cuda/eliminate.cuh"
#include "cuda/order.cuh"

namespace {

/* ---- Where values lie -------------------------------------------------------------------------
 */

/* A line of a pencil, for one thread. */
struct eliminate_line {
    int64_t row;                /* of x = 0, the user's */
    int64_t record;             /* first record of the pencil in the lower part */
    const eliminate_near *near; /* the pencils before it, */
    int32_t ticket[2][2]; /* and those one tile before it at most, in the upper part: [z][y] */
    int32_t ly, lz;
    int32_t lane, member;
    int32_t trail; /* steps by which it trails the pencil's first line */
    int32_t inside;
};

/* One point's values in one part. */
struct eliminate_spot {
    int64_t record;
    int32_t lane, member;
};

__device__ __forceinline__ eliminate_line line_of(const eliminate_plan &plan, int32_t ticket,
                                                  int32_t lane, int32_t member) {
    const gsw_pencil pencil = plan.table[ticket];
    eliminate_line line;
    const int32_t lane_y = lane & ((1 << plan.lanes_bits) - 1), lane_z = lane >> plan.lanes_bits;
    line.ly = (lane_y << plan.lines_y_bits) + (member & ((1 << plan.lines_y_bits) - 1));
    line.lz = (lane_z << plan.lines_z_bits) + (member >> plan.lines_y_bits);
    const int64_t z = (int64_t)pencil.k * plan.tile_z + line.lz;
    const int64_t y = (int64_t)pencil.j * plan.tile_y + line.ly - plan.shear * z;
    line.row = y * plan.stride[1] + z * plan.stride[2];
    line.record = (int64_t)ticket * plan.records;
    line.near = plan.near + (int64_t)ticket * plan.near_y * plan.near_z;
    for (int32_t i = 0; i < 2; i++) {
        for (int32_t j = 0; j < 2; j++)
            line.ticket[i][j] = line.near[i * plan.near_y + j].upper;
    }
    line.lane = lane;
    line.member = member;
    line.trail = plan.skew_y * line.ly + plan.skew_z * line.lz;
    line.inside = y >= 0 && y < plan.ny && z < plan.nz;
    return line;
}

/* step mod records, without a division: the quotient is too small by 1 at most. */
__device__ __forceinline__ int32_t record_of(const eliminate_plan &plan, int32_t step) {
    const uint32_t quotient = __umulhi((uint32_t)step, plan.per_record);
    const int32_t rest = step - (int32_t)quotient * plan.records;
    return rest < plan.records ? rest : rest - plan.records;
}

/* Point x of line (ly, lz) of a pencil, as the upper part keeps it: see MIRROR in tiles.h. */
__device__ __forceinline__ eliminate_spot upper_spot(const eliminate_plan &plan, int32_t ticket,
                                                     int32_t x, int32_t ly, int32_t lz) {
    const int32_t step = plan.nx - 1 - x + plan.skew_y * (plan.tile_y - 1 - ly) +
                         plan.skew_z * (plan.tile_z - 1 - lz);
    const int32_t lane = (ly >> plan.lines_y_bits) + (lz >> plan.lines_z_bits << plan.lanes_bits);
    const int32_t member = (ly & ((1 << plan.lines_y_bits) - 1)) +
                           ((lz & ((1 << plan.lines_z_bits) - 1)) << plan.lines_y_bits);
    return {(int64_t)ticket * plan.records + record_of(plan, step), GSW_TILE_LANES - 1 - lane,
            plan.members - 1 - member};
}

/* How many tiles before its own a line lies: `line` counts from its own tile's first one. */
__device__ __forceinline__ int32_t tiles_before(int32_t line, int32_t tile) {
    if (line >= 0)
        return 0;
    return line >= -tile ? 1 : (-line - 1) / tile + 1;
}

/* The neighbour's values in the upper part. Where there is no such point the row's coefficient for
 * it is zero and nothing depends on what is read: then, the row's own. */
__device__ __forceinline__ eliminate_spot neighbour_spot(const eliminate_plan &plan,
                                                         const eliminate_line &line, int32_t x,
                                                         eliminate_coupling to) {
    const int32_t y = line.ly + to.dl, z = line.lz + to.dz;
    const int32_t before_y = tiles_before(y, plan.tile_y), before_z = tiles_before(z, plan.tile_z);
    const int32_t ticket = line.near[before_z * plan.near_y + before_y].upper;
    if (ticket < 0 || x + to.dx < 0 || x + to.dx >= plan.nx)
        return upper_spot(plan, line.ticket[0][0], x, line.ly, line.lz);
    return upper_spot(plan, ticket, x + to.dx, y + before_y * plan.tile_y,
                      z + before_z * plan.tile_z);
}

/* ---- Pivots -----------------------------------------------------------------------------------
 */

__device__ __forceinline__ void note_bad(gsw_cuda_pivots *pivots, int64_t row) {
    atomicMin((long long *)&pivots->bad, (long long)row);
}

__device__ __forceinline__ void note_shifted(gsw_cuda_pivots *pivots) {
    atomicAdd((unsigned long long *)&pivots->shifted, 1ull);
}

__device__ __forceinline__ bool is_bad_pivot(const eliminate_plan &plan, double pivot) {
    const double size = fabs(pivot);
    return !(size >= DBL_MIN && size <= DBL_MAX) || (plan.positive && pivot < 0);
}

/* What takes the place of a bad pivot: a multiple of the largest of the row's `count` coefficients,
 * as the updates have left them. */
template <int Count>
__device__ __forceinline__ double mend_pivot(const eliminate_plan &plan, const double *row,
                                             int32_t count, double pivot, int64_t number) {
    if (!(plan.pivot_shift > 0)) {
        note_bad(plan.pivots, number);
        return pivot;
    }
    double largest = 0;
#pragma unroll
    for (int32_t e = 0; e < (Count > 0 ? Count : count); e++) {
        const double size = fabs(row[e]);
        if (size > largest && size <= DBL_MAX)
            largest = size;
    }
    note_shifted(plan.pivots);
    const double shift = plan.pivot_shift * (largest > 0 ? largest : 1);
    return pivot < 0 && !plan.positive ? -shift : shift;
}

/* v where c is not zero, else 0. */
__device__ __forceinline__ double where_nonzero(double c, double v) {
    return c != 0 ? v : 0;
}

/* ---- Waiting for other pencils ----------------------------------------------------------------
 */

/* Looked at now and then while a pencil does not come: true when it is not waited for any more. */
__device__ __forceinline__ bool given_up(const eliminate_plan &plan, int32_t ticket,
                                         int64_t since) {
    if (load_acquire_device(&plan.state->abandon) != 0)
        return true;
    if (device_clock() - since < plan.wait_limit_ns)
        return false;
    if (atomicExch(&plan.state->abandon, 1) == 0) {
        plan.report->row = ticket;
        plan.report->pencil = 1;
        __threadfence_system();
        *(volatile int32_t *)&plan.report->status = GSW_ERROR_TIMEOUT;
    }
    return true;
}

/* ---- Rows of any shape ------------------------------------------------------------------------
 */

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

        for (int32_t k = 0; k < below; k++) {
            const eliminate_coupling c = plan.lists->lower[k];
            const double a = row[k];
            const eliminate_spot neighbour = neighbour_spot(plan, line, x, c);
            if (!plan.dilu)
                *lower_at(plan, lower, k) =
                    (Real)where_nonzero(a, a * (double)*upper_at(plan, neighbour, above));
            for (int32_t i = updates.first[k]; a != 0 && i < updates.first[k + 1]; i++) {
                const gsw_update to = updates.update[i];
                row[to.target] =
                    fma(-a, (double)*upper_at(plan, neighbour, to.upper), row[to.target]);
            }
        }

        double pivot = row[below];
        if (is_bad_pivot(plan, pivot))
            pivot =
                mend_pivot<0>(plan, row, below + 1 + above, pivot, line.row + x * plan.stride[0]);
        const double reciprocal = 1 / pivot;
        *diagonal = (Real)reciprocal;
        for (int32_t j = 0; plan.dilu && j < below; j++)
            *lower_at(plan, lower, j) = (Real)where_nonzero(row[j], row[j] * reciprocal);
        for (int32_t j = 0; j < above; j++) {
            const double u = row[below + 1 + j];
            *upper_at(plan, upper, j) = (Real)where_nonzero(u, u * reciprocal);
        }
    }
};

/* ---- The kernel for any shape -----------------------------------------------------------------
 */

/* Asks for a record, `bytes` long, to come into the L2 cache. */
__device__ __forceinline__ void ask_for(const void *values, int64_t record, int32_t bytes,
                                        int32_t thread, int32_t threads) {
    const char *from = static_cast<const char *>(values) + record * bytes;
    for (int32_t i = thread * 128; i < bytes; i += threads * 128)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from + i));
}

/* Asks for what a pencil's lines will need some steps later. */
template <class Real>
__device__ __forceinline__ void ask_ahead(const eliminate_plan &plan, const eliminate_line &line,
                                          int32_t step) {
    if (step >= plan.nx + plan.delay)
        return;
    const int32_t thread = line.member * GSW_TILE_LANES + line.lane;
    const int32_t threads = plan.members * GSW_TILE_LANES;
    const int64_t mirrored = (int64_t)line.ticket[0][0] * plan.records;
    ask_for(plan.lower, line.record + record_of(plan, step),
            plan.lower_record * (int32_t)sizeof(Real), thread, threads);
    ask_for(plan.upper, mirrored + record_of(plan, plan.nx - 1 + plan.delay - step),
            plan.upper_record * (int32_t)sizeof(Real), thread, threads);
}

/* Between the warps of a block. */
struct eliminate_block {
    int32_t ticket;
    int32_t allowed; /* by the watcher: the steps before this one may be made */
    int32_t made;    /* steps */
};

/* One warp: looks at the pencils that this one reads until they have made all that it needs. */
__device__ __forceinline__ void watch_near(const eliminate_plan &plan, eliminate_block *block) {
    const int32_t lane = (int32_t)threadIdx.x, all = plan.nx + plan.delay;
    const int32_t y = lane % plan.near_y, z = lane / plan.near_y;
    const eliminate_near *near = plan.near + (int64_t)block->ticket * plan.near_y * plan.near_z;
    const int32_t before = lane > 0 && z < plan.near_z ? near[lane].lower : -1;
    const int32_t shift = y * plan.tile_y * plan.skew_y + z * plan.tile_z * plan.skew_z;
    const volatile int32_t *made = plan.state->steps + (before >= 0 ? before : 0);
    int32_t turns = 0, allowed = 0;
    int64_t since = 0;
    while (allowed < all) {
        const int32_t steps = before >= 0 ? *made : all;
        int32_t until = steps < all ? steps - shift + 1 : all;
        for (int32_t away = GSW_TILE_LANES / 2; away > 0; away /= 2)
            until = min(until, __shfl_xor_sync(~0u, until, away));
        if (until <= allowed && (++turns & 255) == 0) {
            since = since == 0 ? device_clock() : since;
            if (__any_sync(~0u, given_up(plan, block->ticket, since)))
                until = all;
        }
        if (until <= allowed) {
            __nanosleep(ELIMINATE_NAP);
            continue;
        }
        acquire_device(); /* what had been made when the steps were told */
        __syncwarp();
        allowed = until;
        since = 0;
        if (lane == 0)
            store_release_block(&block->allowed, allowed);
    }
}

/* One thread: tells the pencils that read this one how far it is. */
__device__ __forceinline__ void tell_steps(const eliminate_plan &plan,
                                           const eliminate_block *block) {
    const int32_t all = plan.nx + plan.delay;
    for (int32_t told = 0; told < all;) {
        const int32_t made = load_acquire_block(&block->made);
        if (made == told) {
            __nanosleep(ELIMINATE_NAP);
            continue;
        }
        told = made;
        if (block->ticket != plan.withheld)
            store_release_device(&plan.state->steps[block->ticket], told);
    }
}

/* A pencil for each block. threadIdx: lane, member, role: one that makes rows, one that watches,
 * one that tells. */
template <class Real>
__global__ void __launch_bounds__(GSW_TILE_LANES *ELIMINATE_MEMBERS * 3)
    eliminate_pencils(const __grid_constant__ eliminate_plan plan) {
    __shared__ eliminate_block block;
    const int32_t role = (int32_t)threadIdx.z;
    if (role == 0 && threadIdx.y == 0 && threadIdx.x == 0)
        block = {atomicAdd(&plan.state->next, 1), 0, 0};
    __syncthreads();
    if (role > 0) {
        if (role == 1 && threadIdx.y == 0)
            watch_near(plan, &block);
        else if (role == 2 && threadIdx.y == 0 && threadIdx.x == 0)
            tell_steps(plan, &block);
        return;
    }
    const int32_t steps = plan.nx + plan.delay, threads = plan.members * GSW_TILE_LANES;
    const eliminate_line line =
        line_of(plan, block.ticket, (int32_t)threadIdx.x, (int32_t)threadIdx.y);
    for (int32_t step = 0; step < ELIMINATE_AHEAD; step++)
        ask_ahead<Real>(plan, line, step);
    for (int32_t step = 0; step < steps; step++) {
        const int32_t x = step - line.trail;
        ask_ahead<Real>(plan, line, step + ELIMINATE_AHEAD);
        while (load_acquire_block(&block.allowed) <= step)
            __nanosleep(ELIMINATE_NAP);
        if (line.inside && x >= 0 && x < plan.nx)
            eliminate_listed<Real>::eliminate(plan, line, step);
        /* The pencil's next step reads what this one has made. */
        asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
        if (threadIdx.y == 0 && threadIdx.x == 0)
            store_release_block(&block.made, step + 1);
    }
}

} // namespace

#endif
