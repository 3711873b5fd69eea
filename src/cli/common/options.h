/* options.h: exit codes, the command line as a cli_options, and how errors are said. */
#ifndef GSW_CLI_OPTIONS_H
#define GSW_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gridsweep/gridsweep.h>

/* ---- Exit codes ----------------------------------------------------------------------------- */

typedef enum cli_exit {
    CLI_OK = 0,
    CLI_NOT_CONVERGED = 1,
    CLI_USAGE = 2,
    CLI_INPUT = 3,
    CLI_BREAKDOWN = 4,
    CLI_BACKEND = 5
} cli_exit;

/* Where the values of a failing call came from: it decides between bad usage and bad input. */
typedef enum cli_source { CLI_FROM_OPTION, CLI_FROM_FILE } cli_source;

/* ---- Options -------------------------------------------------------------------------------- */

/* Indices of "none", "mg" and "auto" among the choices of --precond; the others are gsw_factor_kind
 * values. */
#define CLI_PRECOND_NONE 5
#define CLI_PRECOND_MG   6
#define CLI_PRECOND_AUTO 7

/* Index of "auto" among the methods of `gridsweep solve`; the others are gsw_method values. */
#define CLI_METHOD_AUTO 4

typedef struct cli_command cli_command;

enum { CLI_OPTIONS_MAX = 80 };

/* The command line after parsing. Strings point into argv; NULL or -1 means not given. */
typedef struct cli_options {
    const cli_command *command;
    bool given[CLI_OPTIONS_MAX]; /* by cli_option_id */
    const char *file;
    const char *problem, *stencil, *grid, *periodic, *rhs, *x0, *mask, *coordinates, *preconds;
    const char *out, *out_mask, *json, *out_l, *out_u;
    const char *sizes, *parts, *precisions, *algorithms, *thread_list;
    const char *compare, *ablation, *caches, *boxes, *heights;
    int method, precond, norm, eisenstat, nullspace, factor_precision, part, algorithm, backend;
    int mg_cycle, mg_smoother, mg_precision, scope;
    int64_t restart, max_iter, threads, device, repeats, overlap;
    double rtol, omega, pivot_shift, mg_theta, wait_limit;
    bool mg_info, constant, transpose, unit_diagonal, no_check, whole_solve, hpcg, quiet, man,
        schema, help_all;
} cli_options;

/* Where this stands in an option's help, the names of all known stencils are printed. */
#define CLI_STENCILS "{stencils}"

typedef enum cli_option_id {
    OPT_END = 0,
#define OPTION(id, ...) OPT_##id,
#include "options.inc"
#undef OPTION
    OPT_COUNT
} cli_option_id;

typedef enum cli_option_type {
    CLI_FLAG,
    CLI_TEXT,
    CLI_OPTIONAL_TEXT, /* "all" where no value follows; only where there is no operand */
    CLI_INTEGER,       /* minimum .. maximum */
    CLI_THREADS,       /* 1 .. what cli_parse_threads() takes */
    CLI_REAL,          /* minimum < value < maximum */
    CLI_CHOICE         /* index into `choices` */
} cli_option_type;

typedef struct cli_option {
    const char *name;
    const char *argument; /* as shown in the help; NULL for a flag */
    const char *help;
    cli_option_type type;
    char letter;   /* -o for --out; 0: none */
    size_t offset; /* of the field in cli_options */
    double minimum, maximum;
    int closed;                 /* a real number may be the maximum */
    const char *const *choices; /* also of the values in a list; ends with NULL */
} cli_option;

struct cli_command {
    const char *name;
    const char *summary;     /* one line, no full stop */
    const char *arguments;   /* the synopsis after the name */
    const char *description; /* paragraphs separated by "\n" */
    const char *examples;    /* one per line */
    const char *operand;     /* what the positional argument is called, or NULL if there is none */
    const cli_option_id *options;
    int common; /* --help shows so many of them, the first ones */
    int (*run)(const cli_options *options);
};

const cli_option *cli_option_get(cli_option_id id);

/* Whether the option is on the command line. */
bool cli_given(const cli_options *options, cli_option_id id);

/* The name of a choice. */
const char *cli_choice(cli_option_id id, int value);

/* The value of an option that is a text; NULL: not given. */
const char *cli_text(const cli_options *options, cli_option_id id);

/* Fills *options from the arguments (argv[0] is the subcommand). Returns CLI_OK, CLI_USAGE after a
 * message, or CLI_OK with *help set for --help and --help-all. */
int cli_parse(const cli_command *command, int argc, char **argv, cli_options *options, bool *help);

/* "gridsweep COMMAND: MESSAGE" on stderr; returns CLI_INPUT. */
int cli_error(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The last message of the two functions around this one; "" before the first. */
const char *cli_last_error(void);

/* The same with a hint at --help; returns CLI_USAGE. */
int cli_usage(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Refuses the options that follow, which end with OPT_END: "--NAME WHY". Returns CLI_OK where none
 * of them is on the command line. */
int cli_refuse(const cli_options *options, const char *why, ...);

/* What an errno means; valid until the next call. */
const char *cli_reason(int error);

/* Where the matrix comes from. */
cli_source cli_source_of(const cli_options *options);

/* Reports a library call that failed, with the context's message. Returns the exit code that
 * belongs to the status. */
int cli_status(const cli_options *options, const gsw_context *context, gsw_status status,
               cli_source source);

/* The word of a list (its end is NULL) that differs least from `word`: one typing error in three
 * letters, at most two in all. NULL where none is that near. */
const char *cli_nearest(const char *word, const char *const *words);

/* A whole text as an integer in [minimum, maximum]. */
bool cli_parse_integer(const char *text, int64_t minimum, int64_t maximum, int64_t *value);

/* A number of threads for --threads, or one of its list. More than a few for each processor only
 * take memory, and the OpenMP runtime ends the process where it cannot start them. Returns CLI_OK,
 * or CLI_USAGE after a message. */
int cli_parse_threads(const cli_options *options, const char *text, int64_t *value);

#endif
