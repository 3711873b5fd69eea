/* wraps.cu: periodic grids (common/wraps.h, geometry/seam_level.h), one thread for each row of a
 * seam. Where a row takes many loads, LANES threads share it, and add their parts up in a fixed
 * order: seams are thin, so that a kernel takes the time of its loads in a row. */
#include "cuda/device/launch.cuh"
#include "cuda/vector/wraps.cuh"

namespace {

enum { THREADS = 128, FEW = 64, LANES = 8 };

/* Rows of a seam, one after the other: for_rows(count, [&](int64_t k) { ... }). */
template <typename Row> __device__ void for_rows(int64_t count, Row row) {
    take_turn();
    for (int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x; k < count;
         k += (int64_t)gridDim.x * THREADS)
        row(k);
}

/* The same with LANES threads a row: `part` is the sum of a thread's share, and `end` gets the sum
 * of all in the first thread. */
template <typename Part, typename End>
__device__ void for_shared_rows(int64_t count, Part part, End end) {
    const int32_t lane = (int32_t)threadIdx.x % LANES;
    take_turn();
    for (int64_t first = (int64_t)blockIdx.x * (THREADS / LANES); first < count;
         first += (int64_t)gridDim.x * (THREADS / LANES)) {
        const int64_t k = first + threadIdx.x / LANES;
        double sum = k < count ? part(k, lane) : 0;
        for (int distance = LANES / 2; distance > 0; distance /= 2)
            sum += __shfl_down_sync(0xffffffffU, sum, distance, LANES);
        if (k < count && lane == 0)
            end(k, sum);
    }
}

template <typename... Parameters, typename... Arguments>
gsw_status launch(gsw_context *context, int64_t count, void (*kernel)(Parameters...),
                  Arguments... arguments) {
    const int64_t blocks = (count + THREADS - 1) / THREADS, most = INT64_C(1) << 20;
    if (count == 0)
        return GSW_SUCCESS;
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), kernel,
                                        static_cast<unsigned>(blocks < most ? blocks : most),
                                        THREADS, 0, arguments...),
                          "working around a periodic grid");
}

__global__ void __launch_bounds__(THREADS) place(const __grid_constant__ gsw_wraps w) {
    for_rows(w.seam.count, [&](int64_t k) { gsw_wraps_place_row(&w, k); });
}

__global__ void __launch_bounds__(THREADS)
    take(const __grid_constant__ gsw_wraps w, const __grid_constant__ gsw_wraps_source from) {
    for_rows(w.seam.count, [&](int64_t k) { gsw_wraps_take_row(&w, &from, k); });
}

__global__ void __launch_bounds__(THREADS)
    move(const __grid_constant__ gsw_wraps w, const __grid_constant__ gsw_wraps_arrays arrays,
         int back) {
    for_rows(w.seam.count, [&](int64_t k) { gsw_wraps_move_row(&w, &arrays, back, k); });
}

/* How far a grid is turned. */
struct turning {
    int64_t n[3], by[3];
};

template <typename Value>
__global__ void __launch_bounds__(THREADS)
    turn(int64_t rows, const turning t, const Value *from, Value *to) {
    for_rows(rows, [&](int64_t row) { to[gsw_turned_row(t.n, t.by, row)] = from[row]; });
}

__global__ void __launch_bounds__(THREADS)
    cut(const __grid_constant__ gsw_wraps w, const uint8_t *active) {
    for_rows(w.seam.count, [&](int64_t k) { gsw_wraps_cut_row(&w, active, k); });
}

__global__ void __launch_bounds__(THREADS)
    multiply(const __grid_constant__ gsw_wraps w, gsw_dtype type, double sign, const void *x,
             void *y, double *saved) {
    for_shared_rows(
        w.seam.count,
        [&](int64_t k, int32_t lane) { return sign * gsw_wraps_part(&w, k, lane, LANES, type, x); },
        [&](int64_t k, double sum) { gsw_wraps_add(&w, k, type, sum, y, saved); });
}

