/* result.c: see result.h. */
#include "result.h"
#include <math.h>
#include <stdlib.h>

const char *cli_dtype_name(int dtype) {
    return dtype == (int)GSW_F32 ? "f32" : "f64";
}

static bool lacked_memory;

static void *allocate(size_t size) {
    void *memory = malloc(size);
    lacked_memory = lacked_memory || memory == NULL;
    return memory;
}

void cli_json_prepare(void) {
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = allocate, .free_fn = free});
}

bool cli_json_is_whole(void) {
    return !lacked_memory;
}

cJSON *cli_json_new(cli_holder holder) {
    cJSON *object = cJSON_CreateObject();
    for (const cli_json_key *key = cli_json_keys; key->name != NULL; key++)
        if (key->holders & holder)
            cJSON_AddNullToObject(object, key->name);
    if (cJSON_HasObjectItem(object, "schema"))
        cli_set_number(object, "schema", CLI_JSON_SCHEMA);
    if (cJSON_HasObjectItem(object, "version")) {
        cli_set_text(object, "version", gsw_version());
        cli_set_text(object, "commit", gsw_commit());
    }
    return object;
}

cJSON *cli_json(const cli_options *options, cli_holder holder) {
    cJSON *object = cli_json_new(holder);
    cli_set_text(object, "command", options->command->name);
    return object;
}

void cli_set(cJSON *object, const char *key, cJSON *value) {
    cJSON *place = cJSON_GetObjectItemCaseSensitive(object, key);
    if (place == NULL && !lacked_memory)
        abort();
    if (place == NULL || !cJSON_ReplaceItemInObjectCaseSensitive(object, key, value))
        cJSON_Delete(value);
}

void cli_set_text(cJSON *object, const char *key, const char *text) {
    cli_set(object, key, text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void cli_set_number(cJSON *object, const char *key, double value) {
    cli_set(object, key, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void cli_set_bool(cJSON *object, const char *key, bool value) {
    cli_set(object, key, cJSON_CreateBool(value));
}

void cli_set_triple(cJSON *object, const char *key, int64_t x, int64_t y, int64_t z) {
    cli_set(object, key, cJSON_CreateDoubleArray((double[]){(double)x, (double)y, (double)z}, 3));
}

void cli_set_context(cJSON *object, const gsw_context *context) {
    const gsw_backend backend = gsw_context_backend(context);
    cli_set_text(object, "backend", gsw_backend_name(backend));
    cli_set_text(object, "device", gsw_context_device(context));
    if (backend != GSW_BACKEND_CUDA)
        cli_set_number(object, "threads", gsw_context_threads(context));
}

const char *cli_axes_text(const gsw_grid *grid, char text[CLI_AXES_TEXT]) {
    int length = 0;
    for (int axis = 0; axis < 3; axis++)
        if (grid->periodic >> axis & 1)
            text[length++] = (char)('x' + axis);
    text[length] = '\0';
    return text;
}

void cli_set_matrix(cJSON *object, const gsw_matrix *matrix) {
    char axes[CLI_AXES_TEXT];
    gsw_stencil near;
    gsw_matrix_near_stencil(matrix, &near);
    cli_set_triple(object, "grid", matrix->grid.nx, matrix->grid.ny, matrix->grid.nz);
    cli_set_text(object, "periodic", cli_axes_text(&matrix->grid, axes));
    cli_set_text(object, "stencil", gsw_stencil_name(&near));
}

void cli_set_times(cJSON *object, const cli_times *times) {
    cJSON *ms = cli_json_new(CLI_TIME_MS);
    cli_set_number(ms, "median", times->median);
    cli_set_number(ms, "min", times->minimum);
    cli_set_number(ms, "max", times->maximum);
    cli_set_number(ms, "repeats", (double)times->repeats);
    cli_set(object, "time_ms", ms);
}
