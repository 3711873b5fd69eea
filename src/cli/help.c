/* help.c: what --help and the manual page make of the tables of subcommands and options. */
#include <limits.h>
#include <string.h>
#include "output/output.h"
#include "help.h"
#include "help_json.h"

#define HELP_WIDTH  79
#define HELP_INDENT 26

/* The help of an option, with the names of the known stencils where CLI_STENCILS stands. Cut off
 * where it does not fit. */
static const char *option_help(const cli_option *option, char *text, size_t size) {
    const char *place = strstr(option->help, CLI_STENCILS), *name;
    if (place == NULL)
        return option->help;
    (void)snprintf(text, size, "%.*s", (int)(place - option->help), option->help);
    for (int k = 0; (name = gsw_stencil_known(k)) != NULL; k++) {
        const size_t length = strlen(text);
        (void)snprintf(text + length, size - length, "%s%s", k > 0 ? ", " : "", name);
    }
    const size_t length = strlen(text);
    (void)snprintf(text + length, size - length, "%s", place + strlen(CLI_STENCILS));
    return text;
}

static void print_option(FILE *stream, const cli_option *option) {
    char text[1024];
    int column = fprintf(stream, "  ");
    if (option->letter != 0)
        column += fprintf(stream, "-%c, ", option->letter);
    column += fprintf(stream, "--%s%s%s", option->name, option->argument != NULL ? " " : "",
                      option->argument != NULL ? option->argument : "");
    if (column + 2 > HELP_INDENT) {
        fputc('\n', stream);
        column = 0;
    }
    fprintf(stream, "%*s", HELP_INDENT - column, "");
    cli_print_wrapped(stream, option_help(option, text, sizeof text), HELP_WIDTH, HELP_INDENT,
                      HELP_INDENT);
}

/* Takes the next line of a text; false at its end. */
static bool next_line(const char **text, char line[1024]) {
    const size_t length = strcspn(*text, "\n");
    if (**text == '\0')
        return false;
    (void)snprintf(line, 1024, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] == '\n');
    return true;
}

/* The first so many paragraphs, with an empty line between two. */
static void print_paragraphs(FILE *stream, const char *text, int count) {
    char paragraph[1024];
    for (int i = 0; i < count && next_line(&text, paragraph); i++) {
        if (i > 0)
            fputc('\n', stream);
        cli_print_wrapped(stream, paragraph, HELP_WIDTH, 0, 0);
    }
}

static void print_lines(FILE *stream, const char *lines) {
    char line[1024];
    while (next_line(&lines, line))
        fprintf(stream, "  %s\n", line);
}

static const char exit_codes[] = "0  success\n"
                                 "1  the iteration did not converge\n"
                                 "2  bad usage\n"
                                 "3  bad input, or a file could not be read or written\n"
                                 "4  numerical breakdown: bad pivot, division by zero, NaN\n"
                                 "5  no such backend, or its device failed\n";

void cli_help_program(FILE *stream, const cli_command *commands) {
    fputs("Usage: gridsweep COMMAND [OPTION]...\n\n"
          "Exact sparse triangular solves on regular grids, and the preconditioners and\n"
          "Krylov solvers that use them.\n\n"
          "Commands:\n",
          stream);
    for (const cli_command *command = commands; command->name != NULL; command++)
        fprintf(stream, "  %-10s %s\n", command->name, command->summary);
    fputs("\nOptions:\n"
          "  --help     show this text; 'gridsweep COMMAND --help' shows the options\n"
          "  --version  show the version\n\n"
          "Exit status:\n",
          stream);
    print_lines(stream, exit_codes);
    fputs("\nExamples:\n", stream);
    print_lines(stream, "gridsweep generate --problem poisson:64x64x64 --out A.mtx\n"
                        "gridsweep solve A.mtx\n"
                        "gridsweep solve --problem lognormal:60x220x85\n"
                        "gridsweep bench --stencil D3N7,D3N27 --size 64,128\n");
}

/* The groups of --help-all: the first option of each. */
static const struct group {
    cli_option_id first;
    const char *title;
} groups[] = {{OPT_PROBLEM, "System"},      {OPT_METHOD, "Method"},
              {OPT_MG_CYCLE, "Multigrid"},  {OPT_FACTOR_PRECISION, "Precision"},
              {OPT_REPEATS, "Measurement"}, {OPT_BACKEND, "Place to run"},
              {OPT_OUT, "Output"},          {OPT_HELP, NULL}};

static bool takes(const cli_command *command, cli_option_id wanted) {
    const cli_option_id *id = command->options;
    while (*id != OPT_END && *id != wanted)
        id++;
    return *id == wanted;
}

