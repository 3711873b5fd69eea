/* gridsweep/memory.h: arrays in the memory of a context's backend.
 *
 * Everything that a solve reads or writes lies in the backend's memory: host memory with the CPU
 * backend, device memory with CUDA. Programs that have their arrays there already need none of
 * this; the others allocate, upload, solve and download through these functions and then run
 * unchanged on either backend. */
#ifndef GRIDSWEEP_MEMORY_H
#define GRIDSWEEP_MEMORY_H

#include <stddef.h>
#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates `bytes` (0 is allowed) in *pointer, aligned to at least 64 bytes; what they hold is
 * undefined. On failure *pointer is NULL. May wait for the device.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_memory_alloc(gsw_context *context, size_t bytes, void **pointer);

/* Frees what gsw_memory_alloc() gave, after the work that the context has under way; NULL is
 * allowed. */
GSW_API
void gsw_memory_free(gsw_context *context, void *pointer);

/* Copies between host and backend memory in the order of the context's stream. Both return when
 * the bytes are there; a download also reports what earlier solves on the stream ran into, as
 * gsw_context_synchronize() does. Errors: INVALID_ARGUMENT, DEVICE, and those of earlier solves. */
GSW_API
gsw_status gsw_memory_upload(gsw_context *context, void *to, const void *from_host, size_t bytes);
GSW_API
gsw_status gsw_memory_download(gsw_context *context, void *to_host, const void *from, size_t bytes);

/* Sets `bytes` bytes to `value` (0 to 255), in the order of the stream; does not wait. Bytes of
 * 0xff are NaNs in either precision. Errors: INVALID_ARGUMENT, DEVICE. */
GSW_API
gsw_status gsw_memory_set(gsw_context *context, void *pointer, int value, size_t bytes);

/* Copies the arrays of a matrix in host memory into newly allocated backend memory and fills
 * *matrix with a view of them (with the CPU backend too). Release it with gsw_matrix_release().
 * On failure *matrix is {0}. Errors: INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY, DEVICE. */
GSW_API
gsw_status gsw_matrix_upload(gsw_context *context, const gsw_matrix *host, gsw_matrix *matrix);

/* Frees the arrays that gsw_matrix_upload() allocated and sets the view to {0}; NULL and {0} are
 * allowed. */
GSW_API
void gsw_matrix_release(gsw_context *context, gsw_matrix *matrix);

#ifdef __cplusplus
}
#endif

#endif
