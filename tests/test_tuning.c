/* test_tuning.c: the shapes of kernels (tune.h): what is built in, what gsw_tune() measures, the
 * file between the two, and that bits do not depend on shapes. On CUDA, too, where a device
 * answers. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "keep.h"
#include "suite.h"

/* ---- contexts ---- */

static gsw_backend backend;
static char folder[64];
static char path[128]; /* of a file in that folder, which is not there yet */
static char *home, *cache;

/* What a log has heard. */
typedef struct heard {
    int lines;
    gsw_status status;
    char text[600];
} heard;

static void hear(void *user, gsw_status status, const char *message) {
    heard *said = user;
    said->lines++;
    said->status = status;
    snprintf(said->text, sizeof said->text, "%s", message);
}

static gsw_context *open_with(const char *tuning, int threads, heard *said) {
    const gsw_context_options options = {.size = sizeof options,
                                         .backend = backend,
                                         .threads = threads,
                                         .log = said != NULL ? hear : NULL,
                                         .log_user = said,
                                         .tuning = tuning};
    gsw_context *context = NULL;
    ck_assert_int_eq(gsw_context_create(&options, &context), GSW_SUCCESS);
    return context;
}

static gsw_tuning tuning_of(gsw_context *context) {
    gsw_tuning tuning = {.size = sizeof tuning};
    ck_assert_int_eq(gsw_context_tuning(context, &tuning), GSW_SUCCESS);
    ck_assert_uint_eq(tuning.size, sizeof tuning);
    return tuning;
}

/* The tuning of a new context with that file. */
static gsw_tuning tuning_with(const char *tuning, heard *said) {
    *said = (heard){0};
    gsw_context *context = open_with(tuning, 1, said);
    const gsw_tuning found = tuning_of(context);
    if (tuning != NULL)
        ck_assert_str_eq(gsw_context_tuning_file(context), tuning);
    gsw_context_destroy(context);
    return found;
}

/* ---- files ---- */

enum { NUMBERS = 8, TEXT = 4096 };

static const char *const names[NUMBERS] = {"sweep_chunk",      "sweep_slack",   "sweep_grain",
                                           "sweep_grain_flat", "polled_chunks", "copy_mb_s",
                                           "hand_over_ns",     "step_ps"};

typedef struct numbers {
    int64_t value[NUMBERS];
} numbers;

static const numbers table = {{64, 192, 4096, 8192, 40, 0, 0, 0}};

static numbers numbers_of(const gsw_tuning *t) {
    return (numbers){{t->sweep_chunk, t->sweep_slack, t->sweep_grain, t->sweep_grain_flat,
                      t->polled_chunks, t->copy_mb_s, t->hand_over_ns, t->step_ps}};
}

static void expect_numbers(const gsw_tuning *found, const numbers *expected) {
    const numbers values = numbers_of(found);
    for (int k = 0; k < NUMBERS; k++)
        ck_assert_msg(values.value[k] == expected->value[k], "%s: %" PRId64 ", not %" PRId64,
                      names[k], values.value[k], expected->value[k]);
}

/* A new context with that file has these numbers, and nothing to say. */
static void expect_tuning(const char *tuning, gsw_tuning_source source, const numbers *expected) {
    heard said;
    const gsw_tuning found = tuning_with(tuning, &said);
    ck_assert_int_eq(found.source, source);
    expect_numbers(&found, expected);
    ck_assert_int_eq(said.lines, 0);
}

static const char *device_name(void) {
    static char name[256];
    gsw_context *context = open_with("", 1, NULL);
    snprintf(name, sizeof name, "%s", gsw_context_device(context));
    gsw_context_destroy(context);
    return name;
}

/* Adds the last line: FNV-1a of 64 bits. */
static void seal(char text[TEXT]) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = text; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    const size_t length = strlen(text);
    snprintf(text + length, TEXT - length, "hash %016" PRIx64 "\n", hash);
}

