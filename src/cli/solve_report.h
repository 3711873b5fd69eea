/* solve_report.h: what `gridsweep solve` says and writes at its end. */
#ifndef GSW_CLI_SOLVE_REPORT_H
#define GSW_CLI_SOLVE_REPORT_H

#include <gridsweep/partition.h>
#include "common/input.h"
#include "solve_auto.h"

/* A solve that has ended. */
typedef struct cli_solved {
    gsw_context *context, *host; /* that ran it, and that writes files */
    const cli_input *input;
    const cli_attempts *attempts;
    const gsw_multigrid *levels;        /* NULL: the preconditioner is not multigrid */
    const char *precond, *factor_dtype; /* factor_dtype NULL: no preconditioner */
    double setup_ms, factor_ms, upload_ms, download_ms;
    const double *x;   /* NULL: no solution */
    const char *scope; /* NULL: not given */
    int32_t boxes[3];
    const char *const *devices; /* of each process; NULL: only that of `context` */
} cli_solved;

/* Whether the method itself ended, with or without success, so that there is a result to report. */
bool cli_method_ended(gsw_status status);

/* Says how the last attempt ended, where it did not end well. Returns an exit code. */
int cli_solve_conclude(const cli_options *options, const gsw_context *context,
                       const cli_attempts *attempts);

/* The lines at the end. */
void cli_solve_report(const cli_options *options, const cli_solved *solved);

/* The JSON, and the solution where there is one. Returns an exit code. */
int cli_solve_write(const cli_options *options, const cli_solved *solved);

#endif
