/* multigrid_vector.cu: what a cycle does with vectors: transfers between levels, changes of type,
 * sums. Everything is queued on the stream and can be captured in a graph. */
#include "cuda/launch.cuh"
#include "cuda/multigrid_tables.cuh"
#include "cuda/spmv.cuh"
#include "cuda/vector.cuh"

namespace {

enum { THREADS = 256, BLOCKS_MAX = GSW_CUDA_PARTIALS };

unsigned blocks_for(int64_t n) {
    const int64_t blocks = (n + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks < (1 << 30) ? blocks : 1 << 30);
}

/* ---- Transfers --------------------------------------------------------------------------------
 *
 * A thread serves one coarse point: in the prolongation the fine points of its cell, in the
 * restriction the fine points around it. `axes` is known to the compiler, which unrolls all loops.
 */

struct grids {
    int32_t nx, ny, nz; /* coarse */
    int32_t fx, fy, fz; /* fine */
};

grids grids_of(const gsw_transfer *t) {
    return {(int32_t)t->coarse.nx, (int32_t)t->coarse.ny, (int32_t)t->coarse.nz,
            (int32_t)t->fine.nx,   (int32_t)t->fine.ny,   (int32_t)t->fine.nz};
}

/* Where the weight of each class and subset stands, as gsw_transfer counts them. */
template <int axes> struct weight_numbers {
    int of[GSW_CLASSES][GSW_CLASSES];

    __device__ weight_numbers() {
        int next = 0;
#pragma unroll
        for (int c = 0; c < GSW_CLASSES; c++) {
#pragma unroll
            for (int d = 0; d < GSW_CLASSES; d++) {
                const bool some = c != 0 && (c & ~axes) == 0 && (d & ~c) == 0;
                of[c][d] = some ? next : -1;
                next += some;
            }
        }
    }
};

template <int axes, typename Value>
__global__ void __launch_bounds__(THREADS)
    prolong(const grids g, const __grid_constant__ weight_arrays<const Value> weights, Value scale,
            const Value *from, Value *to) {
    take_turn();
    const int64_t points = (int64_t)g.nx * g.ny * g.nz;
    const weight_numbers<axes> number;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < points;
         i += (int64_t)gridDim.x * THREADS) {
        const point at = point_of(g, i);
        Value corner[GSW_CLASSES];
#pragma unroll
        for (int d = 0; d < GSW_CLASSES; d++) {
            /* Where a corner is missing, its weights are 0: any value serves that is finite where
             * the others are. */
            const point there = {at.x + (d & 1) < g.nx ? at.x + (d & 1) : at.x,
                                 at.y + (d >> 1 & 1) < g.ny ? at.y + (d >> 1 & 1) : at.y,
                                 at.z + (d >> 2 & 1) < g.nz ? at.z + (d >> 2 & 1) : at.z};
            corner[d] = (d & ~axes) == 0 ? from[row_of(g, there)] : 0;
        }
        Value weight[GSW_CLASSES][GSW_CLASSES];
#pragma unroll
        for (int c = 0; c < GSW_CLASSES; c++) {
#pragma unroll
            for (int d = 0; d < GSW_CLASSES; d++)
                if (number.of[c][d] >= 0)
                    weight[c][d] = weights.values[number.of[c][d]][i];
        }
#pragma unroll
        for (int c = 0; c < GSW_CLASSES; c++) {
            if (c & ~axes)
                continue;
            const int x = at.x * (axes & 1 ? 2 : 1) + (c & 1);
            const int y = at.y * (axes & 2 ? 2 : 1) + (c >> 1 & 1);
            const int z = at.z * (axes & 4 ? 2 : 1) + (c >> 2 & 1);
            Value sum = c == 0 ? corner[0] : 0;
#pragma unroll
            for (int d = 0; d < GSW_CLASSES; d++)
                if (number.of[c][d] >= 0)
                    sum += weight[c][d] * corner[d];
            if (x < g.fx && y < g.fy && z < g.fz)
                to[x + (int64_t)g.fx * (y + (int64_t)g.fy * z)] += scale * sum;
        }
    }
}

