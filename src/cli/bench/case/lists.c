/* lists.c: see lists.h. */
#include "lists.h"
#include <stdio.h>
#include <string.h>
#ifdef GSW_HAVE_RIVALS
#include <rival.h>
#include <solve_rival.h>
#endif

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
    out->count = 0;
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

/* ---- Rivals --------------------------------------------------------------------------------- */

#ifdef GSW_HAVE_RIVALS

/* What a list can name: either kind of rival as a bench_rival, and its line in the list of all. */
typedef struct catalogue {
    const char *option;
    const char *there_are; /* said after an unknown name */
    bench_side side;
    int count;
    const gsw_rival *sweeps;
    const gsw_solve_rival *solves;
} catalogue;

static bench_rival rival_at(const catalogue *from, int i, bool named) {
    if (from->solves != NULL)
        return (bench_rival){.name = from->solves[i].name,
                             .side = from->side,
                             .on_device = from->solves[i].on_device != 0,
                             .named = named,
                             .precond = from->solves[i].precond,
                             .solves = &from->solves[i]};
    return (bench_rival){.name = from->sweeps[i].name,
                         .side = from->side,
                         .on_device = from->sweeps[i].on_device != 0,
                         .named = named,
                         .sweeps = &from->sweeps[i]};
}

static bool add(const bench_rival *rival, bench_rivals *out) {
    for (int i = 0; i < out->count; i++)
        if (out->list[i].sweeps == rival->sweeps && out->list[i].solves == rival->solves)
            return true;
    if (out->count == BENCH_RIVALS_MAX)
        return false;
    out->list[out->count++] = *rival;
    return true;
}

static int unknown_name(const cli_options *options, const catalogue *from, const char *name) {
    cli_error(options, "--%s: unknown name '%s'; %s:", from->option, name, from->there_are);
    for (int i = 0; i < from->count; i++)
        if (from->solves != NULL)
            fprintf(stderr, "  %-18s %s%s\n", from->solves[i].name, from->solves[i].summary,
                    from->solves[i].open != NULL ? "" : " (not in this build)");
        else
            fprintf(stderr, "  %-18s %s\n", from->sweeps[i].name, from->sweeps[i].summary);
    return CLI_USAGE;
}

/* Adds those of a list, or all. */
static int add_list(const cli_options *options, const catalogue *from, const char *list,
                    bench_rivals *out) {
    char entry[64];
    while (bench_next_entry(&list, entry, sizeof entry)) {
        bool all = strcmp(entry, "all") == 0, found = false;
        for (int i = 0; i < from->count; i++) {
            bench_rival rival = rival_at(from, i, !all);
            if (!all && strcmp(entry, rival.name) != 0)
                continue;
            found = true;
            if (!add(&rival, out))
                return cli_usage(options, "--%s: too many names", from->option);
        }
        if (!found)
            return unknown_name(options, from, entry);
    }
    return CLI_OK;
}

int bench_find_rivals(const cli_options *options, bool whole, bench_rivals *out) {
    catalogue rivals = {.option = "compare", .there_are = "this build has", .side = SIDE_RIVAL};
    catalogue steps = {.option = "ablation", .there_are = "this build has", .side = SIDE_ABLATION};
    if (whole) {
        rivals.there_are = "with --whole-solve there are";
        rivals.solves = gsw_solve_rivals(&rivals.count);
    } else {
        rivals.sweeps = gsw_rivals(&rivals.count);
        steps.sweeps = gsw_ablation_steps(&steps.count);
    }
    int code = add_list(options, &rivals, options->compare, out);
    if (code == CLI_OK && options->ablation != NULL && steps.count == 0)
        return cli_usage(options, "--ablation: this build has no steps, because it was built "
                                  "without CUDA");
    return code == CLI_OK ? add_list(options, &steps, options->ablation, out) : code;
}

#else

int bench_find_rivals(const cli_options *options, bool whole, bench_rivals *out) {
    (void)whole;
    out->count = 0;
    if (options->compare == NULL && options->ablation == NULL)
        return CLI_OK;
    return cli_usage(options,
                     "--%s: this build of the program has no rivals; configure one with "
                     "'cmake -B build -DGSW_BUILD_PERF=ON'",
                     options->compare != NULL ? "compare" : "ablation");
}

#endif
