/* movers.cuh: copies between global and shared memory that continue while the thread does other
 * work, and barriers that count phases.
 *
 * Bulk copies need compute capability 9.0, asynchronous copies of single values 8.0; before 8.0
 * values wait in registers. A bulk copy moves a multiple of 16 bytes between addresses that are
 * multiples of 16. Shared addresses are those of shared_address(). */
#ifndef GSW_CUDA_MOVERS_CUH
#define GSW_CUDA_MOVERS_CUH

#include "cuda/device/access.cuh"

namespace {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
constexpr bool BULK_COPIES = true;
#else
constexpr bool BULK_COPIES = false;
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
constexpr bool ASYNC_COPIES = true;
#else
constexpr bool ASYNC_COPIES = false;
#endif

/* ---- Copies of single values --------------------------------------------------------------------
 *
 * A thread waits for the copies that it has started itself. */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* Starts copying 4, 8 or 16 bytes. 16 bytes bypass the multiprocessor's own cache. */
template <int bytes>
__device__ __forceinline__ void start_copy_of(uint32_t shared, const void *global) {
    if constexpr (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global),
                     "n"(bytes)
                     : "memory");
}

/* The same for 4 or 8 bytes of a stream: the L2 cache fetches 256 bytes around them. */
template <int bytes>
__device__ __forceinline__ void start_stream_copy_of(uint32_t shared, const void *global) {
    asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], %2;" ::"r"(shared), "l"(global),
                 "n"(bytes)
                 : "memory");
}

/* Ends a group of copies. */
__device__ __forceinline__ void commit_copies(void) {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for all groups of the thread except the last `pending` ones. */
template <int pending> __device__ __forceinline__ void await_copy_groups(void) {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

#endif

/* Up to `n` copies of a thread whose values wait in registers until they are stored. */
template <typename Value, int n> struct register_queue {
    Value value[n];
    uint32_t to[n];
    uint32_t started = 0; /* bits */
    static_assert(n <= 32, "a bit for each copy");

    __device__ __forceinline__ void start(int i, uint32_t shared, const Value *global) {
        load_global<1>(value + i, global);
        to[i] = shared;
        started |= 1u << i;
    }
    __device__ __forceinline__ void store(void) {
#pragma unroll
        for (int i = 0; i < n; i++) {
            if (started >> i & 1u)
                store_shared<1>(to[i], value + i);
        }
        started = 0;
    }
};

/* Groups of `n` copies of a stream that a thread starts, `Ahead` groups at a time. Without
 * asynchronous copies one group waits in registers. */
template <typename Value, int n, int Ahead> struct copy_queue {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    static constexpr int ahead = Ahead;

    __device__ __forceinline__ void start(int, uint32_t shared, const Value *global) {
        start_stream_copy_of<sizeof(Value)>(shared, global);
    }
    __device__ __forceinline__ void end_group(void) {
        commit_copies();
    }
    /* The oldest group has come. */
    __device__ __forceinline__ void await_group(void) {
        await_copy_groups<Ahead - 1>();
    }
#else
    static constexpr int ahead = 1;
    register_queue<Value, n> queue;

    __device__ __forceinline__ void start(int i, uint32_t shared, const Value *global) {
        queue.start(i, shared, global);
    }
    __device__ __forceinline__ void end_group(void) {
    }
    __device__ __forceinline__ void await_group(void) {
        queue.store();
    }
#endif
};

template <typename Value>
__device__ __forceinline__ void start_copy(Value *shared, const Value *global) {
#if __CUDA_ARCH__ >= 800
    start_copy_of<sizeof(Value)>(shared_address(shared), global);
#else
    *shared = *global;
#endif
}

/* Waits for all copies of the thread. */
__device__ __forceinline__ void await_copies(void) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* ---- Barriers -----------------------------------------------------------------------------------
 *
 * A phase ends when `count` arrivals and all expected bytes have come. Arriving releases, waiting
 * acquires, in the block. From 9.0 on they are mbarriers; before, a count of arrivals and the
 * logarithm of `count`, a power of two. */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}
/* Arrives, as one of those that the barrier counts, once the thread's single copies have ended. */
__device__ __forceinline__ void barrier_arrive_after_copies(uint32_t barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
/* Waits for a while. True when the phase of that parity is over. */
__device__ __forceinline__ bool barrier_passed(uint32_t barrier, uint32_t parity) {
    uint32_t passed;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared.b64 p, [%1], %2, 10000;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(passed)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return passed;
}

#else

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t count) {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(barrier), "r"(0u),
                 "r"(31u - (uint32_t)__clz((int)count))
                 : "memory");
}
__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
    asm volatile("red.release.cta.shared.add.u32 [%0], 1;" ::"r"(barrier) : "memory");
}
/* True when the phase of that parity is over; sleeps for a moment otherwise. */
__device__ __forceinline__ bool barrier_passed(uint32_t barrier, uint32_t parity) {
    uint32_t arrived, shift;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(arrived) : "r"(barrier) : "memory");
    asm volatile("ld.shared.u32 %0, [%1+4];" : "=r"(shift) : "r"(barrier) : "memory");
    const bool passed = (arrived >> shift & 1u) != parity;
    if (!passed)
        __nanosleep(20);
    return passed;
}

#endif

/* Only for what the block does itself: see WAITS in handover.cuh. */
__device__ __forceinline__ void await_phase(uint32_t barrier, uint32_t parity) {
    while (!barrier_passed(barrier, parity))
        ;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* ---- Bulk copies --------------------------------------------------------------------------------
 */

/* Starts a copy to shared memory, whose bytes the barrier counts. */
__device__ __forceinline__ void bulk_load(uint32_t shared, const void *global, uint32_t bytes,
                                          uint32_t barrier, uint64_t policy) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1], %2, [%3], %4;" ::"r"(shared),
                 "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
                 : "memory");
}
/* Starts a copy to global memory. It belongs to the thread that starts it. */
__device__ __forceinline__ void bulk_store(void *global, uint32_t shared, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(shared), "r"(bytes)
                 : "memory");
}
/* Waits until the thread's bulk stores have read shared memory. */
__device__ __forceinline__ void await_bulk_reads(void) {
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
}
/* After await_bulk_reads(): waits until these bulk stores have written global memory. */
__device__ __forceinline__ void await_bulk_stores(void) {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
/* Between a thread's accesses to shared memory and bulk copies of the same memory. */
__device__ __forceinline__ void fence_bulk(void) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#else

__device__ __forceinline__ void fence_bulk(void) {
}

#endif

} // namespace

#endif
