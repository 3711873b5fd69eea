/* pivots.cuh: what a factorisation has found. */
#ifndef GSW_CUDA_PIVOTS_CUH
#define GSW_CUDA_PIVOTS_CUH

#include "cuda/sweep/packed.cuh"

/* Resets packed->pivots, asynchronously; and reads it. Reading waits for the stream. Sweeps need
 * that, because they read coefficients before the kernels queued before them have ended. */
gsw_status gsw_cuda_forget_pivots(gsw_context *context, const gsw_factor *factor);
gsw_status gsw_cuda_await_pivots(gsw_context *context, const gsw_factor *factor,
                                 gsw_cuda_pivots *found);

#endif
