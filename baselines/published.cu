/* published.cu: the line algorithm as published, and the steps that lead to it.
 *
 * Source: Y. Chen, C. Yang, F. Liu, W. Ma, "Parallel structured sparse triangular solver for GPU
 * platform", Journal of Software (2023). It takes lower parts in CSR with every coupling of the
 * stencil that stays inside the grid, the diagonal last in its row, int32, fp64. It needs no
 * analysis: open() only allocates the state. This kernel is built for measuring; the library's own
 * is improved.
 *
 * UNIT OF WORK. The rows of a line (constant y, z; row = x + nx * line, line = y + ny * z) are
 * consecutive. A line is cut into subtasks of `rows` consecutive rows; one warp solves a subtask. A
 * group of D warps of a block works on a line together: each takes the next subtask from a counter
 * in shared memory. The warp that finds no subtask left takes the next line for its group from a
 * counter in global memory. Tickets follow the waves y + shear * z, in which a line depends on
 * earlier waves only (Lamport, 1974). The line of a ticket is computed.
 *
 * A SUBTASK. Phase 1 reads data that does not depend on the solution: row pointers, values,
 * columns, b. Phase 2 waits for the rows that the elements refer to, reads their x and combines the
 * products. With the element-wise mapping the elements of all rows of a subtask lie side by side on
 * the lanes, Q per lane, whatever row they belong to. A segmented scan by shuffles sums each row.
 * Rows of one subtask depend on each other through one or two neighbours along x. These elements
 * are set aside, and a recurrence over the rows, one shuffle each, completes the solution. With the
 * prefetch queue a warp holds three subtasks: one in phase 2, one with its elements on the way into
 * registers, one with its row pointers on the way.
 *
 * STATES. There is either one word per line, P = rows of the line that are solved, or one word per
 * row, whether it is solved. Neither is cleared between solves. P continues over all solves, modulo
 * 2^32. Solve number s begins where s solves of nx rows each have left every P, at `mark` = s * nx.
 * A row x is solved when P - (mark + x + 1) >= 0 as a signed difference. A row's word holds the
 * number of the last solve that solved it, with the same comparison. The host passes `mark`, so a
 * graph must not replay launches. Line tickets continue in the same way: a solve takes exactly one
 * per line and one more per group, which ends the group.
 *
 * MEMORY ORDER. x is written by plain stores. Then, for a line: __syncwarp, which orders the stores
 * of all lanes before lane 0's st.release.gpu of P. For rows: each lane releases the word of the
 * row that it has stored. P covers all rows up to it, although other warps have solved some of
 * them. Before a warp publishes, it has therefore acquired P = its first row: either its first row
 * depends on the previous one, or, where the stencil has no such neighbour, the warp waits for it.
 * A waiting warp reads the words in one of three ways, and then x with plain loads:
 *   - L2: ld.relaxed.gpu until all are ready, then fence.acq_rel.gpu;
 *   - ACQUIRE: ld.acquire.gpu until ready, one word after the other;
 *   - L1: ld.relaxed.cta, for which the L1 cache may return values that other warps have loaded;
 *     while a word is not ready, ld.acquire.gpu of it, which also drops stale values from L1; at
 *     the end fence.acq_rel.gpu.
 *
 * A relaxed load that observes a released value, followed by a fence, is an acquire pattern
 * whatever the load's scope, because only the release and the fence must include each other's
 * threads. A stale word can only mean "not yet", because words grow. Each lane reads x only of rows
 * whose words it has acquired itself, or that its warp holds in registers.
 *
 * PROGRESS. A subtask waits only for earlier subtasks of its line and for lines with earlier
 * tickets. Consider the earliest unfinished subtask, by ticket and place in the line. Everything
 * that it waits for is finished. If a warp has taken it, that warp has taken its subtasks in
 * ascending order and finished the earlier ones, so it is working on this one. If no warp has taken
 * it, its line has been taken, or the next warp that asks will take it, because tickets are handed
 * out in order to running warps. Its group has nothing earlier to do, so its next warp takes the
 * subtask. This holds for any number of blocks. Taking a subtask waits at most for a warp of the
 * group that is fetching a ticket, and that warp does not wait. A wait that takes longer than
 * `limit_ns` raises `stop`. All waiting warps see it and leave, and later solves leave at once. The
 * next call of solve() finds the report, fails and clears the state, so the call after it works
 * again.
 *
 * DETERMINISM. It does not matter which warp solves a subtask: the order of every sum depends on
 * the elements and lanes alone. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda_rival.h"
#include "published.cuh"

#define FULL_WARP     0xffffffffu
#define WARP_SIZE     32
#define WARPS_MAX     16 /* of a block */
#define NEAR_MAX      2  /* neighbours in the row's own line */
#define NO_LINE       0xffffffffu
#define POLLS         256 /* polls between two looks at the clock */
#define WAIT_LIMIT_NS UINT64_C(10000000000)

