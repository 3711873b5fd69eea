/* gridsweep/io.h: Matrix Market files (host arrays).
 *
 * - gsw_mm_read_matrix() reads a matrix from a file, gsw_mm_parse_matrix() from memory.
 * - gsw_mm_read_finite_vector() reads a right-hand side. gsw_mm_read_vector() also accepts NaN and
 *   infinity.
 * - gsw_mm_write_matrix() and gsw_mm_write_vector() write to a path. gsw_mm_print_matrix() and
 *   gsw_mm_print_vector() write to a callback, such as for a stream.
 *
 * Format: Boisvert, Pozo and Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).
 * What is read may begin with the byte order mark of UTF-8, and end with Ctrl-Z. Messages show
 * other bytes that are not printable ASCII by their codes. Functions that write to a path write a
 * temporary file beside the target and rename it. So an existing file is either replaced as a whole
 * or left as it was. They follow symbolic links. */
#ifndef GRIDSWEEP_IO_H
#define GRIDSWEEP_IO_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a coordinate matrix into newly allocated arrays: fp64, base 0, int32 indices if they fit,
 * columns ascending. The file may be real or integer, and general, symmetric or skew-symmetric; the
 * latter two are expanded to general. Explicit zeros are kept. Free with gsw_csr_free(). If a
 * file's header promises more entries than the file can hold, it is refused before anything of that
 * size is allocated. Errors, each with the line of the file in the message: IO; FORMAT (bad banner,
 * truncated, surplus or non-numeric data, index out of range, duplicate entry, entry above the
 * diagonal of a symmetric file, a value that is not a finite number); UNSUPPORTED (pattern,
 * complex, Hermitian, array); INVALID_ARGUMENT (not square); OVERFLOW; OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_mm_read_matrix(gsw_context *context, const char *path, gsw_csr *csr);

/* The same from memory: `size` bytes at `text`, not necessarily terminated. Messages use `name` in
 * place of the file's name. */
GSW_API
gsw_status gsw_mm_parse_matrix(gsw_context *context, const char *name, const char *text,
                               size_t size, gsw_csr *csr);

/* Reads a dense array with one column into *values, and its length into *count. Free *values with
 * free(). NaN and infinity are accepted: they are data.
 * Errors: IO, FORMAT, UNSUPPORTED, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_mm_read_vector(gsw_context *context, const char *path, double **values,
                              int64_t *count);

/* The same for data that must be finite, such as a right-hand side. NaN, infinity, and numbers
 * beyond the range of fp64 are FORMAT errors with the line of the file in the message, as in a
 * matrix. */
GSW_API
gsw_status gsw_mm_read_finite_vector(gsw_context *context, const char *path, double **values,
                                     int64_t *count);

/* The same from memory, as for gsw_mm_parse_matrix(). */
GSW_API
gsw_status gsw_mm_parse_finite_vector(gsw_context *context, const char *name, const char *text,
                                      size_t size, double **values, int64_t *count);

/* The same for any number of columns, which are in *values one after the other. */
GSW_API
gsw_status gsw_mm_parse_array(gsw_context *context, const char *name, const char *text, size_t size,
                              double **values, int64_t *rows, int64_t *columns);

/* These two write a CSR matrix (general, real, %.17g) or a vector (dense array) to a file.
 * `comment` (one line of text, may be NULL) follows the banner. Errors: INVALID_ARGUMENT,
 * OUT_OF_MEMORY, IO. */
GSW_API
gsw_status gsw_mm_write_matrix(gsw_context *context, const char *path, const gsw_csr *csr,
                               const char *comment);
GSW_API
gsw_status gsw_mm_write_vector(gsw_context *context, const char *path, const double *values,
                               int64_t count, const char *comment);

/* Takes the next `size` bytes of a text. It returns 0, or an errno value, which ends the writing.
 */
typedef int (*gsw_write_fn)(void *user, const char *bytes, size_t size);

/* These two pass the same text to a callback. It can write to a stream, to a buffer, or to a file
 * that the program creates in its own way. Messages use `name` in place of the file's name. `user`
 * is passed to each call. After an error the callback may have received a part of the text. Errors:
 * INVALID_ARGUMENT, OUT_OF_MEMORY (also if the callback returns ENOMEM), IO if the callback fails
 * otherwise. */
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
