/* cmd_solve.c: `gridsweep solve`: a preconditioned Krylov solve. On several processes the first one
 * has the system whole, and each works on a box of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd.h"
#include "common/measure.h"
#include "common/processes.h"
#include "output/multigrid.h"
#include "output/output.h"
#include "solve.h"

/* ---- Options -------------------------------------------------------------------------------- */

/* Refuses options of multigrid without it, and with it those of factors. */
static int check_multigrid(const cli_options *options) {
    char why[64];
    (void)snprintf(why, sizeof why, "is not for --precond %s",
                   cli_choice(OPT_SOLVE_PRECOND, options->precond));
    if (options->precond == CLI_PRECOND_AUTO) /* the options of what is chosen count */
        return CLI_OK;
    if (options->precond == CLI_PRECOND_MG)
        return cli_refuse(options, why, OPT_PIVOT_SHIFT, OPT_FACTOR_PRECISION, OPT_END);
    return cli_refuse(options, why, OPT_MG_CYCLE, OPT_MG_SMOOTHER, OPT_MG_THETA, OPT_MG_PRECISION,
                      OPT_MG_INFO, OPT_END);
}

/* Refuses options that would do nothing. */
static int check_options(const cli_options *options) {
    if (cli_given(options, OPT_OMEGA) && options->precond != (int)GSW_SSOR)
        return cli_usage(options, "--omega is for --precond ssor, not for --precond %s",
                         cli_choice(OPT_SOLVE_PRECOND, options->precond));
    if (cli_given(options, OPT_RESTART) && options->method != (int)GSW_GMRES)
        return cli_usage(options, "--restart is for --method gmres, not for --method %s",
                         cli_choice(OPT_SOLVE_METHOD, options->method));
    int code = check_multigrid(options);
    if (code == CLI_OK)
        code = cli_boxes_check(options);
    return code == CLI_OK ? cli_boxes_refuse(options) : code;
}

/* ---- The system ----------------------------------------------------------------------------- */

static int open_place(const cli_options *options, cli_solve *job) {
    const int kind = options->precond;
    const bool factor = kind != CLI_PRECOND_NONE && kind != CLI_PRECOND_MG;
    job->hierarchy = cli_multigrid_options(options);
    job->factor = (gsw_factor_options){
        .size = sizeof(gsw_factor_options),
        .kind = kind == CLI_PRECOND_AUTO || !factor ? GSW_ILU0 : (gsw_factor_kind)kind,
        .factor_type = (gsw_dtype)options->factor_precision,
        .vector_type = GSW_F64,
        .omega = options->omega,
        .pivot_shift = options->pivot_shift,
        .scope = (gsw_scope)options->scope,
        .overlap = options->overlap};
    return cli_open_place(options,
                          &(cli_work){.factor = factor ? &job->factor : NULL,
                                      .multigrid = kind == CLI_PRECOND_MG ? &job->hierarchy : NULL},
                          &job->place);
}

/* Reads or makes the matrix, the right-hand side and the first guess. */
static int load_arrays(const cli_options *options, cli_solve *job) {
    gsw_context *host = job->place.host;
    int code = cli_load(options, host, &job->input);
    if (code == CLI_OK && options->json != NULL && !cli_history_open(&job->history))
        code = cli_error(options, "out of memory for the history of the residual");
    if (code == CLI_OK)
        code = cli_load_rhs(options, host, &job->input, &job->b);
    return code == CLI_OK ? cli_load_guess(options, host, &job->input, &job->x) : code;
}

static int load(const cli_options *options, cli_solve *job) {
    const double start = cli_now_ms();
    const int code = load_arrays(options, job);
    job->setup_ms = cli_now_ms() - start;
    if (code != CLI_OK)
        return code;
    cli_print_matrix(options, &job->input);
    cli_print_backend(options, &job->place);
    cli_warn_if_not_symmetric(options, &job->input, options->precond);
    if (options->overlap > 0 && cli_processes() > 1 && options->method == (int)GSW_CG)
        cli_error(options, "warning: --overlap makes the preconditioner unsymmetric; cg may fail, "
                           "bicgstab and gmres do not need symmetry");
    return CLI_OK;
}