namespace {

/* ---- The steps ---- */

enum class mapping { row, elements };
enum class state_words { row, line, none };
enum class state_reads { l2, acquire, l1 };

/* What one step switches on. Predication: selects and votes of the warp instead of branches and
 * loops of single lanes (the compiler predicates the shortest branches by itself). */
template <mapping Mapping, state_words Words, state_reads Reads, bool Prefetch, bool Predicate>
struct step {
    static constexpr mapping map = Mapping;
    static constexpr state_words words = Words;
    static constexpr state_reads reads = Reads;
    static constexpr bool prefetch = Prefetch;
    static constexpr bool predicate = Predicate;
};

/* The way of reading that counts as "acquire, reused through L1". */
constexpr state_reads cached = state_reads::l1;

using step_tasks = step<mapping::row, state_words::row, state_reads::l2, false, false>;
using step_map = step<mapping::elements, state_words::row, state_reads::l2, false, false>;
using step_state = step<mapping::elements, state_words::line, state_reads::l2, false, false>;
using step_acquire = step<mapping::elements, state_words::line, cached, false, false>;
using step_prefetch = step<mapping::elements, state_words::line, cached, true, false>;
using step_published = step<mapping::elements, state_words::line, cached, true, true>;
using step_uncached = step<mapping::elements, state_words::line, state_reads::l2, true, true>;
using step_rows = step<mapping::elements, state_words::row, state_reads::l2, true, true>;
using step_none = step<mapping::elements, state_words::none, state_reads::l2, true, true>;

/* ---- The arguments of the kernel ---- */

/* In device memory. */
struct control_words {
    uint32_t ticket; /* next line to hand out, counted over all solves */
    uint32_t stop;   /* nonzero: the solve is given up */
};

struct problem {
    const int32_t *row_ptr, *columns;
    const double *values, *b;
    double *x;
    uint32_t *state;
    control_words *control;
    uint32_t *report; /* in the host's memory: nonzero after a solve was given up */
    int32_t nx, ny, nz, lines;
    int32_t shear, waves;       /* wave = y + shear * z */
    int32_t rows;               /* of a subtask; at most one per lane */
    int32_t subtasks;           /* of a line */
    int32_t workers;            /* D: warps that share a line */
    int32_t longest;            /* elements of the longest row, diagonal included */
    int32_t near;               /* neighbours in the row's own line, */
    int32_t distance[NEAR_MAX]; /* nearest first */
    int32_t ordered;            /* the row before is one of them */
    uint32_t factor, shift;     /* n / nx = n * factor >> shift for 0 <= n < 2^31 */
    uint32_t mark;              /* what the state holds where nothing of this solve is done */
    uint32_t first_ticket;
    uint64_t limit_ns;
};

/* A subtask; begin and end are the row pointers of the lane's row, and those of the subtask's end
 * in lanes that have no row. */
struct subtask {
    uint32_t line; /* NO_LINE: there is no more work */
    int32_t first; /* x of the first row */
    int32_t begin, end;
};

/* The register queue: elements base + lane, base + 32 + lane, ... of a subtask. */
template <int Q> struct element_queue {
    double value[Q];
    int32_t column[Q]; /* INT32_MAX after the last element */
    int32_t base;
    double b; /* of the lane's row */
};

__device__ int32_t rows_of(const problem &p, const subtask &task) {
    return min(p.rows, p.nx - task.first);
}

__device__ bool may_run(const problem &p) {
    return load_relaxed_device(&p.control->stop) == 0;
}

/* ---- The line of a ticket ---- */

__device__ int32_t divide(int32_t n, const problem &p) {
    return int32_t((uint64_t(uint32_t(n)) * p.factor) >> p.shift);
}

/* Lines that lie in waves before `wave`, 0 <= wave <= waves. */
__device__ int64_t lines_before(const problem &p, int64_t wave) {
    if (p.shear == 0)
        return wave * p.nz;
    int64_t whole =
        wave >= p.ny ? (wave - p.ny) / p.shear + 1 : 0; /* planes with all their lines */
    int64_t begun = (wave + p.shear - 1) / p.shear;     /* planes with any */
    if (whole > p.nz)
        whole = p.nz;
    if (begun > p.nz)
        begun = p.nz;
    return whole * p.ny + (begun - whole) * wave -
           p.shear * ((whole + begun - 1) * (begun - whole) / 2);
}

/* The lanes search for the last wave that begins with or before the ticket. */
__device__ uint32_t line_of_ticket(const problem &p, uint32_t ticket, int32_t lane) {
    int64_t wave = 0, span = p.waves, stride;
    do {
        stride = (span + WARP_SIZE - 1) / WARP_SIZE;
        const int64_t tried = lane * stride;
        const bool before = tried < span && lines_before(p, wave + tried) <= int64_t(ticket);
        const int64_t passed = (__popc(__ballot_sync(FULL_WARP, before)) - 1) * stride;
        wave += passed;
        span = span - passed < stride ? span - passed : stride;
    } while (stride > 1);
    int64_t z = int64_t(ticket) - lines_before(p, wave);
    if (p.shear > 0 && wave >= p.ny)
        z += (wave - p.ny) / p.shear + 1;
    return uint32_t(wave - p.shear * z + p.ny * z);
}

/* ---- Taking work ---- */

/* Takes the next subtask of a group. *deal holds the group's line in its upper half, and the number
 * of its subtasks taken in its lower half. Both are one word, so no order is needed. Exactly one
 * warp finds that number equal to `subtasks`. It fetches the next line and takes its first
 * subtask. */
__device__ void take_subtask(const problem &p, unsigned long long *deal, int32_t lane,
                             subtask *task) {
    const uint32_t all = uint32_t(p.subtasks);
    uint32_t line, number;
    for (;;) {
        unsigned long long taken = 0;
        if (lane == 0)
            taken = atomicAdd(deal, 1ULL);
        taken = __shfl_sync(FULL_WARP, taken, 0);
        line = uint32_t(taken >> 32);
        number = uint32_t(taken);
        if (number < all || line == NO_LINE)
            break;
        if (number == all) {
            uint32_t ticket = 0;
            if (lane == 0)
                ticket = atomicAdd(&p.control->ticket, 1u) - p.first_ticket;
            ticket = __shfl_sync(FULL_WARP, ticket, 0);
            line = ticket < uint32_t(p.lines) ? line_of_ticket(p, ticket, lane) : NO_LINE;
            number = 0;
            if (lane == 0)
                (void)atomicExch(deal, (unsigned long long)line << 32 | 1ULL);
            break;
        }
        if (lane == 0) {
            unsigned long long seen;
            do
                seen = *const_cast<const volatile unsigned long long *>(deal);
            while (uint32_t(seen) > all && uint32_t(seen >> 32) != NO_LINE);
        }
        __syncwarp();
    }
    task->line = line;
    if (line == NO_LINE)
        return;
    task->first = int32_t(number) * p.rows;
    const int32_t row = int32_t(line) * p.nx + task->first, rows = rows_of(p, *task);
    task->begin = __ldg(p.row_ptr + row + min(lane, rows));
    task->end = __ldg(p.row_ptr + row + min(lane + 1, rows));
}

/* Phase 1: starts the loads of a subtask's elements. */
template <class Step, int Q>
__device__ void fetch_elements(const problem &p, const subtask &task, int32_t lane,
                               element_queue<Q> *queue) {
    const int32_t last = rows_of(p, task) - 1;
    const int32_t row = int32_t(task.line) * p.nx + task.first + min(lane, last);
    queue->base = __shfl_sync(FULL_WARP, task.begin, 0);
    const int32_t count = __shfl_sync(FULL_WARP, task.end, last) - queue->base;
    const double *values = p.values + queue->base;
    const int32_t *columns = p.columns + queue->base;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const int32_t at = q * WARP_SIZE + lane;
        if constexpr (Step::predicate) {
            const int32_t safe = min(at, count - 1);
            const int32_t column = __ldg(columns + safe);
            queue->value[q] = __ldg(values + safe);
            queue->column[q] = at < count ? column : INT32_MAX;
        } else {
            queue->value[q] = 0;
            queue->column[q] = INT32_MAX;
            if (at < count) {
                queue->value[q] = __ldg(values + at);
                queue->column[q] = __ldg(columns + at);
            }
        }
    }
    queue->b = __ldg(p.b + row);
}

