/* boxes.h: a system where the solver works: on several processes the part of one box of the grid in
 * each, else the whole. The first process has it whole. Opening, closing, moving and meeting are
 * collective. */
#ifndef GSW_CLI_BOXES_H
#define GSW_CLI_BOXES_H

#include <gridsweep/partition.h>
#include "common/place.h"

typedef struct cli_boxes {
    const cli_place *place;   /* the caller's; NULL: not opened */
    gsw_transport *transport; /* NULL, as the next members, for a single process */
    gsw_partition *partition;
    size_t points;     /* of the own box */
    double *b, *x;     /* of the own box, in the host's memory */
    cli_arrays arrays; /* where the solver works; on a CPU with the caller's vectors or these */
    double wait_limit;
} cli_boxes;

/* Refuses options that are for a single process, on several. Returns an exit code. */
int cli_boxes_refuse(const cli_options *options);

/* Refuses --boxes that do not fit the number of processes. Returns an exit code. */
int cli_boxes_check(const cli_options *options);

/* Brings the matrix, b and x (each of `bytes`), which only the first process needs to have, to
 * where the solver works; several processes cut the grid as the options say. `whole` of the others
 * gets grid and stencil. Returns an exit code; either way free with cli_boxes_close(). */
int cli_boxes_open(const cli_options *options, const cli_place *place, gsw_matrix *whole, double *b,
                   double *x, size_t bytes, cli_boxes *boxes);
void cli_boxes_close(cli_boxes *boxes);

/* Brings x from where several processes work to `all_x` of the first process. */
gsw_status cli_boxes_collect(const cli_boxes *boxes, double *all_x);

/* Prints how the grid is cut, and whether exact sweeps of one of these kinds of preconditioners lay
 * it out again. */
void cli_boxes_print(const cli_options *options, const cli_boxes *boxes, const gsw_grid *grid,
                     const int *kinds, int count);

/* Returns in all processes once all have called it, TIMEOUT after the limit of --wait-limit; at
 * once where there is one process. */
gsw_status cli_boxes_meet(const cli_boxes *boxes);

#endif
