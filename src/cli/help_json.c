/* help_json.c: see help_json.h. */
#include "help_json.h"
#include <cjson/cJSON.h>
#include <string.h>

/* The file gridsweep.schema.json, which CMake turns into an array. */
extern const char cli_json_schema[];

#define SHARED "#/$defs/keys/"

static const char *text_of(const cJSON *object, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    return text != NULL ? text : "";
}

static void print_keys(FILE *stream, void (*print)(FILE *, const char *), const cJSON *keys) {
    const cJSON *key;
    cJSON_ArrayForEach(key, keys) {
        if (strncmp(text_of(key, "$ref"), SHARED, strlen(SHARED)) == 0)
            continue;
        fprintf(stream, ".TP\n.B %s\n", key->string);
        print(stream, text_of(key, "description"));
        fputc('\n', stream);
    }
}

/* The names of the keys that are described with those of other objects. */
static void print_shared(FILE *stream, const cJSON *keys) {
    const char *before = "Shared keys: ";
    const cJSON *key;
    cJSON_ArrayForEach(key, keys) {
        if (strncmp(text_of(key, "$ref"), SHARED, strlen(SHARED)) != 0)
            continue;
        fprintf(stream, "%s%s", before, key->string);
        before = ", ";
    }
    if (*before == ',')
        fputs(".\n", stream);
}

void cli_help_man_json(FILE *stream, void (*print)(FILE *stream, const char *text)) {
    cJSON *schema = cJSON_Parse(cli_json_schema);
    const cJSON *objects = cJSON_GetObjectItem(schema, "$defs"), *object;
    fputs(".SH JSON OUTPUT\n"
          "\\-\\-json writes one JSON object. The file share/gridsweep/gridsweep.schema.json below "
          "the folder of the installation is its JSON Schema (draft 2020\\-12). An object always "
          "has all of its keys; \"Null:\" says when a value is null.\n"
          ".SS Shared keys\n",
          stream);
    print_keys(stream, print, cJSON_GetObjectItem(objects, "keys"));
    cJSON_ArrayForEach(object, objects) {
        const cJSON *keys = cJSON_GetObjectItem(object, "properties");
        if (keys == NULL)
            continue;
        fputs(".SS ", stream);
        print(stream, text_of(object, "title"));
        fputc('\n', stream);
        print(stream, text_of(object, "description"));
        fputc('\n', stream);
        print_shared(stream, keys);
        print_keys(stream, print, keys);
    }
    cJSON_Delete(schema);
}
