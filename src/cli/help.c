/* help.c: what --help, the manual page and the schema make of the tables of subcommands, options
 * and keys of the JSON. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <cjson/cJSON.h>
#include "output/output.h"
#include "output/result.h"
#include "help.h"

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
        static const char special[] = "-\\'", *const escaped[] = {"\\-", "\\e", "\\(aq"};
        const char *found = strchr(special, *text);
        fprintf(stream, "%.*s", found != NULL ? 4 : 1,
                found != NULL ? escaped[found - special] : text);
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

/* Several objects hold it. */
static bool is_shared(const cli_json_key *key) {
    return (key->holders & (key->holders - 1)) != 0;
}

/* The keys of one object, or those that several share. */
static void print_keys(FILE *stream, bool shared, unsigned holder) {
    for (const cli_json_key *key = cli_json_keys; key->name != NULL; key++) {
        if (is_shared(key) != shared || !(key->holders & holder))
            continue;
        fprintf(stream, ".TP\n.B %s\n", key->name);
        print_roff(stream, key->description);
        fputc('\n', stream);
    }
}

/* The names of the keys that are described with those of other objects. */
static void print_shared(FILE *stream, unsigned holder) {
    const char *before = "Shared keys: ";
    for (const cli_json_key *key = cli_json_keys; key->name != NULL; key++) {
        if (!is_shared(key) || !(key->holders & holder))
            continue;
        fprintf(stream, "%s%s", before, key->name);
        before = ", ";
    }
    if (*before == ',')
        fputs(".\n", stream);
}

static void print_man_json(FILE *stream) {
    fputs(".SH JSON OUTPUT\n"
          "\\-\\-json writes one JSON object. The file share/gridsweep/gridsweep.schema.json below "
          "the folder of the installation is its JSON Schema (draft 2020\\-12), and "
          "\\(aqgridsweep help \\-\\-schema\\(aq prints it. An object always has all of its keys; "
          "\"Null:\" says when a value is null.\n"
          ".SS Shared keys\n",
          stream);
    print_keys(stream, true, ~0U);
    for (int i = 0; cli_json_objects[i].name != NULL; i++) {
        const cli_json_object *object = &cli_json_objects[i];
        fputs(".SS ", stream);
        print_roff(stream, object->title);
        fputc('\n', stream);
        print_roff(stream, object->description);
        fputc('\n', stream);
        print_shared(stream, 1U << i);
        print_keys(stream, false, 1U << i);
    }
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
    print_man_json(stream);
    fputs(".SH EXIT STATUS\n", stream);
    print_man_lines(stream, exit_codes);
    fputs(".SH EXAMPLES\n", stream);
    for (const cli_command *command = commands; command->name != NULL; command++)
        print_man_lines(stream, command->examples);
}

/* ---- The schema ----------------------------------------------------------------------------- */

/* What follows these words at the beginning of a type; NULL: they are not there. */
static const char *after(const char *type, const char *words) {
    const size_t length = strlen(words);
    return strncmp(type, words, length) == 0 ? type + length : NULL;
}

static void add_ref(cJSON *to, const char *before, const char *name) {
    char target[96];
    (void)snprintf(target, sizeof target, "#/$defs/%s%s", before, name);
    cJSON_AddStringToObject(to, "$ref", target);
}

/* A reference, such as "@tuning" or "@tuning or null". */
static void add_object(cJSON *to, const char *name, bool nullable) {
    char word[32] = "";
    (void)sscanf(name, "%31s", word);
    cJSON *place = to;
    if (nullable || strstr(name, " or null") != NULL) {
        cJSON *either = cJSON_AddArrayToObject(to, "anyOf"), *null = cJSON_CreateObject();
        place = cJSON_CreateObject();
        cJSON_AddStringToObject(null, "type", "null");
        cJSON_AddItemToArray(either, place);
        cJSON_AddItemToArray(either, null);
    }
    add_ref(place, "", word);
}

/* A type of JSON Schema, perhaps with its least value. */
static void add_simple(cJSON *to, const char *type, bool nullable) {
    char word[16] = "";
    (void)sscanf(type, "%15s", word);
    const char *least = strstr(type, ">= ");
    const char *const both[] = {word, "null"};
    cJSON_AddItemToObject(to, "type",
                          nullable ? cJSON_CreateStringArray(both, 2) : cJSON_CreateString(word));
    if (least != NULL)
        cJSON_AddNumberToObject(to, "minimum", (double)strtol(least + 3, NULL, 10));
}

/* Words, such as "'cpu' 'cuda'". */
static void add_words(cJSON *to, const char *words, bool nullable) {
    add_simple(to, "string", nullable);
    cJSON *list = cJSON_AddArrayToObject(to, "enum");
    char word[32];
    for (; sscanf(words, " '%31[^']", word) == 1; words = strchr(words + 2, '\'') + 1)
        cJSON_AddItemToArray(list, cJSON_CreateString(word));
    if (nullable)
        cJSON_AddItemToArray(list, cJSON_CreateNull());
}

