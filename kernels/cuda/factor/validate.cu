/* validate.cu: finds rows of a CSR matrix that the solvers cannot handle.
 *
 * A thread checks a row and only reports whether it is wrong. The host then downloads the lowest
 * wrong row, and the CPU's code explains it. Waits for the device. */
#include <stdlib.h>

#include "cuda/factor/factors.cuh"

extern "C" {
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "common/csr.h"
#include "contract/error.h"
}

namespace {

enum { THREADS = 256 };
constexpr int64_t BLOCKS_MAX = int64_t{1} << 30;

using row_number = unsigned long long; /* what atomicMin takes */
constexpr row_number NO_ROW = ~row_number{0};

template <typename Index> struct csr_view {
    int64_t rows, nonzeros;
    const Index *row_ptr;
    const Index *columns;
    int base;
};

__device__ bool within(int64_t i, int64_t extent) {
    return static_cast<uint64_t>(i) < static_cast<uint64_t>(extent);
}

/* Checks a row's pointers. If a row's first pointer is wrong, the row before it is refused too, or
 * it is row 0. So the lowest row is the same as in a loop from row to row. */
template <typename Index>
__device__ bool pointers_fit(const csr_view<Index> &csr, int64_t row, int64_t first, int64_t last) {
    return first >= csr.base && last >= first && last <= csr.nonzeros + csr.base &&
           (row > 0 || first == csr.base) &&
           (row + 1 < csr.rows || last == csr.nonzeros + csr.base);
}

/* Matches the entries of a row with the offsets of the stencil. The columns of the neighbours
 * inside the grid ascend with the offsets, so one merge decides. */
template <typename Index>
__device__ bool columns_fit(const csr_view<Index> &csr, const gsw_grid &grid,
                            const gsw_stencil &stencil, int64_t row, int64_t first, int64_t last) {
    const int64_t x = row % grid.nx, y = row / grid.nx % grid.ny, z = row / grid.nx / grid.ny;
    int64_t previous = int64_t{csr.base} - 1;
    int32_t e = 0;
    for (int64_t k = first - csr.base; k < last - csr.base; k++) {
        const int64_t column = csr.columns[k];
        if (column <= previous || column >= csr.rows + csr.base)
            return false;
        previous = column;
        for (;; e++) {
            if (e == stencil.count)
                return false;
            const gsw_offset o = stencil.offsets[e];
            if (!within(x + o.dx, grid.nx) || !within(y + o.dy, grid.ny) ||
                !within(z + o.dz, grid.nz))
                continue;
            const int64_t neighbour =
                row + o.dx + grid.nx * (o.dy + grid.ny * int64_t{o.dz}) + csr.base;
            if (neighbour > column)
                return false;
            if (neighbour == column)
                break;
        }
        e++;
    }
    return true;
}

/* Leaves the lowest row that is refused in *lowest, which starts as NO_ROW. */
template <typename Index>
__global__ void __launch_bounds__(THREADS)
    find_bad_row(const csr_view<Index> csr, const gsw_grid grid,
                 const __grid_constant__ gsw_stencil stencil, row_number *lowest) {
    for (int64_t row = int64_t{blockIdx.x} * THREADS + threadIdx.x; row < csr.rows;
         row += int64_t{gridDim.x} * THREADS) {
        const int64_t first = csr.row_ptr[row], last = csr.row_ptr[row + 1];
        if (!pointers_fit(csr, row, first, last) ||
            !columns_fit(csr, grid, stencil, row, first, last))
            atomicMin(lowest, static_cast<row_number>(row));
    }
}

template <typename Index>
void launch(cudaStream_t stream, const gsw_matrix *matrix, row_number *lowest) {
    const csr_view<Index> csr = {matrix->csr.rows, matrix->csr.nonzeros,
                                 static_cast<const Index *>(matrix->csr.row_ptr),
                                 static_cast<const Index *>(matrix->csr.columns), matrix->csr.base};
    int64_t blocks = csr.rows / THREADS + (csr.rows % THREADS != 0);
    if (blocks > BLOCKS_MAX)
        blocks = BLOCKS_MAX;
    find_bad_row<<<static_cast<unsigned>(blocks), THREADS, 0, stream>>>(csr, matrix->grid,
                                                                        matrix->stencil, lowest);
}

/* Finds the lowest row that is refused, or NO_ROW. It can share the scratch of the sums, because
 * setting memory and ordinary launches wait until all earlier work in the stream has ended. */
gsw_status find(gsw_context *context, const gsw_matrix *matrix, row_number *row) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    static_assert(sizeof(row_number) == sizeof *cuda->partial, "the scratch holds a row's number");
    row_number *lowest = reinterpret_cast<row_number *>(cuda->partial);
    GSW_TRY(gsw_cuda_check(context, cudaMemsetAsync(lowest, 0xff, sizeof *lowest, cuda->stream),
                           "validating a matrix"));
    if (matrix->csr.index_type == GSW_I32)
        launch<int32_t>(cuda->stream, matrix, lowest);
    else
        launch<int64_t>(cuda->stream, matrix, lowest);
    GSW_TRY(gsw_cuda_check_launch(context, "validating a matrix"));
    return context->ops->memory->download(context, row, lowest, sizeof *row);
}

