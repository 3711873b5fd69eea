/* cmd_solve.h: `gridsweep solve`: solves A x = b with a preconditioned Krylov method. */
#ifndef GSW_CLI_CMD_SOLVE_H
#define GSW_CLI_CMD_SOLVE_H

#include "common/options.h"

/* Returns an exit code. */
int cmd_solve(const cli_options *options);

#endif
