/* whole.h: a whole Krylov solve as a task. */
#ifndef GSW_CLI_BENCH_WHOLE_H
#define GSW_CLI_BENCH_WHOLE_H

#include "case.h"

extern const bench_task bench_whole;

#endif
