/* diagonal.cuh: factors whose elimination changes the diagonal alone. */
#ifndef GSW_CUDA_DIAGONAL_CUH
#define GSW_CUDA_DIAGONAL_CUH

#include "cuda/packed.cuh"

/* What packed->diagonal_alone says of a factor whose tiles and updates are known. */
bool gsw_cuda_diagonal_alone(const gsw_factor *factor);

/* Can gsw_cuda_diagonal_fill() make the factor from this matrix? */
bool gsw_cuda_diagonal_suits(const gsw_factor *factor, const gsw_matrix *matrix);

/* Makes the factor, asynchronously. Sets packed->pivots->unfit where its values are of no use: then
 * the rows have to be eliminated one by one. Its first call reserves a vector. */
gsw_status gsw_cuda_diagonal_fill(gsw_context *context, gsw_factor *factor,
                                  const gsw_matrix *matrix);

#endif
