/* bench_rivals.c: the way from `gridsweep bench` to the rivals and the device clock of
 * baselines/rival.h. A build without them (without GSW_BUILD_PERF) says so. */
#include <math.h>
#include <string.h>
#include "bench.h"

#ifdef GSW_HAVE_RIVALS
#include <rival.h>

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

#else

int bench_find_rivals(const cli_options *options, bench_plan *plan) {
    (void)plan;
    if (options->compare == NULL && options->ablation == NULL)
        return CLI_OK;
    return cli_usage(options,
                     "--%s: this build of the program has no rivals; configure one with "
                     "'cmake -B build -DGSW_BUILD_PERF=ON'",
                     options->compare != NULL ? "compare" : "ablation");
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

#endif
