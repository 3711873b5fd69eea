/* solve.h: everything that `gridsweep solve` owns, and what it says of it. */
#ifndef GSW_CLI_SOLVE_H
#define GSW_CLI_SOLVE_H

#include <gridsweep/solve.h>
#include "common/input.h"
#include "output/boxes.h"
#include "output/progress.h"

typedef char cli_device_name[160];

/* The options name `auto` where they name no preconditioner or no method. */
typedef struct cli_solve {
    cli_place place;
    cli_input input; /* with b and x: the first process's */
    double *b, *x;
    cli_boxes boxes; /* where the solver works */
    gsw_multigrid_options hierarchy;
    gsw_factor_options factor;
    gsw_solver *solver;
    gsw_choice choice;
    gsw_solver_report report; /* of the choice, then of the solve */
    gsw_status status;        /* of the solve */
    cli_progress progress;
    cli_history history;        /* for the JSON */
    double begin_ms, before_ms; /* when the solve began, and the solver's set-up time till then */
    double setup_ms;            /* to read or make the system */
    cli_device_name *devices;   /* of all processes; the first one's */
} cli_solve;

/* Whether the method itself ended, with or without success, so that there is a result to report. */
bool cli_solve_ended(const cli_solve *job);

/* The lines about the choice and the preconditioner. */
void cli_solve_print_choice(const cli_options *options, const cli_solve *job);
void cli_solve_print_method(const cli_options *options, const cli_solve *job);

/* The lines at the end. */
void cli_solve_print(const cli_options *options, const cli_solve *job);

/* Writes the JSON and, where the solve has one, the solution. Returns an exit code. */
int cli_solve_write(const cli_options *options, const cli_solve *job, bool solved);

#endif
