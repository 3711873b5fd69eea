/* cmd.h: the subcommands of the program, each in a file of its own. */
#ifndef GSW_CLI_CMD_H
#define GSW_CLI_CMD_H

#include "common/options.h"

/* They return an exit code. */
int cmd_info(const cli_options *options);
int cmd_detect(const cli_options *options);
int cmd_solve(const cli_options *options);
int cmd_sptrsv(const cli_options *options);
int cmd_factor(const cli_options *options);
int cmd_generate(const cli_options *options);
int cmd_tune(const cli_options *options);
int cmd_bench(const cli_options *options);

#endif
