/* multigrid_survey.cu: the properties of a level's matrix, and copies of it.
 *
 * Sums are taken in two stages whose shape depends on the number of rows alone: the same bits on
 * every run and every device. */
#include <float.h>

#include "common/pivot.h"
#include "common/wraps.h"
#include "contract/row.h"
#include "multigrid_rows.cuh"
#include "cuda/device/sums.cuh"
extern "C" {
#include "geometry/stencil_facts.h"
}

namespace {

enum { THREADS = 256 };

/* Of some rows. */
struct tally {
    double coupling[3], off_diagonal, same_sign, strongest;
    double row_ratio, largest, least;
    int64_t negative, fixed;
    int64_t bad_row;              /* INT64_MAX: none */
    int32_t asymmetric;           /* 1 beyond rounding, 2 in some bit */
    int16_t unbalanced, isolated; /* unbalanced: 1 no zero sums, 2 constants are not mapped to 0 */
};

/* The blocks' tallies lie in the context's partial sums. */
constexpr int BLOCKS_MAX =
    (int)(GSW_CUDA_SUMS * GSW_CUDA_PARTIALS * sizeof(double) / sizeof(tally));

__device__ tally empty_tally() {
    return {{0, 0, 0}, 0, 0, 0, 0, 0, INFINITY, 0, 0, INT64_MAX, 0, 0, 0};
}

__device__ void join(tally &to, const tally &from) {
    for (int axis = 0; axis < 3; axis++)
        to.coupling[axis] += from.coupling[axis];
    to.off_diagonal += from.off_diagonal;
    to.same_sign += from.same_sign;
    to.strongest += from.strongest;
    to.negative += from.negative;
    to.fixed += from.fixed;
    to.row_ratio = from.row_ratio > to.row_ratio ? from.row_ratio : to.row_ratio;
    to.largest = from.largest > to.largest ? from.largest : to.largest;
    to.least = from.least < to.least ? from.least : to.least;
    to.bad_row = from.bad_row < to.bad_row ? from.bad_row : to.bad_row;
    to.asymmetric |= from.asymmetric;
    to.unbalanced |= from.unbalanced;
    to.isolated |= from.isolated;
}

/* Entries and their mirror images. A parameter of kernels. */
struct mirrors {
    int16_t of[ROW_ENTRIES]; /* -1: zeros */
    bool compare;
};

/* Any stencil. */
struct any_entries {
    enum { BATCH = ROW_BATCH };
    static __device__ int count(const level_matrix &m) {
        return m.count;
    }
    static __device__ int center(const level_matrix &m) {
        return m.center;
    }
    static __device__ bool leads_along(const level_matrix &m, int e, int axis) {
        return (axis == 0 ? m.dx[e] : axis == 1 ? m.dy[e] : m.dz[e]) != 0;
    }
    static __device__ int mirror(const mirrors &mirror, int e) {
        return mirror.of[e];
    }
    static __device__ int64_t distance(const level_matrix &m, int e) {
        return distance_of(m, e);
    }
};

/* D3N7, in one batch. */
struct seven_entries {
    enum { BATCH = 7 };
    static __device__ int count(const level_matrix &) {
        return 7;
    }
    static __device__ int center(const level_matrix &) {
        return 3;
    }
    static __device__ bool leads_along(const level_matrix &, int e, int axis) {
        return axis == (e < 3 ? 2 - e : e - 4) && e != 3;
    }
    static __device__ int mirror(const mirrors &, int e) {
        return 6 - e;
    }
    static __device__ int64_t distance(const level_matrix &m, int e) {
        return e == 4 ? 1 : e == 5 ? m.nx : (int64_t)m.nx * m.ny; /* after the centre */
    }
};

/* `wraps`: the couplings around a periodic grid, where `around` says that there are any. */
template <typename Value, typename entries, bool around>
__device__ void add_row(const level_matrix &m, const mirrors &mirror, const gsw_wraps &wraps,
                        int64_t row, tally &sum) {
    enum { BATCH = entries::BATCH };
    const int center = entries::center(m);
    const level_row r = level_row_at(m, point_of(m, row));
    const double diagonal = entry_of<Value>(m, center, r);
    double size = 0, total = 0, along[3] = {0, 0, 0};
    for (int32_t first = 0; first < entries::count(m); first += BATCH) {
        double value[BATCH], other[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            value[k] = entry_of<Value>(m, first + k, r);
        if (mirror.compare) {
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                /* One of each pair is enough, besides the entries without mirror image. */
                const int32_t e = first + k, image = entries::mirror(mirror, e);
                other[k] = e > center || image < 0 ? 0 : value[k];
                if (e > center && image >= 0 && has_entry(m, e, r) && m.values[image])
                    other[k] = value_of<Value>(m, image, row + entries::distance(m, e));
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++)
                sum.asymmetric |= (fabs(value[k] - other[k]) > 1e-7 * fabs(diagonal)) |
                                  (value[k] != other[k]) << 1;
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            size += fabs(value[k]);
            total += value[k];
#pragma unroll
            for (int axis = 0; axis < 3; axis++)
                along[axis] += entries::leads_along(m, first + k, axis) ? value[k] : 0;
        }
    }
    if (around && (r.lacked & ~NOTHING_HAS) != 0) { /* near the end of some axis */
        const point p = point_of(m, row);
        const int64_t at[3] = {p.x, p.y, p.z};
        const gsw_wraps_sums s = gsw_wraps_add_up(&wraps, at, diagonal);
        size += s.size;
        total += s.total;
        for (int axis = 0; axis < 3; axis++)
            along[axis] += s.axis[axis];
        sum.asymmetric |= mirror.compare && s.asymmetric;
    }
    const double d = fabs(diagonal);
    if (!(d > 0 && d <= DBL_MAX) && row < sum.bad_row)
        sum.bad_row = row;
    sum.unbalanced |= !(fabs(total) <= 1e-12 * size) | !gsw_row_sum_is_zero(total, size) << 1;
    sum.isolated |= size == d;
    const double inverse = 1 / diagonal;
    double strongest = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double share = -along[axis] * inverse;
        sum.coupling[axis] += share > 0 ? share : 0;
        strongest = share > strongest ? share : strongest;
    }
    sum.strongest += strongest;
    const double ratio = size * fabs(inverse);
    /* Couplings of the diagonal's sign: half of the sum of all couplings and all |couplings|. */
    const double off = ratio - 1, same = (off + total * inverse - 1) / 2;
    sum.off_diagonal += off > 0 && d > 0 ? off : 0;
    sum.same_sign += same > 1e-14 * off && d > 0 ? same : 0;
    sum.negative += diagonal < 0;
    sum.fixed += gsw_row_is_fixed(d, size);
    sum.row_ratio = ratio > sum.row_ratio ? ratio : sum.row_ratio;
    sum.largest = size > sum.largest ? size : sum.largest;
    sum.least = d < sum.least ? d : sum.least;
}

