/* vector.cuh: operations on vectors, for the table of operations. */
#ifndef GSW_CUDA_VECTOR_CUH
#define GSW_CUDA_VECTOR_CUH

#include "cuda/device/context.cuh"

gsw_status gsw_cuda_fill(gsw_context *context, int64_t n, double a, double *x);
gsw_status gsw_cuda_copy(gsw_context *context, int64_t n, const double *x, double *y);
gsw_status gsw_cuda_axpby(gsw_context *context, int64_t n, double a, const double *x, double b,
                          double *y);
gsw_status gsw_cuda_add_scaled(gsw_context *context, int64_t n, const double *d, const double *x,
                               const double *y, double *z);
gsw_status gsw_cuda_squares(gsw_context *context, int64_t n, int64_t count, const double *x,
                            int64_t ldx, double *squares);
gsw_status gsw_cuda_scale(gsw_context *context, int64_t n, int64_t count, const double *a,
                          const double *x, int64_t ldx, double *y, int64_t ldy);
gsw_status gsw_cuda_change_signs(gsw_context *context, int64_t n, const double *x, double *y);
gsw_status gsw_cuda_dot(gsw_context *context, int64_t n, const double *x, const double *y,
                        double *result);
gsw_status gsw_cuda_project(gsw_context *context, int64_t n, int64_t count, const double *x,
                            int64_t stride, const double *y, double *products);
gsw_status gsw_cuda_subtract(gsw_context *context, int64_t n, int64_t count, const double *c,
                             const double *x, int64_t stride, double *y, double *square);
gsw_status gsw_cuda_krylov_pass(gsw_context *context, gsw_pass pass, int64_t n,
                                void *const *vectors, gsw_krylov_state *state);
gsw_status gsw_cuda_krylov_post(gsw_context *context, int slot, int count,
                                const gsw_krylov_state *states, gsw_krylov_state *to);
gsw_status gsw_cuda_krylov_collect(gsw_context *context, int slot, int count, gsw_krylov_state *to);

#endif
