/* show.h: what runs now, on a terminal. */
#ifndef GSW_CLI_BENCH_SHOW_H
#define GSW_CLI_BENCH_SHOW_H

#include "common/options.h"

/* Replaces the line, on a terminal only; NULL clears it. */
void bench_show(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
