/* file.c: see file.h. */
#define _XOPEN_SOURCE 700 /* readlink */

#include "file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "contract/error.h"

#define TEMPORARY_TRIES 100
#define STEM_MAX        100  /* bytes of a name that can be made longer: names have 143 or 255 */
#define LINKS_MAX       40   /* the same limit as in Linux */
#define LINK_SIZE       4096 /* bytes of a link's target, its end included */

gsw_status gsw_file_fail(gsw_context *context, const char *verb, const char *path, int reason) {
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

/* How much of a path begins other names in its folder: all, or the folder alone. */
static int stem_length(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return (int)(strlen(name) <= STEM_MAX ? strlen(path) : (size_t)(name - path));
}

/* Makes a new file beside the target, with the target's permissions or the usual ones. Until it has
 * those, only its owner can open it. */
static int open_temporary(gsw_file *file, int mode) {
    struct stat info;
    int exists = stat(file->path, &info) == 0;
    size_t size = strlen(file->path) + 64;
    file->temporary = malloc(size);
    if (!file->temporary)
        return -1;
    int descriptor = -1;
    for (int i = 0; i < TEMPORARY_TRIES && descriptor < 0; i++) {
        (void)snprintf(file->temporary, size, "%.*s.%ld-%d.tmp", stem_length(file->path),
                       file->path, (long)getpid(), i);
        descriptor =
            open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : mode);
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

static void release(gsw_file *file) {
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
}

gsw_status gsw_file_open(gsw_context *context, const char *verb, const char *path, int mode,
                         gsw_file *file) {
    *file = (gsw_file){.path = follow_links(path), .descriptor = -1};
    if (file->path && is_special(file->path))
        file->descriptor = open(file->path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
    else if (file->path)
        file->descriptor = open_temporary(file, mode);
    if (file->descriptor >= 0)
        return GSW_SUCCESS;
    const int reason = errno;
    release(file);
    return gsw_file_fail(context, verb, path, reason);
}

gsw_status gsw_file_close(gsw_context *context, const char *path, gsw_file *file,
                          gsw_status status) {
    if (close(file->descriptor) != 0 && status == GSW_SUCCESS)
        status = gsw_file_fail(context, "write", path, errno);
    if (status == GSW_SUCCESS && file->temporary) {
        if (rename(file->temporary, file->path) == 0) {
            free(file->temporary);
            file->temporary = NULL;
        } else {
            status = gsw_file_fail(context, "replace", path, errno);
        }
    }
    release(file);
    return status;
}

int gsw_file_write(void *user, const char *bytes, size_t size) {
    const gsw_file *file = user;
    while (size > 0) {
        const ssize_t written = write(file->descriptor, bytes, size);
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return 0;
}