const void *entry_of(const void *array, size_t size, int64_t i) {
    return static_cast<const char *>(array) + static_cast<size_t>(i) * size;
}

/* Downloads a row and reports what is wrong with it. */
gsw_status refuse(gsw_context *context, const gsw_matrix *matrix, int64_t row) {
    const gsw_csr *csr = &matrix->csr;
    const size_t size = gsw_itype_size(csr->index_type);
    union {
        int32_t narrow[2];
        int64_t wide[2];
    } pair;
    void *columns = NULL, *values = NULL;
    gsw_status status;
    GSW_TRY(context->ops->memory->download(context, &pair, entry_of(csr->row_ptr, size, row),
                                           2 * size));
    const int64_t first = gsw_index_at(&pair, csr->index_type, 0);
    const int64_t last = gsw_index_at(&pair, csr->index_type, 1);
    if (!gsw_csr_pointers_fit(csr, row, first, last))
        return gsw_matrix_refuse_row(context, matrix, row, first, last, NULL, NULL);

    const size_t count = static_cast<size_t>(last - first), width = gsw_dtype_size(csr->value_type);
    GSW_TRY(gsw_alloc(context, count, size, "the columns of a row", &columns));
    GSW_TRY_GOTO(gsw_alloc(context, count, width, "the values of a row", &values), cleanup);
    GSW_TRY_GOTO(context->ops->memory->download(context, columns,
                                                entry_of(csr->columns, size, first - csr->base),
                                                count * size),
                 cleanup);
    GSW_TRY_GOTO(context->ops->memory->download(context, values,
                                                entry_of(csr->values, width, first - csr->base),
                                                count * width),
                 cleanup);
    status = gsw_matrix_refuse_row(context, matrix, row, first, last, columns, values);

cleanup:
    free(values);
    free(columns);
    return status;
}

/* Whether an array is plain host memory, which CUDA has not registered. */
gsw_status is_on_host(gsw_context *context, const void *array, bool *on_host) {
    cudaPointerAttributes attributes;
    GSW_TRY(gsw_cuda_check(context, cudaPointerGetAttributes(&attributes, array),
                           "looking where an array lies"));
    *on_host = attributes.type == cudaMemoryTypeUnregistered;
    return GSW_SUCCESS;
}

/* Whether the matrix is in host memory, as after reading a file. */
gsw_status matrix_is_on_host(gsw_context *context, const gsw_csr *csr, bool *on_host) {
    bool columns_on_host;
    GSW_TRY(is_on_host(context, csr->row_ptr, on_host));
    if (csr->nonzeros == 0)
        return GSW_SUCCESS;
    GSW_TRY(is_on_host(context, csr->columns, &columns_on_host));
    GSW_REQUIRE(context, columns_on_host == *on_host,
                "csr: one of row_ptr and columns is in host memory, the other is not");
    return GSW_SUCCESS;
}

} // namespace

gsw_status gsw_cuda_validate(gsw_context *context, const gsw_matrix *matrix) {
    bool on_host;
    row_number row = NO_ROW;
    GSW_TRY(matrix_is_on_host(context, &matrix->csr, &on_host));
    if (on_host)
        return gsw_matrix_validate_host(context, matrix);
    GSW_TRY(find(context, matrix, &row));
    return row == NO_ROW ? GSW_SUCCESS : refuse(context, matrix, static_cast<int64_t>(row));
}

/* Devices that can page host memory in can read all of it. */
gsw_status gsw_cuda_check_place(gsw_context *context, const char *name, const void *pointer) {
    bool on_host;
    int pages = 0;
    GSW_TRY(is_on_host(context, pointer, &on_host));
    if (!on_host)
        return GSW_SUCCESS;
    GSW_TRY(gsw_cuda_check(context,
                           cudaDeviceGetAttribute(&pages, cudaDevAttrPageableMemoryAccess,
                                                  gsw_cuda_of(context)->device),
                           "looking what memory the device reads"));
    GSW_REQUIRE(context, pages, "%s is in host memory, where the device cannot reach it", name);
    return GSW_SUCCESS;
}
