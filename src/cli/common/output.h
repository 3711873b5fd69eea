/* output.h: text for people, JSON, and files that are replaced whole. */
#ifndef GSW_CLI_OUTPUT_H
#define GSW_CLI_OUTPUT_H

#include <stdio.h>
#include <cjson/cJSON.h>
#include "input.h"
#include "options.h"
#include "paths.h"
#include "place.h"
#include "signals.h"

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
    bool kept; /* the old file has the name `backup` as well */
    bool renamed;
    bool stuck; /* the old file could not be put back: it stays under its second name */
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

/* The same for an object that grows: the file is replaced whole each time, standard output and
 * devices get everything with the last. */
int cli_write_growing(const cli_options *options, const cJSON *json, bool last);

#endif
