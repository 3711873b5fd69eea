/* json_keys.h: the keys of the JSON, in the one table from which they are written and described. */
#ifndef GSW_CLI_JSON_KEYS_H
#define GSW_CLI_JSON_KEYS_H

/* The objects that hold keys: bit i is that of cli_json_objects[i]. */
typedef enum cli_holder {
    CLI_INFO = 1 << 0,
    CLI_BUILD = 1 << 1,
    CLI_TUNING = 1 << 2,
    CLI_DETECT = 1 << 3,
    CLI_GENERATE = 1 << 4,
    CLI_FACTOR = 1 << 5,
    CLI_SPTRSV = 1 << 6,
    CLI_SOLVE = 1 << 7,
    CLI_DISTRIBUTED_MULTIGRID = 1 << 8,
    CLI_MULTIGRID = 1 << 9,
    CLI_LEVEL = 1 << 10,
    CLI_HISTORY = 1 << 11,
    CLI_AUTO = 1 << 12,
    CLI_TIME_MS = 1 << 13,
    CLI_BENCH_SWEEP = 1 << 14,
    CLI_SWEEP = 1 << 15,
    CLI_SWEEP_SKIPPED = 1 << 16,
    CLI_BENCH_WHOLE = 1 << 17,
    CLI_WHOLE = 1 << 18,
    CLI_WHOLE_SKIPPED = 1 << 19,
    CLI_BENCH_HPCG = 1 << 20,
    CLI_HPCG = 1 << 21,
    CLI_BENCH_RELAX = 1 << 22,
    CLI_RELAX = 1 << 23,
    CLI_RELAX_SKIPPED = 1 << 24,
    CLI_TUNE = 1 << 25,
    CLI_SHAPES = 1 << 26
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
