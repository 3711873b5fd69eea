/* whole_distributed.c: a preconditioned Krylov solve of all processes together as a task. Each
 * process has one box of the grid.
 *
 * The first process makes the system, and the cut of the grid brings each process its part; both
 * are not timed. A run is that of one process (whole.c): it starts from x = 0, computes the
 * preconditioner of the matrix's values and solves. The processes meet before and after each step,
 * so the first one's clock shows the time of the slowest. The first process computes the residual
 * of the whole solution. */
#include "tasks.h"
#include <gridsweep/krylov.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/processes.h"
#include "output/multigrid.h"

/* ---- Making --------------------------------------------------------------------------------- */

/* What the other processes must know of the system. */
typedef struct outline {
    gsw_grid grid;
    gsw_stencil stencil;
} outline;

static void print_plan(const cli_options *options, const bench_plan *plan, const bench_site *site,
                       const bench_case *made) {
    char preconds[80];
    bench_whole_preconds(plan, preconds, sizeof preconds);
    cli_print_matrix(options, &made->input);
    cli_boxes_print(options, &made->boxes, &made->host.grid, plan->preconds.values,
                    plan->preconds.count);
    cli_print_backend(options, &site->place);
    cli_field(options, "method", "%s, preconditioner %s, scope %s, rtol %g",
              gsw_method_name((gsw_method)options->method), preconds,
              gsw_scope_name((gsw_scope)options->scope), options->rtol);
    cli_warn_if_not_symmetric(
        options, &made->input,
        bench_contains(&plan->preconds, (int)GSW_IC0) ? (int)GSW_IC0 : plan->preconds.values[0]);
}

static int make(const cli_options *options, const bench_plan *plan, const bench_site *site,
                bench_system *system, const bench_item *item, bench_case *made) {
    (void)system;
    outline shared = {0};
    made->part = item->part;
    int code = cli_processes_agree(
        options, cli_rank() == 0 ? bench_whole_load(options, site->place.host, made) : CLI_OK);
    if (code != CLI_OK)
        return code;
    if (cli_rank() == 0)
        shared = (outline){made->host.grid, made->host.stencil};
    cli_processes_share(&shared, sizeof shared);
    made->host.grid = shared.grid;
    made->host.stencil = shared.stencil;
    cli_boxes *boxes = &made->boxes;
    code = cli_boxes_open(options, site->place.run, &shared.grid, &made->host, boxes);
    if (code != CLI_OK)
        return code;
    gsw_status status = gsw_partition_distribute(boxes->partition, 0, made->b, boxes->b);
    if (status != GSW_SUCCESS)
        return cli_status(options, site->place.run, status, CLI_FROM_OPTION);
    if (cli_rank() == 0)
        print_plan(options, plan, site, made);
    return CLI_OK;
}

/* ---- Preconditioners ------------------------------------------------------------------------ */

typedef struct state {
    gsw_operator *op;
    gsw_factor *factor; /* a factor or a hierarchy, or neither */
    gsw_multigrid *multigrid;
    gsw_preconditioner *preconditioner;
} state;

static void close_state(state *s) {
    gsw_preconditioner_destroy(s->preconditioner);
    gsw_multigrid_destroy(s->multigrid);
    gsw_factor_destroy(s->factor);
    gsw_operator_destroy(s->op);
    *s = (state){.op = NULL};
}

static gsw_status open_state(const cli_options *options, const cli_boxes *boxes, int kind,
                             state *s) {
    const gsw_factor_options factor = {.size = sizeof factor,
                                       .kind = (gsw_factor_kind)kind,
                                       .scope = (gsw_scope)options->scope,
                                       .omega = options->omega,
                                       .pivot_shift = options->pivot_shift,
                                       .overlap = options->overlap};
    const gsw_multigrid_options hierarchy = cli_multigrid_options(options);
    gsw_context *context = boxes->context;
    gsw_status status = gsw_operator_from_matrix(context, &boxes->matrix, &s->op);
    if (status != GSW_SUCCESS || kind == CLI_PRECOND_NONE)
        return status;
    if (kind == CLI_PRECOND_MG) {
        status = gsw_multigrid_create(context, &boxes->matrix, &hierarchy, &s->multigrid);
        return status == GSW_SUCCESS
                   ? gsw_preconditioner_from_multigrid(context, s->multigrid, &s->preconditioner)
                   : status;
    }
    status = gsw_factor_create(context, &boxes->matrix, &factor, &s->factor);
    return status == GSW_SUCCESS
               ? gsw_preconditioner_from_factor(context, s->factor, &s->preconditioner)
               : status;
}

static gsw_status refactor(const cli_boxes *boxes, const state *s) {
    if (s->multigrid != NULL)
        return gsw_multigrid_refactor(boxes->context, s->multigrid, &boxes->matrix);
    return s->factor == NULL ? GSW_SUCCESS
                             : gsw_factor_refactor(boxes->context, s->factor, &boxes->matrix, NULL);
}

