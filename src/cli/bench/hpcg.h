/* hpcg.h: HPCG's algorithm as a task. */
#ifndef GSW_CLI_BENCH_HPCG_H
#define GSW_CLI_BENCH_HPCG_H

#include "case.h"

extern const bench_task bench_hpcg;

#endif
