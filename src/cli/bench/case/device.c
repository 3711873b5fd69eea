/* device.c: the clock and the copy bandwidth of a GPU. */
#include "device.h"
#include <math.h>
#include <string.h>

#ifdef GSW_HAVE_RIVALS
#include <rival.h>

void bench_device_open(int number, bench_device *device) {
    char name[64], driver[64], toolkit[64];
    *device = (bench_device){0};
    if (gsw_device_describe(number, name, driver, toolkit, sizeof driver) != 0)
        return;
    memcpy(device->driver, driver, sizeof device->driver);
    memcpy(device->toolkit, toolkit, sizeof device->toolkit);
    device->described = true;
    device->stream = gsw_device_stream_create(number);
}

void bench_device_close(bench_device *device) {
    if (device->stream != NULL)
        gsw_device_stream_destroy(device->stream);
    device->stream = NULL;
}

double bench_device_bandwidth(const bench_device *device) {
    return device->stream != NULL ? gsw_device_copy_bandwidth(device->stream) : NAN;
}

bool bench_device_time(const bench_device *device, int (*run)(void *user), void *user, int warm_up,
                       int repeats, bool cold, void *poison, size_t bytes, double *samples) {
    return gsw_device_time(device->stream, run, user, warm_up, repeats, cold, poison, bytes,
                           samples) == 0;
}

#else

void bench_device_open(int number, bench_device *device) {
    (void)number;
    *device = (bench_device){0};
}

void bench_device_close(bench_device *device) {
    (void)device;
}

double bench_device_bandwidth(const bench_device *device) {
    (void)device;
    return NAN;
}

bool bench_device_time(const bench_device *device, int (*run)(void *user), void *user, int warm_up,
                       int repeats, bool cold, void *poison, size_t bytes, double *samples) {
    (void)device, (void)run, (void)user, (void)warm_up, (void)repeats, (void)cold, (void)poison;
    (void)bytes, (void)samples;
    return false;
}

#endif
