/* line_rows.cuh: where the entries of a row lie in the user's arrays, in sweep order. In a CSR that
 * holds the full box arithmetic finds them; in any other CSR row pointers and columns are read. */
#ifndef GSW_CUDA_LINE_ROWS_CUH
#define GSW_CUDA_LINE_ROWS_CUH

#include "line_solve.cuh"

namespace {

/* ---- Positions in a CSR that holds the full box ------------------------------------------------
 */

/* By bit: the offsets of the pattern that lead from line (y, z) to a line of the grid. For all
 * lanes together. */
__device__ uint64_t pattern_of_line(const line_plan &plan, int32_t y, int32_t z) {
    uint64_t mask = 0;
    for (int32_t q0 = 0; q0 < plan.patterns; q0 += 32) {
        const int32_t q = q0 + (threadIdx.x & 31);
        bool inside = false;
        if (q < plan.patterns) {
            const line_offset o = plan.pattern.offset[q];
            inside =
                (uint32_t)(y + o.y) < (uint32_t)plan.ny && (uint32_t)(z + o.z) < (uint32_t)plan.nz;
        }
        mask |= (uint64_t)__ballot_sync(FULL_WARP, inside) << q0;
    }
    return mask;
}

/* Counts the places before `end`, along an axis of length n, from which the offset d stays on the
 * axis. */
__device__ __forceinline__ int64_t places_before(int32_t n, int32_t d, int32_t end) {
    const int32_t low = d < 0 ? -d : 0, high = d > 0 ? n - d : n;
    const int32_t stop = end < high ? end : high;
    return stop > low ? stop - low : 0;
}

/* Entries with offset q in all lines before (y, z). */
__device__ int64_t entries_before_line(const line_plan &plan, int32_t q, int32_t y, int32_t z) {
    const line_offset o = plan.pattern.offset[q];
    const int64_t along_x = places_before(plan.nx, o.x, plan.nx);
    const int64_t along_y = places_before(plan.ny, o.y, plan.ny);
    int64_t lines = places_before(plan.nz, o.z, z) * along_y;
    if ((uint32_t)(z + o.z) < (uint32_t)plan.nz)
        lines += places_before(plan.ny, o.y, y);
    return lines * along_x;
}

/* Position of a line's first entry. For all lanes together. */
__device__ int64_t line_begin(const line_plan &plan, int32_t y, int32_t z) {
    int64_t sum = 0;
    for (int32_t q = threadIdx.x & 31; q < plan.patterns; q += 32)
        sum += entries_before_line(plan, q, y, z);
    for (int32_t lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(FULL_WARP, sum, lanes);
    return sum;
}

/* Fills the table of the rows that are not whole. For all threads of the block. */
__device__ void describe_edges(const line_plan &plan, tile *shared) {
    for (int32_t i = threadIdx.x; i < 2 * plan.reach; i += blockDim.x) {
        const int32_t x = i < plan.reach ? i : plan.nx - 2 * plan.reach + i;
        uint64_t inside = 0;
        for (int32_t q = 0; q < plan.patterns; q++)
            inside |= (uint64_t)((uint32_t)(x + plan.pattern.offset[q].x) < (uint32_t)plan.nx) << q;
        shared->edge[i] = inside;
    }
}

/* Entries of a row's pattern that stay in the grid along x. */
__device__ __forceinline__ uint64_t inside_along_x(const line_plan &plan, const tile &shared,
                                                   int32_t x) {
    if (x < plan.reach)
        return shared.edge[x];
    if (x >= plan.nx - plan.reach)
        return shared.edge[x - plan.nx + 2 * plan.reach];
    return ~0ull;
}

/* Position of the first entry of row x in the line that stores `term`. */
__device__ __forceinline__ int64_t row_begin(const line_plan &plan, const tile &shared,
                                             const line_term &term, int32_t x) {
    int64_t begin = term.begin + (int64_t)term.per_row * x;
    for (int32_t r = x; r < plan.reach; r++) /* term.begin counts what all of them lack */
        begin += term.per_row - __popcll(term.pattern & shared.edge[r]);
    for (int32_t r = plan.nx - plan.reach; r < x; r++)
        begin -= term.per_row - __popcll(term.pattern & shared.edge[r - plan.nx + 2 * plan.reach]);
    return begin;
}

/* ---- Reading coefficients: each lane for its own row -------------------------------------------
 */

__device__ __forceinline__ int64_t read_index(const void *array, gsw_itype type, int64_t i) {
    return type == GSW_I32 ? ((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}

/* A row of a CSR in sweep order: entry c of `length` is at begin + step * c. */
struct csr_row {
    int64_t begin, length;
};

__device__ csr_row find_row(const line_plan &plan, int64_t row) {
    const int64_t user = plan.step > 0 ? row : plan.points - 1 - row;
    int64_t begin = read_index(plan.row_ptr, plan.index_type, user) - plan.index_base;
    int64_t end = read_index(plan.row_ptr, plan.index_type, user + 1) - plan.index_base;
    if (begin < 0 || begin > end || end > plan.nonzeros) {
        refuse_row(plan, user);
        begin = end = 0;
    }
    csr_row found = {plan.step > 0 ? begin : end - 1, end - begin};
    return found;
}

/* Column of an entry, in sweep order. */
__device__ __forceinline__ int64_t column_at(const line_plan &plan, int64_t position) {
    const int64_t column = read_index(plan.columns, plan.index_type, position) - plan.index_base;
    return plan.step > 0 ? column : plan.points - 1 - column;
}

__device__ __forceinline__ int64_t distance(const line_plan &plan, line_offset o) {
    return o.x + (int64_t)plan.nx * (o.y + (int64_t)plan.ny * o.z);
}

/* The same in arrays, whose values may repeat. */
__device__ __forceinline__ int64_t step_of(const line_plan &plan, line_offset o) {
    return o.x + plan.step_y * o.y + plan.step_z * o.z;
}

/* Finds entries of one row in the order of their columns. An entry that the scan skips does not fit
 * the stencil. */
struct row_scan {
    csr_row row;
    int64_t at;
    bool fits;
};

__device__ int64_t scan_for(const line_plan &plan, row_scan *scan, int64_t column) {
    while (scan->at < scan->row.length) {
        const int64_t position = scan->row.begin + plan.step * scan->at;
        const int64_t here = column_at(plan, position);
        if (here > column)
            return -1;
        scan->at++;
        if (here == column)
            return position;
        scan->fits = false;
    }
    return -1;
}

/* Position of the entry (row, column); -1: the row has none. */
__device__ int64_t find_entry(const line_plan &plan, int64_t row, int64_t column) {
    const csr_row found = find_row(plan, row);
    for (int64_t c = 0; c < found.length; c++) {
        const int64_t position = found.begin + plan.step * c;
        if (column_at(plan, position) == column)
            return position;
    }
    return -1;
}

/* Whether the entries that a transposed solve reads in a row belong to the stencil. */
__device__ bool row_fits_transposed(const line_plan &plan, int64_t row, int32_t x, int32_t y,
                                    int32_t z) {
    const csr_row found = find_row(plan, row);
    for (int64_t c = 0; c < found.length; c++) {
        const int64_t column = column_at(plan, found.begin + plan.step * c);
        bool fits = column <= row;
        for (int32_t j = 1; j < plan.terms && !fits; j++) {
            const line_offset o = plan.term[j];
            fits = column == row - distance(plan, o) && (uint32_t)(x - o.x) < (uint32_t)plan.nx &&
                   (uint32_t)(y - o.y) < (uint32_t)plan.ny &&
                   (uint32_t)(z - o.z) < (uint32_t)plan.nz;
        }
        if (!fits)
            return false;
    }
    return true;
}

__device__ __forceinline__ bool leads_inside(const line_plan &plan, line_offset o, int32_t x,
                                             int32_t y, int32_t z) {
    return (uint32_t)(x + o.x) < (uint32_t)plan.nx && (uint32_t)(y + o.y) < (uint32_t)plan.ny &&
           (uint32_t)(z + o.z) < (uint32_t)plan.nz;
}

__device__ __forceinline__ int64_t user_row(const line_plan &plan, int64_t row) {
    return plan.step > 0 ? row : plan.points - 1 - row;
}

} // namespace

#endif
