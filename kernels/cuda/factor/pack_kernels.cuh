/* pack_kernels.cuh: the kernels that pack: pack_gathered, coefficient by coefficient, and
 * pack_csr_rows, by rows of a CSR. pack.cu lists the sources of each. */
#ifndef GSW_CUDA_PACK_KERNELS_CUH
#define GSW_CUDA_PACK_KERNELS_CUH

#include "pack_buffer.cuh"

namespace {

/* Row i of the block's rows, in the order of reading: which member's, and its place. */
__device__ int32_t member_of_row(const pack_plan &plan, int32_t i) {
    return i >> plan.run_bits >> 5;
}

template <typename Value>
__device__ pack_place place_of_row(const pack_plan &plan, const pack_block<Value> &block,
                                   int32_t i) {
    static_assert(GSW_TILE_LANES == 1 << 5, "rows of one member");
    return place_of(plan, block, member_of_row(plan, i),
                    i & ((GSW_TILE_LANES << plan.run_bits) - 1));
}

/* ---- Gathering coefficient by coefficient -----------------------------------------------------
 */

/* Reads the diagonals of the run to the block's memory. */
template <typename Source>
__device__ void gather_diagonal(const pack_plan &plan, const Source &source,
                                const pack_block<typename Source::type> &block, int32_t thread) {
    constexpr int32_t POINTS = Source::points;
    const int32_t points = lines_of(plan) << plan.run_bits;
    for (int32_t i = thread; i < points; i += POINTS * THREADS) {
        double diagonal[POINTS];
        int32_t to[POINTS]; /* -1: there is no such record */
        for (int32_t p = 0; p < POINTS; p++) {
            const int32_t at = i + p * THREADS;
            to[p] = -1;
            if (at >= points)
                continue;
            const pack_place place = place_of_row(plan, block, at);
            diagonal[p] = place.real ? source.diagonal(plan, place.point) : 0;
            if (place.used)
                to[p] = diagonal_place(block, member_of_row(plan, at), buffer_place(block, place));
        }
        for (int32_t p = 0; p < POINTS; p++) {
            if (to[p] >= 0)
                block.diagonal[to[p]] = diagonal[p];
        }
    }
}

/* A point whose coefficients a thread brings. */
struct pack_target {
    pack_point point;
    uint32_t there; /* which couplings of a pass it has: a bit for each */
    int32_t to;     /* its place in the buffer, for the pass's first term */
};

/* Point i of the run, for the pass of terms first..last-1. If there is no such point it has no
 * couplings, and the place is one that nobody reads: the pad of a lane. */
template <typename Value>
__device__ pack_target target_of(const pack_plan &plan, const pack_block<Value> &block, int32_t i,
                                 int32_t first, int32_t last) {
    pack_target target = {{}, 0, block.pitch - 1};
    if (i >= lines_of(plan) << plan.run_bits)
        return target;
    const pack_place place = place_of_row(plan, block, i);
    target.point = place.point;
    if (place.used)
        target.to = buffer_place(block, place) + member_of_row(plan, i) * block.buffer_pitch;
    if (place.real && place.point.deep) {
        target.there = ~0u;
    } else if (place.real) {
        for (int32_t term = first; term < last; term++)
            target.there |= (uint32_t)pack_stays(plan, place.point, plan.tap[plan.tap_of[term]])
                            << (term - first);
    }
    return target;
}

/* Brings terms first..last-1 of the run's points to the buffer. What belongs to a term is computed
 * once for several points. */
template <typename Source>
__device__ void gather(const pack_plan &plan, const Source &source,
                       const pack_block<typename Source::type> &block, int32_t first, int32_t last,
                       int32_t thread) {
    constexpr int32_t POINTS = Source::points, TERMS = Source::terms;
    const int32_t points = lines_of(plan) << plan.run_bits;
    const int32_t pitch = plan.members * block.buffer_pitch; /* from term to term */
    for (int32_t i = thread; i < points; i += POINTS * THREADS) {
        pack_target target[POINTS];
        for (int32_t p = 0; p < POINTS; p++)
            target[p] = target_of(plan, block, i + p * THREADS, first, last);
        for (int32_t term = first; term < last; term += TERMS) {
            typename Source::type *const to = block.buffer + (term - first) * pitch;
            pack_started started[TERMS][POINTS];
            for (int32_t k = 0; k < TERMS && term + k < last; k++) {
                const int32_t t = plan.tap_of[term + k];
                for (int32_t p = 0; p < POINTS; p++)
                    started[k][p] = source.start(plan, target[p].point, t,
                                                 target[p].there >> (term + k - first) & 1,
                                                 to + k * pitch + target[p].to);
            }
            for (int32_t k = 0; k < TERMS && term + k < last; k++) {
                for (int32_t p = 0; p < POINTS; p++)
                    source.finish(plan, started[k][p], to + k * pitch + target[p].to);
            }
        }
    }
}

/* Blocks that a multiprocessor shall hold. Compute capability 7.5 has room for 1024 threads. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int GATHERING_BLOCKS = 1024 / THREADS;
#else
constexpr int GATHERING_BLOCKS = 5;
#endif

template <typename Stored, typename Source>
__global__ void __launch_bounds__(THREADS, GATHERING_BLOCKS)
    pack_gathered(const __grid_constant__ pack_plan plan, const __grid_constant__ Source source) {
    extern __shared__ double shared[];
    const int32_t thread = (int32_t)threadIdx.x, total = (int32_t)coefficients_of(plan);
    const auto block = block_of<typename Source::type>(plan, shared, false, blockIdx.x);
    place_lines(plan, block, thread);
    __syncthreads();
    int32_t first = 0;
    do { /* also where there are no coefficients */
        const int32_t last = first + plan.pass < total ? first + plan.pass : total;
        gather(plan, source, block, first >> (plan.members - 1), last >> (plan.members - 1),
               thread);
        if ((plan.diagonal || plan.scale) && first == 0)
            gather_diagonal(plan, source, block, thread);
        await_copies();
        __syncthreads();
        if (plan.diagonal && first == 0)
            write_diagonal<Stored>(plan, block, thread);
        write_buffer<Stored>(plan, block, first, last, thread);
        __syncthreads();
        first = last;
    } while (first < total);
}

