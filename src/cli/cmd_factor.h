/* cmd_factor.h: `gridsweep factor`: writes the factors L and U. */
#ifndef GSW_CLI_CMD_FACTOR_H
#define GSW_CLI_CMD_FACTOR_H

#include "common/options.h"

/* Returns an exit code. */
int cmd_factor(const cli_options *options);

#endif
