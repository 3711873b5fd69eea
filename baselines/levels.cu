/* levels.cu: level scheduling with one kernel per level. The whole solve is replayed as one CUDA
 * graph.
 *
 * A row's level is one more than the highest level of the rows that it depends on; rows of one
 * level are independent. The levels of a grid's matrix are its hyperplanes, but here they are
 * derived from the CSR, as for any matrix. Sources: E. Anderson and Y. Saad, "Solving sparse
 * triangular linear systems on parallel computers", Int. J. High Speed Computing 1 (1989); J.
 * Saltz, "Aggregation methods for solving sparse triangular systems on multiprocessors", SIAM J.
 * Sci. Stat. Comput. 11 (1990); on GPUs M. Naumov (NVR-2011-001, 2011). A graph replaces thousands
 * of launches from the host.
 *
 * So that all reads except those of x are coalesced, the matrix is copied in the order of the
 * levels: in each level entry e of all its rows, one row after the other (ELLPACK; a missing entry
 * has the column -1). One thread takes one row.
 *
 * Memory: that copy (12 or 8 bytes per entry, with padding), and a row number and a diagonal per
 * row. The graph's own memory is not counted. Before the first solve: the levels (one pass over the
 * CSR on the host, and a counting sort), the copy (on the device) and the graph. The graph holds
 * the addresses of b and x: a solve with others first creates a new graph. */
#include <cstdint>
#include <cstdlib>

#include "cuda_rival.h"

namespace {

const unsigned threads_a_block = 64; /* small, so that small levels spread over many processors */
const int64_t row_alignment = 32;    /* the rows of a level begin at whole lines of memory */

/* One level: `count` rows from `first` in the order of the levels, their entries from `entry` in
 * columns of `stride`. */
struct level {
    int64_t first, entry;
    int32_t count, width;
    int32_t stride;
};

/* The matrix in the order of the levels; device memory. */
template <class T> struct packed {
    int32_t *rows;
    T *diagonal;
    int32_t *columns;
    T *values;
};

struct levels_state {
    const gsw_csr *csr; /* on the device */
    gsw_part part;
    cudaStream_t stream;
    level *levels; /* host */
    int32_t level_count;
    int64_t places, entries; /* padded numbers of rows and of entries */
    int32_t *rows;           /* device memory, four arrays, of the values' type */
    void *diagonal;
    int32_t *columns;
    void *values;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    const void *b; /* the vectors of the graph */
    void *x;
};

#define TRY_CUDA(call)                                                                             \
    do {                                                                                           \
        if (gsw_rival_cuda((call), #call, message, size) != 0)                                     \
            return -1;                                                                             \
    } while (0)

/* ---- The kernels ---- */

/* Copies one level of the CSR. One thread per row. */
template <class T>
__global__ void pack_level(packed<T> to, level l, int is_upper, const int32_t *row_ptr,
                           const int32_t *columns, const T *values) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= l.count)
        return;
    const int32_t row = to.rows[l.first + i];
    const int32_t begin = row_ptr[row], end = row_ptr[row + 1];
    const int32_t from = is_upper ? begin + 1 : begin, count = end - begin - 1;
    to.diagonal[l.first + i] = values[is_upper ? begin : end - 1];
    for (int32_t e = 0; e < l.width; e++) {
        const int64_t at = l.entry + int64_t(e) * l.stride + i;
        to.columns[at] = e < count ? columns[from + e] : -1;
        to.values[at] = e < count ? values[from + e] : T(0);
    }
}

template <class T>
__global__ void __launch_bounds__(threads_a_block)
    solve_level(packed<T> matrix, level l, const T *__restrict__ b, T *x) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= l.count)
        return;
    const int32_t *__restrict__ columns = matrix.columns + l.entry + i;
    const T *__restrict__ values = matrix.values + l.entry + i;
    const int32_t row = matrix.rows[l.first + i];
    const T diagonal = matrix.diagonal[l.first + i];
    T sum = b[row];
#pragma unroll 4
    for (int32_t e = 0; e < l.width; e++) {
        const int32_t column = columns[int64_t(e) * l.stride];
        const T value = values[int64_t(e) * l.stride];
        if (column >= 0)
            sum -= value * x[column];
    }
    x[row] = sum / diagonal;
}

unsigned blocks_for(int64_t threads) {
    return unsigned((threads + threads_a_block - 1) / threads_a_block);
}

/* ---- Levels, on the host ---- */

int64_t round_up(int64_t count) {
    return (count + row_alignment - 1) / row_alignment * row_alignment;
}

