/* progress.h: what a solve shows and records while it runs. */
#ifndef GSW_CLI_PROGRESS_H
#define GSW_CLI_PROGRESS_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include "common/options.h"

#define CLI_PROGRESS_WINDOW 32

/* A live line on a terminal, a few plain lines otherwise. */
typedef struct cli_progress {
    FILE *stream; /* NULL: print nothing */
    bool live;
    double tolerance;
    int64_t limit;     /* most iterations */
    int64_t shown;     /* last iteration that was printed, or -1 */
    int64_t iteration; /* last one seen, or -1 */
    double residual;   /* of that iteration */
    double start_ms, drawn_ms;
    double history[CLI_PROGRESS_WINDOW]; /* residuals by iteration modulo the window */
    int drawn;                           /* columns that the line occupies */
} cli_progress;

void cli_progress_start(cli_progress *progress, const cli_options *options);

/* A gsw_monitor_fn; `user` is the cli_progress. */
int cli_progress_monitor(void *user, int64_t iteration, double residual);

/* Shows the last state; the live line is then cleared. */
void cli_progress_finish(cli_progress *progress);

/* Replaces a line that says what runs now, on a terminal only; NULL clears it. */
void cli_show_line(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- How the residual fell, for the JSON ---------------------------------------------------- */

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
