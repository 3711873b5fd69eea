/* mm_write.c: writes Matrix Market files.
 *
 * Format: Boisvert, Pozo and Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).
 *
 * A regular file is replaced as a whole: the data goes to a temporary file in the same folder,
 * which takes the target's name when it is complete. Symbolic links stay, and what they point to is
 * replaced. Pipes, terminals and open descriptors (/dev/stdout) are written to directly. */
#define _XOPEN_SOURCE 700 /* realpath */

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <gridsweep/io.h>
#include "contract/check.h"
#include "contract/csr.h"
#include "contract/error.h"
#include "mm.h"

#define TEMPORARY_TRIES 100

/* A file that is being written. */
typedef struct output {
    gsw_context *context;
    const char *path; /* as the user gave it, for messages */
    char *target;     /* what is replaced: `path` with links resolved */
    char *temporary;  /* NULL where the target is written to directly */
    FILE *file;
    int reason;                     /* errno of the first write that failed, or 0 */
    locale_t c_locale, user_locale; /* numbers have a decimal point, whatever the locale says */
} output;

gsw_status gsw_mm_fail_errno(gsw_context *context, const char *verb, const char *path, int reason) {
    char text[128];
    if (strerror_r(reason, text, sizeof text) != 0)
        (void)snprintf(text, sizeof text, "system error %d", reason);
    return gsw_fail(context, GSW_ERROR_IO, "cannot %s %.160s: %s", verb, path, text);
}

/* 1 where the path names something that must not be replaced: a pipe, a terminal, a device. A
 * descriptor such as /dev/stdout may lead to a regular file that others are writing to as well. */
static int is_special(const char *path) {
    static const char *const descriptors[] = {"/dev/std", "/dev/fd/", "/proc/"};
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++)
        if (strncmp(path, descriptors[i], strlen(descriptors[i])) == 0)
            return 1;
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* Makes a new file beside the target, with the target's permissions or the usual ones. */
static int open_temporary(output *out) {
    struct stat info;
    int exists = stat(out->target, &info) == 0;
    size_t size = strlen(out->target) + 64;
    out->temporary = malloc(size);
    if (!out->temporary)
        return -1;
    int descriptor = -1;
    for (int i = 0; i < TEMPORARY_TRIES && descriptor < 0; i++) {
        (void)snprintf(out->temporary, size, "%s.%ld-%d.tmp", out->target, (long)getpid(), i);
        descriptor = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    if (descriptor < 0) {
        int reason = errno;
        free(out->temporary);
        out->temporary = NULL;
        errno = reason;
    } else if (exists) {
        (void)fchmod(descriptor, info.st_mode & 07777); /* the content matters more than the mode */
    }
    return descriptor;
}

/* Opens out->file; on failure errno says why. */
static int open_file(output *out) {
    int descriptor;
    if (is_special(out->path)) {
        out->target = strdup(out->path);
        descriptor =
            out->target ? open(out->target, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC) : -1;
    } else {
        out->target = realpath(out->path, NULL);
        if (!out->target)
            out->target = strdup(out->path);
        descriptor = out->target ? open_temporary(out) : -1;
    }
    if (descriptor < 0)
        return 0;
    out->file = fdopen(descriptor, "w");
    if (!out->file)
        close(descriptor);
    return out->file != NULL;
}

static void release(output *out) {
    if (out->temporary) {
        int reason = errno;
        unlink(out->temporary);
        errno = reason;
    }
    free(out->temporary);
    free(out->target);
    uselocale(out->user_locale);
    freelocale(out->c_locale);
}

static gsw_status begin(gsw_context *context, const char *path, output *out) {
    *out = (output){.context = context, .path = path};
    out->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (out->c_locale == (locale_t)0)
        return gsw_fail(context, GSW_ERROR_OUT_OF_MEMORY, "no memory for the C locale");
    out->user_locale = uselocale(out->c_locale);
    if (open_file(out))
        return GSW_SUCCESS;
    int reason = errno;
    release(out);
    return gsw_mm_fail_errno(out->context, "open", out->path, reason);
}

/* Closes the file. With `status` SUCCESS the temporary becomes the target; whatever fails, it is
 * removed and the target is as it was. */
static gsw_status finish(output *out, gsw_status status) {
    if (fclose(out->file) != 0 && out->reason == 0)
        out->reason = errno;
    if (status == GSW_SUCCESS && out->reason != 0)
        status = gsw_mm_fail_errno(out->context, "write", out->path, out->reason);
    if (status == GSW_SUCCESS && out->temporary) {
        if (rename(out->temporary, out->target) == 0) {
            free(out->temporary);
            out->temporary = NULL;
        } else {
            status = gsw_mm_fail_errno(out->context, "replace", out->path, errno);
        }
    }
    release(out);
    return status;
}

/* printf into the file. Keeps the first reason for a failure, after which it does nothing. */
static void put(output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(output *out, const char *format, ...) {
    va_list arguments;
    if (out->reason != 0)
        return;
    va_start(arguments, format);
    errno = EIO;
    if (vfprintf(out->file, format, arguments) < 0)
        out->reason = errno;
    va_end(arguments);
}

static void put_banner(output *out, const char *format, const char *comment) {
    put(out, "%%%%MatrixMarket matrix %s real general\n", format);
    if (comment)
        put(out, "%% %s\n", comment);
}

static gsw_status check_comment(gsw_context *context, const char *comment) {
    GSW_REQUIRE(context, !comment || !strpbrk(comment, "\r\n"), "comment must be one line");
    return GSW_SUCCESS;
}

/* Writes one row, *end receives where it ends. */
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

gsw_status gsw_mm_write_matrix(gsw_context *context, const char *path, const gsw_csr *csr,
                               const char *comment) {
    GSW_REQUIRE(context, path, "path must not be NULL");
    GSW_TRY(gsw_csr_check(context, csr, 1));
    GSW_TRY(check_comment(context, comment));
    output out;
    GSW_TRY(begin(context, path, &out));
    put_banner(&out, "coordinate", comment);
    put(&out, "%lld %lld %lld\n", (long long)csr->rows, (long long)csr->rows,
        (long long)csr->nonzeros);
    gsw_status status = GSW_SUCCESS;
    int64_t end = 0;
    for (int64_t row = 0; row < csr->rows && status == GSW_SUCCESS && out.reason == 0; row++)
        status = put_row(&out, csr, row, end, &end);
    return finish(&out, status);
}

gsw_status gsw_mm_write_vector(gsw_context *context, const char *path, const double *values,
                               int64_t count, const char *comment) {
    GSW_REQUIRE(context, path, "path must not be NULL");
    GSW_REQUIRE(context, values, "values must not be NULL");
    GSW_REQUIRE(context, count >= 1, "count must be at least 1, not %lld", (long long)count);
    GSW_TRY(check_comment(context, comment));
    output out;
    GSW_TRY(begin(context, path, &out));
    put_banner(&out, "array", comment);
    put(&out, "%lld 1\n", (long long)count);
    for (int64_t i = 0; i < count && out.reason == 0; i++)
        put(&out, "%.17g\n", values[i]);
    return finish(&out, GSW_SUCCESS);
}
