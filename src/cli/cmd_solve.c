/* cmd_solve.c: `gridsweep solve`: a preconditioned Krylov solve with its progress and report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cmd_solve.h"
#include "common/input.h"
#include "common/krylov.h"
#include "common/measure.h"
#include "common/multigrid.h"
#include "common/output.h"
#include "common/place.h"
#include "common/progress.h"

/* Everything that a solve owns. */
typedef struct solve_job {
    cli_place place;
    cli_input input;
    cli_arrays arrays;
    gsw_factor_options wanted; /* where there is a preconditioner */
    gsw_factor *factor;        /* NULL: no preconditioner, or multigrid: */
    gsw_multigrid_options hierarchy;
    gsw_multigrid *multigrid;
    gsw_preconditioner *preconditioner; /* of either; NULL: none */
    double *b, *x;
    double setup_ms, factor_ms;
    gsw_krylov_result result;
    gsw_status status; /* of the method */
    char message[256]; /* why it is not GSW_SUCCESS; else "" */
} solve_job;

static const char *dtype_name(int dtype) {
    return dtype == GSW_F32 ? "f32" : "f64";
}

/* Precision in which the preconditioner is stored. */
static const char *stored_dtype(const cli_options *options) {
    return dtype_name(cli_precond(options) == CLI_PRECOND_MG ? cli_mg_precision(options)
                                                             : options->factor_precision);
}

/* The factor or the hierarchy, and the preconditioner that applies it. */
static gsw_status make_parts(gsw_context *context, int kind, solve_job *job) {
    const gsw_matrix *matrix = &job->arrays.matrix;
    gsw_status status;
    if (kind == CLI_PRECOND_MG) {
        status = gsw_multigrid_create(context, matrix, &job->hierarchy, &job->multigrid);
        if (status == GSW_SUCCESS)
            status =
                gsw_preconditioner_from_multigrid(context, job->multigrid, &job->preconditioner);
    } else {
        status = gsw_factor_create(context, matrix, &job->wanted, &job->factor);
        if (status == GSW_SUCCESS)
            status = gsw_preconditioner_from_factor(context, job->factor, &job->preconditioner);
    }
    return status == GSW_SUCCESS ? gsw_context_synchronize(context) : status;
}

static int make_preconditioner(const cli_options *options, solve_job *job) {
    gsw_context *context = job->place.run;
    if (cli_precond(options) == CLI_PRECOND_NONE)
        return CLI_OK;
    double start = cli_now_ms();
    gsw_status status = make_parts(context, cli_precond(options), job);
    job->factor_ms = cli_now_ms() - start;
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, cli_input_source(&job->input));
    if (job->multigrid != NULL)
        cli_print_multigrid(options, job->multigrid);
    gsw_factor_info info = {.size = sizeof info};
    if (gsw_factor_get_info(job->factor, &info) == GSW_SUCCESS && info.shifted_pivots > 0)
        cli_field(options, "pivots", "%lld shifted", (long long)info.shifted_pivots);
    return CLI_OK;
}

static int open_place(const cli_options *options, solve_job *job) {
    int kind = cli_precond(options);
    if (kind == CLI_PRECOND_NONE)
        return cli_open_place(options, &(cli_work){0}, &job->place);
    job->hierarchy = cli_multigrid_options(options);
    if (kind == CLI_PRECOND_MG)
        return cli_open_place(options, &(cli_work){.multigrid = &job->hierarchy}, &job->place);
    job->wanted = (gsw_factor_options){.size = sizeof(gsw_factor_options),
                                       .kind = (gsw_factor_kind)kind,
                                       .factor_type = (gsw_dtype)options->factor_precision,
                                       .vector_type = GSW_F64,
                                       .omega = options->omega,
                                       .pivot_shift = options->pivot_shift};
    return cli_open_place(options, &(cli_work){.factor = &job->wanted}, &job->place);
}

static size_t vector_bytes(const solve_job *job) {
    return (size_t)job->input.rows * sizeof *job->x;
}

/* Reads or makes matrix and right-hand side. */
static int set_up(const cli_options *options, solve_job *job) {
    double start = cli_now_ms();
    int code = cli_load(options, job->place.host, &job->input);
    if (code == CLI_OK)
        code = cli_load_rhs(options, job->place.host, &job->input, &job->b);
    job->setup_ms = cli_now_ms() - start;
    return code;
}

