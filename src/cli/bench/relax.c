/* relax.c: sweeps of a stencil loop with ghost zones (gsw_relax) as a task, on the arrays of the
 * problem's stencil: one contestant per height.
 *
 * A run makes an even number of passes, so that no copy of x comes before. Times are per sweep.
 * What x is while runs are timed does not matter. Afterwards one pass from a random guess is
 * compared: the bits of height 1 are required of every height, and of height 1 the results of a
 * plain loop. */
#include "tasks.h"
#include <math.h>
#include <stdlib.h>
#include <gridsweep/memory.h>
#include <gridsweep/relax.h>

enum { SWEEPS_LEAST = 24 }; /* of a run */

typedef struct relax_state {
    gsw_relax *loop, *plain; /* plain: of height 1 */
    gsw_relax_info info;
    int32_t sweeps; /* of a run */
} relax_state;

static gsw_status create(const bench_worker *worker, int32_t height, gsw_relax **loop) {
    const gsw_relax_options wanted = {.size = sizeof wanted, .height = height};
    return gsw_relax_create(worker->context, &worker->work->arrays.matrix, &wanted, loop);
}

/* Whether the model takes that height. */
static gsw_status choose(const bench_worker *worker, int32_t height, bool *chosen) {
    gsw_relax_info info = {.size = sizeof info};
    gsw_relax *loop = NULL;
    gsw_status status = create(worker, 0, &loop);
    if (status == GSW_SUCCESS)
        status = gsw_relax_get_info(loop, &info);
    *chosen = status == GSW_SUCCESS && info.height == height;
    gsw_relax_destroy(loop);
    return status;
}

static gsw_status open_task(bench_worker *worker) {
    const int32_t height = worker->who->height;
    bench_row *row = worker->row;
    relax_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return GSW_ERROR_OUT_OF_MEMORY;
    worker->state = state;
    state->info.size = sizeof state->info;
    const double start = cli_now_ms();
    gsw_status status = create(worker, height, &state->loop);
    row->setup_ms = cli_now_ms() - start;
    if (status == GSW_SUCCESS)
        status = gsw_relax_get_info(state->loop, &state->info);
    if (status == GSW_SUCCESS)
        status = choose(worker, height, &row->chosen);
    if (status == GSW_SUCCESS && height > 1)
        status = create(worker, 1, &state->plain);
    if (status != GSW_SUCCESS)
        return status;
    const int32_t pairs = (SWEEPS_LEAST - 1) / (2 * height) + 1;
    state->sweeps = 2 * height * pairs;
    row->predicted_ms = state->info.predicted_ms;
    row->buffer_bytes = (double)state->info.work_bytes;
    for (int axis = 0; axis < 3; axis++)
        row->tile[axis] = state->info.tile[axis];
    return GSW_SUCCESS;
}

static void close_task(bench_worker *worker) {
    relax_state *state = worker->state;
    if (state == NULL)
        return;
    gsw_relax_destroy(state->plain);
    gsw_relax_destroy(state->loop);
    free(state);
}

static gsw_status solve(bench_worker *worker) {
    relax_state *state = worker->state;
    return gsw_relax_run(worker->context, state->loop, state->sweeps, 0, worker->b, worker->x);
}

/* One pass from the guess; the result is in worker->x. */
static gsw_status pass(bench_worker *worker, gsw_relax *loop) {
    const bench_case *work = worker->work;
    gsw_status status =
        gsw_memory_upload(worker->context, worker->x, work->guess, work->vector_bytes);
    return status == GSW_SUCCESS
               ? gsw_relax_run(worker->context, loop, worker->who->height, 0, worker->b, worker->x)
               : status;
}

static gsw_status check(bench_worker *worker) {
    const relax_state *state = worker->state;
    bench_case *work = worker->work;
    gsw_status status = GSW_SUCCESS;
    for (int64_t row = 0; state->plain == NULL && row < work->rows; row++)
        work->reference[row] = bench_plain_row(&work->host, row, work->b, work->guess);
    if (state->plain != NULL)
        status = pass(worker, state->plain);
    if (status == GSW_SUCCESS && state->plain != NULL)
        status =
            gsw_memory_download(worker->context, work->reference, worker->x, work->vector_bytes);
    if (status == GSW_SUCCESS)
        status = pass(worker, state->loop);
    return status == GSW_SUCCESS ? bench_check_error(worker) : status;
}

static void finish(bench_worker *worker) {
    const relax_state *state = worker->state;
    bench_row *row = worker->row;
    cli_times *time = &row->time;
    time->median /= state->sweeps;
    time->minimum /= state->sweeps;
    time->maximum /= state->sweeps;
    bench_finish_rates(worker, NAN, state->info.moved_bytes);
    row->wrong |= state->plain != NULL && row->max_rel_error != 0;
}

const bench_task bench_relax = {.make = bench_make_problem,
                                .tolerance = 1e-13, /* of height 1; the others must be equal */
                                .guess = true,
                                .own = {.open = open_task, .solve = solve, .close = close_task},
                                .start = bench_poison,
                                .check = check,
                                .finish = finish};
