/* cmd_solve.c: `gridsweep solve`: a preconditioned Krylov solve with its progress and report. On
 * several processes the first one has the system whole, and each works on a box of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd.h"
#include "common/input.h"
#include "common/measure.h"
#include "output/boxes.h"
#include "output/multigrid.h"
#include "output/output.h"
#include "common/place.h"
#include "common/processes.h"
#include "output/result.h"
#include "solve_auto.h"
#include "solve_report.h"

#define DEVICE_SIZE 160

/* Everything that a solve owns. The input and the vectors b and x are the first process's. */
typedef struct solve_job {
    cli_place place;
    cli_input input;
    cli_boxes boxes;   /* on several processes, */
    cli_arrays arrays; /* which have only their own parts here */
    cli_attempts attempts;
    gsw_multigrid_options hierarchy;
    gsw_factor_options wanted;
    gsw_solver *solver;
    const gsw_multigrid *levels; /* what the preconditioner applies, if it is multigrid, */
    const gsw_factor *sweeps;    /* and if it is a factor */
    const char *precond;
    double *b, *x;
    double setup_ms, factor_ms;
} solve_job;

/* Precision in which the preconditioner is stored; NULL: there is none. */
static const char *stored_dtype(const cli_options *options, const solve_job *job) {
    if (strcmp(job->precond, "none") == 0)
        return NULL;
    return cli_dtype_name(job->levels != NULL ? cli_mg_precision(options)
                                              : options->factor_precision);
}

/* The scope of the preconditioner; NULL: it has none, or only one process has a part in it. */
static const char *scope_of(const cli_options *options, const solve_job *job) {
    return cli_processes() > 1 && strcmp(job->precond, "none") != 0
               ? gsw_scope_name((gsw_scope)options->scope)
               : NULL;
}

/* ---- The preconditioner ----------------------------------------------------------------------
 */

/* Takes what the solver says of its choice or of its last solve. */
static void take_report(solve_job *job) {
    gsw_solver_report report = {.size = sizeof report};
    cli_attempts *attempts = &job->attempts;
    cli_auto *automatic = &attempts->automatic;
    (void)gsw_solver_get_report(job->solver, &report);
    (void)gsw_solver_get_choice(job->solver, &automatic->choice);
    automatic->first_precond = automatic->precond ? report.first_precond : NULL;
    automatic->first_method = automatic->method ? report.first_method : NULL;
    (void)snprintf(automatic->fallback, sizeof automatic->fallback, "%s", report.fallback);
    (void)snprintf(attempts->message, sizeof attempts->message, "%s", report.message);
    attempts->method = cli_method_named(report.method);
    attempts->status = (gsw_status)report.status;
    attempts->result = (gsw_krylov_result){.size = sizeof attempts->result,
                                           .iterations = report.iterations,
                                           .converged = report.converged,
                                           .stagnated = report.stagnated,
                                           .replacements = report.replacements,
                                           .residual = report.residual,
                                           .recurrence = report.recurrence,
                                           .removed = report.removed,
                                           .solve_ms = report.solve_ms,
                                           .status = report.status,
                                           .eisenstat = report.eisenstat};
    job->precond = report.precond;
    job->levels = report.multigrid;
    job->sweeps = report.factor;
    job->factor_ms = report.setup_ms;
}

static gsw_status make_solver(gsw_context *context, const cli_options *options, solve_job *job) {
    const gsw_krylov_options krylov = cli_krylov_options(options, &job->attempts);
    const int method = cli_solve_method(options);
    const gsw_solver_options wanted = {
        .size = sizeof wanted,
        .precond = cli_solver_precond(cli_solve_precond(options)),
        .method = method == CLI_METHOD_AUTO ? GSW_SOLVER_AUTO : (gsw_solver_method)(method + 1),
        .multigrid = &job->hierarchy,
        .factor = &job->wanted,
        .krylov = &krylov};
    const gsw_status status =
        gsw_solver_create(context, &job->arrays.matrix, &wanted, &job->solver);
    if (status == GSW_SUCCESS)
        take_report(job);
    return status;
}

static void print_pivots(const cli_options *options, const solve_job *job) {
    gsw_factor_info info = {.size = sizeof info};
    if (gsw_factor_get_info(job->sweeps, &info) == GSW_SUCCESS && info.shifted_pivots > 0)
        cli_field(options, "pivots", "%lld shifted", (long long)info.shifted_pivots);
}

