/* lists.c: lists of the command line, whose values are separated by commas. */
#include "lists.h"
#include <stdio.h>
#include <string.h>

bool bench_next_entry(const char **list, char *entry, size_t size) {
    if (*list == NULL)
        return false;
    size_t length = strcspn(*list, ",");
    (void)snprintf(entry, size, "%.*s", length < size ? (int)length : 0, *list);
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    return true;
}

int bench_too_many(const cli_options *options, cli_option_id id) {
    return cli_usage(options, "--%s takes at most %d values", cli_option_get(id)->name,
                     BENCH_LIST_MAX);
}

/* The message lists the values that are known. */
static int unknown_value(const cli_options *options, cli_option_id id, const char *entry) {
    const char *const *names = cli_option_get(id)->choices;
    char known[256] = "";
    for (int i = 0; names[i] != NULL; i++) {
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    return cli_usage(options, "--%s: unknown value '%s'; it takes %s", cli_option_get(id)->name,
                     entry, known);
}

int bench_parse_names(const cli_options *options, cli_option_id id, const char *usual,
                      bench_list *out) {
    const char *const *names = cli_option_get(id)->choices;
    const char *given = cli_text(options, id), *list = given != NULL ? given : usual;
    char entry[64];
    while (bench_next_entry(&list, entry, sizeof entry)) {
        int found = 0;
        while (names[found] != NULL && strcmp(names[found], entry) != 0)
            found++;
        if (names[found] == NULL)
            return unknown_value(options, id, entry);
        if (out->count == BENCH_LIST_MAX)
            return bench_too_many(options, id);
        out->values[out->count++] = found;
    }
    return CLI_OK;
}

bool bench_contains(const bench_list *list, int value) {
    for (int i = 0; i < list->count; i++)
        if (list->values[i] == value)
            return true;
    return false;
}
