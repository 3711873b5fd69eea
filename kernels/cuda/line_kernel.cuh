/* line_kernel.cuh: the direct triangular sweep on the user's own arrays. Included once for each
 * pair of types; line_plan.cuh explains coordinates and terms.
 *
 * The scheme is the structured solver of Chen, Yang, Liu and Ma (Journal of Software, 2023): lines
 * are task queues, subtasks are runs of consecutive rows, the state is one progress counter a line,
 * entries of consecutive rows are read across the lanes of a warp, ahead of time. What differs has
 * one reason: on present devices a hand-over between blocks takes longer than the work on a
 * subtask.
 * - A block takes a TILE of neighbouring lines, whose hand-overs stay in shared memory.
 * - Entries go to shared memory by asynchronous copies instead of a queue of registers, and from
 *   there to the lane of their row, instead of being combined by shuffles.
 * - The recurrence along a line is solved by recursive doubling.
 * - Where x is not b, values that cross from tile to tile are their own flags.
 *
 * UNIT OF WORK. A tile: tile_y x tile_z lines in (y', z), y' = y + shear * z. Each line has
 * `workers` warps that take its subtasks in turn; lane i solves row i of a subtask. `helpers` warps
 * bring in the lines that the tile reads from other tiles (halos). Tiles are handed out by an
 * atomic ticket, antidiagonal by antidiagonal.
 *
 * STATE. progress[slot], in shared memory: how many points of that line are in its ring, the last
 * `ring` points of the line's solution. Written by the line's worker whose turn it is (own lines)
 * or by its helper (halos), nobody else; it only grows. For lines that other tiles read (exported
 * ones) state->progress[line], in device memory: base + points solved. Or, where x is not b: base +
 * 1 once all of the line's x is marked as unsolved, by a NaN of certain bits.
 *
 * MEMORY ORDER. In the block: a worker stores its rows to the ring; __syncwarp; lane 0
 * release-stores progress at block scope. Readers acquire-load progress, __syncwarp, read the ring.
 * A ring entry is overwritten only after all lines that read it have, by their own progress, done
 * with it. Between blocks by counter: the worker stores x; __syncwarp; lane 0 raises the counter
 * with release at device scope; a helper's lane acquire-loads it, __syncwarp, all lanes read x.
 * Release is cumulative, so a reader sees what the chain of hand-overs before it has stored.
 * Between blocks by marks: the worker marks the line, __syncwarp, lane 0 releases base + 1; once a
 * helper has acquired that, a relaxed load of x gives the mark or what was stored after it, and
 * that is the solution: each value is one atomic word that brings no other data with it. With
 * several workers a line, those that did not mark it store only after they have acquired the
 * progress of the one that did. A solution whose bits are the mark's is stored as another NaN.
 *
 * PROGRESS. (1) Between tiles: dependences have dy' <= 0 and dz <= 0, so a tile waits for tiles of
 * earlier antidiagonals only. Their tickets are smaller, hence were taken by blocks that already
 * run, and which mark their lines before they wait for anything: it does not matter how many blocks
 * are resident. Nothing is sent back to an earlier tile.
 * (2) In a tile: let a waiting chain of lines close, and follow the points solved, p, along it. A
 * line waits for data of a line with p smaller than its own p + rows + ahead, `ahead` points being
 * as far as it reads, that stands at least one step nearer to the tile's corner (y' + z smaller);
 * or, because its ring is full, for a reader with p smaller than its own p + rows + back - ring,
 * that stands at most M steps farther. Around the chain the steps cancel, so there are at most M
 * waits of the first kind to one of the second; with ring >= (M + 1) * rows + M * ahead + back, p
 * would have fallen on the whole: a contradiction. So the tile's work goes on as long as its halos
 * do. line.cu chooses the ring by this rule. (3) Every wait is bounded by the clock. Past the bound
 * the waiting warp reports the line and raises state->failed, which all who wait look at; the
 * blocks leave, and the last one leaves the state in order. What would break this: more than one
 * writer of a counter, a ticket that is not taken in order of antidiagonals, a `base` that does not
 * grow from solve to solve. */
#include "cuda/line_plan.cuh"
#include "cuda/order.cuh"

#define FULL_WARP 0xffffffffu

/* Diagonals between these have a reciprocal in full precision. */
#define SAFE_SMALL 1e-18
#define SAFE_LARGE 1e18

static __device__ __forceinline__ double multiply_add(double a, double b, double c) {
    return fma(a, b, c);
}

static __device__ __forceinline__ float multiply_add(float a, float b, float c) {
    return fmaf(a, b, c);
}

/* ---- Values that are not solved yet ------------------------------------------------------------
 */

/* Such a value is this NaN, bit for bit; a solution that comes out as these bits is changed into
 * another NaN. */
#define UNSOLVED_F64 0x7ff95a5a5a5a5a5aLL
#define UNSOLVED_F32 0x7fd95a5a

static __device__ __forceinline__ bool is_unsolved(double value) {
    return __double_as_longlong(value) == UNSOLVED_F64;
}

static __device__ __forceinline__ bool is_unsolved(float value) {
    return __float_as_int(value) == UNSOLVED_F32;
}

static __device__ __forceinline__ void mark_unsolved(double *global) {
    store_relaxed_device(global, __longlong_as_double(UNSOLVED_F64));
}

static __device__ __forceinline__ void mark_unsolved(float *global) {
    store_relaxed_device(global, __int_as_float(UNSOLVED_F32));
}

template <typename Real>
static __device__ __forceinline__ void store_solved(Real *global, Real value) {
    store_relaxed_device(global, is_unsolved(value) ? (Real)NAN : value);
}