__global__ void __launch_bounds__(THREADS)
    restore(int64_t count, const int64_t *row, gsw_dtype type, const double *saved, void *y) {
    for_rows(count, [&](int64_t k) { gsw_value_put(y, type, row[k], saved[k]); });
}

__global__ void __launch_bounds__(THREADS)
    weigh(const gsw_seam seam, const __grid_constant__ gsw_seam_level level, int which,
          gsw_rows rows, int size) {
    for_rows(seam.count, [&](int64_t k) {
        int64_t at[3];
        gsw_seam_point(&seam, k, at);
        gsw_seam_weigh(&level, which, rows, size, at);
    });
}

/* A warp for each row: its threads share the couplings of the fine points. The sums have a fixed
 * order. Each thread's slots are in shared memory, because their local memory would not stay in the
 * first-level cache. */
__global__ void __launch_bounds__(FEW)
    triple(const gsw_seam seam, const __grid_constant__ gsw_seam_level level) {
    __shared__ double sums[FEW][GSW_SLOTS], couplings[FEW][GSW_SLOTS];
    double *sum = sums[threadIdx.x];
    const int32_t lane = (int32_t)threadIdx.x % 32, shares = gsw_seam_shares(&level);
    const int32_t parts = 32 / shares;
    take_turn();
    for (int64_t k = ((int64_t)blockIdx.x * FEW + threadIdx.x) / 32; k < seam.count;
         k += (int64_t)gridDim.x * FEW / 32) {
        double own = 0;
        int64_t at[3];
        gsw_seam_point(&seam, k, at);
        for (int slot = 0; slot < GSW_SLOTS; slot++)
            sum[slot] = 0;
        if (lane < shares * parts)
            gsw_seam_add_share(&level, at, lane / parts, lane % parts, parts,
                               couplings[threadIdx.x], sum);
        __syncwarp();
        for (int other = 0; other < 32 && lane < GSW_SLOTS; other++)
            own += sums[(int)threadIdx.x - lane + other][lane];
        __syncwarp();
        if (lane < GSW_SLOTS)
            gsw_seam_put_coupling(&level, at, lane, own);
    }
}

__global__ void __launch_bounds__(THREADS)
    place_restricted(const __grid_constant__ gsw_seam_level level) {
    for_rows(level.restricted.count, [&](int64_t k) { gsw_seam_place_restricted(&level, k); });
}

__global__ void __launch_bounds__(THREADS)
    place_across(const __grid_constant__ gsw_seam_level level) {
    for_rows(level.across.count, [&](int64_t k) { gsw_seam_place_across(&level, k); });
}

__global__ void __launch_bounds__(THREADS)
    find_residuals(int64_t count, const __grid_constant__ gsw_seam_level level,
                   const __grid_constant__ gsw_wraps w, const void *b, const void *x,
                   double *residual) {
    for_shared_rows(
        count,
        [&](int64_t k, int32_t lane) {
            return gsw_seam_residual(&level, &w, k, lane, LANES, b, x);
        },
        [&](int64_t k, double sum) { residual[k] = sum; });
}

__global__ void __launch_bounds__(THREADS)
    restrict_points(const __grid_constant__ gsw_seam_level level, const double *residual,
                    void *to) {
    for_shared_rows(
        level.restricted.count,
        [&](int64_t k, int32_t lane) {
            return gsw_seam_restricted_part(&level, k, lane, LANES, residual);
        },
        [&](int64_t k, double sum) { gsw_seam_add_restricted(&level, k, sum, to); });
}

__global__ void __launch_bounds__(THREADS)
    prolong(const __grid_constant__ gsw_seam_level level, const void *from, void *to) {
    for_rows(level.across.count, [&](int64_t k) { gsw_seam_prolong_point(&level, k, from, to); });
}

} // namespace

