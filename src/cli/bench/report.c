/* report.c: what becomes of results: the table, the JSON file, the exit code. */
#include "report.h"
#include <math.h>
#include <string.h>
#include "common/processes.h"

/* ---- Rows ----------------------------------------------------------------------------------- */

/* What speeds of sweeps are relative to. */
static const char *choose_baseline(const bench_plan *plan, const bench_site *site) {
    static const char *const candidates[] = {"cusparse", "tasks", "serial"};
    for (int i = cli_on_device(&site->place) ? 0 : 2; i < 3 && plan->mode == MODE_CSR; i++)
        for (int j = 0; j < plan->rivals.count; j++)
            if (strcmp(plan->rivals.list[j].name, candidates[i]) == 0)
                return candidates[i];
    return NULL;
}

/* What holds a mode's results, what its reasons, and what both. */
static const cli_holder holders[][3] = {
    [MODE_ARRAYS] = {CLI_SWEEP, CLI_SWEEP_SKIPPED, CLI_BENCH_SWEEP},
    [MODE_CSR] = {CLI_SWEEP, CLI_SWEEP_SKIPPED, CLI_BENCH_SWEEP},
    [MODE_WHOLE] = {CLI_WHOLE, CLI_WHOLE_SKIPPED, CLI_BENCH_WHOLE},
    [MODE_HPCG] = {CLI_HPCG, CLI_HPCG, CLI_BENCH_HPCG},
    [MODE_RELAX] = {CLI_RELAX, CLI_RELAX_SKIPPED, CLI_BENCH_RELAX}};

void bench_report_start(const cli_options *options, const bench_plan *plan,
                        const bench_sites *sites, bench_report *report) {
    static const char *const modes[] = {"sweep", "sweep", "whole-solve", "hpcg",
                                        "relax"}; /* of bench_mode */
    *report = (bench_report){.mode = plan->mode, .json = cli_json(options, holders[plan->mode][2])};
    cli_set_text(report->json, "mode", modes[plan->mode]);
    cli_set(report->json, "results", cJSON_CreateArray());
    cli_set(report->json, "skipped", cJSON_CreateArray());
    report->results = cJSON_GetObjectItem(report->json, "results");
    report->skipped = cJSON_GetObjectItem(report->json, "skipped");
    bench_table_make(plan, choose_baseline(plan, &sites->site[0]), &report->table);
}

void bench_report_free(bench_report *report) {
    cJSON_Delete(report->json);
}

/* Counts a row and fills what is relative to its own times or to those of the reference. */
static void count_row(bench_report *report, bench_row *row) {
    bench_row *reference = &report->reference;
    bool own = row->side == SIDE_GRIDSWEEP;
    if (row->reason[0] != '\0') {
        report->own_failed += own && report->mode != MODE_RELAX;
        return;
    }
    row->total_with_setup_ms = row->time.median + row->setup_ms;
    row->iteration_ms = row->iterations > 0 ? row->solve_ms / (double)row->iterations : NAN;
    if (own && reference->format == NULL)
        *reference = *row;
    row->ratio = row->time.median / reference->time.median;
    row->ratio_with_setup = row->total_with_setup_ms / reference->total_with_setup_ms;
    if (row->wrong)
        *(own ? &report->own_wrong : &report->rival_wrong) += 1;
    if (row->converged == 0)
        *(own ? &report->own_unfinished : &report->rival_unfinished) += 1;
    else if (row->missed && !row->wrong)
        report->rival_missed += 1;
    if (row->time.repeats > report->repeats)
        report->repeats = row->time.repeats;
    report->has_bound |= !row->checked;
}

/* What the speed of a row is relative to: height 1, or the baseline under the same conditions. */
static bool is_base(const bench_report *report, const bench_row *other, const bench_row *row) {
    if (report->mode == MODE_RELAX)
        return other->height == 1;
    const char *baseline = report->table.baseline;
    return baseline != NULL && other->reason[0] == '\0' &&
           strcmp(other->algorithm, baseline) == 0 && strcmp(other->cache, row->cache) == 0;
}

