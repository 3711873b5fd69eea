/* solve_auto.h: --precond auto and --method auto of `gridsweep solve`: what is chosen, when another
 * attempt follows, and what is said of both. */
#ifndef GSW_CLI_SOLVE_AUTO_H
#define GSW_CLI_SOLVE_AUTO_H

#include <cjson/cJSON.h>
#include <gridsweep/choice.h>
#include "common/history.h"
#include "common/options.h"
#include "common/progress.h"

/* What the options ask for, `auto` by default: CLI_PRECOND_AUTO or another choice of --precond;
 * CLI_METHOD_AUTO or a gsw_method; and the name of the latter. */
int cli_solve_precond(const cli_options *options);
int cli_solve_method(const cli_options *options);
const char *cli_solve_method_name(const cli_options *options);

/* Refuses options of multigrid without it, and with it those of factors. */
int cli_check_multigrid(const cli_options *options);

/* A monitor that shows and records the progress, and that stops a preconditioner with which 30
 * iterations do not reduce the least residual to a tenth. */
typedef struct cli_watch {
    cli_progress progress;
    cli_history *history;
    int64_t iterations_before; /* of earlier attempts */
    double begin_ms;           /* of the attempt, less the time of earlier ones */
    bool watching;             /* there is something else to try */
    bool stagnates;
    double best, before; /* least residual so far, and at the last look */
} cli_watch;

/* A gsw_monitor_fn; `user` is the cli_watch. */
int cli_watch_monitor(void *user, int64_t iteration, double residual);

/* What was chosen, and what came of it. */
typedef struct cli_auto {
    bool precond, method; /* which of the two were chosen */
    gsw_choice choice;
    const char *first_precond; /* the choices' names, NULL for what was given */
    const char *first_method;
    char fallback[512]; /* what was tried after them and why; "" where nothing was */
} cli_auto;

/* Sets what is to be chosen. */
void cli_auto_start(const cli_options *options, cli_auto *automatic);

/* The line about the choice, once it is made. */
void cli_auto_print(const cli_options *options, const cli_auto *automatic);

/* Whether there is something else to try where multigrid stagnates. */
bool cli_auto_watches(const cli_options *options, const cli_auto *automatic);

/* What to try after a method has ended. */
typedef struct cli_next {
    bool again;        /* there is something to try */
    bool factor;       /* the factor in place of multigrid */
    gsw_method method; /* that goes on */
} cli_next;

/* Looks at how an attempt with `method`, with multigrid or not, ended. */
cli_next cli_auto_next(const cli_options *options, const cli_auto *automatic, gsw_method method,
                       bool multigrid, gsw_status status, const cli_watch *watch);

/* Why an attempt ended that is followed by another one. */
void cli_stopped_because(const cli_watch *watch, gsw_method method, const gsw_krylov_result *result,
                         const char *message, char *why, size_t size);

/* The line about it: "precond with method: why", kept for the JSON as well. */
void cli_auto_fall_back(const cli_options *options, cli_auto *automatic, const char *precond,
                        gsw_method method, const char *why);

/* The choice as an object; null where nothing was chosen. */
cJSON *cli_auto_json(const cli_auto *automatic);

#endif
