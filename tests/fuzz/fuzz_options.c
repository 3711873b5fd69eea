/* fuzz_options.c: libFuzzer harness for the command line of the program: the arguments, and the
 * texts that they hold (lists, grids, stencils, problems). It does what main.c does, but runs no
 * command except `help`. The input is the arguments after the program's name, each ended by a line
 * feed or by a zero byte. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "bench/case/plan.h"
#include "commands.h"
#include "output/boxes.h"
#include "common/input.h"
#include "help.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARGUMENTS = 64, POINTS = 4096 };

static void check(bool holds) {
    if (!holds)
        abort();
}

/* A command line is taken, or refused as bad usage with a message. */
static void check_code(int code) {
    check(code == CLI_OK || (code == CLI_USAGE && cli_last_error()[0] != '\0'));
}

/* ---- What was parsed ------------------------------------------------------------------------ */

static bool within(const char *text, const char *begin, const char *end) {
    return text == NULL || (text >= begin && text < end) || strcmp(text, "all") == 0;
}

static bool listed(const cli_command *command, cli_option_id id) {
    const cli_option_id *known = command->options;
    while (*known != OPT_END && *known != id)
        known++;
    return *known == id;
}

/* The value of an option that is given lies where its row of the table says. */
static void check_value(const cli_options *options, const cli_option *option, const char *begin,
                        const char *end) {
    const void *field = (const char *)options + option->offset;
    int choices = 0;
    switch (option->type) {
    case CLI_FLAG:
        check(*(const bool *)field);
        break;
    case CLI_TEXT:
    case CLI_OPTIONAL_TEXT:
        check(*(const char *const *)field != NULL);
        check(within(*(const char *const *)field, begin, end));
        break;
    case CLI_INTEGER:
        check((double)*(const int64_t *)field >= option->minimum);
        check((double)*(const int64_t *)field <= option->maximum);
        break;
    case CLI_THREADS:
        check(*(const int64_t *)field >= 1);
        break;
    case CLI_REAL:
        check(*(const double *)field > option->minimum);
        check(*(const double *)field < option->maximum ||
              (option->closed && *(const double *)field == option->maximum));
        break;
    case CLI_CHOICE:
        while (option->choices[choices] != NULL)
            choices++;
        check(*(const int *)field >= 0 && *(const int *)field < choices);
        break;
    }
}

static void check_options(const cli_options *options, const char *begin, const char *end) {
    check(within(options->file, begin, end));
    for (int id = OPT_END + 1; id < OPT_COUNT; id++)
        if (cli_given(options, (cli_option_id)id)) {
            check(listed(options->command, (cli_option_id)id));
            check_value(options, cli_option_get((cli_option_id)id), begin, end);
        }
}

/* ---- The texts in the options --------------------------------------------------------------- */

/* A problem on a grid of few points. */
static void try_problem(const char *text, const gsw_stencil *stencil) {
    const char *colon = strrchr(text, ':');
    gsw_grid grid;
    gsw_problem *problem = NULL;
    int64_t points = 0;
    if (colon != NULL && gsw_grid_parse(NULL, colon + 1, &grid) == GSW_SUCCESS)
        check(gsw_grid_points(&grid, &points) == GSW_SUCCESS);
    if (points > POINTS)
        return;
    const gsw_status status = gsw_problem_parse(NULL, text, stencil, &problem);
    check((status == GSW_SUCCESS) == (problem != NULL));
    check(status != GSW_SUCCESS || points > 0);
    gsw_problem_destroy(problem);
}

static void try_texts(const cli_options *options) {
    gsw_grid grid;
    gsw_stencil stencil;
    int64_t points;
    const bool known = options->stencil != NULL && cli_parse_stencil(options->stencil, &stencil);
    if (known)
        check(gsw_stencil_from_offsets(stencil.offsets, stencil.count, &stencil) == GSW_SUCCESS);
    if (options->problem != NULL)
        try_problem(options->problem, known ? &stencil : NULL);
    if (options->grid != NULL && gsw_grid_parse(NULL, options->grid, &grid) == GSW_SUCCESS)
        check(gsw_grid_points(&grid, &points) == GSW_SUCCESS);
    check_code(cli_boxes_check(options));
}

/* Every grid of a plan of `bench` has points. */
static void try_plan(const cli_options *options) {
    static bench_plan plan;
    const int code = bench_make_plan(options, &plan);
    check_code(code);
    if (code != CLI_OK)
        return;
    bench_resolve_auto(&plan, GSW_ALGORITHM_PENCIL);
    check(plan.mode == MODE_WHOLE || plan.stencils * plan.sizes >= 1);
    for (int i = 0; i < plan.stencils; i++)
        for (int j = 0; j < plan.sizes; j++) {
            const gsw_grid *grid = &plan.grid[i][j];
            check(grid->nx >= 1 && grid->ny >= 1 && grid->nz >= 1);
        }
}

/* ---- One command line ----------------------------------------------------------------------- */

static void run_command(const cli_command *command, int argc, char **argv, const char *begin,
                        const char *end) {
    cli_options options;
    bool help = false;
    optind = 0; /* getopt begins anew */
    const int code = cli_parse(command, argc, argv, &options, &help);
    check_code(code);
    if (code != CLI_OK)
        return;
    check(options.command == command);
    if (help) {
        cli_help_command(stdout, command, options.help_all);
        return;
    }
    check_options(&options, begin, end);
    try_texts(&options);
    if (strcmp(command->name, "bench") == 0)
        try_plan(&options);
    if (strcmp(command->name, "help") == 0) {
        const int shown = command->run(&options); /* its own message names an unknown command */
        check(shown == CLI_OK || shown == CLI_USAGE);
    }
}

static void dispatch(int argc, char **argv, const char *begin, const char *end) {
    if (argc < 2)
        return;
    const cli_command *command = cli_find_command(argv[1]);
    if (command != NULL)
        run_command(command, argc - 1, argv + 1, begin, end);
    else
        check(cli_reject_command(argv[1]) == CLI_USAGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char name[] = "gridsweep", *argv[ARGUMENTS + 2] = {name};
    int argc = 1;
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text, *end = text + size; at < end && argc <= ARGUMENTS; at++) {
        argv[argc++] = at;
        at += strcspn(at, "\n");
        *at = '\0';
    }
    dispatch(argc, argv, text, text + size + 1);
    free(text);
    return 0;
}
