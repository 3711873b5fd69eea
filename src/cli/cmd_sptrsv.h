/* cmd_sptrsv.h: `gridsweep sptrsv`: solves one triangular system. */
#ifndef GSW_CLI_CMD_SPTRSV_H
#define GSW_CLI_CMD_SPTRSV_H

#include "common/options.h"

/* Returns an exit code. */
int cmd_sptrsv(const cli_options *options);

#endif