/* ---- Waiting ---- */

/* Number of a word of the state, and the value from which on it means "solved". */
struct awaited {
    int32_t word;
    uint32_t value;
};

template <class Step> __device__ awaited state_of(const problem &p, int32_t row) {
    if constexpr (Step::words == state_words::row)
        return {row, p.mark};
    const int32_t line = divide(row, p);
    return {line, p.mark + uint32_t(row - line * p.nx) + 1};
}

__device__ bool is_solved(uint32_t word, const awaited &a) {
    return int32_t(word - a.value) >= 0;
}

/* `again`: the value in the L1 cache is known to be too old. */
template <class Step> __device__ uint32_t read_state(const uint32_t *word, bool again) {
    if constexpr (Step::reads == state_reads::l2)
        return load_relaxed_device(word);
    if (Step::reads == state_reads::acquire || again)
        return load_acquire_device(word);
    return load_relaxed_block(word);
}

/* Whether to give up; *since is the time of this wait's first reading of the clock, 0 before. */
__device__ bool gives_up(const problem &p, uint64_t *since) {
    if (!may_run(p))
        return true;
    const uint64_t now = device_nanoseconds();
    if (*since == 0)
        *since = now;
    if (now - *since <= p.limit_ns)
        return false;
    if (atomicExch(&p.control->stop, 1u) == 0)
        store_release_system(p.report, 1);
    return true;
}

/* One lane waits for one word. */
template <class Step> __device__ bool await_word(const problem &p, const awaited &a) {
    uint64_t since = 0;
    bool again = false;
    for (uint32_t polls = 1; !is_solved(read_state<Step>(p.state + a.word, again), a); polls++) {
        if (polls % POLLS == 0 && gives_up(p, &since))
            return false;
        again = true;
    }
    return true;
}

/* Each lane waits for its elements, one after the other. */
template <class Step, int Q>
__device__ bool await_by_branches(const problem &p, const int32_t (&column)[Q], int32_t first_row) {
    bool good = true;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        if (column[q] < first_row && good)
            good = await_word<Step>(p, state_of<Step>(p, column[q]));
    }
    return __all_sync(FULL_WARP, good);
}

