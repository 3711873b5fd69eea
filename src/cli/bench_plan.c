/* bench_plan.c: the lists of `gridsweep bench`. */
#include <string.h>
#include "bench.h"

const char *const bench_part_names[] = {"lower", "upper", "both", "symgs", NULL};
const char *const bench_precision_names[] = {"f64", "f32", "f32-factor", NULL};
const char *const bench_cache_names[] = {"warm", "cold", NULL};

/* In the order of gsw_algorithm. */
static const char *const algorithm_names[] = {"auto", "reference", "line", "pencil", NULL};

bool bench_next_entry(const char **list, char *entry, size_t size) {
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

int bench_parse_names(const cli_options *options, const char *option, const char *list,
                      const char *const *names, bench_list *out) {
    char entry[64];
    while (bench_next_entry(&list, entry, sizeof entry)) {
        int found = 0;
        while (names[found] != NULL && strcmp(names[found], entry) != 0)
            found++;
        if (names[found] == NULL)
            return cli_usage(options, "--%s: unknown value '%s'", option, entry);
        if (out->count == BENCH_LIST_MAX)
            return too_many(options, option);
        out->values[out->count++] = found;
    }
    return CLI_OK;
}

static int parse_threads(const cli_options *options, const char *list, bench_list *out) {
    char entry[64];
    if (list == NULL)
        out->count = 1; /* 0: as many as there are */
    while (bench_next_entry(&list, entry, sizeof entry)) {
        int64_t value;
        int code = cli_parse_threads(options, entry, &value);
        if (code != CLI_OK)
            return code;
        if (out->count == BENCH_LIST_MAX)
            return too_many(options, "threads");
        out->values[out->count++] = (int)value;
    }
    return CLI_OK;
}

/* The stencil of a model problem, which a small one tells; on flat grids it can be another. */
static int take_problem(const cli_options *options, bench_plan *plan) {
    const gsw_grid grid = {2, 2, 2};
    gsw_problem *problem = NULL;
    if (options->stencil != NULL)
        return cli_usage(options, "--stencil is for random matrices, not for --problem");
    if (gsw_problem_create(NULL, options->problem, &grid, NULL, &problem) != GSW_SUCCESS)
        return cli_usage(options,
                         "--problem: '%s' is not the name of a problem such as hpcg or random:2; "
                         "its grids go to --size",
                         options->problem);
    plan->stencil[plan->stencils++] = gsw_problem_matrix(problem)->stencil;
    gsw_problem_destroy(problem);
    return CLI_OK;
}

static int parse_stencils(const cli_options *options, const char *list, bench_plan *plan) {
    char entry[64];
    if (options->problem != NULL)
        return take_problem(options, plan);
    while (bench_next_entry(&list, entry, sizeof entry)) {
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
    while (bench_next_entry(&list, entry, sizeof entry)) {
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

void bench_resolve_auto(bench_plan *plan, gsw_algorithm algorithm) {
    bench_list *algorithms = &plan->algorithms;
    for (int i = 0; i < algorithms->count; i++)
        if (algorithms->values[i] == GSW_ALGORITHM_AUTO)
            algorithms->values[i] = (int)algorithm;
}

static bool asks_symgs(const cli_options *options) {
    const char *list = options->parts;
    char entry[64];
    while (bench_next_entry(&list, entry, sizeof entry))
        if (strcmp(entry, bench_part_names[PART_SYMGS]) == 0)
            return true;
    return false;
}

bool bench_asks_compare(const cli_options *options) {
    return options->compare != NULL || options->ablation != NULL || options->caches != NULL ||
           options->backend == GSW_BACKEND_CUDA || asks_symgs(options);
}

static bool contains(const bench_list *list, int value) {
    for (int i = 0; i < list->count; i++)
        if (list->values[i] == value)
            return true;
    return false;
}

/* The model problems are for smoothing alone: the sweeps' tolerances are those of random ones. */
static int check_problem(const cli_options *options, const bench_plan *plan) {
    if (options->problem == NULL || (plan->parts.count == 1 && plan->parts.values[0] == PART_SYMGS))
        return CLI_OK;
    return cli_usage(options, "--problem is for --whole-solve and for --part symgs alone");
}

/* What gsw_smooth() cannot do. */
static int check_symgs(const cli_options *options, const bench_plan *plan) {
    if (!contains(&plan->parts, PART_SYMGS))
        return CLI_OK;
    if (!contains(&plan->precisions, PRECISION_F64))
        return cli_usage(options, "--part symgs runs in f64: add it to --precision");
    if (!contains(&plan->algorithms, GSW_ALGORITHM_PENCIL) &&
        !contains(&plan->algorithms, GSW_ALGORITHM_AUTO))
        return cli_usage(options, "--part symgs takes packed factors: add pencil to --algorithm");
    return CLI_OK;
}

/* What bench_compare() cannot do. */
static int check_compare(const cli_options *options, const bench_plan *plan) {
    if (contains(&plan->parts, PART_BOTH) && !contains(&plan->algorithms, GSW_ALGORITHM_PENCIL))
        return cli_usage(options, "--part both takes packed factors with CUDA, symgs, --compare, "
                                  "--ablation or --cache: add pencil to --algorithm");
    if (plan->threads.count > 1)
        return cli_usage(options, "--threads takes one value with CUDA, --part symgs, --compare, "
                                  "--ablation or --cache");
    if (options->ablation != NULL &&
        !(contains(&plan->parts, PART_LOWER) && contains(&plan->precisions, PRECISION_F64)))
        return cli_usage(options, "--ablation runs with the lower part in f64: add them to --part "
                                  "and --precision");
    if (contains(&plan->caches, CACHE_COLD) && options->backend == GSW_BACKEND_CPU)
        return cli_usage(options, "--cache cold is for a GPU, not for --backend cpu");
    return CLI_OK;
}

static const char *default_parts(const cli_options *options) {
    if (!bench_asks_compare(options))
        return "both";
    return options->ablation != NULL && options->compare == NULL ? "lower" : "lower,upper";
}

int bench_make_plan(const cli_options *options, bench_plan *plan) {
    int code =
        bench_parse_names(options, "part", options->parts ? options->parts : default_parts(options),
                          bench_part_names, &plan->parts);
    if (code == CLI_OK)
        code = check_problem(options, plan);
    if (code == CLI_OK)
        code = parse_stencils(options, options->stencil ? options->stencil : "D3N7", plan);
    if (code == CLI_OK)
        code = parse_sizes(options, options->sizes ? options->sizes : "64,128", plan);
    if (code == CLI_OK)
        code = bench_parse_names(options, "precision",
                                 options->precisions ? options->precisions : "f64",
                                 bench_precision_names, &plan->precisions);
    if (code == CLI_OK)
        code = bench_parse_names(options, "algorithm",
                                 options->algorithms ? options->algorithms : "auto",
                                 algorithm_names, &plan->algorithms);
    if (code == CLI_OK)
        code = bench_parse_names(options, "cache", options->caches ? options->caches : "warm",
                                 bench_cache_names, &plan->caches);
    if (code == CLI_OK)
        code = parse_threads(options, options->thread_list, &plan->threads);
    if (code == CLI_OK)
        code = check_symgs(options, plan);
    if (code == CLI_OK && bench_asks_compare(options))
        code = check_compare(options, plan);
    return code == CLI_OK ? bench_find_rivals(options, plan) : code;
}
