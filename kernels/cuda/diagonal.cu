/* diagonal.cu: factors whose elimination changes the diagonal alone, made by a sweep.
 *
 * DILU changes nothing else. Nor do ILU(0) and IC(0) where no two neighbours of a point are
 * neighbours of each other, as in D2N5 and D3N7: an update of row i by row j reaches the columns
 * that both rows have, and that is i alone. Then the pivots are
 *
 *     p_i = a_ii - sum over j before i of a_ij a_ji / p_j
 *
 * and x_i = 1 / p_i is a sweep with coefficients a_ij a_ji, right-hand side a_ii, and a reciprocal
 * at the end of each step (sweep_compute.cuh). So three passes make the factor:
 *
 *   1. pack the products a_ij a_ji, in the memory of the lower part
 *   2. sweep: x = 1 / p
 *   3. pack both parts: L = a_ij x_j, U = a_ij x_i with x_i on the diagonal (DILU: both by x_i)
 *
 * Bytes per point for D3N7 in fp64: 72 + 40 + 120. An elimination by rows moves 224, but one warp
 * has to make a whole row in each step.
 *
 * The products have twice the range of the coefficients. The passes set `unfit` where one of them,
 * or of L's, overflows or underflows, where U overflows, and where a pivot is bad or near the ends
 * of the range. gsw_cuda_factor_await() then has the rows eliminated one by one. That also finds
 * and mends bad pivots. So whether a factor is made here depends on the
 * values alone, and repetitions give the same bits. */
#include "cuda/diagonal.cuh"
#include "cuda/pack.cuh"
#include "cuda/pack_rows.cuh"
#include "cuda/sweep.cuh"
#include "cuda/sweep_plan.cuh"

bool gsw_cuda_diagonal_alone(const gsw_factor *factor) {
    const gsw_packed *packed = factor->packed;
    const gsw_factor_options *options = &factor->options;
    const int32_t couplings = packed->view[0].terms;
    if (!gsw_eliminates(options->kind) || options->factor_type != GSW_F64 ||
        options->vector_type != GSW_F64 || factor->as_slab ||
        couplings + 1 + packed->view[1].terms > PACK_PRODUCTS_MAX ||
        !sweep_pivot_kernel(packed->shape))
        return false;
    for (int32_t i = 0; i < packed->updates.first[couplings]; i++) {
        if (packed->updates.update[i].target != couplings)
            return false;
    }
    return true;
}

bool gsw_cuda_diagonal_suits(const gsw_factor *factor, const gsw_matrix *matrix) {
    return factor->packed->diagonal_alone && matrix->format == GSW_FORMAT_STENCIL &&
           matrix->array.value_type == GSW_F64 && matrix->array.values[matrix->stencil.center];
}

gsw_status gsw_cuda_diagonal_fill(gsw_context *context, gsw_factor *factor,
                                  const gsw_matrix *matrix) {
    gsw_packed *packed = factor->packed;
    const void *diagonal = matrix->array.values[matrix->stencil.center];
    const size_t bytes = (size_t)factor->points * sizeof(double);
    if (!packed->reciprocal) {
        GSW_TRY(gsw_cuda_reserve(context, bytes, "the reciprocal pivots", &packed->reciprocal));
        factor->info.work_bytes += (int64_t)bytes;
    }
    double *reciprocal = static_cast<double *>(packed->reciprocal);
    GSW_TRY(gsw_cuda_pack_products(context, factor, matrix));
    GSW_TRY(
        gsw_cuda_sweep_pivots(context, factor, static_cast<const double *>(diagonal), reciprocal));
    return gsw_cuda_pack_pivoted(context, factor, matrix, reciprocal);
}
