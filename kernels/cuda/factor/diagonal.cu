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
 * values alone, and repetitions give the same bits.
 *
 * SLABS make their passes at the same time, in steps (contract/slab_ops.h). Products need
 * a_ji of the last planes of the slab below. The sweep crosses from slab to slab as each sweep
 * does. L needs x of these planes, which lies before the slab's own. So slabs have the bits of the
 * whole grid. */
#include "diagonal.cuh"
#include "pack.cuh"
#include "pack_rows.cuh"
#include "cuda/factor/factors.cuh"
#include "cuda/rows/rows.cuh"
#include "cuda/sweep/slab.cuh"
#include "cuda/sweep/sweep.cuh"
#include "cuda/sweep/sweep_plan.cuh"

bool gsw_cuda_diagonal_alone(const gsw_factor *factor) {
    const gsw_packed *packed = factor->packed;
    const gsw_factor_options *options = &factor->options;
    const int32_t couplings = packed->view[0].terms;
    if (!gsw_eliminates(options->kind) || factor->deal || options->factor_type != GSW_F64 ||
        options->vector_type != GSW_F64 ||
        couplings + 1 + packed->view[1].terms > PACK_PRODUCTS_MAX ||
        !sweep_pivot_kernel(packed->shape, false))
        return false;
    for (int32_t i = 0; i < packed->updates.first[couplings]; i++) {
        if (packed->updates.update[i].target != couplings)
            return false;
    }
    return true;
}

int gsw_cuda_diagonal_suits(const gsw_factor *factor, const gsw_matrix *matrix) {
    return factor->packed->diagonal_alone && array_of(matrix, matrix->stencil.center) &&
           matrix->array.value_type == GSW_F64;
}

/* The vector of reciprocal pivots, after the points of the slab below that L reads. */
static gsw_status open_reciprocal(gsw_context *context, gsw_factor *factor, double **reciprocal) {
    gsw_packed *packed = factor->packed;
    const int64_t before = factor->ghosts[GSW_BELOW] > 0 ? gsw_cuda_ghost_points(factor) : 0;
    const size_t bytes = (size_t)(before + factor->points) * sizeof(double);
    if (!packed->reciprocal) {
        GSW_TRY(gsw_cuda_reserve(context, bytes, "the reciprocal pivots", &packed->reciprocal));
        factor->info.work_bytes += (int64_t)bytes;
    }
    *reciprocal = static_cast<double *>(packed->reciprocal) + before;
    return GSW_SUCCESS;
}

static gsw_status sweep(gsw_context *context, const gsw_factor *factor, const gsw_matrix *matrix,
                        double *reciprocal) {
    const void *diagonal = array_of(matrix, matrix->stencil.center);
    return gsw_cuda_sweep_pivots(context, factor, static_cast<const double *>(diagonal),
                                 reciprocal);
}

gsw_status gsw_cuda_diagonal_fill(gsw_context *context, gsw_factor *factor,
                                  const gsw_matrix *matrix) {
    double *reciprocal;
    GSW_TRY(open_reciprocal(context, factor, &reciprocal));
    GSW_TRY(gsw_cuda_pack_products(context, factor, matrix, NULL));
    GSW_TRY(sweep(context, factor, matrix, reciprocal));
    return gsw_cuda_pack_pivoted(context, factor, matrix, reciprocal);
}

size_t gsw_cuda_diagonal_step_bytes(const gsw_factor *factor) {
    const size_t vectors = (size_t)gsw_cuda_couplings_across(factor) + 1;
    return factor->packed->diagonal_alone
               ? vectors * (size_t)gsw_cuda_ghost_points(factor) * sizeof(double)
               : 0;
}

gsw_status gsw_cuda_diagonal_step(gsw_context *context, gsw_factor *factor,
                                  const gsw_matrix *matrix, gsw_slab_step step, const void *taken,
                                  void *given) {
    const int64_t points = gsw_cuda_ghost_points(factor);
    const int64_t couplings = gsw_cuda_couplings_across(factor) * points;
    const size_t bytes = (size_t)points * sizeof(double);
    const double *from = static_cast<const double *>(taken);
    double *to = static_cast<double *>(given), *reciprocal;
    GSW_TRY(open_reciprocal(context, factor, &reciprocal));
    switch (step) {
    case GSW_STEP_GIVE:
        factor->packed->pivots_known = false;
        return to ? gsw_cuda_give_couplings(context, factor, matrix, to) : GSW_SUCCESS;
    case GSW_STEP_BEFORE:
        GSW_TRY(gsw_cuda_forget_pivots(context, factor));
        return gsw_cuda_pack_products(context, factor, matrix, couplings > 0 ? from : NULL);
    case GSW_STEP_SWEEP:
        GSW_TRY(sweep(context, factor, matrix, reciprocal));
        return to ? gsw_cuda_put(context, to + couplings, reciprocal + factor->points - points,
                                 bytes)
                  : GSW_SUCCESS;
    case GSW_STEP_AFTER:
        if (from)
            GSW_TRY(gsw_cuda_put(context, reciprocal - points, from + couplings, bytes));
        break;
    }
    return gsw_cuda_pack_pivoted(context, factor, matrix, reciprocal);
}

gsw_status gsw_cuda_diagonal_await(gsw_context *context, gsw_factor *factor, int *fits) {
    gsw_cuda_pivots found;
    GSW_TRY(gsw_cuda_await_pivots(context, factor, &found));
    factor->info.first_bad_row = -1;
    factor->info.shifted_pivots = 0;
    *fits = found.unfit == 0;
    gsw_cuda_of(context)->made_in_steps += *fits;
    return GSW_SUCCESS;
}
