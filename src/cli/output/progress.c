/* progress.c: what a solve shows and records while it runs.
 *
 * On a terminal one line is redrawn in place, at most ten times a second, as wide as the terminal
 * allows, and cleared at the end. Elsewhere iterations 0, 1, 2, 5, 10, 20, 50, ... and the last get
 * a line each. Carriage return and spaces do it all: no escape sequences. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "progress.h"
#include "common/measure.h"
#include "output.h"
#include "common/processes.h"
#include "result.h"

#define REDRAW_MS  100
#define TEXT_WIDTH 62 /* columns kept for the text, so that the bar keeps its width */
#define BAR_MIN    10
#define BAR_MAX    40

void cli_progress_start(cli_progress *progress, const cli_options *options) {
    FILE *human = cli_human(options);
    *progress = (cli_progress){.stream = human,
                               .tolerance = options->rtol,
                               .limit = options->max_iter,
                               .shown = -1,
                               .iteration = -1,
                               .start_ms = cli_now_ms()};
    /* A launcher may give a terminal to a process whose output goes elsewhere. */
    if (human == NULL || cli_processes() > 1)
        return;
    progress->live = isatty(fileno(human)) || isatty(STDERR_FILENO);
    if (!isatty(fileno(human)) && progress->live)
        progress->stream = stderr;
}

static int terminal_width(FILE *stream) {
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col < 2)
        return 80;
    return size.ws_col;
}

/* Factor by which one iteration reduces the residual, over the last CLI_PROGRESS_WINDOW. */
static double convergence_rate(const cli_progress *progress) {
    const int64_t most = CLI_PROGRESS_WINDOW - 1;
    const int64_t span = progress->iteration < most ? progress->iteration : most;
    if (span == 0)
        return NAN;
    double before = progress->history[(progress->iteration - span) % CLI_PROGRESS_WINDOW];
    return pow(progress->residual / before, 1.0 / (double)span);
}

/* Seconds until the tolerance at this rate, or until the iteration limit. NaN: unknown. */
static double seconds_left(const cli_progress *progress, double rate) {
    if (progress->residual <= progress->tolerance)
        return 0;
    if (progress->iteration == 0 || !(rate < 1))
        return NAN;
    double left = ceil(log(progress->tolerance / progress->residual) / log(rate));
    left = fmin(left, (double)(progress->limit - progress->iteration));
    double spent = cli_now_ms() - progress->start_ms;
    return left * spent / (double)progress->iteration / 1e3;
}

static void format_duration(char *text, size_t size, double seconds) {
    if (!(seconds < 360000))
        (void)snprintf(text, size, "time left --");
    else if (seconds < 10)
        (void)snprintf(text, size, "%.1f s left", seconds);
    else if (seconds < 60)
        (void)snprintf(text, size, "%.0f s left", seconds);
    else if (seconds < 3600)
        (void)snprintf(text, size, "%d:%02d min left", (int)seconds / 60, (int)seconds % 60);
    else
        (void)snprintf(text, size, "%d:%02d h left", (int)seconds / 3600, (int)seconds / 60 % 60);
}

/* Share of the way from residual 1 to the tolerance, in decades. */
static double share_done(const cli_progress *progress) {
    if (progress->residual <= progress->tolerance)
        return 1;
    double share = log(progress->residual) / log(progress->tolerance);
    return share > 0 && share < 1 ? share : 0;
}

/* "[=====>      ] " of `width` columns in all, into text. */
static void format_bar(char *text, int width, double share) {
    int inner = width - 3, done = (int)(share * inner);
    text[0] = '[';
    memset(text + 1, ' ', (size_t)inner);
    memset(text + 1, '=', (size_t)done);
    if (done < inner)
        text[1 + done] = '>';
    memcpy(text + 1 + inner, "] ", 3);
}

/* The text of the line, without its names where it is to fit in few columns. */
static int format_state(char *line, size_t size, const cli_progress *progress, int width) {
    char rate_text[24] = "--", left[32];
    double rate = convergence_rate(progress);
    if (isfinite(rate))
        (void)snprintf(rate_text, sizeof rate_text, rate < 1000 ? "%.3f" : "%.1e", rate);
    format_duration(left, sizeof left, seconds_left(progress, rate));
    int length = snprintf(line, size, "iteration %lld  residual %.2e  rate %s  %s",
                          (long long)progress->iteration, progress->residual, rate_text, left);
    if (length > width)
        length = snprintf(line, size, "%lld  %.2e  %s  %s", (long long)progress->iteration,
                          progress->residual, rate_text, left);
    if (length > width) {
        length = width;
        line[width] = '\0';
    }
    return length;
}

static void draw(cli_progress *progress) {
    char line[160], bar[BAR_MAX + 1] = "";
    int width = terminal_width(progress->stream) - 1;
    int length = format_state(line, sizeof line, progress, width);
    int bar_width = width - TEXT_WIDTH < BAR_MAX ? width - TEXT_WIDTH : BAR_MAX;
    if (bar_width >= BAR_MIN && bar_width + length <= width) {
        format_bar(bar, bar_width, share_done(progress));
        length += bar_width;
    }
    int leftover = (progress->drawn < width ? progress->drawn : width) - length;
    fprintf(progress->stream, "\r%s%s%*s", bar, line, leftover > 0 ? leftover : 0, "");
    (void)fflush(progress->stream);
    progress->drawn = length;
    progress->drawn_ms = cli_now_ms();
    progress->shown = progress->iteration;
}

static void print_line(cli_progress *progress) {
    if (progress->shown < 0)
        fprintf(progress->stream, "%10s  %s\n", "iteration", "residual");
    fprintf(progress->stream, "%10lld  %.3e\n", (long long)progress->iteration, progress->residual);
    (void)fflush(progress->stream);
    progress->shown = progress->iteration;
}

/* 0, 1, 2, 5, 10, 20, 50, ... */
static bool is_round(int64_t iteration) {
    while (iteration != 0 && iteration % 10 == 0)
        iteration /= 10;
    return iteration == 0 || iteration == 1 || iteration == 2 || iteration == 5;
}

int cli_progress_monitor(void *user, int64_t iteration, double residual) {
    cli_progress *progress = user;
    progress->iteration = iteration;
    progress->residual = residual;
    progress->history[iteration % CLI_PROGRESS_WINDOW] = residual;
    if (progress->stream == NULL)
        return 0;
    if (!progress->live) {
        if (is_round(iteration))
            print_line(progress);
    } else if (progress->drawn == 0 || cli_now_ms() - progress->drawn_ms >= REDRAW_MS) {
        draw(progress);
    }
    return 0;
}

void cli_progress_finish(cli_progress *progress) {
    if (progress->stream == NULL || progress->iteration < 0)
        return;
    if (progress->shown != progress->iteration) {
        if (progress->live)
            draw(progress);
        else
            print_line(progress);
    }
    if (progress->live) {
        int width = terminal_width(progress->stream) - 1;
        fprintf(progress->stream, "\r%*s\r", progress->drawn < width ? progress->drawn : width, "");
        (void)fflush(progress->stream);
    }
}

/* ---- what runs now ---- */

#define SHOWN_WIDTH 78

void cli_show_line(const cli_options *options, const char *format, ...) {
    FILE *stream = cli_human(options);
    if (stream == NULL || cli_processes() > 1 || !isatty(fileno(stream)))
        return;
    char text[SHOWN_WIDTH + 1] = "";
    if (format != NULL) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
    }
    fprintf(stream, "\r%-*s\r%s", SHOWN_WIDTH, "", text);
    (void)fflush(stream);
}

/* ---- How the residual fell ---- */

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
