/* site.c: opens the contexts that cases run in and measures the copy bandwidth there. */
#include "site.h"
#include <math.h>
#include <gridsweep/memory.h>
#include "common/measure.h"
#include "output/multigrid.h"
#include "output/progress.h"
#ifdef GSW_HAVE_RIVALS
#include <rival.h>
#endif

/* What is not there stays empty. */
static void open_device(int number, bench_device *device) {
#ifdef GSW_HAVE_RIVALS
    char name[64];
    if (gsw_device_describe(number, name, device->driver, device->toolkit, sizeof device->driver) !=
        0)
        return;
    device->described = true;
    device->stream = gsw_device_stream_create(number);
#else
    (void)number, (void)device;
#endif
}

static void close_device(const bench_device *device) {
#ifdef GSW_HAVE_RIVALS
    if (device->stream != NULL)
        gsw_device_stream_destroy(device->stream);
#else
    (void)device;
#endif
}

/* In GB/s, bytes read + written; NaN: not known. */
static double copy_bandwidth(const bench_site *site) {
    if (!cli_on_device(&site->place))
        return cli_copy_bandwidth(gsw_context_threads(site->place.host));
#ifdef GSW_HAVE_RIVALS
    if (site->device->stream != NULL)
        return gsw_device_copy_bandwidth(site->device->stream);
#endif
    return NAN;
}

/* The algorithms of the plan that a device must know, as one sweep: the one that asks most. */
static gsw_sptrsv_options hardest_sweep(const bench_plan *plan) {
    gsw_sptrsv_options sweep = {.size = sizeof sweep, .algorithm = GSW_ALGORITHM_LINE};
    const gsw_algorithm rising[] = {GSW_ALGORITHM_PENCIL, GSW_ALGORITHM_REFERENCE};
    for (int i = 0; i < 2; i++)
        if (bench_contains(&plan->algorithms, (int)rising[i]))
            sweep.algorithm = rising[i];
    return sweep;
}

/* The preconditioners of whole solves that a device must know: a factor, and multigrid. */
static void ask_for_preconditioners(const bench_plan *plan, cli_work *work,
                                    gsw_factor_options *factor,
                                    const gsw_multigrid_options *hierarchy) {
    for (int i = 0; i < plan->preconds.count; i++) {
        int precond = plan->preconds.values[i];
        if (precond == CLI_PRECOND_MG) {
            work->multigrid = hierarchy;
        } else if (precond != CLI_PRECOND_NONE) {
            factor->kind = (gsw_factor_kind)precond;
            work->factor = factor;
        }
    }
}

/* The one site of a plan for any backend. */
static int open_backend(const cli_options *options, const bench_plan *plan, bench_sites *sites) {
    gsw_sptrsv_options sweep = hardest_sweep(plan);
    gsw_factor_options factor = {.size = sizeof factor, .kind = GSW_SSOR};
    gsw_multigrid_options multigrid = {.size = sizeof multigrid};
    gsw_multigrid_options hierarchy = cli_multigrid_options(options);
    cli_work work = {0};
    cli_options one = *options;
    one.threads = plan->threads.values[0];
    if (plan->mode == MODE_CSR)
        work.sweep = &sweep;
    if (plan->mode == MODE_HPCG)
        work.multigrid = &multigrid;
    if (plan->mode == MODE_WHOLE)
        ask_for_preconditioners(plan, &work, &factor, &hierarchy);
    else if (bench_contains(&plan->parts, PART_SYMGS))
        work.factor = &factor;
    if (options->backend != GSW_BACKEND_CPU)
        open_device((int)options->device, &sites->device);
    work.stream = sites->device.stream;
    sites->count = 1;
    return cli_open_place(&one, &work, &sites->site[0].place);
}

/* The CPU with each number of threads. */
static int open_threads(const cli_options *options, const bench_plan *plan, bench_sites *sites) {
    for (int i = 0; i < plan->threads.count; i++) {
        cli_options one = *options;
        one.threads = plan->threads.values[i];
        one.backend = GSW_BACKEND_CPU;
        sites->count = i + 1;
        int code = cli_open_place(&one, &(cli_work){0}, &sites->site[i].place);
        if (code != CLI_OK)
            return code;
    }
    return CLI_OK;
}

/* What needs a GPU and did not get one. */
static int check_backend(const cli_options *options, const bench_plan *plan,
                         const bench_site *site) {
    bool cold = bench_contains(&plan->caches, CACHE_COLD);
    if (cli_on_device(&site->place) || (!cold && options->ablation == NULL))
        return CLI_OK;
    cli_error(options, "%s needs a GPU, and the work would run on the CPU%s%s",
              cold ? "--cache cold" : "--ablation", site->place.note[0] != '\0' ? ": " : "",
              site->place.note);
    return CLI_BACKEND;
}

/* Whole solves are compared with each other alone: they need neither of these. */
static int prepare(const cli_options *options, const bench_plan *plan, bench_site *site) {
    if (plan->mode == MODE_WHOLE)
        return CLI_OK;
    cli_show_line(options, "measuring the copy bandwidth");
    site->copy_gb_s = copy_bandwidth(site);
    cli_show_line(options, NULL);
    if (!bench_contains(&plan->caches, CACHE_COLD) || site->device->stream != NULL)
        return CLI_OK;
    gsw_status status = gsw_memory_alloc(site->place.run, BENCH_FLUSH_BYTES, &site->flush);
    return cli_status(options, site->place.run, status, CLI_FROM_OPTION);
}

int bench_open_sites(const cli_options *options, bench_plan *plan, bench_sites *sites) {
    int code = CLI_OK;
    *sites = (bench_sites){0};
    if (plan->mode != MODE_ARRAYS)
        code = open_backend(options, plan, sites);
    if (code == CLI_OK && plan->mode == MODE_CSR && plan->if_able &&
        !cli_on_device(&sites->site[0].place)) {
        bench_close_sites(sites);
        plan->mode = MODE_ARRAYS;
    }
    if (code == CLI_OK && plan->mode == MODE_ARRAYS)
        code = open_threads(options, plan, sites);
    if (code == CLI_OK)
        code = check_backend(options, plan, &sites->site[0]);
    for (int i = 0; i < sites->count && code == CLI_OK; i++) {
        sites->site[i].device = &sites->device;
        sites->site[i].copy_gb_s = NAN;
        code = prepare(options, plan, &sites->site[i]);
    }
    if (code == CLI_OK)
        bench_resolve_auto(plan, cli_on_device(&sites->site[0].place) ? GSW_ALGORITHM_LINE
                                                                      : GSW_ALGORITHM_PENCIL);
    return code;
}

void bench_close_sites(bench_sites *sites) {
    for (int i = 0; i < sites->count; i++) {
        if (sites->site[i].flush != NULL)
            gsw_memory_free(sites->site[i].place.run, sites->site[i].flush);
        cli_close_place(&sites->site[i].place);
    }
    close_device(&sites->device);
    *sites = (bench_sites){0};
}
