/* mm_write.c: writes Matrix Market files, or passes their text to a callback.
 *
 * Format: Boisvert, Pozo and Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996). */
#define _XOPEN_SOURCE 700 /* locales */

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <gridsweep/io.h>
#include "contract/check.h"
#include "common/csr.h"
#include "contract/error.h"
#include "core/file.h"

/* The longest text that put() takes, and the size of the buffer before it is passed on. */
#define TEXT_MAX    256
#define BUFFER_SIZE 16384

/* Text for a callback. */
typedef struct output {
    gsw_context *context;
    const char *name; /* as the user gave it, for messages */
    gsw_write_fn write;
    void *user;
    int reason;                     /* errno of the first write that failed, or 0 */
    locale_t c_locale, user_locale; /* numbers need a decimal point, whatever the locale */
    size_t used;
    char buffer[BUFFER_SIZE];
} output;

/* ---- Text ----------------------------------------------------------------------------------- */

static gsw_status begin(output *out) {
    out->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (out->c_locale == (locale_t)0)
        return gsw_fail(out->context, GSW_ERROR_OUT_OF_MEMORY, "no memory for the C locale");
    out->user_locale = uselocale(out->c_locale);
    return GSW_SUCCESS;
}

/* Passes the collected text on, in the user's locale. */
static void flush(output *out) {
    if (out->reason == 0 && out->used > 0) {
        uselocale(out->user_locale);
        out->reason = out->write(out->user, out->buffer, out->used);
        uselocale(out->c_locale);
    }
    out->used = 0;
}

static gsw_status finish(output *out, gsw_status status) {
    if (status == GSW_SUCCESS)
        flush(out);
    uselocale(out->user_locale);
    freelocale(out->c_locale);
    if (status == GSW_SUCCESS && out->reason != 0)
        status = gsw_file_fail(out->context, "write", out->name, out->reason);
    return status;
}

/* printf of less than TEXT_MAX bytes. */
static void put(output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(output *out, const char *format, ...) {
    va_list arguments;
    if (BUFFER_SIZE - out->used < TEXT_MAX)
        flush(out);
    va_start(arguments, format);
    const int length = vsnprintf(out->buffer + out->used, TEXT_MAX, format, arguments);
    va_end(arguments);
    if (length > 0)
        out->used += (size_t)length;
}

static void put_banner(output *out, const char *format, const char *comment) {
    put(out, "%%%%MatrixMarket matrix %s real general\n", format);
    if (!comment)
        return;
    put(out, "%% ");
    for (; strlen(comment) > TEXT_MAX / 2; comment += TEXT_MAX / 2)
        put(out, "%.*s", TEXT_MAX / 2, comment);
    put(out, "%s\n", comment);
}

static gsw_status check_comment(gsw_context *context, const char *comment) {
    GSW_REQUIRE(context, !comment || !strpbrk(comment, "\r\n"), "comment must be one line");
    return GSW_SUCCESS;
}

/* Writes one row; *end receives the end of the row. */
static gsw_status put_row(output *out, const gsw_csr *csr, int64_t row, int64_t begin,
                          int64_t *end) {
    if (!gsw_csr_row_end(csr, csr->index_type, row, begin, end))
        return gsw_csr_refuse_row(out->context, csr, row, begin);
    int64_t previous = csr->base - 1;
    for (int64_t k = begin; k < *end && out->reason == 0; k++) {
        int64_t column = gsw_index_at(csr->columns, csr->index_type, k);
        if (column <= previous || column >= csr->rows + csr->base)
            return gsw_csr_refuse_row(out->context, csr, row, begin);
        previous = column;
        put(out, "%lld %lld %.17g\n", (long long)row + 1, (long long)column - csr->base + 1,
            gsw_value_at(csr->values, csr->value_type, k));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_mm_print_matrix(gsw_context *context, const char *name, gsw_write_fn write,
                               void *user, const gsw_csr *csr, const char *comment) {
    GSW_REQUIRE(context, name, "name must not be NULL");
    GSW_REQUIRE(context, write, "write must not be NULL");
    GSW_TRY(gsw_csr_check(context, csr, 1));
    GSW_TRY(check_comment(context, comment));
    output out = {.context = context, .name = name, .write = write, .user = user};
    GSW_TRY(begin(&out));
    put_banner(&out, "coordinate", comment);
    put(&out, "%lld %lld %lld\n", (long long)csr->rows, (long long)csr->rows,
        (long long)csr->nonzeros);
    gsw_status status = GSW_SUCCESS;
    int64_t end = 0;
    for (int64_t row = 0; row < csr->rows && status == GSW_SUCCESS && out.reason == 0; row++)
        status = put_row(&out, csr, row, end, &end);
    return finish(&out, status);
}

gsw_status gsw_mm_print_vector(gsw_context *context, const char *name, gsw_write_fn write,
                               void *user, const double *values, int64_t count,
                               const char *comment) {
    GSW_REQUIRE(context, name, "name must not be NULL");
    GSW_REQUIRE(context, write, "write must not be NULL");
    GSW_REQUIRE(context, values, "values must not be NULL");
    GSW_REQUIRE(context, count >= 1, "count must be at least 1, not %lld", (long long)count);
    GSW_TRY(check_comment(context, comment));
    output out = {.context = context, .name = name, .write = write, .user = user};
    GSW_TRY(begin(&out));
    put_banner(&out, "array", comment);
    put(&out, "%lld 1\n", (long long)count);
    for (int64_t i = 0; i < count && out.reason == 0; i++)
        put(&out, "%.17g\n", values[i]);
    return finish(&out, GSW_SUCCESS);
}

/* ---- Files ---------------------------------------------------------------------------------- */

gsw_status gsw_mm_write_matrix(gsw_context *context, const char *path, const gsw_csr *csr,
                               const char *comment) {
    gsw_file file;
    GSW_REQUIRE(context, path, "path must not be NULL");
    GSW_TRY(gsw_file_open(context, "open", path, 0666, &file));
    gsw_status status = gsw_mm_print_matrix(context, path, gsw_file_write, &file, csr, comment);
    return gsw_file_close(context, path, &file, status);
}

gsw_status gsw_mm_write_vector(gsw_context *context, const char *path, const double *values,
                               int64_t count, const char *comment) {
    gsw_file file;
    GSW_REQUIRE(context, path, "path must not be NULL");
    GSW_TRY(gsw_file_open(context, "open", path, 0666, &file));
    gsw_status status =
        gsw_mm_print_vector(context, path, gsw_file_write, &file, values, count, comment);
    return gsw_file_close(context, path, &file, status);
}
