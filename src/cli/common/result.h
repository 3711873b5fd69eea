/* result.h: what the JSON of a command holds. gridsweep.schema.json describes it. */
#ifndef GSW_CLI_RESULT_H
#define GSW_CLI_RESULT_H

#include <cjson/cJSON.h>
#include <gridsweep/gridsweep.h>
#include "measure.h"
#include "options.h"

/* Version of what the JSON holds. It changes where a key goes away or changes its meaning; new keys
 * may come without. */
#define CLI_JSON_SCHEMA 1

/* The objects that hold results. A row of `gridsweep bench` is one of the last seven. */
typedef enum cli_holder {
    CLI_INFO = 1 << 0,
    CLI_DETECT = 1 << 1,
    CLI_GENERATE = 1 << 2,
    CLI_FACTOR = 1 << 3,
    CLI_SPTRSV = 1 << 4,
    CLI_SOLVE = 1 << 5,
    CLI_TUNE = 1 << 6,
    CLI_SWEEP = 1 << 7,
    CLI_SWEEP_SKIPPED = 1 << 8,
    CLI_WHOLE = 1 << 9,
    CLI_WHOLE_SKIPPED = 1 << 10,
    CLI_HPCG = 1 << 11,
    CLI_RELAX = 1 << 12,
    CLI_RELAX_SKIPPED = 1 << 13
} cli_holder;

/* "f64" or "f32", of a gsw_dtype. */
const char *cli_dtype_name(int dtype);

/* A result. Texts that are NULL and numbers that are NaN or negative become null. */
typedef struct cli_result {
    const char *backend, *device;
    int64_t threads; /* -1: null */
    gsw_grid grid;
    const char *stencil, *part, *algorithm, *dtype, *factor_dtype, *method, *precond;
    const char *kind, *cache, *driver, *toolkit;
    int64_t iterations; /* -1: null */
    int converged;      /* -1: null */
    double residual, setup_ms, factor_ms, buffer_bytes, upload_ms, download_ms, solve_ms;
    cli_times time;
    double effective_gb_s, moved_gb_s, copy_gb_s, fraction_of_copy, max_rel_error;
} cli_result;

/* A result in which everything is null except what the context and the matrix say (either may be
 * NULL). */
cli_result cli_result_init(const gsw_context *context, const gsw_matrix *matrix);

/* For the start of the program: from then on cli_json_is_whole() knows of every lack of memory. */
void cli_json_prepare(void);

/* Whether there was memory for everything that JSON shall hold. cJSON leaves out what it has no
 * memory for. */
bool cli_json_is_whole(void);

/* The object of a command, with the schema's version and the command's name. */
cJSON *cli_json(const cli_options *options);

/* Adds the keys of that holder. */
void cli_add_result(cJSON *object, const cli_result *result, cli_holder holder);

/* Adds a member: null for a text that is NULL, and for a number that is not finite. */
void cli_add_text(cJSON *object, const char *name, const char *text);
void cli_add_number(cJSON *object, const char *name, double value);
void cli_add_grid(cJSON *object, const gsw_grid *grid);

#endif