static int prepare(const cli_options *options, solve_job *job) {
    int code = open_place(options, job);
    if (code == CLI_OK)
        code = set_up(options, job);
    if (code != CLI_OK)
        return code;
    job->x = calloc((size_t)job->input.rows, sizeof *job->x);
    if (job->x == NULL) {
        cli_error(options, "out of memory for the solution");
        return CLI_INPUT;
    }
    cli_print_matrix(options, &job->input);
    cli_print_backend(options, &job->place);
    cli_warn_if_not_symmetric(options, &job->input, cli_precond(options));
    code = cli_upload(options, &job->place, &job->input.matrix, job->b, job->x, vector_bytes(job),
                      &job->arrays);
    return code == CLI_OK ? make_preconditioner(options, job) : code;
}

static int iterate(const cli_options *options, solve_job *job) {
    cli_progress progress;
    gsw_krylov_options wanted = {.size = sizeof wanted,
                                 .rtol = options->rtol,
                                 .max_iterations = options->max_iter,
                                 .restart = (int)options->restart,
                                 .norm = (gsw_norm)options->norm,
                                 .nullspace = (gsw_nullspace)options->nullspace,
                                 .monitor = cli_progress_monitor,
                                 .monitor_user = &progress};
    cli_progress_start(&progress, options);
    gsw_context *context = job->place.run;
    const cli_arrays *arrays = &job->arrays;
    gsw_operator *op = NULL;
    gsw_status status = gsw_operator_from_matrix(context, &arrays->matrix, &op);
    if (status == GSW_SUCCESS)
        status = gsw_krylov(context, (gsw_method)options->method, op, job->preconditioner, &wanted,
                            arrays->b, arrays->x, &job->result);
    gsw_operator_destroy(op);
    cli_progress_finish(&progress);
    job->status = status;
    if (status == GSW_SUCCESS)
        return CLI_OK;
    (void)snprintf(job->message, sizeof job->message, "%s", gsw_context_message(context));
    if (status != GSW_ERROR_NOT_CONVERGED)
        return cli_status(options, context, status, cli_input_source(&job->input));
    cli_error(options, "not converged: %s; the solution is the last iterate",
              gsw_context_message(context));
    return CLI_NOT_CONVERGED;
}

static void report(const cli_options *options, const solve_job *job) {
    const gsw_krylov_result *result = &job->result;
    cli_field(options, "setup", "%.3f ms to %s the system", job->setup_ms,
              options->file != NULL ? "read" : "make");
    cli_print_transfer(options, &job->arrays);
    if (job->preconditioner != NULL)
        cli_field(options, "factor", "%.3f ms", job->factor_ms);
    cli_field(options, "solve", "%.3f ms", result->solve_ms);
    if (options->nullspace == GSW_NULLSPACE_CONSTANT)
        cli_field(options, "nullspace", "constant; %.3g of b left out", result->removed);
    cli_field(options, "iterations", "%lld", (long long)result->iterations);
    cli_field(options, "residual", "%.3e (true, relative)", result->residual);
    cli_print(options, "%s in %lld iteration%s\n",
              result->converged ? "converged" : "not converged", (long long)result->iterations,
              result->iterations == 1 ? "" : "s");
}

