/* mask.cu: inactive points (common/mask.h), one thread each. A block finds the nearest active
 * points of a line along x; a thread scans one along y or z, beside threads that read neighbouring
 * values. */
#include "common/mask.h"
#include "cuda/device/launch.cuh"
#include "cuda/vector/mask.cuh"

namespace {

/* Inactive points may be few: blocks that look for them in a chunk have FEW threads, so that many
 * blocks run at once. */
enum { THREADS = 256, FEW = 64, CHUNK = 2048, SHARED_MOST = 32768 };

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
    for (int64_t i = first_of_thread(); i < n; i += threads_of_grid()) {
        if (!active[i])
            y[i] = z ? z[i] : Value(0);
        else if (x != y)
            y[i] = x[i];
    }
}

/* The same in place, a word of the mask at a time: most points are active. */
template <typename Value>
__global__ void __launch_bounds__(THREADS)
    replace(int64_t n, const uint8_t *active, const Value *z, Value *y) {
    enum { WORD = sizeof(uint4) };
    take_turn();
    for (int64_t i = first_of_thread(); i < n / WORD; i += threads_of_grid()) {
        const uint4 word = reinterpret_cast<const uint4 *>(active)[i];
        const unsigned some[] = {word.x, word.y, word.z, word.w};
        for (int64_t k = 0; k < WORD; k++)
            if ((some[k / 4] >> 8 * (k % 4) & 0xff) == 0)
                y[i * WORD + k] = z ? z[i * WORD + k] : Value(0);
    }
    for (int64_t i = n / WORD * WORD + first_of_thread(); i < n; i += threads_of_grid())
        if (!active[i])
            y[i] = z ? z[i] : Value(0);
}

template <typename Value>
gsw_status launch_select(gsw_context *context, int64_t n, const uint8_t *active, const void *x,
                         const void *z, void *y) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const Value *other = static_cast<const Value *>(z);
    Value *to = static_cast<Value *>(y);
    const bool whole_words = reinterpret_cast<uintptr_t>(active) % sizeof(uint4) == 0;
    return gsw_cuda_check(context,
                          x == y && whole_words
                              ? launch_kernel(cuda, replace<Value>,
                                              blocks_of(n / (int64_t)sizeof(uint4) + 1), THREADS, 0,
                                              n, active, other, to)
                              : launch_kernel(cuda, select<Value>, blocks_of(n), THREADS, 0, n,
                                              active, static_cast<const Value *>(x), other, to),
                          "leaving inactive points out");
}

__global__ void __launch_bounds__(THREADS)
    take_mask(int64_t n, const uint8_t *active, uint8_t *copy) {
    take_turn();
    for (int64_t i = first_of_thread(); i < n; i += threads_of_grid())
        copy[i] = active[i] != 0;
}

/* Blocks that list active points, at most: each takes a range of points. */
enum { LISTS = 1024 };

/* The active points of each block's range. */
__global__ void __launch_bounds__(THREADS)
    count_active(int64_t n, int64_t range, const uint8_t *active, unsigned long long *counts) {
    const int64_t first = (int64_t)blockIdx.x * range, end = min(first + range, n);
    unsigned long long count = 0;
    take_turn();
    for (int64_t from = first; from < end; from += THREADS)
        count +=
            (unsigned)__syncthreads_count(from + threadIdx.x < end && active[from + threadIdx.x]);
    if (threadIdx.x == 0)
        counts[blockIdx.x] = count;
}

