/* bench_rivals.c: the way from `gridsweep bench` to the rivals and the device clock of
 * baselines/rival.h and the rivals in whole solves of baselines/solve_rival.h. A build without them
 * (without GSW_BUILD_PERF) says so. */
#include <math.h>
#include <string.h>
#include "bench.h"

#ifdef GSW_HAVE_RIVALS
#include <rival.h>
#include <solve_rival.h>

/* ---- Which ---------------------------------------------------------------------------------- */

static bool add_method(bench_plan *plan, const gsw_rival *rival, bench_kind kind, bool named) {
    for (int i = 0; i < plan->rivals; i++)
        if (plan->rival[i].rival == rival)
            return true;
    if (plan->rivals == BENCH_METHODS_MAX)
        return false;
    plan->rival[plan->rivals++] = (bench_method){.kind = kind,
                                                 .name = rival->name,
                                                 .rival = rival,
                                                 .on_device = rival->on_device != 0,
                                                 .named = named};
    return true;
}

/* Adds the methods of a list, or all. */
static int add_list(const cli_options *options, const char *option, const char *list,
                    const gsw_rival *rivals, int count, bench_kind kind, bench_plan *plan) {
    char entry[64];
    while (bench_next_entry(&list, entry, sizeof entry)) {
        bool all = strcmp(entry, "all") == 0, found = false;
        for (int i = 0; i < count; i++) {
            if (!all && strcmp(entry, rivals[i].name) != 0)
                continue;
            found = true;
            if (!add_method(plan, &rivals[i], kind, !all))
                return cli_usage(options, "--%s: too many names", option);
        }
        if (!found) {
            cli_error(options, "--%s: unknown name '%s'; this build has:", option, entry);
            for (int i = 0; i < count; i++)
                fprintf(stderr, "  %-18s %s\n", rivals[i].name, rivals[i].summary);
            return CLI_USAGE;
        }
    }
    return CLI_OK;
}

int bench_find_rivals(const cli_options *options, bench_plan *plan) {
    int count = 0, code = CLI_OK;
    if (options->compare != NULL) {
        const gsw_rival *rivals = gsw_rivals(&count);
        code = add_list(options, "compare", options->compare, rivals, count, KIND_RIVAL, plan);
    }
    if (code != CLI_OK || options->ablation == NULL)
        return code;
    const gsw_rival *steps = gsw_ablation_steps(&count);
    if (count == 0)
        return cli_usage(options, "--ablation: this build has no steps, because it was made "
                                  "without CUDA");
    return add_list(options, "ablation", options->ablation, steps, count, KIND_ABLATION, plan);
}

/* ---- The device ----------------------------------------------------------------------------- */

void bench_device_open(int device, bench_device *out) {
    char name[64], driver[64], toolkit[64];
    *out = (bench_device){.copy_gb_s = NAN};
    if (gsw_device_describe(device, name, driver, toolkit, sizeof driver) != 0)
        return;
    memcpy(out->driver, driver, sizeof out->driver);
    memcpy(out->toolkit, toolkit, sizeof out->toolkit);
    out->described = true;
    out->stream = gsw_device_stream_create(device);
}

void bench_device_measure(bench_device *device) {
    if (device->stream != NULL)
        device->copy_gb_s = gsw_device_copy_bandwidth(device->stream);
}

void bench_device_close(bench_device *device) {
    if (device->stream != NULL)
        gsw_device_stream_destroy(device->stream);
    device->stream = NULL;
}

bool bench_device_time(const bench_device *device, int (*run)(void *user), void *user, int warm_up,
                       int repeats, bool cold, void *poison, size_t bytes, double *samples) {
    return gsw_device_time(device->stream, run, user, warm_up, repeats, cold, poison, bytes,
                           samples) == 0;
}

/* ---- One rival ------------------------------------------------------------------------------ */

bool bench_rival_open(const bench_method *method, const bench_group *group, bool device,
                      void *stream, void **state, cli_result *cost, char *reason, size_t size) {
    if (group->host.csr.index_type != GSW_I32) {
        (void)snprintf(reason, size, "more entries than 32-bit indices can count");
        return false;
    }
    gsw_rival_system system = {.grid = group->grid,
                               .stencil = group->stencil,
                               .part = group->part,
                               .host = &group->host.csr,
                               .device = device ? &group->arrays.matrix.csr : NULL,
                               .stream = stream};
    gsw_rival_cost spent = {0};
    reason[0] = '\0';
    if (method->rival->open(&system, state, &spent, reason, size) != 0) {
        if (reason[0] == '\0')
            (void)snprintf(reason, size, "it does not say why");
        return false;
    }
    cost->setup_ms = spent.setup_ms;
    cost->buffer_bytes = spent.buffer_bytes;
    return true;
}

bool bench_rival_solve(const bench_method *method, void *state, const void *b, void *x,
                       char *reason, size_t size) {
    return method->rival->solve(state, b, x, reason, size) == 0;
}

void bench_rival_close(const bench_method *method, void *state) {
    method->rival->close(state);
}

/* ---- Whole solves --------------------------------------------------------------------------- */

static int unknown_solver(const cli_options *options, const char *name) {
    int total = 0;
    const gsw_solve_rival *rivals = gsw_solve_rivals(&total);
    cli_error(options, "--compare: unknown name '%s'; with --whole-solve there are:", name);
    for (int i = 0; i < total; i++)
        fprintf(stderr, "  %-18s %s%s\n", rivals[i].name, rivals[i].summary,
                rivals[i].open != NULL ? "" : " (not in this build)");
    return CLI_USAGE;
}

