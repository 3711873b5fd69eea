/* cmd_solve.c: `gridsweep solve`: a preconditioned Krylov solve with its progress and report. */
#include <stdlib.h>
#include <string.h>
#include "cmd_solve.h"
#include "common/input.h"
#include "common/measure.h"
#include "common/multigrid.h"
#include "common/output.h"
#include "common/place.h"
#include "common/processes.h"
#include "common/result.h"
#include "solve_auto.h"
#include "solve_distributed.h"
#include "solve_report.h"

/* Everything that a solve owns. */
typedef struct solve_job {
    cli_place place;
    cli_input input;
    cli_arrays arrays;
    gsw_operator *op; /* of arrays.matrix */
    cli_attempts attempts;
    gsw_factor_options wanted; /* where there is a preconditioner */
    int64_t approximate;       /* sweeps of an approximate triangular solve; 0: it is exact */
    gsw_factor *factor;        /* NULL: no preconditioner, or not the job's own */
    gsw_multigrid_options hierarchy;
    gsw_multigrid *multigrid;           /* the same */
    gsw_preconditioner *preconditioner; /* of either; NULL: none */
    const gsw_multigrid *levels;        /* what the preconditioner applies, if it is multigrid, */
    const gsw_factor *sweeps;           /* and if it is a factor */
    double *b, *x;
    double setup_ms, factor_ms;
} solve_job;

/* Precision in which the preconditioner is stored. */
static const char *stored_dtype(const cli_options *options, const solve_job *job) {
    return cli_dtype_name(job->levels != NULL ? cli_mg_precision(options)
                                              : options->factor_precision);
}

/* ---- The preconditioner ----------------------------------------------------------------------
 */

/* --solve: in *sweeps 0 for exact solves. Returns an exit code. */
static int parse_triangular(const cli_options *options, int64_t *sweeps) {
    static const char approximate[] = "approx:";
    const char *text = options->triangular;
    const int kind = cli_solve_precond(options);
    *sweeps = 0;
    if (text == NULL || strcmp(text, "exact") == 0)
        return CLI_OK;
    if (strncmp(text, approximate, strlen(approximate)) != 0)
        return cli_usage(options, "--solve: '%s' is neither exact nor approx:K", text);
    text += strlen(approximate);
    if (!cli_parse_integer(text, 1, 1000000, sweeps))
        return cli_usage(options, "--solve approx:K takes an integer K from 1 to 1000000, not '%s'",
                         text);
    if (kind != (int)GSW_ILU0 && kind != (int)GSW_IC0 && kind != (int)GSW_DILU)
        return cli_usage(options, "--solve approx is for --precond ilu0, ic0 or dilu");
    if (cli_processes() > 1)
        return cli_usage(options, "--solve approx is for a single process");
    if (options->factor_precision != GSW_F64)
        return cli_usage(options, "--solve approx stores fp64: leave out --factor-precision");
    return CLI_OK;
}

static gsw_status make_factor(gsw_context *context, gsw_factor_kind kind, solve_job *job) {
    job->wanted.kind = kind;
    gsw_status status = gsw_factor_create(context, &job->arrays.matrix, &job->wanted, &job->factor);
    if (status == GSW_SUCCESS)
        status = job->approximate > 0
                     ? gsw_preconditioner_from_factor_approximate(
                           context, job->factor, (int32_t)job->approximate, &job->preconditioner)
                     : gsw_preconditioner_from_factor(context, job->factor, &job->preconditioner);
    job->sweeps = job->factor;
    return status;
}

static gsw_status make_multigrid(gsw_context *context, solve_job *job) {
    gsw_status status =
        gsw_multigrid_create(context, &job->arrays.matrix, &job->hierarchy, &job->multigrid);
    if (status == GSW_SUCCESS)
        status = gsw_preconditioner_from_multigrid(context, job->multigrid, &job->preconditioner);
    job->levels = job->multigrid;
    return status;
}

static gsw_status choose(gsw_context *context, solve_job *job) {
    gsw_choice *choice = &job->attempts.automatic.choice;
    const gsw_choice_options options = {
        .size = sizeof options, .multigrid = &job->hierarchy, .factor = &job->wanted};
    const gsw_status status =
        gsw_choose(context, &job->arrays.matrix, &options, &job->preconditioner, choice);
    job->levels = choice->multigrid;
    job->sweeps = choice->factor;
    return status;
}

/* The preconditioner that the options name or that is chosen. */
static gsw_status make_parts(gsw_context *context, const cli_options *options, solve_job *job) {
    const int kind = cli_solve_precond(options);
    gsw_status status = GSW_SUCCESS;
    if (kind == CLI_PRECOND_AUTO)
        status = choose(context, job);
    else if (kind == CLI_PRECOND_MG)
        status = make_multigrid(context, job);
    else if (kind != CLI_PRECOND_NONE)
        status = make_factor(context, (gsw_factor_kind)kind, job);
    return status == GSW_SUCCESS ? gsw_context_synchronize(context) : status;
}

