/* cmd_bench.c: `gridsweep bench`: times the sweeps and sets them against the copy bandwidth.
 *
 * Every combination of the lists is run; the results come as a table and as JSON. Here: the sweeps
 * of the CPU with any number of threads. What runs on a device or beside rivals, and smoothing, is
 * bench_compare.c's, whole solves are bench_whole.c's.
 */
#include <math.h>
#include <string.h>
#include "bench.h"

#define TABLE_WIDTH   100
#define NUMBERS_WIDTH 50 /* the columns of numbers, one space between them */
#define GROUPS        3  /* groups of columns, set apart where there is room */

typedef struct bench_run {
    bench_plan plan;
    gsw_context *context[BENCH_LIST_MAX]; /* one for each number of threads */
    double copy_gb_s[BENCH_LIST_MAX];
    int widths[5];   /* columns of the table that hold names */
    const char *gap; /* between its groups of columns */
    int wrong;       /* results that differ from the reference */
    cJSON *results;
} bench_run;

/* ---- Table ---------------------------------------------------------------------------------- */

static void widen(int *width, const char *text) {
    int length = (int)strlen(text);
    if (length > *width)
        *width = length;
}

static void grid_name(const gsw_grid *grid, char *text, size_t size) {
    (void)snprintf(text, size, "%lldx%lldx%lld", (long long)grid->nx, (long long)grid->ny,
                   (long long)grid->nz);
}

/* The columns with names are as wide as their widest entry; all entries are known beforehand. */
static void lay_out(bench_run *run) {
    const bench_plan *plan = &run->plan;
    static const char *const headers[] = {"stencil", "size", "part", "type", "algorithm"};
    char text[80];
    gsw_grid grid;
    for (int i = 0; i < 5; i++)
        run->widths[i] = (int)strlen(headers[i]);
    for (int i = 0; i < plan->stencils; i++) {
        widen(&run->widths[0], gsw_stencil_name(&plan->stencil[i]));
        for (int j = 0; j < plan->sizes; j++) {
            if (bench_parse_size(plan->size[j], &plan->stencil[i], &grid) == GSW_SUCCESS)
                grid_name(&grid, text, sizeof text);
            widen(&run->widths[1], text);
        }
    }
    for (int i = 0; i < plan->parts.count; i++)
        widen(&run->widths[2], bench_part_names[plan->parts.values[i]]);
    for (int i = 0; i < plan->precisions.count; i++)
        widen(&run->widths[3], bench_precision_names[plan->precisions.values[i]]);
    for (int i = 0; i < plan->algorithms.count; i++)
        widen(&run->widths[4], gsw_algorithm_name((gsw_algorithm)plan->algorithms.values[i]));
    int total = NUMBERS_WIDTH;
    for (int i = 0; i < 5; i++)
        total += run->widths[i] + 1;
    run->gap = total + GROUPS <= TABLE_WIDTH ? "  " : " ";
}

static void print_names(const cli_options *options, const int *w, const char *stencil,
                        const char *size, const char *part, const char *type,
                        const char *algorithm) {
    cli_print(options, "%-*s %-*s %-*s %-*s %-*s", w[0], stencil, w[1], size, w[2], part, w[3],
              type, w[4], algorithm);
}

static void print_header(const cli_options *options, const bench_run *run) {
    const char *gap = run->gap;
    print_names(options, run->widths, "stencil", "size", "part", "type", "algorithm");
    cli_print(options, "%s%3s %5s %5s %5s %5s%s%5s %5s %4s%s%5s\n", gap, "thr", "setup", "time",
              "min", "max", gap, "eff.", "moved", "of", gap, "max");
    print_names(options, run->widths, "", "", "", "", "");
    cli_print(options, "%s%3s %5s %5s %5s %5s%s%5s %5s %4s%s%5s\n", gap, "", "ms", "ms", "ms", "ms",
              gap, "GB/s", "GB/s", "copy", gap, "error");
}

/* A number in five columns, with as many digits as fit; "-" where there is none. */
static void print_number(const cli_options *options, const char *gap, double value) {
    if (!isfinite(value))
        cli_print(options, "%s%5s", gap, "-");
    else
        cli_print(options, "%s%5.*f", gap,
                  value < 9.9995   ? 3
                  : value < 99.995 ? 2
                  : value < 999.95 ? 1
                                   : 0,
                  value);
}

static void print_row(const cli_options *options, const bench_run *run, const bench_case *bench,
                      const cli_result *result) {
    char size[80];
    grid_name(&result->grid, size, sizeof size);
    print_names(options, run->widths, result->stencil, size, result->part,
                bench_precision_names[bench->precision], result->algorithm);
    cli_print(options, "%s%3d", run->gap, result->threads);
    print_number(options, " ", result->setup_ms);
    print_number(options, " ", result->time.median);
    print_number(options, " ", result->time.minimum);
    print_number(options, " ", result->time.maximum);
    print_number(options, run->gap, result->effective_gb_s);
    print_number(options, " ", result->moved_gb_s);
    if (isfinite(result->fraction_of_copy))
        cli_print(options, " %3.0f%%", 100 * result->fraction_of_copy);
    else
        cli_print(options, " %4s", "-");
    cli_print(options, "%s%5.0e\n", run->gap, result->max_rel_error);
    FILE *stream = cli_human(options);
    if (stream != NULL)
        (void)fflush(stream);
}

