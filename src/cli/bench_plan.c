/* bench_plan.c: the lists of `gridsweep bench`. */
#include <string.h>
#include "bench.h"

const char *const bench_part_names[] = {"lower", "upper", "both", NULL};
const char *const bench_precision_names[] = {"f64", "f32", "f32-factor", NULL};

/* In the order of gsw_algorithm. */
static const char *const algorithm_names[] = {"auto", "reference", "line", "pencil", NULL};

/* Takes the next entry of a list separated by commas into `entry`. Returns false at the end; an
 * entry that is empty or too long comes out as "". */
static bool next_entry(const char **list, char *entry, size_t size) {
    if (*list == NULL)
        return false;
    size_t length = strcspn(*list, ",");
    (void)snprintf(entry, size, "%.*s", length < size ? (int)length : 0, *list);
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    return true;
}

static int too_many(const cli_options *options, const char *name) {
    return cli_usage(options, "--%s takes at most %d values", name, BENCH_LIST_MAX);
}

static int parse_names(const cli_options *options, const char *name, const char *list,
                       const char *const *names, bench_list *out) {
    char entry[64];
    while (next_entry(&list, entry, sizeof entry)) {
        int found = 0;
        while (names[found] != NULL && strcmp(names[found], entry) != 0)
            found++;
        if (names[found] == NULL)
            return cli_usage(options, "--%s: unknown value '%s'", name, entry);
        if (out->count == BENCH_LIST_MAX)
            return too_many(options, name);
        out->values[out->count++] = found;
    }
    return CLI_OK;
}

static int parse_threads(const cli_options *options, const char *list, bench_list *out) {
    char entry[64];
    if (list == NULL)
        out->count = 1; /* 0: as many as there are */
    while (next_entry(&list, entry, sizeof entry)) {
        int64_t value;
        if (!cli_parse_integer(entry, 1, 65536, &value))
            return cli_usage(options, "--threads takes integers from 1 to 65536, not '%s'", entry);
        if (out->count == BENCH_LIST_MAX)
            return too_many(options, "threads");
        out->values[out->count++] = (int)value;
    }
    return CLI_OK;
}

static int parse_stencils(const cli_options *options, const char *list, bench_plan *plan) {
    char entry[64];
    while (next_entry(&list, entry, sizeof entry)) {
        if (plan->stencils == BENCH_LIST_MAX)
            return too_many(options, "stencil");
        if (gsw_stencil_named(entry, &plan->stencil[plan->stencils++]) != GSW_SUCCESS)
            return cli_usage(options, "--stencil: '%s' is not a stencil such as D3N7", entry);
    }
    return CLI_OK;
}

static bool is_planar(const gsw_stencil *stencil) {
    for (int32_t e = 0; e < stencil->count; e++)
        if (stencil->offsets[e].dz != 0)
            return false;
    return true;
}

/* "N" or "NXxNY" or "NXxNYxNZ" into a grid for that stencil. */
gsw_status bench_parse_size(const char *text, const gsw_stencil *stencil, gsw_grid *grid) {
    int64_t n, points;
    if (cli_parse_integer(text, 1, INT64_MAX, &n)) {
        *grid = (gsw_grid){n, n, is_planar(stencil) ? 1 : n};
        return gsw_grid_points(grid, &points);
    }
    return gsw_grid_parse(NULL, text, grid);
}

static int parse_sizes(const cli_options *options, const char *list, bench_plan *plan) {
    char entry[64];
    while (next_entry(&list, entry, sizeof entry)) {
        gsw_grid grid;
        if (plan->sizes == BENCH_LIST_MAX)
            return too_many(options, "size");
        for (int i = 0; i < plan->stencils; i++)
            if (bench_parse_size(entry, &plan->stencil[i], &grid) != GSW_SUCCESS)
                return cli_usage(options, "--size: '%s' is not a grid such as 64 or 60x220x85",
                                 entry);
        (void)snprintf(plan->size[plan->sizes++], sizeof plan->size[0], "%s", entry);
    }
    return CLI_OK;
}

/* auto stands for the algorithm that bench is about. */
static void resolve_auto(bench_list *algorithms) {
    for (int i = 0; i < algorithms->count; i++)
        if (algorithms->values[i] == GSW_ALGORITHM_AUTO)
            algorithms->values[i] = GSW_ALGORITHM_PENCIL;
}

int bench_make_plan(const cli_options *options, bench_plan *plan) {
    int code = parse_stencils(options, options->stencil ? options->stencil : "D3N7", plan);
    if (code == CLI_OK)
        code = parse_sizes(options, options->sizes ? options->sizes : "64,128", plan);
    if (code == CLI_OK)
        code = parse_names(options, "part", options->parts ? options->parts : "both",
                           bench_part_names, &plan->parts);
    if (code == CLI_OK)
        code = parse_names(options, "precision", options->precisions ? options->precisions : "f64",
                           bench_precision_names, &plan->precisions);
    if (code == CLI_OK)
        code = parse_names(options, "algorithm", options->algorithms ? options->algorithms : "auto",
                           algorithm_names, &plan->algorithms);
    if (code == CLI_OK)
        code = parse_threads(options, options->thread_list, &plan->threads);
    resolve_auto(&plan->algorithms);
    return code;
}