/* Takes the method that the options name or that is chosen. */
static gsw_status take_method(gsw_context *context, const cli_options *options, solve_job *job) {
    cli_auto *automatic = &job->attempts.automatic;
    gsw_status status = GSW_SUCCESS;
    if (automatic->method && !automatic->precond)
        status = gsw_choose_method(context, &job->arrays.matrix, &automatic->choice);
    job->attempts.method =
        automatic->method ? automatic->choice.method : (gsw_method)cli_solve_method(options);
    if (automatic->precond)
        automatic->first_precond = gsw_preconditioner_name(job->preconditioner);
    if (automatic->method)
        automatic->first_method = gsw_method_name(job->attempts.method);
    return status;
}

static void print_pivots(const cli_options *options, const solve_job *job) {
    gsw_factor_info info = {.size = sizeof info};
    if (gsw_factor_get_info(job->sweeps, &info) == GSW_SUCCESS && info.shifted_pivots > 0)
        cli_field(options, "pivots", "%lld shifted", (long long)info.shifted_pivots);
}

static int make_preconditioner(const cli_options *options, solve_job *job) {
    gsw_context *context = job->place.run;
    const cli_auto *automatic = &job->attempts.automatic;
    double start = cli_now_ms();
    gsw_status status = make_parts(context, options, job);
    if (status == GSW_SUCCESS)
        status = take_method(context, options, job);
    job->factor_ms = cli_now_ms() - start;
    if (status == GSW_SUCCESS)
        status = gsw_operator_from_matrix(context, &job->arrays.matrix, &job->op);
    if (status == GSW_ERROR_ZERO_PIVOT && automatic->precond) {
        cli_error(options, "%s; --precond none needs no pivots", gsw_context_message(context));
        return CLI_BREAKDOWN;
    }
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, cli_source_of(options));
    if (automatic->precond || automatic->method)
        cli_auto_print(options, automatic);
    if (job->levels != NULL)
        cli_print_multigrid(options, job->levels);
    print_pivots(options, job);
    if (job->approximate > 0) { /* the preconditioner has copied the factor */
        gsw_factor_destroy(job->factor);
        job->sweeps = job->factor = NULL;
    }
    return CLI_OK;
}

static int open_place(const cli_options *options, solve_job *job) {
    const int kind = cli_solve_precond(options);
    const bool factor = kind != CLI_PRECOND_NONE && kind != CLI_PRECOND_MG;
    job->hierarchy = cli_multigrid_options(options);
    job->wanted = (gsw_factor_options){
        .size = sizeof(gsw_factor_options),
        .kind = kind == CLI_PRECOND_AUTO || !factor ? GSW_ILU0 : (gsw_factor_kind)kind,
        .factor_type = (gsw_dtype)options->factor_precision,
        .vector_type = GSW_F64,
        .omega = options->omega,
        .pivot_shift = options->pivot_shift};
    return cli_open_place(options,
                          &(cli_work){.factor = factor ? &job->wanted : NULL,
                                      .multigrid = kind == CLI_PRECOND_MG ? &job->hierarchy : NULL},
                          &job->place);
}

static size_t vector_bytes(const solve_job *job) {
    return (size_t)job->input.rows * sizeof *job->x;
}

static int prepare(const cli_options *options, solve_job *job) {
    int code = open_place(options, job);
    const double start = cli_now_ms();
    if (code == CLI_OK)
        code = cli_load_system(options, job->place.host, &job->input, &job->b, &job->x,
                               &job->attempts);
    job->setup_ms = cli_now_ms() - start;
    if (code != CLI_OK)
        return code;
    cli_print_matrix(options, &job->input);
    cli_print_backend(options, &job->place);
    cli_warn_if_not_symmetric(options, &job->input, cli_solve_precond(options));
    code = cli_upload(options, &job->place, &job->input.matrix, job->b, job->x, vector_bytes(job),
                      &job->arrays);
    return code == CLI_OK ? make_preconditioner(options, job) : code;
}

/* ---- The iteration ---------------------------------------------------------------------------
 */

/* The factor in place of multigrid: IC(0) where it was the candidate and exists. */
static gsw_status change_to_factor(solve_job *job, gsw_method method) {
    gsw_context *context = job->place.run;
    const gsw_factor_kind kind = method == GSW_CG ? job->attempts.automatic.choice.kind : GSW_ILU0;
    gsw_preconditioner_destroy(job->preconditioner);
    job->preconditioner = NULL;
    job->levels = NULL;
    double start = cli_now_ms();
    gsw_status status = make_factor(context, kind, job);
    if (status == GSW_ERROR_ZERO_PIVOT && kind == GSW_IC0)
        status = make_factor(context, GSW_ILU0, job);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(context);
    job->factor_ms += cli_now_ms() - start;
    return status;
}

