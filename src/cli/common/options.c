/* options.c: the options of all subcommands in one table, their parsing, and how errors are said.
 *
 * A subcommand lists the options that it takes; parsing, --help and the man page all follow the
 * same table. */
#define _POSIX_C_SOURCE 200809L /* strerror_r */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gridsweep/partition.h>
#include "options.h"

/* Most threads: so many for each processor, but at least so many. */
#define THREADS_EACH 8
#define THREADS_MIN  64

#define FIELD(name)         offsetof(cli_options, name)
#define FLAG(name)          .type = CLI_FLAG, .offset = FIELD(name)
#define TEXT(name)          .type = CLI_TEXT, .offset = FIELD(name)
#define OPTIONAL_TEXT(name) .type = CLI_OPTIONAL_TEXT, .offset = FIELD(name)
#define CHOICE(name, ...)   .type = CLI_CHOICE, .offset = FIELD(name), .choices = WORDS(__VA_ARGS__)
#define LIST(name, ...)     .type = CLI_TEXT, .offset = FIELD(name), .choices = WORDS(__VA_ARGS__)
#define WORDS(...)          ((const char *const[]){__VA_ARGS__, NULL})
#define INTEGER(name, low, high)                                                                   \
    .type = CLI_INTEGER, .offset = FIELD(name), .minimum = (low), .maximum = (high)
#define REAL(name, low, high)                                                                      \
    .type = CLI_REAL, .offset = FIELD(name), .minimum = (low), .maximum = (high)

static const cli_option table[OPT_COUNT] = {
#define OPTION(id, ...) [OPT_##id] = {__VA_ARGS__},
#include "options.inc"
#undef OPTION
};

const cli_option *cli_option_get(cli_option_id id) {
    return &table[id];
}

bool cli_given(const cli_options *options, cli_option_id id) {
    return options->given[id];
}

const char *cli_choice(cli_option_id id, int value) {
    return table[id].choices[value];
}

const char *cli_text(const cli_options *options, cli_option_id id) {
    return *(const char *const *)(const void *)((const char *)options + table[id].offset);
}

/* ---- Errors --------------------------------------------------------------------------------- */

static char last_error[512];

