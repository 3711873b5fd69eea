/* handover.cuh: how work passes from block to block: tickets, epochs, values that are not written
 * yet, bounded waits, and how a solve is abandoned.
 *
 * TICKETS. The pieces of a solve (tiles, pencils, lines) are numbered in an order in which each one
 * comes after those it depends on. A worker takes the next number from a counter in device memory
 * and waits only for pieces with smaller numbers.
 *
 * PROGRESS. The worker of a smaller ticket has taken it earlier. So it runs now or has finished,
 * and the unfinished piece with the smallest ticket waits for nobody. So the solve makes progress
 * with any number of resident blocks: it needs no cooperative launch and no barrier of the grid.
 * This breaks if a worker waits for a larger ticket, or takes a ticket and does not run.
 *
 * PUBLISHING. There are two protocols. Each kernel states which values follow which one.
 *   Counters  The producer stores data, then publishes how far it is: a release, which only grows.
 *             The consumer acquires the counter, then reads the data. Release and acquire suffice:
 *             release is cumulative, so a consumer also sees what its producer had acquired.
 *   Flags     A value is its own flag: until it is published, the word holds a sentinel that no
 *             published value has. One relaxed atomic word suffices: its arrival says nothing about
 *             other data.
 *
 * EPOCHS. A value that an earlier solve has left must not count as published. Three means
 * distinguish the solves: a solve's number in the upper half of the ticket counter (sweep), a base
 * that grows from solve to solve (line), and counters that the host resets (elimination).
 *
 * WAITS. A wait for another block reads the clock. It ends when the solve is abandoned: the first
 * worker that has waited too long writes the report, and all others find the mark. After that no
 * worker waits for other blocks, and all blocks end. A wait inside a block leads, step by step, to
 * a wait for another block or to no wait at all. So it needs no clock where the roles that wait for
 * other blocks go on after the solve is abandoned (packed sweep, elimination). In the direct sweep
 * those roles leave, so its workers watch the clock and the mark, too. */
#ifndef GSW_CUDA_HANDOVER_CUH
#define GSW_CUDA_HANDOVER_CUH

#include "access.cuh"
#include "context.cuh"