/* The warp polls for all its elements together. Of each lane's words that are not ready, the
 * first is read past L1. This also drops stale values of the others from L1. */
template <class Step, int Q>
__device__ bool await_by_votes(const problem &p, const int32_t (&column)[Q], int32_t first_row) {
    awaited a[Q];
    uint32_t pending = 0;
    uint64_t since = 0;
    bool again = false;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const bool needed = column[q] < first_row;
        a[q] = state_of<Step>(p, needed ? column[q] : first_row);
        pending |= uint32_t(needed) << q;
    }
    for (uint32_t polls = 1;; polls++) {
        uint32_t word[Q];
        bool refresh = again;
#pragma unroll
        for (int q = 0; q < Q; q++) {
            word[q] = a[q].value;
            if (pending >> q & 1) {
                word[q] = read_state<Step>(p.state + a[q].word, refresh);
                refresh = false;
            }
        }
#pragma unroll
        for (int q = 0; q < Q; q++)
            pending &= is_solved(word[q], a[q]) ? ~(1u << q) : ~0u;
        if (__all_sync(FULL_WARP, pending == 0))
            return true;
        if (polls % POLLS == 0 && __any_sync(FULL_WARP, gives_up(p, &since)))
            return false;
        again = true;
    }
}

/* Waits for all rows before the subtask that its elements refer to, and acquires them. */
template <class Step, int Q>
__device__ bool await_elements(const problem &p, const subtask &task, const int32_t (&column)[Q],
                               int32_t first_row) {
    if constexpr (Step::words == state_words::none)
        return true;
    if constexpr (Step::predicate) {
        if (!await_by_votes<Step, Q>(p, column, first_row))
            return false;
    } else {
        if (!await_by_branches<Step, Q>(p, column, first_row))
            return false;
    }
    /* P must not pass the line's earlier subtasks. */
    if (Step::words == state_words::line && !p.ordered && task.first > 0) {
        const bool good = await_word<Step>(p, state_of<Step>(p, first_row - 1));
        if (!__all_sync(FULL_WARP, good))
            return false;
    }
    if constexpr (Step::reads != state_reads::acquire)
        fence_device();
    return true;
}

/* Publishes the rows of a subtask, whose x lanes 0 to rows - 1 have just stored. */
template <class Step> __device__ void publish(const problem &p, const subtask &task, int32_t lane) {
    if constexpr (Step::words == state_words::row) {
        if (lane < rows_of(p, task))
            store_release_device(p.state + int32_t(task.line) * p.nx + task.first + lane, p.mark);
    }
    if constexpr (Step::words == state_words::line) {
        __syncwarp();
        if (lane == 0)
            store_release_device(p.state + task.line,
                                 p.mark + uint32_t(task.first + rows_of(p, task)));
    }
}

/* ---- Phase 2 with a row's elements on the lanes ---- */

/* Sum over the lanes, the same bits in each. */
__device__ double sum_of_warp(double sum) {
#pragma unroll
    for (int d = WARP_SIZE / 2; d > 0; d /= 2)
        sum += __shfl_xor_sync(FULL_WARP, sum, d);
    return sum;
}

/* Solves the rows one by one; x of the subtask's earlier rows is kept in the lanes. Every row is
 * published as soon as it is solved. */
template <class Step>
__device__ bool solve_rows(const problem &p, const subtask &task, int32_t lane) {
    const int32_t first_row = int32_t(task.line) * p.nx + task.first;
    const int32_t rows = rows_of(p, task);
    double mine = 0; /* x of row first_row + lane */
    for (int32_t r = 0; r < rows; r++) {
        const int32_t row = first_row + r;
        const int32_t begin = __shfl_sync(FULL_WARP, task.begin, r);
        const int32_t off = __shfl_sync(FULL_WARP, task.end, r) - begin - 1; /* off the diagonal */
        double sum = 0;
        for (int32_t e = 0; e < off; e += WARP_SIZE) {
            double value = 0;
            int32_t column[1] = {INT32_MAX};
            if (lane < off - e) {
                value = __ldg(p.values + begin + e + lane);
                column[0] = __ldg(p.columns + begin + e + lane);
            }
            if (!await_elements<Step, 1>(p, task, column, first_row))
                return false;
            const double kept = __shfl_sync(FULL_WARP, mine, (column[0] - first_row) & 31);
            if (lane < off - e)
                sum += value * (column[0] < first_row ? p.x[column[0]] : kept);
        }
        sum = sum_of_warp(sum);
        const double x = (__ldg(p.b + row) - sum) / __ldg(p.values + begin + off);
        if (lane == r)
            mine = x;
        if (lane == 0) {
            p.x[row] = x;
            store_release_device(p.state + row, p.mark);
        }
    }
    return true;
}

/* ---- Phase 2 with the elements of several rows on the lanes ---- */

/* Element number `position` of the subtask, from whichever lane holds it; 0 where there is none. */
template <int Q> __device__ double queued(const double (&value)[Q], int32_t position) {
    double found = 0;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const double here = __shfl_sync(FULL_WARP, value[q], position & 31);
        found = position >> 5 == q ? here : found;
    }
    return found;
}

/* For each element of the lane, how many elements of the same row the lanes before it hold.
 * `begin` and `end` count from the subtask's first element. */
