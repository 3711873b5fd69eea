/* plan.c: the lists of `gridsweep bench`, and the cases that they make. */
#include "plan.h"
#include <stdio.h>
#include <string.h>
#include "output/boxes.h"
#include "common/processes.h"

enum { HPCG_LEAST = 16 }; /* as HPCG has it */

enum { HEIGHT_MOST = 8 }; /* as relax.h has it */

/* `single` names what takes one number; NULL: a list is taken. */
static int parse_threads(const cli_options *options, const char *single, bench_list *out) {
    const char *list = options->thread_list;
    char entry[64];
    if (single != NULL && list != NULL && strchr(list, ',') != NULL)
        return cli_usage(options, "--threads takes one value with %s", single);
    if (list == NULL)
        out->count = 1; /* 0: as many as there are */
    while (bench_next_entry(&list, entry, sizeof entry)) {
        int64_t value;
        int code = cli_parse_threads(options, entry, &value);
        if (code != CLI_OK)
            return code;
        if (out->count == BENCH_LIST_MAX)
            return bench_too_many(options, OPT_BENCH_THREADS);
        out->values[out->count++] = (int)value;
    }
    return CLI_OK;
}

/* The stencil of a model problem, found on a small grid; on flat grids it can be another. */
static int take_problem(const cli_options *options, bench_plan *plan) {
    const gsw_grid grid = {3, 3, 3}; /* so many points have periodic axes */
    gsw_problem *problem = NULL;
    if (options->stencil != NULL)
        return cli_usage(options, "--stencil is for random matrices, not for --problem");
    if (gsw_problem_create(NULL, options->problem, &grid, NULL, &problem) != GSW_SUCCESS)
        return cli_usage(options,
                         "--problem: '%s' is not the name of a problem such as hpcg or random:2; "
                         "its grids go to --size",
                         options->problem);
    const int32_t periodic = gsw_problem_matrix(problem)->grid.periodic;
    plan->stencil[plan->stencils++] = gsw_problem_matrix(problem)->stencil;
    gsw_problem_destroy(problem);
    return periodic ? cli_usage(options, "--problem: '%s' is periodic: it is for --whole-solve",
                                options->problem)
                    : CLI_OK;
}

