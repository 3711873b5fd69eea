/* plan.h: what `gridsweep bench` runs: the lists of the command line, and the cases that they
 * make. */
#ifndef GSW_CLI_BENCH_PLAN_H
#define GSW_CLI_BENCH_PLAN_H

#include "common/options.h"
#include "lists.h"

/* What is solved: one part, L and U of ILU(0), a step of symmetric Gauss-Seidel, sweeps of a
 * stencil loop, or (not in a list) a whole system by a Krylov method, or HPCG's. */
typedef enum bench_part {
    PART_LOWER,
    PART_UPPER,
    PART_BOTH,
    PART_SYMGS,
    PART_RELAX,
    PART_WHOLE,
    PART_HPCG
} bench_part;
typedef enum bench_precision { PRECISION_F64, PRECISION_F32, PRECISION_F32_FACTOR } bench_precision;
typedef enum bench_cache { CACHE_WARM, CACHE_COLD } bench_cache;

/* In which form the matrix is given, and what belongs to that. */
typedef enum bench_mode {
    MODE_ARRAYS, /* arrays of the stencil; sweeps and applies of the CPU, any number of threads */
    MODE_CSR,    /* a CSR of what is solved with; any backend, rivals, and smoothing */
    MODE_WHOLE,  /* both; whole solves on any backend, rivals */
    MODE_HPCG,   /* arrays of the stencil; HPCG's algorithm on any backend */
    MODE_RELAX   /* arrays of the stencil; stencil loops on any backend */
} bench_mode;

#define BENCH_PRECONDS (CLI_PRECOND_MG + 1) /* preconditioners that --precond can name */

typedef struct bench_plan {
    bench_mode mode;
    bool if_able; /* MODE_CSR only if a device answers that can do it all, MODE_ARRAYS otherwise */
    int stencils, sizes;
    gsw_stencil stencil[BENCH_LIST_MAX];
    gsw_grid grid[BENCH_LIST_MAX][BENCH_LIST_MAX]; /* of each stencil and size */
    bench_list parts;                              /* bench_part */
    bench_list precisions;                         /* bench_precision */
    bench_list algorithms; /* gsw_algorithm; AUTO until bench_resolve_auto() */
    bench_list threads;    /* 0: as many as there are */
    bench_list caches;     /* bench_cache */
    bench_list heights;    /* of stencil loops */
    bench_list preconds; /* of whole solves: gsw_factor_kind, CLI_PRECOND_NONE or _MG; each once */
    bench_rivals rivals;
} bench_plan;

/* Reads the lists of the command line. Returns an exit code. */
int bench_make_plan(const cli_options *options, bench_plan *plan);

/* auto stands for the algorithm that bench is about on that backend. */
void bench_resolve_auto(bench_plan *plan, gsw_algorithm algorithm);

#endif