/* Writes them, after those of the blocks before. */
__global__ void __launch_bounds__(THREADS)
    list_active(int64_t n, int64_t range, const uint8_t *active, const unsigned long long *counts,
                int64_t *points) {
    __shared__ unsigned long long before;
    __shared__ int of_warp[THREADS / 32];
    const int64_t first = (int64_t)blockIdx.x * range, end = min(first + range, n);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    take_turn();
    if (threadIdx.x == 0)
        before = 0;
    __syncthreads();
    for (unsigned block = threadIdx.x; block < blockIdx.x; block += THREADS)
        atomicAdd(&before, counts[block]);
    __syncthreads();
    int64_t next = (int64_t)before;
    for (int64_t from = first; from < end; from += THREADS) {
        const int64_t i = from + threadIdx.x;
        const bool found = i < end && active[i];
        const unsigned some = __ballot_sync(0xffffffffU, found);
        if (lane == 0)
            of_warp[warp] = __popc(some);
        __syncthreads();
        int64_t at = next + __popc(some & ((1U << lane) - 1));
        for (unsigned w = 0; w < THREADS / 32; w++) {
            at += w < warp ? of_warp[w] : 0;
            next += of_warp[w];
        }
        if (found)
            points[at] = i;
        __syncthreads();
    }
}

/* y[points[i]] = x[i], or y[i] = x[points[i]]. */
template <bool Spread, typename Value>
__global__ void __launch_bounds__(THREADS)
    move(int64_t rows, const int64_t *points, const Value *x, Value *y) {
    take_turn();
    for (int64_t i = first_of_thread(); i < rows; i += threads_of_grid())
        y[Spread ? points[i] : i] = x[Spread ? i : points[i]];
}

template <bool Spread>
gsw_status launch_move(gsw_context *context, gsw_dtype type, int64_t rows, const int64_t *points,
                       const void *x, void *y) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const unsigned blocks = blocks_of(rows);
    return gsw_cuda_check(
        context,
        type == GSW_F64
            ? launch_kernel(cuda, move<Spread, double>, blocks, THREADS, 0, rows, points,
                            static_cast<const double *>(x), static_cast<double *>(y))
            : launch_kernel(cuda, move<Spread, float>, blocks, THREADS, 0, rows, points,
                            static_cast<const float *>(x), static_cast<float *>(y)),
        "moving values between rows and points");
}

/* What is done at inactive points: the steps of an extension, a cut, and a look. */
enum step { CUT, EXTEND, END, LOOK };

/* Blocks gather the inactive points of a chunk, so that all threads of a warp have one. LOOK:
 * *uncut becomes 1 where something is to be cut; whoever writes, writes the same. */
template <step Step>
__global__ void __launch_bounds__(FEW)
    at_inactive(const __grid_constant__ gsw_mask_rows m, int64_t n, const int64_t *nearest,
                unsigned long long *uncut) {
    __shared__ int32_t found[CHUNK], count;
    take_turn();
    for (int64_t first = (int64_t)blockIdx.x * CHUNK; first < n;
         first += (int64_t)gridDim.x * CHUNK) {
        if (threadIdx.x == 0)
            count = 0;
        __syncthreads();
        for (int32_t k = (int32_t)threadIdx.x; k < CHUNK && first + k < n; k += FEW)
            if (!m.active[first + k])
                found[atomicAdd(&count, 1)] = k;
        __syncthreads();
        for (int32_t k = (int32_t)threadIdx.x; k < count; k += FEW) {
            const int64_t row = first + found[k];
            gsw_mask_couplings own, other;
            double sum = 0;
            own.row = other.row = -1;
            if (Step == CUT)
                gsw_mask_cut_point(&m, row);
            else if (Step == EXTEND)
                gsw_mask_extend_point(&m, nearest, row, &own, &sum, &other, 0);
            else if (Step == END)
                gsw_mask_end_point(&m, row);
            else if (!gsw_mask_is_cut(&m, row))
                *uncut = 1;
        }
        __syncthreads();
    }
}

