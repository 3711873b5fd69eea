/* solve_distributed.c: see solve_distributed.h. */
#include "solve_distributed.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "output/boxes.h"
#include "common/input.h"
#include "common/measure.h"
#include "output/multigrid.h"
#include "output/output.h"
#include "common/processes.h"
#include "output/result.h"
#include "solve_auto.h"
#include "solve_report.h"

#define DEVICE_SIZE 160

/* What the first process decides for all. */
typedef struct solve_plan {
    gsw_grid grid;
    gsw_choice choice; /* without its pointers */
    int kind;          /* of the chosen preconditioner */
} solve_plan;

/* What a process owns. `input` and the vectors of the whole grid are the first process's. */
typedef struct box_job {
    gsw_context *context;
    gsw_context *host; /* for what is in the host's memory: on a CPU it is `context` */
    cli_boxes boxes;
    cli_boxes_precond precond;
    cli_input input;
    cli_attempts attempts;
    double *all_b, *all_x;
    int kind; /* of the preconditioner: a gsw_factor_kind, CLI_PRECOND_MG or CLI_PRECOND_NONE */
    double setup_ms, factor_ms;
} box_job;

/* ---- Options ---------------------------------------------------------------------------------
 */

int cli_check_processes(const cli_options *options) {
    int code = cli_boxes_check(options);
    return code == CLI_OK ? cli_boxes_refuse(options) : code;
}

/* ---- Set-up ----------------------------------------------------------------------------------
 */

static int report_status(const cli_options *options, const box_job *job, gsw_status status) {
    return status == GSW_SUCCESS
               ? CLI_OK
               : cli_status(options, job->context, status, cli_source_of(options));
}

/* The first process chooses for the whole matrix, as if it were alone. What it makes for that is
 * not kept. */
static gsw_status choose(const cli_options *options, const box_job *job, solve_plan *plan) {
    gsw_multigrid_options hierarchy = cli_multigrid_options(options);
    const gsw_factor_options factor = {
        .size = sizeof factor, .omega = options->omega, .pivot_shift = options->pivot_shift};
    const gsw_choice_options wanted = {
        .size = sizeof wanted, .multigrid = &hierarchy, .factor = &factor};
    gsw_choice *choice = &plan->choice;
    gsw_preconditioner *tried = NULL;
    if (!job->attempts.automatic.precond)
        return gsw_choose_method(job->host, &job->input.matrix, choice);
    gsw_status status = gsw_choose(job->host, &job->input.matrix, &wanted, &tried, choice);
    plan->kind = choice->multigrid != NULL ? CLI_PRECOND_MG : (int)choice->kind;
    gsw_preconditioner_destroy(tried);
    choice->multigrid = NULL;
    choice->factor = NULL;
    return status;
}

/* The first process reads or makes the system and looks at the matrix. */
static int load(const cli_options *options, box_job *job, solve_plan *plan) {
    const int code =
        cli_load_system(options, job->host, &job->input, &job->all_b, &job->all_x, &job->attempts);
    if (code != CLI_OK)
        return code;
    cli_print_matrix(options, &job->input);
    cli_warn_if_not_symmetric(options, &job->input, cli_solve_precond(options));
    plan->grid = job->input.matrix.grid;
    const gsw_status status = choose(options, job, plan);
    return status == GSW_SUCCESS ? CLI_OK
                                 : cli_status(options, job->host, status, cli_source_of(options));
}

/* Replaces what was chosen, and the reason. */
static void choose_instead(box_job *job, int kind, gsw_method method, const char *reason) {
    gsw_choice *choice = &job->attempts.automatic.choice;
    job->kind = kind;
    job->attempts.method = method;
    (void)snprintf(choice->text, sizeof choice->text, "%s", reason);
}

/* The preconditioner and the method that the options name or that are chosen. */
static void take_plan(const cli_options *options, box_job *job, const solve_plan *plan) {
    cli_attempts *attempts = &job->attempts;
    cli_auto *automatic = &attempts->automatic;
    automatic->choice = plan->choice;
    job->kind = cli_solve_precond(options);
    attempts->method =
        automatic->method ? plan->choice.method : (gsw_method)cli_solve_method(options);
    if (automatic->precond)
        job->kind = plan->kind;
    if (options->overlap == 0 || job->kind == CLI_PRECOND_NONE || job->kind == (int)GSW_JACOBI)
        return;
    if (job->kind == CLI_PRECOND_MG || automatic->method)
        choose_instead(job, job->kind == CLI_PRECOND_MG ? (int)plan->choice.kind : job->kind,
                       automatic->method ? GSW_BICGSTAB : attempts->method,
                       "overlaps are for factors, and make them unsymmetric");
    if (attempts->method == GSW_CG)
        cli_error(options, "warning: --overlap makes the preconditioner unsymmetric; cg may fail, "
                           "bicgstab and gmres do not need symmetry");
}