/* Joins the tallies of a block's threads, in a fixed order, into the first thread's. */
__device__ void join_block(tally &own) {
    __shared__ tally of[THREADS];
    of[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            join(of[threadIdx.x], of[threadIdx.x + half]);
        __syncthreads();
    }
    own = of[0];
}

template <typename Value, typename entries, bool around>
__global__ void __launch_bounds__(THREADS, 3)
    survey_rows(const __grid_constant__ level_matrix m, const __grid_constant__ mirrors mirror,
                const __grid_constant__ gsw_wraps wraps, int64_t begin, int64_t end,
                tally *of_block) {
    tally own = empty_tally();
    for (int64_t row = begin + (int64_t)blockIdx.x * THREADS + threadIdx.x; row < end;
         row += (int64_t)gridDim.x * THREADS)
        add_row<Value, entries, around>(m, mirror, wraps, row, own);
    join_block(own);
    if (threadIdx.x == 0)
        of_block[blockIdx.x] = own;
}

bool is_seven(const gsw_matrix *matrix) {
    gsw_stencil seven;
    return gsw_stencil_named("D3N7", &seven) == GSW_SUCCESS &&
           gsw_stencil_is_same(&matrix->stencil, &seven);
}

/* One block; leaves the result in the first place. */
__global__ void __launch_bounds__(THREADS) join_survey(int blocks, tally *of_block) {
    tally own = empty_tally();
    for (int block = (int)threadIdx.x; block < blocks; block += THREADS)
        join(own, of_block[block]);
    join_block(own);
    if (threadIdx.x == 0)
        of_block[0] = own;
}

