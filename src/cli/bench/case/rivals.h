/* rivals.h: the solvers of baselines/ that --compare and --ablation name: those of triangular
 * systems behind rival.h, those of whole systems behind solve_rival.h. A build without them
 * (without GSW_BUILD_PERF) says so. */
#ifndef GSW_CLI_BENCH_RIVALS_H
#define GSW_CLI_BENCH_RIVALS_H

#include "common/options.h"

#define BENCH_RIVALS_MAX 64

/* Who solves: the library, another solver, or a step of the ablation. */
typedef enum bench_side { SIDE_GRIDSWEEP, SIDE_RIVAL, SIDE_ABLATION } bench_side;

/* One of baselines/, of triangular or of whole systems. */
typedef struct bench_rival {
    const char *name;
    bench_side side;
    bool on_device;      /* takes device arrays */
    bool named;          /* asked for by name, so also where it takes long */
    const char *precond; /* of whole systems: its own preconditioner, or NULL */
    const struct gsw_rival *sweeps;
    const struct gsw_solve_rival *solves;
} bench_rival;

typedef struct bench_rivals {
    int count;
    bench_rival list[BENCH_RIVALS_MAX]; /* rivals, then steps of the ablation */
} bench_rivals;

/* Finds what --compare and --ablation name: solvers of triangular systems, or with `whole` those of
 * whole systems. Returns an exit code. */
int bench_find_rivals(const cli_options *options, bool whole, bench_rivals *out);

#endif