template <int axes, typename Value>
__global__ void __launch_bounds__(THREADS)
    restrict_to(const grids g, const __grid_constant__ weight_arrays<const Value> weights,
                Value scale, const Value *from, Value *to) {
    take_turn();
    const int64_t points = (int64_t)g.nx * g.ny * g.nz;
    const weight_numbers<axes> number;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < points;
         i += (int64_t)gridDim.x * THREADS) {
        const point at = point_of(g, i);
        Value sum = 0;
#pragma unroll
        for (int dz = axes & 4 ? -1 : 0; dz <= (axes & 4 ? 1 : 0); dz++) {
            Value value[9], weight[9];
#pragma unroll
            for (int k = 0; k < 9; k++) {
                const int dx = k % 3 - 1, dy = k / 3 - 1;
                const int c = (dx != 0) | (dy != 0) << 1 | (dz != 0) << 2;
                const int before = (dx < 0) | (dy < 0) << 1 | (dz < 0) << 2;
                if (c & ~axes)
                    continue;
                const int x = at.x * (axes & 1 ? 2 : 1) + dx, y = at.y * (axes & 2 ? 2 : 1) + dy,
                          z = at.z * (axes & 4 ? 2 : 1) + dz;
                const bool there = x >= 0 && y >= 0 && z >= 0 && x < g.fx && y < g.fy && z < g.fz;
                const int64_t cell =
                    i - (dx < 0) - (int64_t)g.nx * ((dy < 0) + (int64_t)g.ny * (dz < 0));
                value[k] = there ? from[x + (int64_t)g.fx * (y + (int64_t)g.fy * z)] : 0;
                weight[k] = c == 0 ? 1 : there ? weights.values[number.of[c][before]][cell] : 0;
            }
#pragma unroll
            for (int k = 0; k < 9; k++) {
                const int c = (k % 3 != 1) | (k / 3 != 1) << 1 | (dz != 0) << 2;
                if ((c & ~axes) == 0)
                    sum += weight[k] * value[k];
            }
        }
        to[i] = scale * sum;
    }
}

/* By injection: the residual is needed at the coarse points alone. */
template <typename Value>
__global__ void __launch_bounds__(THREADS)
    restrict_injected(const grids g, int axes, const __grid_constant__ level_matrix m,
                      const Value *b, const Value *x, Value *to) {
    take_turn();
    const int64_t points = (int64_t)g.nx * g.ny * g.nz;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < points;
         i += (int64_t)gridDim.x * THREADS) {
        const point at = point_of(g, i);
        const point p = {at.x * (1 + (axes & 1)), at.y * (1 + (axes >> 1 & 1)),
                         at.z * (1 + (axes >> 2 & 1))};
        const int64_t row = row_of(m, p);
        Value sum = b ? b[row] : 0;
#pragma unroll 9
        for (int32_t e = 0; e < m.count; e++) {
            const point there = p + offset_of(m, e);
            if (m.values[e] && is_inside(m, there))
                sum -= static_cast<const Value *>(m.values[e])[row] * x[row_of(m, there)];
        }
        to[i] = sum;
    }
}

template <typename Value>
__global__ void __launch_bounds__(THREADS)
    prolong_injected(const grids g, int axes, const Value *from, Value *to) {
    take_turn();
    const int64_t points = (int64_t)g.nx * g.ny * g.nz;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < points;
         i += (int64_t)gridDim.x * THREADS) {
        const point at = point_of(g, i);
        to[at.x * (1 + (axes & 1)) +
           (int64_t)g.fx * (at.y * (1 + (axes >> 1 & 1)) +
                            (int64_t)g.fy * (at.z * (1 + (axes >> 2 & 1))))] += from[i];
    }
}

template <typename Value> struct transfer_kernels {
    using kernel = void (*)(const grids, const weight_arrays<const Value>, Value, const Value *,
                            Value *);
    kernel prolong_, restrict_;
};

template <typename Value> transfer_kernels<Value> kernels_for(int axes) {
    static const transfer_kernels<Value> table[GSW_CLASSES] = {
        {prolong<0, Value>, restrict_to<0, Value>}, {prolong<1, Value>, restrict_to<1, Value>},
        {prolong<2, Value>, restrict_to<2, Value>}, {prolong<3, Value>, restrict_to<3, Value>},
        {prolong<4, Value>, restrict_to<4, Value>}, {prolong<5, Value>, restrict_to<5, Value>},
        {prolong<6, Value>, restrict_to<6, Value>}, {prolong<7, Value>, restrict_to<7, Value>},
    };
    return table[axes];
}

