/* whole.h: a whole Krylov solve as a task, on one process. */
#ifndef GSW_CLI_BENCH_WHOLE_H
#define GSW_CLI_BENCH_WHOLE_H

#include "case.h"

#define BENCH_WHOLE_REPEATS 5

extern const bench_task bench_whole;

/* The system on the host: as arrays of the stencil and as a CSR, with b and x = 0. Returns an exit
 * code. */
int bench_whole_load(const cli_options *options, gsw_context *host, bench_case *made);

/* The names of --precond, separated by commas. */
void bench_whole_preconds(const bench_plan *plan, char *text, size_t size);

/* Computes the residual of x on the host, and judges it. */
void bench_whole_judge(bench_worker *worker);

#endif
