/* cmd_tune.h: `gridsweep tune`: measures shapes of kernels on this machine, for later runs. */
#ifndef GSW_CLI_CMD_TUNE_H
#define GSW_CLI_CMD_TUNE_H

#include "common/options.h"

/* Returns an exit code. */
int cmd_tune(const cli_options *options);

#endif
