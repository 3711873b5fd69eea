/* boxes.h: a system on several processes. The first process has it whole; each process has the part
 * of one box of the grid. Opening, refactoring, closing and meeting are collective. */
#ifndef GSW_CLI_BOXES_H
#define GSW_CLI_BOXES_H

#include <gridsweep/distributed.h>
#include "common/options.h"

typedef struct cli_boxes {
    gsw_context *context; /* the caller's */
    gsw_transport *transport;
    gsw_partition *partition;
    gsw_distributed_matrix *matrix;
    size_t points;         /* of the own box */
    double *b, *x;         /* of the own box, in the host's memory */
    double *run_b, *run_x; /* the same where the solver works; on a CPU these are b and x */
    double wait_limit;
} cli_boxes;

/* A preconditioner: a factor or a hierarchy, or neither. */
typedef struct cli_boxes_precond {
    gsw_distributed_factor *factor;
    gsw_distributed_multigrid *multigrid;
} cli_boxes_precond;

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

/* Prints how the grid is cut, and whether exact sweeps of one of these kinds of preconditioners lay
 * it out again. */
void cli_boxes_print(const cli_options *options, const cli_boxes *boxes, const gsw_grid *grid,
                     const int *kinds, int count);

/* Copies b and x to where the solver works; and x back. */
gsw_status cli_boxes_push(const cli_boxes *boxes);
gsw_status cli_boxes_pull(const cli_boxes *boxes);

/* The preconditioner of that kind, a gsw_factor_kind or CLI_PRECOND_MG or CLI_PRECOND_NONE, as the
 * options describe it. */
gsw_status cli_boxes_precond_open(const cli_options *options, const cli_boxes *boxes, int kind,
                                  cli_boxes_precond *precond);
gsw_status cli_boxes_precond_refactor(const cli_boxes_precond *precond);
void cli_boxes_precond_close(cli_boxes_precond *precond);

/* For the Krylov methods; NULL: none. */
gsw_preconditioner *cli_boxes_precond_get(const cli_boxes_precond *precond);

/* A line about the hierarchy, if there is one. */
void cli_boxes_precond_print(const cli_options *options, const cli_boxes_precond *precond);

/* Returns in all processes once all have called it; TIMEOUT after the limit of --wait-limit. */
gsw_status cli_boxes_meet(const cli_boxes *boxes);

#endif