template <int Q>
__device__ void rows_on_lanes(int32_t rows, int32_t begin, int32_t end, int32_t lane,
                              int32_t (&before)[Q]) {
    const int32_t length = __shfl_sync(FULL_WARP, end, 0);
    if (__all_sync(FULL_WARP, lane >= rows || end - begin == length)) {
        /* Away from the ends of a line all rows are equally long. */
        const int32_t advance = WARP_SIZE % length;
        int32_t place = lane % length;
#pragma unroll
        for (int q = 0; q < Q; q++) {
            before[q] = min(place, lane);
            place += advance;
            place -= place >= length ? length : 0;
        }
        return;
    }
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const int32_t at = q * WARP_SIZE + lane;
        int32_t row = 0; /* the last row that begins at or before `at` */
#pragma unroll
        for (int d = WARP_SIZE / 2; d > 0; d /= 2)
            row += __shfl_sync(FULL_WARP, begin, (row + d) & 31) <= at ? d : 0;
        before[q] = min(at - __shfl_sync(FULL_WARP, begin, row & 31), lane);
    }
}

/* Sums of the products of the lane's row. `product` is overwritten. */
template <class Step, int Q>
__device__ double combine(const problem &p, int32_t begin, int32_t end, double (&product)[Q],
                          const int32_t (&before)[Q]) {
    const int32_t reach = min(p.longest, WARP_SIZE);
    for (int32_t d = 1; d < reach; d *= 2) {
#pragma unroll
        for (int q = 0; q < Q; q++) {
            const double left = __shfl_up_sync(FULL_WARP, product[q], d);
            if constexpr (Step::predicate)
                product[q] = before[q] >= d ? product[q] + left : product[q];
            else if (before[q] >= d)
                product[q] += left;
        }
    }
    double sum = 0;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const int32_t from = max(begin, q * WARP_SIZE), to = min(end, (q + 1) * WARP_SIZE);
        const double part = __shfl_sync(FULL_WARP, product[q], (to - 1) & 31);
        if constexpr (Step::predicate)
            sum = from < to ? sum + part : sum;
        else if (from < to)
            sum += part;
    }
    return sum;
}

/* Completes x of the subtask's rows, whose parts that do not depend on each other are in x: row r
 * adds coefficient[j] times x of row r - distance[j], the farthest first. */
template <class Step>
__device__ double recur(const problem &p, int32_t rows, int32_t lane, double x,
                        const double (&coefficient)[NEAR_MAX]) {
    if (p.near == 0)
        return x;
    for (int32_t r = 0; r + 1 < rows; r++) {
        const double solved = __shfl_sync(FULL_WARP, x, r);
        const bool nearest = lane - r == p.distance[0], second = lane - r == p.distance[1];
        const double c = nearest ? coefficient[0] : coefficient[1];
        if constexpr (Step::predicate)
            x = nearest | second ? fma(c, solved, x) : x;
        else if (nearest || second)
            x = fma(c, solved, x);
    }
    return x;
}

template <class Step, int Q>
__device__ bool solve_elements(const problem &p, const subtask &task, const element_queue<Q> &queue,
                               int32_t lane) {
    const int32_t first_row = int32_t(task.line) * p.nx + task.first;
    const int32_t begin = task.begin - queue.base, end = task.end - queue.base;
    int32_t before[Q];
    double product[Q], coefficient[NEAR_MAX];
    rows_on_lanes<Q>(rows_of(p, task), begin, end, lane, before);

    /* In a row the diagonal is last, and the neighbours in its line are just before it. */
    const double reciprocal = 1.0 / queued<Q>(queue.value, end - 1);
#pragma unroll
    for (int j = 0; j < NEAR_MAX; j++) {
        coefficient[j] = 0;
        if (j < p.near)
            coefficient[j] = -reciprocal * queued<Q>(queue.value, end - 2 - j);
    }

    if (!await_elements<Step, Q>(p, task, queue.column, first_row))
        return false;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        const bool needed = queue.column[q] < first_row;
        product[q] = 0;
        if constexpr (Step::predicate) {
            const double x = p.x[needed ? queue.column[q] : first_row];
            product[q] = needed ? queue.value[q] * x : 0.0;
        } else if (needed) {
            product[q] = queue.value[q] * p.x[queue.column[q]];
        }
    }
    const double sum = combine<Step, Q>(p, begin, end, product, before);
    const double x =
        recur<Step>(p, rows_of(p, task), lane, (queue.b - sum) * reciprocal, coefficient);
    if (lane < rows_of(p, task))
        p.x[first_row + lane] = x;
    publish<Step>(p, task, lane);
    return true;
}

/* ---- The kernel ---- */