static int distribute(const cli_options *options, box_job *job, const gsw_grid *grid) {
    cli_boxes *boxes = &job->boxes;
    int code = cli_boxes_open(options, job->context, grid, &job->input.matrix, boxes);
    if (code != CLI_OK)
        return code;
    gsw_status status = gsw_partition_distribute(boxes->partition, 0, job->all_b, boxes->b);
    if (status == GSW_SUCCESS)
        status = gsw_partition_distribute(boxes->partition, 0, job->all_x, boxes->x);
    if (status == GSW_SUCCESS)
        status = cli_boxes_push(boxes);
    return report_status(options, job, status);
}

static int set_up(const cli_options *options, box_job *job) {
    solve_plan plan = {.choice.size = sizeof plan.choice};
    const double start = cli_now_ms();
    int code = cli_open_context(
        options, options->backend == GSW_BACKEND_CUDA ? GSW_BACKEND_CUDA : GSW_BACKEND_CPU, NULL,
        &job->context);
    job->host = job->context;
    if (code == CLI_OK && gsw_context_backend(job->context) != GSW_BACKEND_CPU)
        code = cli_open_context(options, GSW_BACKEND_CPU, NULL, &job->host);
    code = cli_processes_agree(options, code);
    if (code == CLI_OK)
        code = cli_processes_agree(options, cli_rank() == 0 ? load(options, job, &plan) : CLI_OK);
    if (code != CLI_OK)
        return code;
    cli_processes_share(&plan, sizeof plan);
    take_plan(options, job, &plan);
    code = distribute(options, job, &plan.grid);
    job->setup_ms = cli_now_ms() - start;
    return code;
}

/* ---- The preconditioner ----------------------------------------------------------------------
 */

/* One of that kind in place of the present one. Where IC(0) meets a bad pivot and ILU(0) may take
 * its place, it does. */
static gsw_status change_precond(const cli_options *options, box_job *job, int kind) {
    const double start = cli_now_ms();
    cli_boxes_precond_close(&job->precond);
    job->kind = kind;
    gsw_status status = cli_boxes_precond_open(options, &job->boxes, kind, &job->precond);
    if (status == GSW_ERROR_ZERO_PIVOT && job->attempts.automatic.precond && kind == (int)GSW_IC0) {
        job->kind = GSW_ILU0;
        status = cli_boxes_precond_open(options, &job->boxes, job->kind, &job->precond);
    }
    job->factor_ms += cli_now_ms() - start;
    return status;
}

static int make_preconditioner(const cli_options *options, box_job *job) {
    cli_attempts *attempts = &job->attempts;
    cli_auto *automatic = &attempts->automatic;
    const int wanted = job->kind;
    gsw_status status = change_precond(options, job, wanted);
    if (status != GSW_SUCCESS)
        return report_status(options, job, status);
    if (automatic->precond)
        automatic->first_precond = cli_precond_name(wanted);
    if (automatic->method)
        automatic->first_method = gsw_method_name(attempts->method);
    if (automatic->precond || automatic->method)
        cli_auto_print(options, automatic);
    cli_boxes_precond_print(options, &job->precond);
    if (job->kind == wanted)
        return CLI_OK;
    if (automatic->method)
        attempts->method = GSW_BICGSTAB;
    cli_auto_fall_back(options, attempts, cli_precond_name(job->kind), "ic0 meets a bad pivot");
    return CLI_OK;
}

/* ---- The iteration ---------------------------------------------------------------------------
 */

/* Makes ready what is tried next. x stays where it is better than the first guess. */
static int change(const cli_options *options, box_job *job, const cli_next *next) {
    cli_attempts *attempts = &job->attempts;
    char why[sizeof attempts->message + 64];
    cli_stopped_because(attempts, why, sizeof why);
    gsw_status status = GSW_SUCCESS;
    if (next->factor)
        status = change_precond(options, job,
                                next->method == GSW_CG ? (int)attempts->automatic.choice.kind
                                                       : (int)GSW_ILU0);
    attempts->method = next->method;
    if (status == GSW_SUCCESS && !(attempts->result.residual < 1)) {
        status = gsw_partition_distribute(job->boxes.partition, 0, job->all_x, job->boxes.x);
        if (status == GSW_SUCCESS)
            status = cli_boxes_push(&job->boxes);
    }
    if (status != GSW_SUCCESS)
        return report_status(options, job, status);
    cli_auto_fall_back(options, attempts, cli_precond_name(job->kind), why);
    return CLI_OK;
}

/* Attempts until one converges or there is nothing else to try. All processes see the same
 * residuals and decide alike. */
