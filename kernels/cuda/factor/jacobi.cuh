/* jacobi.cuh: JACOBI on the device. */
#ifndef GSW_CUDA_JACOBI_CUH
#define GSW_CUDA_JACOBI_CUH

#include "cuda/sweep/packed.cuh"

/* Fills packed->reciprocal from the matrix's diagonal. Reports into packed->pivots, which has been
 * reset. Asynchronous. */
gsw_status gsw_cuda_jacobi_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix);

/* x = b / diagonal for `count` right-hand sides in device memory, ldb and ldx values apart; x may
 * be b. Asynchronous. */
gsw_status gsw_cuda_jacobi_apply(gsw_context *context, gsw_factor *factor, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx);

#endif