template <typename Value>
cudaError_t launch_transfer(const gsw_cuda *cuda, const gsw_transfer *t, bool up,
                            void *const *weights, Value scale, const void *from, void *to) {
    const transfer_kernels<Value> kernels = kernels_for<Value>(t->axes);
    const int64_t points = t->coarse.nx * t->coarse.ny * t->coarse.nz;
    if (t->injection) /* upwards */
        return launch_kernel(cuda, prolong_injected<Value>, blocks_for(points), THREADS, 0,
                             grids_of(t), t->axes, static_cast<const Value *>(from),
                             static_cast<Value *>(to));
    weight_arrays<const Value> arrays = {};
    for (int32_t i = 0; i < t->weights; i++)
        arrays.values[i] = static_cast<const Value *>(weights[i]);
    return launch_kernel(cuda, up ? kernels.prolong_ : kernels.restrict_, blocks_for(points),
                         THREADS, 0, grids_of(t), arrays, scale, static_cast<const Value *>(from),
                         static_cast<Value *>(to));
}

template <typename Value>
cudaError_t launch_injected(const gsw_cuda *cuda, const gsw_transfer *t, const gsw_matrix *matrix,
                            const void *b, const void *x, void *to) {
    return launch_kernel(
        cuda, restrict_injected<Value>, blocks_for(t->coarse.nx * t->coarse.ny * t->coarse.nz),
        THREADS, 0, grids_of(t), t->axes, level_matrix_of(matrix), static_cast<const Value *>(b),
        static_cast<const Value *>(x), static_cast<Value *>(to));
}

/* ---- Changes of type --------------------------------------------------------------------------
 */

/* Vectors whose largest entry has an exponent of that size at most become fp32 as they are. */
constexpr int CALM_EXPONENT = 60;

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

/* Copies, and finds the largest |from[i]| of each block, NaN left out. */
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

/* Copies again with a factor, a power of two, where the largest entry is not near 1. Each block
 * finds it by itself. NaN and infinity go through as they are. */
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

gsw_status restrict_vector(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                           void *const *weights, int scale, const void *from, void *to) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const cudaError_t error =
        type == GSW_F64
            ? launch_transfer<double>(cuda, transfer, false, weights, scale, from, to)
            : launch_transfer<float>(cuda, transfer, false, weights, (float)scale, from, to);
    return gsw_cuda_check(context, error, "the restriction");
}

unsigned blocks_of_sum(int64_t n) {
    const unsigned blocks = blocks_for((n + 3) / 4);
    return blocks < BLOCKS_MAX ? blocks : (unsigned)BLOCKS_MAX;
}

} // namespace

gsw_status gsw_cuda_restrict_residual(gsw_context *context, const gsw_transfer *transfer,
                                      const gsw_matrix *matrix, gsw_dtype type,
                                      void *const *weights, const void *b, const void *x,
                                      void *work, void *to) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    if (transfer->injection)
        return gsw_cuda_check(context,
                              type == GSW_F64
                                  ? launch_injected<double>(cuda, transfer, matrix, b, x, to)
                                  : launch_injected<float>(cuda, transfer, matrix, b, x, to),
                              "the restriction");
    GSW_TRY(gsw_cuda_spmv(context, matrix, type, b, x, work));
    return restrict_vector(context, transfer, type, weights, 1, work, to);
}

gsw_status gsw_cuda_restrict_rest(gsw_context *context, const gsw_transfer *transfer,
                                  const gsw_matrix *matrix, gsw_dtype type, int64_t slab,
                                  void *const *weights, const void *x, void *work, void *to) {
    GSW_TRY(gsw_cuda_sweep_rest(context, matrix, type, 0, slab, nullptr, x, work));
    return restrict_vector(context, transfer, type, weights, -1, work, to);
}

gsw_status gsw_cuda_prolong_add(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                                void *const *weights, const void *from, void *to) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const cudaError_t error =
        type == GSW_F64 ? launch_transfer<double>(cuda, transfer, true, weights, 1, from, to)
                        : launch_transfer<float>(cuda, transfer, true, weights, 1, from, to);
    return gsw_cuda_check(context, error, "the prolongation");
}

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
    return gsw_cuda_check(
        context,
        launch_kernel(cuda, widen_to, blocks_for((n + 3) / 4), THREADS, 0, n, from, scale, to),
        "scaling back");
}

gsw_status gsw_cuda_combine(gsw_context *context, gsw_dtype type, int64_t n, double a,
                            const void *x, double b, void *y) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const cudaError_t error =
        type == GSW_F64
            ? launch_kernel(cuda, combine<double>, blocks_for(n), THREADS, 0, n, a,
                            static_cast<const double *>(x), b, static_cast<double *>(y))
            : launch_kernel(cuda, combine<float>, blocks_for(n), THREADS, 0, n, (float)a,
                            static_cast<const float *>(x), (float)b, static_cast<float *>(y));
    return gsw_cuda_check(context, error, "a sum of vectors");
}
