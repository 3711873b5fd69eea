/* csr.h: reading a user's CSR arrays without trusting them.
 *
 * Host arrays. Loops over rows test each row cheaply in place and call gsw_csr_refuse_row() when
 * something is wrong. That function checks again, slowly, and names the fault. */
#ifndef GSW_CSR_H
#define GSW_CSR_H

#include <stdint.h>
#include <gridsweep/matrix.h>
#include "common/elements.h"
#include "common/host_device.h"

/* Entry i of an index array. Pass the type as a constant where the loop is hot. */
GSW_HD int64_t gsw_index_at(const void *array, gsw_itype type, int64_t i) {
    return type == GSW_I32 ? ((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}

static inline void gsw_index_put(void *array, gsw_itype type, int64_t i, int64_t value) {
    if (type == GSW_I32)
        ((int32_t *)array)[i] = (int32_t)value;
    else
        ((int64_t *)array)[i] = value;
}

/* Entry i of a value array. */
GSW_HD double gsw_value_at(const void *array, gsw_dtype type, int64_t i) {
#define GSW_AT(dtype, ctype, name) type == dtype ? (double)((const ctype *)array)[i]:
    return GSW_ELEMENTS(GSW_AT) 0;
#undef GSW_AT
}

/* Whether entry k is a stored zero, which is no coupling. A CSR without values has none. */
static inline int gsw_csr_is_zero(const gsw_csr *csr, int64_t k) {
    return csr->values != NULL && gsw_value_at(csr->values, csr->value_type, k) == 0;
}

GSW_HD void gsw_value_put(void *array, gsw_dtype type, int64_t i, double value) {
#define GSW_PUT(dtype, ctype, name)                                                                \
    if (type == dtype)                                                                             \
        ((ctype *)array)[i] = (ctype)value;
    GSW_ELEMENTS(GSW_PUT)
#undef GSW_PUT
}

/* The end of `row`, which begins at entry `begin`, as an entry number in *end. Returns 0 where the
 * row pointer descends or leaves the arrays. Visit the rows in order: begin is 0 for row 0, and the
 * end of the row before for every other row. */
static inline int gsw_csr_row_end(const gsw_csr *csr, gsw_itype type, int64_t row, int64_t begin,
                                  int64_t *end) {
    int64_t pointer = gsw_index_at(csr->row_ptr, type, row + 1);
    if (pointer < begin + csr->base || pointer > csr->nonzeros + csr->base)
        return 0;
    if (row == 0 && gsw_index_at(csr->row_ptr, type, 0) != csr->base)
        return 0;
    *end = pointer - csr->base;
    return row + 1 < csr->rows || *end == csr->nonzeros;
}

/* Whether a row's two pointers are what gsw_csr_row_end() accepts. */
static inline int gsw_csr_pointers_fit(const gsw_csr *csr, int64_t row, int64_t first,
                                       int64_t last) {
    return first >= csr->base && last >= first && last <= csr->nonzeros + csr->base &&
           (row > 0 || first == csr->base) &&
           (row + 1 < csr->rows || last == csr->nonzeros + csr->base);
}

#endif