/* ---- Rows of a CSR ----------------------------------------------------------------------------
 */

/* Puts a value into the buffer as coefficient `slot` of the pass. */
template <typename Value>
__device__ void put(const pack_block<Value> &block, int32_t place, int32_t slot, Value value) {
    block.buffer[slot * block.buffer_pitch + place] = value;
}

/* Which couplings the row of a point is expected to hold. */
template <typename Source>
__device__ uint64_t expected_couplings(const pack_plan &plan, const Source &csr,
                                       const pack_point &point) {
    const uint64_t all = csr.last < 64 ? (UINT64_C(1) << csr.last) - 1 : ~UINT64_C(0);
    uint64_t mask = all >> csr.first << csr.first;
    if (point.deep)
        return mask;
    for (int32_t t = csr.first; t < csr.last; t++) {
        if (!pack_stays(plan, point, plan.tap[t]))
            mask &= ~(UINT64_C(1) << t);
    }
    return mask;
}

__device__ bool holds(const pack_row &row, int32_t t) {
    return row.mask != 0 && !row.irregular && (row.mask >> t & 1);
}

/* Checks the row pointers: is a row's length that of all its expected entries? */
template <typename Source>
__device__ void examine_rows(const pack_plan &plan, const Source &csr,
                             const pack_block<typename Source::type> &block, int32_t thread) {
    for (int32_t t = thread; t < plan.taps; t += THREADS)
        block.step[t] = plan.tap[t].step;
    for (int32_t i = thread; i < lines_of(plan) << plan.run_bits; i += THREADS) {
        const pack_place place = place_of_row(plan, block, i);
        pack_row row = {place.point.row, 0, 0, place.used ? buffer_place(block, place) : -1, 0};
        if (place.real) {
            int64_t end;
            csr.row_entries(plan, row.row, &row.first, &end);
            if (plan.taps <= 64)
                row.mask = expected_couplings(plan, csr, place.point);
            row.irregular = plan.taps > 64 || end - row.first != pack_bits(row.mask);
        }
        block.row[i] = row;
    }
}

/* How the threads of a block share `rows` times `width` values, row by row: a thread always works
 * on the same entry of a row, in rows first, first + every, ... */
struct pack_share {
    int32_t entry, first, every;
};

__device__ pack_share share_rows(int32_t rows, int32_t width, int32_t thread) {
    if (width == 0 || thread >= THREADS / width * width)
        return {0, rows, 1};
    return {thread % width, thread / width, THREADS / width};
}

/* Are the columns those expected? Reads them as they lie in memory. */
template <typename Source>
__device__ void check_columns(const pack_plan &plan, const Source &csr,
                              const pack_block<typename Source::type> &block, int32_t thread) {
    const int32_t rows = lines_of(plan) << plan.run_bits;
    const pack_share share = share_rows(rows, csr.last - csr.first, thread);
    const int32_t t = csr.first + share.entry;
    for (int32_t i = share.first; i < rows; i += BATCH * share.every) {
        int64_t differs[BATCH];
        for (int32_t k = 0; k < BATCH; k++) {
            const int32_t at = i + k * share.every;
            differs[k] = 0;
            if (at >= rows)
                continue;
            const pack_row &row = block.row[at];
            if (holds(row, t))
                differs[k] = csr.column(row.first + pack_bits_below(row.mask, t)) -
                             (row.row + block.step[t]);
        }
        for (int32_t k = 0; k < BATCH; k++) {
            if (differs[k] != 0)
                block.row[i + k * share.every].irregular = 1; /* by any of the row's threads */
        }
    }
}

