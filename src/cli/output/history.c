/* history.c: see history.h. */
#include "history.h"
#include <math.h>
#include <stdlib.h>
#include "result.h"

bool cli_history_open(cli_history *history) {
    *history = (cli_history){.stride = 1};
    history->entries = malloc(CLI_HISTORY_MOST * sizeof *history->entries);
    return history->entries != NULL;
}

/* Keeps every second entry. */
static void thin(cli_history *history) {
    history->count /= 2;
    history->stride *= 2;
    for (int64_t i = 0; i < history->count; i++)
        history->entries[i] = history->entries[2 * i];
}

void cli_history_add(cli_history *history, cli_history_entry entry) {
    if (!isfinite(entry.residual))
        return;
    history->last = entry;
    if (history->seen++ % history->stride != 0)
        return;
    if (history->count == CLI_HISTORY_MOST)
        thin(history);
    history->entries[history->count++] = entry;
}

cJSON *cli_history_json(const cli_history *history) {
    cJSON *object = cli_json_new(CLI_HISTORY);
    cJSON *iterations = cJSON_CreateArray();
    cJSON *residuals = cJSON_CreateArray(), *times = cJSON_CreateArray();
    const bool whole = (history->seen - 1) % history->stride == 0; /* the last one is kept */
    const int64_t count = history->count + (history->seen > 0 && !whole);
    for (int64_t i = 0; i < count; i++) {
        const cli_history_entry *entry = i < history->count ? &history->entries[i] : &history->last;
        cJSON_AddItemToArray(iterations, cJSON_CreateNumber((double)entry->iteration));
        cJSON_AddItemToArray(residuals, cJSON_CreateNumber(entry->residual));
        cJSON_AddItemToArray(times, cJSON_CreateNumber(entry->ms));
    }
    cli_set(object, "iteration", iterations);
    cli_set(object, "residual", residuals);
    cli_set(object, "ms", times);
    return object;
}