/* Writes the level of each row and returns their number. */
int32_t find_levels(const gsw_csr *csr, gsw_part part, int32_t *level_of) {
    const int32_t *row_ptr = static_cast<const int32_t *>(csr->row_ptr);
    const int32_t *columns = static_cast<const int32_t *>(csr->columns);
    int32_t highest = -1;
    for (int64_t place = 0; place < csr->rows; place++) {
        const int64_t row = part == GSW_LOWER ? place : csr->rows - 1 - place;
        int32_t mine = 0;
        for (int32_t k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            if (columns[k] != row && level_of[columns[k]] >= mine)
                mine = level_of[columns[k]] + 1;
        level_of[row] = mine;
        highest = mine > highest ? mine : highest;
    }
    return highest + 1;
}

/* Sizes and places of the levels; fills all of s->levels, s->places and s->entries. */
void lay_out(levels_state *s, const gsw_csr *csr, const int32_t *level_of) {
    const int32_t *row_ptr = static_cast<const int32_t *>(csr->row_ptr);
    for (int64_t row = 0; row < csr->rows; row++) {
        level *l = &s->levels[level_of[row]];
        const int32_t width = row_ptr[row + 1] - row_ptr[row] - 1;
        l->count++;
        l->width = width > l->width ? width : l->width;
    }
    for (int32_t k = 0; k < s->level_count; k++) {
        level *l = &s->levels[k];
        l->stride = int32_t(round_up(l->count));
        l->first = s->places;
        l->entry = s->entries;
        s->places += l->stride;
        s->entries += int64_t(l->stride) * l->width;
    }
}

/* The rows in the order of the levels, ascending within one; the padding is never read. */
int sort_rows(const levels_state *s, int64_t count, const int32_t *level_of, int32_t *rows) {
    int64_t *next = static_cast<int64_t *>(malloc(size_t(s->level_count) * sizeof *next));
    if (next == nullptr)
        return -1;
    for (int32_t k = 0; k < s->level_count; k++)
        next[k] = s->levels[k].first;
    for (int64_t row = 0; row < count; row++)
        rows[next[level_of[row]]++] = int32_t(row);
    free(next);
    return 0;
}

/* ---- Setup ---- */

template <class T> packed<T> packed_of(const levels_state *s) {
    return {s->rows, static_cast<T *>(s->diagonal), s->columns, static_cast<T *>(s->values)};
}

int upload_rows(levels_state *s, const int32_t *rows, char *message, size_t size) {
    const size_t bytes = size_t(s->places) * sizeof(int32_t);
    TRY_CUDA(cudaMalloc(&s->rows, bytes));
    TRY_CUDA(cudaMemcpyAsync(s->rows, rows, bytes, cudaMemcpyHostToDevice, s->stream));
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    return 0;
}

int analyse_into(levels_state *s, const gsw_csr *csr, int32_t *level_of, char *message,
                 size_t size) {
    s->level_count = find_levels(csr, s->part, level_of);
    s->levels = static_cast<level *>(calloc(size_t(s->level_count), sizeof *s->levels));
    if (s->levels == nullptr)
        return gsw_rival_fail(message, size, "out of memory");
    lay_out(s, csr, level_of);
    int32_t *rows = static_cast<int32_t *>(calloc(size_t(s->places), sizeof *rows));
    int result = -1;
    if (rows == nullptr || sort_rows(s, csr->rows, level_of, rows) != 0)
        (void)gsw_rival_fail(message, size, "out of memory");
    else
        result = upload_rows(s, rows, message, size);
    free(rows);
    return result;
}

int analyse(levels_state *s, const gsw_csr *csr, char *message, size_t size) {
    int32_t *level_of = static_cast<int32_t *>(malloc(size_t(csr->rows) * sizeof *level_of));
    if (level_of == nullptr)
        return gsw_rival_fail(message, size, "out of memory");
    const int result = analyse_into(s, csr, level_of, message, size);
    free(level_of);
    return result;
}

template <class T> int pack(levels_state *s, char *message, size_t size) {
    const size_t entries = s->entries > 0 ? size_t(s->entries) : 1;
    TRY_CUDA(cudaMalloc(&s->diagonal, size_t(s->places) * sizeof(T)));
    TRY_CUDA(cudaMalloc(&s->columns, entries * sizeof(int32_t)));
    TRY_CUDA(cudaMalloc(&s->values, entries * sizeof(T)));
    for (int32_t k = 0; k < s->level_count; k++) {
        pack_level<<<blocks_for(s->levels[k].count), threads_a_block, 0, s->stream>>>(
            packed_of<T>(s), s->levels[k], s->part == GSW_UPPER,
            static_cast<const int32_t *>(s->csr->row_ptr),
            static_cast<const int32_t *>(s->csr->columns), static_cast<const T *>(s->csr->values));
        TRY_CUDA(cudaGetLastError());
    }
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    return 0;
}

/* ---- The graph ---- */

void forget_graph(levels_state *s) {
    if (s->executable != nullptr)
        (void)cudaGraphExecDestroy(s->executable);
    if (s->graph != nullptr)
        (void)cudaGraphDestroy(s->graph);
    s->executable = nullptr;
    s->graph = nullptr;
}

/* A chain of kernels; each waits for the previous one. */
template <class T> int chain(levels_state *s, const T *b, T *x, char *message, size_t size) {
    packed<T> matrix = packed_of<T>(s);
    cudaGraphNode_t before = nullptr;
    TRY_CUDA(cudaGraphCreate(&s->graph, 0));
    for (int32_t k = 0; k < s->level_count; k++) {
        void *arguments[] = {&matrix, &s->levels[k], &b, &x};
        cudaKernelNodeParams node = {};
        cudaGraphNode_t added;
        node.func = reinterpret_cast<void *>(solve_level<T>);
        node.gridDim = dim3(blocks_for(s->levels[k].count));
        node.blockDim = dim3(threads_a_block);
        node.kernelParams = arguments;
        TRY_CUDA(cudaGraphAddKernelNode(&added, s->graph, k > 0 ? &before : nullptr, k > 0 ? 1 : 0,
                                        &node));
        before = added;
    }
    TRY_CUDA(cudaGraphInstantiateWithFlags(&s->executable, s->graph, 0));
    TRY_CUDA(cudaGraphUpload(s->executable, s->stream));
    return 0;
}

int make_graph(levels_state *s, const void *b, void *x, char *message, size_t size) {
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    forget_graph(s);
    const int result =
        s->csr->value_type == GSW_F64
            ? chain(s, static_cast<const double *>(b), static_cast<double *>(x), message, size)
            : chain(s, static_cast<const float *>(b), static_cast<float *>(x), message, size);
    if (result != 0) {
        forget_graph(s);
        return -1;
    }
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    s->b = b;
    s->x = x;
    return 0;
}

/* The graph created here, without vectors, measures the cost of its creation. */
int prepare(levels_state *s, const gsw_csr *host, char *message, size_t size) {
    if (analyse(s, host, message, size) != 0)
        return -1;
    const int packed = s->csr->value_type == GSW_F64 ? pack<double>(s, message, size)
                                                     : pack<float>(s, message, size);
    return packed != 0 ? -1 : make_graph(s, nullptr, nullptr, message, size);
}

} // namespace

