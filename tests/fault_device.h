/* fault_device.h: calls of CUDA's runtime that fail when a test says so (see fault_switch.h).
 *
 * The linker sends the library's calls through these functions (--wrap; the list is in
 * CMakeLists.txt). What the runtime calls inside itself passes by. Two kinds of calls can fail:
 * those that allocate (FAULT_DEVICE_MEMORY), and those that copy, set, launch, wait or choose a
 * device (FAULT_DEVICE_CALL). A call that waits does wait before it reports its fault, as a real
 * one does. All that is allocated is counted: memory, pinned memory, pools and events. */
#ifndef GSW_TESTS_FAULT_DEVICE_H
#define GSW_TESTS_FAULT_DEVICE_H

#include <cuda_runtime_api.h>

#include "fault_switch.h"

static atomic_long device_live;                  /* what is allocated and not freed */
static _Thread_local cudaError_t device_pending; /* of a fault, for cudaGetLastError() */

static inline int device_fault(fault_kind kind, cudaError_t error, cudaError_t *result) {
    if (!fault_now(kind))
        return 0;
    *result = device_pending = error;
    return 1;
}

/* Around a call of the runtime. */
static inline cudaError_t device_left(cudaError_t error) {
    fault_in_runtime--;
    return error;
}
#define FAULT_RUNTIME(call) (fault_in_runtime++, device_left(call))

/* ---- Calls that allocate --------------------------------------------------------------------- */

static inline cudaError_t device_count(cudaError_t error, int change) {
    if (error == cudaSuccess)
        atomic_fetch_add(&device_live, change);
    return error;
}

