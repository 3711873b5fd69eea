/* whole.c: a preconditioned Krylov solve as a task, from coefficients and right-hand side in the
 * backend's memory to the solution there.
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
#define DRIFT   10.0   /* how far the residual of a rival may miss the tolerance */

/* ---- Making --------------------------------------------------------------------------------- */

int bench_whole_load(const cli_options *options, gsw_context *host, bench_case *made) {
    double *b = NULL;
    int code = cli_load(options, host, &made->input);
    if (code == CLI_OK)
        code = cli_load_rhs(options, host, &made->input, &b);
    if (code != CLI_OK)
        return code;
    const gsw_matrix *matrix = &made->input.matrix;
    made->host = *matrix;
    made->rows = made->input.rows;
    made->vector_bytes = (size_t)made->rows * sizeof *b;
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
    return status == GSW_SUCCESS ? CLI_OK : cli_status(options, host, status, CLI_FROM_OPTION);
}

void bench_whole_preconds(const bench_plan *plan, char *text, size_t size) {
    text[0] = '\0';
    for (int i = 0; i < plan->preconds.count; i++)
        (void)snprintf(text + strlen(text), size - strlen(text), "%s%s", i > 0 ? ", " : "",
                       cli_precond_name(plan->preconds.values[i]));
}

static int make(const cli_options *options, const bench_plan *plan, const bench_site *site,
                bench_system *system, const bench_item *item, bench_case *made) {
    (void)system;
    bool ic0 = bench_contains(&plan->preconds, (int)GSW_IC0);
    char preconds[80];
    bench_whole_preconds(plan, preconds, sizeof preconds);
    const cli_place *place = &site->place;
    made->part = item->part;
    int code = bench_whole_load(options, place->host, made);
    if (code == CLI_OK)
        code = bench_upload(options, site, made);
    if (code == CLI_OK && cli_on_device(place)) {
        gsw_status status = gsw_matrix_upload(place->run, &made->host_csr, &made->device_csr);
        if (status != GSW_SUCCESS)
            return cli_status(options, place->run, status, CLI_FROM_OPTION);
    }
    if (code != CLI_OK)
        return code;
    cli_print_matrix(options, &made->input);
    cli_print_backend(options, place);
    cli_field(options, "method", "%s, preconditioner %s, rtol %g",
              gsw_method_name((gsw_method)options->method), preconds, options->rtol);
    cli_warn_if_not_symmetric(options, &made->input, ic0 ? (int)GSW_IC0 : plan->preconds.values[0]);
    return CLI_OK;
}

/* ---- Running -------------------------------------------------------------------------------- */

static const gsw_matrix *matrix_of(const bench_worker *worker) {
    const bench_case *work = worker->work;
    if (cli_processes() > 1)
        return &work->boxes.matrix;
    if (worker->who->format == GSW_FORMAT_STENCIL)
        return &work->arrays.matrix;
    return worker->device ? &work->device_csr : &work->host_csr;
}

/* Waits for the other processes, so that the first one's clock shows the time of the slowest. */
static gsw_status meet(const bench_worker *worker, gsw_status status) {
    return status == GSW_SUCCESS && cli_processes() > 1 ? cli_boxes_meet(&worker->work->boxes)
                                                        : status;
}

/* Makes the factor twice; the second time is what counts, as for the others. */
gsw_status bench_whole_open(bench_worker *worker) {
    cli_result *result = &worker->row->result;
    gsw_factor_options wanted = {.size = sizeof wanted,
                                 .kind = (gsw_factor_kind)worker->who->precond,
                                 .factor_type = worker->who->factor_type,
                                 .scope = (gsw_scope)worker->options->scope,
                                 .overlap = worker->options->overlap};
    gsw_factor_info info = {.size = sizeof info};
    gsw_status status = GSW_SUCCESS;
    int precond = worker->who->precond;
    bool needed = precond != CLI_PRECOND_NONE && precond != CLI_PRECOND_MG;
    result->setup_ms = 0;
    result->buffer_bytes = 0;
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
        result->setup_ms = cli_now_ms() - start;
    }
    if (bench_factor_info(worker, &info))
        result->buffer_bytes = (double)(info.packed_bytes + info.work_bytes);
    return status;
}

static gsw_status start(bench_worker *worker) {
    return gsw_memory_set(worker->context, worker->x, 0, worker->work->vector_bytes);
}

/* Multigrid is made from nothing in every run, as that of the others. */
void bench_whole_forget(bench_worker *worker) {
    gsw_multigrid_destroy(worker->multigrid);
    worker->multigrid = NULL;
}