__global__ void __launch_bounds__(THREADS)
    find_fixed(const __grid_constant__ gsw_mask_rows m, const __grid_constant__ gsw_frame f,
               uint8_t *left, unsigned long long *counts) {
    const int64_t n = f.n[0] * f.n[1] * f.n[2];
    unsigned long long alone = 0, large = 0, zeros = 0;
    take_turn();
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid()) {
        const int kind = gsw_mask_kind(&m, gsw_mask_row_in_frame(f.n, f.e, f.low, row));
        left[row] = kind == 0;
        alone += kind == 1;
        large += kind == 2;
        zeros += kind == 3;
    }
    if (alone > 0)
        atomicAdd(&counts[0], alone);
    if (large > 0)
        atomicAdd(&counts[1], large);
    if (zeros > 0)
        atomicAdd(&counts[2], zeros);
}

__global__ void __launch_bounds__(THREADS)
    shorten(const __grid_constant__ gsw_mask_rows m, const __grid_constant__ gsw_mask_near near,
            int64_t n) {
    take_turn();
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid())
        gsw_mask_shorten_row(&m, &near, row);
}

__global__ void __launch_bounds__(THREADS)
    cut_box(const __grid_constant__ gsw_mask_rows m, const __grid_constant__ gsw_frame frame,
            int64_t n) {
    take_turn();
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid())
        gsw_mask_cut_row(&m, frame.e, frame.low, row);
}

/* ---- Basins. Threads join roots with atomicMin: a label only ever falls, so a thread that has
 * lost against another one has a smaller label the next time, and ends after finitely many. ---- */

__device__ int64_t find_root(const int64_t *parent, int64_t at) {
    const volatile int64_t *labels = parent;
    for (int64_t next = labels[at]; next != at; next = labels[at])
        at = next;
    return at;
}

/* The same while threads join: on the way every other point gets the label after its own, so that
 * paths stay short. Where that overwrites one that another thread has just lowered, that thread
 * goes on from the label before. It would also overwrite the root of a point that is done. */
__device__ int64_t find_root_to_join(int64_t *parent, int64_t at) {
    volatile int64_t *labels = parent;
    for (int64_t next = labels[at]; next != at;) {
        const int64_t after = labels[next];
        if (after != next)
            labels[at] = after;
        at = next;
        next = after;
    }
    return at;
}

__device__ void join(int64_t *parent, int64_t a, int64_t b) {
    while (true) {
        a = find_root_to_join(parent, a);
        b = find_root_to_join(parent, b);
        if (a == b)
            return;
        const int64_t high = max(a, b), low = min(a, b);
        const int64_t before = (int64_t)atomicMin((long long *)&parent[high], (long long)low);
        if (before == high) /* it was a root */
            return;
        a = before;
        b = low;
    }
}

/* The points of a warp that follow each other on a line begin with the label of the first one, if
 * the stencil joins them. */
__global__ void __launch_bounds__(THREADS)
    begin_basins(const __grid_constant__ gsw_mask_rows m, int64_t n, int64_t *parent) {
    const bool joined = m.beside[0][0] >= 0;
    const unsigned lane = threadIdx.x % 32, before = 0xffffffffU >> (31 - lane);
    take_turn();
    for (int64_t first = first_of_thread() - lane; first < n; first += threads_of_grid()) {
        const int64_t row = first + lane;
        const bool active = row < n && m.active[row];
        const unsigned some = __ballot_sync(0xffffffffU, active);
        const unsigned starts = __ballot_sync(0xffffffffU, !joined || row % m.n[0] == 0);
        const int head = 31 - __clz((int)((~(some << 1) | starts | 1) & before));
        if (row < n)
            parent[row] = active ? first + head : -1;
    }
}

__global__ void __launch_bounds__(THREADS)
    join_basins(const __grid_constant__ gsw_mask_rows m, int32_t joining, int64_t n,
                int64_t *parent) {
    take_turn();
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid()) {
        if (!m.active[row])
            continue;
        const gsw_mask_point p = gsw_mask_point_of(&m, row);
        for (int32_t e = 0; e < joining; e++) {
            const int64_t other = gsw_mask_joined(&m, &p, e);
            if (other >= 0)
                join(parent, row, other);
        }
    }
}