static void say(const cli_options *options, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    (void)vsnprintf(last_error, sizeof last_error, format, again);
    va_end(again);
    (void)fflush(stdout);
    fprintf(stderr, "gridsweep %s: ", options->command->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

const char *cli_last_error(void) {
    return last_error;
}

int cli_error(const cli_options *options, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(options, format, arguments);
    va_end(arguments);
    return CLI_INPUT;
}

int cli_usage(const cli_options *options, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(options, format, arguments);
    va_end(arguments);
    fprintf(stderr, "Try 'gridsweep %s --help'.\n", options->command->name);
    return CLI_USAGE;
}

int cli_refuse(const cli_options *options, const char *why, ...) {
    va_list list;
    int id;
    va_start(list, why);
    do
        id = va_arg(list, int);
    while (id != OPT_END && !cli_given(options, (cli_option_id)id));
    va_end(list);
    return id == OPT_END ? CLI_OK : cli_usage(options, "--%s %s", table[id].name, why);
}

const char *cli_reason(int error) {
    static char text[128];
    if (strerror_r(error, text, sizeof text) != 0)
        (void)snprintf(text, sizeof text, "system error %d", error);
    return text;
}

cli_source cli_source_of(const cli_options *options) {
    return options->file != NULL ? CLI_FROM_FILE : CLI_FROM_OPTION;
}

/* The one place where a status becomes an exit code. */
static int exit_code(gsw_status status, cli_source source) {
    switch (status) {
    case GSW_SUCCESS:
        return CLI_OK;
    case GSW_ERROR_NOT_CONVERGED:
    case GSW_ERROR_STOPPED:
        return CLI_NOT_CONVERGED;
    case GSW_ERROR_INVALID_ARGUMENT:
    case GSW_ERROR_UNSUPPORTED:
    case GSW_ERROR_OVERFLOW:
        return source == CLI_FROM_OPTION ? CLI_USAGE : CLI_INPUT;
    case GSW_ERROR_OUT_OF_MEMORY:
    case GSW_ERROR_NOT_A_GRID:
    case GSW_ERROR_IO:
    case GSW_ERROR_FORMAT:
        return CLI_INPUT;
    case GSW_ERROR_ZERO_PIVOT:
    case GSW_ERROR_BREAKDOWN:
    case GSW_ERROR_NON_FINITE:
        return CLI_BREAKDOWN;
    case GSW_ERROR_NO_BACKEND:
    case GSW_ERROR_DEVICE:
    case GSW_ERROR_TIMEOUT:
    case GSW_ERROR_COMMUNICATION:
        return CLI_BACKEND;
    }
    return CLI_INPUT;
}

int cli_status(const cli_options *options, const gsw_context *context, gsw_status status,
               cli_source source) {
    int code = exit_code(status, source);
    if (status == GSW_SUCCESS)
        return CLI_OK;
    const char *message = gsw_context_message(context);
    if (message[0] == '\0')
        message = gsw_status_text(status);
    if (status == GSW_ERROR_UNSUPPORTED && gsw_context_backend(context) == GSW_BACKEND_CUDA) {
        cli_error(options, "%s; --backend cpu can do it", message);
        return CLI_BACKEND;
    }
    if (code == CLI_USAGE)
        return cli_usage(options, "%s", message);
    cli_error(options, "%s", message);
    return code;
}

/* ---- The distance of words, counted in typing errors ---------------------------------------- */

enum { LONGEST = 31, MOST_ERRORS = 2, LETTERS_PER_ERROR = 3 };

static int least(int a, int b) {
    return a < b ? a : b;
}

/* Letters missing, added, wrong, or in the wrong order of two neighbours (Damerau's errors, no
 * letter in two of them). Words are at most LONGEST letters long. */
static int distance(const char *a, const char *b) {
    const int m = (int)strlen(a), n = (int)strlen(b);
    int d[LONGEST + 1][LONGEST + 1]; /* of the first i letters of a and the first j of b */
    for (int i = 0; i <= m; i++)
        for (int j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
                            1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[m][n];
}

const char *cli_nearest(const char *word, const char *const *words) {
    const size_t length = strlen(word);
    if (length > LONGEST)
        return NULL;
    int most = least(MOST_ERRORS, (int)(length + LETTERS_PER_ERROR - 1) / LETTERS_PER_ERROR);
    const char *nearest = NULL;
    for (; *words != NULL; words++) {
        if (strlen(*words) > LONGEST)
            continue;
        const int errors = distance(word, *words);
        if (errors <= most && errors < (int)length) {
            nearest = *words;
            most = errors - 1; /* the first of several */
        }
    }
    return nearest;
}

/* ---- Parsing -------------------------------------------------------------------------------- */

bool cli_parse_integer(const char *text, int64_t minimum, int64_t maximum, int64_t *value) {
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || parsed < minimum || parsed > maximum)
        return false;
    *value = parsed;
    return true;
}

static int set_integer(const cli_options *options, const cli_option *option, const char *text,
                       int64_t *value) {
    int64_t minimum = (int64_t)option->minimum, maximum = (int64_t)option->maximum;
    if (cli_parse_integer(text, minimum, maximum, value))
        return CLI_OK;
    return cli_usage(options, "--%s takes an integer from %lld to %lld, not '%s'", option->name,
                     (long long)minimum, (long long)maximum, text);
}

int cli_parse_threads(const cli_options *options, const char *text, int64_t *value) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t most =
        processors > THREADS_MIN / THREADS_EACH ? processors * THREADS_EACH : THREADS_MIN;
    if (cli_parse_integer(text, 1, most, value))
        return CLI_OK;
    return cli_usage(options, "--threads takes an integer from 1 to %lld on this machine, not '%s'",
                     (long long)most, text);
}

static int set_real(const cli_options *options, const cli_option *option, const char *text,
                    double *value) {
    char *end;
    double parsed = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(parsed))
        return cli_usage(options, "--%s takes a number, not '%s'", option->name, text);
    if (parsed <= option->minimum)
        return cli_usage(options, "--%s must be greater than %g", option->name, option->minimum);
    if (option->closed ? parsed > option->maximum : parsed >= option->maximum)
        return cli_usage(options, "--%s must be %s %g", option->name,
                         option->closed ? "at most" : "less than", option->maximum);
    *value = parsed;
    return CLI_OK;
}

static int set_choice(const cli_options *options, const cli_option *option, const char *text,
                      int *value) {
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *value = i;
            return CLI_OK;
        }
    }
    const char *meant = cli_nearest(text, option->choices);
    if (meant != NULL)
        return cli_usage(options, "--%s takes %s, not '%s'; did you mean '%s'?", option->name,
                         option->argument, text, meant);
    return cli_usage(options, "--%s takes %s, not '%s'", option->name, option->argument, text);
}

static int set_option(cli_options *options, const cli_option *option, const char *text) {
    void *field = (char *)options + option->offset;
    switch (option->type) {
    case CLI_FLAG:
        *(bool *)field = true;
        return CLI_OK;
    case CLI_OPTIONAL_TEXT:
        if (text == NULL)
            text = "all";
        /* fall through */
    case CLI_TEXT:
        if (text[0] == '\0')
            return cli_usage(options, "--%s must not be empty", option->name);
        *(const char **)field = text;
        return CLI_OK;
    case CLI_INTEGER:
        return set_integer(options, option, text, field);
    case CLI_THREADS:
        return cli_parse_threads(options, text, field);
    case CLI_REAL:
        return set_real(options, option, text, field);
    case CLI_CHOICE:
        return set_choice(options, option, text, field);
    }
    return CLI_USAGE;
}

