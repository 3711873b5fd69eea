/* result.c: the keys of the JSON in one table, each with the objects that hold it. */
#include "result.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define SWEEPS (CLI_SWEEP | CLI_SWEEP_SKIPPED)
#define WHOLES (CLI_WHOLE | CLI_WHOLE_SKIPPED)
#define TIMED  (CLI_SWEEP | CLI_WHOLE | CLI_HPCG | CLI_RELAX)
#define ROWS   (SWEEPS | WHOLES | CLI_HPCG | CLI_RELAX | CLI_RELAX_SKIPPED)
#define RUNS   (CLI_FACTOR | CLI_SPTRSV | CLI_SOLVE | CLI_TUNE | ROWS) /* on a backend */
#define GRIDS  (~(unsigned)(CLI_INFO | CLI_TUNE))                      /* on a grid */

typedef enum key_type { TEXT, NUMBER, COUNT, YES_NO, GRID, TIMES } key_type;

typedef struct json_key {
    const char *name;
    size_t offset; /* in cli_result */
    key_type type;
    unsigned holders;
} json_key;

#define KEY(type, name, holders)                                                                   \
    { #name, offsetof(cli_result, name), type, holders }

static const json_key keys[] = {
    KEY(TEXT, backend, RUNS),
    KEY(TEXT, device, RUNS),
    KEY(TEXT, driver, ROWS),
    KEY(TEXT, toolkit, ROWS),
    KEY(COUNT, threads, RUNS | CLI_INFO),
    KEY(GRID, grid, GRIDS),
    KEY(TEXT, stencil, GRIDS),
    KEY(TEXT, part, CLI_SPTRSV | SWEEPS),
    KEY(TEXT, kind, SWEEPS | WHOLES),
    KEY(TEXT, algorithm, CLI_SPTRSV | SWEEPS | WHOLES),
    KEY(TEXT, cache, SWEEPS),
    KEY(TEXT, dtype, CLI_SPTRSV | CLI_SOLVE | ROWS),
    KEY(TEXT, factor_dtype, CLI_FACTOR | CLI_SOLVE | ROWS),
    KEY(TEXT, method, CLI_SOLVE | WHOLES | CLI_HPCG),
    KEY(TEXT, precond, CLI_FACTOR | CLI_SOLVE | WHOLES | CLI_SWEEP | CLI_HPCG),
    KEY(COUNT, iterations, CLI_SOLVE | CLI_WHOLE | CLI_HPCG),
    KEY(YES_NO, converged, CLI_SOLVE | CLI_WHOLE),
    KEY(NUMBER, residual, CLI_SOLVE | CLI_WHOLE | CLI_HPCG),
    KEY(NUMBER, setup_ms, CLI_FACTOR | CLI_SOLVE | TIMED),
    KEY(NUMBER, factor_ms, CLI_SOLVE | CLI_WHOLE),
    KEY(NUMBER, buffer_bytes, TIMED),
    KEY(NUMBER, upload_ms, CLI_SPTRSV | CLI_SOLVE),
    KEY(NUMBER, download_ms, CLI_SPTRSV | CLI_SOLVE),
    KEY(NUMBER, solve_ms, CLI_SPTRSV | CLI_SOLVE | TIMED),
    {"time_ms", offsetof(cli_result, time), TIMES, CLI_SPTRSV | TIMED},
    KEY(NUMBER, effective_gb_s, CLI_SPTRSV | CLI_SWEEP),
    KEY(NUMBER, moved_gb_s, CLI_SWEEP | CLI_HPCG | CLI_RELAX),
    KEY(NUMBER, copy_gb_s, CLI_SWEEP | CLI_HPCG | CLI_RELAX),
    KEY(NUMBER, fraction_of_copy, CLI_SWEEP | CLI_HPCG | CLI_RELAX),
    KEY(NUMBER, max_rel_error, CLI_SPTRSV | CLI_SWEEP | CLI_HPCG | CLI_RELAX)};

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
        if (gsw_context_backend(context) == GSW_BACKEND_CPU)
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

cJSON *cli_json(const cli_options *options) {
    cJSON *object = cJSON_CreateObject();
    cli_add_number(object, "schema", CLI_JSON_SCHEMA);
    cli_add_text(object, "command", options->command->name);
    return object;
}

void cli_add_text(cJSON *object, const char *name, const char *text) {
    cJSON_AddItemToObject(object, name,
                          text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void cli_add_number(cJSON *object, const char *name, double value) {
    cJSON_AddItemToObject(object, name,
                          isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void cli_add_grid(cJSON *object, const gsw_grid *grid) {
    const double extents[3] = {(double)grid->nx, (double)grid->ny, (double)grid->nz};
    cJSON_AddItemToObject(object, "grid", cJSON_CreateDoubleArray(extents, 3));
}

static void add_times(cJSON *object, const char *name, const cli_times *times) {
    cJSON *entry = cJSON_AddObjectToObject(object, name);
    cli_add_number(entry, "median", times->median);
    cli_add_number(entry, "min", times->minimum);
    cli_add_number(entry, "max", times->maximum);
    cli_add_number(entry, "repeats", (double)times->repeats);
}

static void add_yes_no(cJSON *object, const char *name, int value) {
    cJSON_AddItemToObject(object, name, value < 0 ? cJSON_CreateNull() : cJSON_CreateBool(value));
}

static void add_key(cJSON *object, const json_key *key, const void *member) {
    const int64_t *count = member;
    switch (key->type) {
    case TEXT:
        cli_add_text(object, key->name, *(const char *const *)member);
        break;
    case NUMBER:
        cli_add_number(object, key->name, *(const double *)member);
        break;
    case COUNT:
        cli_add_number(object, key->name, *count < 0 ? NAN : (double)*count);
        break;
    case YES_NO:
        add_yes_no(object, key->name, *(const int *)member);
        break;
    case GRID:
        cli_add_grid(object, member);
        break;
    case TIMES:
        add_times(object, key->name, member);
        break;
    }
}

void cli_add_result(cJSON *object, const cli_result *result, cli_holder holder) {
    cli_add_text(object, "version", gsw_version());
    cli_add_text(object, "commit", gsw_commit());
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].holders & holder)
            add_key(object, &keys[i], (const char *)result + keys[i].offset);
}