/* ---- Failing --------------------------------------------------------------------------------- */

/* Only the first to fail writes the report; `status` goes last. */
static __device__ void give_up(const line_plan &plan, int32_t status, int64_t row) {
    if (atomicCAS(&plan.state->failed, 0u, 1u) != 0)
        return;
    volatile gsw_cuda_report *report = plan.report;
    report->row = row;
    __threadfence_system();
    report->status = status;
}

/* Whether to go on with a wait that has failed many times; `since` is 0 at first. */
static __device__ __forceinline__ bool keep_waiting(const line_plan &plan, int64_t *since,
                                                    int64_t line) {
    if (*(volatile uint32_t *)&plan.state->failed != 0)
        return false;
    const int64_t now = device_clock();
    if (*since == 0)
        *since = now;
    if (now - *since < plan.wait_limit_ns)
        return true;
    give_up(plan, GSW_ERROR_TIMEOUT, line);
    return false;
}

/* ---- Tickets --------------------------------------------------------------------------------- */

/* The antidiagonal of the last ticket: tickets grow, so it is found by going on from there. */
struct cursor {
    int64_t first; /* ticket of the antidiagonal's first tile */
    int32_t diagonal, low, count;
};

/* Tile of a ticket that is smaller than the number of tiles. */
static __device__ void find_tile(const line_plan &plan, int32_t tile_y, int32_t tile_z,
                                 int32_t tiles_y, int32_t tiles_z, int64_t ticket, cursor *at,
                                 int32_t *ty, int32_t *tz) {
    while (ticket >= at->first + at->count) {
        at->first += at->count;
        at->diagonal++;
        gsw_antidiagonal(plan, tile_y, tile_z, tiles_y, tiles_z, at->diagonal, &at->low,
                         &at->count);
    }
    *tz = at->low + (int32_t)(ticket - at->first);
    *ty = at->diagonal - *tz;
}

/* The last block to leave puts the state in order for the next solve. */
static __device__ void leave(const line_plan &plan) {
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    __threadfence();
    if (atomicAdd(&plan.state->finished, 1u) != gridDim.x - 1)
        return;
    plan.state->base += (int64_t)plan.nx + 1;
    plan.state->ticket = 0;
    plan.state->finished = 0;
    plan.state->failed = 0;
}

/* ---- Positions in a CSR that holds the full box ------------------------------------------------
 */