static void add_lines(char text[TEXT], const numbers *values) {
    for (int k = 0; k < NUMBERS; k++) {
        const size_t length = strlen(text);
        snprintf(text + length, TEXT - length, "%s %" PRId64 "\n", names[k], values->value[k]);
    }
}

static void compose(char text[TEXT], const char *version, const char *device,
                    const numbers *values) {
    snprintf(text, TEXT, "gridsweep tuning 1\nversion %s\ndevice %s\n", version, device);
    add_lines(text, values);
    seal(text);
}

static void put(const char *name, const char *text, size_t length) {
    FILE *file = fopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

static void put_numbers(const numbers *values) {
    char text[TEXT];
    compose(text, gsw_version(), device_name(), values);
    put(path, text, strlen(text));
}

static size_t get(const char *name, char text[TEXT]) {
    FILE *file = fopen(name, "rb");
    ck_assert_ptr_nonnull(file);
    const size_t length = fread(text, 1, TEXT - 1, file);
    text[length] = '\0';
    ck_assert_int_eq(fclose(file), 0);
    return length;
}

static int entries_of(const char *name) {
    int count = 0;
    DIR *directory = opendir(name);
    ck_assert_ptr_nonnull(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2;
}

static void erase(const char *name) {
    struct stat status;
    if (lstat(name, &status) != 0)
        return;
    if (!S_ISDIR(status.st_mode)) {
        ck_assert_int_eq(unlink(name), 0);
        return;
    }
    DIR *directory = opendir(name);
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char inner[1024];
        snprintf(inner, sizeof inner, "%s/%s", name, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            erase(inner);
    }
    closedir(directory);
    ck_assert_int_eq(rmdir(name), 0);
}

/* ---- fixtures ---- */

static char *kept(const char *name) {
    const char *value = getenv(name);
    return value == NULL ? NULL : strdup(value);
}

static void give_back(const char *name, char *value) {
    ck_assert_int_eq(value == NULL ? unsetenv(name) : setenv(name, value, 1), 0);
    free(value);
}

static void open_folder(void) {
    home = kept("HOME");
    cache = kept("XDG_CACHE_HOME");
    strcpy(folder, "/tmp/gridsweep-tuning-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tuning.txt", folder);
}

static void close_folder(void) {
    keep_release(0);
    erase(folder);
    give_back("HOME", home);
    give_back("XDG_CACHE_HOME", cache);
}

static void open_cpu(void) {
    backend = GSW_BACKEND_CPU;
    open_folder();
}

static void open_cuda(void) {
    backend = GSW_BACKEND_CUDA;
    open_folder();
}

/* ---- files that are read ---- */

TEST(without_a_file_the_table_is_used) {
    char below[192];
    expect_tuning(path, GSW_TUNING_TABLE, &table);
    expect_tuning("", GSW_TUNING_TABLE, &table);
    put(path, "", 0);
    snprintf(below, sizeof below, "%s/below-a-file", path);
    expect_tuning(below, GSW_TUNING_TABLE, &table);
    ck_assert_int_eq(entries_of(folder), 1);
}

/* The smallest and the largest numbers that a file may hold. */
static const numbers least = {{8, 0, 1, 1, 0, 0, 0, 0}};
static const numbers most = {
    {64, 1 << 20, INT64_MAX, INT64_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX}};

TEST(a_file_gives_its_numbers) {
    const numbers files[] = {least, most, table, {{32, 7, 100, 3000, 12, 18200, 1300, 9500}}};
    for (int i = 0; i < LENGTH(files); i++) {
        put_numbers(&files[i]);
        expect_tuning(path, GSW_TUNING_FILE, &files[i]);
    }
}

/* Whatever is at `path` now is ignored, in one line of the log. */
static void expect_ignored(const char *reason, const char *what) {
    heard said;
    gsw_tuning found = tuning_with(path, &said);
    ck_assert_msg(found.source == GSW_TUNING_TABLE, "%s: the file is taken", what);
    expect_numbers(&found, &table);
    ck_assert_msg(said.lines == 1, "%s: %d lines", what, said.lines);
    ck_assert_int_eq(said.status, GSW_SUCCESS);
    ck_assert_ptr_nonnull(strstr(said.text, path));
    ck_assert_ptr_nonnull(strstr(said.text, " is ignored: "));
    ck_assert_msg(strstr(said.text, reason) != NULL, "%s: '%s' does not say '%s'", what, said.text,
                  reason);
    gsw_context *silent = open_with(path, 1, NULL);
    ck_assert_int_eq(tuning_of(silent).source, GSW_TUNING_TABLE);
    ck_assert_str_eq(gsw_context_message(silent), "");
    gsw_context_destroy(silent);
}

static void expect_text_ignored(const char *text, size_t length, const char *reason) {
    put(path, text, length);
    expect_ignored(reason, text);
}

TEST(damaged_files_are_ignored) {
    static const unsigned char flips[] = {0x01, 0x20, 0xff};
    char good[TEXT], bad[TEXT + 1];
    compose(good, gsw_version(), device_name(), &table);
    const size_t length = strlen(good);
    for (size_t k = 0; k < length; k++)
        expect_text_ignored(good, k, "damaged");
    for (size_t k = 0; k < length; k++) {
        for (int i = 0; i <= LENGTH(flips); i++) {
            memcpy(bad, good, length + 1);
            bad[k] = (char)(i < LENGTH(flips) ? (unsigned char)bad[k] ^ flips[i] : 0);
            expect_text_ignored(bad, length, "damaged");
        }
    }
    memcpy(bad, good, length);
    for (int i = 0; i < 3; i++) { /* a byte too many: NUL, as well */
        bad[length] = "\n \0"[i];
        expect_text_ignored(bad, length + 1, "damaged");
    }
    snprintf(bad, sizeof bad, "\n%s", good);
    expect_text_ignored(bad, length + 1, "damaged");
}

/* The hash of these is right. */
TEST(files_for_others_are_ignored) {
    char text[TEXT], other[300];
    compose(text, "99.0.0", device_name(), &table);
    expect_text_ignored(text, strlen(text), "another device or another version");
    compose(text, gsw_version(), "another device", &table);
    expect_text_ignored(text, strlen(text), "another device or another version");
    snprintf(other, sizeof other, "%s x", device_name());
    compose(text, gsw_version(), other, &table);
    expect_text_ignored(text, strlen(text), "another device or another version");
    snprintf(text, sizeof text, "gridsweep tuning 2\nversion %s\ndevice %s\n", gsw_version(),
             device_name());
    add_lines(text, &table);
    seal(text);
    expect_text_ignored(text, strlen(text), "another device or another version");
}

/* A file with a right hash whose lines after the first three are these. */
static void expect_lines_ignored(const char *lines) {
    char text[TEXT];
    snprintf(text, sizeof text, "gridsweep tuning 1\nversion %s\ndevice %s\n%s", gsw_version(),
             device_name(), lines);
    seal(text);
    expect_text_ignored(text, strlen(text), "damaged");
}

TEST(numbers_out_of_range_are_ignored) {
    char lines[TEXT];
    for (int k = 0; k < NUMBERS; k++) {
        for (int high = 0; high < 2; high++) {
            numbers values = table;
            const int64_t limit = high ? most.value[k] : least.value[k];
            const int64_t step = k == 0 ? 8 : 1; /* the chunk is a multiple of 8 */
            if (limit == INT64_MAX)
                continue;
            values.value[k] = limit + (high ? step : -step);
            lines[0] = '\0';
            add_lines(lines, &values);
            expect_lines_ignored(lines);
            values.value[k] = INT64_MIN;
            lines[0] = '\0';
            add_lines(lines, &values);
            expect_lines_ignored(lines);
        }
    }
    for (int chunk = 0; chunk < 72; chunk++) {
        numbers values = table;
        values.value[0] = chunk;
        lines[0] = '\0';
        add_lines(lines, &values);
        if (chunk % 8 != 0)
            expect_lines_ignored(lines);
    }
}

TEST(other_lines_are_ignored) {
    char lines[TEXT], good[TEXT] = "";
    add_lines(good, &table);
    expect_lines_ignored("");
    expect_lines_ignored("sweep_chunk 64\n");
    expect_lines_ignored(strchr(good, '\n') + 1); /* the first line is missing */
    snprintf(lines, sizeof lines, "%sanother 3\n", good);
    expect_lines_ignored(lines);
    snprintf(lines, sizeof lines, "%s\n", good);
    expect_lines_ignored(lines);
    snprintf(lines, sizeof lines, "%s%s", good, good);
    expect_lines_ignored(lines);
    for (int k = 0; k < NUMBERS; k++) { /* a word in place of a number, and of a name */
        numbers values = table;
        values.value[k] = 987;
        lines[0] = '\0';
        add_lines(lines, &values);
        memcpy(strstr(lines, " 987") + 1, "abc", 3);
        expect_lines_ignored(lines);
        lines[0] = '\0';
        add_lines(lines, &table);
        *strstr(lines, names[k]) = 'x';
        expect_lines_ignored(lines);
    }
}

TEST(what_is_no_such_file_is_ignored) {
    const size_t huge = (size_t)1 << 22;
    char *text = calloc(huge, 1);
    ck_assert_ptr_nonnull(text);
    expect_text_ignored("", 0, "damaged");
    memset(text, 'x', huge);
    expect_text_ignored(text, huge, "cannot be read");
    compose(text, gsw_version(), device_name(), &table); /* a good file, and more behind it */
    expect_text_ignored(text, huge, "cannot be read");
    free(text);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    expect_ignored("not a regular file", "a folder");
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    expect_ignored("not a regular file", "a pipe");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(path, path), 0);
    expect_ignored("cannot be opened", "a link to itself");
}

/* ---- gsw_tune() ---- */

/* This takes some seconds. The folders of the file are not there yet. */
TEST(what_is_measured_is_kept) {
    char deep[256], text[TEXT], expected[TEXT];
    struct stat status;
    heard said = {0};
    snprintf(deep, sizeof deep, "%s/one/two/tuning.txt", folder);
    gsw_context *context = open_with(deep, 2, &said);
    gsw_tuning result = {.size = sizeof result};
    ck_assert_int_eq(gsw_tune(context, &result), GSW_SUCCESS);
    ck_assert_int_eq(result.source, GSW_TUNING_NOW);
    const numbers found = numbers_of(&result);
    for (int k = 0; k < NUMBERS; k++)
        ck_assert_msg(found.value[k] >= least.value[k] && found.value[k] <= most.value[k],
                      "%s is %" PRId64, names[k], found.value[k]);
    ck_assert_int_gt(result.copy_mb_s, 0);
    if (backend == GSW_BACKEND_CUDA)
        ck_assert(result.step_ps > 0 && result.hand_over_ns > 0);
    const gsw_tuning used = tuning_of(context);
    ck_assert_int_eq(used.source, GSW_TUNING_NOW);
    expect_numbers(&used, &found);
    ck_assert_str_eq(gsw_context_message(context), "");
    gsw_context_destroy(context);

    compose(expected, gsw_version(), device_name(), &found);
    get(deep, text);
    ck_assert_str_eq(text, expected);
    ck_assert_int_eq(stat(deep, &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0600);
    expect_tuning(deep, GSW_TUNING_FILE, &found);
    *strrchr(deep, '/') = '\0';
    ck_assert_int_eq(entries_of(deep), 1);
}

/* With one thread only the copy is measured, so that takes a moment. */
TEST(one_thread_keeps_the_table) {
    char text[TEXT];
    put(path, "damaged", 7);
    gsw_context *context = open_with(path, 1, NULL);
    ck_assert_int_eq(gsw_tune(context, NULL), GSW_SUCCESS);
    gsw_tuning used = tuning_of(context);
    ck_assert_int_eq(used.source, GSW_TUNING_NOW);
    ck_assert_int_gt(used.copy_mb_s, 0);
    numbers expected = table;
    expected.value[5] = used.copy_mb_s;
    expect_numbers(&used, &expected);
    gsw_context_destroy(context);
    expect_tuning(path, GSW_TUNING_FILE, &expected); /* the damaged file was replaced */
    ck_assert_int_eq(entries_of(folder), 1);

    expected.value[5] = 1234; /* so that it cannot be what is measured now */
    compose(text, gsw_version(), device_name(), &expected);
    put(path, text, strlen(text));
    context = open_with(path, 1, NULL);
    ck_assert_int_eq(gsw_tune(context, &used), GSW_SUCCESS);
    expect_numbers(&used, &expected);
    gsw_context_destroy(context);

    context = open_with("", 1, NULL);
    ck_assert_int_eq(gsw_tune(context, NULL), GSW_SUCCESS);
    ck_assert_int_eq(tuning_of(context).source, GSW_TUNING_NOW);
    ck_assert_str_eq(gsw_context_tuning_file(context), "");
    gsw_context_destroy(context);
}

TEST(bad_arguments_are_refused) {
    const size_t bad[] = {0, 1, sizeof(gsw_tuning) - 4, SIZE_MAX};
    gsw_context *context = open_with(path, 1, NULL);
    gsw_tuning tuning = {.size = sizeof tuning};
    must_reject(gsw_tune(NULL, &tuning));
    must_reject(gsw_context_tuning(NULL, &tuning));
    must_reject(gsw_context_tuning(context, NULL));
    must_say(context, "tuning is NULL");
    ck_assert_str_eq(gsw_context_tuning_file(NULL), "");
    for (int i = 0; i < LENGTH(bad); i++) {
        tuning.size = bad[i];
        must_refuse(context, gsw_tune(context, &tuning), GSW_ERROR_INVALID_ARGUMENT,
                    "gsw_tuning: size is");
        must_reject(gsw_context_tuning(context, &tuning));
    }
    ck_assert_int_eq(tuning_of(context).source, GSW_TUNING_TABLE);
    ck_assert_int_eq(entries_of(folder), 0);
    gsw_context_destroy(context);
}

/* A file where a folder is needed, and the other way round. */
TEST(a_file_that_cannot_be_written_is_an_error) {
    char below[192], inner[192];
    put(path, "", 0);
    snprintf(below, sizeof below, "%s/tuning.txt", path);
    snprintf(inner, sizeof inner, "%s/folder", folder);
    ck_assert_int_eq(mkdir(inner, 0700), 0);
    const char *const targets[] = {below, inner};
    for (int i = 0; i < LENGTH(targets); i++) {
        gsw_context *context = open_with(targets[i], 1, NULL);
        gsw_tuning result = {.size = sizeof result};
        must_refuse(context, gsw_tune(context, &result), GSW_ERROR_IO,
                    "cannot write the tuning file");
        must_say(context, targets[i]);
        ck_assert_int_eq(result.source, GSW_TUNING_NOW);
        ck_assert_int_gt(result.copy_mb_s, 0);
        const gsw_tuning used = tuning_of(context);
        const numbers expected = numbers_of(&result);
        ck_assert_int_eq(used.source, GSW_TUNING_NOW);
        expect_numbers(&used, &expected);
        gsw_context_destroy(context);
    }
    ck_assert_int_eq(entries_of(folder), 2);

    ck_assert_int_eq(unlink(path), 0); /* nor may a pipe, which could block */
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    gsw_context *context = open_with(path, 1, NULL);
    must_refuse(context, gsw_tune(context, NULL), GSW_ERROR_IO, "it is not a regular file");
    gsw_context_destroy(context);
}

/* ---- the user's file ---- */

/* The path of a new context without an option; "" where it has none. */
static const char *users_path(void) {
    static char found[512];
    gsw_context *context = open_with(NULL, 1, NULL);
    snprintf(found, sizeof found, "%s", gsw_context_tuning_file(context));
    gsw_context_destroy(context);
    return found;
}

static void expect_below(const char *begin) {
    char expected[256];
    snprintf(expected, sizeof expected, "%s/gridsweep/tuning-%s-", begin,
             gsw_backend_name(backend));
    const char *found = users_path();
    ck_assert_msg(strncmp(found, expected, strlen(expected)) == 0, "'%s' does not begin with '%s'",
                  found, expected);
    ck_assert_str_eq(found + strlen(found) - 4, ".txt");
}

TEST(the_users_folder) {
    char below[128];
    snprintf(below, sizeof below, "%s/.cache", folder);
    setenv("HOME", "/elsewhere", 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    expect_below(folder);
    setenv("HOME", folder, 1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    expect_below(below);
    setenv("XDG_CACHE_HOME", "", 1);
    expect_below(below);
    unsetenv("XDG_CACHE_HOME");
    expect_below(below);
    setenv("HOME", "relative", 1);
    ck_assert_str_eq(users_path(), "");
    unsetenv("HOME");
    ck_assert_str_eq(users_path(), "");
    setenv("XDG_CACHE_HOME", folder, 1);
    expect_below(folder);
    ck_assert_int_eq(entries_of(folder), 0); /* only gsw_tune() makes a folder */
}

TEST(the_users_file_is_written_and_read) {
    heard said;
    setenv("XDG_CACHE_HOME", folder, 1);
    gsw_context *context = open_with(NULL, 1, NULL);
    ck_assert_int_eq(gsw_tune(context, NULL), GSW_SUCCESS);
    gsw_context_destroy(context);
    ck_assert_int_eq(tuning_with(NULL, &said).source, GSW_TUNING_FILE);
    ck_assert_int_eq(tuning_with("", &said).source, GSW_TUNING_TABLE);
    ck_assert_int_eq(tuning_with(path, &said).source, GSW_TUNING_TABLE);
    ck_assert_int_eq(entries_of(folder), 1);

    /* Without a folder nothing is written, and that is no error. */
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    context = open_with(NULL, 1, NULL);
    ck_assert_int_eq(gsw_tune(context, NULL), GSW_SUCCESS);
    ck_assert_int_eq(tuning_of(context).source, GSW_TUNING_NOW);
    gsw_context_destroy(context);
}

/* ---- bits ---- */

static const struct {
    const char *stencil;
    gsw_grid grid;
} cases[] = {{"D2N5", {67, 45, 1}},   {"D2N5", {301, 129, 1}}, {"D3N7", {37, 19, 11}},
             {"D3N7", {509, 17, 9}},  {"D3N7", {9, 40, 23}},   {"D3N27", {23, 17, 13}},
             {"D3N27", {131, 11, 9}}, {"D3N27", {9, 8, 41}}};

static const numbers cpu_shapes[] = {{{8, 0, 1, 1, 40, 0, 0, 0}},
                                     {{16, 0, 1, 1, 40, 0, 0, 0}},
                                     {{24, 5, 1, 1, 40, 0, 0, 0}},
                                     {{32, 0, 1, 1, 40, 0, 0, 0}},
                                     {{64, 0, 1, 1, 40, 0, 0, 0}},
                                     {{8, 1 << 20, 1, 1, 40, 0, 0, 0}},
                                     {{64, 192, INT64_MAX, INT64_MAX, 40, 0, 0, 0}}};
static const numbers cuda_shapes[] = {{{64, 192, 2048, 2048, 0, 0, 0, 0}},
                                      {{64, 192, 2048, 2048, 5, 0, 0, 0}},
                                      {{64, 192, 2048, 2048, INT32_MAX, 0, 0, 0}}};

enum { SIDES = 3, KINDS = 4 };

/* ILU(0) and SSOR, transposed or not, in fp64 and fp32, with one right-hand side and with several:
 * one after the other in x. */
static void solve(gsw_context *context, const gsw_matrix *host, const double *b, double *x) {
    const int64_t n = oracle_points(&host->grid);
    const size_t bytes = (size_t)(n * SIDES) * sizeof *b;
    const size_t mark = keep_mark();
    const gsw_matrix *matrix = keep_there(context, host);
    void *there = keep_upload(context, b, bytes), *solution = keep_room(context, bytes);
    for (int k = 0; k < KINDS; k++) {
        const gsw_factor_options options = {.kind = k % 2 == 0 ? GSW_ILU0 : GSW_SSOR,
                                            .transpose = k >= 2,
                                            .factor_type = k == 1 ? GSW_F32 : GSW_F64,
                                            .omega = 1.3};
        gsw_factor *factor = keep_factor(context, matrix, options);
        for (int count = 1; count <= SIDES; count += SIDES - 1, x += n * SIDES) {
            must(context, gsw_memory_set(context, solution, 0xff, bytes));
            must(context, gsw_factor_solve(context, factor, count, there, n, solution, n));
            download(context, x, solution, bytes);
        }
    }
    keep_release(mark);
}

TEST(shapes_do_not_change_bits) {
    const numbers *shapes = backend == GSW_BACKEND_CUDA ? cuda_shapes : cpu_shapes;
    const int count = backend == GSW_BACKEND_CUDA ? LENGTH(cuda_shapes) : LENGTH(cpu_shapes);
    const gsw_grid *grid = &cases[_i].grid;
    const int64_t n = oracle_points(grid), total = n * SIDES * KINDS * 2;
    oracle_matrix *matrix =
        keep_matrix_of(grid, oracle_stencil_named(cases[_i].stencil), 7, ORACLE_POSITIVE);
    double *b = keep_random(3, n * SIDES);
    double *expected = keep_random(1, total), *found = keep_random(2, total);
    gsw_context *context = open_with("", 4, NULL);
    solve(context, &matrix->view, b, expected);
    gsw_context_destroy(context);
    for (int s = 0; s < count; s++) {
        put_numbers(&shapes[s]);
        context = open_with(path, 4, NULL);
        const gsw_tuning used = tuning_of(context);
        if (shapes[s].value[0] != 24) { /* which the library may refuse */
            ck_assert_int_eq(used.source, GSW_TUNING_FILE);
            expect_numbers(&used, &shapes[s]);
        }
        for (int repeat = 0; repeat < 3; repeat++) {
            solve(context, &matrix->view, b, found);
            ck_assert_msg(memcmp(found, expected, (size_t)total * sizeof *found) == 0,
                          "%s, shapes %d: other bits", cases[_i].stencil, s);
        }
        gsw_context_destroy(context);
    }
}

/* ---- the suite ---- */

static void add_case(Suite *suite, const char *name, void (*open)(void)) {
    TCase *tc = suite_case(suite, name, 300, open, close_folder);
    TESTS(tc, without_a_file_the_table_is_used, a_file_gives_its_numbers,
          files_for_others_are_ignored, what_is_measured_is_kept, the_users_folder);
    LOOPS(tc, LENGTH(cases), shapes_do_not_change_bits);
    if (open == open_cpu) {
        TESTS(tc, damaged_files_are_ignored, numbers_out_of_range_are_ignored,
              other_lines_are_ignored, what_is_no_such_file_is_ignored, one_thread_keeps_the_table,
              bad_arguments_are_refused, a_file_that_cannot_be_written_is_an_error,
              the_users_file_is_written_and_read);
    }
}

int main(void) {
    const int devices = gsw_device_count();
    Suite *suite = suite_create("tuning");
    add_case(suite, "cpu", open_cpu);
    if (devices > 0)
        add_case(suite, "cuda", open_cuda);
    /* CUDA does not survive a fork */
    return suite_run(suite, devices > 0 ? CK_NOFORK : CK_FORK_GETENV);
}
