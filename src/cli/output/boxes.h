/* boxes.h: a system on several processes. The first process has it whole; each process has the part
 * of one box of the grid. Opening, closing, moving and meeting are collective. */
#ifndef GSW_CLI_BOXES_H
#define GSW_CLI_BOXES_H

#include <gridsweep/partition.h>
#include "common/place.h"

typedef struct cli_boxes {
    gsw_context *context; /* the caller's */
    gsw_transport *transport;
    gsw_partition *partition;
    size_t points;     /* of the own box */
    double *b, *x;     /* of the own box, in the host's memory */
    cli_arrays arrays; /* the own box where the solver works; on a CPU with these b and x */
    double wait_limit;
} cli_boxes;

/* Refuses options that are for a single process, on several. Returns an exit code. */
int cli_boxes_refuse(const cli_options *options);

/* Refuses --boxes that do not fit the number of processes. Returns an exit code. */
int cli_boxes_check(const cli_options *options);

/* Cuts the grid as the options say, and brings each process its part of the matrix, b and x, which
 * only the first process needs to have. Returns an exit code; either way free with
 * cli_boxes_close(). */
int cli_boxes_open(const cli_options *options, gsw_context *context, const gsw_grid *grid,
                   const gsw_matrix *whole, const double *all_b, const double *all_x,
                   cli_boxes *boxes);
void cli_boxes_close(cli_boxes *boxes);

/* Brings x from where the solver works to `all_x` of the first process. */
gsw_status cli_boxes_collect(const cli_boxes *boxes, double *all_x);

/* Prints how the grid is cut, and whether exact sweeps of one of these kinds of preconditioners lay
 * it out again. */
void cli_boxes_print(const cli_options *options, const cli_boxes *boxes, const gsw_grid *grid,
                     const int *kinds, int count);

/* Returns in all processes once all have called it, TIMEOUT after the limit of --wait-limit; at
 * once where there is one process. */
gsw_status cli_boxes_meet(const cli_boxes *boxes);

#endif
