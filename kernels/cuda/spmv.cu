/* spmv.cu: products with a matrix: y = A x, or the residual y = b - A x.
 *
 * A row's products are added by one thread, in ascending order of the columns, one fused
 * multiply-add each, starting from 0 or b: the same bits as on the CPU. So lanes do not share a
 * row's sum, but they share the loads of its entries. */
#include <cuda_pipeline.h>

#include "cuda/launch.cuh"
#include "cuda/near.cuh"
#include "cuda/spmv.cuh"
#include "cuda/sums.cuh"
#include "cuda/vector.cuh"

namespace {

constexpr int64_t BLOCKS_MAX = int64_t{1} << 30;

unsigned blocks_for(int64_t rows, int per_block) {
    int64_t blocks = rows / per_block + (rows % per_block != 0);
    return static_cast<unsigned>(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

__device__ float multiply_add(float a, float x, float sum) {
    return fmaf(a, x, sum);
}

__device__ double multiply_add(double a, double x, double sum) {
    return fma(a, x, sum);
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

/* Copies `count` entries from entry `first` on into shared memory, neighbouring threads reading
 * neighbouring entries, all under way at once; returns when they are there for the whole block. */
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

/* A block stages the entries of its rows, in several pieces where they are too many, and each
 * thread adds up the part of its own row that lies in the piece. Then the lanes of a warp read
 * neighbouring values of x for rows of one stencil. x is read as what no kernel changes meanwhile,
 * so the launch is an ordinary one. */
template <typename Value, typename Coefficient, typename Index, bool residual>
__global__ void __launch_bounds__(ROWS)
    csr_rows(const csr_arrays<Coefficient, Index> csr, const Value *b, const Value *__restrict__ x,
             Value *y) {
    extern __shared__ double shared[];
    Coefficient *values = reinterpret_cast<Coefficient *>(shared);
    Index *columns = reinterpret_cast<Index *>(values + csr.capacity);

    for (int64_t first = int64_t{blockIdx.x} * ROWS; first < csr.rows;
         first += int64_t{gridDim.x} * ROWS) {
        int64_t row = first + threadIdx.x;
        int64_t last = first + ROWS < csr.rows ? first + ROWS : csr.rows;
        int64_t begin = 0, end = 0;
        Value sum = 0;
        if (row < last) {
            begin = int64_t{csr.row_ptr[row]} - csr.base;
            end = int64_t{csr.row_ptr[row + 1]} - csr.base;
            sum = residual ? b[row] : 0;
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
                sum = multiply_add(residual ? -a : a, x[int64_t{columns[k]} - csr.base], sum);
            }
            __syncthreads(); /* before the next piece overwrites this one */
        }
        if (row < last)
            y[row] = sum;
    }
}

template <typename Value, typename Coefficient, typename Index>
cudaError_t launch_csr(const gsw_cuda *cuda, const gsw_csr *csr, const void *b, const void *x,
                       void *y) {
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
            <<<blocks, ROWS, bytes, cuda->stream>>>(arrays, from_b, from_x, to);
    else
        csr_rows<Value, Coefficient, Index, false>
            <<<blocks, ROWS, bytes, cuda->stream>>>(arrays, from_b, from_x, to);
    return cudaGetLastError();
}

/* ---- stencil arrays ---- */

enum {
    POINTS = 256, /* of a block, one per thread */
    BATCH = 7     /* terms whose loads a thread has under way at once */
};

/* The offsets whose arrays are given and that can stay inside the grid. A parameter of the kernel:
 * all threads read the same entry at a time, which the constant cache serves at once. */
template <typename Coefficient> struct stencil_terms {
    int64_t nx, ny, nz;
    int64_t points;
    int64_t distance[GSW_STENCIL_MAX]; /* in rows */
    const Coefficient *values[GSW_STENCIL_MAX];
    int16_t dx[GSW_STENCIL_MAX], dy[GSW_STENCIL_MAX], dz[GSW_STENCIL_MAX];
    int32_t count;
};
static_assert(GSW_OFFSET_MAX <= INT16_MAX, "components of offsets are kept in 16 bits");
static_assert(sizeof(stencil_terms<double>) + 3 * sizeof(void *) <= 4096,
              "a kernel takes at most 4 KiB of parameters on all devices");

template <typename Coefficient> stencil_terms<Coefficient> gather_terms(const gsw_matrix *matrix) {
    const gsw_grid *grid = &matrix->grid;
    stencil_terms<Coefficient> terms = {};
    terms.nx = grid->nx;
    terms.ny = grid->ny;
    terms.nz = grid->nz;
    terms.points = grid->nx * grid->ny * grid->nz;
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        const Coefficient *values = static_cast<const Coefficient *>(matrix->array.values[e]);
        if (!values || o.dx <= -grid->nx || o.dx >= grid->nx || o.dy <= -grid->ny ||
            o.dy >= grid->ny || o.dz <= -grid->nz || o.dz >= grid->nz)
            continue;
        terms.distance[terms.count] = gsw_grid_row(grid, o.dx, o.dy, o.dz);
        terms.values[terms.count] = values;
        terms.dx[terms.count] = static_cast<int16_t>(o.dx);
        terms.dy[terms.count] = static_cast<int16_t>(o.dy);
        terms.dz[terms.count] = static_cast<int16_t>(o.dz);
        terms.count++;
    }
    return terms;
}

__device__ bool within(int64_t i, int64_t extent) {
    return static_cast<uint64_t>(i) < static_cast<uint64_t>(extent);
}

/* x = i mod nx, returns i div nx; in 32 bits where the grid allows, which is far quicker. */
__device__ int64_t split(int64_t i, int64_t nx, bool narrow, int64_t *x) {
    int64_t rest = narrow ? static_cast<uint32_t>(i) / static_cast<uint32_t>(nx) : i / nx;
    *x = i - rest * nx;
    return rest;
}

/* A thread takes a point: neighbouring threads read neighbouring values of every array and of x.
 * For any offsets and any number of points. */
template <typename Value, typename Coefficient, bool residual>
__global__ void __launch_bounds__(POINTS)
    stencil_rows(const stencil_terms<Coefficient> terms, const Value *b, const Value *x, Value *y) {
    take_turn();
    const bool narrow = terms.points <= int64_t{UINT32_MAX};
    for (int64_t row = int64_t{blockIdx.x} * POINTS + threadIdx.x; row < terms.points;
         row += int64_t{gridDim.x} * POINTS) {
        int64_t px, py;
        int64_t line = split(row, terms.nx, narrow, &px);
        int64_t pz = split(line, terms.ny, narrow, &py);
        Value sum = residual ? b[row] : 0;
#pragma unroll 4
        for (int32_t e = 0; e < terms.count; e++) {
            bool inside = within(px + terms.dx[e], terms.nx) &&
                          within(py + terms.dy[e], terms.ny) && within(pz + terms.dz[e], terms.nz);
            Value a = inside ? static_cast<Value>(terms.values[e][row]) : 0;
            Value neighbour = inside ? x[row + terms.distance[e]] : 0;
            Value next = multiply_add(residual ? -a : a, neighbour, sum);
            sum = inside ? next : sum;
        }
        y[row] = sum;
    }
}

/* The same for stencils that reach two points or less along each axis, as all named ones do, and
 * grids of so many points: a term takes few instructions, and memory is what takes the time. */
enum { SMALL_BATCH = 4, NEAR_TERMS = (GSW_STENCIL_MAX + BATCH - 1) / BATCH * BATCH };
constexpr int64_t NEAR_POINTS = int64_t{1} << 30; /* rows, and steps over the grid, in 32 bits */

template <typename Coefficient> struct near_terms {
    uint32_t nx, ny, nz, points;
    uint32_t slab;        /* planes of a slab */
    int32_t batches;      /* of terms for all points, */
    int32_t edge_batches; /* and behind them of those for the edges of slabs alone */
    int32_t distance[NEAR_TERMS];
    uint32_t needed[NEAR_TERMS];
    const Coefficient *values[NEAR_TERMS];
};
static_assert(sizeof(near_terms<double>) + 3 * sizeof(void *) <= 4096,
              "a kernel takes at most 4 KiB of parameters on all devices");

template <typename Coefficient> bool all_near(const stencil_terms<Coefficient> &terms) {
    bool near = terms.points <= NEAR_POINTS;
    for (int32_t e = 0; e < terms.count; e++)
        near = near && abs(terms.dx[e]) <= NEAR_REACH && abs(terms.dy[e]) <= NEAR_REACH &&
               abs(terms.dz[e]) <= NEAR_REACH;
    return near;
}

/* Adds the terms as batches from `first` on, each of which needs those bits, too; returns how many
 * batches. */
template <int batch, typename Coefficient>
int32_t add_batches(const stencil_terms<Coefficient> &terms, int32_t first, uint32_t needed,
                    near_terms<Coefficient> *near) {
    const int32_t batches = (terms.count + batch - 1) / batch;
    for (int32_t e = 0; e < batches * batch; e++) {
        const bool some = e < terms.count;
        const int32_t to = first * batch + e;
        near->distance[to] = some ? static_cast<int32_t>(terms.distance[e]) : 0;
        near->needed[to] =
            some ? all_needs(terms.dx[e], terms.dy[e], terms.dz[e]) | needed : NOTHING_HAS;
        near->values[to] = some ? terms.values[e] : nullptr;
    }
    return batches;
}

template <int batch, typename Coefficient>
near_terms<Coefficient> narrow_terms(const stencil_terms<Coefficient> &terms) {
    near_terms<Coefficient> near = {};
    near.nx = static_cast<uint32_t>(terms.nx);
    near.ny = static_cast<uint32_t>(terms.ny);
    near.nz = static_cast<uint32_t>(terms.nz);
    near.points = static_cast<uint32_t>(terms.points);
    near.batches = add_batches<batch>(terms, 0, 0, &near);
    return near;
}

/* `sum` and the products of a row: added, or subtracted for a residual. */
template <typename Value, typename Coefficient, bool residual, int batch, bool slabs = false>
__device__ __forceinline__ Value near_row(const near_terms<Coefficient> &terms, uint32_t row,
                                          const Value *x, Value sum) {
    const uint32_t line = row / terms.nx, pz = line / terms.ny;
    uint32_t lacked =
        all_lacks(row - line * terms.nx, line - pz * terms.ny, pz, terms.nx, terms.ny, terms.nz);
    int32_t batches = terms.batches;
    if (slabs) {
        const uint32_t edge = lacks_edge(pz, terms.slab);
        lacked |= edge;
        batches += edge == (AT_BEGIN | AT_END) ? 0 : terms.edge_batches;
    }
    for (int32_t first = 0; first < batches * batch; first += batch) {
        Value a[batch] = {}, neighbour[batch] = {};
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const int32_t e = first + k;
            if ((lacked & terms.needed[e]) == 0) {
                a[k] = static_cast<Value>(terms.values[e][row]);
                neighbour[k] = x[static_cast<int32_t>(row) + terms.distance[e]];
            }
        }
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const Value next = multiply_add(residual ? -a[k] : a[k], neighbour[k], sum);
            sum = (lacked & terms.needed[first + k]) == 0 ? next : sum;
        }
    }
    return sum;
}

