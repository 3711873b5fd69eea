/* output.h: text for people, results as JSON, and files that are replaced whole. */
#ifndef GSW_CLI_OUTPUT_H
#define GSW_CLI_OUTPUT_H

#include <stdio.h>
#include <cjson/cJSON.h>
#include "input.h"
#include "measure.h"
#include "options.h"
#include "paths.h"
#include "place.h"
#include "signals.h"

/* Version of what the JSON holds. It changes where a key goes away or changes its meaning; new keys
 * may come without. */
#define CLI_JSON_SCHEMA 1

/* What a JSON object holds. Texts that are NULL, numbers that are NaN or negative where that has
 * no meaning become null. */
typedef struct cli_result {
    const char *command, *backend, *device;
    int threads;
    gsw_grid grid; /* nx 0: null */
    const char *stencil, *part, *algorithm, *dtype, *factor_dtype, *method, *precond;
    const char *kind, *cache, *driver, *toolkit;
    int64_t iterations; /* -1: null */
    int converged;      /* -1: null */
    double residual, setup_ms, factor_ms, buffer_bytes, upload_ms, download_ms, solve_ms;
    cli_times time;
    double effective_gb_s, moved_gb_s, copy_gb_s, fraction_of_copy, max_rel_error;
} cli_result;

/* A result in which everything is null except the command and what the context and the matrix
 * say (either may be NULL). */
cli_result cli_result_init(const cli_options *options, const gsw_context *context,
                           const gsw_matrix *matrix);
cJSON *cli_result_json(const cli_result *result);

/* Adds a member: null for a text that is NULL, and for a number that is not finite. */
void cli_add_text(cJSON *object, const char *name, const char *text);
void cli_add_number(cJSON *object, const char *name, double value);

/* Text for people: stdout, or stderr where data goes to stdout. NULL with --quiet. */
FILE *cli_human(const cli_options *options);
void cli_print(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "name   text" with the names in one column. */
void cli_field(const cli_options *options, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The lines about the matrix, about the backend, and about copies to and from a device. */
void cli_print_matrix(const cli_options *options, const cli_input *input);
void cli_print_backend(const cli_options *options, const cli_place *place);
void cli_print_transfer(const cli_options *options, const cli_arrays *arrays);

/* Files that are replaced all together or not at all: stage each, then commit. "-" and /dev/stdout
 * are standard output, and devices are written in place, both when staged. Symbolic links are
 * followed, also to a file that does not exist yet. All return exit codes. */
typedef struct cli_file {
    const char *path; /* as the user gave it, for messages */
    char *target;     /* links followed */
    char *temporary, *backup;
    bool renamed;
} cli_file;

typedef struct cli_outputs {
    cli_file files[CLI_TEMPORARY_MAX];
    int count;
} cli_outputs;

int cli_stage_json(const cli_options *options, cli_outputs *outputs, const char *path,
                   const cJSON *json);
int cli_stage_vector(const cli_options *options, gsw_context *context, cli_outputs *outputs,
                     const char *path, const double *values, int64_t count, const char *comment);
int cli_stage_matrix(const cli_options *options, gsw_context *context, cli_outputs *outputs,
                     const char *path, const gsw_csr *csr, const char *comment);
int cli_commit(const cli_options *options, cli_outputs *outputs);

/* Removes what was staged and not committed. */
void cli_discard(cli_outputs *outputs);

/* All of this for one file: writes the JSON to where --json says. Returns an exit code. */
int cli_write_json(const cli_options *options, const cJSON *json);

/* The same for lists that grow: the file is replaced whole each time, standard output and devices
 * get everything with the last. `skipped` may be NULL. */
int cli_write_results(const cli_options *options, cJSON *results, cJSON *skipped, bool last);

#endif
