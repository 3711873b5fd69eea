/* cmd_info.h: `gridsweep info`: shows the version, the build and what there is to run on. */
#ifndef GSW_CLI_CMD_INFO_H
#define GSW_CLI_CMD_INFO_H

#include "common/options.h"

/* Returns an exit code. */
int cmd_info(const cli_options *options);

#endif
