/* syncfree.cu: synchronisation-free solvers. They need no analysis and one kernel. A warp or thread
 * that needs a value waits until it is published.
 *
 * The idea is that of W. Liu, A. Li, J. Hogg, I. Duff and B. Vinter, "A synchronization-free
 * algorithm for parallel sparse triangular solves" (Euro-Par 2016), which uses one warp per column.
 * E. Dufrechou and P. Ezzatti gave each row a warp and a flag ("Solving sparse triangular linear
 * systems in modern GPUs: a synchronization-free algorithm", PDP 2018). J. Su et al. gave each row
 * a thread ("CapelliniSpTRSV: a thread-level synchronization-free sparse triangular solve on GPUs",
 * ICPP 2020). In Ginkgo's kernel a NaN means "not there yet", so that a value is its own flag. The
 * three solvers below are our own:
 *
 *   syncfree-warp        one warp per row, whose lanes take its entries; beside x one flag per row.
 *                        The flag holds the number of the last solve that wrote the row, so no flag
 *                        is ever cleared
 *   syncfree-warp-value  the same, but x itself is the flag: half the round trips to the L2 cache.
 *                        In return each solve first fills x with "empty", which counts as its time
 *   syncfree-thread      one thread per row, and x is the flag
 *
 * All three also keep the x of a block's rows in shared memory, where rows of the same block find
 * it several times sooner. They solve any triangular matrix and use nothing about grids.
 *
 * Unit of work: a block's rows, consecutive in the order of the sweep (an upper sweep begins with
 * the last row). States of a row: empty, published. The row's warp or thread publishes. With flags
 * it uses a release store to the flag after x, and an acquire load observes it. Where x is the flag
 * it uses a relaxed store of x alone, which carries no other data and needs no fence. A value whose
 * bits happen to mean "empty", which only a NaN can have, is published as another NaN.
 *
 * Progress: blocks take their rows by ticket in the order of the sweep, and a row depends only on
 * rows before it. So the producer of an awaited value belongs to a block that runs already, or is
 * done. Within a warp no lane waits in a loop that another lane of it cannot leave. In the first
 * two solvers a whole warp works for one row. In the third, lanes loop together, each row uses
 * the values that exist, and the first unfinished row of the warp depends on no other of them.
 * Waits are bounded: past the limit a warp publishes NaN in its rows, so that all end, and the next
 * solve reports it.
 *
 * Memory: 4 bytes, and 4 bytes per row for the flags. Before the first solve: their allocation. */
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "cuda_rival.h"

/* Each may be overridden when measuring. */
#ifndef GSW_SYNCFREE_WARP_THREADS
#define GSW_SYNCFREE_WARP_THREADS 512 /* of a block, where a warp takes a row */
#endif
#ifndef GSW_SYNCFREE_THREADS
#define GSW_SYNCFREE_THREADS 512 /* of a block, where a thread takes a row */
#endif
#ifndef GSW_SYNCFREE_NEAR_SLEEP
#define GSW_SYNCFREE_NEAR_SLEEP 32 /* ns; between reads of shared memory, to let others work */
#endif
#ifndef GSW_SYNCFREE_FAR_EVERY
#define GSW_SYNCFREE_FAR_EVERY 4 /* rounds, while rows advance through shared memory */
#endif

/* Threads that a multiprocessor holds. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
#define RESIDENT 1024
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 700 && __CUDA_ARCH__ != 720 &&                    \
    __CUDA_ARCH__ != 800 && __CUDA_ARCH__ != 900 && __CUDA_ARCH__ != 1000 && __CUDA_ARCH__ != 1030
#define RESIDENT 1536
#else
#define RESIDENT 2048
#endif

namespace {

const unsigned warp_threads = GSW_SYNCFREE_WARP_THREADS;
const unsigned warp_rows = warp_threads / 32;
const unsigned thread_rows = GSW_SYNCFREE_THREADS;
const unsigned all_lanes = 0xffffffffu;
const unsigned wait_limit_ms = 5000;
const unsigned looks_per_clock_read = 1024; /* readings of a value per reading of the clock */

enum method { WARP_FLAG, WARP_VALUE, THREAD_VALUE };

/* ---- Values as words ---- */

template <class T> struct bits_of;
template <> struct bits_of<double> { using type = unsigned long long; };
template <> struct bits_of<float> { using type = unsigned int; };
template <class T> using bits = typename bits_of<T>::type;

