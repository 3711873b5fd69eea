/* cmd_detect.h: `gridsweep detect`: prints the grid and the stencil of a matrix. */
#ifndef GSW_CLI_CMD_DETECT_H
#define GSW_CLI_CMD_DETECT_H

#include "common/options.h"

/* Returns an exit code. */
int cmd_detect(const cli_options *options);

#endif
