/* line_subtask.cuh: a worker's line, and how the coefficients of its subtasks come to the lanes of
 * their rows: by asynchronous copies to scratch, one subtask ahead. On devices without such copies
 * staged entries wait in registers, as in the published scheme; other entries are copied at once.
 */
#ifndef GSW_CUDA_LINE_SUBTASK_CUH
#define GSW_CUDA_LINE_SUBTASK_CUH

#include "line_rows.cuh"
#include "cuda/sweep/movers.cuh"

namespace {

/* ---- Coefficients ------------------------------------------------------------------------------
 */

/* A worker's line. */
template <typename Value, typename Real> struct worker {
    int32_t slot, y, z;
    int64_t line;
    uint32_t present;     /* terms that are stored and whose line exists, by bit */
    bool lists;           /* row pointers and columns must be read */
    int32_t across;       /* entries of the part in a whole row: they come first */
    int32_t row_of_entry; /* 2^16 / across, rounded up: i / across = (i * row_of_entry) >> 16 */
    line_term *terms;
    Value *stage;
    Real *rings;
};

/* A subtask whose coefficients are on their way to scratch. */
template <typename Value, typename Real> struct subtask {
    Value *stage; /* staged: the entries of the subtask's rows one after the other, padded; else
                     term j of row i at rows * j + i */
    Real b;
    uint32_t have;    /* terms that the lane's row has, by bit */
    uint32_t missing; /* entries of whole rows that this row lacks, by bit */
};

/* A lane's staged entries on their way: at most `n`. */
template <typename Value, int n> struct entry_queue {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    __device__ __forceinline__ void start(int, Value *shared, const Value *global) {
        start_copy(shared, global);
    }
    __device__ __forceinline__ void await(void) {
        await_copies();
    }
#else
    register_queue<Value, n> queue;

    __device__ __forceinline__ void start(int i, Value *shared, const Value *global) {
        queue.start(i, shared_address(shared), global);
    }
    __device__ __forceinline__ void await(void) {
        queue.store();
    }
#endif
};

__device__ __forceinline__ int32_t padded(int32_t i) {
    return i + (i >> 4); /* so rows of any length spread over the banks */
}

/* Starts copying the coefficients of row x, each lane for its own row, from any source except
 * lists. */
template <typename Value, typename Real>
__device__ __forceinline__ void read_row(const line_plan &plan, const tile &shared,
                                         const worker<Value, Real> &at, int32_t rows, int32_t x,
                                         subtask<Value, Real> *q) {
    const int64_t stored = x + plan.step_y * at.y + plan.step_z * at.z;
    for (int32_t j = 0; j < plan.terms; j++) {
        const int32_t neighbour = x + plan.term[j].x;
        if ((at.present >> j & 1) == 0 || (uint32_t)neighbour >= (uint32_t)plan.nx)
            continue;
        q->have |= 1u << j;
        const Value *from;
        if (plan.source == LINE_BOX) {
            const line_term &term = at.terms[j];
            const int32_t stored_x = plan.transpose ? neighbour : x;
            const uint64_t missing = term.pattern & ~inside_along_x(plan, shared, stored_x);
            from = (const Value *)plan.first +
                   plan.step * (row_begin(plan, shared, term, stored_x) + term.rank -
                                __popcll(missing & ((1ull << plan.pattern.of_term[j]) - 1)));
        } else {
            from = (const Value *)plan.array[j] +
                   plan.step * (plan.transpose ? stored + step_of(plan, plan.term[j]) : stored);
        }
        start_copy(&q->stage[rows * j + (threadIdx.x & 31)], from);
    }
}

/* The same from a CSR by reading its columns, which this checks: term j of lane i comes to
 * scratch[rows * j + i]. Returns the terms that the row has, by bit. */
template <typename Value>
__device__ uint32_t read_lists(const line_plan &plan, uint32_t present, int64_t row, int32_t x,
                               int32_t y, int32_t z, int32_t rows, Value *scratch) {
    row_scan scan = {find_row(plan, row), 0, true};
    uint32_t have = 0;
    /* Columns ascend: first the terms of other lines, then those of the own line, then the
     * diagonal. */
    for (int32_t k = 1; k <= plan.terms; k++) {
        const int32_t j = plan.own + k < plan.terms ? plan.own + k : plan.terms - k;
        if (!leads_inside(plan, plan.term[j], x, y, z))
            continue;
        const int64_t other = row + distance(plan, plan.term[j]);
        const int64_t position =
            plan.transpose ? find_entry(plan, other, row) : scan_for(plan, &scan, other);
        if (position < 0 || (present >> j & 1) == 0)
            continue;
        scratch[rows * j + (threadIdx.x & 31)] = ((const Value *)plan.values)[position];
        have |= 1u << j;
    }
    if (plan.transpose)
        scan.fits = row_fits_transposed(plan, row, x, y, z);
    else if (scan.at < scan.row.length &&
             column_at(plan, scan.row.begin + plan.step * scan.at) < row)
        scan.fits = false;
    if (!scan.fits)
        refuse_row(plan, user_row(plan, row));
    return have;
}

/* Starts reading a subtask: rows x0..end-1 of the worker's line. */
template <typename Value, typename Real, int TERMS, bool STAGED>
__device__ __forceinline__ void prefetch(const line_plan &plan, const tile &shared,
                                         const worker<Value, Real> &at, int32_t rows, int32_t x0,
                                         int32_t end, Value *stage, subtask<Value, Real> *q,
                                         entry_queue<Value, TERMS> *copies) {
    const int32_t lane = threadIdx.x & 31, x = x0 + lane;
    q->stage = stage;
    q->have = 0;
    q->b = 0;
    if (x < end)
        q->b = ((const Real *)plan.b)[plan.step * (at.line * plan.nx + x)];
    if constexpr (STAGED) {
        const line_term &any = at.terms[0];
        const int32_t entries = (end - x0) * at.across, gap = any.per_row - at.across;
        q->have = at.present;
        q->missing = 0;
        if (x0 >= plan.reach && end <= plan.nx - plan.reach) {
            const Value *first =
                (const Value *)plan.first +
                plan.step * (any.begin + (int64_t)any.per_row * x0 + (gap == 0 ? lane : 0));
            Value *to = &stage[padded(lane)];
#pragma unroll
            for (int k = 0; k < TERMS; k++) {
                const int32_t e = 32 * k + lane;
                const int32_t at_entry =
                    gap == 0 ? 32 * k : e + ((e * at.row_of_entry) >> 16) * gap;
                if (e < entries)
                    copies->start(k, &to[34 * k], first + plan.step * at_entry);
            }
        } else if (x < end) {
            const uint64_t inside = inside_along_x(plan, shared, x);
            q->missing = (uint32_t)(any.pattern & ~inside);
#pragma unroll
            for (int j = 0; j < TERMS; j++)
                if ((uint32_t)(x + plan.term[j].x) >= (uint32_t)plan.nx)
                    q->have &= ~(1u << j);
            const int32_t count =
                at.across - __popc(q->missing & (uint32_t)((1ull << plan.part) - 1));
            const Value *first =
                (const Value *)plan.first + plan.step * row_begin(plan, shared, any, x);
            if constexpr (ASYNC_COPIES) {
                for (int32_t k = 0; k < count; k++)
                    copies->start(k, &stage[padded(lane * at.across + k)], first + plan.step * k);
            } else { /* unrolled: registers have no addresses */
#pragma unroll
                for (int32_t k = 0; k < TERMS; k++)
                    if (k < count)
                        copies->start(k, &stage[padded(lane * at.across + k)],
                                      first + plan.step * k);
            }
        }
    } else if (x < end && !at.lists) {
        read_row<Value, Real>(plan, shared, at, rows, x, q);
    }
}

/* Brings the coefficients to the lanes of their rows: a[j] is the coefficient of term j. Returns
 * the terms that the lane's row has, by bit. */
template <typename Value, typename Real, int TERMS, bool STAGED>
__device__ __forceinline__ uint32_t arrange(const line_plan &plan, const worker<Value, Real> &at,
                                            int32_t rows, int32_t x, bool valid,
                                            const subtask<Value, Real> &q,
                                            entry_queue<Value, TERMS> &copies, Real (&a)[TERMS]) {
    const int32_t lane = threadIdx.x & 31;
    uint32_t have = valid ? q.have : 0;
    copies.await();
    __syncwarp();
    if (!STAGED && at.lists && valid)
        have = read_lists<Value>(plan, at.present, at.line * plan.nx + x, x, at.y, at.z, rows,
                                 q.stage);
    if (!STAGED)
        __syncwarp();
#pragma unroll
    for (int j = 0; j < TERMS; j++) {
        a[j] = 0;
        if (have >> j & 1) {
            int32_t place = rows * j + lane;
            if (STAGED)
                place = padded(lane * at.across + at.terms[j].rank -
                               __popc(q.missing & at.terms[j].before));
            a[j] = (Real)q.stage[place];
        }
    }
    __syncwarp();
    return have;
}

/* Compares the arrays of a CSR with the pattern of a line: its first and last entry, and in a CSR
 * of one part the diagonal at the line's end. If both parts are stored, this and the number of all
 * entries prove that the CSR holds the box. If only one part is stored, that is nearly certain: see
 * plan_csr(). Other work continues while the values are loaded. */
struct box_test {
    int64_t begin, end, column;
    int64_t right_begin, right_end, right_column;
};

__device__ __forceinline__ bool passes(const box_test &test) {
    return test.begin == test.right_begin && test.end == test.right_end &&
           test.column == test.right_column;
}

__device__ __forceinline__ box_test start_test(const line_plan &plan, const tile &shared,
                                               const line_term &term, int64_t line) {
    int32_t missing = term.missing;
    for (int32_t r = plan.reach; r < 2 * plan.reach; r++)
        missing += term.per_row - __popcll(term.pattern & shared.edge[r]);
    const int64_t begin = term.begin + term.missing;
    const int64_t count = (int64_t)term.per_row * plan.nx - missing;
    const int64_t row = plan.step > 0 ? line * plan.nx : plan.points - (line + 1) * plan.nx;
    const int64_t first = plan.step > 0 ? begin : plan.nonzeros - begin - count;
    box_test test = {0, 0, 0, first + plan.index_base, first + count + plan.index_base, 0};
    test.begin = read_index(plan.row_ptr, plan.index_type, row);
    test.end = read_index(plan.row_ptr, plan.index_type, row + plan.nx);
    if (plan.diagonal_ends != 0) {
        const bool last = (plan.diagonal_ends > 0) == (plan.step > 0);
        test.column = read_index(plan.columns, plan.index_type, last ? first + count - 1 : first);
        test.right_column = row + (last ? plan.nx - 1 : 0) + plan.index_base;
    }
    return test;
}

/* Fills the table of a worker's line: lane j describes term j and returns its test of the line. */
template <typename Value, typename Real>
__device__ __forceinline__ box_test describe_line(const line_plan &plan, const line_tiling &tiling,
                                                  const tile &shared, worker<Value, Real> *at) {
    const int32_t j = threadIdx.x & 31;
    const bool box = plan.source == LINE_BOX;
    uint64_t pattern = 0;
    int64_t begin = 0;
    if (box) {
        pattern = pattern_of_line(plan, at->y, at->z);
        begin = line_begin(plan, at->y, at->z);
        at->across = max(1, __popcll(pattern & ((1ull << plan.part) - 1)));
        at->row_of_entry = (65536 + at->across - 1) / at->across;
    }
    for (int32_t g = 0; box && plan.transpose && g < plan.groups; g++) {
        const int32_t y = at->y + plan.group[g].y, z = at->z + plan.group[g].z;
        const uint64_t stores = pattern_of_line(plan, y, z);
        const int64_t there = line_begin(plan, y, z);
        if (j > plan.own && j < plan.terms && plan.group_of[j] == g) {
            pattern = stores;
            begin = there;
        }
    }
    bool stored = false;
    box_test test = {};
    if (j < plan.terms) {
        const line_offset o = plan.term[j];
        const bool exists = leads_inside(plan, line_offset{0, o.y, o.z}, 0, at->y, at->z);
        line_term *term = &at->terms[j];
        stored = exists && !(j == 0 && plan.unit);
        term->ring = -1;
        if (j > plan.own && exists)
            term->ring = tiling.slot[at->slot][plan.group_of[j]] * tiling.ring;
        if (plan.source == LINE_ARRAYS)
            stored = stored && plan.array[j] != NULL;
        if (box) {
            stored = stored && plan.pattern.of_term[j] < plan.patterns;
            term->before = (uint32_t)((1ull << plan.pattern.of_term[j]) - 1);
            term->rank = __popcll(pattern & ((1ull << plan.pattern.of_term[j]) - 1));
            term->pattern = pattern;
            term->per_row = __popcll(pattern);
            term->missing = 0;
            for (int32_t x = 0; x < plan.reach; x++)
                term->missing += term->per_row - __popcll(pattern & shared.edge[x]);
            term->begin = begin - term->missing;
            if (exists)
                test =
                    start_test(plan, shared, *term,
                               plan.transpose ? at->line + o.y + (int64_t)plan.ny * o.z : at->line);
        }
    }
    at->present = __ballot_sync(FULL_WARP, stored);
    __syncwarp();
    return test;
}

} // namespace

#endif