/* "Not there yet": all bits set, a NaN, which cudaMemset writes. */
template <class T> __device__ constexpr bits<T> empty() {
    return ~bits<T>(0);
}

__device__ inline double as_value(unsigned long long word) {
    return __longlong_as_double((long long)word);
}
__device__ inline float as_value(unsigned int word) {
    return __uint_as_float(word);
}
__device__ inline unsigned long long as_bits(double value) {
    return (unsigned long long)__double_as_longlong(value);
}
__device__ inline unsigned int as_bits(float value) {
    return __float_as_uint(value);
}

/* The word to publish: never empty. Clearing the last bit leaves a NaN a NaN. */
template <class T> __device__ inline bits<T> settle(T value) {
    const bits<T> word = as_bits(value);
    return word == empty<T>() ? word ^ 1 : word;
}

/* Loads and stores that every thread of the device sees: they meet in the L2 cache. */
__device__ inline unsigned long long load_relaxed(const unsigned long long *address) {
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
                 : "=l"(word)
                 : "l"(__cvta_generic_to_global(address)));
    return word;
}
__device__ inline unsigned int load_relaxed(const unsigned int *address) {
    unsigned int word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(word)
                 : "l"(__cvta_generic_to_global(address)));
    return word;
}
__device__ inline void store_relaxed(unsigned long long *address, unsigned long long word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(address)),
                 "l"(word)
                 : "memory");
}
__device__ inline void store_relaxed(unsigned int *address, unsigned int word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(address)),
                 "r"(word)
                 : "memory");
}
__device__ inline unsigned int load_acquire(const unsigned int *address) {
    unsigned int word;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(word)
                 : "l"(__cvta_generic_to_global(address))
                 : "memory");
    return word;
}
__device__ inline void store_release(unsigned int *address, unsigned int word) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(address)),
                 "r"(word)
                 : "memory");
}

/* In units of 2^20 ns, about a millisecond. */
__device__ inline unsigned clock_ms() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return unsigned(now >> 20);
}

/* ---- The system ---- */

template <class T> struct task {
    unsigned n;
    int is_upper;
    const int32_t *row_ptr, *columns;
    const T *values;
    const T *b;
    bits<T> *x;
    unsigned *ticket;
    unsigned *flags; /* the solve that last wrote each row; NULL where x is the flag */
    unsigned solve;  /* the number of this one */
    int *failed;     /* host memory; set where a wait was abandoned */
};

/* The position of a row in the sweep, and back. */
template <class T> __device__ inline unsigned swap_place(const task<T> &t, unsigned row) {
    return t.is_upper ? t.n - 1 - row : row;
}

/* The block's turn; the counter is zero again when the last block has taken its own. */
__device__ inline unsigned take_ticket(unsigned *counter) {
    __shared__ unsigned ticket;
    if (threadIdx.x == 0)
        ticket = atomicInc(counter, gridDim.x - 1);
    __syncthreads();
    return ticket;
}

/* Reads the x of a row from global memory. */
template <class T, bool with_flags>
__device__ inline bool look_far(const task<T> &t, unsigned row, bits<T> *word) {
    if (with_flags && load_acquire(t.flags + row) != t.solve)
        return false;
    *word = load_relaxed(t.x + row);
    return with_flags || *word != empty<T>();
}

/* Reads it from the block's own rows. */
template <class T>
__device__ inline bool look_near(const volatile bits<T> *block_x, unsigned slot, bits<T> *word) {
    *word = block_x[slot];
    return *word != empty<T>();
}

template <class T, bool with_flags>
__device__ inline void publish(const task<T> &t, volatile bits<T> *block_x, unsigned slot,
                               unsigned row, T value) {
    const bits<T> word = settle(value);
    block_x[slot] = word;
    store_relaxed(t.x + row, word);
    if (with_flags)
        store_release(t.flags + row, t.solve);
}

/* Whether a wait that began at `start` has lasted too long. The clock is read only now and then. */
__device__ inline bool is_too_long(unsigned looks, unsigned start) {
    return looks % looks_per_clock_read == 0 && clock_ms() - start > wait_limit_ms;
}

/* ---- One warp per row ---- */