/* Prints the options of a command below the titles of their groups. */
static void print_groups(FILE *stream, const cli_command *command, const char *before,
                         const char *after, void (*print)(FILE *, const cli_option *)) {
    for (const struct group *group = groups; group->title != NULL; group++) {
        bool begun = false;
        for (cli_option_id id = group->first; id < group[1].first; id++) {
            if (!takes(command, id))
                continue;
            if (!begun)
                fprintf(stream, "%s%s%s\n", before, group->title, after);
            begun = true;
            print(stream, cli_option_get(id));
        }
    }
}

void cli_help_command(FILE *stream, const cli_command *command, bool all) {
    int shown = 0;
    fprintf(stream, "Usage: gridsweep %s ", command->name);
    int column = 17 + (int)strlen(command->name);
    cli_print_wrapped(stream, command->arguments, HELP_WIDTH, column, column);
    fputc('\n', stream);
    print_paragraphs(stream, command->description, all ? INT_MAX : 1);
    if (all)
        print_groups(stream, command, "\n", ":", print_option);
    fputs(all ? "\nHelp:\n" : "\nOptions:\n", stream);
    for (; !all && shown < command->common && command->options[shown] != OPT_END; shown++)
        print_option(stream, cli_option_get(command->options[shown]));
    print_option(stream, cli_option_get(OPT_HELP));
    print_option(stream, cli_option_get(OPT_HELP_ALL));
    fputs("\nExamples:\n", stream);
    print_lines(stream, command->examples);
    if (!all && command->options[shown] != OPT_END)
        fprintf(stream, "\n'gridsweep %s --help-all' shows all options.\n", command->name);
}

/* ---- Manual page ---------------------------------------------------------------------------- */

/* Text with roff's special characters escaped. */
static void print_roff(FILE *stream, const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stream);
    for (; *text != '\0'; text++) {
        if (*text == '-')
            fputs("\\-", stream);
        else if (*text == '\\')
            fputs("\\e", stream);
        else if (*text == '\'')
            fputs("\\(aq", stream);
        else
            fputc(*text, stream);
    }
}

static void print_man_option(FILE *stream, const cli_option *option) {
    char text[1024];
    fputs(".TP\n.B ", stream);
    if (option->letter != 0)
        fprintf(stream, "\\-%c, ", option->letter);
    fputs("\\-\\-", stream);
    print_roff(stream, option->name);
    if (option->argument != NULL) {
        fputc(' ', stream);
        print_roff(stream, option->argument);
    }
    fputc('\n', stream);
    print_roff(stream, option_help(option, text, sizeof text));
    fputs(".\n", stream);
}

/* Lines as they are, each with its special characters escaped. */
static void print_man_lines(FILE *stream, const char *lines) {
    char line[1024];
    fputs(".nf\n", stream);
    while (next_line(&lines, line)) {
        print_roff(stream, line);
        fputc('\n', stream);
    }
    fputs(".fi\n", stream);
}

static void print_man_command(FILE *stream, const cli_command *command) {
    fprintf(stream, ".SS gridsweep %s ", command->name);
    print_roff(stream, command->arguments);
    fputc('\n', stream);
    const char *text = command->description;
    char paragraph[1024];
    for (bool first = true; next_line(&text, paragraph); first = false) {
        fputs(first ? "" : ".PP\n", stream);
        print_roff(stream, paragraph);
        fputc('\n', stream);
    }
    print_groups(stream, command, ".PP\n.I ", "", print_man_option);
}

void cli_help_man(FILE *stream, const cli_command *commands) {
    fprintf(
        stream,
        ".TH GRIDSWEEP 1 \"\" \"gridsweep %s\" \"User Commands\"\n"
        ".nh\n.ad l\n"
        ".SH NAME\n"
        "gridsweep \\- exact sparse triangular solves, ILU, multigrid and Krylov solvers on "
        "regular grids\n"
        ".SH SYNOPSIS\n.B gridsweep\n.I COMMAND\n[\\fIOPTION\\fR]...\n"
        ".SH DESCRIPTION\n"
        "gridsweep solves sparse linear systems on regular grids, and the triangular systems of "
        "their "
        "incomplete factorisations. The triangular solves are exact and in natural order. Vectors "
        "are Matrix Market dense arrays; matrices are Matrix Market coordinate files. Options may "
        "come before or after FILE.mtx. For input, \\- is standard input. Every command takes "
        "\\-\\-help, which shows the common options, and \\-\\-help\\-all.\n.PP\n"
        "The program decompresses input that gzip has compressed. It compresses an output whose "
        "name "
        "ends in .gz. It replaces an existing file only when the whole new one is written. "
        "After an error or a signal the old file is there, and no other file.\n"
        ".SH COMMANDS\n",
        gsw_version());
    for (const cli_command *command = commands; command->name != NULL; command++)
        print_man_command(stream, command);
    cli_help_man_json(stream, print_roff);
    fputs(".SH EXIT STATUS\n", stream);
    print_man_lines(stream, exit_codes);
    fputs(".SH EXAMPLES\n", stream);
    for (const cli_command *command = commands; command->name != NULL; command++)
        print_man_lines(stream, command->examples);
}