/* Makes ready what is tried next. x stays where it is better than nothing. */
static int change(const cli_options *options, solve_job *job, const cli_next *next) {
    gsw_context *context = job->place.run;
    cli_attempts *attempts = &job->attempts;
    char why[sizeof attempts->message + 64];
    cli_stopped_because(attempts, why, sizeof why);
    gsw_status status = GSW_SUCCESS;
    if (next->factor)
        status = change_to_factor(job, next->method);
    attempts->method = next->method;
    if (status == GSW_SUCCESS && !(attempts->result.residual < 1))
        status = gsw_memory_set(context, job->arrays.x, 0, vector_bytes(job));
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, cli_source_of(options));
    cli_auto_fall_back(options, attempts, gsw_preconditioner_name(job->preconditioner), why);
    print_pivots(options, job);
    return CLI_OK;
}

/* Attempts until one converges or there is nothing else to try. */
static int iterate_all(const cli_options *options, solve_job *job) {
    for (;;) {
        cli_attempt(options, job->place.run, job->op, job->preconditioner, job->levels != NULL,
                    job->arrays.b, job->arrays.x, &job->attempts);
        const cli_next next = cli_auto_next(options, &job->attempts);
        if (!next.again)
            return cli_solve_conclude(options, job->place.run, &job->attempts);
        int code = change(options, job, &next);
        if (code != CLI_OK)
            return code;
    }
}

/* What the result's text and files are about. */
static cli_solved summary(const cli_options *options, const solve_job *job, bool solved) {
    return (cli_solved){
        .context = job->place.run,
        .host = job->place.host,
        .input = &job->input,
        .attempts = &job->attempts,
        .levels = job->levels,
        .precond = gsw_preconditioner_name(job->preconditioner),
        .factor_dtype = job->preconditioner != NULL ? stored_dtype(options, job) : NULL,
        .setup_ms = job->setup_ms,
        .factor_ms = job->factor_ms,
        .upload_ms = job->arrays.upload_ms,
        .download_ms = job->arrays.download_ms,
        .x = solved ? job->x : NULL,
        .scope = cli_given(options, OPT_SCOPE) ? gsw_scope_name((gsw_scope)options->scope) : NULL,
        .boxes = {1, 1, 1}};
}

/* Refuses options that would do nothing. */
static int check_options(const cli_options *options) {
    int precond = cli_solve_precond(options);
    if (cli_given(options, OPT_OMEGA) && precond != (int)GSW_SSOR)
        return cli_usage(options, "--omega is for --precond ssor, not for --precond %s",
                         cli_precond_name(precond));
    if (cli_given(options, OPT_RESTART) && cli_solve_method(options) != (int)GSW_GMRES)
        return cli_usage(options, "--restart is for --method gmres, not for --method %s",
                         cli_solve_method_name(options));
    int code = cli_check_multigrid(options);
    return code == CLI_OK ? cli_check_processes(options) : code;
}

/* Iterates and reports the result. */
static int solve(const cli_options *options, solve_job *job) {
    cli_field(options, "method", "%s, preconditioner %s%s, rtol %g",
              gsw_method_name(job->attempts.method), gsw_preconditioner_name(job->preconditioner),
              job->preconditioner != NULL && strcmp(stored_dtype(options, job), "f32") == 0
                  ? " in f32"
                  : "",
              options->rtol);
    int code = iterate_all(options, job), other = CLI_OK;
    bool solved = code == CLI_OK || code == CLI_NOT_CONVERGED;
    if (solved)
        other = cli_download(options, &job->place, &job->arrays, job->x, vector_bytes(job));
    if (other != CLI_OK || !cli_method_ended(job->attempts.status))
        return other != CLI_OK ? other : code;
    const cli_solved result = summary(options, job, solved);
    if (solved)
        cli_solve_report(options, &result);
    other = cli_solve_write(options, &result);
    return other != CLI_OK ? other : code;
}

int cmd_solve(const cli_options *options) {
    solve_job job = {0};
    int code = check_options(options);
    if (code == CLI_OK)
        code = parse_triangular(options, &job.approximate);
    if (code == CLI_OK && cli_processes() > 1)
        return cli_solve_distributed(options);
    cli_auto_start(options, &job.attempts.automatic);
    if (code == CLI_OK)
        code = cli_check_outputs(options);
    if (code == CLI_OK)
        code = prepare(options, &job);
    if (code == CLI_OK)
        code = solve(options, &job);
    free(job.attempts.history.entries);
    free(job.x);
    free(job.b);
    gsw_preconditioner_destroy(job.preconditioner);
    gsw_operator_destroy(job.op);
    gsw_multigrid_destroy(job.multigrid);
    gsw_factor_destroy(job.factor);
    cli_arrays_free(&job.place, &job.arrays);
    cli_input_free(&job.input);
    cli_close_place(&job.place);
    return code;
}