namespace {

/* ---- Tickets ------------------------------------------------------------------------------------
 */

template <typename Count> __device__ __forceinline__ Count take_ticket(Count *next) {
    return atomicAdd(next, (Count)1);
}

/* A counter that needs no reset between solves: solves begun << 32 | the next ticket. */
struct epoch_ticket {
    uint32_t ticket;
    uint32_t epoch; /* from 1 on */
};

__device__ __forceinline__ epoch_ticket take_epoch_ticket(uint64_t *next) {
    const uint64_t taken = atomicAdd((unsigned long long *)next, 1ull);
    return {(uint32_t)taken, (uint32_t)(taken >> 32) + 1};
}

/* The worker that has taken the last of `tickets` calls this. Returns what the counter held: a
 * thread that stores this value waits until the counter has changed. */
__device__ __forceinline__ uint64_t begin_next_epoch(uint64_t *next, int32_t tickets) {
    return atomicAdd((unsigned long long *)next, (1ull << 32) - (uint64_t)tickets);
}

/* ---- Sentinels ----------------------------------------------------------------------------------
 *
 * Words that mean "not there yet". Every NaN that arithmetic yields is quiet, so no result is a
 * signalling NaN. Where a sentinel is a quiet NaN, a result that could be taken for it is replaced
 * by another NaN before it is published. */
template <typename Real> struct sentinel;
template <> struct sentinel<double> {
    /* The direct sweep's x before it is solved: only these bits. */
    static constexpr uint64_t unsolved = 0x7ff95a5a5a5a5a5a;
    /* A face of the packed sweep: quiet NaNs are not published values. */
    static constexpr uint64_t unpublished = ~(uint64_t)0;
    static constexpr uint64_t published_nan = 0x7ff2600d00000000;
    /* A cell of a ring in shared memory: signalling, recognised by its upper half. */
    static constexpr uint64_t empty = 0x7ff4deadbeef0001;
};
template <> struct sentinel<float> {
    static constexpr uint32_t unsolved = 0x7fd95a5a;
    static constexpr uint32_t unpublished = ~(uint32_t)0;
    static constexpr uint32_t published_nan = 0x7f92600d;
    static constexpr uint32_t empty = 0x7fa4dead;
};

__device__ __forceinline__ uint32_t high_word(double v) {
    return (uint32_t)__double2hiint(v);
}
__device__ __forceinline__ uint32_t high_word(float v) {
    return __float_as_uint(v);
}

template <typename Real> __device__ __forceinline__ Real unsolved_value(void) {
    return value_of<Real>(sentinel<Real>::unsolved);
}
template <typename Real> __device__ __forceinline__ bool is_unsolved(Real v) {
    return bits_of(v) == sentinel<Real>::unsolved;
}
template <typename Real> __device__ __forceinline__ Real empty_value(void) {
    return value_of<Real>(sentinel<Real>::empty);
}
template <typename Real> __device__ __forceinline__ bool is_empty(Real v) {
    return high_word(v) == (uint32_t)(sentinel<Real>::empty >> (8 * sizeof(Real) - 32));
}
template <typename Real> __device__ __forceinline__ Real unpublished_value(void) {
    return value_of<Real>(sentinel<Real>::unpublished);
}
__device__ __forceinline__ bool is_quiet_nan(double v) {
    return (high_word(v) & 0x7ff80000u) == 0x7ff80000u;
}
__device__ __forceinline__ bool is_quiet_nan(float v) {
    return (high_word(v) & 0x7fc00000u) == 0x7fc00000u;
}
/* Replaces any NaN by a quiet one. */
template <typename Real> __device__ __forceinline__ Real quiet(Real v) {
    return v != v ? (Real)__int_as_float(0x7fffffff) : v;
}
/* What a face holds for a computed NaN: a signalling one. */
template <typename Real> __device__ __forceinline__ Real published_nan(void) {
    return value_of<Real>(sentinel<Real>::published_nan);
}

/* ---- Abandoning a solve -------------------------------------------------------------------------
 */

/* How the blocks of a solve learn that it is abandoned. */
template <typename Word> struct abandonment {
    Word *word; /* in device memory; the solve is abandoned when it holds */
    Word mark;
    gsw_cuda_report *report;
    int64_t wait_limit_ns;
    int32_t what; /* that a TIMEOUT names: GSW_CUDA_LINE or GSW_CUDA_PENCIL */
};

template <typename Word>
__device__ __forceinline__ bool is_abandoned(const abandonment<Word> &solve) {
    return load_relaxed<scope::device>(solve.word) == solve.mark;
}

__device__ __forceinline__ uint32_t exchange(uint32_t *word, uint32_t value) {
    return atomicExch(word, value);
}
__device__ __forceinline__ uint64_t exchange(uint64_t *word, uint64_t value) {
    return atomicExch((unsigned long long *)word, value);
}

/* Abandons the solve. Only the first caller writes the report; `status` is written last. */
template <typename Word>
__device__ __forceinline__ void abandon(const abandonment<Word> &solve, int32_t status,
                                        int64_t row) {
    if (exchange(solve.word, solve.mark) == solve.mark)
        return;
    volatile gsw_cuda_report *report = solve.report;
    report->row = row;
    report->what = solve.what;
    report->wait_limit_ns = solve.wait_limit_ns;
    __threadfence_system();
    report->status = status;
}

/* ---- Bounded waits ------------------------------------------------------------------------------
 */

/* Nanoseconds since a fixed moment. */
__device__ __forceinline__ int64_t device_clock(void) {
    int64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

/* A wait for another block. Begins as {0, 0}. */
struct bounded_wait {
    uint32_t polls;
    int64_t since; /* when the clock was first read; 0: not yet */
};

/* Counts a poll. True once in `interval` polls: then the caller asks is_over(). */
template <uint32_t interval> __device__ __forceinline__ bool is_due(bounded_wait *wait) {
    return (++wait->polls & (interval - 1)) == 0;
}

/* Whether to stop waiting: the solve is abandoned, or this wait has lasted too long and abandons
 * it. `row` goes into the report. */
template <typename Word>
__device__ __forceinline__ bool is_over(bounded_wait *wait, const abandonment<Word> &solve,
                                        int64_t row) {
    if (is_abandoned(solve))
        return true;
    const int64_t now = device_clock();
    if (wait->since == 0)
        wait->since = now;
    if (now - wait->since < solve.wait_limit_ns)
        return false;
    abandon(solve, GSW_ERROR_TIMEOUT, row);
    return true;
}

/* ---- Waits inside a block -----------------------------------------------------------------------
 */

/* Waits until a counter in shared memory has reached `least`. Sleeps for `nap_ns` between two polls
 * where other warps need the multiprocessor. */
template <unsigned nap_ns = 0>
__device__ __forceinline__ void await_counter(const int32_t *shared, int32_t least) {
    while (load_acquire<scope::block>(shared) < least) {
        if constexpr (nap_ns > 0)
            __nanosleep(nap_ns);
    }
}

} // namespace

#endif
