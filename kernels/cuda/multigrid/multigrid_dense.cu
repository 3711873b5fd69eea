/* multigrid_dense.cu: the coarsest level: the inverse of a small matrix and products with it.
 *
 * INVERSE. Gauss-Jordan elimination in place, in squares of 32 x 32. Step k inverts square (k, k)
 * and multiplies the squares of row k by the inverse. From every other square it subtracts the
 * product of the squares in the old column k and the new row k. Rows are exchanged for larger
 * pivots only within a square: that is enough for symmetric definite and diagonally dominant
 * matrices. If a pivot is nearly zero compared with the original diagonal there, the host inverts
 * the matrix, with complete pivoting. The last squares are padded with ones on the diagonal. */
#include <stdlib.h>

#include "common/wraps.h"
#include "cuda/device/launch.cuh"
#include "multigrid_rows.cuh"
extern "C" {
#include "contract/dense.h"
}

namespace {

enum { SIDE = 32, ROWS_AT_ONCE = 8, THREADS = SIDE * ROWS_AT_ONCE };

/* A matrix, by rows, divided into squares. */
struct dense {
    double *a;
    int32_t n;
};

/* Shared by the steps, in device memory: the old squares of column k, one below the other, the
 * inverse of square (k, k), the original diagonal, the shift, and whether a pivot was missing. */
struct workspace {
    double *column, *inverse, *diagonal, *shift;
    int64_t *failed;
};

workspace workspace_of(double *work, int64_t n) {
    double *inverse = work + (n + SIDE) * SIDE, *diagonal = inverse + SIDE * SIDE;
    return {work, inverse, diagonal, diagonal + n, reinterpret_cast<int64_t *>(diagonal + n + 1)};
}
/* gsw_dense_work() values are enough: (n + 32) 32 + 32^2 + n + 2 <= (n + 64)^2. */

/* The least ratio of a pivot to the original diagonal. */
constexpr double LEAST_PIVOT = 1e-9;

using square = double[SIDE][SIDE + 1];

__device__ int square_row() {
    return (int)threadIdx.x / SIDE;
}

__device__ int square_column() {
    return (int)threadIdx.x % SIDE;
}

__device__ void load_square(const dense &m, int row, int column, square &to) {
    for (int r = square_row(); r < SIDE; r += ROWS_AT_ONCE) {
        const int i = row * SIDE + r, j = column * SIDE + square_column();
        to[r][square_column()] = i < m.n && j < m.n ? m.a[(int64_t)i * m.n + j] : i == j ? 1 : 0;
    }
}

__device__ void store_square(const dense &m, int row, int column, const square &from) {
    for (int r = square_row(); r < SIDE; r += ROWS_AT_ONCE) {
        const int i = row * SIDE + r, j = column * SIDE + square_column();
        if (i < m.n && j < m.n)
            m.a[(int64_t)i * m.n + j] = from[r][square_column()];
    }
}

/* product = a b; all three differ. */
__device__ void multiply_squares(const square &a, const square &b, square &product) {
    for (int r = square_row(); r < SIDE; r += ROWS_AT_ONCE) {
        double sum = 0;
        for (int k = 0; k < SIDE; k++)
            sum = fma(a[r][k], b[k][square_column()], sum);
        product[r][square_column()] = sum;
    }
}

/* The largest value of a warp's threads, in all of them. */
__device__ unsigned largest_of_warp(unsigned value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffU, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        const unsigned other = __shfl_xor_sync(0xffffffffU, value, distance);
        value = other > value ? other : value;
    }
    return value;
#endif
}

/* The lane whose value is the largest, among those that serve; all lanes get the result. They
 * compare the 20 bits of the mantissa that one word holds. */
__device__ int find_pivot(double value, bool serves) {
    const unsigned size = serves ? (unsigned)__double2hiint(fabs(value)) + 1 : 0;
    return __ffs((int)__ballot_sync(0xffffffffU, size == largest_of_warp(size))) - 1;
}

/* Inverts a square in place, by one warp whose lanes keep a row each. Rows stay where they are: the
 * pivot of column k becomes row k of the inverse at the end, and its place becomes a column. The
 * kept rows are turned by one place in each step, so that the present column is the first one. All
 * lanes divide while they look for the pivot: that takes as long.
 * Returns false in all threads if a pivot is nearly zero compared with the diagonal. */
