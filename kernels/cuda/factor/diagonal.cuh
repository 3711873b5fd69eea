/* diagonal.cuh: factors whose elimination changes the diagonal alone. */
#ifndef GSW_CUDA_DIAGONAL_CUH
#define GSW_CUDA_DIAGONAL_CUH

#include "cuda/sweep/packed.cuh"

extern "C" {
#include "contract/slab_ops.h"
}

/* What packed->diagonal_alone says of a factor whose tiles and updates are known. */
bool gsw_cuda_diagonal_alone(const gsw_factor *factor);

/* Can gsw_cuda_diagonal_fill() make the factor from this matrix? */
int gsw_cuda_diagonal_suits(const gsw_factor *factor, const gsw_matrix *matrix);

/* Makes the factor, asynchronously. Sets packed->pivots->unfit where its values are of no use: then
 * the rows have to be eliminated one by one. Its first call reserves a vector. */
gsw_status gsw_cuda_diagonal_fill(gsw_context *context, gsw_factor *factor,
                                  const gsw_matrix *matrix);

/* The same for a slab of several, as gsw_slab_ops.step. */
size_t gsw_cuda_diagonal_step_bytes(const gsw_factor *factor);
gsw_status gsw_cuda_diagonal_step(gsw_context *context, gsw_factor *factor,
                                  const gsw_matrix *matrix, gsw_slab_step step, const void *taken,
                                  void *given);

/* Waits; *fits is 0 where a step has set packed->pivots->unfit. */
gsw_status gsw_cuda_diagonal_await(gsw_context *context, gsw_factor *factor, int *fits);

#endif
