/* gridsweep/memory.h: arrays in the memory of a context's backend.
 *
 * Solves read and write arrays in the backend's memory: host memory with the CPU backend, device
 * memory with CUDA. Programs whose arrays are there already do not need this header. Other programs
 * allocate, upload, solve and download with these functions; they then run unchanged on either
 * backend.
 *
 * Use gsw_matrix_upload() for a whole matrix, and gsw_memory_alloc(), gsw_memory_upload() and
 * gsw_memory_download() for vectors. */
#ifndef GRIDSWEEP_MEMORY_H
#define GRIDSWEEP_MEMORY_H

#include <stddef.h>
#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates `bytes` bytes (0 is allowed) in *pointer, aligned to at least 64 bytes. Their contents
 * are undefined. On failure *pointer is NULL. The call may wait for the device.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_memory_alloc(gsw_context *context, size_t bytes, void **pointer);

/* Frees memory of gsw_memory_alloc() after the work that the context has started is done. NULL is
 * allowed. */
GSW_API
void gsw_memory_free(gsw_context *context, void *pointer);

/* These two copy from host to backend memory and back, in the order of the context's stream. Both
 * return when the bytes are there. A download also reports the errors of earlier solves on the
 * stream, as gsw_context_synchronize() does.
 * Errors: INVALID_ARGUMENT, DEVICE, and those of earlier solves. */
GSW_API
gsw_status gsw_memory_upload(gsw_context *context, void *to, const void *from_host, size_t bytes);
GSW_API
gsw_status gsw_memory_download(gsw_context *context, void *to_host, const void *from, size_t bytes);

/* Sets `bytes` bytes to `value` (0 to 255) in the order of the stream, and does not wait. Bytes of
 * 0xff give NaNs in either precision.
 * Errors: INVALID_ARGUMENT, DEVICE. */
GSW_API
gsw_status gsw_memory_set(gsw_context *context, void *pointer, int value, size_t bytes);

/* Copies the arrays of a matrix, its mask included, from host memory into newly allocated backend
 * memory, and fills *matrix with a view of the copies. It copies with the CPU backend as well.
 * Release it with gsw_matrix_release(). On failure *matrix is {0}. Errors: INVALID_ARGUMENT,
 * OVERFLOW, OUT_OF_MEMORY, DEVICE. */
GSW_API
gsw_status gsw_matrix_upload(gsw_context *context, const gsw_matrix *host, gsw_matrix *matrix);

/* Frees the arrays that gsw_matrix_upload() allocated, and sets the view to {0}. NULL and {0} are
 * allowed. */
GSW_API
void gsw_matrix_release(gsw_context *context, gsw_matrix *matrix);

#ifdef __cplusplus
}
#endif

#endif
