/* cmd_info.c: `gridsweep info`: version, build options, and what there is to run on. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cmd.h"
#include "output/output.h"
#include "output/result.h"

#define TEXT_SIZE 512

/* What the log of a context has said. */
typedef struct heard {
    char error[TEXT_SIZE], warning[TEXT_SIZE];
} heard;

/* A gsw_log_fn that keeps the text. */
static void hear(void *user, gsw_status status, const char *message) {
    heard *said = user;
    (void)snprintf(status == GSW_SUCCESS ? said->warning : said->error, TEXT_SIZE, "%s", message);
}

/* Where it fails, said->error has the reason. */
static gsw_status open_context(gsw_backend backend, int device, heard *said,
                               gsw_context **context) {
    const gsw_context_options wanted = {
        .size = sizeof wanted, .backend = backend, .device = device, .log = hear, .log_user = said};
    *context = NULL;
    *said = (heard){0};
    const gsw_status status = gsw_context_create(&wanted, context);
    if (status != GSW_SUCCESS && said->error[0] == '\0')
        (void)snprintf(said->error, TEXT_SIZE, "%s", gsw_status_text(status));
    return status;
}

/* Where the shapes of a context's kernels come from. */
static cJSON *tuning_object(gsw_context *context, const heard *said) {
    gsw_tuning tuning = {.size = sizeof tuning};
    (void)gsw_context_tuning(context, &tuning);
    const char *path = gsw_context_tuning_file(context), *warning = said->warning;
    const bool from_file = tuning.source == GSW_TUNING_FILE;
    cJSON *object = cli_json_new(CLI_TUNING);
    cli_set_text(object, "source", from_file ? "file" : "table");
    cli_set_text(object, "file", path[0] != '\0' ? path : NULL);
    cli_set_text(object, "ignored", warning[0] != '\0' ? warning : NULL);
    cli_set_number(object, "copy_gb_s", from_file ? 1e-3 * (double)tuning.copy_mb_s : NAN);
    return object;
}

/* Lists the GPUs in `gpus` and their tunings, null where a GPU cannot be used, or says why there
 * are no GPUs. */
static void find_gpus(cJSON *gpus, cJSON *tunings, heard *said) {
    char name[160];
    gsw_context *context = NULL;
    int count = gsw_device_count();
    for (int device = 0; device < count; device++) {
        if (gsw_device_name(device, name, sizeof name) != GSW_SUCCESS)
            continue;
        const gsw_status status = open_context(GSW_BACKEND_CUDA, device, said, &context);
        cJSON_AddItemToArray(gpus, cJSON_CreateString(name));
        cJSON_AddItemToArray(tunings, status == GSW_SUCCESS ? tuning_object(context, said)
                                                            : cJSON_CreateNull());
        gsw_context_destroy(context);
    }
    if (count == 0) {
        (void)open_context(GSW_BACKEND_CUDA, 0, said, &context);
        gsw_context_destroy(context);
    }
}

static void exchange(char *text, char from, char to) {
    for (; (text = strchr(text, from)) != NULL;)
        *text = to;
}

/* The lines "key: value" of gsw_build_info(). JSON's keys hold no spaces: "build type" becomes
 * "build_type". */
static cJSON *build_object(void) {
    cJSON *object = cli_json_new(CLI_BUILD);
    char key[64], value[256];
    for (const char *line = gsw_build_info(); *line != '\0';) {
        if (sscanf(line, "%63[^:\n]: %255[^\n]", key, value) == 2) {
            exchange(key, ' ', '_');
            cli_set_text(object, key, value);
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return object;
}

static void print_field(const cli_options *options, const char *name, const char *value) {
    cli_print(options, "%-17s %s\n", name, value);
}

/* `tuning` is null for a GPU that cannot be used. */
static void print_tuning(const cli_options *options, const char *name, const cJSON *tuning) {
    const char *path = cJSON_GetStringValue(cJSON_GetObjectItem(tuning, "file"));
    const char *ignored = cJSON_GetStringValue(cJSON_GetObjectItem(tuning, "ignored"));
    const cJSON *copy = cJSON_GetObjectItem(tuning, "copy_gb_s");
    cli_print(options, "%-17s ", name);
    if (cJSON_IsNull(tuning))
        cli_print(options, "unknown: the GPU cannot be used\n");
    else if (cJSON_IsNumber(copy))
        cli_print(options, "%s (copy %.1f GB/s)\n", path, cJSON_GetNumberValue(copy));
    else if (ignored != NULL)
        cli_print(options, "built in (%s)\n", ignored);
    else if (path != NULL)
        cli_print(options, "built in (no %s)\n", path);
    else
        cli_print(options, "built in (no folder for a file)\n");
}

static void print_info(const cli_options *options, const gsw_context *context, const cJSON *json,
                       const heard *said) {
    print_field(options, "version", gsw_version());
    print_field(options, "commit", gsw_commit());
    const cJSON *entry, *gpus = cJSON_GetObjectItem(json, "gpus");
    cJSON_ArrayForEach(entry, cJSON_GetObjectItem(json, "build")) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s", entry->string);
        exchange(name, '_', ' ');
        print_field(options, name, entry->valuestring);
    }
    print_field(options, "processor", gsw_context_device(context));
    cli_print(options, "%-17s %d\n", "threads", gsw_context_threads(context));
    print_tuning(options, "tuning", cJSON_GetObjectItem(json, "tuning"));
    if (cJSON_GetArraySize(gpus) == 0)
        cli_print(options, "%-17s none (%s)\n", "GPUs", said->error);
    int number = 0;
    cJSON_ArrayForEach(entry, gpus) {
        char name[32];
        cli_print(options, "GPU %-13d %s\n", number, entry->valuestring);
        (void)snprintf(name, sizeof name, "GPU %d, tuning", number);
        print_tuning(options, name,
                     cJSON_GetArrayItem(cJSON_GetObjectItem(json, "gpu_tunings"), number));
        number++;
    }
}

static int show(const cli_options *options, gsw_context *context, heard *said) {
    cJSON *json = cli_json(options, CLI_INFO);
    cJSON *gpus = cJSON_CreateArray(), *tunings = cJSON_CreateArray();
    cli_set_number(json, "threads", gsw_context_threads(context));
    cli_set_text(json, "processor", gsw_context_device(context));
    cli_set(json, "build", build_object());
    cli_set(json, "tuning", tuning_object(context, said));
    find_gpus(gpus, tunings, said);
    cli_set(json, "gpus", gpus);
    cli_set(json, "gpu_tunings", tunings);
    if (cli_json_is_whole()) {
        print_info(options, context, json, said);
        return cli_finish(options, &(cli_outputs){0}, CLI_OK, json);
    }
    cJSON_Delete(json);
    return cli_error(options, "out of memory");
}

int cmd_info(const cli_options *options) {
    heard said = {0};
    int code = cli_check_outputs(options);
    if (code != CLI_OK)
        return code;
    gsw_context *context = NULL;
    const gsw_status status = open_context(GSW_BACKEND_CPU, 0, &said, &context);
    code = status == GSW_SUCCESS ? show(options, context, &said)
                                 : cli_status(options, NULL, status, CLI_FROM_OPTION);
    gsw_context_destroy(context);
    return code;
}
