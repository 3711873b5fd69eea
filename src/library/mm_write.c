/* mm_write.c: writes Matrix Market files, or passes their text to a callback.
 *
 * Format: Boisvert, Pozo and Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).
 *
 * A regular file is replaced as a whole. The data goes to a temporary file in the same folder,
 * which takes the target's name when it is complete. Symbolic links stay: the file that they point
 * to is replaced, or created where it is missing. Pipes, terminals and open descriptors
 * (/dev/stdout) are written to directly. */
#define _XOPEN_SOURCE 700 /* readlink, locales */

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
#define LINKS_MAX       40   /* the same limit as in Linux */
#define LINK_SIZE       4096 /* bytes of a link's target, its end included */

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

/* A file that is being written. */
typedef struct target {
    char *path;      /* the file to replace: the user's path with links resolved */
    char *temporary; /* NULL where the target is written to directly */
    int descriptor;
} target;

gsw_status gsw_mm_fail_errno(gsw_context *context, const char *verb, const char *path, int reason) {
    char text[128];
    if (strerror_r(reason, text, sizeof text) != 0)
        (void)snprintf(text, sizeof text, "system error %d", reason);
    return gsw_fail(context, reason == ENOMEM ? GSW_ERROR_OUT_OF_MEMORY : GSW_ERROR_IO,
                    "cannot %s %.160s: %s", verb, path, text);
}

/* 1 for the name of a descriptor such as /dev/stdout. It may lead to a regular file that other
 * programs are writing to as well. */
static int is_descriptor(const char *path) {
    static const char *const names[] = {"/dev/std", "/dev/fd/", "/proc/"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(path, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

/* 1 where the path names something that must not be replaced: a pipe, a terminal, a device. */
static int is_special(const char *path) {
    struct stat info;
    return is_descriptor(path) || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
}

/* The end of a chain of symbolic links, also for a file that does not exist yet. Newly allocated;
 * NULL with the reason in errno. */
static char *follow_links(const char *path) {
    char link[LINK_SIZE];
    char *at = strdup(path);
    for (int links = 0; at && links < LINKS_MAX; links++) {
        ssize_t length = is_descriptor(at) ? -1 : readlink(at, link, sizeof link - 1);
        if (length < 0)
            return at;
        link[length] = '\0';
        char *slash = link[0] == '/' ? NULL : strrchr(at, '/');
        if (slash)
            slash[1] = '\0';
        size_t size = strlen(at) + (size_t)length + 1;
        char *next = malloc(size);
        if (next)
            (void)snprintf(next, size, "%s%s", slash ? at : "", link);
        free(at);
        at = next;
    }
    errno = at ? ELOOP : ENOMEM;
    free(at);
    return NULL;
}

/* Makes a new file beside the target, with the target's permissions or the usual ones. Until it has
 * those, only its owner can open it. */
static int open_temporary(target *file) {
    struct stat info;
    int exists = stat(file->path, &info) == 0;
    size_t size = strlen(file->path) + 64;
    file->temporary = malloc(size);
    if (!file->temporary)
        return -1;
    int descriptor = -1;
    for (int i = 0; i < TEMPORARY_TRIES && descriptor < 0; i++) {
        (void)snprintf(file->temporary, size, "%s.%ld-%d.tmp", file->path, (long)getpid(), i);
        descriptor =
            open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    if (descriptor < 0) {
        int reason = errno;
        free(file->temporary);
        file->temporary = NULL;
        errno = reason;
    } else if (exists) {
        (void)fchmod(descriptor, info.st_mode & 0777); /* the content matters more than the mode */
    }
    return descriptor;
}

static void release(target *file) {
    int reason = errno;
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    errno = reason;
}

/* Opens the file that `path` leads to. On failure errno holds the reason. */
static int open_target(const char *path, target *file) {
    *file = (target){.path = follow_links(path), .descriptor = -1};
    if (file->path && is_special(file->path))
        file->descriptor = open(file->path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
    else if (file->path)
        file->descriptor = open_temporary(file);
    if (file->descriptor < 0)
        release(file);
    return file->descriptor >= 0;
}

/* Closes the file. With `status` SUCCESS the temporary becomes the target. After any failure it is
 * removed, and the target is unchanged. */
static gsw_status close_target(gsw_context *context, const char *path, target *file,
                               gsw_status status) {
    if (close(file->descriptor) != 0 && status == GSW_SUCCESS)
        status = gsw_mm_fail_errno(context, "write", path, errno);
    if (status == GSW_SUCCESS && file->temporary) {
        if (rename(file->temporary, file->path) == 0) {
            free(file->temporary);
            file->temporary = NULL;
        } else {
            status = gsw_mm_fail_errno(context, "replace", path, errno);
        }
    }
    release(file);
    return status;
}

/* A gsw_write_fn. */
static int write_descriptor(void *user, const char *bytes, size_t size) {
    const int *descriptor = user;
    while (size > 0) {
        const ssize_t written = write(*descriptor, bytes, size);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

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
        status = gsw_mm_fail_errno(out->context, "write", out->name, out->reason);
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
    target file;
    GSW_REQUIRE(context, path, "path must not be NULL");
    if (!open_target(path, &file))
        return gsw_mm_fail_errno(context, "open", path, errno);
    gsw_status status =
        gsw_mm_print_matrix(context, path, write_descriptor, &file.descriptor, csr, comment);
    return close_target(context, path, &file, status);
}

gsw_status gsw_mm_write_vector(gsw_context *context, const char *path, const double *values,
                               int64_t count, const char *comment) {
    target file;
    GSW_REQUIRE(context, path, "path must not be NULL");
    if (!open_target(path, &file))
        return gsw_mm_fail_errno(context, "open", path, errno);
    gsw_status status = gsw_mm_print_vector(context, path, write_descriptor, &file.descriptor,
                                            values, count, comment);
    return close_target(context, path, &file, status);
}