__device__ bool invert_square(square &a, const double *diagonal, int rows) {
    __shared__ double2 line[SIDE / 2];
    __shared__ int pivots[SIDE];
    __shared__ bool regular;
    if (threadIdx.x < SIDE) {
        const int lane = (int)threadIdx.x;
        double own[SIDE];
        int turn = -1;
        bool serves = true;
#pragma unroll
        for (int j = 0; j < SIDE; j++)
            own[j] = a[lane][j];
#pragma unroll 1
        for (int k = 0; k < SIDE; k++) {
            const double own_reciprocal = 1 / own[0];
            const int pivot = find_pivot(own[0], turn < 0);
            const bool is_pivot = lane == pivot;
            if (is_pivot) {
                turn = k;
                pivots[k] = lane;
#pragma unroll
                for (int j = 0; j < SIDE; j += 2)
                    line[j / 2] = {own[j], own[j + 1]};
            }
            const double reciprocal = __shfl_sync(0xffffffffU, own_reciprocal, pivot);
            __syncwarp();
            serves = serves && isfinite(reciprocal) &&
                     (k >= rows || fabs(reciprocal) * LEAST_PIVOT * fabs(diagonal[k]) < 1);
            const double factor = is_pivot ? reciprocal : -own[0] * reciprocal;
#pragma unroll
            for (int j = 0; j < SIDE; j += 2) {
                const double2 two = line[j / 2];
                if (j > 0)
                    own[j - 1] = fma(factor, two.x, is_pivot ? 0 : own[j]);
                own[j] = fma(factor, two.y, is_pivot ? 0 : own[j + 1]);
            }
            own[SIDE - 1] = factor;
            __syncwarp();
        }
#pragma unroll
        for (int j = 0; j < SIDE; j++)
            a[turn][pivots[j]] = own[j];
        if (lane == 0)
            regular = serves;
    }
    __syncthreads();
    return regular;
}

/* Block j computes square (k, j) and copies square (j, k). */
__global__ void __launch_bounds__(THREADS) divide_row(dense m, int k, workspace work) {
    __shared__ square pivot, other, product;
    const int j = (int)blockIdx.x;
    load_square(m, j, k, other);
    load_square(m, k, k, pivot);
    __syncthreads();
    for (int r = square_row(); r < SIDE; r += ROWS_AT_ONCE)
        work.column[(j * SIDE + r) * SIDE + square_column()] = other[r][square_column()];
    const bool regular = invert_square(pivot, work.diagonal + k * SIDE, m.n - k * SIDE);
    if (j == k) {
        for (int r = square_row(); r < SIDE; r += ROWS_AT_ONCE)
            work.inverse[r * SIDE + square_column()] = pivot[r][square_column()];
        if (threadIdx.x == 0 && !regular)
            *work.failed = 1;
        return;
    }
    load_square(m, k, j, other);
    __syncthreads();
    multiply_squares(pivot, other, product);
    __syncthreads();
    store_square(m, k, j, product);
}

/* All other squares. */
__global__ void __launch_bounds__(THREADS) eliminate_column(dense m, int k, workspace work) {
    __shared__ square left, right, product;
    const int i = (int)blockIdx.y, j = (int)blockIdx.x;
    for (int r = square_row(); r < SIDE; r += ROWS_AT_ONCE) {
        left[r][square_column()] = work.column[(i * SIDE + r) * SIDE + square_column()];
        right[r][square_column()] = work.inverse[r * SIDE + square_column()];
    }
    if (i == k) {
        if (j == k)
            store_square(m, k, k, right);
        return;
    }
    if (j != k)
        load_square(m, k, j, right);
    __syncthreads();
    multiply_squares(left, right, product);
    __syncthreads();
    if (j != k)
        load_square(m, i, j, left);
    for (int r = square_row(); r < SIDE; r += ROWS_AT_ONCE)
        product[r][square_column()] =
            (j == k ? 0 : left[r][square_column()]) - product[r][square_column()];
    store_square(m, i, j, product);
}

/* ---- Filling ---------------------------------------------------------------------------------
 */

/* One block: the mean of the diagonal, and a clear flag. */
template <typename Value>
__global__ void __launch_bounds__(THREADS)
    begin(const __grid_constant__ level_matrix m, int32_t n, workspace work) {
    __shared__ double of[THREADS];
    double sum = 0;
    for (int i = (int)threadIdx.x; i < n; i += THREADS) {
        work.diagonal[i] = value_of<Value>(m, m.center, i);
        sum += work.diagonal[i];
    }
    of[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            of[threadIdx.x] += of[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *work.shift = of[0] / n;
        *work.failed = 0;
    }
}

/* Each block fills a row. If the null space holds the constants, shift / n is added in all places.
 */
template <typename Value>
__global__ void __launch_bounds__(THREADS)
    fill(const __grid_constant__ level_matrix m, dense to, int constants, workspace work) {
    double *row = to.a + (int64_t)blockIdx.x * to.n;
    const double everywhere = constants ? *work.shift / to.n : 0;
    for (int j = (int)threadIdx.x; j < to.n; j += THREADS)
        row[j] = everywhere;
    __syncthreads();
    const level_row r = level_row_at(m, point_of(m, blockIdx.x));
    for (int32_t e = (int32_t)threadIdx.x; e < m.count; e += THREADS)
        if (has_entry(m, e, r))
            row[r.row + distance_of(m, e)] += value_of<Value>(m, e, r.row);
}

/* Adds the couplings around a periodic grid. */
__global__ void __launch_bounds__(THREADS)
    fill_around(const __grid_constant__ gsw_wraps wraps, dense to) {
    const int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (k < wraps.seam.count)
        gsw_wraps_add_to_dense(&wraps, k, to.n, to.a);
}

/* With v the normalised constants and A v = 0: (A + shift v v^T)^-1 maps v to v / shift. Without
 * that part it is the inverse on the complement. */
__global__ void __launch_bounds__(THREADS) remove_constants(dense m, workspace work) {
    for (int j = (int)threadIdx.x; j < m.n; j += THREADS)
        m.a[(int64_t)blockIdx.x * m.n + j] -= 1 / (*work.shift * m.n);
}

/* ---- Products --------------------------------------------------------------------------------
 */

/* One warp per row; the order of the sums is fixed. */
template <typename Value>
__global__ void __launch_bounds__(THREADS)
    multiply(int32_t n, const double *inverse, const Value *b, Value *x) {
    const int32_t row = (int32_t)(blockIdx.x * ROWS_AT_ONCE) + square_row();
    take_turn();
    if (row >= n)
        return;
    double sum = 0;
    for (int32_t j = square_column(); j < n; j += SIDE)
        sum = fma(inverse[(int64_t)row * n + j], (double)b[j], sum);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffU, sum, distance);
    if (square_column() == 0)
        x[row] = (Value)sum;
}

