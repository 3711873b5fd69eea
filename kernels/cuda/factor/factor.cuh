/* factor.cuh: packed factors, as the table has them. */
#ifndef GSW_CUDA_FACTOR_CUH
#define GSW_CUDA_FACTOR_CUH

#include "cuda/sweep/packed.cuh"

gsw_status gsw_cuda_factor_open(gsw_context *context, gsw_factor *factor);
gsw_status gsw_cuda_factor_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                                const gsw_matrix *upper);
gsw_status gsw_cuda_factor_await(gsw_context *context, gsw_factor *factor);
gsw_status gsw_cuda_factor_sweep(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx);
void gsw_cuda_factor_close(gsw_context *context, gsw_factor *factor);

#endif