gsw_status gsw_cuda_wraps_open(gsw_context *context, const gsw_wraps *wraps) {
    return launch(context, wraps->seam.count, place, *wraps);
}

gsw_status gsw_cuda_wraps_take(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_wraps *wraps) {
    return launch(context, wraps->seam.count, take, *wraps, gsw_wraps_source_of(matrix));
}

gsw_status gsw_cuda_wraps_move(gsw_context *context, const gsw_wraps *wraps, double *const *arrays,
                               int back) {
    gsw_wraps_arrays to = {};
    for (int32_t e = 0; e < wraps->count; e++)
        to.values[e] = arrays[e];
    return launch(context, wraps->seam.count, move, *wraps, to, back);
}

gsw_status gsw_cuda_turn(gsw_context *context, const gsw_grid *grid, const int64_t by[3],
                         gsw_dtype type, const void *from, void *to) {
    const turning t = {{grid->nx, grid->ny, grid->nz}, {by[0], by[1], by[2]}};
    const int64_t rows = grid->nx * grid->ny * grid->nz;
    return type == GSW_F64 ? launch(context, rows, turn<double>, rows, t,
                                    static_cast<const double *>(from), static_cast<double *>(to))
                           : launch(context, rows, turn<float>, rows, t,
                                    static_cast<const float *>(from), static_cast<float *>(to));
}

gsw_status gsw_cuda_wraps_cut(gsw_context *context, const gsw_wraps *wraps, const uint8_t *active) {
    return launch(context, wraps->seam.count, cut, *wraps, active);
}

gsw_status gsw_cuda_wraps_multiply(gsw_context *context, const gsw_wraps *wraps, gsw_dtype type,
                                   double sign, const void *x, void *y, double *saved) {
    return launch(context, LANES * wraps->seam.count, multiply, *wraps, type, sign, x, y, saved);
}

gsw_status gsw_cuda_wraps_restore(gsw_context *context, const gsw_wraps *wraps, gsw_dtype type,
                                  const double *saved, void *y) {
    const int64_t *row = wraps->row;
    return launch(context, wraps->seam.count, restore, wraps->seam.count, row, type, saved, y);
}

gsw_status gsw_cuda_seam_weigh(gsw_context *context, const gsw_seam *seam,
                               const gsw_seam_level *level, int which, gsw_rows rows) {
    for (int size = 1; size <= 3; size++)
        GSW_TRY(launch(context, seam->count, weigh, *seam, *level, which, rows, size));
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_seam_triple(gsw_context *context, const gsw_seam *seam,
                                const gsw_seam_level *level) {
    const int64_t blocks = (32 * seam->count + FEW - 1) / FEW, most = INT64_C(1) << 20;
    return seam->count == 0
               ? GSW_SUCCESS
               : gsw_cuda_check(context,
                                launch_kernel(gsw_cuda_of(context), triple,
                                              static_cast<unsigned>(blocks < most ? blocks : most),
                                              FEW, 0, *seam, *level),
                                "the triple product around a periodic grid");
}

gsw_status gsw_cuda_seam_prepare(gsw_context *context, const gsw_seam_level *level) {
    GSW_TRY(launch(context, level->restricted.count, place_restricted, *level));
    return launch(context, level->across.count, place_across, *level);
}

gsw_status gsw_cuda_seam_restrict(gsw_context *context, const gsw_wraps *wraps,
                                  const gsw_seam_level *level, const void *b, const void *x,
                                  double *residual, void *to) {
    const double *found = residual;
    const int64_t count = wraps->seam.count + level->across.count;
    GSW_TRY(launch(context, LANES * count, find_residuals, count, *level, *wraps, b, x, residual));
    return launch(context, LANES * level->restricted.count, restrict_points, *level, found, to);
}

gsw_status gsw_cuda_seam_prolong(gsw_context *context, const gsw_seam_level *level,
                                 const void *from, void *to) {
    return launch(context, level->across.count, prolong, *level, from, to);
}