/* What json_keys.h says of types, as members of a schema. */
static void add_type(cJSON *to, const char *type, bool nullable) {
    static const struct several {
        const char *words;
        int least, most;
    } several[] = {{"list of ", 0, -1}, {"1 or more of ", 1, -1}, {"3 of ", 3, 3}, {"none", 0, 0}};
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        const char *rest = after(type, several[i].words);
        if (rest == NULL)
            continue;
        cJSON_AddStringToObject(to, "type", "array");
        if (*rest != '\0')
            add_type(cJSON_AddObjectToObject(to, "items"), rest, false);
        if (several[i].least > 0)
            cJSON_AddNumberToObject(to, "minItems", several[i].least);
        if (several[i].most >= 0)
            cJSON_AddNumberToObject(to, "maxItems", several[i].most);
        return;
    }
    cJSON *constant = cJSON_Parse(type);
    if (constant != NULL)
        cJSON_AddItemToObject(to, "const", constant);
    else if (*type == '@')
        add_object(to, type + 1, nullable);
    else if (*type == '\'')
        add_words(to, type, nullable);
    else
        add_simple(to, type, nullable);
}

static void add_key(cJSON *keys, const cli_json_key *key) {
    cJSON *entry = cJSON_AddObjectToObject(keys, key->name);
    add_type(entry, key->type, strstr(key->description, " Null: ") != NULL);
    cJSON_AddStringToObject(entry, "description", key->description);
}

/* The object with all of its keys, and no other. */
static void add_definition(cJSON *definitions, const cli_json_object *object, unsigned holder) {
    cJSON *entry = cJSON_AddObjectToObject(definitions, object->name);
    cJSON_AddStringToObject(entry, "title", object->title);
    cJSON_AddStringToObject(entry, "description", object->description);
    cJSON_AddStringToObject(entry, "type", "object");
    cJSON_AddFalseToObject(entry, "additionalProperties");
    cJSON *required = cJSON_AddArrayToObject(entry, "required");
    cJSON *keys = cJSON_AddObjectToObject(entry, "properties");
    for (const cli_json_key *key = cli_json_keys; key->name != NULL; key++) {
        if (!(key->holders & holder))
            continue;
        cJSON_AddItemToArray(required, cJSON_CreateString(key->name));
        if (is_shared(key))
            add_ref(cJSON_AddObjectToObject(keys, key->name), "keys/$defs/", key->name);
        else
            add_key(keys, key);
    }
    /* What a command writes has its name: "bench" for bench_sweep. */
    char command[32] = "";
    (void)sscanf(object->name, "%31[^_]", command);
    cJSON_AddStringToObject(cJSON_GetObjectItem(keys, "command"), "const", command);
}

static void add_choice(cJSON *choices, const char *name) {
    cJSON *entry = cJSON_CreateObject();
    add_ref(entry, "", name);
    cJSON_AddItemToArray(choices, entry);
}

bool cli_help_schema(FILE *stream) {
    cJSON *schema = cJSON_CreateObject();
    cJSON_AddStringToObject(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    cJSON_AddStringToObject(schema, "title", "JSON output of gridsweep");
    cJSON_AddStringToObject(schema, "description",
                            "What the commands of gridsweep write with --json.");
    cJSON *commands = cJSON_AddArrayToObject(schema, "oneOf");
    cJSON *definitions = cJSON_AddObjectToObject(schema, "$defs");
    cJSON *keys = cJSON_AddObjectToObject(definitions, "keys");
    cJSON *shared = cJSON_AddObjectToObject(keys, "$defs");
    for (const cli_json_key *key = cli_json_keys; key->name != NULL; key++)
        if (is_shared(key))
            add_key(shared, key);
    cJSON *bench = cJSON_AddObjectToObject(definitions, "bench");
    cJSON_AddStringToObject(bench, "description", "Output of gridsweep bench.");
    cJSON *benches = cJSON_AddArrayToObject(bench, "oneOf");
    add_choice(commands, "bench");
    for (int i = 0; cli_json_objects[i].name != NULL; i++) {
        const char *name = cli_json_objects[i].name;
        add_definition(definitions, &cli_json_objects[i], 1U << i);
        if ((cli_json_keys[0].holders >> i & 1) != 0) /* the first key is that of commands */
            add_choice(after(name, "bench_") != NULL ? benches : commands, name);
    }
    char *text = cli_json_is_whole() ? cJSON_Print(schema) : NULL;
    if (text != NULL)
        fprintf(stream, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(schema);
    return text != NULL;
}
