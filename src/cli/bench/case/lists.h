/* lists.h: lists of the command line, whose values are separated by commas. */
#ifndef GSW_CLI_BENCH_LISTS_H
#define GSW_CLI_BENCH_LISTS_H

#include "common/options.h"

#define BENCH_LIST_MAX 32

typedef struct bench_list {
    int count;
    int values[BENCH_LIST_MAX];
} bench_list;

/* Takes the next entry of a list into `entry`. Returns false at the end; an entry that is empty or
 * too long comes out as "". */
bool bench_next_entry(const char **list, char *entry, size_t size);

/* Reads the list of an option, or the usual one where it is not given, as indices into its choices.
 * Returns an exit code. */
int bench_parse_names(const cli_options *options, cli_option_id id, const char *usual,
                      bench_list *out);

/* Says that a list is too long; returns CLI_USAGE. */
int bench_too_many(const cli_options *options, cli_option_id id);

bool bench_contains(const bench_list *list, int value);

#endif
