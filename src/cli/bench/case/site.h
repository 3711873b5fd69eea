/* site.h: where cases run: contexts, the device's clock, the copy bandwidth. */
#ifndef GSW_CLI_BENCH_SITE_H
#define GSW_CLI_BENCH_SITE_H

#include "common/place.h"
#include "plan.h"

#define BENCH_FLUSH_BYTES ((size_t)256 << 20) /* more than the L2 cache of any GPU */

/* What is known about the GPU, through baselines/; a build without them knows nothing. */
typedef struct bench_device {
    void *stream; /* NULL: events cannot be had, the host's clock is used */
    char driver[64], toolkit[64];
    bool described;
} bench_device;

/* One for each number of threads. */
typedef struct bench_site {
    cli_place place;
    const bench_device *device;
    double copy_gb_s; /* of the backend's memory; NaN: not known */
    void *flush;      /* what is overwritten for a cold cache without events */
} bench_site;

typedef struct bench_sites {
    int count;
    bench_site site[BENCH_LIST_MAX];
    bench_device device;
} bench_sites;

/* Opens what the plan needs, and settles its mode and its algorithms. Returns an exit code; either
 * way close with bench_close_sites(). */
int bench_open_sites(const cli_options *options, bench_plan *plan, bench_sites *sites);
void bench_close_sites(bench_sites *sites);

#endif
