/* bench.h: `gridsweep bench`: times sweeps and whole solves. */
#ifndef GSW_CLI_BENCH_H
#define GSW_CLI_BENCH_H

#include "common/options.h"

/* Returns an exit code. */
int cmd_bench(const cli_options *options);

#endif