static int argument_kind(const cli_option *option) {
    if (option->type == CLI_OPTIONAL_TEXT)
        return optional_argument;
    return option->argument != NULL ? required_argument : no_argument;
}

/* getopt takes an optional value only after '='; here it may also be the next argument. */
static const char *value_of(const cli_option *option, int argc, char **argv) {
    if (option->type == CLI_OPTIONAL_TEXT && optarg == NULL && optind < argc &&
        argv[optind][0] != '-')
        return argv[optind++];
    return optarg;
}

/* Fills getopt's arrays from the subcommand's list, --help and --help-all. */
static void make_getopt_tables(const cli_command *command, struct option *options, char *letters) {
    int count = 0;
    letters += sprintf(letters, ":h");
    for (const cli_option_id *id = command->options; *id != OPT_END; id++) {
        const cli_option *option = &table[*id];
        options[count++] =
            (struct option){option->name, argument_kind(option), NULL, (int)*id + 256};
        if (option->letter != 0)
            letters += sprintf(letters, "%c%s", option->letter, option->argument ? ":" : "");
    }
    options[count++] = (struct option){"help", no_argument, NULL, (int)OPT_HELP + 256};
    options[count++] = (struct option){"help-all", no_argument, NULL, (int)OPT_HELP_ALL + 256};
    options[count] = (struct option){NULL, 0, NULL, 0};
}

/* The option that getopt's code stands for; NULL: none. */
static const cli_option *option_of(const cli_command *command, int code) {
    if (code >= 256)
        return &table[code - 256];
    for (const cli_option_id *id = command->options; *id != OPT_END; id++)
        if (table[*id].letter != 0 && table[*id].letter == code)
            return &table[*id];
    return NULL;
}

/* An option that getopt does not know, or takes for several: their names begin with it. */
static int reject_name(const cli_options *options, const char *text) {
    char word[64];
    const char *names[OPT_COUNT + 1] = {"help", "help-all"};
    int count = 2, longer = 0;
    for (const cli_option_id *id = options->command->options; *id != OPT_END; id++)
        names[count++] = table[*id].name;
    (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(text + 2, "="), text + 2);
    for (int i = 0; i < count; i++)
        longer += strncmp(word, names[i], strlen(word)) == 0;
    if (longer > 1)
        return cli_usage(options, "option '--%s' is ambiguous: %d options begin with it", word,
                         longer);
    const char *meant = cli_nearest(word, names);
    if (meant != NULL)
        return cli_usage(options, "unknown option '--%s'; did you mean --%s?", word, meant);
    return cli_usage(options, "unknown option '--%s'", word);
}

static int reject_option(const cli_options *options, int code, char **argv) {
    if (code == ':')
        return cli_usage(
            options, "%s needs a value%s", argv[optind - 1],
            strcmp(argv[optind - 1], "--json") == 0 ? ": a file, or - for standard output" : "");
    if (optopt >= 256)
        return cli_usage(options, "--%s takes no value", table[optopt - 256].name);
    if (optopt != 0)
        return cli_usage(options, "unknown option '-%c'", optopt);
    return reject_name(options, argv[optind - 1]);
}

static int take_operand(cli_options *options, int argc, char **argv) {
    const char *operand = options->command->operand;
    if (optind < argc && operand != NULL)
        options->file = argv[optind++];
    if (options->file != NULL && options->file[0] == '\0')
        return cli_usage(options, "%s must not be empty", operand);
    if (optind < argc)
        return cli_usage(options, "unexpected argument '%s'", argv[optind]);
    return CLI_OK;
}

_Static_assert((int)OPT_COUNT <= CLI_OPTIONS_MAX, "cli_options.given has room for each option");

int cli_parse(const cli_command *command, int argc, char **argv, cli_options *options, bool *help) {
    *options = (cli_options){.command = command,
                             .method = GSW_BICGSTAB,
                             .precond = -1,
                             .part = -1,
                             .norm = GSW_NORM_TRUE,
                             .scope = GSW_SCOPE_GLOBAL,
                             .mg_precision = -1,
                             .restart = 30,
                             .max_iter = 10000,
                             .rtol = 1e-8};
    struct option known[OPT_COUNT + 1];
    char letters[2 * OPT_COUNT + 3];
    make_getopt_tables(command, known, letters);
    int code;
    opterr = 0;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet */
    while ((code = getopt_long(argc, argv, letters, known, NULL)) != -1) {
        if (code == 'h' || code == OPT_HELP + 256 || code == OPT_HELP_ALL + 256) {
            *help = true;
            options->help_all = code == OPT_HELP_ALL + 256;
            return CLI_OK;
        }
        const cli_option *option = option_of(command, code);
        int result = option != NULL ? set_option(options, option, value_of(option, argc, argv))
                                    : reject_option(options, code, argv);
        if (result != CLI_OK)
            return result;
        options->given[option - table] = true;
    }
    return take_operand(options, argc, argv);
}