/* Waits until each lane that needs a row's x has it. Returns false where the wait was abandoned. */
template <class T, bool with_flags>
__device__ inline bool await_all(const task<T> &t, const volatile bits<T> *block_x, unsigned first,
                                 bool wants, unsigned row, unsigned start, bits<T> *word) {
    const unsigned place = swap_place(t, row);
    const bool is_near = place >= first;
    const unsigned far = __ballot_sync(all_lanes, !is_near);
    for (unsigned looks = 1;; looks++) {
        if (wants && (is_near ? look_near<T>(block_x, place - first, word)
                              : look_far<T, with_flags>(t, row, word)))
            wants = false;
        const unsigned waiting = __ballot_sync(all_lanes, wants);
        if (waiting == 0)
            return true;
        if (looks % looks_per_clock_read == 0 && __any_sync(all_lanes, is_too_long(looks, start)))
            return false;
        if ((waiting & far) == 0)
            __nanosleep(GSW_SYNCFREE_NEAR_SLEEP);
    }
}

template <class T, bool with_flags>
__global__ void __launch_bounds__(warp_threads, RESIDENT / warp_threads) solve_warp(task<T> t) {
    __shared__ volatile bits<T> block_x[warp_rows];
    const unsigned lane = threadIdx.x % 32, slot = threadIdx.x / 32;
    if (threadIdx.x < warp_rows)
        block_x[threadIdx.x] = empty<T>();
    const unsigned first = take_ticket(t.ticket) * warp_rows; /* with a barrier */
    if (first + slot >= t.n)
        return;
    const unsigned start = clock_ms(), row = swap_place(t, first + slot);
    const int32_t begin = __ldg(t.row_ptr + row), end = __ldg(t.row_ptr + row + 1);
    const int32_t from = t.is_upper ? begin + 1 : begin, count = end - begin - 1;
    const T b = __ldg(t.b + row);
    const T inverse = T(1) / __ldg(t.values + (t.is_upper ? begin : end - 1));

    T sum = 0;
    bool good = true;
    for (int32_t chunk = 0; chunk < count && good; chunk += 32) {
        const bool wants = chunk + int32_t(lane) < count;
        const int32_t k = from + (wants ? chunk + int32_t(lane) : 0);
        const unsigned column = unsigned(__ldg(t.columns + k));
        const T value = __ldg(t.values + k);
        bits<T> word = 0;
        good = await_all<T, with_flags>(t, block_x, first, wants, column, start, &word);
        if (wants)
            sum += value * as_value(word);
    }
    for (unsigned step = count > 16 ? 16 : count > 8 ? 8 : count > 4 ? 4 : 2; step > 0; step /= 2)
        sum += __shfl_down_sync(all_lanes, sum, step);
    if (lane == 0) {
        if (!good)
            *t.failed = 1;
        publish<T, with_flags>(t, block_x, slot, row, good ? (b - sum) * inverse : T(NAN));
    }
}

/* ---- One thread per row ---- */

/* A row in progress: its remaining entries, the next one, and the sum so far. */
template <class T> struct row_state {
    unsigned row;
    int32_t next, left;
    unsigned column;
    T value, sum, inverse;
};

template <class T> __device__ inline void fetch_entry(const task<T> &t, row_state<T> *r) {
    r->column = unsigned(__ldg(t.columns + r->next));
    r->value = __ldg(t.values + r->next);
}

/* Entries are taken in the order in which their rows are swept, so the latest comes last. */
template <class T>
__device__ inline void begin_row(const task<T> &t, unsigned row, row_state<T> *r) {
    const int32_t begin = __ldg(t.row_ptr + row), end = __ldg(t.row_ptr + row + 1);
    r->row = row;
    r->next = t.is_upper ? end - 1 : begin;
    r->left = end - begin - 1;
    r->sum = __ldg(t.b + row);
    r->inverse = T(1) / __ldg(t.values + (t.is_upper ? begin : end - 1));
    if (r->left > 0)
        fetch_entry(t, r);
}

template <class T>
__device__ inline void take_entry(const task<T> &t, bits<T> word, row_state<T> *r) {
    r->sum -= r->value * as_value(word);
    r->next += t.is_upper ? -1 : 1;
    r->left--;
    if (r->left > 0)
        fetch_entry(t, r);
}

/* The whole warp waits for one row's x. Returns false where the wait was abandoned. It reads one
 * word and takes few instructions, because most warps of the device wait here. */