/* Each label becomes the root's: a root's own does not change any more. */
__global__ void __launch_bounds__(THREADS) end_basins(int64_t n, int64_t *parent) {
    take_turn();
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid())
        if (parent[row] >= 0)
            parent[row] = find_root(parent, row);
}

__global__ void __launch_bounds__(THREADS)
    mark_basins(int64_t n, const int64_t *root, int64_t but, uint8_t *marked) {
    take_turn();
    for (int64_t i = first_of_thread(); i < n; i += threads_of_grid())
        marked[i] = root[i] >= 0 && root[i] != but;
}

__global__ void __launch_bounds__(THREADS)
    sum_rows(const __grid_constant__ gsw_mask_rows m, int64_t rows, const int64_t *points,
             double *sums, double *diagonals) {
    take_turn();
    for (int64_t i = first_of_thread(); i < rows; i += threads_of_grid())
        gsw_mask_sum_row(&m, points[i], &sums[i], &diagonals[i]);
}

/* A block takes a set at a time; sums are added in one order. */
template <typename Value>
__global__ void __launch_bounds__(THREADS)
    add_means(int64_t sets, const int64_t *begin, const int64_t *points, const double *scale,
              const Value *b, Value *x) {
    __shared__ double part[THREADS];
    take_turn();
    for (int64_t k = blockIdx.x; k < sets; k += gridDim.x) {
        double sum = 0;
        for (int64_t i = begin[k] + threadIdx.x; i < begin[k + 1]; i += THREADS)
            sum += (double)b[points[i]];
        part[threadIdx.x] = sum;
        for (unsigned half = THREADS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half)
                part[threadIdx.x] += part[threadIdx.x + half];
        }
        __syncthreads();
        const double add = scale[k] * part[0];
        for (int64_t i = begin[k] + threadIdx.x; i < begin[k + 1]; i += THREADS)
            x[points[i]] += (Value)add;
        __syncthreads();
    }
}

/* One pointer for each axis. */
template <typename Value> struct per_axis { Value *of[3]; };

__global__ void __launch_bounds__(THREADS)
    put_couplings(const __grid_constant__ gsw_mask_rows m, int64_t n, const int64_t *nearest,
                  per_axis<double> along) {
    take_turn();
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid())
        gsw_mask_put_couplings(&m, nearest, row, along.of);
}

__global__ void __launch_bounds__(THREADS)
    extend_faces(const __grid_constant__ gsw_mask_rows m, const __grid_constant__ gsw_frame frame,
                 int64_t n, per_axis<const double> along) {
    take_turn();
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid())
        gsw_mask_extend_faces(&m, frame.e, frame.low, along.of, row);
}

/* The active point of a line that is nearest to x, from the bits of its active points; -1: there is
 * none. Of two the one before. */
__device__ int64_t nearest_in_line(const uint32_t *bits, int64_t x, int64_t count) {
    int64_t word = x / 32, before = -1, after = -1;
    uint32_t some = bits[word] & (0xffffffffU >> (31 - x % 32));
    while (some == 0 && word > 0)
        some = bits[--word];
    if (some != 0)
        before = word * 32 + 31 - __clz((int)some);
    word = x / 32;
    some = bits[word] & (0xffffffffU << x % 32);
    while (some == 0 && ++word * 32 < count && (before < 0 || word * 32 - x < x - before))
        some = bits[word];
    if (some != 0)
        after = word * 32 + __ffs((int)some) - 1;
    return before < 0 || (after >= 0 && after - x < x - before) ? after : before;
}

/* The nearest active points along x; a block takes a line at a time. *gaps becomes 1 where a line
 * has none. Shared memory: a bit per point. */