template <typename Value, typename Coefficient, bool residual, int batch>
__global__ void __launch_bounds__(POINTS)
    near_rows(const near_terms<Coefficient> terms, const Value *b, const Value *x, Value *y) {
    take_turn();
    for (uint32_t row = blockIdx.x * POINTS + threadIdx.x; row < terms.points;
         row += gridDim.x * POINTS)
        y[row] =
            near_row<Value, Coefficient, residual, batch>(terms, row, x, residual ? b[row] : 0);
}

template <typename Value, bool residual, int batch>
__global__ void __launch_bounds__(POINTS)
    rest_rows(const near_terms<Value> terms, const Value *b, const Value *x, Value *y) {
    take_turn();
    for (uint32_t row = blockIdx.x * POINTS + threadIdx.x; row < terms.points;
         row += gridDim.x * POINTS)
        y[row] =
            near_row<Value, Value, residual, batch, true>(terms, row, x, residual ? b[row] : 0);
}

/* y = A x and x'y, with which the last block does the step of a method. */
template <typename Coefficient>
__global__ void __launch_bounds__(POINTS)
    near_rows_pass(const near_terms<Coefficient> terms, const double *x, double *y, gsw_pass pass,
                   gsw_krylov_state *state, const sum_scratch scratch) {
    take_turn();
    if (state->ended != GSW_END_NOT)
        return;
    double sum[1] = {0};
    for (uint32_t row = blockIdx.x * POINTS + threadIdx.x; row < terms.points;
         row += gridDim.x * POINTS) {
        const double own = near_row<double, Coefficient, false, BATCH>(terms, row, x, 0);
        y[row] = own;
        sum[0] = fma(x[row], own, sum[0]);
    }
    if (sum_of_grid(scratch, sum) && threadIdx.x == 0)
        gsw_krylov_step(state, pass, sum);
}

