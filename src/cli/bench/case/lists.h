/* lists.h: lists of the command line, whose values are separated by commas: numbers, names of
 * choices, and rivals, which are the solvers of baselines/ behind rival.h (triangular systems) and
 * solve_rival.h (whole systems). */
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

#define BENCH_RIVALS_MAX 64

/* Who solves: the library, another solver, or a step of the ablation. */
typedef enum bench_side { SIDE_GRIDSWEEP, SIDE_RIVAL, SIDE_ABLATION } bench_side;

/* One of baselines/, of triangular or of whole systems. */
typedef struct bench_rival {
    const char *name;
    bench_side side;
    bool on_device;      /* takes device arrays */
    bool named;          /* asked for by name, so also where it takes long */
    const char *precond; /* of whole systems: its own preconditioner, or NULL */
    const struct gsw_rival *sweeps;
    const struct gsw_solve_rival *solves;
} bench_rival;

typedef struct bench_rivals {
    int count;
    bench_rival list[BENCH_RIVALS_MAX]; /* rivals, then steps of the ablation */
} bench_rivals;

/* Finds what --compare and --ablation name: solvers of triangular systems, or with `whole` those of
 * whole systems. Returns an exit code. */
int bench_find_rivals(const cli_options *options, bool whole, bench_rivals *out);

#endif
