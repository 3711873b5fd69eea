/* tuning.c: see tuning.h.
 *
 * The file is text: a line for the format, the version of the library and the device, one for each
 * number, and at last a hash of all that comes before (hash.h). It is replaced as a whole. A file
 * that differs from that in any way is ignored: measuring once more is cheaper than to guess. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gridsweep/version.h>

#include "contract/error.h"
#include "common/hash.h"
#include "file.h"
#include "options.h"
#include "tuning.h"

#define FORMAT   "gridsweep tuning 1"
#define FILE_MAX 4096 /* bytes; a file has some 300 */

GSW_ENDS_WITH(gsw_tuning, step_ps);

/* Measured on Xeons with AVX-512, EPYCs and an H200 (perf/DECISIONS.md, Shapes in a table). */
const gsw_tuning gsw_tuning_table = {.size = sizeof gsw_tuning_table,
                                     .source = GSW_TUNING_TABLE,
                                     .sweep_chunk = 64,
                                     .sweep_slack = 192,
                                     .sweep_grain = 4096,
                                     .sweep_grain_flat = 8192,
                                     .polled_chunks = 40};

/* The numbers of a file, in its order. */
static const struct {
    const char *name;
    size_t offset;
    int64_t least, most;
    int power; /* it is a power of two */
} numbers[] = {
    {"sweep_chunk", offsetof(gsw_tuning, sweep_chunk), 8, 64, 1},
    {"sweep_slack", offsetof(gsw_tuning, sweep_slack), 0, 1 << 20, 0},
    {"sweep_grain", offsetof(gsw_tuning, sweep_grain), 1, INT64_MAX, 0},
    {"sweep_grain_flat", offsetof(gsw_tuning, sweep_grain_flat), 1, INT64_MAX, 0},
    {"polled_chunks", offsetof(gsw_tuning, polled_chunks), 0, INT32_MAX, 0},
    {"copy_mb_s", offsetof(gsw_tuning, copy_mb_s), 0, INT32_MAX, 0},
    {"hand_over_ns", offsetof(gsw_tuning, hand_over_ns), 0, INT32_MAX, 0},
    {"step_ps", offsetof(gsw_tuning, step_ps), 0, INT32_MAX, 0},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static int64_t *number_of(gsw_tuning *tuning, int k) {
    return (int64_t *)(void *)((char *)tuning + numbers[k].offset);
}

/* ---- the text ---- */

/* The lines that say for what a file is good. */
static int print_head(const gsw_context *context, char *text, size_t size) {
    return snprintf(text, size, FORMAT "\nversion %s\ndevice %s\n", GSW_VERSION_STRING,
                    context->device);
}

/* The whole text; returns its length. */
static size_t print_file(gsw_context *context, char text[FILE_MAX]) {
    size_t used = (size_t)print_head(context, text, FILE_MAX);
    for (int k = 0; k < NUMBERS; k++)
        used += (size_t)snprintf(text + used, FILE_MAX - used, "%s %" PRId64 "\n", numbers[k].name,
                                 *number_of(&context->tuning, k));
    used += (size_t)snprintf(text + used, FILE_MAX - used, "hash %016" PRIx64 "\n",
                             gsw_hash(GSW_HASH_BEGIN, text, used));
    return used;
}

/* What is wrong with a file's text; NULL: nothing, and *tuning has its numbers. */
static const char *read_text(const gsw_context *context, const char *text, size_t length,
                             gsw_tuning *tuning) {
    char head[FILE_MAX], last[32];
    const size_t head_length = (size_t)print_head(context, head, sizeof head);
    const size_t last_length = strlen("hash 0123456789abcdef\n");
    if (length <= last_length || strlen(text) != length)
        return "it is damaged";
    (void)snprintf(last, sizeof last, "hash %016" PRIx64 "\n",
                   gsw_hash(GSW_HASH_BEGIN, text, length - last_length));
    if (strcmp(text + length - last_length, last) != 0)
        return "it is damaged";
    if (strncmp(text, head, head_length) != 0)
        return "it is for another device or another version of the library";
    const char *at = text + head_length;
    for (int k = 0; k < NUMBERS; k++) {
        const size_t name_length = strlen(numbers[k].name);
        if (strncmp(at, numbers[k].name, name_length) != 0 || at[name_length] != ' ')
            return "it is damaged";
        char *end;
        const int64_t value = strtoll(at + name_length, &end, 10);
        if (*end != '\n' || value < numbers[k].least || value > numbers[k].most ||
            (numbers[k].power && (value & (value - 1)) != 0))
            return "it is damaged";
        *number_of(tuning, k) = value;
        at = end + 1;
    }
    return strcmp(at, last) == 0 ? NULL : "it is damaged";
}

/* ---- the file ---- */

static const char not_regular[] = "it is not a regular file";

/* Reads the context's file. What is wrong with it; NULL: nothing, or it does not exist. */
static const char *read_file(gsw_context *context) {
    char text[FILE_MAX + 1];
    gsw_tuning read = gsw_tuning_table;
    struct stat info;
    if (stat(context->tuning_file, &info) != 0)
        return errno == ENOENT || errno == ENOTDIR ? NULL : "it cannot be opened";
    if (!S_ISREG(info.st_mode)) /* a pipe could block */
        return not_regular;
    FILE *file = fopen(context->tuning_file, "rb");
    if (file == NULL)
        return "it cannot be opened";
    const size_t length = fread(text, 1, sizeof text - 1, file);
    const int failed = ferror(file) || (length == FILE_MAX);
    (void)fclose(file);
    text[length] = '\0';
    const char *wrong = failed ? "it cannot be read" : read_text(context, text, length, &read);
    if (wrong == NULL) {
        context->tuning = read;
        context->tuning.source = GSW_TUNING_FILE;
    }
    return wrong;
}

/* The user's file for this device. The name has a hash of the device, because machines can share a
 * home. Newly allocated; NULL where there is no memory, or *none: there is no cache folder. */
static char *users_file(const gsw_context *context, int *none) {
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): unsafe only while somebody changes the environment */
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *below = "";
    *none = 0;
    if (cache == NULL || cache[0] != '/') {
        cache = home;
        below = "/.cache";
    }
    *none = cache == NULL || cache[0] != '/';
    if (*none)
        return NULL;
    const size_t size = strlen(cache) + 96;
    char *path = malloc(size);
    if (path != NULL)
        (void)snprintf(path, size, "%s%s/gridsweep/tuning-%s-%016" PRIx64 ".txt", cache, below,
                       context->backend == GSW_BACKEND_CUDA ? "cuda" : "cpu",
                       gsw_hash(GSW_HASH_BEGIN, context->device, strlen(context->device)));
    return path;
}

