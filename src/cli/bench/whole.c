/* whole.c: a preconditioned Krylov solve as a task, from coefficients and right-hand side in the
 * backend's memory to the solution there.
 *
 * Several processes solve together, each on one box of the grid. The first one makes the system and
 * computes the residual of the whole solution. All meet before and after each step.
 *
 * gridsweep takes the problem as the arrays of its stencil and as a CSR, with each precision of the
 * factor that is asked for; the others take the CSR. A run starts from x = 0, makes the
 * preconditioner of the matrix's values (in a pattern that is known and memory that is there;
 * multigrid with its memory and all that follows from the pattern) and solves; after it the
 * residual is computed by a product of this file's own. Times are by the host's clock around calls
 * that wait for the device: what their user waits for, launches and synchronisation included. What
 * is done once for a pattern is reported apart, as setup_ms: for gridsweep, which analyses nothing,
 * what making the first factor takes longer than giving it new values. */
#include "tasks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/memory.h>
#include "common/processes.h"
#include "output/multigrid.h"

#define LONG_MS 5000.0 /* solvers on the CPU that take longer are not repeated */
#define REPEATS 5
#define DRIFT   10.0 /* how far the residual of a rival may miss the tolerance */

/* ---- Making --------------------------------------------------------------------------------- */

/* The system on the host: as arrays of the stencil and as a CSR, with b and x = 0. */
static int load(const cli_options *options, gsw_context *host, bench_case *made) {
    double *b = NULL;
    int code = cli_load(options, host, &made->input);
    if (code == CLI_OK)
        code = cli_load_rhs(options, host, &made->input, &b);
    if (code != CLI_OK)
        return code;
    const gsw_matrix *matrix = &made->input.matrix;
    made->host = *matrix;
    made->rows = made->input.rows;
    made->vector_bytes = made->input.vector_bytes;
    made->b = b;
    made->x = calloc((size_t)made->rows, sizeof *b);
    made->wide = made->x;
    if (made->x == NULL)
        return bench_no_memory(options);
    gsw_itype index = made->input.nonzeros <= INT32_MAX ? GSW_I32 : GSW_I64;
    gsw_status status = gsw_matrix_to_csr(host, matrix, GSW_FULL, index, &made->csr);
    if (status == GSW_SUCCESS)
        status =
            gsw_matrix_from_csr(host, &matrix->grid, &matrix->stencil, &made->csr, &made->host_csr);
    return cli_status(options, host, status, CLI_FROM_OPTION);
}

/* To where the solvers work, on a device as a CSR, too. */
static int bring(const cli_options *options, const bench_site *site, bench_case *made) {
    const cli_place *place = &site->place;
    int code = cli_boxes_open(options, place, &made->host, made->b, made->x, made->vector_bytes,
                              &made->boxes);
    made->arrays = made->boxes.arrays;
    if (cli_processes() > 1)
        made->vector_bytes = made->boxes.points * sizeof(double);
    else if (code == CLI_OK && cli_on_device(place))
        code = cli_status(options, place->run,
                          gsw_matrix_upload(place->run, &made->host_csr, &made->device_csr),
                          CLI_FROM_OPTION);
    return code;
}

static void print_plan(const cli_options *options, const bench_plan *plan, const bench_site *site,
                       const bench_case *made) {
    const bool several = cli_processes() > 1;
    const bool ic0 = bench_contains(&plan->preconds, (int)GSW_IC0);
    char preconds[80] = "";
    for (int i = 0; i < plan->preconds.count; i++)
        (void)snprintf(preconds + strlen(preconds), sizeof preconds - strlen(preconds), "%s%s",
                       i > 0 ? ", " : "", cli_choice(OPT_SOLVE_PRECOND, plan->preconds.values[i]));
    cli_print_matrix(options, &made->input);
    if (several)
        cli_boxes_print(options, &made->boxes, &made->host.grid, plan->preconds.values,
                        plan->preconds.count);
    cli_print_backend(options, &site->place);
    cli_field(options, "method", "%s, preconditioner %s%s%s, rtol %g",
              gsw_method_name((gsw_method)options->method), preconds, several ? ", scope " : "",
              several ? gsw_scope_name((gsw_scope)options->scope) : "", options->rtol);
    cli_warn_if_not_symmetric(options, &made->input, ic0 ? (int)GSW_IC0 : plan->preconds.values[0]);
}

static int make(const cli_options *options, const bench_plan *plan, const bench_site *site,
                bench_system *system, bench_case *made) {
    (void)system;
    int code = cli_processes_agree(options, cli_rank() == 0 ? load(options, site->place.host, made)
                                                            : CLI_OK);
    if (code == CLI_OK)
        code = bring(options, site, made);
    if (code == CLI_OK && cli_rank() == 0)
        print_plan(options, plan, site, made);
    return code;
}

