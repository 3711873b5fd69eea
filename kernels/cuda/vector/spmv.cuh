/* spmv.cuh: products with a matrix, for the table of operations. */
#ifndef GSW_CUDA_SPMV_CUH
#define GSW_CUDA_SPMV_CUH

#include "cuda/device/context.cuh"

gsw_status gsw_cuda_spmv(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                         const void *b, const void *x, void *y);
gsw_status gsw_cuda_sweep_rest(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                               int down, gsw_sections sections, const void *b, const void *x,
                               void *y);
gsw_status gsw_cuda_slab_rest(gsw_context *context, const gsw_slab_rest *job);
gsw_status gsw_cuda_multiply(gsw_context *context, const gsw_matrix *matrix, int count,
                             const double *x, double *y, int64_t stride);
gsw_status gsw_cuda_multiply_pass(gsw_context *context, const gsw_matrix *matrix, gsw_pass pass,
                                  int count, double *x, double *y, int64_t stride,
                                  gsw_krylov_state *const *states);
gsw_status gsw_cuda_judge(gsw_context *context, const gsw_matrix *matrix, const double *b,
                          const double *x, double *r, double *sums, int *done);

#endif