/* ---- Copies ---- */

template <typename Value> struct copy_targets { Value *values[GSW_STENCIL_MAX]; };

template <typename Value>
copy_targets<Value> targets_of(const gsw_matrix *matrix, void *const *arrays) {
    copy_targets<Value> targets = {};
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        targets.values[e] = static_cast<Value *>(arrays[e]);
    return targets;
}

template <typename Value, typename Source>
__global__ void __launch_bounds__(THREADS)
    copy_stencil(const __grid_constant__ level_matrix m,
                 const __grid_constant__ copy_targets<Value> to, const gsw_array_steps steps,
                 int64_t rows) {
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < rows;
         row += (int64_t)gridDim.x * THREADS) {
        const point p = point_of(m, row);
        level_row r = level_row_at(m, p);
        r.row = p.x + p.y * steps.y + p.z * steps.z; /* in the arrays */
        for (int32_t e = 0; e < m.count; e++) {
            if (!to.values[e])
                continue;
            const bool far = m.needed[e] == NOTHING_HAS; /* or without an array */
            const bool has =
                far ? m.values[e] && is_inside(m, p + offset_of(m, e)) : has_entry(m, e, r);
            to.values[e][row] = has ? (Value)value_of<Source>(m, e, r.row) : (Value)0;
        }
    }
}

/* Rows of coarse points. Offsets may be of any reach. */
template <typename Source>
__global__ void __launch_bounds__(THREADS)
    copy_injected(const __grid_constant__ level_matrix m, int axes, const level_grid coarse,
                  const __grid_constant__ copy_targets<double> to, int64_t rows) {
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < rows;
         row += (int64_t)gridDim.x * THREADS) {
        const point p = point_of(coarse, row);
        const point fine = {p.x * (1 + (axes & 1)), p.y * (1 + (axes >> 1 & 1)),
                            p.z * (1 + (axes >> 2 & 1))};
        for (int32_t e = 0; e < m.count; e++)
            to.values[e][row] = m.values[e] && is_inside(coarse, p + offset_of(m, e))
                                    ? value_of<Source>(m, e, row_of(m, fine))
                                    : 0;
    }
}

/* A coarse diagonal that has cancelled becomes that of the fine point there. */
template <typename Source>
__global__ void __launch_bounds__(THREADS)
    mend(const __grid_constant__ level_matrix m, int axes, const level_grid coarse, int64_t rows,
         double *diagonal) {
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < rows;
         row += (int64_t)gridDim.x * THREADS) {
        const point p = point_of(coarse, row);
        const point fine = {p.x * (1 + (axes & 1)), p.y * (1 + (axes >> 1 & 1)),
                            p.z * (1 + (axes >> 2 & 1))};
        const double above = value_of<Source>(m, m.center, row_of(m, fine));
        if (fabs(diagonal[row]) <= 64 * DBL_EPSILON * fabs(above))
            diagonal[row] = above;
    }
}

struct csr_source {
    const void *row_ptr, *columns, *values;
    int64_t nonzeros;
    int32_t base;
    bool wide; /* indices of 64 bits */
    bool f32;
};

__device__ int64_t index_of(const csr_source &csr, const void *array, int64_t i) {
    return csr.wide ? static_cast<const int64_t *>(array)[i]
                    : (int64_t) static_cast<const int32_t *>(array)[i];
}