template <class T>
__device__ inline bool await_one(const task<T> &t, const volatile bits<T> *block_x, unsigned first,
                                 unsigned row, unsigned start) {
    const unsigned place = swap_place(t, row);
    bits<T> word;
    if (place >= first) {
        for (unsigned looks = 1; !look_near<T>(block_x, place - first, &word); looks++) {
            if (is_too_long(looks, start))
                return false;
            __nanosleep(GSW_SYNCFREE_NEAR_SLEEP);
        }
    } else {
        for (unsigned looks = 1; !look_far<T, false>(t, row, &word); looks++)
            if (is_too_long(looks, start))
                return false;
    }
    return true;
}

template <class T>
__global__ void __launch_bounds__(thread_rows, RESIDENT / thread_rows) solve_thread(task<T> t) {
    __shared__ volatile bits<T> block_x[thread_rows];
    block_x[threadIdx.x] = empty<T>();
    const unsigned first = take_ticket(t.ticket) * thread_rows; /* with a barrier */
    const unsigned start = clock_ms();
    bool is_waiting = first + threadIdx.x < t.n;
    row_state<T> r = {};
    if (is_waiting)
        begin_row(t, swap_place(t, first + threadIdx.x), &r);

    /* Whether any row of the warp advanced in the last round, and whether through shared memory. */
    bool moved = true, moved_near = false;
    unsigned waiting;
    for (unsigned round = 0; (waiting = __ballot_sync(all_lanes, is_waiting)) != 0; round++) {
        if (!moved) {
            const unsigned column = __shfl_sync(all_lanes, r.column, __ffs(waiting) - 1);
            const bool good = await_one<T>(t, block_x, first, column, start);
            if (!__all_sync(all_lanes, good)) {
                if (is_waiting) {
                    *t.failed = 1;
                    r.sum = T(NAN);
                    r.left = 0;
                }
            }
        }
        /* A read of the L2 cache takes long, and the whole warp waits for it. */
        const bool looks_far = !moved_near || round % GSW_SYNCFREE_FAR_EVERY == 0;
        bool moves = false, is_near = false;
        if (is_waiting && r.left > 0) {
            const unsigned place = swap_place(t, r.column);
            bits<T> word;
            is_near = place >= first;
            if (is_near)
                moves = look_near<T>(block_x, place - first, &word);
            else if (looks_far)
                moves = look_far<T, false>(t, r.column, &word);
            if (moves)
                take_entry(t, word, &r);
        }
        if (is_waiting && r.left == 0) {
            publish<T, false>(t, block_x, threadIdx.x, r.row, r.sum * r.inverse);
            is_waiting = false;
            moves = true;
        }
        moved = __any_sync(all_lanes, moves);
        moved_near = __any_sync(all_lanes, moves && is_near);
    }
}

/* ---- The rivals ---- */

struct syncfree {
    const gsw_csr *csr;
    gsw_part part;
    cudaStream_t stream;
    method how;
    unsigned *ticket, *flags;
    unsigned solves;       /* so far; the number of the last one */
    volatile int *failed;  /* as the host sees it */
    int *failed_on_device; /* and the device */
};

