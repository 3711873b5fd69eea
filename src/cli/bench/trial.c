/* trial.c: the measurement itself, by the host's clock or between events on the device's stream. */
#include "trial.h"
#include <stdlib.h>
#include <gridsweep/memory.h>
#ifdef GSW_HAVE_RIVALS
#include <rival.h>
#endif

#define TRIAL_REPEATS 3
#define RIVAL_REPEATS 3 /* rivals by the host's clock, which mostly run on the CPU, take long */

/* ---- The host's clock ----------------------------------------------------------------------- */

static gsw_status prepare(void *user) {
    bench_worker *worker = user;
    void *flush = worker->cold ? worker->site->flush : NULL;
    if (worker->who->solver->forget != NULL)
        worker->who->solver->forget(worker);
    gsw_status status = worker->work->task->start(worker);
    return status == GSW_SUCCESS && flush != NULL
               ? gsw_memory_set(worker->context, flush, 1, BENCH_FLUSH_BYTES)
               : status;
}

static gsw_status factor(void *user) {
    bench_worker *worker = user;
    return worker->who->solver->factor(worker);
}

static gsw_status solve(void *user) {
    bench_worker *worker = user;
    return worker->who->solver->solve(worker);
}

static gsw_status check(void *user) {
    bench_worker *worker = user;
    return worker->work->task->check(worker);
}

static int64_t repeats_of(const bench_worker *worker) {
    const bench_task *task = worker->work->task;
    int64_t wanted = worker->options->repeats;
    if (task->repeats > 0)
        return wanted > 0 ? wanted : task->repeats;
    if (worker->who->rival != NULL && (wanted == 0 || wanted > RIVAL_REPEATS))
        return RIVAL_REPEATS;
    return wanted;
}

static gsw_status time_host(bench_worker *worker) {
    const bench_task *task = worker->work->task;
    bool slow = worker->who->rival != NULL && !worker->who->rival->on_device;
    cli_task timed = {.prepare = prepare,
                      .first = worker->who->solver->factor != NULL ? factor : NULL,
                      .run = solve,
                      .check = check,
                      .user = worker,
                      .context = worker->context,
                      .single = worker->cold || task->from_guess,
                      .repeats = repeats_of(worker),
                      .patience_ms = slow ? task->patience_ms : 0};
    return cli_time(&timed, &worker->row->time);
}

/* ---- Between events ------------------------------------------------------------------------- */

#ifdef GSW_HAVE_RIVALS
/* A run as gsw_device_time() wants it. */
static int solve_event(void *user) {
    bench_worker *worker = user;
    worker->status = worker->who->solver->solve(worker);
    return worker->status == GSW_SUCCESS ? 0 : -1;
}

/* Poison is set between the events; a guess is set here, so that such runs go one at a time. */
static gsw_status take_samples(bench_worker *worker, int warm_up, int repeats, double *samples) {
    const bench_case *work = worker->work;
    bool guess = work->task->from_guess;
    int first = guess ? -warm_up : 0, last = guess ? repeats : 1;
    worker->status = GSW_SUCCESS;
    for (int i = first; i < last; i++) {
        if (guess)
            worker->status = work->task->start(worker);
        if (worker->status == GSW_SUCCESS &&
            gsw_device_time(worker->site->device->stream, solve_event, worker, guess ? 0 : warm_up,
                            guess ? 1 : repeats, worker->cold, guess ? work->work : worker->x,
                            work->vector_bytes, &samples[i < 0 ? 0 : i]) != 0 &&
            worker->status == GSW_SUCCESS)
            worker->status = GSW_ERROR_DEVICE;
        if (worker->status != GSW_SUCCESS)
            return worker->status;
    }
    return GSW_SUCCESS;
}

static gsw_status time_events(bench_worker *worker) {
    double trial[TRIAL_REPEATS];
    gsw_status status = take_samples(worker, 2, TRIAL_REPEATS, trial);
    if (status == GSW_SUCCESS)
        status = check(worker);
    if (status != GSW_SUCCESS)
        return status;
    int repeats = worker->options->repeats > 0
                      ? (int)worker->options->repeats
                      : (int)cli_repeats(cli_summarise(trial, TRIAL_REPEATS).median);
    double *samples = malloc((size_t)repeats * sizeof *samples);
    if (samples == NULL)
        return GSW_ERROR_OUT_OF_MEMORY;
    status = take_samples(worker, 1, repeats, samples);
    if (status == GSW_SUCCESS)
        worker->row->time = cli_summarise(samples, repeats);
    free(samples);
    return status == GSW_SUCCESS ? check(worker) : status;
}

#endif

gsw_status bench_measure(bench_worker *worker) {
    const bench_task *task = worker->work->task;
    gsw_status status;
#ifdef GSW_HAVE_RIVALS
    if (worker->device && worker->site->device->stream != NULL && !task->host_clock)
        status = time_events(worker);
    else
#endif
        status = time_host(worker);
    if (status == GSW_SUCCESS)
        task->finish(worker);
    return status;
}
