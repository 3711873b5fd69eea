/* symgs.c: one step of symmetric Gauss-Seidel as a task, on the arrays of the problem's stencil.
 * Every run begins with the same guess; gsw_smooth()'s workspace is poisoned. */
#include "tasks.h"
#include <string.h>
#include <gridsweep/memory.h>

/* One step of symmetric Gauss-Seidel as the textbook has it, without the library: all rows upwards,
 * then all downwards. */
static void refer(bench_case *made) {
    double *x = made->reference;
    memcpy(x, made->guess, made->vector_bytes);
    for (int64_t row = 0; row < made->rows; row++)
        x[row] = bench_plain_row(&made->host, row, made->b, x);
    for (int64_t row = made->rows - 1; row >= 0; row--)
        x[row] = bench_plain_row(&made->host, row, made->b, x);
}

static gsw_status open_task(bench_worker *worker) {
    return bench_open_factor(worker, GSW_SSOR);
}

static gsw_status start(bench_worker *worker) {
    const bench_case *work = worker->work;
    gsw_status status =
        gsw_memory_upload(worker->context, worker->x, work->guess, work->vector_bytes);
    return status == GSW_SUCCESS
               ? gsw_memory_set(worker->context, work->work, 0xff, work->vector_bytes)
               : status;
}

static gsw_status solve(bench_worker *worker) {
    const bench_case *work = worker->work;
    return gsw_smooth(worker->context, &work->arrays.matrix, worker->factor, 1, 0, worker->b,
                      worker->x, work->work);
}

/* Effective bytes are the whole CSR twice, as two loops over its rows read it.
 *
 * gsw_smooth() with one sweep from a guess makes three passes:
 *   r = b - A x     the matrix's coefficients; reads x and b, writes r
 *   r = M^-1 r      what the factor counts, in place: two sweeps, each reads and writes r
 *   x = x + r       reads x and r, writes x
 * Besides the factor's bytes these are the matrix and six vectors. */
static void finish(bench_worker *worker) {
    const bench_case *work = worker->work;
    gsw_factor_info info = {.size = sizeof info};
    (void)bench_factor_info(worker, &info);
    worker->row->precond = gsw_factor_kind_name(GSW_SSOR);
    bench_finish_rates(worker, 2 * cli_effective_bytes(work->entries, work->rows, 8, 8),
                       (double)info.moved_bytes + 8.0 * (double)work->entries +
                           6 * 8.0 * (double)work->rows);
}

const bench_task bench_symgs = {.make = bench_make_problem,
                                /* A step adds M^-1 r to the guess, which rounds otherwise. */
                                .tolerance = 1e-12,
                                .guess = true,
                                .workspace = true,
                                .refer = refer,
                                .own = {.open = open_task, .solve = solve},
                                .start = start,
                                .check = bench_check_error,
                                .finish = finish,
                                .from_guess = true};