static void add_solver(const gsw_solve_rival *rival, bench_solver *solvers, int *count) {
    for (int i = 0; i < *count; i++)
        if (solvers[i].rival == rival)
            return;
    solvers[(*count)++] = (bench_solver){rival->name, rival, rival->on_device != 0};
}

int bench_find_solvers(const cli_options *options, bench_solver *solvers, int *count) {
    const char *list = options->compare;
    char entry[64];
    int total = 0;
    const gsw_solve_rival *rivals = gsw_solve_rivals(&total);
    *count = 0;
    while (bench_next_entry(&list, entry, sizeof entry)) {
        bool all = strcmp(entry, "all") == 0, found = false;
        for (int i = 0; i < total; i++) {
            if (!all && strcmp(entry, rivals[i].name) != 0)
                continue;
            found = true;
            add_solver(&rivals[i], solvers, count);
        }
        if (!found)
            return unknown_solver(options, entry);
    }
    return CLI_OK;
}

bool bench_solver_open(const bench_solver *solver, const bench_problem *problem, void **state,
                       cli_result *cost, char *reason, size_t size) {
    bool plain = problem->precond == CLI_PRECOND_NONE;
    gsw_solve_system system = {.matrix = problem->host,
                               .device = problem->device,
                               .stream = problem->stream,
                               .method = problem->method,
                               .precond = plain ? GSW_SOLVE_NO_PRECOND : problem->precond,
                               .rtol = problem->rtol,
                               .max_iterations = problem->max_iterations};
    gsw_solve_cost spent = {0};
    reason[0] = '\0';
    if (solver->rival->open == NULL) {
        (void)snprintf(reason, size, "the build that made this program did not find its library");
        return false;
    }
    if (problem->host->csr.index_type != GSW_I32) {
        (void)snprintf(reason, size, "more entries than 32-bit indices can count");
        return false;
    }
    if (solver->rival->open(&system, state, &spent, reason, size) != 0)
        return false;
    cost->setup_ms = spent.setup_ms;
    cost->buffer_bytes = spent.buffer_bytes;
    return true;
}

bool bench_solver_factor(const bench_solver *solver, void *state, char *reason, size_t size) {
    return solver->rival->factor(state, reason, size) == 0;
}

bool bench_solver_solve(const bench_solver *solver, void *state, const double *b, double *x,
                        cli_result *outcome, char *reason, size_t size) {
    gsw_solve_outcome ended = {0};
    if (solver->rival->solve(state, b, x, &ended, reason, size) != 0)
        return false;
    outcome->iterations = ended.iterations;
    outcome->converged = ended.converged;
    return true;
}

void bench_solver_close(const bench_solver *solver, void *state) {
    solver->rival->close(state);
}

#else

static int refuse_rivals(const cli_options *options) {
    if (options->compare == NULL && options->ablation == NULL)
        return CLI_OK;
    return cli_usage(options,
                     "--%s: this build of the program has no rivals; configure one with "
                     "'cmake -B build -DGSW_BUILD_PERF=ON'",
                     options->compare != NULL ? "compare" : "ablation");
}

int bench_find_rivals(const cli_options *options, bench_plan *plan) {
    (void)plan;
    return refuse_rivals(options);
}

void bench_device_open(int device, bench_device *out) {
    (void)device;
    *out = (bench_device){.copy_gb_s = NAN};
}

void bench_device_measure(bench_device *device) {
    (void)device;
}

void bench_device_close(bench_device *device) {
    (void)device;
}

bool bench_device_time(const bench_device *device, int (*run)(void *user), void *user, int warm_up,
                       int repeats, bool cold, void *poison, size_t bytes, double *samples) {
    (void)device, (void)run, (void)user, (void)warm_up, (void)repeats, (void)cold, (void)poison;
    (void)bytes, (void)samples;
    return false;
}

bool bench_rival_open(const bench_method *method, const bench_group *group, bool device,
                      void *stream, void **state, cli_result *cost, char *reason, size_t size) {
    (void)method, (void)group, (void)device, (void)stream, (void)state, (void)cost;
    (void)snprintf(reason, size, "not in this build");
    return false;
}

bool bench_rival_solve(const bench_method *method, void *state, const void *b, void *x,
                       char *reason, size_t size) {
    (void)method, (void)state, (void)b, (void)x;
    (void)snprintf(reason, size, "not in this build");
    return false;
}

void bench_rival_close(const bench_method *method, void *state) {
    (void)method, (void)state;
}

int bench_find_solvers(const cli_options *options, bench_solver *solvers, int *count) {
    (void)solvers;
    *count = 0;
    return refuse_rivals(options);
}

bool bench_solver_open(const bench_solver *solver, const bench_problem *problem, void **state,
                       cli_result *cost, char *reason, size_t size) {
    (void)solver, (void)problem, (void)state, (void)cost;
    (void)snprintf(reason, size, "not in this build");
    return false;
}

bool bench_solver_factor(const bench_solver *solver, void *state, char *reason, size_t size) {
    (void)solver, (void)state;
    (void)snprintf(reason, size, "not in this build");
    return false;
}

bool bench_solver_solve(const bench_solver *solver, void *state, const double *b, double *x,
                        cli_result *outcome, char *reason, size_t size) {
    (void)solver, (void)state, (void)b, (void)x, (void)outcome;
    (void)snprintf(reason, size, "not in this build");
    return false;
}

void bench_solver_close(const bench_solver *solver, void *state) {
    (void)solver, (void)state;
}

#endif