/* ---- Running -------------------------------------------------------------------------------- */

static const gsw_matrix *matrix_of(const bench_worker *worker) {
    const bench_case *work = worker->work;
    if (worker->who->format == GSW_FORMAT_STENCIL)
        return &work->arrays.matrix;
    return worker->device ? &work->device_csr : &work->host_csr;
}

/* Waits for the other processes, so that the first one's clock shows the time of the slowest. */
static gsw_status meet(const bench_worker *worker, gsw_status status) {
    return status == GSW_SUCCESS ? cli_boxes_meet(&worker->work->boxes) : status;
}

/* The bytes of the factors in all processes. */
static double all_bytes(const cli_options *options, double own) {
    double *held = cli_rank() == 0 ? calloc((size_t)cli_processes(), sizeof *held) : NULL;
    const bool lacking = cli_rank() == 0 && held == NULL;
    double sum = 0;
    if (cli_processes_agree(options, lacking ? CLI_INPUT : CLI_OK) != CLI_OK) {
        free(held);
        return NAN;
    }
    cli_processes_collect(&own, sizeof own, held);
    for (int rank = 0; held != NULL && rank < cli_processes(); rank++)
        sum += held[rank];
    free(held);
    return sum;
}

/* Makes the factor twice; the second time is what counts, as for the others. */
static gsw_status open_task(bench_worker *worker) {
    bench_row *row = worker->row;
    const int precond = worker->who->precond;
    const bool needed = precond != CLI_PRECOND_NONE && precond != CLI_PRECOND_MG;
    const gsw_factor_options wanted = {.size = sizeof wanted,
                                       .kind = (gsw_factor_kind)precond,
                                       .factor_type = worker->who->factor_type,
                                       .scope = (gsw_scope)worker->options->scope,
                                       .overlap = worker->options->overlap};
    gsw_factor_info info = {.size = sizeof info};
    gsw_status status = GSW_SUCCESS;
    row->setup_ms = 0;
    if (cli_processes() > 1) {
        gsw_partition_shape(worker->work->boxes.partition, row->boxes);
        row->scope = precond != CLI_PRECOND_NONE ? gsw_scope_name(wanted.scope) : NULL;
    }
    for (int i = 0; i < 2 && needed && status == GSW_SUCCESS; i++) {
        gsw_factor_destroy(worker->factor);
        worker->factor = NULL;
        status = meet(worker, status);
        double start = cli_now_ms();
        if (status == GSW_SUCCESS)
            status =
                gsw_factor_create(worker->context, matrix_of(worker), &wanted, &worker->factor);
        if (status == GSW_SUCCESS)
            status = meet(worker, gsw_context_synchronize(worker->context));
        row->setup_ms = cli_now_ms() - start;
    }
    row->buffer_bytes =
        bench_factor_info(worker, &info) ? (double)(info.packed_bytes + info.work_bytes) : 0;
    if (status == GSW_SUCCESS && cli_processes() > 1 && precond != CLI_PRECOND_MG)
        row->buffer_bytes = all_bytes(worker->options, row->buffer_bytes);
    return status;
}

static gsw_status start(bench_worker *worker) {
    return meet(worker, gsw_memory_set(worker->context, worker->x, 0, worker->work->vector_bytes));
}

/* Multigrid is made from nothing in every run, as that of the others. */
static void forget(bench_worker *worker) {
    gsw_multigrid_destroy(worker->multigrid);
    worker->multigrid = NULL;
}

static gsw_status factor(bench_worker *worker) {
    gsw_context *context = worker->context;
    gsw_multigrid_options wanted = cli_multigrid_options(worker->options);
    gsw_status status = GSW_SUCCESS;
    if (worker->who->precond == CLI_PRECOND_MG)
        status = gsw_multigrid_create(context, matrix_of(worker), &wanted, &worker->multigrid);
    else if (worker->factor != NULL)
        status = gsw_factor_refactor(context, worker->factor, matrix_of(worker), NULL);
    return meet(worker, status);
}