template <class Step, int Q>
__device__ void work_on_elements(const problem &p, unsigned long long *deal, int32_t lane) {
    subtask now, next, later;
    element_queue<Q> ready, coming;
    take_subtask(p, deal, lane, &now);
    if (now.line == NO_LINE)
        return;
    fetch_elements<Step, Q>(p, now, lane, &ready);
    coming = ready;
    next = now;
    later = now;
    if constexpr (Step::prefetch)
        take_subtask(p, deal, lane, &next);
    for (;;) {
        if constexpr (Step::prefetch) {
            if (next.line != NO_LINE) {
                fetch_elements<Step, Q>(p, next, lane, &coming);
                take_subtask(p, deal, lane, &later);
            }
        }
        if (!solve_elements<Step, Q>(p, now, ready, lane))
            return;
        if constexpr (!Step::prefetch) {
            take_subtask(p, deal, lane, &next);
            if (next.line != NO_LINE)
                fetch_elements<Step, Q>(p, next, lane, &coming);
        }
        if (next.line == NO_LINE)
            return;
        now = next;
        ready = coming;
        if constexpr (Step::prefetch)
            next = later;
    }
}

template <class Step>
__device__ void work_on_rows(const problem &p, unsigned long long *deal, int32_t lane) {
    static_assert(Step::words == state_words::row && !Step::prefetch,
                  "rows are fetched and published one by one");
    subtask task;
    do {
        take_subtask(p, deal, lane, &task);
    } while (task.line != NO_LINE && solve_rows<Step>(p, task, lane));
}

template <class Step, int Q>
__global__ void __launch_bounds__(WARPS_MAX *WARP_SIZE, 1) published_line(const problem p) {
    __shared__ unsigned long long deals[WARPS_MAX];
    const int32_t lane = int32_t(threadIdx.x % WARP_SIZE);
    const int32_t warp = int32_t(threadIdx.x / WARP_SIZE);
    unsigned long long *deal = &deals[warp / p.workers];
    if (lane == 0 && warp % p.workers == 0)
        *deal = (unsigned long long)p.subtasks; /* no line, all of it taken */
    __syncthreads();
    if (__any_sync(FULL_WARP, !may_run(p)))
        return;
    if constexpr (Step::map == mapping::row)
        work_on_rows<Step>(p, deal, lane);
    else
        work_on_elements<Step, Q>(p, deal, lane);
}

/* ---- Launch shapes ---- */

/* The kernels of a step by the depth of the queue. */
template <class Step> const void *kernel_of(int depth) {
    if constexpr (Step::map == mapping::elements) {
        if (depth == 4)
            return (const void *)published_line<Step, 4>;
        if (depth == 2)
            return (const void *)published_line<Step, 2>;
    }
    return (const void *)published_line<Step, 1>;
}

/* The rows of a subtask are as many as the queue holds, at most `rows`. */
struct launch_shape {
    int longest; /* elements of the longest row, diagonal included, up to which this holds */
    int queue;   /* elements per lane: 1, 2 or 4 */
    int rows;    /* of a subtask, at most */
    int workers; /* D */
    int warps;   /* of a block, at most WARPS_MAX */
    int blocks;  /* 0: as many as fit */
};

/* Chosen so that a subtask has 8 to 16 rows where the queue holds them and that several warps hide
 * each other's waits; not measured yet. */
const launch_shape shapes[] = {
    {3, 1, 10, 4, 8, 0},  /* D2N5 */
    {4, 2, 16, 4, 8, 0},  /* D3N7 */
    {5, 2, 12, 4, 8, 0},  /* D2N9 */
    {7, 2, 9, 4, 8, 0},   /* D3N13 */
    {10, 4, 12, 4, 8, 0}, /* D3N19 */
    {14, 4, 9, 4, 8, 0},  /* D3N27 */
    {17, 4, 7, 4, 8, 0},  /* D3N33 */
    {128, 4, 32, 4, 8, 0},
};

launch_shape choose_shape(int longest) {
    size_t i = 0;
    while (shapes[i].longest < longest)
        i++;
    launch_shape shape = shapes[i];
    while (shape.queue < 4 && shape.queue * WARP_SIZE < longest)
        shape.queue *= 2;
    return shape;
}

/* ---- The host's side ---- */

struct solver {
    problem p; /* all but b, x, mark and first_ticket */
    const void *kernel;
    cudaStream_t stream;
    unsigned blocks, threads;
    uint32_t groups;  /* of all blocks */
    uint32_t solves;  /* since the state was cleared */
    uint32_t *report; /* host's pointer; the kernel writes it at any time */
    void *memory;     /* control words and state */
    size_t bytes;
    bool words_of_rows; /* the state has one word per row */
};

/* Whether an offset can stay inside the grid at all. */
bool fits(const gsw_grid *grid, const gsw_offset *o) {
    return llabs(o->dx) < grid->nx && llabs(o->dy) < grid->ny && llabs(o->dz) < grid->nz;
}

/* Entries of the lower part when nothing is left out. */
int64_t entries_of_box(const gsw_rival_system *system) {
    const gsw_grid *g = &system->grid;
    int64_t entries = g->nx * g->ny * g->nz;
    for (int32_t e = 0; e < system->stencil.center; e++) {
        const gsw_offset *o = &system->stencil.offsets[e];
        if (fits(g, o))
            entries += (g->nx - llabs(o->dx)) * (g->ny - llabs(o->dy)) * (g->nz - llabs(o->dz));
    }
    return entries;
}

