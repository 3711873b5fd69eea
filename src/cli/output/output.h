/* output.h: text for people, JSON, and files that are replaced whole. */
#ifndef GSW_CLI_OUTPUT_H
#define GSW_CLI_OUTPUT_H

#include <stdio.h>
#include <cjson/cJSON.h>
#include "common/input.h"
#include "common/options.h"
#include "common/paths.h"
#include "common/place.h"
#include "common/signals.h"

/* Text for people: stdout, or stderr where data goes to stdout. NULL with --quiet. */
FILE *cli_human(const cli_options *options);
void cli_print(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "name   text" with the names in one column. */
void cli_field(const cli_options *options, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Words, in lines of at most `width` columns where they allow it; the first one begins at `column`,
 * the others after `indent` spaces. Prints nothing where the stream is NULL. */
void cli_print_wrapped(FILE *stream, const char *text, int width, int column, int indent);

/* The lines about the matrix, about the backend, and about copies to and from a device. */
void cli_print_matrix(const cli_options *options, const cli_input *input);
void cli_print_backend(const cli_options *options, const cli_place *place);
void cli_print_transfer(const cli_options *options, const cli_arrays *arrays);

/* The line about pivots, if there are shifted ones. `factor` may be NULL. */
void cli_print_pivots(const cli_options *options, const gsw_factor *factor);

/* Files that are replaced all together or not at all: stage each, then finish. "-" and /dev/stdout
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

/* What is to be written: the one of json, mask, values and csr that is not NULL. The last two come
 * with a comment, and the context writes them. The mask is that of a matrix, in a file of NumPy. */
typedef struct cli_content {
    const cJSON *json;
    const gsw_matrix *mask;
    const double *values;
    int64_t count;
    const gsw_csr *csr;
    const char *comment;
    gsw_context *context;
} cli_content;

int cli_stage(const cli_options *options, cli_outputs *outputs, const char *path,
              const cli_content *what);

/* `code` is how the stages before ended. If it is CLI_OK, stages the JSON where --json is given,
 * and replaces all files; else removes what was staged. Deletes the JSON either way. */
int cli_finish(const cli_options *options, cli_outputs *outputs, int code, cJSON *json);

/* For JSON that grows and stays: --json's file is replaced whole each time; standard output and
 * devices get everything with the last. Returns an exit code. */
int cli_write_growing(const cli_options *options, const cJSON *json, bool last);

#endif
