/* vector.cu: fp64 vector operations for the Krylov solvers.
 *
 * Elementwise ones only queue a kernel on the stream: nothing is allocated and nobody waits, so
 * they can be captured in a graph. A dot product is a sum in two stages whose shape depends on the
 * length alone: the same bits on every run and every device. It waits for its result. */
#include "cuda/context.cuh"
#include "cuda/vector.cuh"

namespace {

/* A tile is what a block works on at a time. Each thread has several loads under way before it
 * needs the first value: that many are needed to use the memory's whole bandwidth. */
enum { THREADS = 256, PER_THREAD = 4, TILE = THREADS * PER_THREAD };

/* Far more blocks than run at a time; more tiles than these are shared out in rounds. */
constexpr int64_t BLOCKS_MAX = int64_t{1} << 30;

int64_t tiles_of(int64_t n) {
    return n / TILE + (n % TILE != 0);
}

unsigned blocks_for(int64_t n, int64_t most) {
    int64_t tiles = tiles_of(n);
    return static_cast<unsigned>(tiles < most ? tiles : most);
}

__global__ void __launch_bounds__(THREADS) fill(int64_t n, double a, double *x) {
    for (int64_t tile = int64_t{blockIdx.x} * TILE; tile < n; tile += int64_t{gridDim.x} * TILE)
        for (int k = 0; k < PER_THREAD; k++) {
            int64_t i = tile + k * THREADS + threadIdx.x;
            if (i < n)
                x[i] = a;
        }
}

/* The thread's values of a tile; 0 behind the end. */
__device__ void load(int64_t n, int64_t tile, const double *from, double (&to)[PER_THREAD]) {
#pragma unroll
    for (int k = 0; k < PER_THREAD; k++) {
        int64_t i = tile + k * THREADS + threadIdx.x;
        to[k] = i < n ? from[i] : 0.0;
    }
}

/* y = a x + b y, without reading y where it is only written: what it holds, a NaN for one, must not
 * come through. x may be y, so all loads of a thread come before its stores. */
template <bool reads_y>
__global__ void __launch_bounds__(THREADS)
    axpby(int64_t n, double a, const double *x, double b, double *y) {
    for (int64_t tile = int64_t{blockIdx.x} * TILE; tile < n; tile += int64_t{gridDim.x} * TILE) {
        double from[PER_THREAD], to[PER_THREAD];
        load(n, tile, x, from);
        if (reads_y)
            load(n, tile, y, to);
#pragma unroll
        for (int k = 0; k < PER_THREAD; k++) {
            int64_t i = tile + k * THREADS + threadIdx.x;
            if (i < n)
                y[i] = reads_y ? fma(a, from[k], __dmul_rn(b, to[k])) : __dmul_rn(a, from[k]);
        }
    }
}

/* The sum of the block's values, in thread 0: a tree within each warp, then the warps in order. */
__device__ double sum_of_block(double value) {
    __shared__ double of_warp[THREADS / 32];
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffffU, value, distance);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    double sum = 0;
    for (int warp = 0; warp < THREADS / 32; warp++)
        sum += of_warp[warp];
    return sum;
}

/* First stage: block k sums the tiles k, k + gridDim, ... into partial[k]. */
__global__ void __launch_bounds__(THREADS)
    dot_tiles(int64_t n, const double *x, const double *y, double *partial) {
    double sum[PER_THREAD] = {};
    for (int64_t tile = int64_t{blockIdx.x} * TILE; tile < n; tile += int64_t{gridDim.x} * TILE) {
        double left[PER_THREAD], right[PER_THREAD];
        load(n, tile, x, left);
        load(n, tile, y, right);
#pragma unroll
        for (int k = 0; k < PER_THREAD; k++)
            sum[k] = fma(left[k], right[k], sum[k]);
    }
    double total = sum_of_block((sum[0] + sum[1]) + (sum[2] + sum[3]));
    if (threadIdx.x == 0)
        partial[blockIdx.x] = total;
}

/* Second stage: one block; `result` is pinned host memory. */
__global__ void __launch_bounds__(THREADS)
    dot_partials(int count, const double *partial, double *result) {
    double sum = 0;
    for (int k = static_cast<int>(threadIdx.x); k < count; k += THREADS)
        sum += partial[k];
    double total = sum_of_block(sum);
    if (threadIdx.x == 0)
        *result = total;
}

} // namespace

gsw_status gsw_cuda_fill(gsw_context *context, int64_t n, double a, double *x) {
    if (n == 0)
        return GSW_SUCCESS;
    fill<<<blocks_for(n, BLOCKS_MAX), THREADS, 0, gsw_cuda_of(context)->stream>>>(n, a, x);
    return gsw_cuda_check_launch(context, "filling a vector");
}

gsw_status gsw_cuda_copy(gsw_context *context, int64_t n, const double *x, double *y) {
    if (n == 0)
        return GSW_SUCCESS;
    return gsw_cuda_check(context,
                          cudaMemcpyAsync(y, x, static_cast<size_t>(n) * sizeof *x,
                                          cudaMemcpyDeviceToDevice, gsw_cuda_of(context)->stream),
                          "copying a vector");
}

gsw_status gsw_cuda_axpby(gsw_context *context, int64_t n, double a, const double *x, double b,
                          double *y) {
    cudaStream_t stream = gsw_cuda_of(context)->stream;
    if (n == 0)
        return GSW_SUCCESS;
    if (b == 0)
        axpby<false><<<blocks_for(n, BLOCKS_MAX), THREADS, 0, stream>>>(n, a, x, b, y);
    else
        axpby<true><<<blocks_for(n, BLOCKS_MAX), THREADS, 0, stream>>>(n, a, x, b, y);
    return gsw_cuda_check_launch(context, "adding vectors");
}

gsw_status gsw_cuda_dot(gsw_context *context, int64_t n, const double *x, const double *y,
                        double *result) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    unsigned blocks = blocks_for(n, GSW_CUDA_PARTIALS);
    if (n > 0) {
        dot_tiles<<<blocks, THREADS, 0, cuda->stream>>>(n, x, y, cuda->partial);
        GSW_TRY(gsw_cuda_check_launch(context, "a dot product"));
    }
    dot_partials<<<1, THREADS, 0, cuda->stream>>>(static_cast<int>(blocks), cuda->partial,
                                                  cuda->sum);
    GSW_TRY(gsw_cuda_check_launch(context, "a dot product"));
    GSW_TRY(gsw_cuda_check(context, cudaStreamSynchronize(cuda->stream), "a dot product"));
    GSW_TRY(gsw_cuda_reported(context));
    *result = *cuda->sum;
    return GSW_SUCCESS;
}