/* Diagonals of all rows. */
template <typename Source>
__device__ void fetch_diagonals(const pack_plan &plan, const Source &csr,
                                const pack_block<typename Source::type> &block, int32_t thread) {
    for (int32_t i = thread; i < lines_of(plan) << plan.run_bits; i += THREADS) {
        const pack_place place = place_of_row(plan, block, i);
        const pack_row &row = block.row[i];
        double d = 0;
        if (row.irregular)
            d = csr.entry(plan, place.point, plan.center);
        else if (holds(row, plan.center))
            d = (double)pack_load(csr.values + row.first + pack_bits_below(row.mask, plan.center));
        if (place.real)
            d = pack_finish_diagonal(plan, csr, place.point, d);
        if (place.used)
            block.diagonal[diagonal_place(block, member_of_row(plan, i), row.place)] = d;
    }
}

/* Merges the columns of one row with the couplings that stay in the grid, both ascending. Reports
 * the row if a column belongs to none of them. Brings coefficients first..last-1. */
template <typename Source>
__device__ void merge_row(const pack_plan &plan, const Source &csr,
                          const pack_block<typename Source::type> &block, int32_t i, int32_t first,
                          int32_t last) {
    const int32_t member = member_of_row(plan, i), place = block.row[i].place;
    const pack_point point = place_of_row(plan, block, i).point;
    for (int32_t v = first; v < last; v++) {
        if (v % plan.members == member)
            put(block, place, v - first, (typename Source::type)0);
    }
    int64_t k, end;
    csr.row_entries(plan, point.row, &k, &end);
    for (int32_t t = 0; t < plan.taps && k < end; t++) {
        if (csr.column(k) != point.row + block.step[t] || !pack_exists(plan, point, t))
            continue;
        const int32_t term = plan.term_of[t], v = term * plan.members + member;
        if (term < plan.terms && v >= first && v < last)
            put(block, place, v - first, pack_load(csr.values + k));
        k++;
    }
    if (k < end)
        note_lowest(&plan.pivots->misfit, point.row);
}

/* Brings coefficients first..last-1 of the rows whose columns are not those expected. */
template <typename Source>
__device__ void merge_rows(const pack_plan &plan, const Source &csr,
                           const pack_block<typename Source::type> &block, int32_t first,
                           int32_t last, int32_t thread) {
    for (int32_t i = thread; i < lines_of(plan) << plan.run_bits; i += THREADS) {
        if (block.row[i].irregular)
            merge_row(plan, csr, block, i, first, last);
    }
}

/* Brings coefficients first..last-1 of the other rows, and zeros where there is no point. Reads the
 * entries as they lie in memory. */
template <typename Source>
__device__ void fetch_rows(const pack_plan &plan, const Source &csr,
                           const pack_block<typename Source::type> &block, int32_t first,
                           int32_t last, int32_t thread) {
    const int32_t rows = lines_of(plan) << plan.run_bits;
    const pack_share share = share_rows(rows, plan.terms, thread);
    const int32_t t = (plan.upper ? plan.center + 1 : 0) + share.entry;
    const int32_t term = plan.term_of[t];
    for (int32_t i = share.first; i < rows; i += BATCH * share.every) {
        typename Source::type value[BATCH];
        int32_t slot[BATCH]; /* -1: none of these coefficients, or merged */
        for (int32_t k = 0; k < BATCH; k++) {
            const int32_t at = i + k * share.every;
            const int32_t v = term * plan.members + member_of_row(plan, at);
            slot[k] = -1;
            value[k] = 0;
            if (at >= rows || v < first || v >= last)
                continue;
            const pack_row row = block.row[at];
            if (row.place >= 0 && !row.irregular)
                slot[k] = v - first;
            if (holds(row, t))
                value[k] = pack_load(csr.values + row.first + pack_bits_below(row.mask, t));
        }
        for (int32_t k = 0; k < BATCH; k++) {
            const int32_t at = i + k * share.every;
            if (slot[k] >= 0)
                put(block, block.row[at].place, slot[k], value[k]);
        }
    }
}

template <typename Stored, typename Source>
__global__ void __launch_bounds__(THREADS)
    pack_csr_rows(const __grid_constant__ pack_plan plan, const __grid_constant__ Source csr) {
    extern __shared__ double shared[];
    const int32_t thread = (int32_t)threadIdx.x, total = (int32_t)coefficients_of(plan);
    const auto block = block_of<typename Source::type>(plan, shared, true, blockIdx.x);
    place_lines(plan, block, thread);
    __syncthreads();
    examine_rows(plan, csr, block, thread);
    __syncthreads();
    if (csr.check) {
        check_columns(plan, csr, block, thread);
        __syncthreads();
    }
    if (plan.diagonal || plan.scale) {
        fetch_diagonals(plan, csr, block, thread);
        __syncthreads();
    }
    if (plan.diagonal)
        write_diagonal<Stored>(plan, block, thread);
    int32_t first = 0;
    do { /* also where there are no coefficients: the rows are checked */
        const int32_t last = first + plan.pass < total ? first + plan.pass : total;
        merge_rows(plan, csr, block, first, last, thread);
        fetch_rows(plan, csr, block, first, last, thread);
        __syncthreads();
        write_buffer<Stored>(plan, block, first, last, thread);
        __syncthreads();
        first = last;
    } while (first < total);
}

} // namespace

#endif
