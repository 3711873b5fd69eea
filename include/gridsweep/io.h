/* gridsweep/io.h: Matrix Market files (host arrays).
 *
 * Format: Boisvert, Pozo and Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).
 * What writes to a path writes to a temporary file beside the target and renames it, so an existing
 * file is either replaced whole or left as it was. Symbolic links are followed. */
#ifndef GRIDSWEEP_IO_H
#define GRIDSWEEP_IO_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a coordinate matrix (real or integer; general, symmetric or skew-symmetric, which are
 * expanded to general) into newly allocated arrays: fp64, base 0, int32 indices where they fit,
 * columns ascending. Explicit zeros are kept. Free with gsw_csr_free().
 * Errors, each with the line in the message: IO; FORMAT (bad banner, truncated, surplus or
 * non-numeric data, index out of range, duplicate entry, entry above the diagonal of a symmetric
 * file, a value that is not a finite number); UNSUPPORTED (pattern, complex, Hermitian, array);
 * INVALID_ARGUMENT (not square); OVERFLOW; OUT_OF_MEMORY. A header that promises more entries than
 * the file can hold is refused before anything of that size is allocated. */
GSW_API
gsw_status gsw_mm_read_matrix(gsw_context *context, const char *path, gsw_csr *csr);

/* The same from memory (`size` bytes at `text`, not necessarily terminated); `name` stands for the
 * file in messages. */
GSW_API
gsw_status gsw_mm_parse_matrix(gsw_context *context, const char *name, const char *text,
                               size_t size, gsw_csr *csr);

/* Reads a dense array with one column into *values (newly allocated; free with free()) and its
 * length into *count. NaN and infinity are accepted here: they are data.
 * Errors: IO, FORMAT, UNSUPPORTED, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_mm_read_vector(gsw_context *context, const char *path, double **values,
                              int64_t *count);

/* The same for data that must be finite, such as a right-hand side. NaN, infinity, and numbers
 * beyond the range of fp64 are FORMAT errors, with the line in the message, as in a matrix. */
GSW_API
gsw_status gsw_mm_read_finite_vector(gsw_context *context, const char *path, double **values,
                                     int64_t *count);

/* Write a CSR matrix (general, real, %.17g) or a vector (dense array). `comment` (one line, may be
 * NULL) follows the banner. Errors: INVALID_ARGUMENT, IO. */
GSW_API
gsw_status gsw_mm_write_matrix(gsw_context *context, const char *path, const gsw_csr *csr,
                               const char *comment);
GSW_API
gsw_status gsw_mm_write_vector(gsw_context *context, const char *path, const double *values,
                               int64_t count, const char *comment);

/* Takes the next `size` bytes of a text. Returns 0, or an errno value, which ends the writing. */
typedef int (*gsw_write_fn)(void *user, const char *bytes, size_t size);

/* The same text to a callback: into a stream, a buffer, a file that the program makes in its own
 * way. `name` stands for the file in messages; `user` is passed to each call. After an error the
 * callback may have received a part of the text. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, IO where
 * the callback fails. */
GSW_API
gsw_status gsw_mm_print_matrix(gsw_context *context, const char *name, gsw_write_fn write,
                               void *user, const gsw_csr *csr, const char *comment);
GSW_API
gsw_status gsw_mm_print_vector(gsw_context *context, const char *name, gsw_write_fn write,
                               void *user, const double *values, int64_t count,
                               const char *comment);

#ifdef __cplusplus
}
#endif

#endif
