/* whole_distributed.h: a whole Krylov solve as a task, on several processes. */
#ifndef GSW_CLI_BENCH_WHOLE_DISTRIBUTED_H
#define GSW_CLI_BENCH_WHOLE_DISTRIBUTED_H

#include "case.h"

extern const bench_task bench_whole_distributed;

#endif
