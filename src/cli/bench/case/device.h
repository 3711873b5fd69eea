/* device.h: the clock and the copy bandwidth of a GPU, through baselines/; a build without them
 * (without GSW_BUILD_PERF) has neither. */
#ifndef GSW_CLI_BENCH_DEVICE_H
#define GSW_CLI_BENCH_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

/* What is known about the device. */
typedef struct bench_device {
    void *stream; /* NULL: events cannot be had, the host's clock is used */
    char driver[64], toolkit[64];
    bool described;
} bench_device;

/* Looks for the device; what is not there stays empty. */
void bench_device_open(int number, bench_device *device);
void bench_device_close(bench_device *device);

/* In GB/s, bytes read + written; NaN: not known. */
double bench_device_bandwidth(const bench_device *device);

/* Times `run` between events on the device's stream as gsw_device_time() says; false where it
 * fails. */
bool bench_device_time(const bench_device *device, int (*run)(void *user), void *user, int warm_up,
                       int repeats, bool cold, void *poison, size_t bytes, double *samples);

#endif
