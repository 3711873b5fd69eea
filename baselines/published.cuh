/* published.cuh: the loads, stores and the clock of the waits in published.cu, one PTX instruction
 * each. Their names state the memory order of every access. */
#ifndef GSW_PUBLISHED_CUH
#define GSW_PUBLISHED_CUH

#include <cstdint>

/* Not ordered; sees values that have reached the L2 cache. */
static __device__ __forceinline__ uint32_t load_relaxed_device(const uint32_t *word) {
    uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

/* The same at the scope of a block: may be answered by the multiprocessor's L1 cache. */
static __device__ __forceinline__ uint32_t load_relaxed_block(const uint32_t *word) {
    uint32_t value;
    asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

static __device__ __forceinline__ uint32_t load_acquire_device(const uint32_t *word) {
    uint32_t value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}

static __device__ __forceinline__ void store_release_device(uint32_t *word, uint32_t value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/* For words in the host's memory. */
static __device__ __forceinline__ void store_release_system(uint32_t *word, uint32_t value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/* Turns the relaxed loads before it into acquires. */
static __device__ __forceinline__ void fence_device(void) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* Nanoseconds since some moment. */
static __device__ __forceinline__ uint64_t device_nanoseconds(void) {
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

#endif
