/* multigrid_vector.cu: the vector operations of a cycle: changes of type, sums. Everything is
 * queued on the stream and can be captured in a graph. */
#include "cuda/device/launch.cuh"
#include "multigrid.cuh"
#include "cuda/device/sums.cuh"

namespace {

enum { THREADS = 256, BLOCKS_MAX = GSW_CUDA_PARTIALS };

/* ---- Changes of type --------------------------------------------------------------------------
 */

/* Vectors whose largest entry has an exponent of at most this size become fp32 without a factor. */
constexpr int CALM_EXPONENT = 60;

/* Factors for smaller entries would be infinite. */
constexpr int LEAST_EXPONENT = -1000;

/* The largest of all the threads' values, for all of them. */
__device__ double largest_of_block(double most) {
    __shared__ double of[THREADS];
    of[threadIdx.x] = most;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            of[threadIdx.x] = fmax(of[threadIdx.x], of[threadIdx.x + half]);
        __syncthreads();
    }
    return of[0];
}

/* Copies, and finds the largest |from[i]| of each block, except NaN. */
__global__ void __launch_bounds__(THREADS)
    narrow_to(int64_t n, const double *from, float *to, double *of_block) {
    double most = 0;
    take_turn();
#pragma unroll 8
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS) {
        const double value = from[i];
        most = fmax(most, fabs(value));
        to[i] = (float)value;
    }
    most = largest_of_block(most);
    if (threadIdx.x == 0)
        of_block[blockIdx.x] = most;
}

/* If the largest entry is not near 1, copies again with a factor, a power of two. Each block finds
 * the factor by itself. NaN and infinity do not change. */
__global__ void __launch_bounds__(THREADS)
    scale_to(int64_t n, const double *from, const double *of_block, int blocks, float *to,
             double *scale) {
    double most = 0;
    take_turn();
    for (int block = (int)threadIdx.x; block < blocks; block += THREADS)
        most = fmax(most, of_block[block]);
    most = largest_of_block(most);
    int exponent = most > 0 && isfinite(most) ? ilogb(most) : 0;
    if (abs(exponent) <= CALM_EXPONENT)
        exponent = 0;
    exponent = exponent < LEAST_EXPONENT ? LEAST_EXPONENT : exponent;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *scale = ldexp(1.0, exponent);
    if (exponent == 0)
        return;
    const double factor = ldexp(1.0, -exponent);
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        to[i] = (float)(factor * from[i]);
}

__global__ void __launch_bounds__(THREADS)
    widen_to(int64_t n, const float *from, const double *scale, double *to) {
    take_turn();
    const double factor = *scale;
#pragma unroll 4
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        to[i] = factor * from[i];
}

/* y = a x + b y; with b == 0, y is not read. */
template <typename Value>
__global__ void __launch_bounds__(THREADS)
    combine(int64_t n, Value a, const Value *x, Value b, Value *y) {
    take_turn();
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        y[i] = b == 0 ? a * x[i] : a * x[i] + b * y[i];
}

unsigned blocks_of_sum(int64_t n) {
    const unsigned blocks = blocks_for((n + 3) / 4, THREADS);
    return blocks < BLOCKS_MAX ? blocks : (unsigned)BLOCKS_MAX;
}

} // namespace

gsw_status gsw_cuda_narrow(gsw_context *context, int64_t n, const double *from, float *to,
                           double *scale) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const unsigned blocks = blocks_of_sum(n);
    GSW_TRY(gsw_cuda_check(
        context, launch_kernel(cuda, narrow_to, blocks, THREADS, 0, n, from, to, cuda->partial),
        "scaling"));
    return gsw_cuda_check(context,
                          launch_kernel(cuda, scale_to, blocks, THREADS, 0, n, from, cuda->partial,
                                        (int)blocks, to, scale),
                          "scaling");
}

gsw_status gsw_cuda_widen(gsw_context *context, int64_t n, const float *from, const double *scale,
                          double *to) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    return gsw_cuda_check(context,
                          launch_kernel(cuda, widen_to, blocks_for((n + 3) / 4, THREADS), THREADS,
                                        0, n, from, scale, to),
                          "scaling back");
}

gsw_status gsw_cuda_combine(gsw_context *context, gsw_dtype type, int64_t n, double a,
                            const void *x, double b, void *y) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const cudaError_t error =
        type == GSW_F64
            ? launch_kernel(cuda, combine<double>, blocks_for(n, THREADS), THREADS, 0, n, a,
                            static_cast<const double *>(x), b, static_cast<double *>(y))
            : launch_kernel(cuda, combine<float>, blocks_for(n, THREADS), THREADS, 0, n, (float)a,
                            static_cast<const float *>(x), (float)b, static_cast<float *>(y));
    return gsw_cuda_check(context, error, "a sum of vectors");
}
