/* help_json.c: see help_json.h. */
#include "help_json.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include "output/result.h"

/* Several objects hold it. */
static bool is_shared(const cli_json_key *key) {
    return (key->holders & (key->holders - 1)) != 0;
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

/* ---- The manual page ------------------------------------------------------------------------ */

/* The keys of one object, or those that several share. */
static void print_keys(FILE *stream, void (*print)(FILE *, const char *), bool shared,
                       unsigned holder) {
    for (const cli_json_key *key = cli_json_keys; key->name != NULL; key++) {
        if (is_shared(key) != shared || !(key->holders & holder))
            continue;
        fprintf(stream, ".TP\n.B %s\n", key->name);
        print(stream, key->description);
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

void cli_help_man_json(FILE *stream, void (*print)(FILE *stream, const char *text)) {
    fputs(".SH JSON OUTPUT\n"
          "\\-\\-json writes one JSON object. The file share/gridsweep/gridsweep.schema.json below "
          "the folder of the installation is its JSON Schema (draft 2020\\-12), and "
          "\\(aqgridsweep help \\-\\-schema\\(aq prints it. An object always has all of its keys; "
          "\"Null:\" says when a value is null.\n"
          ".SS Shared keys\n",
          stream);
    print_keys(stream, print, true, ~0U);
    for (int i = 0; cli_json_objects[i].name != NULL; i++) {
        const cli_json_object *object = &cli_json_objects[i];
        fputs(".SS ", stream);
        print(stream, object->title);
        fputc('\n', stream);
        print(stream, object->description);
        fputc('\n', stream);
        print_shared(stream, 1U << i);
        print_keys(stream, print, false, 1U << i);
    }
}
