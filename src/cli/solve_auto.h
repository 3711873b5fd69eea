/* solve_auto.h: the attempts of `gridsweep solve`. With --precond auto and --method auto: what is
 * chosen, when another attempt follows, and what is said of both. */
#ifndef GSW_CLI_SOLVE_AUTO_H
#define GSW_CLI_SOLVE_AUTO_H

#include <cjson/cJSON.h>
#include <gridsweep/solve.h>
#include "output/history.h"
#include "common/input.h"
#include "common/options.h"
#include "output/progress.h"

/* What the options ask for, `auto` by default: CLI_PRECOND_AUTO or another choice of --precond;
 * CLI_METHOD_AUTO or a gsw_method; and the name of the latter. */
int cli_solve_precond(const cli_options *options);
int cli_solve_method(const cli_options *options);
const char *cli_solve_method_name(const cli_options *options);

/* The library's names for them. */
gsw_precond cli_solver_precond(int precond);
gsw_method cli_method_named(const char *name);

/* Refuses options of multigrid without it, and with it those of factors. */
int cli_check_multigrid(const cli_options *options);

/* Shows and records the progress of a solve. */
typedef struct cli_watch {
    cli_progress progress;
    double begin_ms;
    const gsw_solver *solver; /* what it makes between its attempts does not count: */
    double setup_ms;          /* its set-up time at the beginning */
} cli_watch;

/* What was chosen, and what came of it. */
typedef struct cli_auto {
    bool precond, method; /* which of the two were chosen */
    gsw_choice choice;
    const char *first_precond; /* the choices' names, NULL for what was given */
    const char *first_method;
    char fallback[512]; /* what was tried after them and why; "" where nothing was */
} cli_auto;

/* What was tried. */
typedef struct cli_attempts {
    cli_auto automatic;
    gsw_method method; /* of the last attempt */
    cli_watch watch;
    cli_history history;      /* for the JSON */
    gsw_krylov_result result; /* of the last; iterations, eisenstat and solve_ms: of all */
    gsw_status status;        /* of the last */
    char message[512];        /* why it is not GSW_SUCCESS; else "" */
} cli_attempts;

/* Reads or makes the matrix, the right-hand side and the first guess, and with --json opens the
 * history. Returns an exit code. */
int cli_load_system(const cli_options *options, gsw_context *host, cli_input *input, double **b,
                    double **x, cli_attempts *attempts);

/* The options of a Krylov method. Its monitor shows and records the progress in *attempts. */
gsw_krylov_options cli_krylov_options(const cli_options *options, cli_attempts *attempts);

/* Begins to show and record it. */
void cli_watch_start(const cli_options *options, const gsw_solver *solver, cli_attempts *attempts);

/* Sets what is to be chosen. */
void cli_auto_start(const cli_options *options, cli_auto *automatic);

/* The line about the choice, once it is made. */
void cli_auto_print(const cli_options *options, const cli_auto *automatic);

/* The choice as an object; null where nothing was chosen. */
cJSON *cli_auto_json(const cli_auto *automatic);

#endif
