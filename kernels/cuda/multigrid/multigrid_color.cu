/* multigrid_color.cu: Gauss-Seidel sweeps in eight colours. They serve levels so small that a sweep
 * in natural order spends most of its time waiting.
 *
 * A point's colour is the parity of its indices. Couplings reach one point at most, so points of a
 * colour do not depend on each other. One block sweeps a small level; other levels take one launch
 * per colour. */
#include "cuda/device/launch.cuh"
#include "multigrid_rows.cuh"

namespace {

enum {
    COLORS = 8,
    THREADS = 128,
    BLOCK_THREADS = 512, /* of the block that sweeps a level alone, */
    BLOCK_POINTS = 4096, /* which has so many points at most */
    BATCH = 27           /* couplings that a thread asks for at once: all */
};

/* Points of a colour: indices 2 q + (its parity). */
struct color_grid {
    int32_t nx, ny, nz;
};

__host__ __device__ color_grid grid_of_color(const level_matrix &m, int color) {
    return {(m.nx + 1 - (color & 1)) / 2, (m.ny + 1 - (color >> 1 & 1)) / 2,
            (m.nz + 1 - (color >> 2 & 1)) / 2};
}

__host__ __device__ int64_t points_of_color(const color_grid &g) {
    return (int64_t)g.nx * g.ny * g.nz;
}

/* x = (b - (couplings to others)) / diagonal at point `number` of a colour. `zero`: points of later
 * colours are 0, whatever x holds there. */
template <typename Value>
__device__ void relax(const level_matrix &m, int color, bool zero, int64_t number, const Value *b,
                      Value *x) {
    const point q = point_of(grid_of_color(m, color), number);
    const point p = {2 * q.x + (color & 1), 2 * q.y + (color >> 1 & 1), 2 * q.z + (color >> 2 & 1)};
    const level_row r = level_row_at(m, p);
    Value a[BATCH], other[BATCH], sum = b[r.row];
    const Value diagonal = static_cast<const Value *>(m.values[m.center])[r.row];
#pragma unroll
    for (int e = 0; e < BATCH; e++) {
        const int theirs = color ^ ((m.dx[e] & 1) | (m.dy[e] & 1) << 1 | (m.dz[e] & 1) << 2);
        a[e] = other[e] = 0;
        if (has_entry(m, e, r) && theirs != color && !(zero && theirs > color)) {
            a[e] = static_cast<const Value *>(m.values[e])[r.row];
            other[e] = x[r.row + distance_of(m, e)];
        }
    }
#pragma unroll
    for (int e = 0; e < BATCH; e++)
        sum -= a[e] * other[e];
    x[r.row] = sum / diagonal;
}

template <typename Value>
__global__ void __launch_bounds__(THREADS)
    sweep_color(const __grid_constant__ level_matrix m, int color, bool zero, int64_t points,
                const Value *b, Value *x) {
    take_turn();
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < points;
         i += (int64_t)gridDim.x * THREADS)
        relax(m, color, zero, i, b, x);
}

template <typename Value>
__global__ void __launch_bounds__(BLOCK_THREADS)
    sweep_level(const __grid_constant__ level_matrix m, bool down, bool zero, const Value *b,
                Value *x) {
    take_turn();
    for (int k = 0; k < COLORS; k++) {
        const int color = down ? COLORS - 1 - k : k;
        const int64_t points = points_of_color(grid_of_color(m, color));
        for (int64_t i = threadIdx.x; i < points; i += BLOCK_THREADS)
            relax(m, color, zero, i, b, x);
        __syncthreads();
    }
}

template <typename Value>
gsw_status launch(gsw_context *context, const gsw_matrix *matrix, bool down, bool zero,
                  const void *b, void *x) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const level_matrix m = level_matrix_of(matrix);
    const Value *from = static_cast<const Value *>(b);
    Value *to = static_cast<Value *>(x);
    if ((int64_t)m.nx * m.ny * m.nz <= BLOCK_POINTS)
        return gsw_cuda_check(
            context,
            launch_kernel(cuda, sweep_level<Value>, 1, BLOCK_THREADS, 0, m, down, zero, from, to),
            "a sweep in colours");
    for (int k = 0; k < COLORS; k++) {
        const int color = down ? COLORS - 1 - k : k;
        const int64_t points = points_of_color(grid_of_color(m, color));
        const int64_t blocks = (points + THREADS - 1) / THREADS;
        if (points == 0)
            continue;
        GSW_TRY(gsw_cuda_check(context,
                               launch_kernel(cuda, sweep_color<Value>, (unsigned)blocks, THREADS, 0,
                                             m, color, zero, points, from, to),
                               "a sweep in colours"));
    }
    return GSW_SUCCESS;
}

/* Microseconds, measured on an H200. A level's sweep in natural order takes the time of its longest
 * chain of dependent steps. A sweep in colours takes eight launches and the time to move the bytes.
 */
constexpr double CHAIN_STEP = 0.17, COLORS_AT_LEAST = 35, COLORS_POINT = 7e-5;

/* Colours take more iterations where coefficients vary much, so they must be faster by this factor.
 */
constexpr double WORTH_IT = 2.5;

} // namespace

int gsw_cuda_prefers_colors(const gsw_grid *grid, gsw_sections sections) {
    const double nx = (double)grid->nx, ny = (double)grid->ny, nz = (double)grid->nz;
    const double planes = sections.planes > 0 ? fmin((double)sections.planes, nz) : nz;
    const double lines = sections.lines > 0 ? fmin((double)sections.lines, ny) : ny;
    return CHAIN_STEP * (nx + 2 * lines + 4 * planes) >
           WORTH_IT * (COLORS_AT_LEAST + COLORS_POINT * nx * ny * nz);
}

gsw_status gsw_cuda_color_sweep(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                int down, int zero, const void *b, void *x) {
    return type == GSW_F64 ? launch<double>(context, matrix, down != 0, zero != 0, b, x)
                           : launch<float>(context, matrix, down != 0, zero != 0, b, x);
}
