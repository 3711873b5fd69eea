/* points.h: files that say where the rows of a matrix are: --mask and --coordinates. */
#ifndef GSW_CLI_POINTS_H
#define GSW_CLI_POINTS_H

#include "npy.h"
#include "options.h"

/* A file in memory. `name` is for messages. */
typedef struct cli_input_file {
    const char *name;
    char *bytes;
    size_t size;
} cli_input_file;

/* "-" is standard input. free() the bytes. Returns an exit code, as the other functions do. */
int cli_read_text(const cli_options *options, const char *path, cli_input_file *file);

typedef struct cli_mask {
    const char *name;
    uint8_t *active; /* zeros and others */
    int64_t count, active_count;
    int axes; /* 1 to 3, */
    int64_t shape[CLI_NPY_AXES];
} cli_mask;

/* Reads --mask; free() mask->active. */
int cli_read_mask(const cli_options *options, gsw_context *context, cli_mask *mask);

/* Reads --coordinates for a matrix of so many rows, row by row; free() them. */
int cli_read_coordinates(const cli_options *options, gsw_context *context, int64_t rows, int *axes,
                         double **coordinates);

#endif
