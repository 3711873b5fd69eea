/* reserve.c: see reserve.h. */
#include <stdlib.h>

#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/error.h"
#include "reserve.h"

gsw_status gsw_vector_bytes(gsw_context *context, int64_t points, size_t *bytes) {
    *bytes = 0;
    if (!gsw_mul_size((size_t)points, sizeof(double), bytes))
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "a vector of %lld points exceeds 64-bit sizes",
                        (long long)points);
    return GSW_SUCCESS;
}

gsw_status gsw_try_vector(gsw_context *context, int64_t points) {
    void *room;
    GSW_TRY(gsw_alloc(context, (size_t)points, sizeof(double), "a vector", &room));
    free(room);
    return GSW_SUCCESS;
}

void gsw_unreserve(gsw_context *context, void *pointer) {
    if (pointer)
        context->ops->memory->unreserve(context, pointer);
}

gsw_status gsw_reserve_vector(gsw_context *context, int64_t points, double **vector) {
    size_t bytes;
    void *memory;
    *vector = NULL;
    GSW_TRY(gsw_vector_bytes(context, points, &bytes));
    GSW_TRY(context->ops->memory->reserve(context, bytes, &memory));
    *vector = memory;
    return GSW_SUCCESS;
}

gsw_status gsw_reserve_counted(gsw_context *context, size_t count, size_t size, int64_t *bytes,
                               void **pointer) {
    size_t total;
    if (!gsw_mul_size(count, size, &total))
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "an array of %zu values exceeds 64-bit sizes",
                        count);
    GSW_TRY(context->ops->memory->reserve(context, total, pointer));
    *bytes += (int64_t)total;
    return GSW_SUCCESS;
}