static int iterate_all(const cli_options *options, box_job *job) {
    const cli_boxes *boxes = &job->boxes;
    for (;;) {
        cli_attempt(options, job->context, gsw_distributed_matrix_operator(boxes->matrix),
                    cli_boxes_precond_get(&job->precond), job->precond.multigrid != NULL,
                    boxes->run_b, boxes->run_x, &job->attempts);
        const cli_next next = cli_auto_next(options, &job->attempts);
        if (!next.again)
            return cli_solve_conclude(options, job->context, &job->attempts);
        int code = change(options, job, &next);
        if (code != CLI_OK)
            return code;
    }
}

/* ---- The result ------------------------------------------------------------------------------
 */

/* The first process reports and writes. `devices` has room for the names of all. */
static int write_result(const cli_options *options, const box_job *job, const char *devices,
                        bool solved) {
    const char **names = malloc((size_t)cli_processes() * sizeof *names);
    if (names == NULL) {
        cli_error(options, "out of memory for the names of the devices");
        return CLI_INPUT;
    }
    for (int rank = 0; rank < cli_processes(); rank++)
        names[rank] = devices + (size_t)rank * DEVICE_SIZE;
    const bool some = job->kind != CLI_PRECOND_NONE;
    const int precision = job->precond.multigrid != NULL ? cli_mg_precision(options) : GSW_F64;
    cli_solved result = {.context = job->context,
                         .host = job->host,
                         .input = &job->input,
                         .attempts = &job->attempts,
                         .precond = cli_precond_name(job->kind),
                         .factor_dtype = some ? cli_dtype_name(precision) : NULL,
                         .setup_ms = job->setup_ms,
                         .factor_ms = job->factor_ms,
                         .upload_ms = NAN,
                         .download_ms = NAN,
                         .x = solved ? job->all_x : NULL,
                         .scope = some ? gsw_scope_name((gsw_scope)options->scope) : NULL,
                         .distributed_levels = job->precond.multigrid,
                         .devices = names};
    gsw_partition_shape(job->boxes.partition, result.boxes);
    if (solved)
        cli_solve_report(options, &result);
    int code = cli_solve_write(options, &result);
    free(names);
    return code;
}

static int finish(const cli_options *options, const box_job *job, bool solved) {
    char own[DEVICE_SIZE];
    char *devices = NULL;
    int code = CLI_OK;
    if (solved) {
        gsw_status status = cli_boxes_pull(&job->boxes);
        if (status == GSW_SUCCESS)
            status = gsw_partition_collect(job->boxes.partition, 0, job->boxes.x, job->all_x);
        code = report_status(options, job, status);
        if (code != CLI_OK)
            return code;
    }
    if (cli_rank() == 0 && (devices = calloc((size_t)cli_processes(), DEVICE_SIZE)) == NULL) {
        cli_error(options, "out of memory for the names of the devices");
        code = CLI_INPUT;
    }
    code = cli_processes_agree(options, code);
    if (code != CLI_OK) {
        free(devices);
        return code;
    }
    (void)snprintf(own, sizeof own, "%s", gsw_context_device(job->context));
    cli_processes_collect(own, sizeof own, devices);
    if (cli_rank() == 0)
        code = write_result(options, job, devices, solved);
    free(devices);
    return cli_processes_agree(options, code);
}

static int solve(const cli_options *options, box_job *job) {
    cli_boxes_print(options, &job->boxes, &job->input.matrix.grid, &job->kind, 1);
    cli_field(options, "backend", "%s", gsw_backend_name(gsw_context_backend(job->context)));
    cli_field(options, "device", "%s in the first process", gsw_context_device(job->context));
    cli_field(options, "threads", "%d in the first process", gsw_context_threads(job->context));
    int code = make_preconditioner(options, job);
    if (code != CLI_OK)
        return code;
    const bool some = job->kind != CLI_PRECOND_NONE;
    cli_field(options, "method", "%s, preconditioner %s%s%s, rtol %g",
              gsw_method_name(job->attempts.method), cli_precond_name(job->kind),
              some ? ", scope " : "", some ? gsw_scope_name((gsw_scope)options->scope) : "",
              options->rtol);
    code = iterate_all(options, job);
    if (!cli_method_ended(job->attempts.status))
        return code;
    const int other = finish(options, job, code == CLI_OK || code == CLI_NOT_CONVERGED);
    return other != CLI_OK ? other : code;
}

int cli_solve_distributed(const cli_options *options) {
    box_job job = {0};
    cli_auto_start(options, &job.attempts.automatic);
    int code = cli_processes_agree(options, cli_rank() == 0 ? cli_check_outputs(options) : CLI_OK);
    if (code == CLI_OK)
        code = set_up(options, &job);
    if (code == CLI_OK)
        code = solve(options, &job);
    cli_boxes_precond_close(&job.precond);
    cli_boxes_close(&job.boxes);
    free(job.attempts.history.entries);
    free(job.all_x);
    free(job.all_b);
    cli_input_free(&job.input);
    if (job.host != job.context)
        gsw_context_destroy(job.host);
    gsw_context_destroy(job.context);
    return code;
}
