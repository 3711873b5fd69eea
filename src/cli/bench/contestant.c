/* contestant.c: gridsweep and rivals at work. */
#include "contestant.h"
#include <stdio.h>
#include <stdlib.h>
#include <gridsweep/memory.h>
#ifdef GSW_HAVE_RIVALS
#include <rival.h>
#endif
#include "output/multigrid.h"
#include "output/progress.h"
#include "common/processes.h"
#include "table.h"
#include "tasks.h"

#define TRIAL_REPEATS 3
#define RIVAL_REPEATS 3 /* rivals by the host's clock, which mostly run on the CPU, take long */
#define HOST_POINTS   ((int64_t)128 * 128 * 128) /* rivals on the CPU are left out beyond */

/* Rivals that run on the CPU: slow, and the cache of a device is nothing to them. */
static bool is_host_rival(const bench_contestant *who) {
    return who->side == SIDE_RIVAL && !who->rival->on_device;
}

/* The name of the preconditioner in whole solves. */
static const char *precond_of(const bench_contestant *who) {
    return who->rival != NULL && who->rival->precond != NULL
               ? who->rival->precond
               : cli_choice(OPT_SOLVE_PRECOND, who->precond);
}

/* ---- Who takes part ------------------------------------------------------------------------- */

/* Rivals of sweeps know one part and one precision. */
static bool takes_part(const bench_case *work, const bench_rival *rival) {
    if (work->mode == MODE_WHOLE)
        return true;
    if (work->part > PART_UPPER || work->factor_type != work->type)
        return false;
    if (rival->side == SIDE_ABLATION)
        return work->part == PART_LOWER && work->type == GSW_F64;
    return rival->on_device || rival->named || work->rows <= HOST_POINTS;
}

/* In whole solves one for each preconditioner, format and precision; multigrid has a precision of
 * its own. */
static int list_own(const cli_options *options, const bench_plan *plan, bench_contestant own,
                    bench_contestant *list) {
    static const gsw_format formats[] = {GSW_FORMAT_STENCIL, GSW_FORMAT_CSR};
    const bench_list *preconds = &plan->preconds, *precisions = &plan->precisions;
    const int forms = cli_processes() > 1 ? 1 : 2; /* several processes take arrays alone */
    int count = 0;
    for (int k = 0; k < preconds->count * forms; k++) {
        own.precond = preconds->values[k / forms];
        own.format = formats[k % forms];
        own.factor_type = (gsw_dtype)cli_mg_precision(options);
        for (int j = 0; j < precisions->count && own.precond != CLI_PRECOND_MG; j++) {
            list[count] = own;
            list[count++].factor_type =
                precisions->values[j] == PRECISION_F32_FACTOR ? GSW_F32 : GSW_F64;
        }
        if (own.precond == CLI_PRECOND_MG)
            list[count++] = own;
    }
    return count;
}

/* In whole solves a rival comes once where it has a preconditioner of its own, else with each. That
 * it has no multigrid is said where nothing else is asked for. */
static int list_rival(const bench_plan *plan, const bench_contestant *who, bool whole,
                      bench_contestant *list) {
    int count = 0;
    for (int i = 0; whole && who->rival->precond == NULL && i < plan->preconds.count; i++)
        if (plan->preconds.values[i] != CLI_PRECOND_MG || plan->preconds.count == 1) {
            list[count] = *who;
            list[count++].precond = plan->preconds.values[i];
        }
    if (count == 0)
        list[count++] = *who;
    return count;
}

/* One for each algorithm that knows the task: smoothing, and with a CSR an apply, take packed
 * factors. */
static int list_algorithms(const bench_plan *plan, const bench_case *work, bench_contestant *list) {
    static const bench_list packed = {1, {GSW_ALGORITHM_PENCIL}};
    const bench_list *algorithms = work->part == PART_SYMGS ? &packed : &plan->algorithms;
    int count = 0;
    for (int i = 0; i < algorithms->count; i++) {
        gsw_algorithm algorithm = (gsw_algorithm)algorithms->values[i];
        if (algorithm == GSW_ALGORITHM_PENCIL || work->mode == MODE_ARRAYS ||
            work->part <= PART_UPPER)
            list[count++] = (bench_contestant){.solver = &work->task->own,
                                               .name = gsw_algorithm_name(algorithm),
                                               .algorithm = algorithm,
                                               .factor_type = work->factor_type};
    }
    return count;
}

