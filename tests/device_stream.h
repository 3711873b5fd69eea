/* device_stream.h: streams, and contexts whose kernels wait as long as the tests need. */
#ifndef GSW_TESTS_DEVICE_STREAM_H
#define GSW_TESTS_DEVICE_STREAM_H

#include <cuda_runtime_api.h>

#include "cuda/device/test_hooks.h"
#include "device.h"

/* For gsw_cuda_test_hooks(): no line or pencil is withheld. */
#define NOTHING_WITHHELD INT64_C(-1)
/* Far longer than any solve in a test takes. */
#define PATIENT_NS INT64_C(20000000000)

/* Under a tool that slows everything down, kernels must wait longer than usual. */
static inline gsw_context *open_cuda(void *stream) {
    gsw_context *cuda = device_context(stream);
    if (device_stride() > 1)
        gsw_cuda_test_hooks(cuda, 6 * PATIENT_NS, NOTHING_WITHHELD, 0);
    return cuda;
}

static inline cudaStream_t make_stream(void) {
    cudaStream_t stream = NULL;
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    return stream;
}

static inline void close_stream(cudaStream_t stream) {
    ck_assert_int_eq(cudaStreamDestroy(stream), cudaSuccess);
}

#endif