template <typename Value, typename Coefficient>
cudaError_t launch_stencil(const gsw_cuda *cuda, const gsw_matrix *matrix, const void *b,
                           const void *x, void *y) {
    const stencil_terms<Coefficient> terms = gather_terms<Coefficient>(matrix);
    const unsigned blocks = blocks_for(terms.points, POINTS);
    const Value *from_b = static_cast<const Value *>(b);
    const Value *from_x = static_cast<const Value *>(x);
    Value *to = static_cast<Value *>(y);
    if (all_near(terms) && terms.count <= SMALL_BATCH)
        return launch_kernel(cuda,
                             b ? near_rows<Value, Coefficient, true, SMALL_BATCH>
                               : near_rows<Value, Coefficient, false, SMALL_BATCH>,
                             blocks, POINTS, 0, narrow_terms<SMALL_BATCH>(terms), from_b, from_x,
                             to);
    if (all_near(terms))
        return launch_kernel(cuda,
                             b ? near_rows<Value, Coefficient, true, BATCH>
                               : near_rows<Value, Coefficient, false, BATCH>,
                             blocks, POINTS, 0, narrow_terms<BATCH>(terms), from_b, from_x, to);
    return launch_kernel(
        cuda, b ? stencil_rows<Value, Coefficient, true> : stencil_rows<Value, Coefficient, false>,
        blocks, POINTS, 0, terms, from_b, from_x, to);
}