/* *misfit: the lowest row whose columns are not the stencil's in ascending order. */
template <typename Value>
__global__ void __launch_bounds__(THREADS)
    copy_csr(const __grid_constant__ level_matrix m, const csr_source csr,
             const __grid_constant__ copy_targets<Value> to, int64_t rows,
             unsigned long long *misfit) {
    for (int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x; row < rows;
         row += (int64_t)gridDim.x * THREADS) {
        const point p = point_of(m, row);
        int64_t k = index_of(csr, csr.row_ptr, row) - csr.base;
        int64_t end = index_of(csr, csr.row_ptr, row + 1) - csr.base;
        const bool fits = k >= 0 && k <= end && end <= csr.nonzeros;
        end = fits ? end : k;
        for (int32_t e = 0; e < m.count; e++) {
            const point there = p + offset_of(m, e);
            double value = 0;
            if (k < end && is_inside(m, there) &&
                index_of(csr, csr.columns, k) - csr.base == row_of(m, there)) {
                value = csr.f32 ? (double)static_cast<const float *>(csr.values)[k]
                                : static_cast<const double *>(csr.values)[k];
                k++;
            }
            if (to.values[e])
                to.values[e][row] = (Value)value;
        }
        if (!fits || k < end)
            atomicMin(misfit, (unsigned long long)row);
    }
}

template <typename Value>
gsw_status copy_from_csr(gsw_context *context, const gsw_matrix *matrix, int64_t rows,
                         void *const *arrays) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    const gsw_csr *given = &matrix->csr;
    const csr_source csr = {given->row_ptr,
                            given->columns,
                            given->values,
                            given->nonzeros,
                            (int32_t)given->base,
                            given->index_type == GSW_I64,
                            given->value_type == GSW_F32};
    unsigned long long *found = reinterpret_cast<unsigned long long *>(cuda->partial), misfit;
    GSW_TRY(gsw_cuda_check(context, cudaMemsetAsync(found, 0xff, sizeof *found, cuda->stream),
                           "reading a matrix"));
    copy_csr<Value><<<blocks_for(rows, THREADS), THREADS, 0, cuda->stream>>>(
        level_matrix_of(matrix), csr, targets_of<Value>(matrix, arrays), rows, found);
    GSW_TRY(gsw_cuda_check_launch(context, "reading a matrix"));
    GSW_TRY(context->ops->memory->download(context, &misfit, found, sizeof misfit));
    if (misfit != ~0ULL)
        return gsw_row_refuse_misfit(context, given->base, NULL, (int64_t)misfit);
    return GSW_SUCCESS;
}

} // namespace

