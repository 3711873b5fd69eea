/* symgs.h: one step of symmetric Gauss-Seidel as a task. */
#ifndef GSW_CLI_BENCH_SYMGS_H
#define GSW_CLI_BENCH_SYMGS_H

#include "case.h"

extern const bench_task bench_symgs;

#endif