/* Gives the fields of a row their keys, if the object has them. */
static void set_fields(cJSON *json, const bench_row *row) {
    for (int i = 0; i < bench_field_count; i++) {
        const bench_field *field = &bench_fields[i];
        const void *value = (const char *)row + field->offset;
        if (!cJSON_HasObjectItem(json, field->key))
            continue;
        if (field->kind == BENCH_TEXT)
            cli_set_text(json, field->key, *(const char *const *)value);
        else if (field->kind == BENCH_NUMBER)
            cli_set_number(json, field->key, *(const double *)value);
        else if (*(const int64_t *)value >= 0)
            cli_set_number(json, field->key, (double)*(const int64_t *)value);
    }
}

static void set_results(cJSON *json, bench_mode mode, const bench_row *row) {
    cli_set_times(json, &row->time);
    if (mode == MODE_HPCG)
        cli_set_bool(json, "official", false);
    if (mode == MODE_RELAX) {
        cli_set_triple(json, "tile", row->tile[0], row->tile[1], row->tile[2]);
        cli_set_bool(json, "chosen", row->chosen);
    }
    if (mode == MODE_WHOLE) {
        cli_set_bool(json, "converged", row->converged != 0);
        cli_set_number(json, "processes", cli_processes());
        cli_set_triple(json, "boxes", row->boxes[0], row->boxes[1], row->boxes[2]);
        cli_set_text(json, "settings", row->settings[0] != '\0' ? row->settings : NULL);
        cli_set_number(json, "total_ms", row->time.median);
    }
}

static void store_row(const bench_report *report, const bench_row *row) {
    const bool skipped = row->reason[0] != '\0';
    cJSON *json = cli_json_new(holders[report->mode][skipped]);
    set_fields(json, row);
    cli_set_triple(json, "grid", row->grid.nx, row->grid.ny, row->grid.nz);
    if (skipped)
        cli_set_text(json, "reason", row->reason);
    else
        set_results(json, report->mode, row);
    cJSON_AddItemToArray(skipped ? report->skipped : report->results, json);
}

int bench_report_rows(const cli_options *options, bench_report *report, bench_row *rows,
                      int count) {
    for (int i = 0; i < count; i++) {
        bench_row *row = &rows[i];
        int base = 0;
        while (base < count && !is_base(report, &rows[base], row))
            base++;
        row->speed = base < count ? rows[base].time.median / row->time.median : NAN;
        count_row(report, row);
    }
    bench_table_rows(options, &report->table, rows, count);
    for (int i = 0; i < count; i++)
        store_row(report, &rows[i]);
    return cli_write_growing(options, report->json, false);
}

/* ---- The last lines ------------------------------------------------------------------------- */

static void print_threads(const cli_options *options, const char *before, const bench_site *site) {
    const int threads = gsw_context_threads(site->place.host);
    cli_print(options, "%s %d thread%s", before, threads, threads == 1 ? "" : "s");
}

static void print_bandwidth(const cli_options *options, const bench_sites *sites,
                            const bench_report *report) {
    const bool arrays = report->mode == MODE_ARRAYS; /* the CPU with several numbers of threads */
    const char *baseline = report->table.baseline;
    cli_print(options, "\ncopy bandwidth");
    for (int i = 0; i < sites->count; i++) {
        const bench_site *site = &sites->site[i];
        if (arrays || isfinite(site->copy_gb_s))
            cli_print(options, "%s %.1f GB/s%s", i > 0 ? "," : "", site->copy_gb_s,
                      cli_on_device(&site->place) ? " on the device" : "");
        else
            cli_print(options, " not measured: that needs a build with GSW_BUILD_PERF");
        if (arrays)
            print_threads(options, " with", site);
    }
    if (baseline != NULL)
        cli_print(options, "; x %.4s: speed relative to %s", baseline, baseline);
}