static int prepare(const cli_options *options, cli_solve *job) {
    int code = cli_processes_agree(options, open_place(options, job));
    if (code == CLI_OK)
        code = cli_processes_agree(options, cli_rank() == 0 ? load(options, job) : CLI_OK);
    if (code != CLI_OK)
        return code;
    const double start = cli_now_ms();
    code = cli_boxes_open(options, &job->place, &job->input.matrix, job->b, job->x,
                          job->input.vector_bytes, &job->boxes);
    if (cli_processes() > 1)
        job->setup_ms += cli_now_ms() - start;
    return code;
}

/* Brings x to the first process. */
static int fetch(const cli_options *options, cli_solve *job) {
    if (cli_processes() == 1)
        return cli_download(options, &job->place, &job->boxes.arrays, job->x,
                            job->input.vector_bytes);
    const gsw_status status = cli_boxes_collect(&job->boxes, job->x);
    return cli_status(options, job->place.run, status, cli_source_of(options));
}

/* ---- The solver ----------------------------------------------------------------------------- */

/* Wall time in which the solver has made preconditioners so far. */
static double solver_setup_ms(const gsw_solver *solver) {
    gsw_solver_report report = {.size = sizeof report};
    return gsw_solver_get_report(solver, &report) == GSW_SUCCESS ? report.setup_ms : 0;
}

/* A gsw_monitor_fn; `user` is the cli_solve. The history has the time of the iterations alone. */
static int watch(void *user, int64_t iteration, double residual) {
    cli_solve *job = user;
    (void)cli_progress_monitor(&job->progress, iteration, residual * job->input.share);
    if (job->history.entries != NULL) {
        const double ms = cli_now_ms() - job->begin_ms;
        const double made_ms = solver_setup_ms(job->solver) - job->before_ms;
        cli_history_add(&job->history,
                        (cli_history_entry){iteration, residual * job->input.share, ms - made_ms});
    }
    return 0;
}

static gsw_precond precond_named(const char *name) {
    for (int precond = GSW_PRECOND_AUTO;; precond++) {
        const char *known = gsw_precond_name((gsw_precond)precond);
        if (strcmp(known, name) == 0 || strcmp(known, "unknown") == 0)
            return (gsw_precond)precond; /* the library refuses one that it does not know */
    }
}

static gsw_status make_solver(const cli_options *options, cli_solve *job) {
    const gsw_krylov_options krylov = {.size = sizeof krylov,
                                       .rtol = options->rtol,
                                       .max_iterations =
                                           cli_given(options, OPT_MAX_ITER) ? options->max_iter : 0,
                                       .restart = (int)options->restart,
                                       .norm = (gsw_norm)options->norm,
                                       .eisenstat = options->eisenstat,
                                       .nullspace = (gsw_nullspace)options->nullspace,
                                       .monitor = watch,
                                       .monitor_user = job};
    const gsw_solver_options wanted = {
        .size = sizeof wanted,
        .precond = precond_named(cli_choice(OPT_SOLVE_PRECOND, options->precond)),
        .method = options->method == CLI_METHOD_AUTO ? GSW_SOLVER_AUTO
                                                     : (gsw_solver_method)(options->method + 1),
        .multigrid = &job->hierarchy,
        .factor = &job->factor,
        .krylov = &krylov};
    gsw_status status =
        gsw_solver_create(job->place.run, &job->boxes.arrays.matrix, &wanted, &job->solver);
    job->report.size = sizeof job->report;
    job->choice.size = sizeof job->choice;
    if (status == GSW_SUCCESS)
        status = gsw_solver_get_report(job->solver, &job->report);
    return status == GSW_SUCCESS ? gsw_solver_get_choice(job->solver, &job->choice) : status;
}

static void print_boxes(const cli_options *options, const cli_solve *job) {
    gsw_factor_info info = {.size = sizeof info};
    int kind = job->report.multigrid != NULL ? CLI_PRECOND_MG : CLI_PRECOND_NONE;
    if (gsw_factor_get_info(job->report.factor, &info) == GSW_SUCCESS)
        kind = (int)info.kind;
    if (cli_processes() > 1)
        cli_boxes_print(options, &job->boxes, &job->input.matrix.grid, &kind, 1);
}

