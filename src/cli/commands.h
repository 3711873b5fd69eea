/* commands.h: the subcommands of the program `gridsweep`. */
#ifndef GSW_CLI_COMMANDS_H
#define GSW_CLI_COMMANDS_H

#include "common/options.h"

/* The subcommands, ended by an entry whose name is NULL. */
extern const cli_command cli_commands[];

/* The one of that name, or NULL. */
const cli_command *cli_find_command(const char *name);

/* Says that there is no such command, and which one may have been meant. Returns CLI_USAGE. */
int cli_reject_command(const char *name);

#endif
