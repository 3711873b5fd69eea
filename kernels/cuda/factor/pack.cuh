/* pack.cuh: packing of factors, and the way back. */
#ifndef GSW_CUDA_PACK_CUH
#define GSW_CUDA_PACK_CUH

#include "cuda/sweep/packed.cuh"

/* Writes the parts' coefficients from the user's matrix (`upper`: kind LU only). Kinds without
 * elimination are then finished. For the others both parts hold the matrix's own coefficients, not
 * yet scaled, and the place of the reciprocal diagonal holds the diagonal. Reports into
 * packed->pivots, which has been reset. Places of a record that belong to no point of the grid, and
 * coefficients of couplings that leave the grid, are 0. Asynchronous. */
gsw_status gsw_cuda_pack(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                         const gsw_matrix *upper);

/* Writes products of coefficients to the memory of the lower part, for gsw_cuda_sweep_pivots():
 * a_ij a_ji in place of a_ij. These records have no diagonal. The matrix is stencil arrays of fp64.
 * A product that overflows or underflows sets packed->pivots->unfit. `ghosts`: what the slab below
 * has given with gsw_cuda_give_couplings(); NULL: nothing. Asynchronous. */
gsw_status gsw_cuda_pack_products(gsw_context *context, const gsw_factor *factor,
                                  const gsw_matrix *matrix, const double *ghosts);

/* Copies the couplings a_ji of the slab's last planes to points of the next slab, in ascending
 * order of offsets: gsw_cuda_couplings_across() times gsw_cuda_ghost_points() values; none for IC0,
 * whose a_ji are a_ij. The matrix is stencil arrays of fp64. Asynchronous. */
gsw_status gsw_cuda_give_couplings(gsw_context *context, const gsw_factor *factor,
                                   const gsw_matrix *matrix, double *to);
int32_t gsw_cuda_couplings_across(const gsw_factor *factor);

/* Points of the planes of another slab that a slab's couplings reach. */
int64_t gsw_cuda_ghost_points(const gsw_factor *factor);

/* Writes both parts of a factor whose reciprocal pivots are known (in natural order; those of
 * gsw_cuda_ghost_points() come before, if there is a slab below). A coefficient that overflows, and
 * one of L in ILU0 and IC0 that underflows, sets packed->pivots->unfit. Asynchronous. */
gsw_status gsw_cuda_pack_pivoted(gsw_context *context, const gsw_factor *factor,
                                 const gsw_matrix *matrix, const double *reciprocal);

/* Writes both parts of a factor of kind LU with unit diagonals, a_ij left_i right_j in place of
 * a_ij; both vectors are in natural order, and left may be NULL: 1. The matrix is stencil arrays of
 * fp64 with at most PACK_PRODUCTS_MAX couplings, none NULL. A coefficient that overflows, or a
 * product with right_j that underflows, sets packed->pivots->unfit. Asynchronous. */
gsw_status gsw_cuda_pack_scaled(gsw_context *context, const gsw_factor *factor,
                                const gsw_matrix *matrix, const double *left, const double *right);

/* As gsw_factor_ops.unpack. Asynchronous. */
gsw_status gsw_cuda_unpack(gsw_context *context, const gsw_factor *factor, int which,
                           double *const *arrays);

#endif
