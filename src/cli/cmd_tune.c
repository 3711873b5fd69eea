/* cmd_tune.c: `gridsweep tune`: what gsw_tune() measures, beside what is built in. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cmd.h"
#include "output/output.h"
#include "common/place.h"
#include "output/result.h"

/* The shapes. A backend uses some of them. */
static const struct shape {
    const char *key, *name, *unit;
    gsw_backend backend;
    size_t offset; /* in gsw_tuning */
    int64_t never; /* the value that stands for never */
} shapes[] = {
    {"sweep_chunk", "sweep chunk", " steps", GSW_BACKEND_CPU, offsetof(gsw_tuning, sweep_chunk),
     INT64_MAX},
    {"sweep_slack", "sweep slack", " steps", GSW_BACKEND_CPU, offsetof(gsw_tuning, sweep_slack),
     INT64_MAX},
    {"sweep_grain", "sweep grain", " points", GSW_BACKEND_CPU, offsetof(gsw_tuning, sweep_grain),
     INT64_MAX},
    {"sweep_grain_flat", "sweep grain, 2D", " points", GSW_BACKEND_CPU,
     offsetof(gsw_tuning, sweep_grain_flat), INT64_MAX},
    {"polled_chunks", "polled chunks", "", GSW_BACKEND_CUDA, offsetof(gsw_tuning, polled_chunks),
     INT32_MAX},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int64_t value_of(const struct shape *shape, const gsw_tuning *tuning) {
    return *(const int64_t *)(const void *)((const char *)tuning + shape->offset);
}

static void print_value(const cli_options *options, const struct shape *shape, int64_t value,
                        const char *unit) {
    if (value == shape->never)
        cli_print(options, "never");
    else
        cli_print(options, "%lld%s", (long long)value, unit);
}

static void print_shape(const cli_options *options, const struct shape *shape,
                        const gsw_tuning *found, const gsw_tuning *table) {
    const int64_t value = value_of(shape, found), built_in = value_of(shape, table);
    cli_print(options, "%-17s ", shape->name);
    print_value(options, shape, value, shape->unit);
    if (value != built_in) {
        cli_print(options, " (table: ");
        print_value(options, shape, built_in, "");
        cli_print(options, ")");
    }
    cli_print(options, "\n");
}

static void print_found(const cli_options *options, const gsw_context *context,
                        const gsw_tuning *before, const gsw_tuning *found,
                        const gsw_tuning *table) {
    const gsw_backend backend = gsw_context_backend(context);
    const bool alone = backend != GSW_BACKEND_CUDA && gsw_context_threads(context) == 1;
    cli_print(options, "%-17s %.1f GB/s%s\n", "copy", 1e-3 * (double)found->copy_mb_s,
              alone && before->copy_mb_s > 0 ? ", as it was: more threads copy faster" : "");
    if (backend == GSW_BACKEND_CUDA) {
        cli_print(options, "%-17s %.2f ns\n", "step", 1e-3 * (double)found->step_ps);
        cli_print(options, "%-17s %.2f us\n", "hand-over", 1e-3 * (double)found->hand_over_ns);
    } else if (alone) {
        cli_print(options, "%-17s as they were: sweeps with one thread do not depend on them\n",
                  "shapes");
        return;
    }
    for (int k = 0; k < SHAPES; k++)
        if (shapes[k].backend == backend)
            print_shape(options, &shapes[k], found, table);
}

static cJSON *shapes_object(gsw_backend backend, const gsw_tuning *tuning) {
    cJSON *object = cli_json_new(CLI_SHAPES);
    for (int k = 0; k < SHAPES; k++) {
        const int64_t value = value_of(&shapes[k], tuning);
        const bool is_number = shapes[k].backend == backend && value != shapes[k].never;
        cli_set_number(object, shapes[k].key, is_number ? (double)value : NAN);
    }
    return object;
}

static int write_json(const cli_options *options, const gsw_context *context,
                      const gsw_tuning *found, const gsw_tuning *table) {
    const gsw_backend backend = gsw_context_backend(context);
    const bool cuda = backend == GSW_BACKEND_CUDA;
    cJSON *json = cli_json(options, CLI_TUNE);
    cli_set_context(json, context);
    cli_set_number(json, "copy_gb_s", 1e-3 * (double)found->copy_mb_s);
    cli_set_number(json, "step_ns", cuda ? 1e-3 * (double)found->step_ps : NAN);
    cli_set_number(json, "hand_over_us", cuda ? 1e-3 * (double)found->hand_over_ns : NAN);
    cli_set(json, "shapes", shapes_object(backend, found));
    cli_set(json, "table", shapes_object(backend, table));
    cli_set_text(json, "file", gsw_context_tuning_file(context));
    return cli_finish(options, &(cli_outputs){0}, CLI_OK, json);
}

/* The shapes that are built in: those of a context without a file. */
static int read_table(const cli_options *options, gsw_tuning *table) {
    const gsw_context_options plain = {
        .size = sizeof plain, .backend = GSW_BACKEND_CPU, .threads = 1, .tuning = ""};
    gsw_context *context = NULL;
    gsw_status status = gsw_context_create(&plain, &context);
    if (status == GSW_SUCCESS)
        status = gsw_context_tuning(context, table);
    const int code = cli_status(options, context, status, CLI_FROM_OPTION);
    gsw_context_destroy(context);
    return code;
}

/* Why the file with this absolute path cannot be written, after the folders that are missing have
 * been made; NULL: nothing is known. */
static const char *find_obstacle(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return "it is not a regular file";
    char *folder = strdup(path);
    if (folder == NULL)
        return cli_reason(ENOMEM);
    errno = ENOENT;
    for (char *slash; errno == ENOENT && (slash = strrchr(folder, '/')) != NULL;) {
        slash[slash == folder] = '\0';
        errno = 0;
        if (stat(folder, &info) == 0 && !S_ISDIR(info.st_mode))
            errno = ENOTDIR;
        else if (errno == 0)
            (void)access(folder, W_OK | X_OK);
    }
    const int problem = errno;
    free(folder);
    return problem == 0 ? NULL : cli_reason(problem);
}

/* Prints what was found also where it cannot be written. */
static int tune(const cli_options *options, gsw_context *context) {
    gsw_tuning table = {.size = sizeof table}, found = {.size = sizeof found};
    gsw_tuning before = {.size = sizeof before};
    int code = read_table(options, &table);
    if (code != CLI_OK)
        return code;
    if (gsw_context_tuning_file(context)[0] == '\0')
        return cli_error(options,
                         "there is no folder for the file: set HOME, or XDG_CACHE_HOME, to an "
                         "absolute path");
    const char *obstacle = find_obstacle(gsw_context_tuning_file(context));
    if (obstacle != NULL)
        return cli_error(options, "cannot write the tuning file %s: %s",
                         gsw_context_tuning_file(context), obstacle);
    cli_print(options, "measuring, for up to 20 s\n");
    (void)fflush(cli_human(options));
    (void)gsw_context_tuning(context, &before); /* it cannot fail with a context */
    const gsw_status status = gsw_tune(context, &found);
    if (status == GSW_SUCCESS || status == GSW_ERROR_IO)
        print_found(options, context, &before, &found, &table);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_OPTION);
    cli_print(options, "%-17s %s\n", "file", gsw_context_tuning_file(context));
    return options->json != NULL ? write_json(options, context, &found, &table) : CLI_OK;
}

int cmd_tune(const cli_options *options) {
    cli_place place = {0};
    int code = cli_check_outputs(options);
    if (code == CLI_OK)
        code = cli_open_place(options, &(cli_work){0}, &place);
    if (code == CLI_OK) {
        const gsw_context *context = place.run;
        const gsw_backend backend = gsw_context_backend(context);
        cli_print(options, "%-17s %s\n", "backend", gsw_backend_name(backend));
        cli_print(options, "%-17s %s\n", "device", gsw_context_device(context));
        if (backend == GSW_BACKEND_CPU)
            cli_print(options, "%-17s %d\n", "threads", gsw_context_threads(context));
        code = tune(options, place.run);
    }
    cli_close_place(&place);
    return code;
}
