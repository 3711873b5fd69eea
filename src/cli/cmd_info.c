/* cmd_info.c: `gridsweep info`: version, build options, and what there is to run on. */
#include <stdio.h>
#include <string.h>
#include "cmd_info.h"
#include "common/output.h"
#include "common/result.h"

#define REASON_SIZE 200

/* A gsw_log_fn that keeps the text. */
static void keep_reason(void *user, gsw_status status, const char *message) {
    (void)status;
    (void)snprintf(user, REASON_SIZE, "%s", message);
}

/* Lists the GPUs in `gpus`, or says why there are none in `reason`. */
static void find_gpus(cJSON *gpus, char *reason) {
    char name[160];
    int count = gsw_device_count();
    for (int device = 0; device < count; device++)
        if (gsw_device_name(device, name, sizeof name) == GSW_SUCCESS)
            cJSON_AddItemToArray(gpus, cJSON_CreateString(name));
    if (count > 0)
        return;
    gsw_context_options wanted = {
        .size = sizeof wanted, .backend = GSW_BACKEND_CUDA, .log = keep_reason, .log_user = reason};
    gsw_context *context = NULL;
    gsw_status status = gsw_context_create(&wanted, &context);
    if (status != GSW_SUCCESS && reason[0] == '\0')
        (void)snprintf(reason, REASON_SIZE, "%s", gsw_status_text(status));
    gsw_context_destroy(context);
}

/* The lines "key: value" of gsw_build_info(), as an object. */
static cJSON *build_object(void) {
    cJSON *object = cJSON_CreateObject();
    char key[64], value[256];
    for (const char *line = gsw_build_info(); *line != '\0';) {
        if (sscanf(line, "%63[^:\n]: %255[^\n]", key, value) == 2)
            cJSON_AddItemToObject(object, key, cJSON_CreateString(value));
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return object;
}

/* JSON's keys hold no spaces: "build type" becomes "build_type". */
static void join_keys(cJSON *object) {
    cJSON *entry;
    cJSON_ArrayForEach(entry, object) {
        for (char *at = entry->string; (at = strchr(at, ' ')) != NULL;)
            *at = '_';
    }
}

static void print_field(const cli_options *options, const char *name, const char *value) {
    cli_print(options, "%-17s %s\n", name, value);
}

static void print_info(const cli_options *options, const gsw_context *context, const cJSON *build,
                       const cJSON *gpus, const char *reason) {
    print_field(options, "version", gsw_version());
    print_field(options, "commit", gsw_commit());
    const cJSON *entry;
    cJSON_ArrayForEach(entry, build) {
        print_field(options, entry->string, entry->valuestring);
    }
    print_field(options, "processor", gsw_context_device(context));
    cli_print(options, "%-17s %d\n", "threads", gsw_context_threads(context));
    if (cJSON_GetArraySize(gpus) == 0)
        cli_print(options, "%-17s none (%s)\n", "GPUs", reason);
    int number = 0;
    cJSON_ArrayForEach(entry, gpus) {
        cli_print(options, "GPU %-13d %s\n", number++, entry->valuestring);
    }
}

int cmd_info(const cli_options *options) {
    gsw_context *context = NULL;
    cJSON *gpus = cJSON_CreateArray(), *build = build_object(), *json = NULL;
    char reason[REASON_SIZE] = "";
    gsw_context_options cpu = {.size = sizeof cpu, .backend = GSW_BACKEND_CPU};
    int code = cli_check_outputs(options);
    if (code != CLI_OK)
        goto cleanup;
    gsw_status status = gsw_context_create(&cpu, &context);
    if (status != GSW_SUCCESS) {
        code = cli_status(options, NULL, status, CLI_FROM_OPTION);
        goto cleanup;
    }
    find_gpus(gpus, reason);
    if (!cli_json_is_whole()) {
        cli_error(options, "out of memory");
        code = CLI_INPUT;
        goto cleanup;
    }
    print_info(options, context, build, gpus, reason);
    if (options->json != NULL) {
        const cli_result result = cli_result_init(context, NULL);
        json = cli_json(options);
        cli_add_result(json, &result, CLI_INFO);
        cli_add_text(json, "processor", result.device);
        join_keys(build);
        cJSON_AddItemToObject(json, "build", build);
        cJSON_AddItemToObject(json, "gpus", gpus);
        build = gpus = NULL;
        code = cli_write_json(options, json);
    }
cleanup:
    gsw_context_destroy(context);
    cJSON_Delete(json);
    cJSON_Delete(build);
    cJSON_Delete(gpus);
    return code;
}