/* ---- Running -------------------------------------------------------------------------------- */

/* The bytes of the factors in all processes. */
static double all_bytes(const cli_options *options, const gsw_factor *factor) {
    gsw_factor_info info = {.size = sizeof info};
    int64_t own = 0;
    int64_t *held = cli_rank() == 0 ? calloc((size_t)cli_processes(), sizeof *held) : NULL;
    double sum = 0;
    if (cli_processes_agree(options, cli_rank() == 0 && held == NULL ? CLI_INPUT : CLI_OK) !=
        CLI_OK) {
        free(held);
        return NAN;
    }
    if (gsw_factor_get_info(factor, &info) == GSW_SUCCESS)
        own = info.packed_bytes + info.work_bytes;
    cli_processes_collect(&own, sizeof own, held);
    for (int rank = 0; held != NULL && rank < cli_processes(); rank++)
        sum += (double)held[rank];
    free(held);
    return sum;
}

/* Makes the factor twice, as on one process. */
static gsw_status open_task(bench_worker *worker) {
    const cli_boxes *boxes = &worker->work->boxes;
    bench_row *row = worker->row;
    gsw_status status = GSW_SUCCESS;
    state *precond = calloc(1, sizeof *precond);
    worker->state = precond;
    if (cli_processes_agree(worker->options, precond != NULL ? CLI_OK : CLI_INPUT) != CLI_OK ||
        precond == NULL)
        return GSW_ERROR_OUT_OF_MEMORY;
    gsw_partition_shape(boxes->partition, row->boxes);
    row->scope = worker->who->precond != CLI_PRECOND_NONE
                     ? gsw_scope_name((gsw_scope)worker->options->scope)
                     : NULL;
    row->result.setup_ms = 0;
    for (int i = 0; i < 2 && status == GSW_SUCCESS; i++) {
        close_state(precond);
        status = cli_boxes_meet(boxes);
        const double start = cli_now_ms();
        if (status == GSW_SUCCESS)
            status = open_state(worker->options, boxes, worker->who->precond, precond);
        if (status == GSW_SUCCESS)
            status = cli_boxes_meet(boxes);
        row->result.setup_ms = cli_now_ms() - start;
    }
    if (status == GSW_SUCCESS && precond->multigrid == NULL)
        row->result.buffer_bytes = all_bytes(worker->options, precond->factor);
    return status;
}

static gsw_status start(bench_worker *worker) {
    const cli_boxes *boxes = &worker->work->boxes;
    memset(boxes->x, 0, boxes->points * sizeof *boxes->x);
    gsw_status status = cli_boxes_push(boxes);
    return status == GSW_SUCCESS ? cli_boxes_meet(boxes) : status;
}

static gsw_status factor(bench_worker *worker) {
    gsw_status status = refactor(&worker->work->boxes, worker->state);
    return status == GSW_SUCCESS ? cli_boxes_meet(&worker->work->boxes) : status;
}

/* To end without convergence is no failure. */
static gsw_status solve(bench_worker *worker) {
    const cli_boxes *boxes = &worker->work->boxes;
    cli_result *result = &worker->row->result;
    const gsw_krylov_options wanted = {.size = sizeof wanted,
                                       .rtol = worker->options->rtol,
                                       .max_iterations = worker->options->max_iter};
    gsw_krylov_result ended = {.size = sizeof ended};
    const state *s = worker->state;
    gsw_status status = gsw_krylov(worker->context, (gsw_method)worker->options->method, s->op,
                                   s->preconditioner, &wanted, boxes->run_b, boxes->run_x, &ended);
    if (status != GSW_SUCCESS && status != GSW_ERROR_NOT_CONVERGED)
        return status;
    result->iterations = ended.iterations;
    result->converged = ended.converged;
    return cli_boxes_meet(boxes);
}

/* The others wait without a limit while the first process computes. */
static gsw_status check(bench_worker *worker) {
    bench_case *work = worker->work;
    gsw_status status = cli_boxes_collect(&work->boxes, work->x);
    if (status == GSW_SUCCESS && cli_rank() == 0)
        bench_whole_judge(worker);
    if (status == GSW_SUCCESS)
        (void)cli_processes_agree(worker->options, CLI_OK);
    return status;
}

static void finish(bench_worker *worker) {
    cli_result *result = &worker->row->result;
    result->factor_ms = result->time.first;
    result->solve_ms = result->time.second;
    result->setup_ms = fmax(0, result->setup_ms - result->factor_ms);
}

static void close_task(bench_worker *worker) {
    if (worker->state != NULL)
        close_state(worker->state);
    free(worker->state);
    worker->state = NULL;
}

const bench_task bench_whole_distributed = {.make = make,
                                            .open = open_task,
                                            .start = start,
                                            .factor = factor,
                                            .solve = solve,
                                            .check = check,
                                            .finish = finish,
                                            .close = close_task,
                                            .host_clock = true,
                                            .repeats = BENCH_WHOLE_REPEATS};
