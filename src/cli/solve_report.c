/* solve_report.c: what `gridsweep solve` says and writes. */
#include <math.h>
#include <string.h>
#include "common/processes.h"
#include "output/multigrid.h"
#include "output/output.h"
#include "output/result.h"
#include "solve.h"

bool cli_solve_ended(const cli_solve *job) {
    return job->status == GSW_SUCCESS || job->status == GSW_ERROR_NOT_CONVERGED ||
           job->status == GSW_ERROR_BREAKDOWN || job->status == GSW_ERROR_NON_FINITE;
}

static bool has_precond(const cli_solve *job) {
    return strcmp(job->report.precond, "none") != 0;
}

/* Precision in which the preconditioner is stored; NULL: there is none. */
static const char *stored_dtype(const cli_options *options, const cli_solve *job) {
    if (!has_precond(job))
        return NULL;
    return cli_dtype_name(job->report.multigrid != NULL ? cli_mg_precision(options)
                                                        : options->factor_precision);
}

/* The scope of the preconditioner; NULL: it has none, or one process was not asked for one. */
static const char *scope_of(const cli_options *options, const cli_solve *job) {
    return (cli_processes() > 1 ? has_precond(job) : cli_given(options, OPT_SCOPE))
               ? gsw_scope_name((gsw_scope)options->scope)
               : NULL;
}

/* The name that was chosen first; NULL: the options gave it. */
static const char *chosen_precond(const cli_options *options, const cli_solve *job) {
    return options->precond == CLI_PRECOND_AUTO ? job->report.first_precond : NULL;
}

static const char *chosen_method(const cli_options *options, const cli_solve *job) {
    return options->method == CLI_METHOD_AUTO ? job->report.first_method : NULL;
}

/* ---- Text ----------------------------------------------------------------------------------- */

void cli_solve_print_choice(const cli_options *options, const cli_solve *job) {
    const char *precond = chosen_precond(options, job), *method = chosen_method(options, job);
    if (precond == NULL && method == NULL)
        return;
    cli_field(options, "choice", "%s%s%s: %s", precond != NULL ? precond : "",
              precond != NULL && method != NULL ? " with " : "", method != NULL ? method : "",
              job->choice.text);
    if (job->choice.zero_sums == 1 && options->nullspace == 0 && cli_processes() > 1)
        cli_error(options,
                  "warning: each row of the matrix sums to 0, as with pure Neumann "
                  "conditions, so it is singular: solve with --nullspace constant%s",
                  options->rhs == NULL || strcmp(options->rhs, "ones") == 0
                      ? " and a b that is not constant (--rhs)"
                      : "");
}

void cli_solve_print_method(const cli_options *options, const cli_solve *job) {
    const char *stored = stored_dtype(options, job);
    const char *scope = cli_processes() > 1 ? scope_of(options, job) : NULL;
    cli_field(options, "method", "%s, preconditioner %s%s%s%s, rtol %g", job->report.method,
              job->report.precond, stored != NULL && strcmp(stored, "f32") == 0 ? " in f32" : "",
              scope != NULL ? ", scope " : "", scope != NULL ? scope : "", options->rtol);
}

