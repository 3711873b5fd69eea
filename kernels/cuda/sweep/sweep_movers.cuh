/* sweep_movers.cuh: the roles of the packed sweep that move data between device memory and the
 * block's rings: loader (packed records), stager (b), storer (x). */
#ifndef GSW_CUDA_SWEEP_MOVERS_CUH
#define GSW_CUDA_SWEEP_MOVERS_CUH

#include "sweep_block.cuh"

namespace {

/* ---- Loader -------------------------------------------------------------------------------------
 */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* Waits until compute has read what load number `load` brought. */
template <int Rhs>
__device__ __forceinline__ void await_read(const sweep_block &block, int32_t load) {
    const sweep_plan &plan = *block.plan;
    if (!block.keeps) {
        await_chunk(block.control->completed, SWEEP_BARRIERS, load);
        return;
    }
    /* Compute may be many chunks ahead, more than barriers tell. */
    const int32_t last = load < plan.kept_begin - 1 ? load : load + plan.kept_end - plan.kept_begin;
    for (int rhs = 0; rhs < Rhs; rhs++)
        while (load_acquire<scope::block>(&block.control->steps_completed[rhs]) <=
               last * SWEEP_CHUNK)
            __nanosleep(20);
}

template <int Rhs> __device__ __forceinline__ void load_coefficients(const sweep_block &block) {
    const sweep_plan &plan = *block.plan;
    sweep_control *control = block.control;
    const uint32_t bytes = (uint32_t)(SWEEP_CHUNK * plan.record_bytes);
    const int32_t kept = plan.records / SWEEP_CHUNK;
    const char *from = records_of(block);
    const uint64_t policy = evict_first();
    int32_t stage = 0, from_chunk = 0;
    for (int32_t load = 0; load < plan.loads; load++) {
        /* First come the chunks that compute needs first. */
        if (load == SWEEP_STAGES_FIRST && plan.stages > SWEEP_STAGES_FIRST)
            await_chunk(control->full, plan.stages, 0);
        if (load >= plan.stages)
            await_read<Rhs>(block, load - plan.stages);
        if (block.keeps && load == plan.kept_begin)
            from_chunk = plan.kept_end % kept;
        const uint32_t full = shared_address(control->full + stage);
        barrier_expect(full, bytes);
        if (bytes > 0)
            bulk_load(block.coefficients + (uint32_t)stage * bytes,
                      from + (int64_t)from_chunk * bytes, bytes, full, policy);
        stage = stage + 1 == plan.stages ? 0 : stage + 1;
        from_chunk = from_chunk + 1 == kept ? 0 : from_chunk + 1;
    }
}

#endif

/* ---- Loaders without bulk copies ----------------------------------------------------------------
 *
 * Loaders take slices of records in turns and copy them through registers. They prefetch records
 * into the L2 cache only shortly before they load them, because the prefetched records of all
 * blocks must fit there (perf/DECISIONS.md, Slices without bulk copies). */

enum { SLICES_PREFETCHED = 12 }; /* before they are loaded */

__device__ __forceinline__ void prefetch_slice(const sweep_block &block, int32_t slice) {
    const sweep_plan &plan = *block.plan;
    const int32_t bytes = SWEEP_SLICE * plan.record_bytes, kept = plan.records / SWEEP_SLICE;
    const char *from = records_of(block) + (int64_t)(slice % kept) * bytes;
    for (int32_t i = block.lane * L2_LINE; i < bytes; i += 32 * L2_LINE)
        prefetch_to_l2(from + i);
}

/* Waits until every compute warp has read more than `slice` slices. */
template <int Rhs>
__device__ __forceinline__ void await_slice_read(const sweep_block &block, int32_t slice) {
#pragma unroll
    for (int rhs = 0; rhs < Rhs; rhs++) {
        while (*(volatile const int32_t *)&block.control->slices_read[rhs] <= slice)
            __nanosleep(20);
    }
}

template <int name, typename Value, int Rhs>
__device__ __forceinline__ void load_slices(const sweep_block &block, int turn) {
    const sweep_plan &plan = *block.plan;
    const int32_t slices = plan.chunks * (SWEEP_CHUNK / SWEEP_SLICE);
    int32_t *filled = &block.control->slices_filled[turn];
    if constexpr (name == SHAPE_OTHER) {
        /* Careful steps read device memory. */
        for (int32_t k = turn; k < slices; k += SWEEP_LOADERS) {
            if (k >= SLICES_PREFETCHED)
                await_chunk(block.control->completed, SWEEP_BARRIERS,
                            (k - SLICES_PREFETCHED) / (SWEEP_CHUNK / SWEEP_SLICE));
            prefetch_slice(block, k);
        }
    } else {
        using S = shape_of<name>;
        constexpr int most = SWEEP_SLICE * (S::terms + 1) * S::members * 32 * (int)sizeof(Value);
        constexpr int pieces = (most + 511) / 512; /* of 16 bytes per lane */
        const int32_t bytes = SWEEP_SLICE * plan.record_bytes, kept = plan.records / SWEEP_SLICE;
        const char *records = records_of(block) + block.lane * 16;
        uint32_t to = block.coefficients + (uint32_t)(turn % plan.stages * bytes + block.lane * 16);
        const uint32_t ring = (uint32_t)(plan.stages * bytes), end = block.coefficients + ring;
        for (int32_t k = turn; k < min(SLICES_PREFETCHED, slices); k += SWEEP_LOADERS)
            prefetch_slice(block, k);
        for (int32_t k = turn; k < slices; k += SWEEP_LOADERS) {
            double v[pieces][2];
            const char *from = records + (int64_t)(k % kept) * bytes;
#pragma unroll
            for (int i = 0; i < pieces; i++) {
                if (block.lane * 16 + i * 512 < bytes)
                    load_global<2>(v[i], (const double *)(from + i * 512));
            }
            if (k + SLICES_PREFETCHED < slices)
                prefetch_slice(block, k + SLICES_PREFETCHED);
            await_slice_read<Rhs>(block, k - plan.stages);
#pragma unroll
            for (int i = 0; i < pieces; i++) {
                if (block.lane * 16 + i * 512 < bytes)
                    store_shared<2>(to + (uint32_t)(i * 512), v[i]);
            }
            __syncwarp();
            if (block.lane == 0)
                *(volatile int32_t *)filled = k / SWEEP_LOADERS + 1;
            to += (uint32_t)(SWEEP_LOADERS * bytes);
            while (to >= end) /* there may be fewer stages than loaders */
                to -= ring;
        }
    }
    if (block.lane == 0)
        *(volatile int32_t *)filled = INT32_MAX;
}

/* ---- Between natural order and steps ------------------------------------------------------------
 */

/* One of the values that a lane moves: point x of the chunk (0..7) of a line. Successive lanes move
 * along the axis in which rows are neighbours in memory. */
struct moved {
    int32_t x, ly, lz;
};

template <int unit>
__device__ __forceinline__ moved moved_value(const pencil_tile &tile, int32_t i, int32_t lane) {
    const int32_t a = lane & 7, k = 4 * i + (lane >> 3);
    int32_t line, x;
    if (unit == 0) {
        x = a;
        line = k;
        /* Where a lane has two lines along z, both of them come first, then y. They fall on
         * different banks. */
        if (tile.lines_z == 2)
            line = (k & 1) * tile.tile_y + (k >> 1 & (tile.tile_y - 1)) +
                   k / (2 * tile.tile_y) * (2 * tile.tile_y);
    } else if (unit == 1) {
        x = k & 7;
        line = a + 8 * (k >> 3);
    } else {
        x = k & 7;
        line = (k >> 3) + tile.tile_y * a;
    }
    /* The width of a tile is a power of two. */
    return {x, line & (tile.tile_y - 1), line >> (31 - __clz(tile.tile_y))};
}

/* What a lane needs to know of each of `values` that it moves. */
template <int values> struct movements {
    static constexpr int count = values;
    int64_t value[count]; /* in b or x, from the chunk's first value of the pencil's first line */
    uint32_t cell[count]; /* shared address, for the chunk that comes next */
    uint32_t inside;      /* bits: the line is in the grid */
    uint32_t ends;        /* bits: so is the point, in the last chunk of a line */
};

/* `ring`: shared address of the rows, `pitch` bytes apart. `first`: where a lane's values begin
 * among all of a chunk, of which there are 8 for each of its lines. All lines are taken to be in
 * the grid; find_inside() corrects that. */
template <typename Real, int unit, int values>
__device__ __forceinline__ void
plan_movements_along(const sweep_plan &plan, const pencil_tile &tile, uint32_t ring, int32_t pitch,
                     int32_t first, movements<values> &m) {
    const int32_t lane = (int)threadIdx.x & 31, last = (plan.nx - 1) % SWEEP_CHUNK;
    m.inside = m.ends = 0;
#pragma unroll
    for (int i = 0; i < m.count; i++) {
        const moved v = moved_value<unit>(tile, first + i, lane);
        m.inside |= 1u << i;
        m.ends |= (uint32_t)(v.x <= last) << i;
        m.value[i] = v.ly * plan.stride[1] + v.lz * plan.stride[2] + v.x * plan.stride[0];
        m.cell[i] = ring + (uint32_t)(own_cell(tile, v.ly, v.lz) * (int32_t)sizeof(Real)) +
                    (uint32_t)((v.x + tile.skew_y * v.ly + tile.skew_z * v.lz) * pitch);
    }
}

/* Leaves the lines out that are not in the grid. */
template <int values>
__device__ __forceinline__ void find_inside(const sweep_block &block, const pencil_tile &tile,
                                            int32_t first, movements<values> &m) {
    const sweep_plan &plan = *block.plan;
    if (has_all_lines(block, tile))
        return;
    uint32_t inside = 0;
#pragma unroll 1
    for (int i = 0; i < m.count; i++) {
        const moved v = plan.unit == 0   ? moved_value<0>(tile, first + i, block.lane)
                        : plan.unit == 1 ? moved_value<1>(tile, first + i, block.lane)
                                         : moved_value<2>(tile, first + i, block.lane);
        inside |= (uint32_t)has_line(block, v.ly, v.lz) << i;
    }
    m.inside &= inside;
    m.ends &= inside;
}

template <int name, typename Real, int values>
__device__ __forceinline__ void plan_movements(const sweep_block &block, uint32_t ring,
                                               int32_t pitch, int32_t first, movements<values> &m) {
    const sweep_plan &plan = *block.plan;
    const pencil_tile tile = tile_of<name>(plan);
    if (plan.unit == 0)
        plan_movements_along<Real, 0>(plan, tile, ring, pitch, first, m);
    else if (plan.unit == 1)
        plan_movements_along<Real, 1>(plan, tile, ring, pitch, first, m);
    else
        plan_movements_along<Real, 2>(plan, tile, ring, pitch, first, m);
    find_inside(block, tile, first, m);
}

/* Where the pencil's first line begins in b or x, in values. */
__device__ __forceinline__ int64_t first_line(const sweep_block &block) {
    return block.y0 * block.plan->stride[1] + block.z0 * block.plan->stride[2];
}

/* The cell of value i in this chunk. Advances to the next chunk. */
template <int values>
__device__ __forceinline__ uint32_t next_cell(movements<values> &m, int i, uint32_t chunk_bytes,
                                              uint32_t ring_bytes, uint32_t ring_end) {
    uint32_t cell = m.cell[i];
    if (cell >= ring_end)
        cell -= ring_bytes;
    m.cell[i] = cell + chunk_bytes;
    return cell;
}

/* ---- Stager -------------------------------------------------------------------------------------
 */

/* The user's right-hand side that is the block's k-th. If there are fewer, it is the last one. */
__device__ __forceinline__ int64_t rhs_of_block(const sweep_block &block, int k) {
    return min(block.rhs + k, block.plan->rhs - 1);
}

enum { B_PREFETCHED = 3 }; /* chunks before it is loaded, without asynchronous copies */

/* Brings the values of a later chunk into the L2 cache. */
template <int Count, typename Real, int values>
__device__ __forceinline__ void prefetch_b(const movements<values> &m, const Real *const *b,
                                           uint32_t wanted, int64_t later) {
#pragma unroll
    for (int i = 0; i < m.count; i++) {
#pragma unroll
        for (int k = 0; k < Count; k++) {
            if (wanted >> i & 1u)
                prefetch_to_l2(b[k] + m.value[i] + later);
        }
    }
}

template <int name, typename Real, int members, int Rhs>
__device__ __forceinline__ void stage_b(const sweep_block &block, int mover) {
    constexpr int COUNT = sweep_warps<Rhs>::rhs_per_mover;
    using queue = copy_queue<Real, COUNT * 8 * members, sweep_warps<Rhs>::ahead>;
    constexpr int AHEAD = queue::ahead;
    const int first = COUNT * mover;
    const sweep_plan &plan = *block.plan;
    sweep_control *control = block.control;
    const int32_t lag = (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t line_chunks = (plan.nx + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const uint32_t chunk_bytes = (uint32_t)(SWEEP_CHUNK * plan.b_pitch);
    const uint32_t ring_bytes = (uint32_t)plan.staged * chunk_bytes;
    const uint32_t ring = block.b + (uint32_t)(first * plan.b_stride), ring_end = ring + ring_bytes;
    const int64_t advance = SWEEP_CHUNK * plan.stride[0];
    movements<8 * members> m;
    queue copies;
    plan_movements<name, Real>(block, ring, plan.b_pitch, 0, m);
    const Real *b[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        b[k] =
            b_of_block<Real>(block) + first_line(block) + rhs_of_block(block, first + k) * plan.ldb;
    int32_t stage = 0;
    uint32_t phase = 0;
    for (int32_t c = 0; c < plan.chunks + AHEAD; c++) {
        const int32_t ready = c - AHEAD;
        if (ready >= 0) {
            copies.await_group();
            if (BULK_COPIES && is_loaded(block, ready)) {
                await_phase(shared_address(control->full + stage), phase);
                if (++stage == plan.stages) {
                    stage = 0;
                    phase ^= 1;
                }
            }
            if (ready >= plan.ring)
                await_chunk(control->stored, SWEEP_BARRIERS, ready - plan.ring);
            if (ready == 0) {
                while (!load_acquire<scope::block>(&control->faces_open))
                    ;
                __threadfence_block(); /* with the store of `ready` a release: see await_ready() */
            }
            __syncwarp();
            if (block.lane == 0)
                *(volatile int32_t *)&control->ready[mover] = ready + 1;
        }
        if (c < line_chunks) {
            if (c + lag >= plan.staged)
                await_chunk(control->completed, SWEEP_BARRIERS, c + lag - plan.staged);
            const uint32_t wanted = c + 1 < line_chunks ? m.inside : m.ends;
#pragma unroll
            for (int i = 0; i < m.count; i++) {
                const uint32_t cell = next_cell(m, i, chunk_bytes, ring_bytes, ring_end);
#pragma unroll
                for (int k = 0; k < COUNT; k++) {
                    if (wanted >> i & 1u)
                        copies.start(i * COUNT + k, cell + (uint32_t)(k * plan.b_stride),
                                     b[k] + m.value[i]);
                }
            }
#pragma unroll
            for (int k = 0; k < COUNT; k++)
                b[k] += advance;
            if constexpr (!ASYNC_COPIES)
                prefetch_b<COUNT>(m, b, c + 1 + B_PREFETCHED < line_chunks ? wanted : 0,
                                  B_PREFETCHED * advance);
        }
        copies.end_group();
    }
}

/* ---- Storer -------------------------------------------------------------------------------------
 */

template <int name, typename Real, int members, int Rhs>
__device__ __forceinline__ void store_x(const sweep_block &block, int mover) {
    constexpr int COUNT = sweep_warps<Rhs>::rhs_per_mover;
    const int first = COUNT * mover;
    const sweep_plan &plan = *block.plan;
    sweep_control *control = block.control;
    const int32_t lag = (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t line_chunks = (plan.nx + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const uint32_t chunk_bytes = (uint32_t)(SWEEP_CHUNK * plan.x_pitch);
    const uint32_t ring_bytes = (uint32_t)plan.ring * chunk_bytes;
    const int64_t advance = SWEEP_CHUNK * plan.stride[0];
    const uint32_t ring = block.x + (uint32_t)(first * plan.x_stride), ring_end = ring + ring_bytes;
    movements<8 * members> m;
    plan_movements<name, Real>(block, ring, plan.x_pitch, 0, m);
    Real *x = x_of_block<Real>(block) + first_line(block) + (block.rhs + first) * plan.ldx;
    const int32_t present = plan.rhs - block.rhs - first;
    for (int32_t c = 0; c < line_chunks; c++) {
        await_chunk(control->completed, SWEEP_BARRIERS, min(c + lag, plan.chunks - 1));
        const uint32_t wanted = c + 1 < line_chunks ? m.inside : m.ends;
        uint32_t cell[m.count];
#pragma unroll
        for (int i = 0; i < m.count; i++)
            cell[i] = next_cell(m, i, chunk_bytes, ring_bytes, ring_end);
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            Real v[m.count];
#pragma unroll
            for (int i = 0; i < m.count; i++)
                load_shared<1>(v + i, cell[i] + (uint32_t)(k * plan.x_stride));
            if (k == COUNT - 1) {
                __syncwarp();
                if (block.lane == 0)
                    barrier_arrive(shared_address(control->stored + c % SWEEP_BARRIERS));
            }
#pragma unroll
            for (int i = 0; i < m.count; i++) {
                if ((wanted >> i & 1u) && (Rhs == 1 || k < present))
                    __stcs(x + k * plan.ldx + m.value[i], v[i]); /* not read again soon */
            }
        }
        x += advance;
    }
}

/* The same, two chunks at a time: memory takes 128 bytes of a line sooner than twice 64. For lines
 * along x, two to a lane. A warp stores both lines of one lane at a time. A half of it loads the
 * first chunk of one line and the second chunk of the other, which fall on different banks. */
template <int name, typename Real, int Rhs>
__device__ __forceinline__ void store_pairs(const sweep_block &block, int mover) {
    using S = shape_of<name>;
    static_assert(S::members == 2 && sweep_warps<Rhs>::rhs_per_mover == 1);
    constexpr uint32_t PITCH = (uint32_t)sweep_row_pitch(S::row_values, sizeof(Real), Rhs);
    constexpr int32_t PAIR = 2 * SWEEP_CHUNK;
    const sweep_plan &plan = *block.plan;
    sweep_control *control = block.control;
    const int32_t lag = (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t line_chunks = (plan.nx + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t quarter = block.lane / SWEEP_CHUNK;
    const int32_t member = quarter == 1 || quarter == 2;
    const int32_t point = block.lane % SWEEP_CHUNK + SWEEP_CHUNK * (quarter & 1);
    const int32_t my = S::lines_y == 2 ? member : 0, mz = S::lines_z == 2 ? member : 0;
    const int64_t next_y = S::lines_y * plan.stride[1], next_z = S::lines_z * plan.stride[2];
    const uint32_t ring = block.x + (uint32_t)(mover * plan.x_stride);
    const uint32_t ring_bytes = (uint32_t)(plan.ring * SWEEP_CHUNK) * PITCH;
    uint32_t row = ring + (uint32_t)member * (uint32_t)sizeof(Real) +
                   (uint32_t)(point + S::skew_y * my + S::skew_z * mz) * PITCH;
    Real *x = x_of_block<Real>(block) + first_line(block) + (block.rhs + mover) * plan.ldx +
              my * plan.stride[1] + mz * plan.stride[2] + point * plan.stride[0];
    const bool all = has_all_lines(block, tile_of<name>(plan));
    uint32_t inside = block.rhs + mover < plan.rhs ? ~0u : 0; /* bits: lane i's line is there */
    for (int32_t i = 0; i < 32 && !all; i++) {
        if (!has_line(block, i % S::lanes_y * S::lines_y + my, i / S::lanes_y * S::lines_z + mz))
            inside &= ~(1u << i);
    }
    for (int32_t c = 0; c < line_chunks; c += 2) {
        await_chunk(control->completed, SWEEP_BARRIERS, min(c + 1 + lag, plan.chunks - 1));
        const uint32_t wanted = point < plan.nx - c * SWEEP_CHUNK ? inside : 0;
        Real v[32];
        repeat<32>([&](auto lane) {
            constexpr int i = decltype(lane)::v;
            constexpr int later = S::skew_y * (i % S::lanes_y * S::lines_y) +
                                  S::skew_z * (i / S::lanes_y * S::lines_z);
            uint32_t cell = row + (uint32_t)later * PITCH + (uint32_t)(i * 2 * (int)sizeof(Real));
            cell -= cell >= ring + ring_bytes ? ring_bytes : 0;
            load_shared<1>(v + i, cell);
        });
        __syncwarp();
        if (block.lane == 0) {
            barrier_arrive(shared_address(control->stored + c % SWEEP_BARRIERS));
            barrier_arrive(shared_address(control->stored + (c + 1) % SWEEP_BARRIERS));
        }
        repeat<32>([&](auto lane) {
            constexpr int i = decltype(lane)::v;
            if (wanted >> i & 1u)
                __stcs(x + i % S::lanes_y * next_y + i / S::lanes_y * next_z, v[i]);
        });
        x += PAIR * plan.stride[0];
        row += PAIR * PITCH;
        row -= row >= ring + ring_bytes ? ring_bytes : 0;
    }
}

/* store_x() for sweeps that also add: SWEEP_SUM_STORERS warps share the values of a chunk. Each
 * lane copies what it adds into cells of its own, some chunks before it reads them: `add` and then
 * `factor`, value by value. */
template <int name, int members>
__device__ __forceinline__ void store_sum(const sweep_block &block, int mover) {
    constexpr int COUNT = 8 * members / SWEEP_SUM_STORERS;
    using queue = copy_queue<double, 2 * COUNT, SWEEP_SUM_AHEAD>;
    constexpr int AHEAD = queue::ahead;
    constexpr uint32_t OF_CELL = 32 * sizeof(double), OF_CHUNK = 2 * COUNT * OF_CELL;
    const sweep_plan &plan = *block.plan;
    sweep_control *control = block.control;
    const int32_t lag = (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t line_chunks = (plan.nx + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const uint32_t chunk_bytes = (uint32_t)(SWEEP_CHUNK * plan.x_pitch);
    const uint32_t ring_bytes = (uint32_t)plan.ring * chunk_bytes;
    const uint32_t ring_end = block.x + ring_bytes;
    const uint32_t cells = block.coefficients + (uint32_t)plan.sum_offset +
                           (uint32_t)mover * (AHEAD * OF_CHUNK) +
                           (uint32_t)block.lane * sizeof(double);
    const int64_t advance = SWEEP_CHUNK * plan.stride[0];
    const int64_t from = first_line(block);
    double *const x = plan.x ? static_cast<double *>(plan.x) + from : NULL;
    double *const z = plan.z + from;
    const double *const add = plan.add + from;
    const double *const factors = plan.factor ? plan.factor + from : NULL;
    movements<COUNT> m;
    queue copies;
    plan_movements<name, double>(block, block.x, plan.x_pitch, mover * COUNT, m);
    for (int32_t c = 0; c < line_chunks + AHEAD; c++) {
        const int32_t now = c - AHEAD;
        const uint32_t own = cells + (uint32_t)(c % AHEAD) * OF_CHUNK;
        if (now >= 0) {
            const uint32_t wanted = now + 1 < line_chunks ? m.inside : m.ends;
            const int64_t chunk = now * advance;
            double v[COUNT];
            copies.await_group();
            await_chunk(control->completed, SWEEP_BARRIERS, min(now + lag, plan.chunks - 1));
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                load_shared<1>(v + i, next_cell(m, i, chunk_bytes, ring_bytes, ring_end));
            __syncwarp();
            if (block.lane == 0)
                barrier_arrive(shared_address(control->stored + now % SWEEP_BARRIERS));
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                double sum, factor = 1;
                load_shared<1>(&sum, own + i * OF_CELL);
                if (factors)
                    load_shared<1>(&factor, own + (COUNT + i) * OF_CELL);
                if (wanted >> i & 1u) {
                    if (x)
                        __stcs(x + chunk + m.value[i], v[i]);
                    __stcs(z + chunk + m.value[i], fma(factor, v[i], sum));
                }
            }
        }
        if (c < line_chunks) {
            const uint32_t wanted = c + 1 < line_chunks ? m.inside : m.ends;
            const int64_t chunk = c * advance;
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                if (wanted >> i & 1u) {
                    copies.start(i, own + i * OF_CELL, add + chunk + m.value[i]);
                    if (factors)
                        copies.start(COUNT + i, own + (COUNT + i) * OF_CELL,
                                     factors + chunk + m.value[i]);
                }
            }
        }
        copies.end_group();
    }
}

} // namespace

#endif