/* Replaces a matrix by its inverse, or by a generalised inverse. */
gsw_status invert_on_host(gsw_context *context, const dense &m) {
    const size_t bytes = sizeof(double) * (size_t)m.n * (size_t)m.n;
    void *work = NULL, *inverse = NULL;
    gsw_status status;
    GSW_TRY_GOTO(gsw_alloc(context, gsw_dense_work((size_t)m.n), sizeof(double),
                           "the coarsest matrix", &work),
                 cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, 1, bytes, "the coarsest matrix", &inverse), cleanup);
    GSW_TRY_GOTO(context->ops->memory->download(context, work, m.a, bytes), cleanup);
    GSW_TRY_GOTO(
        gsw_dense_invert(context, m.n, static_cast<double *>(work), static_cast<double *>(inverse)),
        cleanup);
    GSW_TRY_GOTO(context->ops->memory->upload(context, m.a, inverse, bytes), cleanup);
    status = GSW_SUCCESS;
cleanup:
    free(inverse);
    free(work);
    return status;
}

} // namespace

gsw_status gsw_cuda_dense_invert(gsw_context *context, const gsw_matrix *matrix,
                                 const gsw_wraps *wraps, int constants, double *inverse,
                                 double *work) {
    const gsw_grid *g = &matrix->grid;
    const int32_t n = (int32_t)(g->nx * g->ny * g->nz), squares = (n + SIDE - 1) / SIDE;
    const level_matrix m = level_matrix_of(matrix);
    const dense to = {inverse, n};
    const workspace space = workspace_of(work, n);
    cudaStream_t stream = gsw_cuda_of(context)->stream;
    const auto begin_with = holds_f32(matrix) ? begin<float> : begin<double>;
    const auto fill_with = holds_f32(matrix) ? fill<float> : fill<double>;
    const unsigned around = wraps ? (unsigned)((wraps->seam.count - 1) / THREADS + 1) : 0;
    int64_t failed;
    begin_with<<<1, THREADS, 0, stream>>>(m, n, space);
    fill_with<<<(unsigned)n, THREADS, 0, stream>>>(m, to, constants, space);
    if (wraps)
        fill_around<<<around, THREADS, 0, stream>>>(*wraps, to);
    for (int k = 0; k < squares; k++) {
        divide_row<<<(unsigned)squares, THREADS, 0, stream>>>(to, k, space);
        eliminate_column<<<dim3((unsigned)squares, (unsigned)squares), THREADS, 0, stream>>>(to, k,
                                                                                             space);
    }
    GSW_TRY(gsw_cuda_check_launch(context, "inverting the coarsest matrix"));
    GSW_TRY(context->ops->memory->download(context, &failed, space.failed, sizeof failed));
    if (failed) {
        fill_with<<<(unsigned)n, THREADS, 0, stream>>>(m, to, constants, space);
        if (wraps)
            fill_around<<<around, THREADS, 0, stream>>>(*wraps, to);
        GSW_TRY(invert_on_host(context, to));
    }
    if (constants)
        remove_constants<<<(unsigned)n, THREADS, 0, stream>>>(to, space);
    return gsw_cuda_check_launch(context, "inverting the coarsest matrix");
}

gsw_status gsw_cuda_dense_apply(gsw_context *context, int64_t n, const double *inverse,
                                gsw_dtype type, const void *b, void *x) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const unsigned blocks = (unsigned)((n + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE);
    const cudaError_t error =
        type == GSW_F64
            ? launch_kernel(cuda, multiply<double>, blocks, THREADS, 0, (int32_t)n, inverse,
                            static_cast<const double *>(b), static_cast<double *>(x))
            : launch_kernel(cuda, multiply<float>, blocks, THREADS, 0, (int32_t)n, inverse,
                            static_cast<const float *>(b), static_cast<float *>(x));
    return gsw_cuda_check(context, error, "the coarsest level");
}
