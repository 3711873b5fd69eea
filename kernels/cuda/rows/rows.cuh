/* rows.cuh: the row source of this backend, on the host. Only this file asks for a matrix's format:
 * with_rows() gives it, with the types, to what launches a kernel. */
#ifndef GSW_CUDA_ROWS_CUH
#define GSW_CUDA_ROWS_CUH

#include <gridsweep/matrix.h>

/* Stencil arrays of this type. */
template <typename Value> struct array_rows {
    using value = Value;
    static constexpr bool are_arrays = true;
};

/* A CSR with these types. */
template <typename Index, typename Value> struct csr_rows {
    using index = Index;
    using value = Value;
    static constexpr bool are_arrays = false;
};

/* The CSR of a matrix; NULL: it is no CSR. */
inline const gsw_csr *csr_of(const gsw_matrix *matrix) {
    return matrix->format == GSW_FORMAT_CSR ? &matrix->csr : nullptr;
}

/* The array of offset e; NULL: it is all zeros, or the matrix is a CSR. */
inline const void *array_of(const gsw_matrix *matrix, int32_t e) {
    return csr_of(matrix) ? nullptr : matrix->array.values[e];
}

/* Calls launch(rows) with the type that describes the matrix. */
template <typename Launch> auto with_rows(const gsw_matrix *matrix, Launch launch) {
    const gsw_csr *csr = csr_of(matrix);
    if (!csr)
        return matrix->array.value_type == GSW_F64 ? launch(array_rows<double>{})
                                                   : launch(array_rows<float>{});
    if (csr->index_type == GSW_I32)
        return csr->value_type == GSW_F64 ? launch(csr_rows<int32_t, double>{})
                                          : launch(csr_rows<int32_t, float>{});
    return csr->value_type == GSW_F64 ? launch(csr_rows<int64_t, double>{})
                                      : launch(csr_rows<int64_t, float>{});
}

#endif
