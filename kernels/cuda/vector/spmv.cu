/* spmv.cu: products with a matrix: y = A x, or the residual y = b - A x.
 *
 * One thread adds a row's products, in ascending order of the columns, with one fused multiply-add
 * each, starting from 0 or b. So the bits are the same as on the CPU. Lanes do not share a row's
 * sum, but they share the loads of its entries. */
#include <cuda_pipeline.h>
#include <type_traits>

#include "common/csr.h"
#include "cuda/device/launch.cuh"
#include "cuda/rows/rows.cuh"
#include "near_terms.cuh"
#include "spmv.cuh"
#include "cuda/device/sums.cuh"
#include "vector.cuh"

namespace {

constexpr int64_t BLOCKS_MAX = int64_t{1} << 30;

unsigned blocks_for(int64_t rows, int per_block) {
    int64_t blocks = rows / per_block + (rows % per_block != 0);
    return static_cast<unsigned>(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

/* ---- CSR ---- */

/* Rows of a block, one per thread, and the most shared memory that their entries may take: five
 * blocks then fit on a multiprocessor with 227 KB. 42 KB hold 128 rows of 27 fp64 entries. */
enum { ROWS = 128, STAGE_BYTES = 42 * 1024 };

template <typename Coefficient, typename Index> struct csr_arrays {
    int64_t rows;
    const Index *row_ptr;
    const Index *columns;
    const Coefficient *values;
    int base;
    int capacity; /* entries in shared memory: a multiple of 32 */
};

/* Copies `count` entries from entry `first` on into shared memory. Neighbouring threads read
 * neighbouring entries, and all copies are under way at once. Returns when the whole block can read
 * them. */
template <typename Coefficient, typename Index>
__device__ void stage(const csr_arrays<Coefficient, Index> &csr, int64_t first, int count,
                      Coefficient *values, Index *columns) {
    for (int k = static_cast<int>(threadIdx.x); k < count; k += ROWS) {
        __pipeline_memcpy_async(values + k, csr.values + first + k, sizeof *values);
        __pipeline_memcpy_async(columns + k, csr.columns + first + k, sizeof *columns);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
}

__device__ int clamp(int64_t value, int most) {
    return value < 0 ? 0 : value > most ? most : static_cast<int>(value);
}

/* A block stages the entries of its rows, in several pieces if there are too many. Each thread adds
 * up the part of its own row that lies in the piece. So the lanes of a warp read neighbouring
 * values of x for rows of one stencil. The loads of x assume that no kernel changes it meanwhile,
 * so the launch is an ordinary one. */
template <typename Value, typename Coefficient, typename Index, bool residual, int vectors = 1>
__global__ void __launch_bounds__(ROWS)
    csr_rows(const csr_arrays<Coefficient, Index> csr, const Value *b, const Value *__restrict__ x,
             Value *y, int64_t stride) {
    extern __shared__ double shared[];
    Coefficient *values = reinterpret_cast<Coefficient *>(shared);
    Index *columns = reinterpret_cast<Index *>(values + csr.capacity);

    for (int64_t first = int64_t{blockIdx.x} * ROWS; first < csr.rows;
         first += int64_t{gridDim.x} * ROWS) {
        int64_t row = first + threadIdx.x;
        int64_t last = first + ROWS < csr.rows ? first + ROWS : csr.rows;
        int64_t begin = 0, end = 0;
        Value sum[vectors] = {};
        if (row < last) {
            begin = int64_t{csr.row_ptr[row]} - csr.base;
            end = int64_t{csr.row_ptr[row + 1]} - csr.base;
            sum[0] = residual ? b[row] : 0;
        }
        int64_t all = int64_t{csr.row_ptr[last]} - csr.base;
        for (int64_t piece = int64_t{csr.row_ptr[first]} - csr.base; piece < all;
             piece += csr.capacity) {
            int count = clamp(all - piece, csr.capacity);
            stage(csr, piece, count, values, columns);
            int until = clamp(end - piece, count);
#pragma unroll 4
            for (int k = clamp(begin - piece, count); k < until; k++) {
                Value a = static_cast<Value>(values[k]);
                const Value *from = x + (int64_t{columns[k]} - csr.base);
#pragma unroll
                for (int j = 0; j < vectors; j++)
                    sum[j] = multiply_add(residual ? -a : a, from[j * stride], sum[j]);
            }
            __syncthreads(); /* before the next piece overwrites this one */
        }
        if (row < last)
#pragma unroll
            for (int j = 0; j < vectors; j++)
                y[j * stride + row] = sum[j];
    }
}

/* `vectors` vectors, `stride` values apart: several only without b. */
template <typename Value, typename Coefficient, typename Index, int vectors = 1>
cudaError_t launch_csr(const gsw_cuda *cuda, const gsw_csr *csr, const void *b, const void *x,
                       void *y, int64_t stride = 0) {
    const int64_t entry = sizeof(Coefficient) + sizeof(Index);
    const int64_t longest = STAGE_BYTES / entry / 32 * 32;
    /* Room for rows of average length: more blocks fit on a multiprocessor. */
    const int64_t average = csr->nonzeros / csr->rows + 1;
    const int64_t capacity = average < longest / ROWS ? average * ROWS : longest;
    const csr_arrays<Coefficient, Index> arrays = {csr->rows,
                                                   static_cast<const Index *>(csr->row_ptr),
                                                   static_cast<const Index *>(csr->columns),
                                                   static_cast<const Coefficient *>(csr->values),
                                                   csr->base,
                                                   static_cast<int>(capacity)};
    const unsigned blocks = blocks_for(csr->rows, ROWS);
    const size_t bytes = static_cast<size_t>(capacity * entry);
    const Value *from_b = static_cast<const Value *>(b);
    const Value *from_x = static_cast<const Value *>(x);
    Value *to = static_cast<Value *>(y);
    if (b)
        csr_rows<Value, Coefficient, Index, true>
            <<<blocks, ROWS, bytes, cuda->stream>>>(arrays, from_b, from_x, to, 0);
    else
        csr_rows<Value, Coefficient, Index, false, vectors>
            <<<blocks, ROWS, bytes, cuda->stream>>>(arrays, from_b, from_x, to, stride);
    return cudaGetLastError();
}

/* ---- stencil arrays ---- */

enum { POINTS = 256 }; /* of a block, one per thread */

/* A thread takes a point: neighbouring threads read neighbouring values of every array and of x.
 * For any offsets and any number of points. */
template <typename Value, typename Coefficient, bool residual>
__global__ void __launch_bounds__(POINTS)
    stencil_rows(const stencil_terms<Coefficient> terms, const Value *b, const Value *x, Value *y) {
    take_turn();
    for (int64_t row = int64_t{blockIdx.x} * POINTS + threadIdx.x; row < terms.points;
         row += int64_t{gridDim.x} * POINTS) {
        if constexpr (residual) {
            subtracted<Value> sum[1] = {{b ? b[row] : 0}};
            any_row(terms, row, x, sum);
            y[row] = sum[0].value;
        } else {
            added<Value> sum[1] = {};
            any_row(terms, row, x, sum);
            y[row] = sum[0].value;
        }
    }
}

/* y = A x, or b - A x, where b may be NULL for zeros. */
template <typename Value, typename Coefficient, bool residual, int batch, bool sections = false>
__global__ void __launch_bounds__(POINTS)
    near_rows(const near_terms<Coefficient> terms, const Value *b, const Value *x, Value *y) {
    take_turn();
    for (uint32_t row = blockIdx.x * POINTS + threadIdx.x; row < terms.points;
         row += gridDim.x * POINTS) {
        if constexpr (residual) {
            subtracted<Value> sum[1] = {{b ? b[row] : 0}};
            near_row<batch, sections>(terms, row, x, 0, sum);
            y[row] = sum[0].value;
        } else {
            added<Value> sum[1] = {};
            near_row<batch, sections>(terms, row, x, 0, sum);
            y[row] = sum[0].value;
        }
    }
}

/* The same where all lines of a plane have the same coefficients. A thread takes LINES rows that
 * follow one another along y, in `planes` planes one after the other: so the level-1 cache has most
 * of what the next plane reads. */
enum { LINES = 4, PLANES = 4 };

template <typename Value, typename Coefficient, bool residual, int batch>
__global__ void __launch_bounds__(POINTS)
    repeated_rows(const near_terms<Coefficient> terms, uint32_t planes, const Value *b,
                  const Value *x, Value *y) {
    take_turn();
    const uint32_t groups = (terms.ny + LINES - 1) / LINES;
    const uint32_t all = terms.nx * groups * ((terms.nz + planes - 1) / planes);
    for (uint32_t i = blockIdx.x * POINTS + threadIdx.x; i < all; i += gridDim.x * POINTS) {
        const uint32_t group = i / terms.nx, stack = group / groups;
        const uint32_t px = i - group * terms.nx, py = (group - stack * groups) * LINES;
        const uint32_t end = min((stack + 1) * planes, terms.nz);
        for (uint32_t pz = stack * planes; pz < end; pz++) {
            const uint32_t row = px + terms.nx * (py + terms.ny * pz);
            std::conditional_t<residual, subtracted<Value>, added<Value>> sum[LINES];
#pragma unroll
            for (int l = 0; l < LINES; l++)
                sum[l].value = residual && b && py + l < terms.ny ? b[row + l * terms.nx] : 0;
            near_lines<batch>(terms, px, py, pz, x, sum);
#pragma unroll
            for (int l = 0; l < LINES; l++)
                if (py + l < terms.ny)
                    y[row + l * terms.nx] = sum[l].value;
        }
    }
}

/* y = A x for `count` vectors, `stride` values apart. */
template <typename Coefficient, int count>
__global__ void __launch_bounds__(POINTS)
    near_rows_several(const near_terms<Coefficient> terms, const double *x, double *y,
                      int64_t stride) {
    take_turn();
    for (uint32_t row = blockIdx.x * POINTS + threadIdx.x; row < terms.points;
         row += gridDim.x * POINTS) {
        added<double> own[count] = {};
        near_row<BATCH>(terms, row, x, stride, own);
#pragma unroll
        for (int j = 0; j < count; j++)
            y[j * stride + row] = own[j].value;
    }
}

template <int count> struct states_of { gsw_krylov_state *of[count]; };

/* y = A x and x'y for several systems. The last block uses each x'y for the step of its method, if
 * that has not ended. Only a step changes a state, when all blocks have read the states. */
template <typename Coefficient, int count>
__global__ void __launch_bounds__(POINTS)
    near_rows_pass(const near_terms<Coefficient> terms, const double *x, double *y, int64_t stride,
                   gsw_pass pass, const states_of<count> states, const sum_scratch scratch) {
    take_turn();
    bool all_ended = true;
#pragma unroll
    for (int j = 0; j < count; j++)
        all_ended = all_ended && states.of[j]->ended != GSW_END_NOT;
    if (all_ended)
        return;
    threefold sum[count] = {};
    for (uint32_t row = blockIdx.x * POINTS + threadIdx.x; row < terms.points;
         row += gridDim.x * POINTS) {
        added<double> own[count] = {};
        near_row<BATCH>(terms, row, x, stride, own);
#pragma unroll
        for (int j = 0; j < count; j++) {
            y[j * stride + row] = own[j].value;
            add_product(sum[j], x[j * stride + row], own[j].value);
        }
    }
    if (sum_of_grid(scratch, sum) && threadIdx.x == 0)
        for (int j = 0; j < count; j++)
            if (states.of[j]->ended == GSW_END_NOT)
                gsw_krylov_end_pass(states.of[j], pass, &sum[j], 1);
}

/* r = b - A x, and x'x, r'r, t't for t = A S x. */
template <typename Coefficient>
__global__ void __launch_bounds__(POINTS)
    near_rows_judge(const near_terms<Coefficient> terms, const double *b, const double *x,
                    double *r, const sum_scratch scratch, double *sums) {
    take_turn();
    double sum[3] = {0, 0, 0};
    for (uint32_t row = blockIdx.x * POINTS + threadIdx.x; row < terms.points;
         row += gridDim.x * POINTS) {
        added_twice own[1] = {};
        near_row<BATCH>(terms, row, x, 0, own);
        const double left = b[row] - own[0].value;
        r[row] = left;
        sum[0] = fma(x[row], x[row], sum[0]);
        sum[1] = fma(left, left, sum[1]);
        sum[2] = fma(own[0].turned, own[0].turned, sum[2]);
    }
    if (sum_of_grid(scratch, sum) && threadIdx.x == 0)
        for (int k = 0; k < 3; k++)
            sums[k] = sum[k];
}

/* Few blocks: each adds up its threads' sums, which takes as long as several rows. */
unsigned blocks_of_sums(int64_t points) {
    const unsigned blocks = blocks_for(points, POINTS), most = GSW_CUDA_PARTIALS;
    return blocks < most ? blocks : most;
}

template <typename Value, typename Coefficient>
cudaError_t launch_terms(const gsw_cuda *cuda, const stencil_terms<Coefficient> &terms,
                         bool residual, const void *b, const void *x, void *y) {
    const unsigned blocks = blocks_for(terms.points, POINTS);
    const Value *from_b = static_cast<const Value *>(b);
    const Value *from_x = static_cast<const Value *>(x);
    Value *to = static_cast<Value *>(y);
    if (all_near(terms) && terms.steps.y == 0 && terms.ny > 1) {
        /* As many planes as leave work for all multiprocessors. */
        const int64_t most = terms.points / ((int64_t)LINES * POINTS * 4 * cuda->multiprocessors);
        const uint32_t planes = most < 1 ? 1 : most < PLANES ? (uint32_t)most : (uint32_t)PLANES;
        return launch_kernel(cuda,
                             residual ? repeated_rows<Value, Coefficient, true, BATCH>
                                      : repeated_rows<Value, Coefficient, false, BATCH>,
                             blocks_for(terms.points, POINTS * LINES * (int)planes), POINTS, 0,
                             narrow_terms<BATCH>(terms), planes, from_b, from_x, to);
    }
    if (all_near(terms) && terms.count <= SMALL_BATCH)
        return launch_kernel(cuda,
                             residual ? near_rows<Value, Coefficient, true, SMALL_BATCH>
                                      : near_rows<Value, Coefficient, false, SMALL_BATCH>,
                             blocks, POINTS, 0, narrow_terms<SMALL_BATCH>(terms), from_b, from_x,
                             to);
    if (all_near(terms))
        return launch_kernel(cuda,
                             residual ? near_rows<Value, Coefficient, true, BATCH>
                                      : near_rows<Value, Coefficient, false, BATCH>,
                             blocks, POINTS, 0, narrow_terms<BATCH>(terms), from_b, from_x, to);
    return launch_kernel(cuda,
                         residual ? stencil_rows<Value, Coefficient, true>
                                  : stencil_rows<Value, Coefficient, false>,
                         blocks, POINTS, 0, terms, from_b, from_x, to);
}

/* y = b - N x, or N x where `negative` is false. A batch that the terms do not fill costs time:
 * with batches of seven three terms take 1.4 times as long. */
template <typename Value, typename Coefficient>
cudaError_t launch_sections(const gsw_cuda *cuda, const rest_of_sections<Coefficient> &rest,
                            bool negative, const void *b, const void *x, void *y) {
    const bool small = rest.ahead.count <= SMALL_BATCH && rest.behind.count <= SMALL_BATCH;
    const near_terms<Coefficient> terms =
        small ? rest.template terms<SMALL_BATCH>() : rest.template terms<BATCH>();
    const auto kernel = small ? negative ? near_rows<Value, Coefficient, true, SMALL_BATCH, true>
                                         : near_rows<Value, Coefficient, false, SMALL_BATCH, true>
                        : negative ? near_rows<Value, Coefficient, true, BATCH, true>
                                   : near_rows<Value, Coefficient, false, BATCH, true>;
    return launch_kernel(cuda, kernel, blocks_for(terms.points, POINTS), POINTS, 0, terms,
                         static_cast<const Value *>(b), static_cast<const Value *>(x),
                         static_cast<Value *>(y));
}

template <typename Value>
cudaError_t launch_rest(const gsw_cuda *cuda, const gsw_matrix *matrix, int down,
                        const gsw_sections &sections, const void *b, const void *x, void *y) {
    return launch_sections<Value>(cuda, rest_of_sections<Value>(matrix, down, sections), b != NULL,
                                  b, x, y);
}

template <typename Value, typename Coefficient>
cudaError_t launch_slab_rest(const gsw_cuda *cuda, const gsw_slab_rest *job) {
    const int down = job->part == GSW_PART_AFTER_DOWN;
    if (job->part == GSW_PART_ALL)
        return launch_terms<Value>(cuda,
                                   gather_terms<Coefficient>(job->matrix, job->below, job->above),
                                   true, job->b, job->x, job->y);
    if (job->planes == 0) {
        const part_of_matrix ahead(job->matrix, down ? -1 : 1);
        return launch_terms<Value>(cuda,
                                   gather_terms<Coefficient>(&ahead.matrix, job->below, job->above),
                                   true, job->b, job->x, job->y);
    }
    return launch_sections<Value>(cuda,
                                  rest_of_sections<Coefficient>(job->matrix, down,
                                                                {job->planes, 0, 0}, job->below,
                                                                job->above),
                                  true, job->b, job->x, job->y);
}

/* Whether one kernel can compute all of it; *error is that of its launch. */
template <typename Coefficient>
bool launched_judge(gsw_context *context, const gsw_matrix *matrix, const double *b,
                    const double *x, double *r, double *sums, cudaError_t *error) {
    const stencil_terms<Coefficient> terms = gather_terms<Coefficient>(matrix);
    if (!all_near(terms))
        return false;
    *error = launch_kernel(gsw_cuda_of(context), near_rows_judge<Coefficient>,
                           blocks_of_sums(terms.points), POINTS, 0, narrow_terms<BATCH>(terms), b,
                           x, r, scratch_of(context), sums);
    return true;
}

/* ---- several vectors ---- */

template <int n> struct number { static constexpr int value = n; };

/* Calls launch(n, first) for groups of systems, as large as one kernel takes. n is a number. */
template <typename Launch> cudaError_t in_groups(int count, Launch launch) {
    cudaError_t error = cudaSuccess;
    for (int first = 0; first < count && error == cudaSuccess; first += GSW_CUDA_TOGETHER)
        switch (count - first) {
        case 1:
            error = launch(number<1>{}, first);
            break;
        case 2:
            error = launch(number<2>{}, first);
            break;
        case 3:
            error = launch(number<3>{}, first);
            break;
        default:
            error = launch(number<GSW_CUDA_TOGETHER>{}, first);
        }
    return error;
}

/* Whether these kernels can compute all products; *error is that of the launches. */
template <typename Coefficient>
bool launched_several(gsw_context *context, const gsw_matrix *matrix, int count, const double *x,
                      double *y, int64_t stride, cudaError_t *error) {
    const stencil_terms<Coefficient> terms = gather_terms<Coefficient>(matrix);
    if (!all_near(terms))
        return false;
    const near_terms<Coefficient> near = narrow_terms<BATCH>(terms);
    *error = in_groups(count, [&](auto n, int first) {
        return launch_kernel(gsw_cuda_of(context), near_rows_several<Coefficient, n.value>,
                             blocks_for(terms.points, POINTS), POINTS, 0, near, x + first * stride,
                             y + first * stride, stride);
    });
    return true;
}

template <typename Coefficient>
bool launched_pass(gsw_context *context, const gsw_matrix *matrix, gsw_pass pass, int count,
                   const double *x, double *y, int64_t stride, gsw_krylov_state *const *states,
                   cudaError_t *error) {
    const stencil_terms<Coefficient> terms = gather_terms<Coefficient>(matrix);
    if (!all_near(terms))
        return false;
    const near_terms<Coefficient> near = narrow_terms<BATCH>(terms);
    *error = in_groups(count, [&](auto n, int first) {
        states_of<n.value> own;
        for (int j = 0; j < n.value; j++)
            own.of[j] = states[first + j];
        return launch_kernel(gsw_cuda_of(context), near_rows_pass<Coefficient, n.value>,
                             blocks_of_sums(terms.points), POINTS, 0, near, x + first * stride,
                             y + first * stride, stride, pass, own, scratch_of(context));
    });
    return true;
}

template <typename Coefficient, typename Index>
cudaError_t csr_several(gsw_context *context, const gsw_csr *csr, int count, const double *x,
                        double *y, int64_t stride) {
    return in_groups(count, [&](auto n, int first) {
        return launch_csr<double, Coefficient, Index, n.value>(
            gsw_cuda_of(context), csr, nullptr, x + first * stride, y + first * stride, stride);
    });
}

/* ---- choosing among them ---- */

template <typename Value>
cudaError_t multiply(const gsw_cuda *cuda, const gsw_matrix *matrix, const void *b, const void *x,
                     void *y) {
    return with_rows(matrix, [&](auto rows) {
        using Rows = decltype(rows);
        using Coefficient = typename Rows::value;
        if constexpr (sizeof(Coefficient) > sizeof(Value))
            return cudaErrorInvalidValue; /* refused before */
        else if constexpr (Rows::are_arrays)
            return launch_terms<Value>(cuda, gather_terms<Coefficient>(matrix), b != nullptr, b, x,
                                       y);
        else
            return launch_csr<Value, Coefficient, typename Rows::index>(cuda, csr_of(matrix), b, x,
                                                                        y);
    });
}

} // namespace

gsw_status gsw_cuda_spmv(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                         const void *b, const void *x, void *y) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const cudaError_t error = vector_type == GSW_F32 ? multiply<float>(cuda, matrix, b, x, y)
                                                     : multiply<double>(cuda, matrix, b, x, y);
    return gsw_cuda_check(context, error, "a product with a matrix");
}

gsw_status gsw_cuda_multiply(gsw_context *context, const gsw_matrix *matrix, int count,
                             const double *x, double *y, int64_t stride) {
    cudaError_t error = cudaSuccess;
    const bool launched =
        count > 1 && with_rows(matrix, [&](auto rows) {
            using Rows = decltype(rows);
            using Coefficient = typename Rows::value;
            if constexpr (Rows::are_arrays) {
                return launched_several<Coefficient>(context, matrix, count, x, y, stride, &error);
            } else {
                error = csr_several<Coefficient, typename Rows::index>(context, csr_of(matrix),
                                                                       count, x, y, stride);
                return true;
            }
        });
    for (int j = 0; j < count && !launched; j++)
        GSW_TRY(gsw_cuda_spmv(context, matrix, GSW_F64, nullptr, x + j * stride, y + j * stride));
    return gsw_cuda_check(context, error, "products with a matrix");
}

gsw_status gsw_cuda_multiply_pass(gsw_context *context, const gsw_matrix *matrix, gsw_pass pass,
                                  int count, double *x, double *y, int64_t stride,
                                  gsw_krylov_state *const *states) {
    const gsw_grid *g = &matrix->grid;
    cudaError_t error;
    if (with_rows(matrix, [&](auto rows) {
            using Rows = decltype(rows);
            if constexpr (Rows::are_arrays)
                return launched_pass<typename Rows::value>(context, matrix, pass, count, x, y,
                                                           stride, states, &error);
            return false;
        }))
        return gsw_cuda_check(context, error, "products with a matrix");
    GSW_TRY(gsw_cuda_multiply(context, matrix, count, x, y, stride));
    for (int j = 0; j < count; j++) {
        void *const vectors[] = {x + j * stride, y + j * stride};
        GSW_TRY(gsw_cuda_krylov_pass(context, pass, g->nx * g->ny * g->nz, vectors, states[j]));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_sweep_rest(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                               int down, gsw_sections sections, const void *b, const void *x,
                               void *y) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    if (!gsw_are_cut(&sections)) {
        const part_of_matrix ahead(matrix, down ? -1 : 1);
        return gsw_cuda_spmv(context, &ahead.matrix, type, b, x, y);
    }
    return gsw_cuda_check(context,
                          type == GSW_F64
                              ? launch_rest<double>(cuda, matrix, down, sections, b, x, y)
                              : launch_rest<float>(cuda, matrix, down, sections, b, x, y),
                          "what a sweep leaves of a matrix");
}

gsw_status gsw_cuda_slab_rest(gsw_context *context, const gsw_slab_rest *job) {
    const gsw_grid *g = &job->matrix->grid;
    const gsw_cuda *cuda = gsw_cuda_of(context);
    if (job->planes > 0 && g->nx * g->ny * (g->nz + job->below + job->above) > NEAR_POINTS)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "sweeps of separate sections take at most %lld points of a process",
                        (long long)NEAR_POINTS);
    const auto launch = job->type == GSW_F32 ? launch_slab_rest<float, float>
                        : job->matrix->array.value_type == GSW_F32
                            ? launch_slab_rest<double, float>
                            : launch_slab_rest<double, double>;
    return gsw_cuda_check(context, launch(cuda, job), "what a sweep leaves of a matrix");
}

gsw_status gsw_cuda_judge(gsw_context *context, const gsw_matrix *matrix, const double *b,
                          const double *x, double *r, double *sums, int *done) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    cudaError_t error;
    *done = with_rows(matrix, [&](auto rows) {
        using Rows = decltype(rows);
        if constexpr (Rows::are_arrays)
            return launched_judge<typename Rows::value>(context, matrix, b, x, r, cuda->sum,
                                                        &error);
        return false;
    });
    if (!*done)
        return GSW_SUCCESS;
    GSW_TRY(gsw_cuda_check(context, error, "a residual"));
    GSW_TRY(gsw_cuda_check(context, cudaStreamSynchronize(cuda->stream), "a residual"));
    GSW_TRY(gsw_cuda_reported(context));
    for (int k = 0; k < 3; k++)
        sums[k] = cuda->sum[k];
    return GSW_SUCCESS;
}