/* What follows from grid and stencil. */
int describe_geometry(const gsw_rival_system *system, problem *p, char *message, size_t size) {
    const gsw_grid *g = &system->grid;
    int64_t shear = 0;
    p->nx = int32_t(g->nx);
    p->ny = int32_t(g->ny);
    p->nz = int32_t(g->nz);
    p->lines = int32_t(g->ny * g->nz);
    p->longest = 1;
    for (int32_t e = system->stencil.center - 1; e >= 0; e--) { /* nearest first */
        const gsw_offset *o = &system->stencil.offsets[e];
        if (!fits(g, o))
            continue;
        p->longest++;
        if (o->dz < 0 && o->dy >= 0 && shear <= o->dy / -o->dz)
            shear = o->dy / -o->dz + 1;
        if (o->dy == 0 && o->dz == 0) {
            if (p->near == NEAR_MAX)
                return gsw_rival_fail(message, size, "more than %d neighbours of a row in its line",
                                      NEAR_MAX);
            p->distance[p->near++] = -o->dx;
        }
    }
    p->ordered = p->near > 0 && p->distance[0] == 1;
    if (g->ny + shear * (g->nz - 1) > INT32_MAX)
        return gsw_rival_fail(message, size, "the grid has too many waves of lines");
    p->shear = int32_t(shear);
    p->waves = int32_t(g->ny + shear * (g->nz - 1));

    /* With 2^(k-1) < nx <= 2^k and factor = ceil(2^(31+k) / nx), which is less than 2^32, the
     * quotient is too large by less than n / 2^(31+k) < 1 / nx, so it is never rounded up. */
    uint32_t k = 0;
    while (INT64_C(1) << k < g->nx)
        k++;
    p->shift = 31 + k;
    p->factor = uint32_t(((UINT64_C(1) << p->shift) + uint64_t(g->nx) - 1) / uint64_t(g->nx));
    return 0;
}

