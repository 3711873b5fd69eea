/* history.h: how the residual of a solve fell, for the JSON. */
#ifndef GSW_CLI_HISTORY_H
#define GSW_CLI_HISTORY_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* The most entries that are kept. Beyond these only every second one stays, then every fourth, and
 * so on, and always the last. */
#define CLI_HISTORY_MOST 16384

typedef struct cli_history_entry {
    int64_t iteration;
    double residual, ms;
} cli_history_entry;

typedef struct cli_history {
    cli_history_entry *entries; /* CLI_HISTORY_MOST; NULL: nothing is kept */
    cli_history_entry last;
    int64_t count, seen, stride;
} cli_history;

/* False where memory is short. Free entries with free(). */
bool cli_history_open(cli_history *history);

/* A residual that is not finite is left out. */
void cli_history_add(cli_history *history, cli_history_entry entry);

/* Arrays of iterations, residuals and times. */
cJSON *cli_history_json(const cli_history *history);

#endif