static int make_preconditioner(const cli_options *options, cli_solve *job) {
    const gsw_status status = make_solver(options, job);
    if (status != GSW_SUCCESS)
        return cli_status(options, job->place.run, status, cli_source_of(options));
    print_boxes(options, job);
    cli_solve_print_choice(options, job);
    if (job->report.multigrid != NULL)
        cli_print_multigrid(options, job->report.multigrid);
    cli_print_pivots(options, job->report.factor);
    cli_solve_print_method(options, job);
    return CLI_OK;
}

/* All attempts. Says how the last one ended, where it did not end well. */
static int iterate(const cli_options *options, cli_solve *job) {
    const char *before = job->report.precond;
    job->before_ms = solver_setup_ms(job->solver);
    cli_progress_start(&job->progress, options);
    job->begin_ms = cli_now_ms();
    job->status = gsw_solver_solve(job->place.run, job->solver, job->boxes.arrays.b,
                                   job->boxes.arrays.x, NULL);
    cli_progress_finish(&job->progress);
    (void)gsw_solver_get_report(job->solver, &job->report);
    (void)gsw_solver_get_choice(job->solver, &job->choice);
    job->report.residual *= job->input.share;
    job->report.recurrence *= job->input.share;
    if (job->report.fallback[0] != '\0')
        cli_field(options, "fallback", "%s", job->report.fallback);
    if (strcmp(before, job->report.precond) != 0)
        cli_print_pivots(options, job->report.factor);
    if (job->status == GSW_SUCCESS)
        return CLI_OK;
    if (job->status != GSW_ERROR_NOT_CONVERGED)
        /* The options are checked: what a method refuses is the data, of a problem as well. */
        return cli_status(options, job->place.run, job->status, CLI_FROM_FILE);
    cli_error(options, "not converged: %s; the solution is the last iterate", job->report.message);
    return CLI_NOT_CONVERGED;
}

/* Reports the result in the first process, with the devices of all. */
static int report(const cli_options *options, cli_solve *job, bool solved) {
    const bool first = cli_rank() == 0;
    cli_device_name own;
    int code = CLI_OK;
    if (first && (job->devices = calloc((size_t)cli_processes(), sizeof own)) == NULL)
        code = cli_error(options, "out of memory for the names of the devices");
    code = cli_processes_agree(options, code);
    if (code != CLI_OK)
        return code;
    (void)snprintf(own, sizeof own, "%s", gsw_context_device(job->place.run));
    cli_processes_collect(own, sizeof own, job->devices);
    if (first && solved) {
        cli_solve_print(options, job);
        code = cli_collect(options, &job->input, job->x);
    }
    code = cli_processes_agree(options, code);
    if (code != CLI_OK)
        return code;
    return cli_processes_agree(options, first ? cli_solve_write(options, job, solved) : CLI_OK);
}

static int run(const cli_options *options, cli_solve *job) {
    int code = prepare(options, job), other = CLI_OK;
    if (code == CLI_OK)
        code = make_preconditioner(options, job);
    if (code != CLI_OK)
        return code;
    code = iterate(options, job);
    const bool solved = code == CLI_OK || code == CLI_NOT_CONVERGED;
    if (solved)
        other = fetch(options, job);
    if (other == CLI_OK && cli_solve_ended(job))
        other = report(options, job, solved);
    return other != CLI_OK ? other : code;
}

int cmd_solve(const cli_options *given) {
    cli_options options = *given;
    cli_solve job = {.input.share = 1};
    if (!cli_given(given, OPT_SOLVE_METHOD))
        options.method = CLI_METHOD_AUTO;
    if (options.precond < 0)
        options.precond = CLI_PRECOND_AUTO;
    int code = check_options(&options);
    if (code == CLI_OK)
        code =
            cli_processes_agree(&options, cli_rank() == 0 ? cli_check_outputs(&options) : CLI_OK);
    if (code == CLI_OK)
        code = run(&options, &job);
    free(job.devices);
    free(job.history.entries);
    free(job.x);
    free(job.b);
    gsw_solver_destroy(job.solver);
    cli_boxes_close(&job.boxes);
    cli_input_free(&job.input);
    cli_close_place(&job.place);
    return code;
}
