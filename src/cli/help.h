/* help.h: what --help and the manual page say of a list of subcommands, which ends with an entry
 * whose name is NULL, and of the keys of the JSON. */
#ifndef GSW_CLI_HELP_H
#define GSW_CLI_HELP_H

#include <stdbool.h>
#include <stdio.h>
#include "common/options.h"

void cli_help_program(FILE *stream, const cli_command *commands);
/* The first paragraph and the common options, or the whole description and all options. */
void cli_help_command(FILE *stream, const cli_command *command, bool all);
void cli_help_man(FILE *stream, const cli_command *commands);

/* Prints the JSON Schema of the keys; false: there is no memory for it. */
bool cli_help_schema(FILE *stream);

#endif
