/* allocate.h: host memory. */
#ifndef GSW_ALLOCATE_H
#define GSW_ALLOCATE_H

#include <stddef.h>
#include <gridsweep/context.h>

/* Computes a * b of sizes. On overflow returns 0 and does not change *out. */
static inline int gsw_mul_size(size_t a, size_t b, size_t *out) {
    size_t result;
    if (__builtin_mul_overflow(a, b, &result))
        return 0;
    *out = result;
    return 1;
}

/* malloc of count * size bytes, 64-byte aligned, freed with free(). Fails with OUT_OF_MEMORY or
 * OVERFLOW and names `what`. count 0 gives a valid pointer. */
gsw_status gsw_alloc(gsw_context *context, size_t count, size_t size, const char *what, void **out);

#endif
