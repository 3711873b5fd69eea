/* scalars.cu: see scalars.h. */
#include <cuda_runtime.h>

#include "scalars.h"

namespace {

__global__ void divide(const double *a, const double *b, double *pair) {
    const double quotient = *a == 0 ? 0 : *a / *b;
    pair[0] = quotient;
    pair[1] = -quotient;
}

__global__ void advance(const double *next, double *current, const double *alpha,
                        const double *omega, double *beta) {
    *beta = (*next / *current) * (*alpha / *omega);
    *current = *next;
}

} // namespace

extern "C" int gsw_scalars_divide(void *stream, const double *a, const double *b, double *pair) {
    divide<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(a, b, pair);
    return int(cudaGetLastError());
}

extern "C" int gsw_scalars_advance(void *stream, const double *next, double *current,
                                   const double *alpha, const double *omega, double *beta) {
    advance<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(next, current, alpha, omega, beta);
    return int(cudaGetLastError());
}
