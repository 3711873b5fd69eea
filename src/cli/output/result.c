/* result.c: see result.h. */
#include "result.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* The members of a result by the names of their keys. */
typedef struct member {
    const char *key;
    size_t offset;
} member;

#define MEMBER(name)                                                                               \
    { #name, offsetof(cli_result, name) }

static const member texts[] = {
    MEMBER(backend),      MEMBER(device), MEMBER(driver),    MEMBER(toolkit), MEMBER(stencil),
    MEMBER(part),         MEMBER(kind),   MEMBER(algorithm), MEMBER(cache),   MEMBER(dtype),
    MEMBER(factor_dtype), MEMBER(method), MEMBER(precond),
};
static const member numbers[] = {
    MEMBER(residual),   MEMBER(setup_ms),    MEMBER(factor_ms),        MEMBER(buffer_bytes),
    MEMBER(upload_ms),  MEMBER(download_ms), MEMBER(solve_ms),         MEMBER(effective_gb_s),
    MEMBER(moved_gb_s), MEMBER(copy_gb_s),   MEMBER(fraction_of_copy), MEMBER(max_rel_error),
};

const char *cli_dtype_name(int dtype) {
    return dtype == (int)GSW_F32 ? "f32" : "f64";
}

cli_result cli_result_init(const gsw_context *context, const gsw_matrix *matrix) {
    cli_result result = {.threads = -1,
                         .iterations = -1,
                         .converged = -1,
                         .residual = NAN,
                         .setup_ms = NAN,
                         .factor_ms = NAN,
                         .buffer_bytes = NAN,
                         .upload_ms = NAN,
                         .download_ms = NAN,
                         .solve_ms = NAN,
                         .effective_gb_s = NAN,
                         .moved_gb_s = NAN,
                         .copy_gb_s = NAN,
                         .fraction_of_copy = NAN,
                         .max_rel_error = NAN};
    if (context != NULL) {
        result.backend = gsw_backend_name(gsw_context_backend(context));
        result.device = gsw_context_device(context);
        if (gsw_context_backend(context) != GSW_BACKEND_CUDA)
            result.threads = gsw_context_threads(context);
    }
    if (matrix != NULL) {
        result.grid = matrix->grid;
        result.stencil = gsw_stencil_name(&matrix->stencil);
    }
    return result;
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

static cJSON *times_object(const cli_times *times) {
    cJSON *object = cli_json_new(CLI_TIME_MS);
    cli_set_number(object, "median", times->median);
    cli_set_number(object, "min", times->minimum);
    cli_set_number(object, "max", times->maximum);
    cli_set_number(object, "repeats", (double)times->repeats);
    return object;
}

void cli_set_result(cJSON *object, const cli_result *result) {
    const char *base = (const char *)result;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (cJSON_HasObjectItem(object, texts[i].key))
            cli_set_text(object, texts[i].key,
                         *(const char *const *)(const void *)(base + texts[i].offset));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (cJSON_HasObjectItem(object, numbers[i].key))
            cli_set_number(object, numbers[i].key,
                           *(const double *)(const void *)(base + numbers[i].offset));
    if (cJSON_HasObjectItem(object, "threads") && result->threads >= 0)
        cli_set_number(object, "threads", (double)result->threads);
    if (cJSON_HasObjectItem(object, "iterations") && result->iterations >= 0)
        cli_set_number(object, "iterations", (double)result->iterations);
    if (cJSON_HasObjectItem(object, "converged") && result->converged >= 0)
        cli_set_bool(object, "converged", result->converged != 0);
    if (cJSON_HasObjectItem(object, "grid"))
        cli_set_triple(object, "grid", result->grid.nx, result->grid.ny, result->grid.nz);
    if (cJSON_HasObjectItem(object, "time_ms"))
        cli_set(object, "time_ms", times_object(&result->time));
}
