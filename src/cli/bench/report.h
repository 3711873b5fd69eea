/* report.h: what becomes of results: the table, the JSON file, the exit code. */
#ifndef GSW_CLI_BENCH_REPORT_H
#define GSW_CLI_BENCH_REPORT_H

#include "bench/case/case.h"
#include "table.h"

typedef struct bench_report {
    bench_mode mode;
    bench_table table;
    bench_row reference;      /* of whole solves: the row that times are relative to */
    cJSON *json;              /* with the next two in it */
    cJSON *results, *skipped; /* rows, and those that could not run */
    int64_t repeats;          /* the most that were taken */
    int own_wrong, rival_wrong;
    int own_unfinished, rival_unfinished; /* not converged */
    int own_failed;                       /* its line has a reason in place of times */
    int rival_missed; /* converged, but with a residual a little beyond the tolerance */
    bool has_bound;   /* a result without waiting was shown */
} bench_report;

void bench_report_start(const cli_options *options, const bench_plan *plan,
                        const bench_sites *sites, bench_report *report);
void bench_report_free(bench_report *report);

/* Fills what rows of one group say of each other, shows them, and adds them to the JSON file.
 * Returns an exit code. */
int bench_report_rows(const cli_options *options, bench_report *report, bench_row *rows, int count);

/* The last lines, the whole JSON, and the exit code that the results deserve. */
int bench_report_finish(const cli_options *options, const bench_plan *plan,
                        const bench_sites *sites, const bench_report *report);

#endif
