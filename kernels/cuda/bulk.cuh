/* bulk.cuh: bulk copies between device and shared memory, the mbarriers that count them, and hints
 * for the L2 cache. Devices of compute capability 9.0 and newer. Shared addresses are those of
 * shared_address(); bulk copies move multiples of 16 bytes between addresses that are such. */
#ifndef GSW_CUDA_BULK_CUH
#define GSW_CUDA_BULK_CUH

#include <stdint.h>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

namespace {

/* What the L2 cache keeps: streams go first, faces last. */
__device__ __forceinline__ uint64_t evict_first(void) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
__device__ __forceinline__ uint64_t evict_last(void) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

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
/* Waits for a while; true when the phase of that parity is over. */
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
__device__ __forceinline__ void bulk_copy(uint32_t shared, const void *global, uint32_t bytes,
                                          uint32_t barrier, uint64_t policy) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1], %2, [%3], %4;" ::"r"(shared),
                 "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
                 : "memory");
}
/* Copies to device memory belong to the thread that starts them. */
__device__ __forceinline__ void bulk_store(void *global, uint32_t shared, uint32_t bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(shared), "r"(bytes)
                 : "memory");
}
/* Waits until what the thread has started has been read from shared memory; and, after that, until
 * it has been written. */
__device__ __forceinline__ void await_bulk_reads(void) {
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ __forceinline__ void await_bulk_stores(void) {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
/* Between accesses of the thread to shared memory and bulk copies of the same memory. */
__device__ __forceinline__ void fence_proxy(void) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/* Arrives at a barrier, as one of those it counts, once the thread's start_copy()s have ended. */
__device__ __forceinline__ void arrive_after_copies(uint32_t barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
/* As start_copy(), past the nearest cache. */
__device__ __forceinline__ void start_copy_16(uint32_t shared, const void *global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}

} // namespace

#endif

#endif
