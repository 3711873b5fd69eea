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

/* The watch over an attempt: it shows and records the progress, and stops a preconditioner with
 * which 30 iterations do not reduce the least residual to a tenth. */
typedef struct cli_watch {
    cli_progress progress;
    double begin_ms;          /* of the attempt, less the time of earlier ones */
    const gsw_solver *solver; /* or NULL. What it makes between its attempts does not count: */
    double setup_ms;          /* its set-up time at the beginning */
    bool watching;            /* there is something else to try */
    bool stagnates;
    double best, before; /* least residual so far, and at the last look */
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
    gsw_method method;        /* of the last attempt, or of the next one */
    cli_watch watch;          /* of the last attempt */
    cli_history history;      /* of all of them, for the JSON */
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

/* Begins to show and record it. `solver` may be NULL. */
void cli_watch_start(const cli_options *options, const gsw_solver *solver, cli_attempts *attempts);

/* One attempt from the x that is there. `multigrid`: whether the preconditioner is multigrid. */
void cli_attempt(const cli_options *options, gsw_context *context, const gsw_operator *op,
                 gsw_preconditioner *preconditioner, bool multigrid, const double *b, double *x,
                 cli_attempts *attempts);

/* Sets what is to be chosen. */
void cli_auto_start(const cli_options *options, cli_auto *automatic);

/* The line about the choice, once it is made. */
void cli_auto_print(const cli_options *options, const cli_auto *automatic);

/* What to try after an attempt. */
typedef struct cli_next {
    bool again;        /* there is something to try */
    bool factor;       /* the factor in place of multigrid */
    gsw_method method; /* that goes on */
} cli_next;

/* Looks at how the last attempt ended. */
cli_next cli_auto_next(const cli_options *options, const cli_attempts *attempts);

/* Why an attempt ended that is followed by another one. */
void cli_stopped_because(const cli_attempts *attempts, char *why, size_t size);

/* The line about what is tried next: "precond with method: why", kept for the JSON as well. */
void cli_auto_fall_back(const cli_options *options, cli_attempts *attempts, const char *precond,
                        const char *why);

/* The choice as an object; null where nothing was chosen. */
cJSON *cli_auto_json(const cli_auto *automatic);

#endif
