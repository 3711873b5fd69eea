/* solve_report.c: see solve_report.h. */
#include "solve_report.h"
#include <math.h>
#include "output/multigrid.h"
#include "output/output.h"
#include "common/processes.h"
#include "output/result.h"

bool cli_method_ended(gsw_status status) {
    return status == GSW_SUCCESS || status == GSW_ERROR_NOT_CONVERGED ||
           status == GSW_ERROR_BREAKDOWN || status == GSW_ERROR_NON_FINITE;
}

int cli_solve_conclude(const cli_options *options, const gsw_context *context,
                       const cli_attempts *attempts) {
    if (attempts->status == GSW_SUCCESS)
        return CLI_OK;
    if (attempts->status != GSW_ERROR_NOT_CONVERGED)
        /* The options are checked: what a method refuses is the data, of a problem as well. */
        return cli_status(options, context, attempts->status, CLI_FROM_FILE);
    cli_error(options, "not converged: %s; the solution is the last iterate", attempts->message);
    return CLI_NOT_CONVERGED;
}

void cli_solve_report(const cli_options *options, const cli_solved *solved) {
    const gsw_krylov_result *result = &solved->attempts->result;
    const cli_arrays copies = {.upload_ms = solved->upload_ms, .download_ms = solved->download_ms};
    cli_field(options, "setup", "%.3f ms to %s the system", solved->setup_ms,
              options->file != NULL ? "read" : "generate");
    cli_print_transfer(options, &copies);
    if (solved->factor_dtype != NULL)
        cli_field(options, "factor", "%.3f ms", solved->factor_ms);
    cli_field(options, "solve", "%.3f ms", result->solve_ms);
    if (options->nullspace == GSW_NULLSPACE_CONSTANT)
        cli_field(options, "nullspace", "constant; %.3g%% of b left out", 100 * result->removed);
    if (result->eisenstat > 0)
        cli_field(options, "eisenstat", "%lld of the iterations apply matrix and factor together",
                  (long long)result->eisenstat);
    cli_field(options, "iterations", "%lld", (long long)result->iterations);
    cli_field(options, "residual", "%.3e (true, relative)", result->residual);
    cli_print(options, "%s in %lld iteration%s\n",
              result->converged ? "converged" : "not converged", (long long)result->iterations,
              result->iterations == 1 ? "" : "s");
    if (options->eisenstat == GSW_EISENSTAT_ALWAYS && result->eisenstat == 0)
        cli_error(options, "warning: --eisenstat always does nothing with this matrix, method or "
                           "preconditioner");
    if (result->removed > 1 - 1e-12)
        cli_error(options,
                  "warning: b is constant, so nothing of it is left and x is 0; give --rhs "
                  "FILE or --rhs random:SEED");
}

static void set_processes(cJSON *json, const cli_solved *solved) {
    cJSON *devices = cJSON_CreateArray();
    for (int rank = 0; rank < cli_processes(); rank++)
        cJSON_AddItemToArray(devices,
                             cJSON_CreateString(solved->devices != NULL
                                                    ? solved->devices[rank]
                                                    : gsw_context_device(solved->context)));
    cli_set_number(json, "processes", cli_processes());
    cli_set_triple(json, "boxes", solved->boxes[0], solved->boxes[1], solved->boxes[2]);
    cli_set_text(json, "scope", solved->scope);
    cli_set(json, "devices", devices);
}

static cJSON *make_json(const cli_options *options, const cli_solved *solved) {
    const cli_attempts *attempts = solved->attempts;
    const gsw_krylov_result *ended = &attempts->result;
    cli_result result = cli_result_init(solved->context, &solved->input->matrix);
    result.dtype = "f64";
    result.factor_dtype = solved->factor_dtype;
    result.method = gsw_method_name(attempts->method);
    result.precond = solved->precond;
    result.iterations = ended->iterations;
    result.converged = ended->converged;
    result.residual = ended->residual;
    result.setup_ms = solved->setup_ms;
    result.factor_ms = solved->factor_dtype != NULL ? solved->factor_ms : NAN;
    result.upload_ms = solved->upload_ms;
    result.download_ms = solved->download_ms;
    result.solve_ms = ended->solve_ms;
    cJSON *json = cli_json(options, CLI_SOLVE);
    cli_set_result(json, &result);
    cli_set_text(json, "file", options->file);
    cli_set_text(json, "problem", options->problem);
    cli_set_number(json, "rows", (double)solved->input->rows);
    cli_set_number(json, "nonzeros", (double)solved->input->nonzeros);
    cli_set_number(json, "rtol", options->rtol);
    cli_set(json, "multigrid", cli_multigrid_json(solved->levels));
    cli_set(json, "distributed_multigrid", cli_shared_multigrid_json(solved->levels));
    cli_set(json, "auto", cli_auto_json(&attempts->automatic));
    cli_set_number(json, "removed",
                   options->nullspace == GSW_NULLSPACE_CONSTANT ? ended->removed : NAN);
    cli_set_number(json, "eisenstat", (double)ended->eisenstat);
    cli_set_bool(json, "stagnated", ended->stagnated != 0);
    cli_set_text(json, "status", gsw_status_name(attempts->status));
    cli_set(json, "history", cli_history_json(&attempts->history));
    cli_set_text(json, "message", attempts->message[0] != '\0' ? attempts->message : NULL);
    set_processes(json, solved);
    return json;
}

int cli_solve_write(const cli_options *options, const cli_solved *solved) {
    cli_outputs outputs = {0};
    cJSON *json = NULL;
    int code = CLI_OK;
    if (solved->x != NULL && options->out != NULL)
        code = cli_stage_vector(options, solved->host, &outputs, options->out, solved->x,
                                solved->input->rows, "solution x of A x = b by gridsweep solve");
    if (code == CLI_OK && options->json != NULL)
        json = make_json(options, solved);
    return cli_finish(options, &outputs, code, json);
}
