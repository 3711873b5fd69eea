/* sums.cuh: sums over a whole grid of blocks. Their bits depend on nothing but the number of
 * values, and those of threefold sums nearly never on that (threefold.h). The second and third
 * words cost no time where memory is the limit.
 *
 * Sums are taken in two stages: each block leaves one partial sum, and the block that finishes last
 * adds them up in a fixed order and uses the sums. */
#ifndef GSW_CUDA_SUMS_CUH
#define GSW_CUDA_SUMS_CUH

#include "context.cuh"

/* Most blocks of a sum over vectors, and most sums of one kernel. The first is a constant, so that
 * the order of the additions, and the bits of the result, are the same on every device.
 * gsw_cuda.partial holds a value per block and sum. */
enum { GSW_CUDA_PARTIALS = 1024, GSW_CUDA_SUMS = 8 };

/* Systems whose sums one kernel takes, with as many blocks as for one system alone, so that the
 * bits are the same. */
enum { GSW_CUDA_TOGETHER = 4 };

/* Values of gsw_cuda.partial: the second words of threefold sums come after all sums, and then the
 * third words. */
enum {
    GSW_CUDA_RESTS = GSW_CUDA_TOGETHER * GSW_CUDA_SUMS * GSW_CUDA_PARTIALS,
    GSW_CUDA_PARTIAL_VALUES = 3 * GSW_CUDA_RESTS
};

namespace {

enum { SUM_THREADS = 256 }; /* of a block that takes sums */

/* Most blocks of any kernel that takes `sums` sums. */
__host__ __device__ constexpr unsigned sum_blocks_max(int sums) {
    return (unsigned)(GSW_CUDA_SUMS * GSW_CUDA_PARTIALS / sums);
}

/* What the blocks of a sum share. One sum is under way at a time: all are on one stream. */
struct sum_scratch {
    double *partial; /* of sum j: from j * `row` on, one for each block */
    unsigned *done;  /* blocks that have left theirs; 0 between kernels */
};

sum_scratch scratch_of(gsw_context *context) {
    return {gsw_cuda_of(context)->partial, gsw_cuda_of(context)->done};
}

using threefold = gsw_threefold;

__device__ __forceinline__ void add(double &to, double value) {
    to += value;
}

__device__ __forceinline__ void add(threefold &to, const threefold &value) {
    gsw_threefold_add(&to, &value);
}

__device__ __forceinline__ void add_product(double &to, double x, double y) {
    to = fma(x, y, to);
}

__device__ __forceinline__ void add_product(threefold &to, double x, double y) {
    const double product = __dmul_rn(x, y), error = fma(x, y, -product);
    gsw_threefold_add_rest(&to, gsw_add_exactly(&to.sum, product));
    gsw_threefold_add_rest(&to, error);
}

__device__ __forceinline__ double from_lane(double value, int distance) {
    return __shfl_down_sync(0xffffffffU, value, distance);
}

__device__ __forceinline__ threefold from_lane(const threefold &value, int distance) {
    return {from_lane(value.sum, distance), from_lane(value.rest, distance),
            from_lane(value.last, distance)};
}

__device__ __forceinline__ void leave_partial(double *place, double value) {
    *place = value;
}

__device__ __forceinline__ void leave_partial(double *place, const threefold &value) {
    place[0] = value.sum;
    place[GSW_CUDA_RESTS] = value.rest;
    place[2 * GSW_CUDA_RESTS] = value.last;
}

__device__ __forceinline__ void add_partial(double &to, const double *place) {
    to += __ldcg(place);
}

__device__ __forceinline__ void add_partial(threefold &to, const double *place) {
    add(to, threefold{__ldcg(place), __ldcg(place + GSW_CUDA_RESTS),
                      __ldcg(place + 2 * GSW_CUDA_RESTS)});
}

/* Adds up each of the block's values, in thread 0: a tree within each warp, then the warps in
 * order. A barrier must lie between two calls. */
template <typename Sum, int count> __device__ void sum_of_block(Sum (&value)[count]) {
    __shared__ Sum of_warp[count][SUM_THREADS / 32];
#pragma unroll
    for (int j = 0; j < count; j++) {
        for (int distance = 16; distance > 0; distance /= 2)
            add(value[j], from_lane(value[j], distance));
        if (threadIdx.x % 32 == 0)
            of_warp[j][threadIdx.x / 32] = value[j];
    }
    __syncthreads();
    if (threadIdx.x != 0)
        return;
#pragma unroll
    for (int j = 0; j < count; j++) {
        value[j] = {};
        for (int warp = 0; warp < SUM_THREADS / 32; warp++)
            add(value[j], of_warp[j][warp]);
    }
}

/* Adds up each thread's values over the whole grid, of at most `row` blocks. Returns true in all
 * threads of one block, and the sums in its thread 0; all other blocks have finished their work
 * then. Each block writes its partial sums, fences, and counts itself. The block that counts last
 * fences and reads all partial sums. No block waits for another. */
template <typename Sum, int count>
__device__ bool sum_of_grid(const sum_scratch scratch, Sum (&value)[count]) {
    constexpr unsigned row = sum_blocks_max(count);
    __shared__ bool last;
    sum_of_block(value);
    if (threadIdx.x == 0) {
#pragma unroll
        for (int j = 0; j < count; j++)
            leave_partial(&scratch.partial[j * row + blockIdx.x], value[j]);
        __threadfence();
        last = atomicAdd(scratch.done, 1U) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return false;
#pragma unroll
    for (int j = 0; j < count; j++) {
        value[j] = {};
#pragma unroll 8
        for (unsigned block = threadIdx.x; block < gridDim.x; block += SUM_THREADS)
            add_partial(value[j], &scratch.partial[j * row + block]);
    }
    sum_of_block(value);
    if (threadIdx.x == 0)
        *scratch.done = 0;
    return true;
}

} // namespace

#endif
