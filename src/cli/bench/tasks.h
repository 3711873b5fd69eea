/* tasks.h: what `gridsweep bench` can time: one task each, by gridsweep and by rivals. */
#ifndef GSW_CLI_BENCH_TASKS_H
#define GSW_CLI_BENCH_TASKS_H

#include "bench/case/case.h"

/* Triangular solves as a task: with one part of a matrix, or with L, then U of ILU(0). */
extern const bench_task bench_sweep;

/* One step of symmetric Gauss-Seidel as a task. */
extern const bench_task bench_symgs;

/* Sweeps of a stencil loop with ghost zones as a task. */
extern const bench_task bench_relax;

/* HPCG's algorithm as a task. */
extern const bench_task bench_hpcg;

/* A whole Krylov solve as a task, on one process or several. */
extern const bench_task bench_whole;

/* The rivals of triangular systems, and those of whole ones. Empty in a build without
 * GSW_BUILD_PERF, which finds no rivals. */
extern const bench_solver bench_rival_sweeps, bench_rival_solves;

#endif
