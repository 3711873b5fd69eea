/* tasks.h: what `gridsweep bench` can time: one task each. */
#ifndef GSW_CLI_BENCH_TASKS_H
#define GSW_CLI_BENCH_TASKS_H

#include "bench/case/case.h"

/* Triangular solves as tasks: with one part of a matrix, and with L, then U of ILU(0). */
extern const bench_task bench_sweep, bench_apply;

/* One step of symmetric Gauss-Seidel as a task. */
extern const bench_task bench_symgs;

/* Sweeps of a stencil loop with ghost zones as a task. */
extern const bench_task bench_relax;

/* HPCG's algorithm as a task. */
extern const bench_task bench_hpcg;

/* A whole Krylov solve as a task, on one process. */
#define BENCH_WHOLE_REPEATS 5

extern const bench_task bench_whole;

/* The system on the host: as arrays of the stencil and as a CSR, with b and x = 0. Returns an exit
 * code. */
int bench_whole_load(const cli_options *options, gsw_context *host, bench_case *made);

/* The names of --precond, separated by commas. */
void bench_whole_preconds(const bench_plan *plan, char *text, size_t size);

/* Computes the residual of x on the host, and judges it. */
void bench_whole_judge(bench_worker *worker);

/* The steps of such a task, on one process or several. */
gsw_status bench_whole_open(bench_worker *worker);
gsw_status bench_whole_factor(bench_worker *worker);
void bench_whole_forget(bench_worker *worker);
gsw_status bench_whole_solve(bench_worker *worker);
void bench_whole_finish(bench_worker *worker);

/* A whole Krylov solve as a task, on several processes. */
extern const bench_task bench_whole_distributed;

#endif
