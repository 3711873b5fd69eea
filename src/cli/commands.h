/* commands.h: the subcommands of the program `gridsweep`. */
#ifndef GSW_CLI_COMMANDS_H
#define GSW_CLI_COMMANDS_H

#include "common/options.h"

/* The subcommands, ended by an entry whose name is NULL. */
#define CLI_COMMANDS_MAX 15
extern const cli_command cli_commands[CLI_COMMANDS_MAX + 1];

/* The one of that name, or NULL. */
const cli_command *cli_find_command(const char *name);

#endif
