/* relax.h: sweeps of a stencil loop with ghost zones as a task. */
#ifndef GSW_CLI_BENCH_RELAX_H
#define GSW_CLI_BENCH_RELAX_H

#include "case.h"

extern const bench_task bench_relax;

#endif