/* ---- Combinations --------------------------------------------------------------------------- */

/* A context and the copy bandwidth for each number of threads. */
static int open_contexts(const cli_options *options, bench_run *run) {
    for (int i = 0; i < run->plan.threads.count; i++) {
        cli_options one = *options;
        one.threads = run->plan.threads.values[i];
        int code = cli_open_context(&one, GSW_BACKEND_CPU, NULL, &run->context[i]);
        if (code != CLI_OK)
            return code;
        run->copy_gb_s[i] = cli_copy_bandwidth(gsw_context_threads(run->context[i]));
    }
    return CLI_OK;
}

static int run_algorithm(const cli_options *options, bench_run *run, bench_case *bench,
                         gsw_algorithm algorithm, int thread) {
    gsw_context *context = run->context[thread];
    cli_result result = cli_result_init(options, context, &bench->system->matrix);
    int code = bench_measure(options, context, bench, algorithm, &result);
    if (code != CLI_OK)
        return code;
    result.copy_gb_s = run->copy_gb_s[thread];
    result.fraction_of_copy = result.moved_gb_s / result.copy_gb_s;
    print_row(options, run, bench, &result);
    cJSON_AddItemToArray(run->results, cli_result_json(&result));
    if (!(result.max_rel_error <= bench_tolerance(bench->precision)))
        run->wrong++;
    return CLI_OK;
}

static int run_case(const cli_options *options, bench_run *run, const bench_system *system,
                    bench_part part, bench_precision precision) {
    const bench_list *algorithms = &run->plan.algorithms, *threads = &run->plan.threads;
    bench_case bench = {0};
    bool direct = false;
    for (int i = 0; i < algorithms->count; i++)
        direct |= algorithms->values[i] != GSW_ALGORITHM_PENCIL;
    int code = bench_make_case(options, run->context[0], system, part, precision, direct, &bench);
    for (int i = 0; i < algorithms->count; i++)
        for (int j = 0; j < threads->count && code == CLI_OK; j++)
            code = run_algorithm(options, run, &bench, (gsw_algorithm)algorithms->values[i], j);
    bench_free_case(&bench);
    return code;
}

static int run_system(const cli_options *options, bench_run *run, int stencil, int size) {
    const bench_plan *plan = &run->plan;
    gsw_grid grid;
    bench_system system = {0};
    bool need_f32 = false;
    for (int i = 0; i < plan->precisions.count; i++)
        need_f32 |= plan->precisions.values[i] != PRECISION_F64;
    gsw_status status = bench_parse_size(plan->size[size], &plan->stencil[stencil], &grid);
    if (status != GSW_SUCCESS)
        return cli_status(options, NULL, status, CLI_FROM_OPTION);
    int code = bench_make_system(options, run->context[0], &grid, &plan->stencil[stencil], need_f32,
                                 &system);
    for (int i = 0; i < plan->precisions.count; i++)
        for (int j = 0; j < plan->parts.count && code == CLI_OK; j++)
            code = run_case(options, run, &system, (bench_part)plan->parts.values[j],
                            (bench_precision)plan->precisions.values[i]);
    bench_free_system(&system);
    return code;
}

static void print_footer(const cli_options *options, const bench_run *run) {
    cli_print(options, "\ncopy bandwidth");
    for (int i = 0; i < run->plan.threads.count; i++)
        cli_print(options, "%s %.1f GB/s with %d thread%s", i > 0 ? "," : "", run->copy_gb_s[i],
                  gsw_context_threads(run->context[i]),
                  gsw_context_threads(run->context[i]) == 1 ? "" : "s");
    cli_print(options, "\n%s; gridsweep %s, commit %s\n", gsw_context_device(run->context[0]),
              gsw_version(), gsw_commit());
}

static int write_json(const cli_options *options, const bench_run *run) {
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemReferenceToObject(json, "results", run->results);
    int code = cli_write_json(options, json);
    cJSON_Delete(json);
    return code;
}

static int run_all(const cli_options *options, bench_run *run) {
    int code = open_contexts(options, run);
    if (code != CLI_OK)
        return code;
    lay_out(run);
    print_header(options, run);
    for (int i = 0; i < run->plan.stencils; i++)
        for (int j = 0; j < run->plan.sizes && code == CLI_OK; j++)
            code = run_system(options, run, i, j);
    if (code != CLI_OK)
        return code;
    print_footer(options, run);
    if (run->wrong == 0)
        return options->json != NULL ? write_json(options, run) : CLI_OK;
    cli_error(options, "%d result%s from the reference", run->wrong,
              run->wrong == 1 ? " differs" : "s differ");
    return CLI_BREAKDOWN;
}