#define FAULT_ALLOCATES(name, parameters, arguments)                                               \
    cudaError_t __real_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters {                                                         \
        cudaError_t error;                                                                         \
        if (device_fault(FAULT_DEVICE_MEMORY, cudaErrorMemoryAllocation, &error))                  \
            return error;                                                                          \
        return device_count(FAULT_RUNTIME(__real_##name arguments), 1);                            \
    }

FAULT_ALLOCATES(cudaMalloc, (void **pointer, size_t bytes), (pointer, bytes))
FAULT_ALLOCATES(cudaMallocFromPoolAsync,
                (void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
                (pointer, bytes, pool, stream))
FAULT_ALLOCATES(cudaHostAlloc, (void **pointer, size_t bytes, unsigned flags),
                (pointer, bytes, flags))
FAULT_ALLOCATES(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *wanted),
                (pool, wanted))
FAULT_ALLOCATES(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))

/* Calls that free never fail on purpose: nobody could do anything about it. */
#define FAULT_FREES(name, parameters, arguments, what)                                             \
    cudaError_t __real_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters {                                                         \
        return device_count(FAULT_RUNTIME(__real_##name arguments), what != NULL ? -1 : 0);        \
    }

FAULT_FREES(cudaFree, (void *pointer), (pointer), pointer)
FAULT_FREES(cudaFreeAsync, (void *pointer, cudaStream_t stream), (pointer, stream), pointer)
FAULT_FREES(cudaFreeHost, (void *pointer), (pointer), pointer)
FAULT_FREES(cudaMemPoolDestroy, (cudaMemPool_t pool), (pool), pool)
FAULT_FREES(cudaEventDestroy, (cudaEvent_t event), (event), event)

/* ---- Other calls ----------------------------------------------------------------------------- */

/* These do nothing when they fail. */
#define FAULT_CALLS(name, error_of, parameters, arguments)                                         \
    cudaError_t __real_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters {                                                         \
        cudaError_t error;                                                                         \
        if (device_fault(FAULT_DEVICE_CALL, error_of, &error))                                     \
            return error;                                                                          \
        return FAULT_RUNTIME(__real_##name arguments);                                             \
    }

FAULT_CALLS(cudaMemcpyAsync, cudaErrorUnknown,
            (void *to, const void *from, size_t bytes, enum cudaMemcpyKind way,
             cudaStream_t stream),
            (to, from, bytes, way, stream))
FAULT_CALLS(cudaMemsetAsync, cudaErrorUnknown,
            (void *pointer, int value, size_t bytes, cudaStream_t stream),
            (pointer, value, bytes, stream))
FAULT_CALLS(cudaEventRecord, cudaErrorUnknown, (cudaEvent_t event, cudaStream_t stream),
            (event, stream))
FAULT_CALLS(cudaSetDevice, cudaErrorDevicesUnavailable, (int device), (device))
FAULT_CALLS(cudaFuncGetAttributes, cudaErrorInvalidDeviceFunction,
            (struct cudaFuncAttributes * attributes, const void *kernel), (attributes, kernel))
FAULT_CALLS(cudaOccupancyMaxActiveBlocksPerMultiprocessor, cudaErrorInvalidDeviceFunction,
            (int *blocks, const void *kernel, int threads, size_t shared),
            (blocks, kernel, threads, shared))
FAULT_CALLS(cudaFuncSetAttribute, cudaErrorInvalidDeviceFunction,
            (const void *kernel, enum cudaFuncAttribute attribute, int value),
            (kernel, attribute, value))
FAULT_CALLS(cudaLaunchKernel, cudaErrorLaunchOutOfResources,
            (const void *kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared,
             cudaStream_t stream),
            (kernel, blocks, threads, arguments, shared, stream))
FAULT_CALLS(cudaLaunchKernelExC, cudaErrorLaunchOutOfResources,
            (const cudaLaunchConfig_t *config, const void *kernel, void **arguments),
            (config, kernel, arguments))

/* Launches that the compiler writes, since CUDA 13. */
struct CUkern_st;
cudaError_t __real___cudaLaunchKernel(struct CUkern_st *kernel, dim3 blocks, dim3 threads,
                                      void **arguments, size_t shared, cudaStream_t stream)
    __attribute__((weak));
cudaError_t __wrap___cudaLaunchKernel(struct CUkern_st *kernel, dim3 blocks, dim3 threads,
                                      void **arguments, size_t shared, cudaStream_t stream);
cudaError_t __wrap___cudaLaunchKernel(struct CUkern_st *kernel, dim3 blocks, dim3 threads,
                                      void **arguments, size_t shared, cudaStream_t stream) {
    cudaError_t error;
    if (device_fault(FAULT_DEVICE_CALL, cudaErrorLaunchOutOfResources, &error))
        return error;
    return FAULT_RUNTIME(
        __real___cudaLaunchKernel(kernel, blocks, threads, arguments, shared, stream));
}

/* This one looks a kernel up before such a launch, and keeps what it has found. */
cudaError_t __real___cudaGetKernel(struct CUkern_st **kernel, const void *function)
    __attribute__((weak));
cudaError_t __wrap___cudaGetKernel(struct CUkern_st **kernel, const void *function);
cudaError_t __wrap___cudaGetKernel(struct CUkern_st **kernel, const void *function) {
    return FAULT_RUNTIME(__real___cudaGetKernel(kernel, function));
}

/* These wait, then fail. */
#define FAULT_WAITS(name, parameters, arguments)                                                   \
    cudaError_t __real_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters;                                                          \
    cudaError_t __wrap_##name parameters {                                                         \
        cudaError_t error = FAULT_RUNTIME(__real_##name arguments);                                \
        (void)device_fault(FAULT_DEVICE_CALL, cudaErrorUnknown, &error);                           \
        return error;                                                                              \
    }

FAULT_WAITS(cudaStreamSynchronize, (cudaStream_t stream), (stream))
FAULT_WAITS(cudaEventSynchronize, (cudaEvent_t event), (event))

cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void) {
    const cudaError_t error = __real_cudaGetLastError();
    const cudaError_t pending = device_pending;
    device_pending = cudaSuccess;
    return pending != cudaSuccess ? pending : error;
}

#endif