__global__ void __launch_bounds__(THREADS)
    begin_nearest(int64_t lines, int64_t count, const uint8_t *active, int64_t *nearest,
                  int *gaps) {
    extern __shared__ uint32_t bits[];
    take_turn();
    for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
        const int64_t first = line * count;
        for (int64_t from = 0; from < count; from += THREADS) {
            const int64_t x = from + threadIdx.x;
            const uint32_t some = __ballot_sync(0xffffffffU, x < count && active[first + x]);
            if (threadIdx.x % 32 == 0 && x < count)
                bits[x / 32] = some;
        }
        __syncthreads();
        for (int64_t x = threadIdx.x; x < count; x += THREADS) {
            const int64_t found = nearest_in_line(bits, x, count);
            nearest[first + x] = found < 0 ? -1 : first + found;
            if (found < 0 && x == 0)
                *gaps = 1; /* whoever writes, writes the same */
        }
        __syncthreads();
    }
}

/* The same where a line has more bits than shared memory: all that is inactive is a gap. */
__global__ void __launch_bounds__(THREADS)
    begin_long_lines(int64_t n, const uint8_t *active, int64_t *nearest, int *gaps) {
    take_turn();
    *gaps = 1;
    for (int64_t row = first_of_thread(); row < n; row += threads_of_grid())
        nearest[row] = active[row] ? row : -1;
}

/* Lines of `count` points, `step` apart: line i begins at i % step + i / step * step * count. */
__global__ void __launch_bounds__(THREADS)
    fill_gaps(int64_t lines, int64_t step, int64_t count, int64_t *nearest, const int *gaps) {
    take_turn();
    if (*gaps == 0)
        return;
    for (int64_t line = first_of_thread(); line < lines; line += threads_of_grid())
        gsw_mask_fill_gaps(nearest + line % step + line / step * step * count, step, count);
}

int64_t points_of(const gsw_matrix *matrix) {
    return matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
}

template <step Step>
cudaError_t launch_step(gsw_context *context, const gsw_matrix *matrix, const gsw_mask_rows &m,
                        const int64_t *nearest, unsigned long long *uncut) {
    const int64_t n = points_of(matrix), chunks = (n + CHUNK - 1) / CHUNK;
    return launch_kernel(gsw_cuda_of(context), at_inactive<Step>, blocks_of(chunks * THREADS), FEW,
                         0, m, n, nearest, uncut);
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
    return gsw_cuda_check(
        context,
        launch_step<CUT>(context, matrix, gsw_mask_rows_of(matrix, type, arrays), nullptr, nullptr),
        "leaving inactive points out of a matrix");
}

gsw_status gsw_cuda_cut_box(gsw_context *context, const gsw_matrix *matrix, const gsw_frame *frame,
                            gsw_dtype type, void *const *arrays) {
    const int64_t n = points_of(matrix);
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), cut_box, blocks_of(n), THREADS, 0,
                                        gsw_mask_rows_of(matrix, type, arrays), *frame, n),
                          "leaving inactive points out of a matrix");
}

/* Launches what adds to `counts` numbers on the device, and gives these to the host. */
template <typename Count>
static gsw_status count_points(gsw_context *context, int counts, int64_t *to, Count count) {
    const gsw_memory_ops *memory = context->ops->memory;
    const size_t bytes = (size_t)counts * sizeof to[0];
    void *found;
    GSW_TRY(memory->reserve(context, bytes, &found));
    gsw_status status = memory->set(context, found, 0, bytes);
    if (status == GSW_SUCCESS)
        status = gsw_cuda_check(context, count(static_cast<unsigned long long *>(found)),
                                "looking for inactive and fixed points");
    if (status == GSW_SUCCESS)
        status = memory->download(context, to, found, bytes);
    memory->unreserve(context, found);
    return status;
}