void cli_solve_print(const cli_options *options, const cli_solve *job) {
    const gsw_solver_report *report = &job->report;
    cli_field(options, "setup", "%.3f ms to %s the system", job->setup_ms,
              options->file != NULL ? "read" : "generate");
    cli_print_transfer(options, &job->boxes.arrays);
    if (has_precond(job))
        cli_field(options, "factor", "%.3f ms", report->setup_ms);
    cli_field(options, "solve", "%.3f ms", report->solve_ms);
    if (options->nullspace == GSW_NULLSPACE_CONSTANT)
        cli_field(options, "nullspace", "constant; %.3g%% of b left out", 100 * report->removed);
    if (report->eisenstat > 0)
        cli_field(options, "eisenstat", "%lld of the iterations apply matrix and factor together",
                  (long long)report->eisenstat);
    cli_field(options, "iterations", "%lld", (long long)report->iterations);
    cli_field(options, "residual", "%.3e (true, relative)", report->residual);
    cli_print(options, "%s in %lld iteration%s\n",
              report->converged ? "converged" : "not converged", (long long)report->iterations,
              report->iterations == 1 ? "" : "s");
    if (options->eisenstat == GSW_EISENSTAT_ALWAYS && report->eisenstat == 0)
        cli_error(options, "warning: --eisenstat always does nothing with this matrix, method or "
                           "preconditioner");
    if (report->removed > 1 - 1e-12 && report->iterations == 0)
        cli_error(options,
                  "warning: b is constant, so nothing of it is left and x is 0; give --rhs "
                  "FILE or --rhs random:SEED");
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void set_processes(cJSON *json, const cli_options *options, const cli_solve *job) {
    cJSON *devices = cJSON_CreateArray();
    int32_t boxes[3] = {1, 1, 1};
    for (int rank = 0; rank < cli_processes(); rank++)
        cJSON_AddItemToArray(devices, cJSON_CreateString(job->devices[rank]));
    if (cli_processes() > 1)
        gsw_partition_shape(job->boxes.partition, boxes);
    cli_set_number(json, "processes", cli_processes());
    cli_set_triple(json, "boxes", boxes[0], boxes[1], boxes[2]);
    cli_set_text(json, "scope", scope_of(options, job));
    cli_set(json, "devices", devices);
}

/* The choice as an object; null where nothing was chosen. */
static cJSON *choice_object(const cli_options *options, const cli_solve *job) {
    const char *precond = chosen_precond(options, job), *method = chosen_method(options, job);
    const gsw_choice *choice = &job->choice;
    if (precond == NULL && method == NULL)
        return cJSON_CreateNull();
    cJSON *object = cli_json_new(CLI_AUTO);
    cli_set_text(object, "chosen_precond", precond);
    cli_set_text(object, "chosen_method", method);
    cli_set_text(object, "reason", choice->text);
    cli_set_bool(object, "symmetric", choice->symmetric == 1);
    cli_set_number(object, "estimate", precond != NULL ? choice->estimate : NAN);
    cli_set_number(object, "cycle_left", precond != NULL ? choice->cycle_left : NAN);
    cli_set_text(object, "fallback", job->report.fallback[0] != '\0' ? job->report.fallback : NULL);
    return object;
}

static cJSON *make_json(const cli_options *options, const cli_solve *job) {
    const gsw_solver_report *report = &job->report;
    cJSON *json = cli_json(options, CLI_SOLVE);
    cli_set_context(json, job->place.run);
    cli_set_matrix(json, &job->input.matrix);
    cli_set_number(json, "active_points", (double)job->input.active_points);
    cli_set_text(json, "dtype", "f64");
    cli_set_text(json, "factor_dtype", stored_dtype(options, job));
    cli_set_text(json, "method", report->method);
    cli_set_text(json, "precond", report->precond);
    cli_set_number(json, "iterations", (double)report->iterations);
    cli_set_bool(json, "converged", report->converged != 0);
    cli_set_number(json, "residual", report->residual);
    cli_set_number(json, "setup_ms", job->setup_ms);
    cli_set_number(json, "factor_ms", has_precond(job) ? report->setup_ms : NAN);
    cli_set_number(json, "upload_ms", job->boxes.arrays.upload_ms);
    cli_set_number(json, "download_ms", job->boxes.arrays.download_ms);
    cli_set_number(json, "solve_ms", report->solve_ms);
    cli_set_text(json, "file", options->file);
    cli_set_text(json, "problem", options->problem);
    cli_set_number(json, "rows", (double)job->input.rows);
    cli_set_number(json, "nonzeros", (double)job->input.nonzeros);
    cli_set_number(json, "rtol", options->rtol);
    cli_set_multigrid(json, report->multigrid);
    cli_set(json, "auto", choice_object(options, job));
    cli_set_number(json, "removed",
                   options->nullspace == GSW_NULLSPACE_CONSTANT ? report->removed : NAN);
    cli_set_number(json, "eisenstat", (double)report->eisenstat);
    cli_set_bool(json, "stagnated", report->stagnated != 0);
    cli_set_text(json, "status", gsw_status_name(job->status));
    cli_set(json, "history", cli_history_json(&job->history));
    cli_set_text(json, "message", report->message[0] != '\0' ? report->message : NULL);
    set_processes(json, options, job);
    return json;
}

int cli_solve_write(const cli_options *options, const cli_solve *job, bool solved) {
    cli_outputs outputs = {0};
    cJSON *json = NULL;
    int code = CLI_OK;
    if (solved && options->out != NULL)
        code = cli_stage(options, &outputs, options->out,
                         &(cli_content){.values = job->x,
                                        .count = job->input.rows,
                                        .comment = "solution x of A x = b by gridsweep solve",
                                        .context = job->place.host});
    if (code == CLI_OK && options->json != NULL)
        json = make_json(options, job);
    return cli_finish(options, &outputs, code, json);
}
