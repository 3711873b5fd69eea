/* occupy.cu: see occupy.h. */
#include <time.h>

#include <cuda_runtime.h>

#include "occupy.h"

static __device__ unsigned long long now_ns() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* Each block reports that it runs, then spins. The time limit ends it in any case. */
static __global__ void occupy(int *running, unsigned long long nanoseconds) {
    const unsigned long long start = now_ns();
    if (threadIdx.x == 0) {
        atomicAdd_system(running, 1);
        __threadfence_system();
    }
    while (now_ns() - start < nanoseconds)
        __nanosleep(1000);
}

/* Waits until `blocks` blocks have reported, five seconds at most. */
static cudaError_t wait_for(const volatile int *running, int blocks) {
    const struct timespec pause = {0, 100000};
    for (int i = 0; i < 50000; i++) {
        if (*running == blocks)
            return cudaSuccess;
        nanosleep(&pause, NULL);
    }
    return cudaErrorTimeout;
}

extern "C" int occupy_start(void *stream, double fraction, int milliseconds) {
    static int *running; /* freeing it would wait for the blocks, so it is kept */
    int device = 0, multiprocessors = 0, shared = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess && running == NULL)
        error = cudaHostAlloc(reinterpret_cast<void **>(&running), sizeof *running,
                              cudaHostAllocMapped);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error == cudaSuccess)
        error = cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (error != cudaSuccess)
        return error;

    int blocks = static_cast<int>(fraction * multiprocessors);
    blocks = blocks < 1 ? 1 : blocks;
    *running = 0;
    occupy<<<blocks, 128, shared, static_cast<cudaStream_t>(stream)>>>(
        running, 1000000ULL * static_cast<unsigned long long>(milliseconds));
    error = cudaGetLastError();
    return error == cudaSuccess ? wait_for(running, blocks) : error;
}