gsw_status bench_whole_factor(bench_worker *worker) {
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
    const cli_boxes *boxes = cli_processes() > 1 ? &worker->work->boxes : NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *preconditioner = NULL;
    gsw_status status = gsw_operator_from_matrix(context, matrix_of(worker), &op);
    if (status == GSW_SUCCESS && worker->factor != NULL)
        status = gsw_preconditioner_from_factor(context, worker->factor, &preconditioner);
    if (status == GSW_SUCCESS && worker->multigrid != NULL)
        status = gsw_preconditioner_from_multigrid(context, worker->multigrid, &preconditioner);
    if (status == GSW_SUCCESS)
        status = gsw_krylov(context, (gsw_method)worker->options->method, op, preconditioner,
                            wanted, boxes != NULL ? boxes->run_b : worker->b,
                            boxes != NULL ? boxes->run_x : worker->x, ended);
    gsw_preconditioner_destroy(preconditioner);
    gsw_operator_destroy(op);
    return status;
}

/* To end without convergence is no failure. */
gsw_status bench_whole_solve(bench_worker *worker) {
    cli_result *result = &worker->row->result;
    gsw_krylov_options wanted = {.size = sizeof wanted,
                                 .rtol = worker->options->rtol,
                                 .max_iterations = worker->options->max_iter};
    gsw_krylov_result ended = {.size = sizeof ended};
    gsw_status status = run_krylov(worker, &wanted, &ended);
    if (status != GSW_SUCCESS && status != GSW_ERROR_NOT_CONVERGED)
        return status;
    result->iterations = ended.iterations;
    result->converged = ended.converged;
    return meet(worker, GSW_SUCCESS);
}

/* ---- Checking ------------------------------------------------------------------------------- */

static int64_t index_at(const gsw_csr *csr, const void *indices, int64_t i) {
    return csr->index_type == GSW_I64 ? ((const int64_t *)indices)[i]
                                      : ((const int32_t *)indices)[i];
}

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
        int64_t end = index_at(csr, csr->row_ptr, row + 1);
        for (int64_t k = index_at(csr, csr->row_ptr, row); k < end; k++)
            r -= (long double)values[k] * x[index_at(csr, csr->columns, k)];
        rr += (double)(r * r);
        bb += b[row] * b[row];
    }
    return sqrt(bb > 0 ? rr / bb : rr);
}

/* Of what the last run left in x. gridsweep's must meet the tolerance that it says it
 * has met; a rival judges by its recurrence. */
void bench_whole_judge(bench_worker *worker) {
    bench_case *work = worker->work;
    cli_result *result = &worker->row->result;
    result->residual = true_residual(&work->csr, work->b, work->x);
    worker->row->checked = true;
    const double slack = worker->who->rival != NULL ? DRIFT : 1;
    worker->row->wrong |=
        result->converged != 0 && !(result->residual <= slack * worker->options->rtol);
    worker->row->missed = !(result->residual <= worker->options->rtol);
}

static gsw_status check(bench_worker *worker) {
    bench_case *work = worker->work;
    gsw_status status = GSW_SUCCESS;
    if (worker->x != work->x)
        status = gsw_memory_download(worker->context, work->x, worker->x, work->vector_bytes);
    if (status == GSW_SUCCESS)
        bench_whole_judge(worker);
    return status;
}

static void describe_multigrid(bench_worker *worker) {
    bench_row *row = worker->row;
    gsw_multigrid_info info = {.size = sizeof info};
    if (gsw_multigrid_get_info(worker->multigrid, &info) != GSW_SUCCESS)
        return;
    row->result.buffer_bytes = (double)info.bytes;
    (void)snprintf(row->settings, sizeof row->settings, "%s cycle, smoother %s, %d level%s",
                   gsw_cycle_name(info.cycle), gsw_smoother_name(info.smoother), info.levels,
                   info.levels == 1 ? "" : "s");
}

void bench_whole_finish(bench_worker *worker) {
    cli_result *result = &worker->row->result;
    result->factor_ms = result->time.first;
    result->solve_ms = result->time.second;
    /* What the first factor took longer than the next ones. */
    if (worker->multigrid != NULL)
        describe_multigrid(worker);
    else if (worker->who->rival == NULL)
        result->setup_ms = fmax(0, result->setup_ms - result->factor_ms);
}

const bench_task bench_whole = {.make = make,
                                .open = bench_whole_open,
                                .start = start,
                                .factor = bench_whole_factor,
                                .forget = bench_whole_forget,
                                .solve = bench_whole_solve,
                                .check = check,
                                .finish = bench_whole_finish,
                                .host_clock = true,
                                .repeats = BENCH_WHOLE_REPEATS,
                                .patience_ms = LONG_MS};
