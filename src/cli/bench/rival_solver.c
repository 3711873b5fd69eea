/* rival_solver.c: the solvers of baselines/ at work: those of triangular systems behind rival.h,
 * those of whole systems behind solve_rival.h. */
#include "tasks.h"

#ifdef GSW_HAVE_RIVALS
#include <rival.h>
#include <solve_rival.h>

/* A rival writes why it fails into the row. */
static gsw_status refuse(bench_worker *worker, const char *reason) {
    worker->state = NULL;
    if (worker->row->reason[0] == '\0')
        (void)snprintf(worker->row->reason, sizeof worker->row->reason, "%s", reason);
    return GSW_ERROR_UNSUPPORTED;
}

static const char many_entries[] = "more entries than 32-bit indices can count";
static const char no_reason[] = "it gives no reason";

/* ---- Triangular systems --------------------------------------------------------------------- */

static gsw_status open_sweep(bench_worker *worker) {
    const bench_case *work = worker->work;
    bench_row *row = worker->row;
    const bool device = cli_on_device(&worker->site->place);
    const gsw_rival_system wanted = {.grid = work->host.grid,
                                     .stencil = work->host.stencil,
                                     .part = work->part == PART_UPPER ? GSW_UPPER : GSW_LOWER,
                                     .host = &work->host.csr,
                                     .device = device ? &work->arrays.matrix.csr : NULL,
                                     .stream = worker->site->device->stream};
    gsw_rival_cost cost = {0};
    if (work->host.csr.index_type != GSW_I32)
        return refuse(worker, many_entries);
    if (worker->who->rival->sweeps->open(&wanted, &worker->state, &cost, row->reason,
                                         sizeof row->reason) != 0)
        return refuse(worker, no_reason);
    row->reason[0] = '\0';
    row->setup_ms = cost.setup_ms;
    row->buffer_bytes = cost.buffer_bytes;
    return GSW_SUCCESS;
}

static gsw_status solve_sweep(bench_worker *worker) {
    bench_row *row = worker->row;
    return worker->who->rival->sweeps->solve(worker->state, worker->b, worker->x, row->reason,
                                             sizeof row->reason) == 0
               ? GSW_SUCCESS
               : GSW_ERROR_DEVICE;
}

static void close_sweep(bench_worker *worker) {
    worker->who->rival->sweeps->close(worker->state);
}

const bench_solver bench_rival_sweeps = {
    .open = open_sweep, .solve = solve_sweep, .close = close_sweep};

/* ---- Whole systems -------------------------------------------------------------------------- */

static gsw_status open_solver(bench_worker *worker) {
    const bench_case *work = worker->work;
    const bench_rival *rival = worker->who->rival;
    const int precond = worker->who->precond;
    bench_row *row = worker->row;
    const bool device = cli_on_device(&worker->site->place);
    const gsw_solve_system wanted = {.matrix = &work->host_csr,
                                     .device = device ? &work->device_csr.csr : NULL,
                                     .stream = worker->site->device->stream,
                                     .method = (gsw_method)worker->options->method,
                                     .precond = precond == CLI_PRECOND_NONE ? GSW_SOLVE_NO_PRECOND
                                                                            : precond,
                                     .rtol = worker->options->rtol,
                                     .max_iterations = worker->options->max_iter,
                                     .threads = gsw_context_threads(worker->site->place.host)};
    gsw_solve_cost cost = {0};
    if (rival->on_device && !device) {
        (void)snprintf(row->reason, sizeof row->reason, "--compare %s needs a GPU: --backend cuda",
                       rival->name);
        return refuse(worker, "");
    }
    if (rival->solves->open == NULL)
        return refuse(worker, "not in this build: its library was not found");
    if (rival->precond == NULL && precond == CLI_PRECOND_MG)
        return refuse(worker, "it has no multigrid: add ilu0 or ic0 to --precond");
    if (work->host_csr.csr.index_type != GSW_I32)
        return refuse(worker, many_entries);
    if (rival->solves->open(&wanted, &worker->state, &cost, row->reason, sizeof row->reason) != 0)
        return refuse(worker, no_reason);
    row->reason[0] = '\0';
    row->setup_ms = cost.setup_ms;
    row->buffer_bytes = cost.buffer_bytes;
    if (!worker->device)
        row->threads = cost.threads > 0 ? cost.threads : 1;
    (void)snprintf(row->settings, sizeof row->settings, "%s", cost.settings);
    return GSW_SUCCESS;
}

static gsw_status factor(bench_worker *worker) {
    bench_row *row = worker->row;
    return worker->who->rival->solves->factor(worker->state, row->reason, sizeof row->reason) == 0
               ? GSW_SUCCESS
               : GSW_ERROR_DEVICE;
}

static void forget(bench_worker *worker) {
    const gsw_solve_rival *rival = worker->who->rival->solves;
    if (rival->forget != NULL)
        rival->forget(worker->state);
}

static gsw_status solve(bench_worker *worker) {
    bench_row *row = worker->row;
    gsw_solve_outcome ended = {0};
    if (worker->who->rival->solves->solve(worker->state, worker->b, worker->x, &ended, row->reason,
                                          sizeof row->reason) != 0)
        return GSW_ERROR_DEVICE;
    row->iterations = ended.iterations;
    row->converged = ended.converged;
    return GSW_SUCCESS;
}

static void close_solver(bench_worker *worker) {
    if (worker->state != NULL)
        worker->who->rival->solves->close(worker->state);
}

const bench_solver bench_rival_solves = {open_solver, factor, forget, solve, close_solver};

#else
const bench_solver bench_rival_sweeps, bench_rival_solves;
#endif
