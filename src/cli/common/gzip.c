/* gzip.c: see gzip.h. */
#include "gzip.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "options.h"

#ifdef GSW_HAVE_ZLIB

#include <zlib.h>

const char *const cli_no_gzip = NULL;

/* A small file can hold gigabytes of zeros. Texts of this size are read in any case. Larger ones
 * are refused where they are more than so many times as large as what was read of the file. The
 * matrices of `gridsweep generate` are 4 to 6 times as large as their files. */
#define TEXT_FREE  ((size_t)1 << 28)
#define TEXT_RATIO 200

/* The compressed bytes of a pipe are not known. */
static bool is_bomb(gzFile file, size_t size) {
    const z_off_t packed = size >= TEXT_FREE ? gzoffset(file) : -1;
    return packed >= 0 && size / TEXT_RATIO > (size_t)packed;
}

/* Why reading stopped; NULL at the end of the file. */
static const char *stop_reason(gzFile file, const char *text, size_t size) {
    (void)text, (void)size;
    const int problem = errno;
    int code;
    (void)gzerror(file, &code);
    if (code == Z_OK)
        return NULL;
    if (code == Z_ERRNO)
        return cli_reason(problem);
    if (code == Z_MEM_ERROR)
        return cli_reason(ENOMEM);
    return code == Z_BUF_ERROR ? "its gzip data are truncated" : "its gzip data are corrupt";
}

#else

/* Plain files, by the names of zlib. */
typedef FILE *gzFile;
#define gzdopen  fdopen
#define gzfread  fread
#define gzfwrite fwrite
#define gzclose  fclose
#define Z_OK     0

const char *const cli_no_gzip =
    "it is compressed with gzip, and this program was built without zlib";

static bool is_bomb(FILE *file, size_t size) {
    (void)file, (void)size;
    return false;
}

static const char *stop_reason(FILE *file, const char *text, size_t size) {
    if (ferror(file))
        return cli_reason(errno);
    return size >= 2 && memcmp(text, "\x1f\x8b", 2) == 0 ? cli_no_gzip : NULL;
}

#endif

bool cli_names_gzip(const char *path) {
    const size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

/* All that is left of the file. Returns NULL, or why it cannot be read. The caller frees *text in
 * either case. */
static const char *read_all(gzFile file, char **text, size_t *size) {
    size_t got = 1;
    *text = NULL;
    *size = 0;
    for (size_t room = 1 << 16; got > 0; room *= 2) {
        if (is_bomb(file, *size))
            return "it is more than 200 times as large as its gzip data; use gunzip first";
        char *more = room > *size ? realloc(*text, room) : NULL;
        if (more == NULL)
            return cli_reason(ENOMEM);
        *text = more;
        while (*size < room && (got = gzfread(*text + *size, 1, room - *size, file)) > 0)
            *size += got;
    }
    return stop_reason(file, *text, *size);
}

/* A stream of a descriptor, which it closes in the end; NULL where errno says why. */
static gzFile open_stream(int descriptor, const char *mode) {
    gzFile file = descriptor >= 0 ? gzdopen(descriptor, mode) : NULL;
    const int problem = errno;
    if (file == NULL && descriptor >= 0)
        (void)close(descriptor);
    errno = problem;
    return file;
}

const char *cli_read_file(const char *path, char **text, size_t *size) {
    const bool dash = strcmp(path, "-") == 0;
    gzFile file = open_stream(dash ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC), "rb");
    if (file == NULL)
        return cli_reason(errno);
    const char *problem = read_all(file, text, size);
    (void)gzclose(file);
    if (problem != NULL)
        free(*text);
    return problem;
}

void *cli_gzip_open(int descriptor) {
    /* Level 1: five times as fast as the default, and the files are 15 % larger. */
    return open_stream(dup(descriptor), "wb1");
}

int cli_gzip_write(void *file, const char *bytes, size_t size) {
    errno = ENOMEM; /* where zlib has no other reason */
    return gzfwrite(bytes, 1, size, file) == size ? 0 : errno;
}

int cli_gzip_close(void *file) {
    errno = ENOMEM;
    return gzclose(file) == Z_OK ? 0 : errno;
}