gsw_status gsw_cuda_is_cut(gsw_context *context, const gsw_matrix *matrix, int *yes) {
    const gsw_mask_rows m =
        gsw_mask_rows_of(matrix, matrix->array.value_type, (void *const *)matrix->array.values);
    int64_t uncut = 0;
    GSW_TRY(count_points(context, 1, &uncut, [&](unsigned long long *found) {
        return launch_step<LOOK>(context, matrix, m, nullptr, found);
    }));
    *yes = uncut == 0;
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_find_fixed(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_frame *frame, uint8_t *left, int64_t counts[3]) {
    const gsw_mask_rows m =
        gsw_mask_rows_of(matrix, matrix->array.value_type, (void *const *)matrix->array.values);
    const gsw_frame f = *frame;
    const int64_t n = f.n[0] * f.n[1] * f.n[2];
    return count_points(context, 3, counts, [&](unsigned long long *found) {
        return launch_kernel(gsw_cuda_of(context), find_fixed, blocks_of(n), THREADS, 0, m, f, left,
                             found);
    });
}

gsw_status gsw_cuda_list_active(gsw_context *context, int64_t n, const uint8_t *active,
                                int64_t *points, int64_t *count) {
    const int64_t share = (n + LISTS - 1) / LISTS, least = THREADS;
    const int64_t range = share < least ? least : share;
    const int blocks = static_cast<int>((n + range - 1) / range);
    int64_t counts[LISTS];
    GSW_TRY(count_points(context, blocks, counts, [&](unsigned long long *found) {
        const gsw_cuda *cuda = gsw_cuda_of(context);
        const cudaError_t error = launch_kernel(cuda, count_active, static_cast<unsigned>(blocks),
                                                THREADS, 0, n, range, active, found);
        return error != cudaSuccess || points == nullptr
                   ? error
                   : launch_kernel(cuda, list_active, static_cast<unsigned>(blocks), THREADS, 0, n,
                                   range, active, found, points);
    }));
    *count = 0;
    for (int block = 0; block < blocks; block++)
        *count += counts[block];
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_spread(gsw_context *context, gsw_dtype type, int64_t rows,
                           const int64_t *points, const void *x, void *y) {
    return launch_move<true>(context, type, rows, points, x, y);
}

gsw_status gsw_cuda_collect(gsw_context *context, gsw_dtype type, int64_t rows,
                            const int64_t *points, const void *x, void *y) {
    return launch_move<false>(context, type, rows, points, x, y);
}

gsw_status gsw_cuda_shorten(gsw_context *context, const gsw_matrix *matrix, const gsw_stencil *near,
                            double *const *arrays) {
    const gsw_mask_rows m =
        gsw_mask_rows_of(matrix, matrix->array.value_type, (void *const *)matrix->array.values);
    const int64_t n = points_of(matrix);
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), shorten, blocks_of(n), THREADS, 0, m,
                                        gsw_mask_near_of(matrix, near, arrays), n),
                          "shortening a stencil");
}

gsw_status gsw_cuda_extend(gsw_context *context, const gsw_matrix *matrix, int64_t *nearest,
                           double *const *arrays) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const gsw_mask_rows m =
        gsw_mask_rows_of(matrix, GSW_F64, reinterpret_cast<void *const *>(arrays));
    const int64_t n = points_of(matrix);
    const size_t bits = static_cast<size_t>((m.n[0] + 31) / 32) * sizeof(uint32_t);
    const bool brief = bits <= SHARED_MOST;
    int64_t step = brief ? m.n[0] : 1;
    int *gaps = reinterpret_cast<int *>(cuda->partial);
    cudaError_t error = cudaMemsetAsync(gaps, 0, sizeof *gaps, cuda->stream);
    if (error == cudaSuccess)
        error = brief ? launch_kernel(cuda, begin_nearest, blocks_of(n / m.n[0] * THREADS), THREADS,
                                      bits, n / m.n[0], m.n[0], m.active, nearest, gaps)
                      : launch_kernel(cuda, begin_long_lines, blocks_of(n), THREADS, 0, n, m.active,
                                      nearest, gaps);
    for (int axis = brief; axis < 3 && error == cudaSuccess; step *= m.n[axis++]) {
        const int64_t lines = n / m.n[axis];
        error = launch_kernel(cuda, fill_gaps, blocks_of(lines), THREADS, 0, lines, step, m.n[axis],
                              nearest, gaps);
    }
    if (error == cudaSuccess)
        error = launch_step<EXTEND>(context, matrix, m, nearest, nullptr);
    if (error == cudaSuccess)
        error = launch_step<END>(context, matrix, m, nearest, nullptr);
    return gsw_cuda_check(context, error, "coupling inactive points");
}

