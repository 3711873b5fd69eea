/* help_json.h: the keys of the JSON in the manual page, from gridsweep.schema.json. */
#ifndef GSW_CLI_HELP_JSON_H
#define GSW_CLI_HELP_JSON_H

#include <stdio.h>

/* The section JSON OUTPUT. `print` writes a text with its special characters escaped. */
void cli_help_man_json(FILE *stream, void (*print)(FILE *stream, const char *text));

#endif
