/* show.c: one line on a terminal that says what runs now. */
#define _POSIX_C_SOURCE 200809L
#include "show.h"
#include <stdarg.h>
#include <unistd.h>
#include "common/output.h"
#include "common/processes.h"

#define SHOWN_WIDTH 78

void bench_show(const cli_options *options, const char *format, ...) {
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
