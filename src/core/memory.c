/* memory.c: arrays in the memory of a context's backend. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <gridsweep/memory.h>

#include "common/arrays.h"
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"

gsw_status gsw_memory_alloc(gsw_context *context, size_t bytes, void **pointer) {
    GSW_REQUIRE(context, pointer != NULL, "pointer is NULL");
    *pointer = NULL;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    if (bytes > PTRDIFF_MAX)
        return gsw_fail(context, GSW_ERROR_OUT_OF_MEMORY, "no memory for %zu bytes", bytes);
    return context->ops->memory->alloc(context, bytes, pointer);
}

void gsw_memory_free(gsw_context *context, void *pointer) {
    if (context != NULL && pointer != NULL)
        context->ops->memory->release(context, pointer);
}

gsw_status gsw_memory_upload(gsw_context *context, void *to, const void *from_host, size_t bytes) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, to != NULL || bytes == 0, "to is NULL");
    GSW_REQUIRE(context, from_host != NULL || bytes == 0, "from_host is NULL");
    return bytes == 0 ? GSW_SUCCESS : context->ops->memory->upload(context, to, from_host, bytes);
}

gsw_status gsw_memory_download(gsw_context *context, void *to_host, const void *from,
                               size_t bytes) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, to_host != NULL || bytes == 0, "to_host is NULL");
    GSW_REQUIRE(context, from != NULL || bytes == 0, "from is NULL");
    /* With 0 bytes it still reports the errors of earlier solves. */
    return bytes == 0 ? context->ops->synchronize(context)
                      : context->ops->memory->download(context, to_host, from, bytes);
}

gsw_status gsw_memory_set(gsw_context *context, void *pointer, int value, size_t bytes) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, pointer != NULL || bytes == 0, "pointer is NULL");
    GSW_REQUIRE(context, value >= 0 && value <= 255, "value is %d; it must be in 0..255", value);
    return bytes == 0 ? GSW_SUCCESS : context->ops->memory->set(context, pointer, value, bytes);
}

/* ---- matrices ---- */

/* A copy of `count` values in backend memory, with room for `more` bytes after it. *copy does not
 * change on failure. */
static gsw_status upload_array(gsw_context *context, const void *from_host, int64_t count,
                               size_t size, int64_t more, const void **copy) {
    size_t bytes;
    void *made;
    if (!gsw_mul_size((size_t)count, size, &bytes) || bytes > SIZE_MAX - (size_t)more)
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "an array of %lld values exceeds 64-bit sizes",
                        (long long)count);
    GSW_TRY(gsw_memory_alloc(context, bytes + (size_t)more, &made));
    gsw_status status = gsw_memory_upload(context, made, from_host, bytes);
    if (status == GSW_SUCCESS)
        *copy = made;
    else
        gsw_memory_free(context, made);
    return status;
}

/* Copies a mask behind an array of `bytes` bytes: so it is freed with that, and a mask that is the
 * user's own never is. */
static gsw_status upload_mask(gsw_context *context, const gsw_matrix *from, int64_t points,
                              const void *array, size_t bytes, gsw_matrix *to) {
    if (from->active == NULL)
        return GSW_SUCCESS;
    to->active = (const uint8_t *)array + bytes;
    return gsw_memory_upload(context, (void *)(uintptr_t)to->active, from->active, (size_t)points);
}

/* `to` holds a view without arrays. This fills them in one by one. */
static gsw_status upload_csr(gsw_context *context, const gsw_matrix *view, gsw_matrix *made) {
    const gsw_csr *from = &view->csr;
    gsw_csr *to = &made->csr;
    const size_t index = gsw_itype_size(from->index_type);
    const int64_t mask = view->active != NULL ? from->rows : 0;
    GSW_TRY(upload_array(context, from->row_ptr, from->rows + 1, index, mask, &to->row_ptr));
    GSW_TRY(upload_mask(context, view, mask, to->row_ptr, (size_t)(from->rows + 1) * index, made));
    GSW_TRY(upload_array(context, from->columns, from->nonzeros, index, 0, &to->columns));
    return upload_array(context, from->values, from->nonzeros, gsw_dtype_size(from->value_type), 0,
                        &to->values);
}

static gsw_status upload_stencil(gsw_context *context, const gsw_matrix *from, gsw_matrix *to) {
    const int32_t count = from->stencil.count, center = from->stencil.center;
    const int64_t length = gsw_array_values(from);
    const size_t size = gsw_dtype_size(from->array.value_type);
    const int64_t mask = from->active != NULL ? from->grid.nx * from->grid.ny * from->grid.nz : 0;
    const void **values;
    GSW_REQUIRE(context, mask == 0 || from->array.values[center] != NULL,
                "array: a matrix with a mask needs an array for its diagonal");
    GSW_TRY(gsw_alloc(context, (size_t)count, sizeof *values, "the pointers to stencil arrays",
                      (void **)&values));
    for (int32_t e = 0; e < count; e++)
        values[e] = NULL;
    to->array.values = values;
    for (int32_t e = 0; e < count; e++) {
        if (from->array.values[e] == NULL)
            continue;
        GSW_TRY(upload_array(context, from->array.values[e], length, size, e == center ? mask : 0,
                             &values[e]));
    }
    return upload_mask(context, from, mask, values[center], (size_t)length * size, to);
}

gsw_status gsw_matrix_upload(gsw_context *context, const gsw_matrix *host, gsw_matrix *matrix) {
    gsw_status status;
    GSW_REQUIRE(context, matrix != NULL, "matrix is NULL");
    GSW_REQUIRE(context, matrix != host, "matrix and host must not be the same struct");
    *matrix = (gsw_matrix){0};
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_matrix_check(context, host));

    gsw_matrix made = *host;
    made.csr.row_ptr = made.csr.columns = made.csr.values = NULL;
    made.array.values = NULL;
    made.active = NULL;
    if (host->format == GSW_FORMAT_CSR)
        GSW_TRY_GOTO(upload_csr(context, host, &made), cleanup);
    else
        GSW_TRY_GOTO(upload_stencil(context, host, &made), cleanup);
    *matrix = made;
    return GSW_SUCCESS;

cleanup:
    gsw_matrix_release(context, &made);
    return status;
}

void gsw_matrix_release(gsw_context *context, gsw_matrix *matrix) {
    if (matrix == NULL)
        return;
    gsw_memory_free(context, (void *)matrix->csr.values);
    gsw_memory_free(context, (void *)matrix->csr.columns);
    gsw_memory_free(context, (void *)matrix->csr.row_ptr);
    for (int32_t e = 0; matrix->array.values != NULL && e < matrix->stencil.count; e++)
        gsw_memory_free(context, (void *)matrix->array.values[e]);
    free((void *)matrix->array.values);
    *matrix = (gsw_matrix){0};
}