/* Offsets of the pattern that lead from a line to a line of the grid, by bit. All lanes. */
static __device__ uint64_t pattern_of_line(const line_plan &plan, int32_t y, int32_t z) {
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

/* Places along an axis of length n from which d leads to a place, among those before `end`. */
static __device__ __forceinline__ int64_t places_before(int32_t n, int32_t d, int32_t end) {
    const int32_t low = d < 0 ? -d : 0, high = d > 0 ? n - d : n;
    const int32_t stop = end < high ? end : high;
    return stop > low ? stop - low : 0;
}

/* Entries with offset q in all lines before (y, z). */
static __device__ int64_t entries_before_line(const line_plan &plan, int32_t q, int32_t y,
                                              int32_t z) {
    const line_offset o = plan.pattern.offset[q];
    const int64_t along_x = places_before(plan.nx, o.x, plan.nx);
    const int64_t along_y = places_before(plan.ny, o.y, plan.ny);
    int64_t lines = places_before(plan.nz, o.z, z) * along_y;
    if ((uint32_t)(z + o.z) < (uint32_t)plan.nz)
        lines += places_before(plan.ny, o.y, y);
    return lines * along_x;
}

/* Position of a line's first entry. All lanes. */
static __device__ int64_t line_begin(const line_plan &plan, int32_t y, int32_t z) {
    int64_t sum = 0;
    for (int32_t q = threadIdx.x & 31; q < plan.patterns; q += 32)
        sum += entries_before_line(plan, q, y, z);
    for (int32_t lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(FULL_WARP, sum, lanes);
    return sum;
}

/* Fills the table of the rows that are not whole. All threads of the block. */
static __device__ void describe_edges(const line_plan &plan, tile *shared) {
    for (int32_t i = threadIdx.x; i < 2 * plan.reach; i += blockDim.x) {
        const int32_t x = i < plan.reach ? i : plan.nx - 2 * plan.reach + i;
        uint64_t inside = 0;
        for (int32_t q = 0; q < plan.patterns; q++)
            inside |= (uint64_t)((uint32_t)(x + plan.pattern.offset[q].x) < (uint32_t)plan.nx) << q;
        shared->edge[i] = inside;
    }
}

/* Entries of a row's pattern that stay in the grid along x. */
static __device__ __forceinline__ uint64_t inside_along_x(const line_plan &plan, const tile &shared,
                                                          int32_t x) {
    if (x < plan.reach)
        return shared.edge[x];
    if (x >= plan.nx - plan.reach)
        return shared.edge[x - plan.nx + 2 * plan.reach];
    return ~0ull;
}

/* Position of the first entry of row x in the line that stores `term`. */
static __device__ __forceinline__ int64_t row_begin(const line_plan &plan, const tile &shared,
                                                    const line_term &term, int32_t x) {
    int64_t begin = term.begin + (int64_t)term.per_row * x;
    for (int32_t r = x; r < plan.reach; r++) /* rows x.. were counted as missing too much */
        begin += term.per_row - __popcll(term.pattern & shared.edge[r]);
    for (int32_t r = plan.nx - plan.reach; r < x; r++)
        begin -= term.per_row - __popcll(term.pattern & shared.edge[r - plan.nx + 2 * plan.reach]);
    return begin;
}

/* ---- Reading coefficients: each lane for its own row -------------------------------------------
 */

static __device__ __forceinline__ int64_t read_index(const void *array, gsw_itype type, int64_t i) {
    return type == GSW_I32 ? ((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}

/* A row of a CSR in sweep order: entry c of `length` stands at begin + step * c. */
struct csr_row {
    int64_t begin, length;
};

static __device__ csr_row find_row(const line_plan &plan, int64_t row) {
    const int64_t user = plan.step > 0 ? row : plan.points - 1 - row;
    int64_t begin = read_index(plan.row_ptr, plan.index_type, user) - plan.index_base;
    int64_t end = read_index(plan.row_ptr, plan.index_type, user + 1) - plan.index_base;
    if (begin < 0 || begin > end || end > plan.nonzeros) {
        give_up(plan, GSW_ERROR_NOT_A_GRID, user);
        begin = end = 0;
    }
    csr_row found = {plan.step > 0 ? begin : end - 1, end - begin};
    return found;
}

/* Column of an entry, in sweep order. */
static __device__ __forceinline__ int64_t column_at(const line_plan &plan, int64_t position) {
    const int64_t column = read_index(plan.columns, plan.index_type, position) - plan.index_base;
    return plan.step > 0 ? column : plan.points - 1 - column;
}

static __device__ __forceinline__ int64_t distance(const line_plan &plan, line_offset o) {
    return o.x + (int64_t)plan.nx * (o.y + (int64_t)plan.ny * o.z);
}

/* Finds entries of one row in the order of their columns; what is passed over does not fit the
 * stencil. */
struct row_scan {
    csr_row row;
    int64_t at;
    bool fits;
};

static __device__ int64_t scan_for(const line_plan &plan, row_scan *scan, int64_t column) {
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

/* Position of the entry (row, column), or -1. */
static __device__ int64_t find_entry(const line_plan &plan, int64_t row, int64_t column) {
    const csr_row found = find_row(plan, row);
    for (int64_t c = 0; c < found.length; c++) {
        const int64_t position = found.begin + plan.step * c;
        if (column_at(plan, position) == column)
            return position;
    }
    return -1;
}

/* Whether the couplings of a row that a transposed solve reads in it belong to the stencil. */
static __device__ bool row_fits_transposed(const line_plan &plan, int64_t row, int32_t x, int32_t y,
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

static __device__ __forceinline__ bool leads_inside(const line_plan &plan, line_offset o, int32_t x,
                                                    int32_t y, int32_t z) {
    return (uint32_t)(x + o.x) < (uint32_t)plan.nx && (uint32_t)(y + o.y) < (uint32_t)plan.ny &&
           (uint32_t)(z + o.z) < (uint32_t)plan.nz;
}

static __device__ __forceinline__ int64_t user_row(const line_plan &plan, int64_t row) {
    return plan.step > 0 ? row : plan.points - 1 - row;
}

/* ---- The recurrence along a line ---------------------------------------------------------------
 */

/* Solves x[i] = c[i] - near[i] x[i-1] - next[i] x[i-2] for `rows` rows; lane i brings and takes row
 * i, `before` and `before2` come before row 0. `scratch` holds 96 values. All lanes go through the
 * recurrence together, so that only multiply-adds stand between a row and the next. */
template <typename Real> struct alignas(2 * sizeof(Real)) row_pair { Real c, near; };

template <typename Real, bool TWO>
static __device__ __forceinline__ Real recur(Real *scratch, int32_t rows, Real c, Real near,
                                             Real next, Real before, Real before2) {
    const int32_t lane = threadIdx.x & 31;
    row_pair<Real> *pairs = (row_pair<Real> *)scratch;
    pairs[lane] = row_pair<Real>{c, near};
    if (TWO)
        scratch[64 + lane] = next;
    __syncwarp();
    Real mine = c;
#pragma unroll 8
    for (int32_t i = 0; i < rows; i++) {
        const row_pair<Real> row = pairs[i];
        Real x = row.c;
        if (TWO)
            x = multiply_add(-scratch[64 + i], before2, x);
        x = multiply_add(-row.near, before, x);
        before2 = before;
        before = x;
        if (i == lane)
            mine = x;
    }
    return mine;
}

/* The same for one term a row by recursive doubling, without a value before row 0: five steps
 * instead of 32. What does not depend on c is made beforehand. |near| <= 1, so that the products of
 * many of them stay in range. */
template <typename Real> struct doubling {
    Real step[5]; /* multiplies the value 1, 2, 4, 8, 16 rows before; 0 where that is not in here */
};

template <typename Real>
static __device__ __forceinline__ doubling<Real> prepare_doubling(Real near) {
    const int32_t lane = threadIdx.x & 31;
    doubling<Real> d;
    Real product = lane > 0 ? -near : (Real)0;
#pragma unroll
    for (int k = 0; k < 5; k++) {
        d.step[k] = product;
        product *= __shfl_up_sync(FULL_WARP, product, 1 << k);
        if (lane < 2 << k)
            product = 0;
    }
    return d;
}

template <typename Real>
static __device__ __forceinline__ Real run_doubling(const doubling<Real> &d, Real c) {
#pragma unroll
    for (int k = 0; k < 5; k++)
        c = multiply_add(d.step[k], __shfl_up_sync(FULL_WARP, c, 1 << k), c);
    return c;
}

/* ---- Tiles -------------------------------------------------------------------------------------
 */

/* A worker's line. */
template <typename Value, typename Real> struct worker {
    int32_t slot, y, z;
    int64_t line;
    uint32_t present;     /* terms that are stored and whose line exists, by bit */
    bool lists;           /* columns have to be looked at */
    int32_t across;       /* entries of the part in a whole row: they come first */
    int32_t row_of_entry; /* 2^16 / across, rounded up: i / across = (i * row_of_entry) >> 16 */
    line_term *terms;
    Value *stage;
    Real *rings;
};

/* A subtask whose coefficients are on their way to scratch. */
template <typename Value, typename Real> struct queue {
    Value *stage; /* entries of the subtask's rows one after the other, padded; or term j of row i
                     at rows * j + i */
    Real b;
    uint32_t have;    /* terms that the lane's row has, by bit */
    uint32_t missing; /* entries of whole rows that it has not, by bit */
};

static __device__ __forceinline__ int32_t padded(int32_t i) {
    return i + (i >> 4); /* rows of any length then spread over the banks */
}

/* Coefficients of row x, each lane for its own, from whatever source but lists. */
template <typename Value, typename Real>
static __device__ __forceinline__ void read_row(const line_plan &plan, const tile &shared,
                                                const worker<Value, Real> &at, int32_t rows,
                                                int32_t x, queue<Value, Real> *q) {
    const int64_t row = at.line * plan.nx + x;
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
            const int64_t stored = plan.transpose ? row + distance(plan, plan.term[j]) : row;
            from = (const Value *)plan.array[j] + plan.step * stored;
        }
        start_copy(&q->stage[rows * j + (threadIdx.x & 31)], from);
    }
}

/* The same from a CSR whose columns have to be looked at, which are checked on the way: term j of
 * lane i comes to scratch[rows j + i]. Returns which there are. */
template <typename Value>
static __device__ uint32_t read_lists(const line_plan &plan, uint32_t present, int64_t row,
                                      int32_t x, int32_t y, int32_t z, int32_t rows,
                                      Value *scratch) {
    row_scan scan = {find_row(plan, row), 0, true};
    uint32_t have = 0;
    /* Columns ascend from the terms of other lines over the own line's to the diagonal. */
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
        give_up(plan, GSW_ERROR_NOT_A_GRID, user_row(plan, row));
    return have;
}

/* Starts reading a subtask: rows x0 .. end - 1 of the worker's line. */
template <typename Value, typename Real, int TERMS, bool STAGED>
static __device__ __forceinline__ void
prefetch(const line_plan &plan, const tile &shared, const worker<Value, Real> &at, int32_t rows,
         int32_t x0, int32_t end, Value *stage, queue<Value, Real> *q) {
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
                    start_copy(&to[34 * k], first + plan.step * at_entry);
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
            for (int32_t k = 0; k < count; k++)
                start_copy(&stage[padded(lane * at.across + k)], first + plan.step * k);
        }
    } else if (x < end && !at.lists) {
        read_row<Value, Real>(plan, shared, at, rows, x, q);
    }
}

/* Brings the coefficients to the lanes of their rows: a[j] is term j's. Returns which there are. */
template <typename Value, typename Real, int TERMS, bool STAGED>
static __device__ __forceinline__ uint32_t arrange(const line_plan &plan,
                                                   const worker<Value, Real> &at, int32_t rows,
                                                   int32_t x, bool valid,
                                                   const queue<Value, Real> &q, Real (&a)[TERMS]) {
    const int32_t lane = threadIdx.x & 31;
    uint32_t have = valid ? q.have : 0;
    await_copies();
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

/* Waits until the line in the lane's `slot` has `needed` points in its ring. */
static __device__ __forceinline__ bool await(const line_plan &plan, const tile &shared,
                                             int32_t slot, int32_t needed) {
    const int32_t *counter = &shared.progress[slot];
    int64_t since = 0;
    for (;;) {
#pragma unroll 2
        for (int32_t i = 0; i < 128; i++) {
            if (__all_sync(FULL_WARP, load_acquire_block(counter) >= needed)) {
                __syncwarp();
                return true;
            }
        }
        const bool on =
            load_acquire_block(counter) >= needed || keep_waiting(plan, &since, shared.line[slot]);
        if (!__all_sync(FULL_WARP, on))
            return false;
    }
}

/* Solves the rows of a line one after the other, with divisions and with any terms in the own line:
 * for diagonals without a good reciprocal and for couplings that are missing. */
template <typename Real, int TERMS>
static __device__ Real solve_one_by_one(const line_plan &plan, Real *ring, int32_t ring_mask,
                                        int32_t x0, int32_t rows, Real c, const Real (&a)[TERMS],
                                        uint32_t have) {
    const int32_t lane = threadIdx.x & 31;
    for (int32_t i = 0; i < rows; i++) {
        if (lane == i) {
#pragma unroll
            for (int j = TERMS - 1; j > 0; j--)
                if (j <= plan.own && (have >> j & 1))
                    c = multiply_add(-a[j], ring[(x0 + i + plan.term[j].x) & ring_mask], c);
            if (!plan.unit)
                c /= a[0];
            ring[(x0 + i) & ring_mask] = c;
        }
        __syncwarp();
    }
    return c;
}

/* How the recurrence along a line can be run. */
enum along {
    ALONG_NONE,      /* there is none: rows of the line do not depend on each other */
    ALONG_DOUBLING,  /* one term a row, of no more than the diagonal's size */
    ALONG_ONE,       /* one term a row */
    ALONG_TWO,       /* two */
    ALONG_ONE_BY_ONE /* diagonals without a good reciprocal, missing couplings, any other terms */
};

/* Uniform in the warp. */
template <typename Real, int TERMS>
static __device__ __forceinline__ along choose_along(const line_plan &plan, int32_t x, bool valid,
                                                     const Real (&a)[TERMS], uint32_t have) {
    const double diagonal = plan.unit ? 1 : fabs((double)a[0]);
    bool plain = plan.unit || ((have & 1) && diagonal > SAFE_SMALL && diagonal < SAFE_LARGE);
    bool small = true;
    if (plan.own > 0) {
        plain = plain && plan.own <= 2 && plan.term[1].x == -1 && ((have >> 1 & 1) || x < 1);
        small = fabs((double)a[1]) <= diagonal;
    }
    if (plan.own > 1)
        plain = plain && plan.term[2].x == -2 && ((have >> 2 & 1) || x < 2);
    if (!__all_sync(FULL_WARP, plain || !valid))
        return ALONG_ONE_BY_ONE;
    if (plan.own == 0)
        return ALONG_NONE;
    if (plan.own == 2)
        return ALONG_TWO;
    return __all_sync(FULL_WARP, small || !valid) ? ALONG_DOUBLING : ALONG_ONE;
}

/* What the arrays of a CSR say of a line, and what the pattern says: as many entries as it must,
 * where they must be, and, in a CSR of one part, the diagonal at the line's end. With the number of
 * all entries this leaves no doubt where both parts are stored, and hardly any otherwise: see
 * plan_csr(). The loads are under way while other work is done. */
struct box_test {
    int64_t begin, end, column;
    int64_t right_begin, right_end, right_column;
};

static __device__ __forceinline__ bool passes(const box_test &test) {
    return test.begin == test.right_begin && test.end == test.right_end &&
           test.column == test.right_column;
}

static __device__ __forceinline__ box_test start_test(const line_plan &plan, const tile &shared,
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

/* Fills the table of a worker's line: lane j describes term j. Returns the lane's test of it. */
template <typename Value, typename Real>
static __device__ __forceinline__ box_test describe_line(const line_plan &plan,
                                                         const line_tiling &tiling,
                                                         const tile &shared,
                                                         worker<Value, Real> *at) {
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

/* Solves every `workers`-th subtask of the worker's line. Subtasks of neighbouring lines are
 * shifted against each other, so that one reads no farther than the other's subtask of the same
 * number. False: the CSR does not hold what its size promised, and nothing has been done. */
template <typename Value, typename Real, int TERMS, bool STAGED>
static __device__ __forceinline__ bool
solve_subtasks(const line_plan &plan, const line_tiling &tiling, tile &shared,
               const worker<Value, Real> &at, int32_t turn, const box_test &test) {
    const int32_t lane = threadIdx.x & 31;
    const int32_t stride = tiling.workers * tiling.rows, mask = tiling.ring - 1;
    const bool withheld = at.line == plan.withheld_line;
    const bool exported = tiling.exported >> at.slot & 1;
    Real *ring = at.rings + at.slot * tiling.ring;
    /* What the lane looks after in waits: a line that is read, a reader, or the worker's own. */
    const bool for_source = lane < plan.groups;
    const bool for_reader = lane >= 16 && (tiling.consumers[at.slot] >> (lane - 16) & 1);
    int32_t watched = at.slot;
    if (for_source)
        watched = tiling.slot[at.slot][lane];
    if (for_reader)
        watched = lane - 16;
    const int32_t ahead = for_source ? plan.group[lane].x : 0;

    queue<Value, Real> q;
    Value *stage = at.stage, *next_stage = at.stage + tiling.stage_values;
    const int64_t shift =
        tiling.skew_y * (at.y + (int64_t)plan.shear * at.z) + tiling.skew_z * (int64_t)at.z;
    int32_t start = turn * tiling.rows - (int32_t)(shift & (tiling.rows - 1));
    if (start + tiling.rows <= 0)
        start += stride;
    if (start < plan.nx)
        prefetch<Value, Real, TERMS, STAGED>(plan, shared, at, tiling.rows, max(start, 0),
                                             min(start + tiling.rows, plan.nx), stage, &q);
    /* What has been started is harmless if it was wrong. */
    if (STAGED && !__all_sync(FULL_WARP, passes(test)))
        return false;
    for (; start < plan.nx; start += stride) {
        const int32_t x0 = max(start, 0), end = min(start + tiling.rows, plan.nx);
        const int32_t x = x0 + lane;
        const bool valid = x < end;
        Real a[TERMS];
        const uint32_t have =
            arrange<Value, Real, TERMS, STAGED>(plan, at, tiling.rows, x, valid, q, a);
        Real c = q.b, sum = 0;
        Value *const scratch = stage;
        stage = next_stage;
        next_stage = scratch;
        if (start + stride < plan.nx)
            prefetch<Value, Real, TERMS, STAGED>(plan, shared, at, tiling.rows, start + stride,
                                                 min(start + stride + tiling.rows, plan.nx), stage,
                                                 &q);
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
        int32_t from[TERMS]; /* where the ring has what term j reads */
#pragma unroll
        for (int j = 1; j < TERMS; j++) {
            from[j] = -1; /* zero */
            if (j > plan.own && (have >> j & 1))
                from[j] = at.terms[j].ring + ((x + plan.term[j].x) & mask);
            if (j <= plan.own && way != ALONG_ONE_BY_ONE)
                a[j] = 0; /* left to the recurrence, */
        }
        if (way == ALONG_DOUBLING && lane == 0 && x0 > 0) { /* but for the first row */
            from[1] = at.slot * tiling.ring + ((x0 - 1) & mask);
            a[1] = near;
        }

        int32_t needed = x0;
        if (for_source)
            needed = min(end + ahead, plan.nx);
        if (for_reader)
            needed = end - tiling.ring + tiling.back;
        if (!await(plan, shared, watched, needed))
            return true;
#pragma unroll
        for (int j = 1; j < TERMS; j++) {
            if (way == ALONG_ONE_BY_ONE && j <= plan.own)
                continue;
            if (TERMS <= 4 || (j & 1))
                c = multiply_add(-a[j], at.rings[from[j]], c);
            else
                sum = multiply_add(-a[j], at.rings[from[j]], sum);
        }
        if (TERMS > 4)
            c += sum;
        bool plain = way == ALONG_NONE;
        if (way == ALONG_DOUBLING) {
            const Real solved = run_doubling<Real>(doubled, c);
            /* Zero times infinity: an infinity goes where the plain recurrence puts it. */
            plain = __all_sync(FULL_WARP, isfinite(solved));
            if (plain)
                c = solved;
        }
        if (way == ALONG_ONE_BY_ONE) {
            c = solve_one_by_one<Real, TERMS>(plan, ring, mask, x0, end - x0, c, a, have);
        } else if (!plain) {
            const bool folded = way == ALONG_DOUBLING;
            const Real before = x0 > 0 && !folded ? ring[(x0 - 1) & mask] : (Real)0;
            if (way != ALONG_TWO)
                c = recur<Real, false>((Real *)scratch, end - x0, c,
                                       folded && lane == 0 ? (Real)0 : near, (Real)0, before,
                                       (Real)0);
            else
                c = recur<Real, true>((Real *)scratch, end - x0, c, near, next, before,
                                      x0 > 1 ? ring[(x0 - 2) & mask] : (Real)0);
        }

        if (valid)
            ring[x & mask] = c;
        __syncwarp();
        if (lane == 0 && !withheld)
            store_release_block(&shared.progress[at.slot], end);
        Real *const to = (Real *)plan.x + plan.step * (at.line * plan.nx + x);
        if (exported && plan.marked) {
            if (valid && !withheld)
                store_solved(to, c);
            continue;
        }
        if (valid)
            *to = c;
        if (exported) {
            __syncwarp();
            if (lane == 0 && !withheld)
                raise_release_device(&plan.state->progress[at.line], shared.base + end);
        }
    }
    return true;
}

/* The same by looking at the columns: rare in a kernel that is made for boxes, and kept out of its
 * way. */
template <typename Value, typename Real, int TERMS>
static __device__ __noinline__ void solve_by_lists(const line_plan &plan, const line_tiling &tiling,
                                                   tile &shared, worker<Value, Real> at,
                                                   int32_t turn) {
    at.lists = true;
    solve_subtasks<Value, Real, TERMS, false>(plan, tiling, shared, at, turn, box_test{});
}

/* Marks the points of a line and says so. */
template <typename Real>
static __device__ void mark_line(const line_plan &plan, const tile &shared, int64_t line) {
    const int32_t lane = threadIdx.x & 31;
    for (int32_t x = lane; x < plan.nx; x += 32)
        mark_unsolved((Real *)plan.x + plan.step * (line * plan.nx + x));
    __syncwarp();
    if (lane == 0)
        store_release_device(&plan.state->progress[line], shared.base + 1);
}

/* A worker's part of a tile. */
template <typename Value, typename Real, int TERMS, bool STAGED>
static __device__ __forceinline__ void work(const line_plan &plan, const line_tiling &tiling,
                                            tile &shared, worker<Value, Real> at, int32_t turn) {
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

/* A helper brings in every `helpers`-th halo: its lanes watch one line each, and all of them copy
 * what has come. */
template <typename Real>
static __device__ void help(const line_plan &plan, const line_tiling &tiling, tile &shared,
                            Real *rings, int32_t first) {
    const int32_t lane = threadIdx.x & 31;
    const int32_t halo = first + lane * tiling.helpers;
    const int32_t slot = tiling.tile_y * tiling.tile_z + halo;
    const bool mine = halo < tiling.halos && shared.line[min(slot, LINE_SLOTS_MAX - 1)] >= 0;
    const int64_t line = mine ? shared.line[slot] : -1;
    const uint32_t consumers = mine ? tiling.consumers[slot] : 0;
    int32_t copied = mine ? 0 : plan.nx;
    int32_t failures = 0;
    int64_t since = 0;
    while (!__all_sync(FULL_WARP, copied >= plan.nx)) {
        int32_t end = copied;
        if (copied < plan.nx) {
            const int64_t solved = load_acquire_device(&plan.state->progress[line]) - shared.base;
            if (solved > copied) {
                int32_t room = copied + 32;
                for (uint32_t rest = consumers; rest != 0; rest &= rest - 1)
                    room = min(room, load_acquire_block(&shared.progress[__ffs(rest) - 1]) +
                                         tiling.ring - tiling.back);
                end = max(copied, (int32_t)min(solved, (int64_t)room));
            }
        }
        uint32_t come = __ballot_sync(FULL_WARP, end > copied);
        if (come == 0) {
            failures++;
            if ((failures & 63) == 0 &&
                !__all_sync(FULL_WARP, copied >= plan.nx || keep_waiting(plan, &since, line)))
                return;
            continue;
        }
        __syncwarp();
        since = 0;
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
                    store_release_block(&shared.progress[to[k]], stop[k]);
            }
        }
        copied = end;
    }
}

/* The same where unsolved values are marked: once a line is, its values are looked at themselves,
 * and no counter has to be waited for. */
template <typename Real>
static __device__ void help_marked(const line_plan &plan, const line_tiling &tiling, tile &shared,
                                   Real *rings, int32_t first) {
    const int32_t lane = threadIdx.x & 31;
    const int32_t halo = first + lane * tiling.helpers;
    const int32_t slot = tiling.tile_y * tiling.tile_z + halo;
    const bool mine = halo < tiling.halos && shared.line[min(slot, LINE_SLOTS_MAX - 1)] >= 0;
    const int64_t line = mine ? shared.line[slot] : -1;
    int32_t copied = mine ? 0 : plan.nx, room = tiling.ring - tiling.back, failures = 0;
    int64_t since = 0;
    for (bool marked = !mine; !__all_sync(FULL_WARP, marked);) {
        if (!marked)
            marked = load_acquire_device(&plan.state->progress[line]) > shared.base;
        if ((++failures & 63) == 0 &&
            !__all_sync(FULL_WARP, marked || keep_waiting(plan, &since, line)))
            return;
    }
    __syncwarp();
    since = 0;
    while (!__all_sync(FULL_WARP, copied >= plan.nx)) {
        if (copied < plan.nx && room < min(copied + 32, plan.nx)) {
            room = plan.nx;
            for (uint32_t rest = tiling.consumers[slot]; rest != 0; rest &= rest - 1)
                room = min(room, load_acquire_block(&shared.progress[__ffs(rest) - 1]) +
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
                    value[k] = load_relaxed_device((const Real *)plan.x + plan.step * (row + x[k]));
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
                    store_release_block(&shared.progress[to], x[k] + count);
                if (lane == from[k])
                    copied += count;
                moved = true;
            }
        }
        if (moved) {
            since = 0;
        } else if ((++failures & 63) == 0 &&
                   !__all_sync(FULL_WARP, copied >= plan.nx || keep_waiting(plan, &since, line))) {
            return;
        }
    }
}

/* Sets the table of slots for the tile at (ty, tz). All threads. */
static __device__ void open_tile(const line_plan &plan, const line_tiling &tiling, tile *shared) {
    const int32_t own = tiling.tile_y * tiling.tile_z;
    for (int32_t s = threadIdx.x; s < own + tiling.halos; s += blockDim.x) {
        const int32_t ly = s < own ? s % tiling.tile_y : tiling.halo_y[s - own];
        const int32_t lz = s < own ? s / tiling.tile_y : tiling.halo_z[s - own];
        const int64_t z = (int64_t)shared->z + lz;
        const int64_t y = (int64_t)shared->y + ly - plan.shear * z;
        const bool inside = y >= 0 && y < plan.ny && z >= 0 && z < plan.nz;
        shared->line[s] = inside ? y + plan.ny * z : -1;
        shared->progress[s] = inside ? 0 : plan.nx;
    }
}

template <typename Value, typename Real, int TERMS, bool STAGED>
__global__ void __launch_bounds__(LINE_THREADS(TERMS), 1)
    sweep_tiles(const __grid_constant__ line_plan plan,
                const __grid_constant__ line_tiling tiling) {
    extern __shared__ __align__(16) unsigned char memory[];
    tile &shared = *(tile *)memory;
    const int32_t warp = __shfl_sync(FULL_WARP, (int32_t)threadIdx.x / 32, 0);
    const int32_t own = tiling.tile_y * tiling.tile_z, workers = own * tiling.workers;
    Real *rings = (Real *)(memory + sizeof(tile)); /* a zero stands before them */
    unsigned char *scratch = (unsigned char *)(rings + (own + tiling.halos) * tiling.ring);
    cursor at = {0, -1, 0, 0};

    if (threadIdx.x == blockDim.x - 1) { /* another warp than the one that fetches the ticket */
        shared.base = *(volatile int64_t *)&plan.state->base;
        rings[-1] = 0;
    }
    if (plan.source == LINE_BOX)
        describe_edges(plan, &shared);
    for (;;) {
        if (threadIdx.x == 0) {
            const uint32_t failed = *(volatile uint32_t *)&plan.state->failed;
            shared.ticket = atomicAdd(&plan.state->ticket, 1u);
            if (shared.ticket < tiling.tiles && failed == 0) {
                int32_t ty, tz;
                find_tile(plan, tiling.tile_y, tiling.tile_z, tiling.tiles_y, tiling.tiles_z,
                          shared.ticket, &at, &ty, &tz);
                shared.y = ty * tiling.tile_y;
                shared.z = tz * tiling.tile_z;
            } else {
                shared.ticket = -1;
            }
        }
        __syncthreads();
        if (shared.ticket < 0)
            break;
        open_tile(plan, tiling, &shared);
        __syncthreads();
        if (warp < workers) {
            worker<Value, Real> one = {};
            unsigned char *mine = scratch + warp * tiling.worker_bytes;
            one.slot = warp % own;
            one.terms = (line_term *)mine;
            one.stage = (Value *)(mine + plan.terms * sizeof(line_term));
            one.rings = rings;
            work<Value, Real, TERMS, STAGED>(plan, tiling, shared, one, warp / own);
        } else if (plan.marked) {
            help_marked<Real>(plan, tiling, shared, rings, warp - workers);
        } else {
            help<Real>(plan, tiling, shared, rings, warp - workers);
        }
        __syncthreads();
    }
    leave(plan);
}

/* ---- Any stencil, without tiles ----------------------------------------------------------------
 */

/* Coefficient of term j in a row, or false where there is none. */
template <typename Value>
static __device__ bool coefficient(const line_plan &plan, int32_t j, int32_t x, int32_t y,
                                   int32_t z, int64_t row, Value *value) {
    const line_offset o = plan.term[j];
    if (!leads_inside(plan, o, x, y, z))
        return false;
    const int64_t other = row + distance(plan, o);
    if (plan.source == LINE_ARRAYS) {
        if (plan.array[j] == NULL)
            return false;
        *value = ((const Value *)plan.array[j])[plan.step * (plan.transpose ? other : row)];
        return true;
    }
    const int64_t position =
        plan.transpose ? find_entry(plan, other, row) : find_entry(plan, row, other);
    if (position >= 0)
        *value = ((const Value *)plan.values)[position];
    return position >= 0;
}

/* Whether all entries of the part that a row stores belong to the stencil. */
static __device__ bool row_fits(const line_plan &plan, int64_t row, int32_t x, int32_t y,
                                int32_t z) {
    if (plan.transpose)
        return row_fits_transposed(plan, row, x, y, z);
    const csr_row found = find_row(plan, row);
    for (int64_t c = 0; c < found.length; c++) {
        const int64_t column = column_at(plan, found.begin + plan.step * c);
        bool fits = column >= row;
        for (int32_t j = 1; j < plan.terms && !fits; j++)
            fits = column == row + distance(plan, plan.term[j]) &&
                   leads_inside(plan, plan.term[j], x, y, z);
        if (!fits)
            return false;
    }
    return true;
}

/* Solves one line with one warp; lane i has row i of 32. Every line waits for its neighbours
 * through device memory; the recurrence goes lane after lane. */
template <typename Value, typename Real>
static __device__ void solve_line(const line_plan &plan, int64_t base, int32_t y, int32_t z) {
    const int32_t lane = threadIdx.x & 31;
    const int64_t line = y + (int64_t)plan.ny * z;
    Real *solution = (Real *)plan.x;
    for (int32_t x0 = 0; x0 < plan.nx; x0 += 32) {
        const int32_t rows = min(32, plan.nx - x0), x = x0 + lane;
        const int64_t row = line * plan.nx + x;
        for (int32_t g = lane; g < plan.groups; g += 32) {
            const line_offset o = plan.group[g];
            const int64_t other = line + o.y + (int64_t)plan.ny * o.z;
            const int64_t needed = base + min(x0 + rows + o.x, plan.nx);
            if ((uint32_t)(y + o.y) >= (uint32_t)plan.ny ||
                (uint32_t)(z + o.z) >= (uint32_t)plan.nz)
                continue;
            int32_t failures = 0;
            int64_t since = 0;
            while (load_acquire_device(&plan.state->progress[other]) < needed)
                if ((++failures & 63) == 0 && !keep_waiting(plan, &since, other))
                    break;
        }
        __syncwarp();
        if (__any_sync(FULL_WARP, *(volatile uint32_t *)&plan.state->failed != 0))
            return;
        Real c = 0;
        Value value = 0, diagonal = 0;
        if (lane < rows) {
            c = ((const Real *)plan.b)[plan.step * row];
            if (plan.source == LINE_LISTS && !row_fits(plan, row, x, y, z))
                give_up(plan, GSW_ERROR_NOT_A_GRID, user_row(plan, row));
            (void)coefficient(plan, 0, x, y, z, row, &diagonal);
            for (int32_t j = plan.own + 1; j < plan.terms; j++)
                if (coefficient(plan, j, x, y, z, row, &value))
                    c = multiply_add(
                        -(Real)value,
                        __ldcg(&solution[plan.step * (row + distance(plan, plan.term[j]))]), c);
        }
        for (int32_t i = 0; i < rows; i++) {
            if (lane == i) {
                for (int32_t j = plan.own; j > 0; j--)
                    if (coefficient(plan, j, x, y, z, row, &value))
                        c = multiply_add(-(Real)value,
                                         __ldcg(&solution[plan.step * (row + plan.term[j].x)]), c);
                solution[plan.step * row] = plan.unit ? c : c / (Real)diagonal;
            }
            __syncwarp();
        }
        if (lane == 0 && line != plan.withheld_line)
            store_release_device(&plan.state->progress[line], base + x0 + rows);
    }
}

template <typename Value, typename Real>
__global__ void __launch_bounds__(128) sweep_lines(const __grid_constant__ line_plan plan,
                                                   const __grid_constant__ line_tiling tiling) {
    const int64_t base = *(volatile int64_t *)&plan.state->base;
    cursor at = {0, -1, 0, 0};
    for (;;) {
        uint32_t ticket = 0;
        if ((threadIdx.x & 31) == 0)
            ticket = atomicAdd(&plan.state->ticket, 1u);
        ticket = __shfl_sync(FULL_WARP, ticket, 0);
        if (ticket >= tiling.tiles ||
            __any_sync(FULL_WARP, *(volatile uint32_t *)&plan.state->failed != 0))
            break;
        int32_t y, z;
        find_tile(plan, 1, 1, tiling.tiles_y, tiling.tiles_z, ticket, &at, &y, &z);
        solve_line<Value, Real>(plan, base, y - plan.shear * z, z);
    }
    leave(plan);
}

/* ---- The table ---------------------------------------------------------------------------------
 */

template <typename Value, typename Real> static const line_kernels *make_table(void) {
    static const line_kernels table = {
        {(const void *)sweep_tiles<Value, Real, 4, true>,
         (const void *)sweep_tiles<Value, Real, 8, true>,
         (const void *)sweep_tiles<Value, Real, 14, true>,
         (const void *)sweep_tiles<Value, Real, 18, true>},
        {(const void *)sweep_tiles<Value, Real, 4, false>,
         (const void *)sweep_tiles<Value, Real, 18, false>},
        (const void *)sweep_lines<Value, Real>,
    };
    return &table;
}
