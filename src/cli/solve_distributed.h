/* solve_distributed.h: `gridsweep solve` on several processes. The first one reads or makes the
 * system and distributes it, and collects and writes the solution. */
#ifndef GSW_CLI_SOLVE_DISTRIBUTED_H
#define GSW_CLI_SOLVE_DISTRIBUTED_H

#include "common/options.h"

/* Refuses --scope, --boxes and others where they cannot be followed. Returns an exit code. */
int cli_check_processes(const cli_options *options);

/* Collective. Returns an exit code, the same in all processes. */
int cli_solve_distributed(const cli_options *options);

#endif