int bench_list_contestants(const cli_options *options, const bench_plan *plan,
                           const bench_case *work, bench_contestant *list) {
    const bench_contestant own = {
        .solver = &work->task->own, .name = "gridsweep", .format = GSW_FORMAT_STENCIL};
    if (work->mode == MODE_HPCG) {
        list[0] = own;
        return 1;
    }
    if (work->mode == MODE_RELAX) {
        for (int i = 0; i < plan->heights.count; i++) {
            list[i] = own;
            list[i].height = plan->heights.values[i];
        }
        return plan->heights.count;
    }
    bool whole = work->mode == MODE_WHOLE;
    int count = whole ? list_own(options, plan, own, list) : list_algorithms(plan, work, list);
    for (int i = 0; i < plan->rivals.count; i++) {
        const bench_rival *rival = &plan->rivals.list[i];
        const bench_contestant who = {.solver = whole ? &bench_rival_solves : &bench_rival_sweeps,
                                      .name = rival->name,
                                      .side = rival->side,
                                      .format = GSW_FORMAT_CSR,
                                      .factor_type = whole ? GSW_F64 : work->factor_type,
                                      .precond = CLI_PRECOND_NONE,
                                      .rival = rival};
        if (takes_part(work, rival))
            count += list_rival(plan, &who, whole, list + count);
    }
    return count;
}

/* ---- A worker ------------------------------------------------------------------------------- */

static void begin_row(bench_worker *worker) {
    static const char *const sides[] = {"gridsweep", "rival", "ablation"};
    static const char *const formats[] = {
        [GSW_FORMAT_CSR] = "csr", [GSW_FORMAT_STENCIL] = "stencil"};
    const bench_case *work = worker->work;
    const bench_contestant *who = worker->who;
    const bench_device *device = worker->site->device;
    const gsw_context *context = worker->context;
    const bool on_cpu = gsw_context_backend(context) == GSW_BACKEND_CPU;
    bench_row *row = worker->row;
    *row = (bench_row){.side = who->side,
                       .backend = gsw_backend_name(gsw_context_backend(context)),
                       .device = gsw_context_device(context),
                       .threads = on_cpu ? gsw_context_threads(context) : -1,
                       .grid = work->host.grid,
                       .stencil = gsw_stencil_name(&work->host.stencil),
                       .format = formats[who->format],
                       .kind = sides[who->side],
                       .algorithm = who->name,
                       .dtype = cli_dtype_name(work->type),
                       .factor_dtype = cli_dtype_name(who->factor_type),
                       .boxes = {1, 1, 1},
                       .height = who->height,
                       .iterations = -1,
                       .converged = -1};
    if (work->mode == MODE_WHOLE) {
        row->method = gsw_method_name((gsw_method)worker->options->method);
        row->precond = precond_of(who);
    } else if (work->mode == MODE_HPCG) {
        row->method = gsw_method_name(GSW_CG);
        row->precond = cli_choice(OPT_SOLVE_PRECOND, CLI_PRECOND_MG);
    } else {
        row->part = cli_choice(OPT_BENCH_PART, (int)work->part);
    }
    if (worker->device && device->described) {
        row->driver = device->driver;
        row->toolkit = device->toolkit;
    }
    if (who->rival != NULL && !worker->device)
        row->threads = 1;
}

/* Judges the status of a run: the library's own failure ends the run of the program. That of a
 * rival, or of a preconditioner that does not suit the matrix, is shown with its reason. */