gsw_status gsw_cuda_survey(gsw_context *context, const gsw_matrix *matrix, const gsw_frame *own,
                           const gsw_wraps *wraps, int mirror, gsw_survey *survey) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    const gsw_grid *g = &matrix->grid;
    const int64_t rows = g->nx * g->ny * (own ? own->n[2] : g->nz);
    const int64_t begin = own ? g->nx * g->ny * own->low[2] : 0;
    const int blocks =
        (int)((rows - 1) / THREADS < BLOCKS_MAX ? (rows - 1) / THREADS + 1 : (int64_t)BLOCKS_MAX);
    const level_matrix m = level_matrix_of(matrix);
    const bool f32 = holds_f32(matrix), seven = is_seven(matrix);
    mirrors images = {};
    images.compare = mirror != 0;
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        images.of[e] = (int16_t)gsw_matrix_mirror(matrix, e);
    tally *of_block = reinterpret_cast<tally *>(cuda->partial), found;
    const gsw_wraps none = {};
    const auto survey_all =
        wraps ? f32 ? survey_rows<float, any_entries, true> : survey_rows<double, any_entries, true>
        : seven ? f32 ? survey_rows<float, seven_entries, false>
                      : survey_rows<double, seven_entries, false>
        : f32 ? survey_rows<float, any_entries, false>
                : survey_rows<double, any_entries, false>;
    survey_all<<<(unsigned)blocks, THREADS, 0, cuda->stream>>>(m, images, wraps ? *wraps : none,
                                                               begin, begin + rows, of_block);
    join_survey<<<1, THREADS, 0, cuda->stream>>>(blocks, of_block);
    GSW_TRY(gsw_cuda_check_launch(context, "surveying a matrix"));
    GSW_TRY(context->ops->memory->download(context, &found, of_block, sizeof found));
    *survey = {};
    for (int axis = 0; axis < 3; axis++)
        survey->coupling[axis] = found.coupling[axis] / (double)rows;
    survey->off_diagonal = found.off_diagonal / (double)rows;
    survey->same_sign = found.same_sign / (double)rows;
    survey->strongest = found.strongest / (double)rows;
    survey->negative = found.negative;
    survey->fixed = found.fixed;
    survey->row_ratio = found.row_ratio;
    survey->largest = found.largest;
    survey->least = found.least;
    survey->bad_row = found.bad_row == INT64_MAX ? -1 : found.bad_row;
    survey->symmetric = !(found.asymmetric & 1);
    survey->mirrored = mirror && !found.asymmetric && !wraps;
    survey->zero_sums = !(found.unbalanced & 1);
    survey->constants = !(found.unbalanced & 2);
    survey->isolated = found.isolated;
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_copy_arrays(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                void *const *arrays) {
    const gsw_grid *g = &matrix->grid;
    const int64_t rows = g->nx * g->ny * g->nz;
    cudaStream_t stream = gsw_cuda_of(context)->stream;
    if (csr_of(matrix))
        return type == GSW_F64 ? copy_from_csr<double>(context, matrix, rows, arrays)
                               : copy_from_csr<float>(context, matrix, rows, arrays);
    const level_matrix from = level_matrix_of(matrix);
    const gsw_array_steps steps = gsw_array_steps_of(matrix);
    if (type == GSW_F64) {
        const auto copy =
            holds_f32(matrix) ? copy_stencil<double, float> : copy_stencil<double, double>;
        copy<<<blocks_for(rows, THREADS), THREADS, 0, stream>>>(
            from, targets_of<double>(matrix, arrays), steps, rows);
    } else {
        const auto copy =
            holds_f32(matrix) ? copy_stencil<float, float> : copy_stencil<float, double>;
        copy<<<blocks_for(rows, THREADS), THREADS, 0, stream>>>(
            from, targets_of<float>(matrix, arrays), steps, rows);
    }
    return gsw_cuda_check_launch(context, "copying a matrix");
}

gsw_status gsw_cuda_inject(gsw_context *context, const gsw_transfer *transfer,
                           const gsw_matrix *matrix, double *const *coarse) {
    const gsw_grid *g = &transfer->coarse;
    const int64_t rows = g->nx * g->ny * g->nz;
    copy_targets<double> targets = {};
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        targets.values[e] = coarse[e];
    const auto copy = holds_f32(matrix) ? copy_injected<float> : copy_injected<double>;
    copy<<<blocks_for(rows, THREADS), THREADS, 0, gsw_cuda_of(context)->stream>>>(
        level_matrix_of(matrix), transfer->axes, level_grid_of(g), targets, rows);
    return gsw_cuda_check_launch(context, "injecting a matrix");
}

gsw_status gsw_cuda_mend_diagonal(gsw_context *context, const gsw_transfer *transfer,
                                  const gsw_matrix *matrix, double *diagonal) {
    const gsw_grid *g = &transfer->coarse;
    const int64_t rows = g->nx * g->ny * g->nz;
    const auto mend_with = holds_f32(matrix) ? mend<float> : mend<double>;
    mend_with<<<blocks_for(rows, THREADS), THREADS, 0, gsw_cuda_of(context)->stream>>>(
        level_matrix_of(matrix), transfer->axes, level_grid_of(g), rows, diagonal);
    return gsw_cuda_check_launch(context, "mending a diagonal");
}
