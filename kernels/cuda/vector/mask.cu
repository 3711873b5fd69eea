/* mask.cu: inactive points (common/mask.h), one thread each. Lines of points are scanned by a
 * thread each: along y and z neighbouring threads read neighbouring values. */
#include "common/mask.h"
#include "cuda/device/launch.cuh"
#include "cuda/vector/mask.cuh"

namespace {

enum { THREADS = 256 };

unsigned blocks_of(int64_t n) {
    const int64_t blocks = (n + THREADS - 1) / THREADS, most = INT64_C(1) << 20;
    return static_cast<unsigned>(blocks < most ? blocks : most);
}

__device__ int64_t first_of_thread(void) {
    return (int64_t)blockIdx.x * THREADS + threadIdx.x;
}

__device__ int64_t threads_of_grid(void) {
    return (int64_t)gridDim.x * THREADS;
}

template <typename Value>
__global__ void __launch_bounds__(THREADS)
    select(int64_t n, const uint8_t *active, const Value *x, const Value *z, Value *y) {
    take_turn();
    for (int64_t i = first_of_thread(); i < n; i += threads_of_grid())
        y[i] = active[i] ? x[i] : z ? z[i] : Value(0);
}

template <typename Value>
gsw_status launch_select(gsw_context *context, int64_t n, const uint8_t *active, const void *x,
                         const void *z, void *y) {
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), select<Value>, blocks_of(n), THREADS,
                                        0, n, active, static_cast<const Value *>(x),
                                        static_cast<const Value *>(z), static_cast<Value *>(y)),
                          "leaving inactive points out");
}

__global__ void __launch_bounds__(THREADS)
    take_mask(int64_t n, const uint8_t *active, uint8_t *copy) {
    take_turn();
    for (int64_t i = first_of_thread(); i < n; i += threads_of_grid())
        copy[i] = active[i] != 0;
}

/* The steps of an extension, and a cut. */
enum step { CUT, EXTEND, END };

template <step Step>
__global__ void __launch_bounds__(THREADS)
    at_inactive(const __grid_constant__ gsw_mask_rows m, int64_t n, const int64_t *nearest) {
    take_turn();
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid()) {
        if (m.active[row])
            continue;
        if (Step == CUT)
            gsw_mask_cut_point(&m, row);
        else if (Step == EXTEND)
            gsw_mask_extend_point(&m, nearest, row);
        else
            gsw_mask_end_point(&m, row);
    }
}

__global__ void __launch_bounds__(THREADS)
    begin_nearest(int64_t n, const uint8_t *active, int64_t *nearest) {
    take_turn();
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid())
        nearest[row] = active[row] ? row : -1;
}

/* Lines of `count` points, `step` apart: line i begins at i % step + i / step * step * count. */
__global__ void __launch_bounds__(THREADS)
    fill_gaps(int64_t lines, int64_t step, int64_t count, int64_t *nearest) {
    take_turn();
    for (int64_t line = first_of_thread(); line < lines; line += threads_of_grid())
        gsw_mask_fill_gaps(nearest + line % step + line / step * step * count, step, count);
}

int64_t points_of(const gsw_matrix *matrix) {
    return matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
}

template <step Step>
gsw_status launch_step(gsw_context *context, const gsw_matrix *matrix, const gsw_mask_rows &m,
                       const int64_t *nearest) {
    const int64_t n = points_of(matrix);
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), at_inactive<Step>, blocks_of(n),
                                        THREADS, 0, m, n, nearest),
                          "leaving inactive points out of a matrix");
}

} // namespace

gsw_status gsw_cuda_select(gsw_context *context, gsw_dtype type, int64_t n, const uint8_t *active,
                           const void *x, const void *z, void *y) {
    if (n == 0)
        return GSW_SUCCESS;
    return type == GSW_F64 ? launch_select<double>(context, n, active, x, z, y)
                           : launch_select<float>(context, n, active, x, z, y);
}

gsw_status gsw_cuda_take_mask(gsw_context *context, int64_t n, const uint8_t *active,
                              uint8_t *copy) {
    return gsw_cuda_check(
        context,
        launch_kernel(gsw_cuda_of(context), take_mask, blocks_of(n), THREADS, 0, n, active, copy),
        "copying a mask");
}

gsw_status gsw_cuda_cut(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                        void *const *arrays) {
    return launch_step<CUT>(context, matrix, gsw_mask_rows_of(matrix, type, arrays), nullptr);
}

gsw_status gsw_cuda_extend(gsw_context *context, const gsw_matrix *matrix, int64_t *nearest,
                           double *const *arrays) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const gsw_mask_rows m =
        gsw_mask_rows_of(matrix, GSW_F64, reinterpret_cast<void *const *>(arrays));
    const int64_t n = points_of(matrix);
    int64_t step = 1;
    cudaError_t error =
        launch_kernel(cuda, begin_nearest, blocks_of(n), THREADS, 0, n, m.active, nearest);
    for (int axis = 0; axis < 3 && error == cudaSuccess; step *= m.n[axis++]) {
        const int64_t lines = n / m.n[axis];
        error = launch_kernel(cuda, fill_gaps, blocks_of(lines), THREADS, 0, lines, step, m.n[axis],
                              nearest);
    }
    GSW_TRY(gsw_cuda_check(context, error, "finding active points"));
    GSW_TRY(launch_step<EXTEND>(context, matrix, m, nearest));
    return launch_step<END>(context, matrix, m, nearest);
}
