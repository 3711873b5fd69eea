/* sums.cuh: sums over a whole grid of blocks, whose bits depend only on the number of values.
 *
 * They are taken in two stages: each block leaves one partial sum, and the block that finishes last
 * adds them up in a fixed order and uses the sums. */
#ifndef GSW_CUDA_SUMS_CUH
#define GSW_CUDA_SUMS_CUH

#include "cuda/context.cuh"

/* Most blocks of a sum over vectors, and most sums of one kernel. The first is a constant, so that
 * the order of the additions, and the bits of the result, are the same on every device.
 * gsw_cuda.partial holds a value per block and sum. */
enum { GSW_CUDA_PARTIALS = 1024, GSW_CUDA_SUMS = 8 };

namespace {

enum { SUM_THREADS = 256 }; /* of a block that takes sums */

/* Most blocks of any kernel that takes `sums` sums. */
__host__ __device__ constexpr unsigned sum_blocks_max(int sums) {
    return (unsigned)(GSW_CUDA_SUMS * GSW_CUDA_PARTIALS / sums);
}

/* What the blocks of a sum share. One sum is under way at a time: all are on one stream. */
struct sum_scratch {
    double *partial; /* of sum j: from j * sum_blocks_max() on, one for each block */
    unsigned *done;  /* blocks that have left theirs; 0 between kernels */
};

sum_scratch scratch_of(gsw_context *context) {
    return {gsw_cuda_of(context)->partial, gsw_cuda_of(context)->done};
}

/* Adds up each of the block's values, in all threads: a tree within each warp, then the warps in
 * order. A barrier must lie between two calls. */
template <int count> __device__ void sum_of_block(double (&value)[count]) {
    __shared__ double of_warp[count][SUM_THREADS / 32];
#pragma unroll
    for (int j = 0; j < count; j++) {
        for (int distance = 16; distance > 0; distance /= 2)
            value[j] += __shfl_down_sync(0xffffffffU, value[j], distance);
        if (threadIdx.x % 32 == 0)
            of_warp[j][threadIdx.x / 32] = value[j];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < count; j++) {
        value[j] = 0;
        for (int warp = 0; warp < SUM_THREADS / 32; warp++)
            value[j] += of_warp[j][warp];
    }
}

/* Adds up each thread's values over the whole grid. Returns true in all threads of one block, with
 * the sums; all other blocks have finished their work then. Each block writes its partial sums,
 * fences, and counts itself. The block that counts last fences and reads all partial sums. No block
 * waits for another. */
template <int count>
__device__ bool sum_of_grid(const sum_scratch scratch, double (&value)[count]) {
    __shared__ bool last;
    sum_of_block(value);
    if (threadIdx.x == 0) {
#pragma unroll
        for (int j = 0; j < count; j++)
            scratch.partial[j * sum_blocks_max(count) + blockIdx.x] = value[j];
        __threadfence();
        last = atomicAdd(scratch.done, 1U) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last)
        return false;
#pragma unroll
    for (int j = 0; j < count; j++) {
        value[j] = 0;
#pragma unroll 8
        for (unsigned block = threadIdx.x; block < gridDim.x; block += SUM_THREADS)
            value[j] += __ldcg(&scratch.partial[j * sum_blocks_max(count) + block]);
    }
    sum_of_block(value);
    if (threadIdx.x == 0)
        *scratch.done = 0;
    return true;
}

} // namespace

#endif
