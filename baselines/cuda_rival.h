/* cuda_rival.h: parts that the rivals on the device share. */
#ifndef GSW_CUDA_RIVAL_H
#define GSW_CUDA_RIVAL_H

#include <cuda_runtime_api.h>

#include "rival_parts.h"

/* Returns 0 for cudaSuccess; else writes "<what>: <CUDA's text>" into message, clears the runtime's
 * last error and returns -1. */
static inline int gsw_rival_cuda(cudaError_t error, const char *what, char *message, size_t size) {
    if (error == cudaSuccess)
        return 0;
    (void)cudaGetLastError();
    return gsw_rival_fail(message, size, "%s: %s", what, cudaGetErrorString(error));
}

#endif