static cJSON *make_json(const cli_options *options, const solve_job *job) {
    cli_result result = cli_result_init(options, job->place.run, &job->input.matrix);
    result.dtype = "f64";
    if (job->preconditioner != NULL)
        result.factor_dtype = stored_dtype(options);
    result.method = gsw_method_name((gsw_method)options->method);
    result.precond = cli_precond_name(cli_precond(options));
    result.iterations = job->result.iterations;
    result.converged = job->result.converged;
    result.residual = job->result.residual;
    result.setup_ms = job->setup_ms;
    result.factor_ms = job->preconditioner != NULL ? job->factor_ms : NAN;
    result.upload_ms = job->arrays.upload_ms;
    result.download_ms = job->arrays.download_ms;
    result.solve_ms = job->result.solve_ms;
    cJSON *json = cli_result_json(&result);
    cJSON_AddStringToObject(json, options->file != NULL ? "file" : "problem",
                            options->file != NULL ? options->file : options->problem);
    cJSON_AddNumberToObject(json, "rows", (double)job->input.rows);
    cJSON_AddNumberToObject(json, "nonzeros", (double)job->input.nonzeros);
    cJSON_AddNumberToObject(json, "rtol", options->rtol);
    if (job->multigrid != NULL)
        cJSON_AddItemToObject(json, "multigrid", cli_multigrid_json(job->multigrid));
    if (options->nullspace == GSW_NULLSPACE_CONSTANT)
        cJSON_AddNumberToObject(json, "removed", job->result.removed);
    else
        cJSON_AddNullToObject(json, "removed");
    cJSON_AddBoolToObject(json, "stagnated", job->result.stagnated != 0);
    cJSON_AddStringToObject(json, "status", gsw_status_name(job->status));
    if (job->message[0] != '\0')
        cJSON_AddStringToObject(json, "message", job->message);
    else
        cJSON_AddNullToObject(json, "message");
    return json;
}

/* Whether the method itself ended, well or not: there is something to tell. */
static bool method_ended(gsw_status status) {
    return status == GSW_SUCCESS || status == GSW_ERROR_NOT_CONVERGED ||
           status == GSW_ERROR_BREAKDOWN || status == GSW_ERROR_NON_FINITE;
}

/* The JSON, and the solution where there is one. */
static int write_outputs(const cli_options *options, const solve_job *job, bool solved) {
    cli_outputs outputs = {0};
    cJSON *json = NULL;
    int code = CLI_OK;
    if (solved && options->out != NULL)
        code = cli_stage_vector(options, job->place.host, &outputs, options->out, job->x,
                                job->input.rows, "solution x of A x = b by gridsweep solve");
    if (code == CLI_OK && options->json != NULL) {
        json = make_json(options, job);
        code = cli_stage_json(options, &outputs, options->json, json);
    }
    if (code == CLI_OK)
        code = cli_commit(options, &outputs);
    cli_discard(&outputs);
    cJSON_Delete(json);
    return code;
}

/* Refuses options that would do nothing. */
static int check_options(const cli_options *options) {
    int precond = cli_precond(options);
    if (cli_given(options, OPT_OMEGA) && precond != (int)GSW_SSOR)
        return cli_usage(options, "--omega is for --precond ssor, not for --precond %s",
                         cli_precond_name(precond));
    if (cli_given(options, OPT_RESTART) && options->method != (int)GSW_GMRES)
        return cli_usage(options, "--restart is for --method gmres, not for --method %s",
                         gsw_method_name((gsw_method)options->method));
    return cli_check_multigrid(options);
}

/* Iterates and tells what came of it. */
static int solve(const cli_options *options, solve_job *job) {
    cli_field(options, "method", "%s, preconditioner %s%s, rtol %g",
              gsw_method_name((gsw_method)options->method), cli_precond_name(cli_precond(options)),
              job->preconditioner != NULL && strcmp(stored_dtype(options), "f32") == 0 ? " in f32"
                                                                                       : "",
              options->rtol);
    int code = iterate(options, job), other = CLI_OK;
    bool solved = code == CLI_OK || code == CLI_NOT_CONVERGED;
    if (solved)
        other = cli_download(options, &job->place, &job->arrays, job->x, vector_bytes(job));
    if (other != CLI_OK || !method_ended(job->status))
        return other != CLI_OK ? other : code;
    if (solved)
        report(options, job);
    other = write_outputs(options, job, solved);
    return other != CLI_OK ? other : code;
}

int cmd_solve(const cli_options *options) {
    solve_job job = {.result.size = sizeof job.result};
    int code = check_options(options);
    if (code == CLI_OK)
        code = cli_check_outputs(options);
    if (code == CLI_OK)
        code = prepare(options, &job);
    if (code == CLI_OK)
        code = solve(options, &job);
    free(job.x);
    free(job.b);
    gsw_preconditioner_destroy(job.preconditioner);
    gsw_multigrid_destroy(job.multigrid);
    gsw_factor_destroy(job.factor);
    cli_arrays_free(&job.place, &job.arrays);
    cli_input_free(&job.input);
    cli_close_place(&job.place);
    return code;
}
