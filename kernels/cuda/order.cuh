/* order.cuh: loads and stores with the memory orders that hand-overs need, and a clock.
 *
 * Progress counters only grow, each has one writer, and data are read only after the counter that
 * covers them: release on one side and acquire on the other are all that is needed. The scope is
 * the block for counters in shared memory and the device for those in global memory. */
#ifndef GSW_CUDA_ORDER_CUH
#define GSW_CUDA_ORDER_CUH

#include <stdint.h>

static __device__ __forceinline__ uint32_t shared_address(const void *pointer) {
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

static __device__ __forceinline__ int32_t load_acquire_block(const int32_t *shared) {
    int32_t value;
    asm volatile("ld.acquire.cta.shared.s32 %0, [%1];"
                 : "=r"(value)
                 : "r"(shared_address(shared))
                 : "memory");
    return value;
}

static __device__ __forceinline__ void store_release_block(int32_t *shared, int32_t value) {
    asm volatile("st.release.cta.shared.s32 [%0], %1;" ::"r"(shared_address(shared)), "r"(value)
                 : "memory");
}

static __device__ __forceinline__ int64_t load_acquire_device(const int64_t *global) {
    int64_t value;
    asm volatile("ld.acquire.gpu.global.s64 %0, [%1];" : "=l"(value) : "l"(global) : "memory");
    return value;
}

static __device__ __forceinline__ uint32_t load_acquire_device(const uint32_t *global) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(global) : "memory");
    return value;
}

static __device__ __forceinline__ int32_t load_acquire_device(const int32_t *global) {
    int32_t value;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(global) : "memory");
    return value;
}

static __device__ __forceinline__ void store_release_device(int32_t *global, int32_t value) {
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(global), "r"(value) : "memory");
}

static __device__ __forceinline__ void store_release_device(int64_t *global, int64_t value) {
    asm volatile("st.release.gpu.global.s64 [%0], %1;" ::"l"(global), "l"(value) : "memory");
}

static __device__ __forceinline__ uint64_t load_acquire_device(const uint64_t *global) {
    uint64_t value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(global) : "memory");
    return value;
}

static __device__ __forceinline__ uint64_t load_relaxed_device(const uint64_t *global) {
    uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(global) : "memory");
    return value;
}

static __device__ __forceinline__ void store_release_device(uint64_t *global, uint64_t value) {
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(global), "l"(value) : "memory");
}

static __device__ __forceinline__ void store_release_device(uint32_t *global, uint32_t value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(global), "r"(value) : "memory");
}

/* After relaxed or volatile loads: what was released before the values that they saw is seen. */
static __device__ __forceinline__ void acquire_device(void) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* Loads and stores that are only atomic: for values that stand for themselves. */
static __device__ __forceinline__ double load_relaxed_device(const double *global) {
    double value;
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(value) : "l"(global) : "memory");
    return value;
}

static __device__ __forceinline__ float load_relaxed_device(const float *global) {
    float value;
    asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(value) : "l"(global) : "memory");
    return value;
}

static __device__ __forceinline__ void store_relaxed_device(double *global, double value) {
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(global), "d"(value) : "memory");
}

static __device__ __forceinline__ void store_relaxed_device(float *global, float value) {
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(global), "f"(value) : "memory");
}

/* Raises a counter that has several writers, one after the other: what they store may arrive in any
 * order. */
static __device__ __forceinline__ void raise_release_device(int64_t *global, int64_t value) {
    asm volatile("red.release.gpu.global.max.s64 [%0], %1;" ::"l"(global), "l"(value) : "memory");
}

/* Starts copying one value to shared memory; await_copies() waits for what the thread has started.
 * Devices older than 8.0 copy at once. */
template <typename Value>
static __device__ __forceinline__ void start_copy(Value *shared, const Value *global) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(shared)),
                 "l"(global), "n"(sizeof(Value))
                 : "memory");
#else
    *shared = *global;
#endif
}

static __device__ __forceinline__ void await_copies(void) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Nanoseconds since some moment. */
static __device__ __forceinline__ int64_t device_clock(void) {
    int64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

#endif