#define TRY_CUDA(call)                                                                             \
    do {                                                                                           \
        if (gsw_rival_cuda((call), #call, message, size) != 0)                                     \
            return -1;                                                                             \
    } while (0)

int allocate(syncfree *s, char *message, size_t size) {
    const size_t flag_bytes = size_t(s->csr->rows) * sizeof *s->flags;
    void *failed = nullptr;
    TRY_CUDA(cudaHostAlloc(&failed, sizeof(int), cudaHostAllocMapped));
    s->failed = static_cast<int *>(failed);
    *s->failed = 0;
    void *failed_on_device = nullptr;
    TRY_CUDA(cudaHostGetDevicePointer(&failed_on_device, failed, 0));
    s->failed_on_device = static_cast<int *>(failed_on_device);
    TRY_CUDA(cudaMalloc(&s->ticket, sizeof *s->ticket));
    TRY_CUDA(cudaMemsetAsync(s->ticket, 0, sizeof *s->ticket, s->stream));
    if (s->how == WARP_FLAG) {
        TRY_CUDA(cudaMalloc(&s->flags, flag_bytes));
        TRY_CUDA(cudaMemsetAsync(s->flags, 0, flag_bytes, s->stream));
    }
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    return 0;
}

int open(method how, const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
         char *message, size_t size) {
    *state = nullptr;
    *cost = gsw_rival_cost{0, 0};
    if (gsw_rival_check(system, 1, message, size) != 0)
        return -1;
    syncfree *s = static_cast<syncfree *>(calloc(1, sizeof *s));
    if (s == nullptr)
        return gsw_rival_fail(message, size, "out of memory");
    s->csr = system->device;
    s->part = system->part;
    s->stream = static_cast<cudaStream_t>(system->stream);
    s->how = how;
    const double start = gsw_rival_milliseconds();
    if (allocate(s, message, size) != 0) {
        gsw_syncfree_close(s);
        return -1;
    }
    const double flags = how == WARP_FLAG ? double(s->csr->rows) : 0;
    cost->setup_ms = gsw_rival_milliseconds() - start;
    cost->buffer_bytes = sizeof(unsigned) * (1 + flags);
    *state = s;
    return 0;
}

/* The number of the next solve; flags are cleared only when the numbers have been used up. */
int count_solve(syncfree *s, char *message, size_t size) {
    if (s->how == WARP_FLAG && s->solves == UINT_MAX) {
        TRY_CUDA(cudaMemsetAsync(s->flags, 0, size_t(s->csr->rows) * sizeof *s->flags, s->stream));
        s->solves = 0;
    }
    s->solves++;
    return 0;
}

unsigned blocks_for(int64_t rows, unsigned rows_a_block) {
    return unsigned((rows + rows_a_block - 1) / rows_a_block);
}

template <class T> int solve(syncfree *s, const T *b, void *x, char *message, size_t size) {
    const gsw_csr *csr = s->csr;
    if (count_solve(s, message, size) != 0)
        return -1;
    if (s->how != WARP_FLAG)
        TRY_CUDA(cudaMemsetAsync(x, 0xff, size_t(csr->rows) * sizeof(T), s->stream));
    const task<T> t = {unsigned(csr->rows),
                       s->part == GSW_UPPER,
                       static_cast<const int32_t *>(csr->row_ptr),
                       static_cast<const int32_t *>(csr->columns),
                       static_cast<const T *>(csr->values),
                       b,
                       static_cast<bits<T> *>(x),
                       s->ticket,
                       s->flags,
                       s->solves,
                       s->failed_on_device};
    if (s->how == THREAD_VALUE)
        solve_thread<T><<<blocks_for(csr->rows, thread_rows), thread_rows, 0, s->stream>>>(t);
    else if (s->how == WARP_VALUE)
        solve_warp<T, false><<<blocks_for(csr->rows, warp_rows), warp_threads, 0, s->stream>>>(t);
    else
        solve_warp<T, true><<<blocks_for(csr->rows, warp_rows), warp_threads, 0, s->stream>>>(t);
    TRY_CUDA(cudaGetLastError());
    return 0;
}

} // namespace

extern "C" int gsw_syncfree_warp_open(const gsw_rival_system *system, void **state,
                                      gsw_rival_cost *cost, char *message, size_t size) {
    return open(WARP_FLAG, system, state, cost, message, size);
}

extern "C" int gsw_syncfree_warp_value_open(const gsw_rival_system *system, void **state,
                                            gsw_rival_cost *cost, char *message, size_t size) {
    return open(WARP_VALUE, system, state, cost, message, size);
}

extern "C" int gsw_syncfree_thread_open(const gsw_rival_system *system, void **state,
                                        gsw_rival_cost *cost, char *message, size_t size) {
    return open(THREAD_VALUE, system, state, cost, message, size);
}

extern "C" int gsw_syncfree_solve(void *state, const void *b, void *x, char *message, size_t size) {
    syncfree *s = static_cast<syncfree *>(state);
    if (*s->failed != 0) {
        *s->failed = 0;
        return gsw_rival_fail(message, size, "an earlier solve waited too long and gave up");
    }
    return s->csr->value_type == GSW_F64
               ? solve(s, static_cast<const double *>(b), x, message, size)
               : solve(s, static_cast<const float *>(b), x, message, size);
}

extern "C" void gsw_syncfree_close(void *state) {
    syncfree *s = static_cast<syncfree *>(state);
    if (s == nullptr)
        return;
    (void)cudaStreamSynchronize(s->stream);
    (void)cudaFree(s->flags);
    (void)cudaFree(s->ticket);
    (void)cudaFreeHost(const_cast<int *>(s->failed));
    free(s);
}