/* What was measured with, and what the table's numbers are relative to. */
static void print_machine(const cli_options *options, const bench_sites *sites,
                          const bench_report *report) {
    const bench_site *site = &sites->site[0];
    const bench_row *reference = &report->reference;
    if (report->mode != MODE_WHOLE)
        print_bandwidth(options, sites, report);
    else
        cli_print(options,
                  "\nmedians of at most %lld runs, by the host's clock; x: relative to gridsweep, "
                  "%s %s %s",
                  (long long)report->repeats, reference->precond, reference->format,
                  reference->factor_dtype);
    cli_print(options, "\n%s", gsw_context_device(site->place.run));
    if (report->mode != MODE_ARRAYS && !cli_on_device(&site->place))
        print_threads(options, ",", site);
    if (cli_on_device(&site->place) && sites->device.described)
        cli_print(options, ", driver %s, toolkit %s", sites->device.driver, sites->device.toolkit);
    cli_print(options, "; gridsweep %s, commit %s\n", gsw_version(), gsw_commit());
}

static void print_remarks(const cli_options *options, const bench_plan *plan,
                          const bench_sites *sites, const bench_report *report) {
    const bench_site *site = &sites->site[0];
    if (report->mode == MODE_RELAX)
        cli_print(options, "times of one sweep; h: sweeps in a pass, * the model's choice\n");
    if (report->mode == MODE_HPCG)
        cli_print(options,
                  "GFLOP/s by HPCG's count, medians of at most %lld sets; rated: with a tenth of "
                  "the set-up\nThis is not an official HPCG result, because the structure of the "
                  "grid is used.\n",
                  (long long)report->repeats);
    if ((report->mode == MODE_CSR || report->mode == MODE_HPCG) && site->place.note[0] != '\0')
        cli_print(options, "backend cpu, not cuda: %s\n", site->place.note);
    if (report->mode == MODE_CSR && cli_on_device(&site->place))
        cli_print(options, "times %s; L2 %s\n",
                  sites->device.stream != NULL ? "between events on the stream"
                                               : "by the host's clock, short runs in batches",
                  plan->caches.count > 1 ? "as the column says"
                                         : cli_choice(OPT_CACHE, plan->caches.values[0]));
    if (report->has_bound)
        cli_print(options, "state-none does not wait for its neighbours: its answers are wrong, "
                           "its time is a lower bound\n");
    if (report->own_unfinished + report->rival_unfinished > 0)
        cli_print(options, "* not converged\n");
    if (report->mode == MODE_WHOLE && report->rival_missed > 0)
        cli_print(options, "~ converged by its recurrence; the residual is up to 10 times the "
                           "tolerance\n");
    if (report->mode == MODE_WHOLE && report->own_wrong + report->rival_wrong > 0)
        cli_print(options,
                  "! converged by its recurrence, but the residual misses the tolerance\n");
}

/* ---- The exit code -------------------------------------------------------------------------- */

static void say_wrong(const cli_options *options, const bench_report *report) {
    bool whole = report->mode == MODE_WHOLE;
    if (report->rival_wrong > 0 && whole)
        cli_error(options, "warning: another solver's residual misses --rtol");
    else if (report->rival_wrong > 0)
        cli_error(options, "warning: %d result%s from the reference", report->rival_wrong,
                  report->rival_wrong == 1 ? " of another solver differs"
                                           : "s of other solvers differ");
    if (report->own_wrong > 0 && whole)
        cli_error(options, "gridsweep's residual misses --rtol");
    else if (report->own_wrong > 0)
        cli_error(options, "%d result%s from the reference", report->own_wrong,
                  report->own_wrong == 1 ? " differs" : "s differ");
}

int bench_report_finish(const cli_options *options, const bench_plan *plan,
                        const bench_sites *sites, const bench_report *report) {
    print_machine(options, sites, report);
    print_remarks(options, plan, sites, report);
    int code = cli_write_growing(options, report->json, true);
    say_wrong(options, report);
    if (report->own_failed > 0)
        cli_error(options, "%d of gridsweep's lines cannot run: each gives the reason",
                  report->own_failed);
    if (report->own_wrong + report->own_failed > 0)
        return CLI_BREAKDOWN;
    if (code == CLI_OK && report->own_unfinished > 0) {
        cli_error(options, "not converged: see --max-iter and --rtol");
        return CLI_NOT_CONVERGED;
    }
    return code;
}
