/* soak_device.h: what the soak needs of CUDA itself: streams, graphs, free memory, and kernels that
 * occupy the device. Without CUDA these do nothing, and no graph can be captured. */
#ifndef GSW_TESTS_SOAK_DEVICE_H
#define GSW_TESTS_SOAK_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline void soak_pause(int64_t microseconds) {
    const struct timespec pause = {microseconds / 1000000, microseconds % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

/* SplitMix64: uniform in 0 to count - 1. */
static inline int64_t draw(uint64_t *state, int64_t count) {
    uint64_t h = *state += UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int64_t)((h ^ (h >> 31)) % (uint64_t)count);
}

/* Kernels that occupy multiprocessors, one after the other. */
typedef struct occupier {
    pthread_t thread;
    atomic_int stop;
    long runs[6]; /* of each fraction */
    int failed;   /* a cudaError_t */
    int started;
} occupier;

static const double occupied_fractions[6] = {0, 0.25, 0.5, 0.75, 0.9, 1};

#ifdef SOAK_CUDA

#include "cuda/device/test_hooks.h"
#include "fault_device.h"
#include "occupy.h"

/* A kernel that has waited so long in vain ends in TIMEOUT. */
#define SOAK_WAIT_NS INT64_C(5000000000)

typedef cudaGraphExec_t soak_graph;

static inline int soak_stream_open(void **stream) {
    return FAULT_RUNTIME(cudaStreamCreateWithFlags((cudaStream_t *)stream,
                                                   cudaStreamNonBlocking)) == cudaSuccess;
}

static inline void soak_stream_close(void *stream) {
    if (stream != NULL)
        (void)FAULT_RUNTIME(cudaStreamDestroy(stream));
}

static inline void soak_hooks(gsw_context *context, int blocks) {
    if (gsw_context_backend(context) == GSW_BACKEND_CUDA)
        gsw_cuda_test_hooks(context, SOAK_WAIT_NS, -1, blocks);
}

/* One capture at a time in the process. */
static pthread_mutex_t soak_capturing = PTHREAD_MUTEX_INITIALIZER;

static inline int soak_graph_begin(void *stream) {
    if (stream == NULL)
        return 0;
    pthread_mutex_lock(&soak_capturing);
    if (FAULT_RUNTIME(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)) ==
        cudaSuccess)
        return 1;
    pthread_mutex_unlock(&soak_capturing);
    return 0;
}

/* Ends the capture in any case. */
static inline int soak_graph_end(void *stream, soak_graph *exec) {
    cudaGraph_t graph = NULL;
    cudaError_t error = FAULT_RUNTIME(cudaStreamEndCapture(stream, &graph));
    pthread_mutex_unlock(&soak_capturing);
    if (error == cudaSuccess)
        error = FAULT_RUNTIME(cudaGraphInstantiateWithFlags(exec, graph, 0));
    if (graph != NULL)
        (void)FAULT_RUNTIME(cudaGraphDestroy(graph));
    return error == cudaSuccess;
}

static inline int soak_graph_launch(soak_graph exec, void *stream) {
    return FAULT_RUNTIME(cudaGraphLaunch(exec, stream)) == cudaSuccess;
}

static inline void soak_graph_free(soak_graph exec) {
    if (exec != NULL)
        (void)FAULT_RUNTIME(cudaGraphExecDestroy(exec));
}

/* Bytes that nobody uses. */
static inline int64_t soak_free_bytes(void) {
    size_t unused = 0, all = 0;
    return FAULT_RUNTIME(cudaDeviceSynchronize()) == cudaSuccess &&
                   FAULT_RUNTIME(cudaMemGetInfo(&unused, &all)) == cudaSuccess
               ? (int64_t)unused
               : -1;
}

static inline long soak_device_live(void) {
    return atomic_load(&device_live);
}

static inline void *occupy_until_stopped(void *argument) {
    occupier *o = argument;
    uint64_t random = 7;
    cudaStream_t stream = NULL;
    fault_in_runtime++; /* the library is not at work here */
    int error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    while (error == cudaSuccess && !atomic_load(&o->stop)) {
        const int k = (int)draw(&random, 6);
        error = occupied_fractions[k] > 0
                    ? occupy_start(stream, occupied_fractions[k], 1 + (int)draw(&random, 10))
                    : cudaSuccess;
        if (error == cudaErrorTimeout) /* others had the multiprocessors for seconds */
            error = cudaSuccess;
        else
            o->runs[k]++;
        if (error == cudaSuccess)
            error = cudaStreamSynchronize(stream);
        soak_pause(5000 + draw(&random, 30000));
    }
    if (stream != NULL)
        (void)FAULT_RUNTIME(cudaStreamDestroy(stream));
    o->failed = error;
    return NULL;
}

static inline void occupier_start(occupier *o) {
    *o = (occupier){0};
    o->started = pthread_create(&o->thread, NULL, occupy_until_stopped, o) == 0;
    o->failed = !o->started;
}

#else

typedef void *soak_graph;

static inline int soak_stream_open(void **stream) {
    *stream = NULL;
    return 0;
}

static inline void soak_stream_close(void *stream) {
    (void)stream;
}

static inline void soak_hooks(gsw_context *context, int blocks) {
    (void)context;
    (void)blocks;
}

static inline int soak_graph_begin(void *stream) {
    (void)stream;
    return 0;
}

static inline int soak_graph_end(void *stream, soak_graph *exec) {
    (void)stream;
    (void)exec;
    return 0;
}

static inline int soak_graph_launch(soak_graph exec, void *stream) {
    (void)exec;
    (void)stream;
    return 0;
}

static inline void soak_graph_free(soak_graph exec) {
    (void)exec;
}

static inline int64_t soak_free_bytes(void) {
    return 0;
}

static inline long soak_device_live(void) {
    return 0;
}

static inline void occupier_start(occupier *o) {
    *o = (occupier){0};
}

#endif

static inline void occupier_stop(occupier *o) {
    atomic_store(&o->stop, 1);
    if (o->started)
        pthread_join(o->thread, NULL);
    o->started = 0;
}

#endif