static void print_boxes(const cli_options *options, const solve_job *job) {
    gsw_factor_info info = {.size = sizeof info};
    int kind = job->levels != NULL ? CLI_PRECOND_MG : CLI_PRECOND_NONE;
    if (gsw_factor_get_info(job->sweeps, &info) == GSW_SUCCESS)
        kind = (int)info.kind;
    if (cli_processes() > 1)
        cli_boxes_print(options, &job->boxes, &job->input.matrix.grid, &kind, 1);
}

static int make_preconditioner(const cli_options *options, solve_job *job) {
    gsw_context *context = job->place.run;
    const cli_auto *automatic = &job->attempts.automatic;
    const gsw_status status = make_solver(context, options, job);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, cli_source_of(options));
    print_boxes(options, job);
    if (automatic->precond || automatic->method)
        cli_auto_print(options, automatic);
    if (job->levels != NULL)
        cli_print_multigrid(options, job->levels);
    print_pivots(options, job);
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
        .pivot_shift = options->pivot_shift,
        .scope = (gsw_scope)options->scope,
        .overlap = options->overlap};
    return cli_open_place(options,
                          &(cli_work){.factor = factor ? &job->wanted : NULL,
                                      .multigrid = kind == CLI_PRECOND_MG ? &job->hierarchy : NULL},
                          &job->place);
}

static size_t vector_bytes(const solve_job *job) {
    return (size_t)job->input.rows * sizeof *job->x;
}

/* The first process reads or makes the system. */
static int load(const cli_options *options, solve_job *job) {
    const double start = cli_now_ms();
    const int code =
        cli_load_system(options, job->place.host, &job->input, &job->b, &job->x, &job->attempts);
    job->setup_ms = cli_now_ms() - start;
    if (code != CLI_OK)
        return code;
    cli_print_matrix(options, &job->input);
    cli_print_backend(options, &job->place);
    cli_warn_if_not_symmetric(options, &job->input, cli_solve_precond(options));
    if (options->overlap > 0 && cli_processes() > 1 && cli_solve_method(options) == (int)GSW_CG)
        cli_error(options, "warning: --overlap makes the preconditioner unsymmetric; cg may fail, "
                           "bicgstab and gmres do not need symmetry");
    return CLI_OK;
}

/* Brings each process its part. */
static int distribute(const cli_options *options, solve_job *job) {
    cli_boxes *boxes = &job->boxes;
    gsw_grid grid = job->input.matrix.grid;
    const double start = cli_now_ms();
    cli_processes_share(&grid, sizeof grid);
    int code = cli_boxes_open(options, job->place.run, &grid, &job->input.matrix, boxes);
    if (code != CLI_OK)
        return code;
    const gsw_status status = cli_boxes_distribute(boxes, job->b, job->x);
    if (status != GSW_SUCCESS)
        return cli_status(options, job->place.run, status, cli_source_of(options));
    job->arrays = (cli_arrays){.matrix = boxes->matrix,
                               .b = boxes->run_b,
                               .x = boxes->run_x,
                               .upload_ms = NAN,
                               .download_ms = NAN};
    job->setup_ms += cli_now_ms() - start;
    return CLI_OK;
}

static int prepare(const cli_options *options, solve_job *job) {
    int code = cli_processes_agree(options, open_place(options, job));
    if (code == CLI_OK)
        code = cli_processes_agree(options, cli_rank() == 0 ? load(options, job) : CLI_OK);
    if (code != CLI_OK)
        return code;
    code = cli_processes() > 1 ? distribute(options, job)
                               : cli_upload(options, &job->place, &job->input.matrix, job->b,
                                            job->x, vector_bytes(job), &job->arrays);
    return code == CLI_OK ? make_preconditioner(options, job) : code;
}

/* ---- The iteration ---------------------------------------------------------------------------
 */

/* All attempts. */
static int iterate(const cli_options *options, solve_job *job) {
    cli_attempts *attempts = &job->attempts;
    const char *before = job->precond;
    cli_watch_start(options, job->solver, attempts);
    const gsw_status status =
        gsw_solver_solve(job->place.run, job->solver, job->arrays.b, job->arrays.x, NULL);
    cli_progress_finish(&attempts->watch.progress);
    take_report(job);
    attempts->status = status;
    if (attempts->automatic.fallback[0] != '\0')
        cli_field(options, "fallback", "%s", attempts->automatic.fallback);
    if (strcmp(before, job->precond) != 0)
        print_pivots(options, job);
    return cli_solve_conclude(options, job->place.run, attempts);
}