/* With the factor or the hierarchy; without both, no preconditioner. */
static gsw_status run_krylov(const bench_worker *worker, const gsw_krylov_options *wanted,
                             gsw_krylov_result *ended) {
    gsw_context *context = worker->context;
    gsw_operator *op = NULL;
    gsw_preconditioner *preconditioner = NULL;
    gsw_status status = gsw_operator_from_matrix(context, matrix_of(worker), &op);
    if (status == GSW_SUCCESS && worker->factor != NULL)
        status = gsw_preconditioner_from_factor(context, worker->factor, &preconditioner);
    if (status == GSW_SUCCESS && worker->multigrid != NULL)
        status = gsw_preconditioner_from_multigrid(context, worker->multigrid, &preconditioner);
    if (status == GSW_SUCCESS)
        status = gsw_krylov(context, (gsw_method)worker->options->method, op, preconditioner,
                            wanted, worker->b, worker->x, ended);
    gsw_preconditioner_destroy(preconditioner);
    gsw_operator_destroy(op);
    return status;
}

/* To end without convergence is no failure. */
static gsw_status solve(bench_worker *worker) {
    gsw_krylov_options wanted = {.size = sizeof wanted,
                                 .rtol = worker->options->rtol,
                                 .max_iterations = worker->options->max_iter};
    gsw_krylov_result ended = {.size = sizeof ended};
    gsw_status status = run_krylov(worker, &wanted, &ended);
    if (status != GSW_SUCCESS && status != GSW_ERROR_NOT_CONVERGED)
        return status;
    worker->row->iterations = ended.iterations;
    worker->row->converged = ended.converged;
    return meet(worker, GSW_SUCCESS);
}

/* ---- Checking ------------------------------------------------------------------------------- */

/* ||b - A x|| / ||b||, from the CSR and without the library. Rows are in long double, so that what
 * rounding adds here does not count against a solver. */
static double true_residual(const gsw_csr *csr, const double *b, const double *x) {
    const double *values = csr->values;
    double rr = 0, bb = 0; /* clang has no reduction of long double */
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(+ : rr, bb)
#endif
    for (int64_t row = 0; row < csr->rows; row++) {
        long double r = b[row];
        int64_t end = cli_csr_index(csr, csr->row_ptr, row + 1);
        for (int64_t k = cli_csr_index(csr, csr->row_ptr, row); k < end; k++)
            r -= (long double)values[k] * x[cli_csr_index(csr, csr->columns, k)];
        rr += (double)(r * r);
        bb += b[row] * b[row];
    }
    return sqrt(bb > 0 ? rr / bb : rr);
}

/* The residual of what the last run left in x. gridsweep's must meet the tolerance that it says it
 * has met; a rival judges by its recurrence. */
static void judge(bench_worker *worker) {
    const bench_case *work = worker->work;
    bench_row *row = worker->row;
    const double rtol = worker->options->rtol, slack = worker->who->rival != NULL ? DRIFT : 1;
    row->residual = true_residual(&work->csr, work->b, work->x);
    row->checked = true;
    row->wrong |= row->converged != 0 && !(row->residual <= slack * rtol);
    row->missed = !(row->residual <= rtol);
}

/* The first process judges. The others wait for it without a limit. */
static gsw_status check(bench_worker *worker) {
    bench_case *work = worker->work;
    gsw_status status = GSW_SUCCESS;
    if (cli_processes() > 1)
        status = cli_boxes_collect(&work->boxes, work->x);
    else if (worker->x != work->x)
        status = gsw_memory_download(worker->context, work->x, worker->x, work->vector_bytes);
    if (status == GSW_SUCCESS && cli_rank() == 0)
        judge(worker);
    if (status == GSW_SUCCESS)
        (void)cli_processes_agree(worker->options, CLI_OK);
    return status;
}

static void describe_multigrid(bench_worker *worker) {
    bench_row *row = worker->row;
    gsw_multigrid_info info = {.size = sizeof info};
    if (gsw_multigrid_get_info(worker->multigrid, &info) != GSW_SUCCESS)
        return;
    row->buffer_bytes = (double)info.bytes;
    (void)snprintf(row->settings, sizeof row->settings, "%s cycle, smoother %s, %d level%s",
                   gsw_cycle_name(info.cycle), gsw_smoother_name(info.smoother), info.levels,
                   info.levels == 1 ? "" : "s");
}

static void finish(bench_worker *worker) {
    bench_row *row = worker->row;
    row->factor_ms = row->time.first;
    row->solve_ms = row->time.second;
    /* What the first factor took longer than the next ones. */
    if (worker->multigrid != NULL)
        describe_multigrid(worker);
    else if (worker->who->rival == NULL)
        row->setup_ms = fmax(0, row->setup_ms - row->factor_ms);
}

const bench_task bench_whole = {
    .make = make,
    .own = {.open = open_task, .factor = factor, .forget = forget, .solve = solve},
    .start = start,
    .check = check,
    .finish = finish,
    .host_clock = true,
    .repeats = REPEATS,
    .patience_ms = LONG_MS};
