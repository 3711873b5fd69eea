/* multigrid_transfer.cu: transfers between two levels. Everything is queued on the stream and can
 * be captured in a graph. */
#include "cuda/device/launch.cuh"
#include "multigrid_tables.cuh"
#include "cuda/vector/spmv.cuh"

namespace {

enum { THREADS = 256 };

/* A thread serves one coarse point: in the prolongation the fine points of its cell, in the
 * restriction the fine points around it. `axes` is a constant, so the compiler unrolls all loops.
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
            /* Where a corner is missing, its weights are 0. Any value serves that is finite where
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

/* By injection: the residual is needed only at the coarse points. */
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
        Value sum = b[row];
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
        return launch_kernel(cuda, prolong_injected<Value>, blocks_for(points, THREADS), THREADS, 0,
                             grids_of(t), t->axes, static_cast<const Value *>(from),
                             static_cast<Value *>(to));
    weight_arrays<const Value> arrays = {};
    for (int32_t i = 0; i < t->weights; i++)
        arrays.values[i] = static_cast<const Value *>(weights[i]);
    return launch_kernel(cuda, up ? kernels.prolong_ : kernels.restrict_,
                         blocks_for(points, THREADS), THREADS, 0, grids_of(t), arrays, scale,
                         static_cast<const Value *>(from), static_cast<Value *>(to));
}

template <typename Value>
cudaError_t launch_injected(const gsw_cuda *cuda, const gsw_transfer *t, const gsw_matrix *matrix,
                            const void *b, const void *x, void *to) {
    return launch_kernel(cuda, restrict_injected<Value>,
                         blocks_for(t->coarse.nx * t->coarse.ny * t->coarse.nz, THREADS), THREADS,
                         0, grids_of(t), t->axes, level_matrix_of(matrix),
                         static_cast<const Value *>(b), static_cast<const Value *>(x),
                         static_cast<Value *>(to));
}

gsw_status restrict_scaled(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                           void *const *weights, int scale, const void *from, void *to) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const cudaError_t error =
        type == GSW_F64
            ? launch_transfer<double>(cuda, transfer, false, weights, scale, from, to)
            : launch_transfer<float>(cuda, transfer, false, weights, (float)scale, from, to);
    return gsw_cuda_check(context, error, "the restriction");
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
    return restrict_scaled(context, transfer, type, weights, 1, work, to);
}

gsw_status gsw_cuda_restrict_rest(gsw_context *context, const gsw_transfer *transfer,
                                  const gsw_matrix *matrix, gsw_dtype type, gsw_sections sections,
                                  void *const *weights, const void *x, void *work, void *to) {
    GSW_TRY(gsw_cuda_sweep_rest(context, matrix, type, 0, sections, nullptr, x, work));
    return restrict_scaled(context, transfer, type, weights, -1, work, to);
}

gsw_status gsw_cuda_restrict_vector(gsw_context *context, const gsw_transfer *transfer,
                                    gsw_dtype type, void *const *weights, const void *from,
                                    void *to) {
    return restrict_scaled(context, transfer, type, weights, 1, from, to);
}

gsw_status gsw_cuda_prolong_add(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                                void *const *weights, const void *from, void *to) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const cudaError_t error =
        type == GSW_F64 ? launch_transfer<double>(cuda, transfer, true, weights, 1, from, to)
                        : launch_transfer<float>(cuda, transfer, true, weights, 1, from, to);
    return gsw_cuda_check(context, error, "the prolongation");
}