gsw_status gsw_cuda_couplings(gsw_context *context, const gsw_matrix *matrix,
                              const int64_t *nearest, const double *const *arrays,
                              double *const along[3]) {
    const int64_t n = points_of(matrix);
    const per_axis<double> to = {{along[0], along[1], along[2]}};
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), put_couplings, blocks_of(n), THREADS,
                                        0, gsw_mask_rows_of(matrix, GSW_F64, (void *const *)arrays),
                                        n, nearest, to),
                          "finding the couplings beside inactive points");
}

gsw_status gsw_cuda_extend_faces(gsw_context *context, const gsw_matrix *matrix,
                                 const gsw_frame *frame, const double *const along[3],
                                 double *const *arrays) {
    const int64_t n = points_of(matrix);
    const per_axis<const double> from = {{along[0], along[1], along[2]}};
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), extend_faces, blocks_of(n), THREADS,
                                        0, gsw_mask_rows_of(matrix, GSW_F64, (void *const *)arrays),
                                        *frame, n, from),
                          "extending a matrix across the faces of boxes");
}

gsw_status gsw_cuda_find_basins(gsw_context *context, const gsw_matrix *matrix, int64_t *root) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    void *const none[GSW_STENCIL_MAX] = {};
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, GSW_F64, none);
    const int64_t n = points_of(matrix);
    const unsigned blocks = blocks_of(n);
    cudaError_t error = launch_kernel(cuda, begin_basins, blocks, THREADS, 0, m, n, root);
    if (error == cudaSuccess)
        error = launch_kernel(cuda, join_basins, blocks, THREADS, 0, m,
                              gsw_mask_joining(&m, &matrix->stencil), n, root);
    if (error == cudaSuccess)
        error = launch_kernel(cuda, end_basins, blocks, THREADS, 0, n, root);
    return gsw_cuda_check(context, error, "finding the basins of a mask");
}

gsw_status gsw_cuda_mark_basins(gsw_context *context, int64_t n, const int64_t *root, int64_t but,
                                uint8_t *marked) {
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), mark_basins, blocks_of(n), THREADS, 0,
                                        n, root, but, marked),
                          "marking the basins of a mask");
}

gsw_status gsw_cuda_sum_rows(gsw_context *context, const gsw_matrix *matrix,
                             const double *const *arrays, int64_t rows, const int64_t *points,
                             double *sums, double *diagonals) {
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), sum_rows, blocks_of(rows), THREADS, 0,
                                        gsw_mask_rows_of(matrix, GSW_F64, (void *const *)arrays),
                                        rows, points, sums, diagonals),
                          "adding up rows");
}

gsw_status gsw_cuda_add_means(gsw_context *context, gsw_dtype type, int64_t sets,
                              const int64_t *begin, const int64_t *points, const double *scale,
                              const void *b, void *x) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const unsigned blocks = blocks_of(sets * THREADS);
    return gsw_cuda_check(
        context,
        type == GSW_F64
            ? launch_kernel(cuda, add_means<double>, blocks, THREADS, 0, sets, begin, points, scale,
                            static_cast<const double *>(b), static_cast<double *>(x))
            : launch_kernel(cuda, add_means<float>, blocks, THREADS, 0, sets, begin, points, scale,
                            static_cast<const float *>(b), static_cast<float *>(x)),
        "adding means of basins");
}
