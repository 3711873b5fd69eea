/* bench.c: `gridsweep bench`: times sweeps and whole solves.
 *
 * One engine for all: the lists of the command line make a plan (plan.h) of cases. A case (case.h)
 * is made on the host and brought to the backend, every contestant (contestant.h) is timed on it,
 * its results are shown and written (report.h), and it is freed before the next. */
#include "cmd.h"
#include <stdlib.h>
#include "common/processes.h"
#include "contestant.h"
#include "tasks.h"
#include "report.h"
#include "output/progress.h"

typedef struct bench_run {
    bench_plan plan;
    bench_sites sites;
    bench_report report;
    bench_system system;
} bench_run;

/* The rows beside rivals are shown together, since some are relative to others; the others at
 * once. */
static int run_contestants(const cli_options *options, bench_run *run, bench_case *work,
                           const bench_contestant *list, int count, bench_row *rows) {
    const bench_sites *sites = &run->sites;
    bool together = work->mode == MODE_CSR || work->mode == MODE_RELAX;
    int code = CLI_OK, used = 0, written = CLI_OK;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < sites->count && code == CLI_OK; j++) {
            code = bench_run_contestant(options, &run->plan.caches, &sites->site[j], work, &list[i],
                                        rows, &used);
            if (together)
                continue;
            written =
                cli_processes_agree(options, bench_report_rows(options, &run->report, rows, used));
            used = 0;
            if (code == CLI_OK)
                code = written;
        }
    if (together)
        written = bench_report_rows(options, &run->report, rows, used);
    return code == CLI_OK ? written : code;
}

/* Makes and runs a case of which the first members are set. */
static int run_case(const cli_options *options, bench_run *run, bench_case work) {
    static const bench_task *const tasks[] = {
        [PART_LOWER] = &bench_sweep, [PART_UPPER] = &bench_sweep, [PART_BOTH] = &bench_sweep,
        [PART_SYMGS] = &bench_symgs, [PART_RELAX] = &bench_relax, [PART_WHOLE] = &bench_whole,
        [PART_HPCG] = &bench_hpcg};
    const bench_site *site = &run->sites.site[0];
    bench_contestant list[BENCH_CONTESTANTS_MAX];
    work.task = tasks[work.part];
    work.mode = run->plan.mode;
    int code = work.task->make(options, &run->plan, site, &run->system, &work);
    if (code == CLI_OK && work.mode == MODE_WHOLE) {
        cli_print(options, "\n");
        bench_table_head(options, &run->report.table);
    }
    int count = code == CLI_OK ? bench_list_contestants(options, &run->plan, &work, list) : 0;
    size_t room = (size_t)count * (size_t)run->plan.caches.count + 1;
    bench_row *rows = calloc(room, sizeof *rows);
    if (code == CLI_OK)
        code = cli_processes_agree(options, rows != NULL ? CLI_OK : bench_no_memory(options));
    if (code == CLI_OK && rows != NULL)
        code = run_contestants(options, run, &work, list, count, rows);
    free(rows);
    bench_free_case(site, &work);
    return code;
}

static int make_system(const cli_options *options, bench_run *run, const gsw_stencil *stencil,
                       const gsw_grid *grid) {
    char size[80];
    bench_short_size(grid, size, sizeof size);
    cli_show_line(options, "%s %s: generating the matrix", gsw_stencil_name(stencil), size);
    int code =
        bench_make_system(options, run->sites.site[0].place.host, stencil, grid, &run->system);
    cli_show_line(options, NULL);
    return code;
}

/* The cases on one matrix. The CSR of a part is made once; smoothing is in f64 alone. */
static int run_system(const cli_options *options, bench_run *run, const gsw_stencil *stencil,
                      const gsw_grid *grid) {
    const bench_list *parts = &run->plan.parts, *precisions = &run->plan.precisions;
    const int cases = parts->count * precisions->count;
    int code = make_system(options, run, stencil, grid);
    for (int i = 0; i < cases && code == CLI_OK; i++) {
        const bool by_part = run->plan.mode == MODE_CSR;
        const int part = by_part ? i / precisions->count : i % parts->count;
        const int precision = by_part ? i % precisions->count : i / parts->count;
        bench_case work = {.part = (bench_part)parts->values[part],
                           .precision = (bench_precision)precisions->values[precision],
                           .last_part = part == parts->count - 1};
        if (work.part == PART_SYMGS)
            work.precision = PRECISION_F64;
        if (work.part != PART_SYMGS || precision == 0)
            code = run_case(options, run, work);
    }
    bench_free_system(&run->system);
    return code;
}

static int run_plan(const cli_options *options, bench_run *run) {
    const bench_plan *plan = &run->plan;
    int code = CLI_OK;
    bench_report_start(options, plan, &run->sites, &run->report);
    if (plan->mode == MODE_WHOLE)
        code = run_case(options, run, (bench_case){.part = PART_WHOLE});
    else
        bench_table_head(options, &run->report.table);
    for (int i = 0; i < plan->stencils; i++)
        for (int j = 0; j < plan->sizes && code == CLI_OK; j++)
            code = run_system(options, run, &plan->stencil[i], &plan->grid[i][j]);
    if (code == CLI_OK)
        code = cli_processes_agree(options,
                                   bench_report_finish(options, plan, &run->sites, &run->report));
    bench_report_free(&run->report);
    return code;
}

int cmd_bench(const cli_options *options) {
    int code = cli_processes_agree(options, cli_check_outputs(options));
    bench_run *run = calloc(1, sizeof *run); /* large for a stack */
    if (code == CLI_OK)
        code = cli_processes_agree(options, run != NULL ? CLI_OK : bench_no_memory(options));
    if (code == CLI_OK && run != NULL)
        code = bench_make_plan(options, &run->plan);
    if (code == CLI_OK && run != NULL) {
        code = cli_processes_agree(options, bench_open_sites(options, &run->plan, &run->sites));
        if (code == CLI_OK)
            code = run_plan(options, run);
        bench_close_sites(&run->sites);
    }
    free(run);
    return code;
}
