/* split.cuh: Eisenstat's form (struct gsw_split), as the table has it. */
#ifndef GSW_CUDA_SPLIT_CUH
#define GSW_CUDA_SPLIT_CUH

#include "cuda/device/context.cuh"

gsw_status gsw_cuda_split_fill(gsw_context *context, const gsw_factor *factor,
                               const gsw_matrix *matrix, const gsw_split *split, int *fits);
gsw_status gsw_cuda_split_apply(gsw_context *context, const gsw_split *split, const double *v,
                                double *t, double *y);

#endif
