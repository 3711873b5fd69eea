/* help_json.h: the keys of the JSON as a JSON Schema and in the manual page, from json_keys.h. */
#ifndef GSW_CLI_HELP_JSON_H
#define GSW_CLI_HELP_JSON_H

#include <stdbool.h>
#include <stdio.h>

/* Prints the schema; false: there is no memory for it. */
bool cli_help_schema(FILE *stream);

/* The section JSON OUTPUT. `print` writes a text with its special characters escaped. */
void cli_help_man_json(FILE *stream, void (*print)(FILE *stream, const char *text));

#endif
