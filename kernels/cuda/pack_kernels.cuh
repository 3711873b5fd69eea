/* pack_kernels.cuh: the kernels that pack: pack_gathered, coefficient by coefficient, and
 * pack_csr_rows, by rows of a CSR. pack.cu lists the sources of each. */
#ifndef GSW_CUDA_PACK_KERNELS_CUH
#define GSW_CUDA_PACK_KERNELS_CUH

#include "cuda/pack_buffer.cuh"

namespace {

/* Row i of the block's rows, in the order of reading: which member's, and its place. */
GSW_HD int32_t member_of_row(const pack_plan &plan, int32_t i) {
    return i >> plan.run_bits >> 5;
}

template <typename Stored>
GSW_HD pack_place place_of_row(const pack_plan &plan, const pack_block<Stored> &block, int32_t i) {
    static_assert(GSW_TILE_LANES == 1 << 5, "rows of one member");
    return place_of(plan, block, member_of_row(plan, i),
                    i & ((GSW_TILE_LANES << plan.run_bits) - 1));
}

/* ---- Gathering coefficient by coefficient -----------------------------------------------------
 */

/* Reads the diagonals of the run to the block's memory. gather() has the same threads for the same
 * points. */
template <typename Stored, typename Source>
GSW_HD void gather_diagonal(const pack_plan &plan, const Source &source,
                            const pack_block<Stored> &block, int32_t thread) {
    constexpr int32_t POINTS = Source::points;
    const int32_t points = lines_of(plan) << plan.run_bits;
    for (int32_t i = thread; i < points; i += POINTS * THREADS) {
        double diagonal[POINTS];
        int32_t to[POINTS]; /* -1: there is no such record */
        for (int32_t p = 0; p < POINTS; p++) {
            const int32_t at = i + p * THREADS < points ? i + p * THREADS : i;
            const pack_place place = place_of_row(plan, block, at);
            to[p] = place.used
                        ? diagonal_place(block, member_of_row(plan, at), buffer_place(block, place))
                        : -1;
            diagonal[p] = place.real ? source.diagonal(plan, place.point) : 0;
        }
        for (int32_t p = 0; p < POINTS; p++) {
            if (to[p] >= 0)
                block.diagonal[to[p]] = diagonal[p];
        }
    }
}

/* A point whose coefficients a thread reads. */
struct pack_target {
    pack_point point;
    double scale;
    uint32_t there; /* which couplings of a pass it has: a bit for each */
    int32_t to;     /* its place in the buffer, for the pass's first term; -1: none */
};

/* Point i of the run, for the pass of terms first..last-1. */
template <typename Stored>
GSW_HD pack_target target_of(const pack_plan &plan, const pack_block<Stored> &block, int32_t i,
                             int32_t first, int32_t last) {
    const int32_t member = member_of_row(plan, i);
    const pack_place place = place_of_row(plan, block, i);
    pack_target target = {place.point, 1, 0, -1};
    if (!place.used)
        return target;
    target.scale = scale_of(plan, block, member, buffer_place(block, place));
    target.to = buffer_place(block, place) + member * block.buffer_pitch;
    if (place.real && place.point.deep) {
        target.there = ~0u;
    } else if (place.real) {
        for (int32_t term = first; term < last; term++)
            target.there |= (uint32_t)pack_stays(plan, place.point, plan.tap[plan.tap_of[term]])
                            << (term - first);
    }
    return target;
}

/* Reads terms first..last-1 of the run's points to the buffer. The loads of several points and
 * terms are under way together: what belongs to a term is then computed once for the points. */
template <typename Stored, typename Source>
GSW_HD void gather(const pack_plan &plan, const Source &source, const pack_block<Stored> &block,
                   int32_t first, int32_t last, int32_t thread) {
    constexpr int32_t POINTS = Source::points, TERMS = Source::terms;
    const int32_t points = lines_of(plan) << plan.run_bits;
    for (int32_t i = thread; i < points; i += POINTS * THREADS) {
        pack_target target[POINTS];
        for (int32_t p = 0; p < POINTS; p++) {
            target[p].to = -1;
            target[p].there = 0;
            if (i + p * THREADS < points)
                target[p] = target_of(plan, block, i + p * THREADS, first, last);
        }
        for (int32_t term = first; term < last; term += TERMS) {
            pack_pair read[TERMS][POINTS];
            for (int32_t k = 0; k < TERMS; k++) {
                const bool wanted = term + k < last;
                const int32_t t = plan.tap_of[wanted ? term + k : first];
                for (int32_t p = 0; p < POINTS; p++)
                    read[k][p] = source.fetch(plan, target[p].point, t,
                                              wanted && target[p].there >> (term + k - first) & 1);
            }
            for (int32_t k = 0; k < TERMS && term + k < last; k++) {
                const int32_t t = plan.tap_of[term + k];
                const int32_t slot = (term + k - first) * plan.members;
                for (int32_t p = 0; p < POINTS; p++) {
                    if (target[p].to >= 0)
                        put(plan, block, target[p].to, slot, source.finish(plan, t, read[k][p]),
                            target[p].scale);
                }
            }
        }
    }
}

template <typename Stored, typename Source>
__global__ void __launch_bounds__(THREADS, 4)
    pack_gathered(const __grid_constant__ pack_plan plan, const __grid_constant__ Source source) {
    extern __shared__ double shared[];
    const int32_t thread = (int32_t)threadIdx.x, total = (int32_t)coefficients_of(plan);
    const pack_block<Stored> block = block_of<Stored>(plan, shared, false, blockIdx.x);
    place_lines(plan, block, thread);
    __syncthreads();
    if (plan.diagonal || plan.scale)
        gather_diagonal(plan, source, block, thread);
    int32_t first = 0;
    do { /* also where there are no coefficients */
        const int32_t last = first + plan.pass < total ? first + plan.pass : total;
        gather(plan, source, block, first >> (plan.members - 1), last >> (plan.members - 1),
               thread);
        __syncthreads();
        if (plan.diagonal && first == 0)
            write_diagonal(plan, block, thread);
        write_buffer(plan, block, first, last, thread);
        __syncthreads();
        first = last;
    } while (first < total);
}

/* ---- Rows of a CSR ----------------------------------------------------------------------------
 */

/* Which couplings the row of a point is expected to hold. */
template <typename Source>
GSW_HD uint64_t expected_couplings(const pack_plan &plan, const Source &csr,
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

GSW_HD bool holds(const pack_row &row, int32_t t) {
    return row.mask != 0 && !row.irregular && (row.mask >> t & 1);
}

/* Checks the row pointers: is a row's length that of all its expected entries? */
template <typename Stored, typename Source>
GSW_HD void examine_rows(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                         int32_t thread) {
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

GSW_HD pack_share share_rows(int32_t rows, int32_t width, int32_t thread) {
    if (width == 0 || thread >= THREADS / width * width)
        return {0, rows, 1};
    return {thread % width, thread / width, THREADS / width};
}

/* Are the columns those expected? Reads them as they lie in memory. */
template <typename Stored, typename Source>
GSW_HD void check_columns(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                          int32_t thread) {
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
template <typename Stored, typename Source>
GSW_HD void fetch_diagonals(const pack_plan &plan, const Source &csr,
                            const pack_block<Stored> &block, int32_t thread) {
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
template <typename Stored, typename Source>
GSW_HD void merge_row(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                      int32_t i, int32_t first, int32_t last) {
    const int32_t member = member_of_row(plan, i), place = block.row[i].place;
    const double scale = scale_of(plan, block, member, place);
    const pack_point point = place_of_row(plan, block, i).point;
    for (int32_t v = first; v < last; v++) {
        if (v % plan.members == member)
            put(plan, block, place, v - first, 0, 1);
    }
    int64_t k, end;
    csr.row_entries(plan, point.row, &k, &end);
    for (int32_t t = 0; t < plan.taps && k < end; t++) {
        if (csr.column(k) != point.row + block.step[t] || !pack_exists(plan, point, t))
            continue;
        const int32_t term = plan.term_of[t], v = term * plan.members + member;
        if (term < plan.terms && v >= first && v < last)
            put(plan, block, place, v - first, (double)pack_load(csr.values + k), scale);
        k++;
    }
    if (k < end)
        pack_lower(&plan.pivots->misfit, point.row);
}

/* Brings coefficients first..last-1 of the rows whose columns are not those expected. */
template <typename Stored, typename Source>
GSW_HD void merge_rows(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                       int32_t first, int32_t last, int32_t thread) {
    for (int32_t i = thread; i < lines_of(plan) << plan.run_bits; i += THREADS) {
        if (block.row[i].irregular)
            merge_row(plan, csr, block, i, first, last);
    }
}

/* Brings coefficients first..last-1 of the other rows, and zeros where there is no point. Reads the
 * entries as they lie in memory. */
template <typename Stored, typename Source>
GSW_HD void fetch_rows(const pack_plan &plan, const Source &csr, const pack_block<Stored> &block,
                       int32_t first, int32_t last, int32_t thread) {
    const int32_t rows = lines_of(plan) << plan.run_bits;
    const pack_share share = share_rows(rows, plan.terms, thread);
    const int32_t t = (plan.upper ? plan.center + 1 : 0) + share.entry;
    const int32_t term = plan.term_of[t];
    for (int32_t i = share.first; i < rows; i += BATCH * share.every) {
        double value[BATCH];
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
                value[k] = (double)pack_load(csr.values + row.first + pack_bits_below(row.mask, t));
        }
        for (int32_t k = 0; k < BATCH; k++) {
            const int32_t at = i + k * share.every;
            if (slot[k] < 0)
                continue;
            const int32_t place = block.row[at].place;
            put(plan, block, place, slot[k], value[k],
                scale_of(plan, block, member_of_row(plan, at), place));
        }
    }
}

template <typename Stored, typename Source>
__global__ void __launch_bounds__(THREADS)
    pack_csr_rows(const __grid_constant__ pack_plan plan, const __grid_constant__ Source csr) {
    extern __shared__ double shared[];
    const int32_t thread = (int32_t)threadIdx.x, total = (int32_t)coefficients_of(plan);
    const pack_block<Stored> block = block_of<Stored>(plan, shared, true, blockIdx.x);
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
        write_diagonal(plan, block, thread);
    int32_t first = 0;
    do { /* also where there are no coefficients: the rows are checked */
        const int32_t last = first + plan.pass < total ? first + plan.pass : total;
        merge_rows(plan, csr, block, first, last, thread);
        fetch_rows(plan, csr, block, first, last, thread);
        __syncthreads();
        write_buffer(plan, block, first, last, thread);
        __syncthreads();
        first = last;
    } while (first < total);
}

} // namespace

#endif
