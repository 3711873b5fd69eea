/* whole_distributed.c: a preconditioned Krylov solve of all processes together as a task. Each
 * process has one box of the grid.
 *
 * The first process makes the system, and the cut of the grid brings each process its part; both
 * are not timed. A run is that of one process (whole.c). The processes meet before and after each
 * step. The first process computes the residual of the whole solution. */
#include "tasks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/processes.h"

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

static gsw_status open_task(bench_worker *worker) {
    bench_row *row = worker->row;
    gsw_partition_shape(worker->work->boxes.partition, row->boxes);
    row->scope = worker->who->precond != CLI_PRECOND_NONE
                     ? gsw_scope_name((gsw_scope)worker->options->scope)
                     : NULL;
    const gsw_status status = bench_whole_open(worker);
    if (status == GSW_SUCCESS && worker->who->precond != CLI_PRECOND_MG)
        row->result.buffer_bytes = all_bytes(worker->options, worker->factor);
    return status;
}

static gsw_status start(bench_worker *worker) {
    const cli_boxes *boxes = &worker->work->boxes;
    memset(boxes->x, 0, boxes->points * sizeof *boxes->x);
    gsw_status status = cli_boxes_push(boxes);
    return status == GSW_SUCCESS ? cli_boxes_meet(boxes) : status;
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

const bench_task bench_whole_distributed = {.make = make,
                                            .open = open_task,
                                            .start = start,
                                            .factor = bench_whole_factor,
                                            .forget = bench_whole_forget,
                                            .solve = bench_whole_solve,
                                            .check = check,
                                            .finish = bench_whole_finish,
                                            .host_clock = true,
                                            .repeats = BENCH_WHOLE_REPEATS};