static int judge(bench_worker *worker, gsw_status status) {
    if (status == GSW_SUCCESS)
        return CLI_OK;
    const bool own = worker->who->rival == NULL;
    /* One preconditioner that the matrix does not suit, or one height that no tile has, is no
     * reason to leave out the others. */
    const bool unsuited = (worker->work->mode == MODE_WHOLE &&
                           (status == GSW_ERROR_ZERO_PIVOT || status == GSW_ERROR_BREAKDOWN)) ||
                          (worker->who->height > 1 && status == GSW_ERROR_UNSUPPORTED);
    if (own && !unsuited)
        return status == GSW_ERROR_OUT_OF_MEMORY
                   ? bench_no_memory(worker->options)
                   : cli_status(worker->options, worker->context, status, CLI_FROM_OPTION);
    (void)gsw_context_synchronize(worker->context);
    const char *reason = own                          ? gsw_context_message(worker->context)
                         : status == GSW_ERROR_DEVICE ? "its runs on the device fail"
                                                      : gsw_status_text(status);
    if (worker->row->reason[0] == '\0') /* a rival has written its own */
        (void)snprintf(worker->row->reason, sizeof worker->row->reason, "%s", reason);
    return CLI_OK;
}

/* Puts a contestant to work on a case; begins *row. Always close what has been started. That a
 * rival cannot run is no failure: the row then says why. */
static int start_worker(const cli_options *options, const bench_site *site, bench_case *work,
                        const bench_contestant *who, bench_row *row, bench_worker *worker) {
    const bool here = !is_host_rival(who); /* where the site works */
    const bool device = here && cli_on_device(&site->place);
    *worker = (bench_worker){.options = options,
                             .who = who,
                             .site = site,
                             .work = work,
                             .row = row,
                             .context = device ? site->place.run : site->place.host,
                             .b = here ? work->arrays.b : work->b,
                             .x = here ? work->arrays.x : work->x,
                             .device = device};
    begin_row(worker);
    return judge(worker, who->solver->open(worker));
}

static void close_worker(bench_worker *worker) {
    if (worker->who->solver->close != NULL)
        worker->who->solver->close(worker);
    gsw_multigrid_destroy(worker->multigrid);
    gsw_factor_destroy(worker->factor);
}

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

/* Times a worker that is open, and fills its row. Warms up and checks the result, takes the times,
 * checks the result again; before runs, outside their time, start() sets x. */
static gsw_status measure(bench_worker *worker) {
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

/* ---- A contestant on a case ------------------------------------------------------------------ */

static void show_case(const cli_options *options, const bench_case *work,
                      const bench_contestant *who) {
    char size[80];
    if (work->mode == MODE_WHOLE) {
        cli_show_line(options, "%s %s %s %s", who->name, precond_of(who),
                      who->format == GSW_FORMAT_CSR ? "csr" : "stencil",
                      cli_dtype_name(who->factor_type));
        return;
    }
    bench_short_size(&work->host.grid, size, sizeof size);
    if (work->mode == MODE_HPCG) {
        cli_show_line(options, "%s: sets of CG", size);
        return;
    }
    if (work->mode == MODE_RELAX) {
        cli_show_line(options, "%s %s: height %d", gsw_stencil_name(&work->host.stencil), size,
                      (int)who->height);
        return;
    }
    cli_show_line(options, "%s %s %s %s: %s", gsw_stencil_name(&work->host.stencil), size,
                  cli_choice(OPT_BENCH_PART, (int)work->part), cli_dtype_name(work->type),
                  who->name);
}

int bench_run_contestant(const cli_options *options, const bench_list *caches,
                         const bench_site *site, bench_case *work, const bench_contestant *who,
                         bench_row *rows, int *used) {
    bool insensitive = is_host_rival(who);
    bench_worker worker;
    bench_row opened;
    show_case(options, work, who);
    int code = start_worker(options, site, work, who, &opened, &worker);
    for (int i = 0; i < (insensitive ? 1 : caches->count) && code == CLI_OK; i++) {
        worker.row = &rows[*used];
        *worker.row = opened;
        worker.cold = caches->values[i] == CACHE_COLD && !insensitive;
        if (work->mode == MODE_ARRAYS || work->mode == MODE_CSR)
            worker.row->cache = cli_choice(OPT_CACHE, worker.cold ? CACHE_COLD : CACHE_WARM);
        if (opened.reason[0] == '\0')
            code = judge(&worker, measure(&worker));
        if (code == CLI_OK)
            *used += 1;
    }
    close_worker(&worker);
    cli_show_line(options, NULL);
    return code;
}