extern "C" int gsw_levels_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                               char *message, size_t size) {
    *state = nullptr;
    *cost = gsw_rival_cost{0, 0};
    if (gsw_rival_check(system, 1, message, size) != 0)
        return -1;
    levels_state *s = static_cast<levels_state *>(calloc(1, sizeof *s));
    if (s == nullptr)
        return gsw_rival_fail(message, size, "out of memory");
    s->csr = system->device;
    s->part = system->part;
    s->stream = static_cast<cudaStream_t>(system->stream);
    const double start = gsw_rival_milliseconds();
    if (prepare(s, system->host, message, size) != 0) {
        gsw_levels_close(s);
        return -1;
    }
    const double value = s->csr->value_type == GSW_F64 ? sizeof(double) : sizeof(float);
    cost->setup_ms = gsw_rival_milliseconds() - start;
    cost->buffer_bytes = (value + sizeof(int32_t)) * double(s->places + s->entries);
    *state = s;
    return 0;
}

extern "C" int gsw_levels_solve(void *state, const void *b, void *x, char *message, size_t size) {
    levels_state *s = static_cast<levels_state *>(state);
    if ((s->b != b || s->x != x) && make_graph(s, b, x, message, size) != 0)
        return -1;
    return gsw_rival_cuda(cudaGraphLaunch(s->executable, s->stream), "cudaGraphLaunch", message,
                          size);
}

extern "C" void gsw_levels_close(void *state) {
    levels_state *s = static_cast<levels_state *>(state);
    if (s == nullptr)
        return;
    (void)cudaStreamSynchronize(s->stream);
    forget_graph(s);
    (void)cudaFree(s->values);
    (void)cudaFree(s->columns);
    (void)cudaFree(s->diagonal);
    (void)cudaFree(s->rows);
    free(s->levels);
    free(s);
}