/* A matrix with those of its arrays alone that lie before the diagonal (side < 0) or behind it, all
 * or those that lead to another plane. */
struct part_of_matrix {
    gsw_matrix matrix;
    const void *values[GSW_STENCIL_MAX];

    part_of_matrix(const gsw_matrix *whole, int side, bool other_planes)
        : matrix(*whole), values() {
        for (int32_t e = 0; e < whole->stencil.count; e++) {
            const bool wanted = side < 0 ? e < whole->stencil.center : e > whole->stencil.center;
            const bool there = !other_planes || whole->stencil.offsets[e].dz != 0;
            values[e] = wanted && there ? whole->array.values[e] : nullptr;
        }
        matrix.array.values = values;
    }
};

template <typename Value, int batch>
cudaError_t launch_rest(const gsw_cuda *cuda, const stencil_terms<Value> &ahead,
                        const stencil_terms<Value> &behind, int down, int64_t slab, const void *b,
                        const void *x, void *y) {
    near_terms<Value> terms = narrow_terms<batch>(ahead);
    terms.slab = static_cast<uint32_t>(slab);
    terms.edge_batches =
        add_batches<batch>(behind, terms.batches, down ? AT_END : AT_BEGIN, &terms);
    return launch_kernel(cuda, b ? rest_rows<Value, true, batch> : rest_rows<Value, false, batch>,
                         blocks_for(terms.points, POINTS), POINTS, 0, terms,
                         static_cast<const Value *>(b), static_cast<const Value *>(x),
                         static_cast<Value *>(y));
}