/* What the result's text and files are about. */
static cli_solved summary(const cli_options *options, const solve_job *job, bool solved) {
    const char *scope =
        cli_given(options, OPT_SCOPE) ? gsw_scope_name((gsw_scope)options->scope) : NULL;
    cli_solved result = {.context = job->place.run,
                         .host = job->place.host,
                         .input = &job->input,
                         .attempts = &job->attempts,
                         .levels = job->levels,
                         .precond = job->precond,
                         .factor_dtype = stored_dtype(options, job),
                         .setup_ms = job->setup_ms,
                         .factor_ms = job->factor_ms,
                         .upload_ms = job->arrays.upload_ms,
                         .download_ms = job->arrays.download_ms,
                         .x = solved ? job->x : NULL,
                         .scope = cli_processes() > 1 ? scope_of(options, job) : scope,
                         .boxes = {1, 1, 1}};
    if (cli_processes() > 1)
        gsw_partition_shape(job->boxes.partition, result.boxes);
    return result;
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
    if (code == CLI_OK)
        code = cli_boxes_check(options);
    return code == CLI_OK ? cli_boxes_refuse(options) : code;
}

/* Brings x to the first process. */
static int fetch(const cli_options *options, solve_job *job) {
    if (cli_processes() == 1)
        return cli_download(options, &job->place, &job->arrays, job->x, vector_bytes(job));
    const gsw_status status = cli_boxes_collect(&job->boxes, job->x);
    return status == GSW_SUCCESS
               ? CLI_OK
               : cli_status(options, job->place.run, status, cli_source_of(options));
}

/* Reports the result in the first process. `names`: the devices of all, DEVICE_SIZE bytes each. */
static int report(const cli_options *options, const solve_job *job, const char *names,
                  bool solved) {
    const char **devices = calloc((size_t)cli_processes(), sizeof *devices);
    if (devices == NULL) {
        cli_error(options, "out of memory for the names of the devices");
        return CLI_INPUT;
    }
    for (int rank = 0; rank < cli_processes(); rank++)
        devices[rank] = names + (size_t)rank * DEVICE_SIZE;
    cli_solved result = summary(options, job, solved);
    result.devices = devices;
    if (solved)
        cli_solve_report(options, &result);
    const int code = cli_solve_write(options, &result);
    free(devices);
    return code;
}

static int report_all(const cli_options *options, const solve_job *job, bool solved) {
    char own[DEVICE_SIZE];
    char *names = cli_rank() == 0 ? calloc((size_t)cli_processes(), DEVICE_SIZE) : NULL;
    int code = CLI_OK;
    if (cli_rank() == 0 && names == NULL) {
        cli_error(options, "out of memory for the names of the devices");
        code = CLI_INPUT;
    }
    code = cli_processes_agree(options, code);
    if (code == CLI_OK) {
        (void)snprintf(own, sizeof own, "%s", gsw_context_device(job->place.run));
        cli_processes_collect(own, sizeof own, names);
        code = cli_processes_agree(options,
                                   cli_rank() == 0 ? report(options, job, names, solved) : CLI_OK);
    }
    free(names);
    return code;
}

/* Iterates and reports the result. */
static int solve(const cli_options *options, solve_job *job) {
    const char *stored = stored_dtype(options, job);
    const char *scope = scope_of(options, job);
    cli_field(options, "method", "%s, preconditioner %s%s%s%s, rtol %g",
              gsw_method_name(job->attempts.method), job->precond,
              stored != NULL && strcmp(stored, "f32") == 0 ? " in f32" : "",
              scope != NULL ? ", scope " : "", scope != NULL ? scope : "", options->rtol);
    int code = iterate(options, job), other = CLI_OK;
    bool solved = code == CLI_OK || code == CLI_NOT_CONVERGED;
    if (solved)
        other = fetch(options, job);
    if (other == CLI_OK && cli_method_ended(job->attempts.status))
        other = report_all(options, job, solved);
    return other != CLI_OK ? other : code;
}

int cmd_solve(const cli_options *options) {
    solve_job job = {0};
    int code = check_options(options);
    cli_auto_start(options, &job.attempts.automatic);
    if (code == CLI_OK)
        code = cli_processes_agree(options, cli_rank() == 0 ? cli_check_outputs(options) : CLI_OK);
    if (code == CLI_OK)
        code = prepare(options, &job);
    if (code == CLI_OK)
        code = solve(options, &job);
    free(job.attempts.history.entries);
    free(job.x);
    free(job.b);
    gsw_solver_destroy(job.solver);
    if (cli_processes() == 1)
        cli_arrays_free(&job.place, &job.arrays);
    cli_boxes_close(&job.boxes);
    cli_input_free(&job.input);
    cli_close_place(&job.place);
    return code;
}
