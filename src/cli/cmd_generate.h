/* cmd_generate.h: `gridsweep generate`: writes a model problem as a matrix. */
#ifndef GSW_CLI_CMD_GENERATE_H
#define GSW_CLI_CMD_GENERATE_H

#include "common/options.h"

/* Returns an exit code. */
int cmd_generate(const cli_options *options);

#endif
