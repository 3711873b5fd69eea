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
    gsw_matrix matrix;     /* of the own box */
    size_t points;         /* of the own box */
    double *b, *x;         /* of the own box, in the host's memory */
    double *run_b, *run_x; /* the same where the solver works; on a CPU these are b and x */
    double wait_limit;
} cli_boxes;

/* Refuses options that are for a single process, on several. Returns an exit code. */
int cli_boxes_refuse(const cli_options *options);

/* Refuses --boxes that do not fit the number of processes. Returns an exit code. */
int cli_boxes_check(const cli_options *options);

/* Cuts the grid as the options say, and brings each process its part of the matrix, which only the
 * first process needs to have. The vectors hold nothing yet. Returns an exit code; either way free
 * with cli_boxes_close(). */
int cli_boxes_open(const cli_options *options, gsw_context *context, const gsw_grid *grid,
                   const gsw_matrix *whole, cli_boxes *boxes);
void cli_boxes_close(cli_boxes *boxes);

/* Brings each process its part of b and x, which the first process has whole, to where the solver
 * works; and x back to `all`. */
gsw_status cli_boxes_distribute(const cli_boxes *boxes, const double *all_b, const double *all_x);
gsw_status cli_boxes_collect(const cli_boxes *boxes, double *all_x);

/* The own part where the solver works, which cli_boxes_close() frees. */
cli_arrays cli_boxes_arrays(const cli_boxes *boxes);

/* Prints how the grid is cut, and whether exact sweeps of one of these kinds of preconditioners lay
 * it out again. */
void cli_boxes_print(const cli_options *options, const cli_boxes *boxes, const gsw_grid *grid,
                     const int *kinds, int count);

/* Returns in all processes once all have called it, TIMEOUT after the limit of --wait-limit; at
 * once where there is one process. */
gsw_status cli_boxes_meet(const cli_boxes *boxes);

#endif