static int parse_stencils(const cli_options *options, const char *list, bench_plan *plan) {
    char entry[64];
    if (options->problem != NULL)
        return take_problem(options, plan);
    while (bench_next_entry(&list, entry, sizeof entry)) {
        if (plan->stencils == BENCH_LIST_MAX)
            return bench_too_many(options, OPT_BENCH_STENCIL);
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
static gsw_status parse_size(const char *text, const gsw_stencil *stencil, gsw_grid *grid) {
    int64_t n, points;
    if (cli_parse_integer(text, 1, INT64_MAX, &n)) {
        *grid = (gsw_grid){n, n, is_planar(stencil) ? 1 : n};
        return gsw_grid_points(grid, &points);
    }
    return gsw_grid_parse(NULL, text, grid);
}

/* --stencil and --size, or the usual ones. */
static int parse_grids(const cli_options *options, const char *stencils, const char *sizes,
                       bench_plan *plan) {
    const char *list = options->sizes != NULL ? options->sizes : sizes;
    char entry[64];
    int code =
        parse_stencils(options, options->stencil != NULL ? options->stencil : stencils, plan);
    while (code == CLI_OK && bench_next_entry(&list, entry, sizeof entry)) {
        if (plan->sizes == BENCH_LIST_MAX)
            return bench_too_many(options, OPT_SIZE);
        for (int i = 0; i < plan->stencils; i++)
            if (parse_size(entry, &plan->stencil[i], &plan->grid[i][plan->sizes]) != GSW_SUCCESS)
                return cli_usage(options, "--size: '%s' is not a grid such as 64 or 60x220x85",
                                 entry);
        plan->sizes++;
    }
    return code;
}

void bench_resolve_auto(bench_plan *plan, gsw_algorithm algorithm) {
    bench_list *algorithms = &plan->algorithms;
    for (int i = 0; i < algorithms->count; i++)
        if (algorithms->values[i] == GSW_ALGORITHM_AUTO)
            algorithms->values[i] = (int)algorithm;
}

/* Whether the options themselves ask for MODE_CSR. */
static bool asks_csr(const cli_options *options, const bench_plan *plan) {
    return options->compare != NULL || options->ablation != NULL || options->caches != NULL ||
           options->backend == GSW_BACKEND_CUDA || bench_contains(&plan->parts, PART_SYMGS);
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
    return options->thread_list == NULL &&
           !bench_contains(&plan->algorithms, GSW_ALGORITHM_REFERENCE) &&
           (!bench_contains(&plan->parts, PART_BOTH) ||
            contains_only(&plan->algorithms, GSW_ALGORITHM_PENCIL));
}

/* The model problems are for smoothing alone: the sweeps' tolerances are those of random ones. */
static int check_problem(const cli_options *options, const bench_plan *plan) {
    if (options->problem == NULL ||
        (plan->parts.count == 1 &&
         (plan->parts.values[0] == PART_SYMGS || plan->parts.values[0] == PART_RELAX)))
        return CLI_OK;
    return cli_usage(options, "--problem is for --whole-solve and for --part symgs or relax alone");
}

/* What gsw_smooth() cannot do. */
static int check_symgs(const cli_options *options, const bench_plan *plan) {
    if (!bench_contains(&plan->parts, PART_SYMGS))
        return CLI_OK;
    if (!bench_contains(&plan->precisions, PRECISION_F64))
        return cli_usage(options, "--part symgs runs in f64: add it to --precision");
    if (!bench_contains(&plan->algorithms, GSW_ALGORITHM_PENCIL) &&
        !bench_contains(&plan->algorithms, GSW_ALGORITHM_AUTO))
        return cli_usage(options, "--part symgs takes packed factors: add pencil to --algorithm");
    return CLI_OK;
}

/* What MODE_CSR cannot do. */
static int check_csr(const cli_options *options, const bench_plan *plan) {
    const bool on_cpu = options->backend == GSW_BACKEND_CPU ||
                        (options->backend == GSW_BACKEND_AUTO && gsw_device_count() == 0);
    if (bench_contains(&plan->parts, PART_BOTH) &&
        !bench_contains(&plan->algorithms, GSW_ALGORITHM_PENCIL) &&
        !(on_cpu && bench_contains(&plan->algorithms, GSW_ALGORITHM_AUTO)))
        return cli_usage(options, "--part both takes packed factors with CUDA, symgs, --compare, "
                                  "--ablation or --cache: add pencil to --algorithm");
    if (plan->threads.count > 1)
        return cli_usage(options, "--threads takes one value with CUDA, --part symgs, --compare, "
                                  "--ablation or --cache");
    if (options->ablation != NULL && !(bench_contains(&plan->parts, PART_LOWER) &&
                                       bench_contains(&plan->precisions, PRECISION_F64)))
        return cli_usage(options, "--ablation runs with the lower part in f64: add them to --part "
                                  "and --precision");
    if (bench_contains(&plan->caches, CACHE_COLD) && options->backend == GSW_BACKEND_CPU)
        return cli_usage(options, "--cache cold is for a GPU, not for --backend cpu");
    return CLI_OK;
}

/* Takes "N" or "FIRST-LAST" of --heights. */
static bool parse_heights(char *entry, bench_list *heights) {
    int64_t first, last;
    char *dash = strchr(entry, '-');
    if (dash != NULL)
        *dash++ = '\0';
    if (!cli_parse_integer(entry, 1, HEIGHT_MOST, &first) ||
        !cli_parse_integer(dash != NULL ? dash : entry, first, HEIGHT_MOST, &last))
        return false;
    for (; first <= last; first++)
        if (!bench_contains(heights, (int)first))
            heights->values[heights->count++] = (int)first;
    return true;
}

/* --part relax: each grid of --size is a case, and each height a contestant. */
static int plan_relax(const cli_options *options, bench_plan *plan) {
    const char *list = options->heights != NULL ? options->heights : "1-8";
    char entry[64];
    plan->mode = MODE_RELAX;
    int code = cli_refuse(options, "is not for --part relax", OPT_PRECISION, OPT_BENCH_ALGORITHM,
                          OPT_COMPARE, OPT_ABLATION, OPT_CACHE, OPT_END);
    while (code == CLI_OK && bench_next_entry(&list, entry, sizeof entry)) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s", entry);
        if (!parse_heights(entry, &plan->heights))
            return cli_usage(options,
                             "--heights: '%s' is not a height of 1 to %d, such as 4, or "
                             "a range such as 1-8",
                             text, HEIGHT_MOST);
    }
    if (code == CLI_OK)
        code = parse_grids(options, "D3N7", "64,128", plan);
    return code == CLI_OK ? parse_threads(options, "--part relax", &plan->threads) : code;
}

/* Without a --part: what the other options are about. */
static const char *default_parts(const cli_options *options) {
    if (!asks_csr(options, &(bench_plan){0}))
        return "both";
    return options->ablation != NULL && options->compare == NULL ? "lower" : "lower,upper";
}

static int plan_sweeps(const cli_options *options, bench_plan *plan) {
    int code = bench_parse_names(options, OPT_BENCH_PART, default_parts(options), &plan->parts);
    if (code == CLI_OK)
        code = check_problem(options, plan);
    if (code == CLI_OK && bench_contains(&plan->parts, PART_RELAX))
        return plan->parts.count == 1
                   ? plan_relax(options, plan)
                   : cli_usage(options, "--part relax runs alone: leave out the other parts");
    if (code == CLI_OK && options->heights != NULL)
        return cli_usage(options, "--heights is for --part relax");
    if (code == CLI_OK)
        code = parse_grids(options, "D3N7", "64,128", plan);
    if (code == CLI_OK)
        code = bench_parse_names(options, OPT_PRECISION, "f64", &plan->precisions);
    if (code == CLI_OK)
        code = bench_parse_names(options, OPT_BENCH_ALGORITHM, "auto", &plan->algorithms);
    if (code == CLI_OK)
        code = bench_parse_names(options, OPT_CACHE, "warm", &plan->caches);
    if (code == CLI_OK)
        code = parse_threads(options, NULL, &plan->threads);
    if (code == CLI_OK)
        code = check_symgs(options, plan);
    if (code != CLI_OK)
        return code;
    plan->if_able = !asks_csr(options, plan);
    if (!plan->if_able)
        code = check_csr(options, plan);
    if (!plan->if_able || (options->backend == GSW_BACKEND_AUTO && gsw_device_count() > 0 &&
                           fits_device(options, plan)))
        plan->mode = MODE_CSR;
    return code == CLI_OK ? bench_find_rivals(options, false, &plan->rivals) : code;
}

/* --precond; what is named twice counts once. */
static int parse_preconds(const cli_options *options, bench_plan *plan) {
    bench_list list = {0};
    int code = bench_parse_names(options, OPT_BENCH_PRECOND, "ilu0", &list);
    for (int i = 0; i < list.count && code == CLI_OK; i++)
        if (!bench_contains(&plan->preconds, list.values[i]))
            plan->preconds.values[plan->preconds.count++] = list.values[i];
    return code;
}

/* Options of multigrid ask for multigrid. */
static int check_multigrid(const cli_options *options, const bench_plan *plan) {
    return bench_contains(&plan->preconds, CLI_PRECOND_MG)
               ? CLI_OK
               : cli_refuse(options, "is for multigrid: add mg to --precond", OPT_MG_CYCLE,
                            OPT_MG_SMOOTHER, OPT_MG_THETA, OPT_MG_PRECISION, OPT_END);
}

/* One case: the system of --problem. Its contestants differ in their preconditioner. */
static int plan_whole(const cli_options *options, bench_plan *plan) {
    plan->mode = MODE_WHOLE;
    plan->parts = (bench_list){1, {PART_WHOLE}};
    int code = bench_parse_names(options, OPT_PRECISION, "f64", &plan->precisions);
    if (code == CLI_OK)
        code = parse_preconds(options, plan);
    if (code == CLI_OK)
        code = check_multigrid(options, plan);
    if (code == CLI_OK && bench_contains(&plan->precisions, PRECISION_F32))
        return cli_usage(options, "--precision f32 is for sweeps; --whole-solve takes f64 and "
                                  "f32-factor");
    if (code == CLI_OK)
        code = cli_boxes_refuse(options);
    if (code == CLI_OK && cli_processes() > 1 &&
        bench_contains(&plan->precisions, PRECISION_F32_FACTOR))
        return cli_usage(options, "--precision f32-factor is for a single process");
    if (code == CLI_OK)
        code = bench_find_rivals(options, true, &plan->rivals);
    return code == CLI_OK ? parse_threads(options, "--whole-solve", &plan->threads) : code;
}

/* Each grid of --size is a case. */
static int plan_hpcg(const cli_options *options, bench_plan *plan) {
    plan->mode = MODE_HPCG;
    plan->parts = (bench_list){1, {PART_HPCG}};
    int code = parse_grids(options, "D3N27", "104", plan);
    const char *list = options->sizes;
    char entry[64];
    for (int i = 0; i < plan->sizes && code == CLI_OK; i++) {
        const gsw_grid *grid = &plan->grid[0][i];
        (void)bench_next_entry(&list, entry, sizeof entry);
        if (grid->nx < HPCG_LEAST || grid->ny < HPCG_LEAST || grid->nz < HPCG_LEAST)
            code = cli_usage(options, "--size: '%s': HPCG's grids have at least %d points per axis",
                             entry, HPCG_LEAST);
    }
    return code == CLI_OK ? parse_threads(options, "--hpcg", &plan->threads) : code;
}

/* Refuses the options of sweeps in whole solves, and the other way round. */
static int check_options(const cli_options *options) {
    if (options->hpcg) /* what it prescribes itself */
        return cli_refuse(options, "is not for --hpcg", OPT_BENCH_STENCIL, OPT_BENCH_PART,
                          OPT_PRECISION, OPT_BENCH_ALGORITHM, OPT_COMPARE, OPT_ABLATION, OPT_CACHE,
                          OPT_BENCH_PROBLEM, OPT_RHS, OPT_METHOD, OPT_WHOLE_SOLVE,
                          OPT_BENCH_PRECOND, OPT_HEIGHTS, OPT_SCOPE, OPT_BOXES, OPT_WAIT_LIMIT,
                          OPT_END);
    if (!options->whole_solve) {
        int code =
            cli_refuse(options, "is for --whole-solve", OPT_RHS, OPT_METHOD, OPT_BENCH_PRECOND,
                       OPT_MG_CYCLE, OPT_MG_SMOOTHER, OPT_MG_THETA, OPT_MG_PRECISION, OPT_END);
        if (code == CLI_OK)
            code = cli_refuse(options, "is for --whole-solve and --hpcg", OPT_RTOL, OPT_MAX_ITER,
                              OPT_END);
        return code == CLI_OK ? cli_refuse(options, "is for --whole-solve", OPT_SCOPE, OPT_BOXES,
                                           OPT_WAIT_LIMIT, OPT_END)
                              : code;
    }
    int code = cli_refuse(options, "is for sweeps, not for --whole-solve", OPT_SIZE, OPT_BENCH_PART,
                          OPT_BENCH_ALGORITHM, OPT_ABLATION, OPT_CACHE, OPT_HEIGHTS, OPT_END);
    if (code == CLI_OK && options->problem == NULL)
        code = cli_usage(options, "--whole-solve needs --problem NAME:NXxNYxNZ");
    return code;
}

/* What several processes can do together. */
static int check_processes(const cli_options *options) {
    int code = cli_boxes_check(options);
    if (code != CLI_OK || cli_processes() == 1)
        return code;
    if (!options->whole_solve)
        return cli_usage(options, "several processes run --whole-solve only; start this part on "
                                  "one process");
    if (options->compare != NULL)
        return cli_usage(options, "--compare runs on one process, because the other solvers do not "
                                  "take a grid in boxes");
    return CLI_OK;
}

int bench_make_plan(const cli_options *options, bench_plan *plan) {
    *plan = (bench_plan){.precisions = {1, {PRECISION_F64}}, .caches = {1, {CACHE_WARM}}};
    int code = check_options(options);
    if (code == CLI_OK)
        code = check_processes(options);
    if (code != CLI_OK)
        return code;
    if (options->hpcg)
        return plan_hpcg(options, plan);
    return options->whole_solve ? plan_whole(options, plan) : plan_sweeps(options, plan);
}
