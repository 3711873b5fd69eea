/* pivots.cu: see factors.cuh. */
#include "cuda/factor/factors.cuh"

gsw_status gsw_cuda_forget_pivots(gsw_context *context, const gsw_factor *factor) {
    static const gsw_cuda_pivots nothing = {INT64_MAX, INT64_MAX, 0, 0, INT64_MAX};
    return gsw_cuda_check(context,
                          cudaMemcpyAsync(factor->packed->pivots, &nothing, sizeof nothing,
                                          cudaMemcpyHostToDevice, gsw_cuda_of(context)->stream),
                          "the report on pivots");
}

gsw_status gsw_cuda_await_pivots(gsw_context *context, const gsw_factor *factor,
                                 gsw_cuda_pivots *found) {
    cudaStream_t stream = gsw_cuda_of(context)->stream;
    GSW_TRY(gsw_cuda_check(context,
                           cudaMemcpyAsync(found, factor->packed->pivots, sizeof *found,
                                           cudaMemcpyDeviceToHost, stream),
                           "the report on pivots"));
    GSW_TRY(gsw_cuda_check(context, cudaStreamSynchronize(stream), "the factorisation"));
    return gsw_cuda_reported(context);
}
