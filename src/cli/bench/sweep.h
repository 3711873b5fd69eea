/* sweep.h: triangular solves as tasks: with one part of a matrix, and with L, then U of ILU(0). */
#ifndef GSW_CLI_BENCH_SWEEP_H
#define GSW_CLI_BENCH_SWEEP_H

#include "case.h"

extern const bench_task bench_sweep, bench_apply;

#endif