int choose_launch(solver *s, const void *(*kernel)(int depth), int workers, char *message,
                  size_t size) {
    problem *p = &s->p;
    const launch_shape shape = choose_shape(p->longest);
    const int fitting = shape.queue * WARP_SIZE / p->longest;
    p->rows = fitting < shape.rows ? fitting : shape.rows;
    if (p->rows > WARP_SIZE)
        p->rows = WARP_SIZE;
    if (p->rows > p->nx)
        p->rows = p->nx;
    p->subtasks = (p->nx - 1) / p->rows + 1;
    p->workers = workers > 0 ? workers : shape.workers;
    s->kernel = kernel(shape.queue);

    const int groups = shape.warps > p->workers ? shape.warps / p->workers : 1;
    int device = 0, multiprocessors = 0, resident = 0;
    s->threads = unsigned(groups * p->workers * WARP_SIZE);
    if (gsw_rival_cuda(cudaGetDevice(&device), "cudaGetDevice", message, size) != 0 ||
        gsw_rival_cuda(
            cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
            "cudaDeviceGetAttribute", message, size) != 0 ||
        gsw_rival_cuda(
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, s->kernel, int(s->threads), 0),
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor", message, size) != 0)
        return -1;
    if (resident < 1)
        return gsw_rival_fail(message, size, "a block does not fit on a multiprocessor");
    s->blocks = unsigned(shape.blocks > 0 ? shape.blocks : resident * multiprocessors);
    const unsigned useful = unsigned((p->lines - 1) / groups + 1);
    if (s->blocks > useful)
        s->blocks = useful;
    s->groups = s->blocks * unsigned(groups);
    return 0;
}

/* Nothing solved, no ticket taken, nothing given up. */
int clear_state(solver *s, char *message, size_t size) {
    s->solves = 0;
    return gsw_rival_cuda(cudaMemsetAsync(s->memory, 0, s->bytes, s->stream), "cudaMemsetAsync",
                          message, size);
}

int allocate_state(solver *s, const gsw_rival_system *system, char *message, size_t size) {
    const size_t words = size_t(s->words_of_rows ? system->device->rows : s->p.lines);
    const size_t head = 256; /* keeps the tickets out of the state's cache lines */
    s->bytes = head + words * sizeof(uint32_t);
    if (gsw_rival_cuda(cudaMalloc(&s->memory, s->bytes), "cudaMalloc", message, size) != 0 ||
        gsw_rival_cuda(cudaHostAlloc((void **)&s->report, sizeof *s->report, cudaHostAllocMapped),
                       "cudaHostAlloc", message, size) != 0)
        return -1;
    *s->report = 0;
    s->p.control = static_cast<control_words *>(s->memory);
    s->p.state = reinterpret_cast<uint32_t *>(static_cast<char *>(s->memory) + head);
    if (gsw_rival_cuda(cudaHostGetDevicePointer((void **)&s->p.report, s->report, 0),
                       "cudaHostGetDevicePointer", message, size) != 0 ||
        clear_state(s, message, size) != 0)
        return -1;
    return gsw_rival_cuda(cudaStreamSynchronize(s->stream), "cudaStreamSynchronize", message, size);
}

int check_system(const gsw_rival_system *system, char *message, size_t size) {
    if (gsw_rival_check(system, 1, message, size) != 0)
        return -1;
    if (system->part != GSW_LOWER || system->device->value_type != GSW_F64)
        return gsw_rival_fail(message, size, "the ablation steps solve lower parts in f64 only");
    if (system->device->nonzeros != entries_of_box(system))
        return gsw_rival_fail(message, size,
                              "the ablation steps need every coupling of the stencil in the CSR");
    return 0;
}

void close_solver(void *state) {
    solver *s = static_cast<solver *>(state);
    if (s == nullptr)
        return;
    (void)cudaStreamSynchronize(s->stream);
    (void)cudaFree(s->memory);
    (void)cudaFreeHost(s->report);
    free(s);
}

int open_solver(const gsw_rival_system *system, const void *(*kernel)(int depth), int workers,
                bool words_of_rows, void **state, gsw_rival_cost *cost, char *message,
                size_t size) {
    *state = nullptr;
    *cost = gsw_rival_cost{0, 0};
    if (check_system(system, message, size) != 0)
        return -1;
    solver *s = static_cast<solver *>(calloc(1, sizeof *s));
    if (s == nullptr)
        return gsw_rival_fail(message, size, "out of memory");
    s->stream = static_cast<cudaStream_t>(system->stream);
    s->words_of_rows = words_of_rows;
    s->p.row_ptr = static_cast<const int32_t *>(system->device->row_ptr);
    s->p.columns = static_cast<const int32_t *>(system->device->columns);
    s->p.values = static_cast<const double *>(system->device->values);
    s->p.limit_ns = WAIT_LIMIT_NS;
    /* Choosing the launch loads the kernel. This is not counted, because it happens once per
     * program. */
    if (describe_geometry(system, &s->p, message, size) != 0 ||
        choose_launch(s, kernel, workers, message, size) != 0) {
        close_solver(s);
        return -1;
    }
    const double start = gsw_rival_milliseconds();
    if (allocate_state(s, system, message, size) != 0) {
        close_solver(s);
        return -1;
    }
    cost->setup_ms = gsw_rival_milliseconds() - start;
    cost->buffer_bytes = double(s->bytes);
    *state = s;
    return 0;
}

/* Fails when an earlier solve was given up, and prepares the state for the next solve. */
int look_at_report(solver *s, char *message, size_t size) {
    volatile uint32_t *report = s->report;
    if (*report == 0)
        return 0;
    /* Only the kernel that raised `stop` reports, and `stop` stays up until this clears it. */
    *report = 0;
    if (clear_state(s, message, size) != 0)
        return -1;
    return gsw_rival_fail(message, size, "an earlier solve waited too long for a row and gave up");
}

int solve_queued(void *state, const void *b, void *x, char *message, size_t size) {
    solver *s = static_cast<solver *>(state);
    if (look_at_report(s, message, size) != 0)
        return -1;
    problem p = s->p;
    p.b = static_cast<const double *>(b);
    p.x = static_cast<double *>(x);
    p.first_ticket = s->solves * (uint32_t(p.lines) + s->groups);
    p.mark = s->words_of_rows ? s->solves + 1 : s->solves * uint32_t(p.nx);
    void *arguments[] = {&p};
    if (gsw_rival_cuda(
            cudaLaunchKernel(s->kernel, dim3(s->blocks), dim3(s->threads), arguments, 0, s->stream),
            "cudaLaunchKernel", message, size) != 0)
        return -1;
    s->solves++;
    return 0;
}

/* open() of a step. D is `Workers`, or the shape's D where that is 0. */
template <class Step, int Workers>
int open_step(const gsw_rival_system *system, void **state, gsw_rival_cost *cost, char *message,
              size_t size) {
    return open_solver(system, kernel_of<Step>, Workers, Step::words == state_words::row, state,
                       cost, message, size);
}

#define STEP(name, summary, type, workers)                                                         \
    { name, summary, 1, open_step<type, workers>, solve_queued, close_solver }

const gsw_rival steps[] = {
    STEP("tasks", "task partition only: a row on the lanes, a flag a row", step_tasks, 0),
    STEP("map", "+ elements of consecutive rows on the lanes", step_map, 0),
    STEP("state", "+ progress of a line instead of flags", step_state, 0),
    STEP("acquire", "+ state read by acquire, reused through L1", step_acquire, 0),
    STEP("prefetch", "+ next subtasks fetched into registers", step_prefetch, 0),
    STEP("published", "+ predication: the published line algorithm", step_published, 0),
    STEP("published-d1", "published, one warp per line", step_published, 1),
    STEP("published-d2", "published, 2 warps per line", step_published, 2),
    STEP("published-d4", "published, 4 warps per line", step_published, 4),
    STEP("published-d8", "published, 8 warps per line", step_published, 8),
    STEP("published-d16", "published, 16 warps per line", step_published, 16),
    STEP("state-cached", "published: progress of a line, read through L1", step_published, 0),
    STEP("state-uncached", "published, but progress is read past L1", step_uncached, 0),
    STEP("state-rows", "published, but with a flag a row, read past L1", step_rows, 0),
    STEP("state-none", "published, but waits for nothing: wrong answers, a lower bound", step_none,
         0),
};

} // namespace

extern "C" const gsw_rival *gsw_ablation_steps(int *count) {
    *count = int(sizeof steps / sizeof steps[0]);
    return steps;
}