static char *copy_of(const char *path) {
    const size_t size = strlen(path) + 1;
    char *copy = malloc(size);
    return copy == NULL ? NULL : memcpy(copy, path, size);
}

gsw_status gsw_tuning_open(gsw_context *context, const char *path) {
    int none = path != NULL && path[0] == '\0';
    context->tuning = gsw_tuning_table;
    if (none)
        return GSW_SUCCESS;
    context->tuning_file = path != NULL ? copy_of(path) : users_file(context, &none);
    if (context->tuning_file == NULL)
        return none ? GSW_SUCCESS
                    : gsw_fail(context, GSW_ERROR_OUT_OF_MEMORY, "no memory for a path");
    const char *wrong = read_file(context);
    if (wrong != NULL)
        gsw_warn(context, "the tuning file %.300s is ignored: %s", context->tuning_file, wrong);
    return GSW_SUCCESS;
}

void gsw_tuning_close(gsw_context *context) {
    free(context->tuning_file);
    context->tuning_file = NULL;
}

/* Makes the folders of a path that are missing, below the first one. `path` is changed for a
 * while. */
static void make_folders(char *path) {
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700); /* that it fails shows when the file is written */
        *at = '/';
    }
}

gsw_status gsw_tuning_save(gsw_context *context) {
    static const char verb[] = "write the tuning file";
    const char *path = context->tuning_file;
    char text[FILE_MAX];
    gsw_file file;
    struct stat info;
    if (path == NULL)
        return GSW_SUCCESS;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) /* a pipe could block */
        return gsw_fail(context, GSW_ERROR_IO, "cannot %s %.160s: %s", verb, path, not_regular);
    make_folders(context->tuning_file);
    GSW_TRY(gsw_file_open(context, verb, path, 0600, &file));
    const int reason = gsw_file_write(&file, text, print_file(context, text));
    return gsw_file_close(context, path, &file,
                          reason == 0 ? GSW_SUCCESS : gsw_file_fail(context, verb, path, reason));
}

/* ---- the interface ---- */

gsw_status gsw_context_tuning(gsw_context *context, gsw_tuning *tuning) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, tuning != NULL, "tuning is NULL");
    GSW_TRY(gsw_result_check(context, "gsw_tuning", tuning));
    gsw_result_give(tuning, &context->tuning, sizeof context->tuning);
    return GSW_SUCCESS;
}

const char *gsw_context_tuning_file(const gsw_context *context) {
    return context == NULL || context->tuning_file == NULL ? "" : context->tuning_file;
}
