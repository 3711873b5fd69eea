/* result.h: what the JSON of a command holds. json_keys.h describes it. */
#ifndef GSW_CLI_RESULT_H
#define GSW_CLI_RESULT_H

#include <cjson/cJSON.h>
#include <gridsweep/gridsweep.h>
#include "json_keys.h"
#include "common/measure.h"
#include "common/options.h"

/* Version of what the JSON holds. It changes where a key goes away or changes its meaning; new keys
 * may come without. */
#define CLI_JSON_SCHEMA 1

/* "f64" or "f32", of a gsw_dtype. */
const char *cli_dtype_name(int dtype);

/* For the start of the program: from then on cli_json_is_whole() knows of every lack of memory. */
void cli_json_prepare(void);

/* Whether there was memory for everything that JSON shall hold. cJSON leaves out what it has no
 * memory for. */
bool cli_json_is_whole(void);

/* An object with all keys of this holder. They are null, except those that say what made it. */
cJSON *cli_json_new(cli_holder holder);

/* The object of a command, with the command's name. */
cJSON *cli_json(const cli_options *options, cli_holder holder);

/* Gives a key its value; a key that the object lacks is a defect of the program, which ends. A text
 * that is NULL and a number that is not finite leave null. The object takes `value`. */
void cli_set(cJSON *object, const char *key, cJSON *value);
void cli_set_text(cJSON *object, const char *key, const char *text);
void cli_set_number(cJSON *object, const char *key, double value);
void cli_set_bool(cJSON *object, const char *key, bool value);
void cli_set_triple(cJSON *object, const char *key, int64_t x, int64_t y, int64_t z);

/* The names of a grid's periodic axes, such as "xy". Returns the text. */
enum { CLI_AXES_TEXT = 4 };
const char *cli_axes_text(const gsw_grid *grid, char text[CLI_AXES_TEXT]);

/* The keys backend, device and threads; grid and stencil; time_ms. */
void cli_set_context(cJSON *object, const gsw_context *context);
void cli_set_matrix(cJSON *object, const gsw_matrix *matrix);
void cli_set_times(cJSON *object, const cli_times *times);

#endif
