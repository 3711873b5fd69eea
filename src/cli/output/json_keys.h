/* json_keys.h: the keys of the JSON, in the one table from which they are written and described. */
#ifndef GSW_CLI_JSON_KEYS_H
#define GSW_CLI_JSON_KEYS_H

/* The objects that hold keys: bit i is that of cli_json_objects[i]. */
enum {
#define OBJECT(id, ...) CLI_##id##_BIT,
#include "json_keys.inc"
#undef OBJECT
};
typedef enum cli_holder {
#define OBJECT(id, ...) CLI_##id = 1 << CLI_##id##_BIT,
#include "json_keys.inc"
#undef OBJECT
} cli_holder;

/* A key. Its type is one of JSON Schema, with its least value if it has one ("integer >= 1"), one
 * of some words ("'cpu' 'cuda'"), a value ("false"), another object ("@level"), or several of these
 * ("list of ", "1 or more of ", "3 of ", and "none"). The description says when it is null after
 * "Null: ", or else it never is, and the unit of a number after "Unit: ". */
typedef struct cli_json_key {
    const char *name, *type;
    unsigned holders;
    const char *description;
} cli_json_key;

typedef struct cli_json_object {
    const char *name, *title, *description;
} cli_json_object;

/* Both end with an entry whose name is NULL. The keys of an object are written in this order. */
extern const cli_json_key cli_json_keys[];
extern const cli_json_object cli_json_objects[];

#endif
