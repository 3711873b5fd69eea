/* split.cu: see factors.cuh.
 *
 * The first sweep, U1 t = v, stores t and w = v + K t; the second one, L1 x = w, stores y = t + x.
 * The storers copy what they add some chunks ahead. Bytes per point for D3N7: 24 + 32 (v twice,
 * once from the cache, K; t, w) and 24 + 24 (w, t; y), 104 in all. Two sweeps and a product with A
 * move 160. */
#include "cuda/device/launch.cuh"
#include "pack.cuh"
#include "cuda/factor/factors.cuh"
#include "pack_rows.cuh"
#include "cuda/sweep/sweep.cuh"

namespace {

constexpr int THREADS = 256;

/* T^-1 and K from the diagonal and the reciprocals of E; NULL: E = diagonal / omega. */
__global__ void __launch_bounds__(THREADS)
    scale_rows(int64_t n, const double *diagonal, const double *reciprocal, double omega,
               bool symmetric, double *right, double *k, gsw_cuda_pivots *pivots) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    const double d = diagonal[i], r = reciprocal ? reciprocal[i] : omega / d;
    if (!pack_is_normal(r) || (symmetric && r < 0))
        pivots->unfit = 1;
    right[i] = symmetric ? sqrt(r) : r;
    k[i] = fma(d, r, -2.0);
}

} // namespace

gsw_status gsw_cuda_split_fill(gsw_context *context, const gsw_factor *factor,
                               const gsw_matrix *matrix, const gsw_split *split, int *fits) {
    const gsw_packed *packed = factor->packed, *parts = split->parts->packed;
    const bool ssor = factor->options.kind == GSW_SSOR;
    gsw_cuda_pivots found;
    *fits = 0;
    if ((!ssor && !packed->pivots_known) || matrix->stencil.count > PACK_PRODUCTS_MAX)
        return GSW_SUCCESS;
    GSW_TRY(gsw_cuda_sweep_sum_open(context, split->parts, fits));
    if (!*fits)
        return GSW_SUCCESS;
    GSW_TRY(gsw_cuda_forget_pivots(context, split->parts));
    scale_rows<<<(unsigned)gsw_ceil_div(factor->points, THREADS), THREADS, 0,
                 gsw_cuda_of(context)->stream>>>(
        factor->points, static_cast<const double *>(matrix->array.values[matrix->stencil.center]),
        ssor ? NULL : static_cast<const double *>(packed->reciprocal), factor->options.omega,
        split->left == split->right, split->right, split->k, parts->pivots);
    GSW_TRY(gsw_cuda_check_launch(context, "Eisenstat's form"));
    GSW_TRY(gsw_cuda_pack_scaled(context, split->parts, matrix, split->left, split->right));
    GSW_TRY(gsw_cuda_await_pivots(context, split->parts, &found));
    *fits = !found.unfit;
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_split_apply(gsw_context *context, const gsw_split *split, const double *v,
                                double *t, double *y) {
    const gsw_sweep_sum upper = {v, v, split->k, t, y}, lower = {y, t, NULL, NULL, y};
    GSW_TRY(gsw_cuda_sweep_sum(context, split->parts, 1, &upper));
    return gsw_cuda_sweep_sum(context, split->parts, 0, &lower);
}
