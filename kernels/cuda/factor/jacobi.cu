/* jacobi.cu: JACOBI on the device: the reciprocal diagonal, and scaling by it. */
#include <float.h>

#include "cuda/factor/factors.cuh"
#include "cuda/rows/rows.cuh"
#include "pack_rows.cuh"

namespace {

constexpr int THREADS = 256;
constexpr int BATCH = 4; /* loads of a thread that are under way together */
constexpr int64_t BLOCKS_MAX = int64_t{1} << 30;

struct jacobi_plan {
    int64_t points;
    double pivot_shift;
    gsw_cuda_pivots *pivots;
    int32_t narrows; /* to fp32, which may not hold all values */
};

template <typename Value> struct jacobi_array {
    const Value *values; /* NULL: zeros */

    __device__ double at(const jacobi_plan &, int64_t row) const {
        return values ? (double)pack_load(values + row) : 0;
    }
};

template <typename Index, typename Value> struct jacobi_csr {
    const Index *row_ptr;
    const Index *columns;
    const Value *values;
    int64_t nonzeros;
    int32_t base;

    /* Reads the middle of the row first, where full rows have the diagonal. */
    __device__ double at(const jacobi_plan &plan, int64_t row) const {
        const int64_t begin = (int64_t)pack_load(row_ptr + row) - base;
        const int64_t end = (int64_t)pack_load(row_ptr + row + 1) - base;
        if (begin < 0 || end < begin || end > nonzeros) {
            note_lowest(&plan.pivots->misfit, row);
            return 0;
        }
        const int64_t middle = begin + (end - begin) / 2;
        if (middle < end && (int64_t)pack_load(columns + middle) - base == row)
            return (double)pack_load(values + middle);
        for (int64_t k = begin; k < end; k++) {
            if ((int64_t)pack_load(columns + k) - base == row)
                return (double)pack_load(values + k);
        }
        return 0;
    }
};

template <typename Source>
__device__ double jacobi_reciprocal(const jacobi_plan &plan, const Source &source, int64_t row) {
    double d = source.at(plan, row);
    if (gsw_pivot_is_bad(d, 0)) {
        if (plan.pivot_shift > 0) {
            d = gsw_pivot_shifted(d, plan.pivot_shift, 0, 0);
            note_one(&plan.pivots->shifted);
        } else {
            note_lowest(&plan.pivots->bad, row);
        }
    }
    if (plan.narrows && gsw_pivot_is_beyond_f32(d))
        note_lowest(&plan.pivots->beyond, row);
    return 1 / d;
}

template <typename Stored, typename Source>
__global__ void __launch_bounds__(THREADS)
    fill_reciprocal(const jacobi_plan plan, const Source source, Stored *reciprocal) {
    for (int64_t row = int64_t{blockIdx.x} * THREADS + threadIdx.x; row < plan.points;
         row += int64_t{gridDim.x} * THREADS)
        reciprocal[row] = (Stored)jacobi_reciprocal(plan, source, row);
}

unsigned blocks_for(int64_t n, int per_block) {
    const int64_t blocks = gsw_ceil_div(n, per_block);
    return (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

template <typename Source>
gsw_status launch_fill(gsw_context *context, gsw_factor *factor, const Source &source) {
    const jacobi_plan plan = {factor->points, factor->options.pivot_shift, factor->packed->pivots,
                              factor->options.factor_type == GSW_F32};
    cudaStream_t stream = gsw_cuda_of(context)->stream;
    void *reciprocal = factor->packed->reciprocal;
    const unsigned blocks = blocks_for(plan.points, THREADS);
    if (factor->options.factor_type == GSW_F64)
        fill_reciprocal<<<blocks, THREADS, 0, stream>>>(plan, source,
                                                        static_cast<double *>(reciprocal));
    else
        fill_reciprocal<<<blocks, THREADS, 0, stream>>>(plan, source,
                                                        static_cast<float *>(reciprocal));
    return gsw_cuda_check_launch(context, "the reciprocal diagonal");
}

/* x = b / diagonal for every right-hand side; x may be b. */
template <typename Value, typename Stored>
__global__ void __launch_bounds__(THREADS)
    apply_reciprocal(int64_t points, int64_t count, const Stored *__restrict__ reciprocal,
                     const Value *b, int64_t ldb, Value *x, int64_t ldx) {
    constexpr int64_t SEGMENT = THREADS * BATCH;
    for (int64_t segment = int64_t{blockIdx.x} * SEGMENT; segment < points;
         segment += int64_t{gridDim.x} * SEGMENT) {
        const int64_t first = segment + threadIdx.x;
        Value scale[BATCH], value[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const int64_t i = first + k * THREADS;
            scale[k] = i < points ? (Value)reciprocal[i] : Value{0};
        }
        for (int64_t r = 0; r < count; r++) {
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const int64_t i = first + k * THREADS;
                value[k] = i < points ? b[r * ldb + i] : Value{0};
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                const int64_t i = first + k * THREADS;
                if (i < points)
                    x[r * ldx + i] = value[k] * scale[k];
            }
        }
    }
}

template <typename Value, typename Stored>
gsw_status launch_apply(gsw_context *context, gsw_factor *factor, int64_t count, const void *b,
                        int64_t ldb, void *x, int64_t ldx) {
    apply_reciprocal<Value, Stored>
        <<<blocks_for(factor->points, THREADS * BATCH), THREADS, 0, gsw_cuda_of(context)->stream>>>(
            factor->points, count, static_cast<const Stored *>(factor->packed->reciprocal),
            static_cast<const Value *>(b), ldb, static_cast<Value *>(x), ldx);
    return gsw_cuda_check_launch(context, "scaling by the reciprocal diagonal");
}

} // namespace

gsw_status gsw_cuda_jacobi_fill(gsw_context *context, gsw_factor *factor,
                                const gsw_matrix *matrix) {
    return with_rows(matrix, [&](auto rows) {
        using Rows = decltype(rows);
        using Value = typename Rows::value;
        if constexpr (Rows::are_arrays) {
            const void *values = array_of(matrix, matrix->stencil.center);
            return launch_fill(context, factor,
                               jacobi_array<Value>{static_cast<const Value *>(values)});
        } else {
            using Index = typename Rows::index;
            const gsw_csr *csr = csr_of(matrix);
            return launch_fill(context, factor,
                               jacobi_csr<Index, Value>{static_cast<const Index *>(csr->row_ptr),
                                                        static_cast<const Index *>(csr->columns),
                                                        static_cast<const Value *>(csr->values),
                                                        csr->nonzeros, csr->base});
        }
    });
}

gsw_status gsw_cuda_jacobi_apply(gsw_context *context, gsw_factor *factor, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx) {
    if (factor->options.vector_type == GSW_F32)
        return launch_apply<float, float>(context, factor, count, b, ldb, x, ldx);
    if (factor->options.factor_type == GSW_F32)
        return launch_apply<double, float>(context, factor, count, b, ldb, x, ldx);
    return launch_apply<double, double>(context, factor, count, b, ldb, x, ldx);
}
