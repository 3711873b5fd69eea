/* context.cu: see context.cuh. */
#include "context.cuh"

gsw_status gsw_cuda_check(gsw_context *context, cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return GSW_SUCCESS;
    (void)cudaGetLastError();
    gsw_status status =
        error == cudaErrorMemoryAllocation ? GSW_ERROR_OUT_OF_MEMORY : GSW_ERROR_DEVICE;
    return gsw_fail(context, status, "%s: %s", what, cudaGetErrorString(error));
}

gsw_status gsw_cuda_reserve(gsw_context *context, size_t bytes, const char *what, void **pointer) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    *pointer = NULL;
    if (bytes == 0)
        bytes = 1;
    return gsw_cuda_check(context,
                          cuda->pool
                              ? cudaMallocFromPoolAsync(pointer, bytes, cuda->pool, cuda->stream)
                              : cudaMalloc(pointer, bytes),
                          what);
}

void gsw_cuda_unreserve(gsw_context *context, void *pointer) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    if (!pointer)
        return;
    if (cuda->pool) {
        (void)cudaFreeAsync(pointer, cuda->stream);
    } else {
        (void)cudaStreamSynchronize(cuda->stream);
        (void)cudaFree(pointer);
    }
    (void)cudaGetLastError();
}

gsw_status gsw_cuda_aside(gsw_context *context, gsw_aside step) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    cudaError_t error = cudaSuccess;
    switch (step) {
    case GSW_ASIDE_BEGIN:
        error = cudaEventRecord(cuda->marked, cuda->stream);
        if (error == cudaSuccess)
            error = cudaStreamWaitEvent(cuda->aside, cuda->marked, 0);
        if (error == cudaSuccess) {
            cuda->given = cuda->stream;
            cuda->stream = cuda->aside;
        }
        break;
    case GSW_ASIDE_END:
        cuda->stream = cuda->given;
        break;
    case GSW_ASIDE_JOIN:
        error = cudaEventRecord(cuda->marked, cuda->aside);
        if (error == cudaSuccess)
            error = cudaStreamWaitEvent(cuda->stream, cuda->marked, 0);
        break;
    }
    return gsw_cuda_check(context, error, "ordering work on two streams");
}

gsw_status gsw_cuda_allow_shared(gsw_context *context, const void *kernel, const char *what) {
    cudaFuncAttributes attributes;
    int most = 0;
    GSW_TRY(gsw_cuda_check(context, cudaFuncGetAttributes(&attributes, kernel), what));
    GSW_TRY(gsw_cuda_check(context,
                           cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                                  gsw_cuda_of(context)->device),
                           what));
    most -= static_cast<int>(attributes.sharedSizeBytes);
    return gsw_cuda_check(
        context, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        what);
}

gsw_status gsw_cuda_enter(gsw_context *context) {
    /* Earlier errors of the program's own calls are not reported here. An error that has broken the
     * device's context stays, and the next call returns it again. */
    (void)cudaGetLastError();
    GSW_TRY(gsw_cuda_check(context, cudaSetDevice(gsw_cuda_of(context)->device),
                           "making the device current"));
    return gsw_cuda_reported(context);
}

gsw_status gsw_cuda_reported(gsw_context *context) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    gsw_cuda_report *report = cuda->report;
    const int32_t status = __atomic_load_n(&report->status, __ATOMIC_ACQUIRE);
    if (status == GSW_SUCCESS)
        return GSW_SUCCESS;
    const long long row = __atomic_load_n(&report->row, __ATOMIC_RELAXED);
    const int32_t what = __atomic_load_n(&report->what, __ATOMIC_RELAXED);
    const long long ms = __atomic_load_n(&report->wait_limit_ns, __ATOMIC_RELAXED) / 1000000;
    cuda->timeouts += status == GSW_ERROR_TIMEOUT;
    report->row = 0;
    report->what = 0;
    __atomic_store_n(&report->status, GSW_SUCCESS, __ATOMIC_RELEASE);
    if (status == GSW_ERROR_TIMEOUT && what == GSW_CUDA_PROCESS)
        return gsw_fail(context, GSW_ERROR_TIMEOUT,
                        "another process has sent no planes for %lld ms", ms);
    if (status == GSW_ERROR_TIMEOUT)
        return gsw_fail(context, GSW_ERROR_TIMEOUT,
                        "%s %lld made no progress for %lld ms; the solve was given up",
                        what == GSW_CUDA_PENCIL ? "pencil" : "line", row, ms);
    if (status == GSW_ERROR_NOT_A_GRID)
        return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                        "row %lld (0-based) does not fit the grid and the stencil", row);
    return gsw_fail(context, static_cast<gsw_status>(status), "a kernel reported: %s",
                    gsw_status_text(static_cast<gsw_status>(status)));
}