static bool contains(const bench_list *list, int value) {
    for (int i = 0; i < list->count; i++)
        if (list->values[i] == value)
            return true;
    return false;
}

static bool contains_only(const bench_list *list, int value) {
    for (int i = 0; i < list->count; i++)
        if (list->values[i] != value)
            return false;
    return true;
}

/* Whether a device could do all that the lists ask for, if it knows the algorithms. An ILU(0) apply
 * there is one of packed factors. */
static bool fits_device(const cli_options *options, const bench_plan *plan) {
    return options->thread_list == NULL && !contains(&plan->algorithms, GSW_ALGORITHM_REFERENCE) &&
           (!contains(&plan->parts, PART_BOTH) ||
            contains_only(&plan->algorithms, GSW_ALGORITHM_PENCIL));
}

/* The algorithms of the plan that a device must know, as one sweep: the one that asks most. */
static gsw_sptrsv_options hardest_sweep(const bench_plan *plan) {
    gsw_sptrsv_options sweep = {.size = sizeof sweep, .algorithm = GSW_ALGORITHM_LINE};
    const gsw_algorithm rising[] = {GSW_ALGORITHM_PENCIL, GSW_ALGORITHM_REFERENCE};
    for (int i = 0; i < 2; i++)
        if (contains(&plan->algorithms, (int)rising[i]))
            sweep.algorithm = rising[i];
    return sweep;
}

/* Opens the backend and runs there what bench_compare.c is for. *done is false where the sweeps of
 * the CPU were asked for after all. */
static int run_compare(const cli_options *options, bench_plan *plan, bool *done) {
    bench_device device = {.copy_gb_s = NAN};
    gsw_sptrsv_options sweep = hardest_sweep(plan);
    gsw_factor_options smoother = {.size = sizeof smoother, .kind = GSW_SSOR};
    cli_work work = {.sweep = &sweep,
                     .factor = contains(&plan->parts, PART_SYMGS) ? &smoother : NULL};
    cli_options one = *options;
    cli_place place = {0};
    one.threads = plan->threads.values[0];
    if (options->backend != GSW_BACKEND_CPU)
        bench_device_open((int)options->device, &device);
    work.stream = device.stream;
    int code = cli_open_place(&one, &work, &place);
    *done = code != CLI_OK || bench_asks_compare(options) || cli_on_device(&place);
    if (code == CLI_OK && *done) {
        bench_resolve_auto(plan, cli_on_device(&place) ? GSW_ALGORITHM_LINE : GSW_ALGORITHM_PENCIL);
        code = bench_compare(options, plan, &place, &device);
    }
    cli_close_place(&place);
    bench_device_close(&device);
    return code;
}

/* Refuses the options of sweeps in whole solves, and the other way round. */
static int check_options(const cli_options *options) {
    static const cli_option_id of_sweeps[] = {OPT_BENCH_SIZE,      OPT_BENCH_PART,
                                              OPT_BENCH_ALGORITHM, OPT_BENCH_ABLATION,
                                              OPT_BENCH_CACHE,     OPT_END};
    static const cli_option_id of_solves[] = {OPT_RHS,  OPT_METHOD,   OPT_PRECOND,
                                              OPT_RTOL, OPT_MAX_ITER, OPT_END};
    const cli_option_id *id = options->whole_solve ? of_sweeps : of_solves;
    while (*id != OPT_END && !cli_given(options, *id))
        id++;
    if (*id == OPT_END && options->whole_solve && options->problem == NULL)
        return cli_usage(options, "--whole-solve needs --problem NAME:NXxNYxNZ");
    if (*id == OPT_END)
        return CLI_OK;
    return cli_usage(options, "--%s is for %s", cli_option_get(*id)->name,
                     options->whole_solve ? "sweeps, not for --whole-solve" : "--whole-solve");
}

int cmd_bench(const cli_options *options) {
    bench_run run = {0};
    bool done = false;
    int code = cli_check_outputs(options);
    if (code == CLI_OK)
        code = check_options(options);
    if (code == CLI_OK && options->whole_solve)
        return bench_whole_solve(options);
    if (code == CLI_OK)
        code = bench_make_plan(options, &run.plan);
    if (code == CLI_OK && (bench_asks_compare(options) ||
                           (options->backend == GSW_BACKEND_AUTO && gsw_device_count() > 0 &&
                            fits_device(options, &run.plan))))
        code = run_compare(options, &run.plan, &done);
    if (code != CLI_OK || done)
        return code;
    bench_resolve_auto(&run.plan, GSW_ALGORITHM_PENCIL);
    run.results = cJSON_CreateArray();
    code = run_all(options, &run);
    cJSON_Delete(run.results);
    for (int i = 0; i < run.plan.threads.count; i++)
        gsw_context_destroy(run.context[i]);
    return code;
}
