/* reserve.h: vectors and other arrays in the backend's memory. */
#ifndef GSW_RESERVE_H
#define GSW_RESERVE_H

#include <stddef.h>

#include "contract/context.h"

/* The bytes of a vector of `points` fp64 values; 0 on failure. Errors: OVERFLOW. */
gsw_status gsw_vector_bytes(gsw_context *context, int64_t points, size_t *bytes);

/* Whether there is memory for a vector at all, for calls that read a matrix first: one without
 * arrays can have any number of points. It takes no time, because nothing touches the memory.
 * Errors: OVERFLOW, OUT_OF_MEMORY. */
gsw_status gsw_try_vector(gsw_context *context, int64_t points);

/* Frees reserved memory; NULL is allowed. */
void gsw_unreserve(gsw_context *context, void *pointer);

/* Reserves a vector of `points` fp64 values for this context's operations, uninitialised. On
 * failure *vector is NULL. Errors: OVERFLOW, OUT_OF_MEMORY. */
gsw_status gsw_reserve_vector(gsw_context *context, int64_t points, double **vector);

/* Reserves `count` values of `size` bytes in the same way, and adds the bytes to *bytes. */
gsw_status gsw_reserve_counted(gsw_context *context, size_t count, size_t size, int64_t *bytes,
                               void **pointer);

#endif
