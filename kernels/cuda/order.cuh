/* order.cuh: loads and stores with the memory orders that hand-overs need, and a clock.
 *
 * Progress counters only grow, each has one writer, and data are read only after the counter that
 * covers them: release on one side and acquire on the other are all that is needed. The scope is
 * the block for counters in shared memory and the device for those in global memory. */
#ifndef GSW_CUDA_ORDER_CUH
#define GSW_CUDA_ORDER_CUH

#include <stdint.h>
#include <string.h>

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

/* Accesses to global memory, of 4 or 8 bytes; `order` is the instruction up to its type. */
#define ORDER_LOAD(name, order)                                                                    \
    template <typename Value> static __device__ __forceinline__ Value name(const Value *global) {  \
        Value value;                                                                               \
        if constexpr (sizeof(Value) == 4) {                                                        \
            uint32_t bits;                                                                         \
            asm volatile(order ".b32 %0, [%1];" : "=r"(bits) : "l"(global) : "memory");            \
            memcpy(&value, &bits, sizeof value);                                                   \
        } else {                                                                                   \
            uint64_t bits;                                                                         \
            asm volatile(order ".b64 %0, [%1];" : "=l"(bits) : "l"(global) : "memory");            \
            memcpy(&value, &bits, sizeof value);                                                   \
        }                                                                                          \
        return value;                                                                              \
    }
#define ORDER_STORE(name, order)                                                                   \
    template <typename Value>                                                                      \
    static __device__ __forceinline__ void name(Value *global, Value value) {                      \
        if constexpr (sizeof(Value) == 4) {                                                        \
            uint32_t bits;                                                                         \
            memcpy(&bits, &value, sizeof bits);                                                    \
            asm volatile(order ".b32 [%0], %1;" ::"l"(global), "r"(bits) : "memory");              \
        } else {                                                                                   \
            uint64_t bits;                                                                         \
            memcpy(&bits, &value, sizeof bits);                                                    \
            asm volatile(order ".b64 [%0], %1;" ::"l"(global), "l"(bits) : "memory");              \
        }                                                                                          \
    }

ORDER_LOAD(load_acquire_device, "ld.acquire.gpu.global")
ORDER_STORE(store_release_device, "st.release.gpu.global")
/* Only atomic: for values that stand for themselves. */
ORDER_LOAD(load_relaxed_device, "ld.relaxed.gpu.global")
ORDER_STORE(store_relaxed_device, "st.relaxed.gpu.global")

#undef ORDER_STORE
#undef ORDER_LOAD

/* After relaxed or volatile loads: what was released before the values that they saw is seen. */
static __device__ __forceinline__ void acquire_device(void) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
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