/* What is ahead of the sweep, and what is behind in the slab before. */
template <typename Value>
cudaError_t subtract_rest(const gsw_cuda *cuda, const part_of_matrix &ahead,
                          const part_of_matrix &behind, int down, int64_t slab, const void *b,
                          const void *x, void *y) {
    const stencil_terms<Value> all = gather_terms<Value>(&ahead.matrix);
    const stencil_terms<Value> some = gather_terms<Value>(&behind.matrix);
    return all.count <= SMALL_BATCH
               ? launch_rest<Value, SMALL_BATCH>(cuda, all, some, down, slab, b, x, y)
               : launch_rest<Value, BATCH>(cuda, all, some, down, slab, b, x, y);
}

/* Whether the one kernel for both serves; *error is its launch's. */
template <typename Coefficient>
bool launched_pass(gsw_context *context, const gsw_matrix *matrix, gsw_pass pass, const double *x,
                   double *y, gsw_krylov_state *state, cudaError_t *error) {
    const stencil_terms<Coefficient> terms = gather_terms<Coefficient>(matrix);
    if (!all_near(terms))
        return false;
    unsigned blocks = blocks_for(terms.points, POINTS);
    if (blocks > GSW_CUDA_PARTIALS)
        blocks = GSW_CUDA_PARTIALS;
    *error = launch_kernel(gsw_cuda_of(context), near_rows_pass<Coefficient>, blocks, POINTS, 0,
                           narrow_terms<BATCH>(terms), x, y, pass, state, scratch_of(context));
    return true;
}

/* ---- choosing among them ---- */

template <typename Value, typename Coefficient>
cudaError_t multiply(const gsw_cuda *cuda, const gsw_matrix *matrix, const void *b, const void *x,
                     void *y) {
    if (matrix->format == GSW_FORMAT_STENCIL)
        return launch_stencil<Value, Coefficient>(cuda, matrix, b, x, y);
    if (matrix->csr.index_type == GSW_I32)
        return launch_csr<Value, Coefficient, int32_t>(cuda, &matrix->csr, b, x, y);
    return launch_csr<Value, Coefficient, int64_t>(cuda, &matrix->csr, b, x, y);
}

} // namespace

gsw_status gsw_cuda_spmv(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                         const void *b, const void *x, void *y) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    cudaError_t error;
    gsw_dtype coefficients =
        matrix->format == GSW_FORMAT_CSR ? matrix->csr.value_type : matrix->array.value_type;
    if (vector_type == GSW_F32)
        error = multiply<float, float>(cuda, matrix, b, x, y);
    else if (coefficients == GSW_F32)
        error = multiply<double, float>(cuda, matrix, b, x, y);
    else
        error = multiply<double, double>(cuda, matrix, b, x, y);
    return gsw_cuda_check(context, error, "a product with a matrix");
}

gsw_status gsw_cuda_multiply_pass(gsw_context *context, const gsw_matrix *matrix, gsw_pass pass,
                                  double *x, double *y, gsw_krylov_state *state) {
    const gsw_grid *g = &matrix->grid;
    void *const vectors[] = {x, y};
    cudaError_t error;
    if (matrix->format == GSW_FORMAT_STENCIL &&
        (matrix->array.value_type == GSW_F32
             ? launched_pass<float>(context, matrix, pass, x, y, state, &error)
             : launched_pass<double>(context, matrix, pass, x, y, state, &error)))
        return gsw_cuda_check(context, error, "a product with a matrix");
    GSW_TRY(gsw_cuda_spmv(context, matrix, GSW_F64, nullptr, x, y));
    return gsw_cuda_krylov_pass(context, pass, g->nx * g->ny * g->nz, vectors, state);
}

gsw_status gsw_cuda_sweep_rest(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                               int down, int64_t slab, const void *b, const void *x, void *y) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const part_of_matrix ahead(matrix, down ? -1 : 1, false), behind(matrix, down ? 1 : -1, true);
    if (slab == 0)
        return gsw_cuda_spmv(context, &ahead.matrix, type, b, x, y);
    return gsw_cuda_check(context,
                          type == GSW_F64
                              ? subtract_rest<double>(cuda, ahead, behind, down, slab, b, x, y)
                              : subtract_rest<float>(cuda, ahead, behind, down, slab, b, x, y),
                          "what a sweep leaves of a matrix");
}
