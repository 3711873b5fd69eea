/* sums.cuh: sums over a whole grid of blocks. Their bits depend on nothing but the number of
 * values, and those of threefold sums nearly never on that.
 *
 * They are taken in two stages: each block leaves one partial sum, and the block that finishes last
 * adds them up in a fixed order and uses the sums.
 *
 * THREEFOLD SUMS carry what rounding loses in a second and a third word, as in three times the
 * working precision (Dot3 of Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26, 2005). Rounded at the
 * end they are, nearly always, the double next to the true sum. So a vector that is cut in other
 * pieces, or lies in several processes, has the same sum. Two words are not enough: where BiCGSTAB
 * nearly breaks down, the terms of a sum are 1e12 times as large as the sum. They cost no time
 * where memory is the limit. */
#ifndef GSW_CUDA_SUMS_CUH
#define GSW_CUDA_SUMS_CUH

#include "cuda/context.cuh"

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

struct threefold {
    double sum, rest, last;
};

__device__ __forceinline__ void add(double &to, double value) {
    to += value;
}

/* to += value; returns the rounding error, exactly. */
__device__ __forceinline__ double add_exactly(double &to, double value) {
    const double sum = to + value, part = sum - to;
    const double error = (to - (sum - part)) + (value - part);
    to = sum;
    return error;
}

__device__ __forceinline__ void add_rest(threefold &to, double rest) {
    to.last += add_exactly(to.rest, rest);
}

__device__ __forceinline__ void add(threefold &to, double value) {
    add_rest(to, add_exactly(to.sum, value));
}

__device__ __forceinline__ void add(threefold &to, const threefold &value) {
    add(to, value.sum);
    add_rest(to, value.rest);
    to.last += value.last;
}

__device__ __forceinline__ void add_product(double &to, double x, double y) {
    to = fma(x, y, to);
}

/* The two errors are added in one word: what that loses has no system, unlike the errors of a long
 * sum, and does not add up. */
__device__ __forceinline__ void add_product(threefold &to, double x, double y) {
    const double product = __dmul_rn(x, y), error = fma(x, y, -product);
    add_rest(to, error + add_exactly(to.sum, product));
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

/* Adds up each of the block's values, in all threads: a tree within each warp, then the warps in
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
#pragma unroll
    for (int j = 0; j < count; j++) {
        value[j] = {};
        for (int warp = 0; warp < SUM_THREADS / 32; warp++)
            add(value[j], of_warp[j][warp]);
    }
}

/* Adds up each thread's values over the whole grid, of at most `row` blocks. Returns true in all
 * threads of one block, with the sums; all other blocks have finished their work then. Each block
 * writes its partial sums, fences, and counts itself. The block that counts last fences and reads
 * all partial sums. No block waits for another. */
template <unsigned given = 0, typename Sum, int count>
__device__ bool sum_of_grid(const sum_scratch scratch, Sum (&value)[count]) {
    constexpr unsigned row = given > 0 ? given : sum_blocks_max(count);
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

/* Ends a pass with `count` threefold sums, as a sum and its rest: one thread calls it. */
template <int count>
__device__ void end_pass(gsw_krylov_state *state, gsw_pass pass, const threefold *total) {
    double sum[count], rest[count];
    for (int j = 0; j < count; j++) {
        sum[j] = total[j].sum;
        rest[j] = 0;
        if (sum[j] - sum[j] == 0) /* the rests of an infinite sum mean nothing */
            rest[j] = add_exactly(sum[j], total[j].rest) + total[j].last;
    }
    gsw_krylov_end_pass(state, pass, sum, rest, count);
}

} // namespace

#endif
