/* device.cu: the device's description, its copy bandwidth, streams, and the timing of runs on
 * it. */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cuda_rival.h"

namespace {

const int copy_repeats = 20, copy_warm_up = 3;
const size_t copy_bytes = size_t(1) << 30, copy_bytes_least = size_t(1) << 20;

/* The stream is delayed by this time before a timed region, so that the host has queued the whole
 * run when the region begins. The time is then that of the device's work, not of the host's
 * launches. */
const uint64_t head_start_ns = 50000;

/* A failed call leaves its code as the runtime's last error; reading it clears it. */
bool succeeded(cudaError_t error) {
    if (error != cudaSuccess)
        (void)cudaGetLastError();
    return error == cudaSuccess;
}

int compare_doubles(const void *a, const void *b) {
    const double x = *static_cast<const double *>(a), y = *static_cast<const double *>(b);
    return (x > y) - (x < y);
}

double median(double *values, int count) {
    qsort(values, size_t(count), sizeof *values, compare_doubles);
    return count % 2 == 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

__device__ uint64_t global_time() {
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void hold(uint64_t nanoseconds) {
    const uint64_t start = global_time();
    while (global_time() - start < nanoseconds) {
    }
}

/* Two arrays of `*bytes` each, as large as the device has room for. */
bool allocate_pair(size_t *bytes, void **from, void **to) {
    for (*bytes = copy_bytes; *bytes >= copy_bytes_least; *bytes /= 2) {
        if (succeeded(cudaMalloc(from, *bytes))) {
            if (succeeded(cudaMalloc(to, *bytes)))
                return true;
            (void)cudaFree(*from);
        }
        *from = *to = nullptr;
    }
    return false;
}

struct copy_task {
    void *from, *to;
    size_t bytes;
    cudaStream_t stream;
};

int copy_once(void *user) {
    const copy_task *t = static_cast<const copy_task *>(user);
    return succeeded(cudaMemcpyAsync(t->to, t->from, t->bytes, cudaMemcpyDeviceToDevice, t->stream))
               ? 0
               : -1;
}

/* The data of one timing. */
struct timing {
    cudaStream_t stream;
    cudaEvent_t begin, end;
    void *sweeper; /* overwritten to drive everything else out of the L2 cache; NULL: warm */
    size_t sweeper_bytes;
};

bool open_timing(timing *t, bool cold) {
    int device = 0, cache = 0;
    if (!succeeded(cudaEventCreate(&t->begin)) || !succeeded(cudaEventCreate(&t->end)))
        return false;
    if (!cold)
        return true;
    if (!succeeded(cudaGetDevice(&device)) ||
        !succeeded(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device)))
        return false;
    t->sweeper_bytes = 4 * size_t(cache) + (size_t(1) << 20);
    return succeeded(cudaMalloc(&t->sweeper, t->sweeper_bytes));
}

void close_timing(timing *t) {
    (void)cudaStreamSynchronize(t->stream);
    (void)cudaFree(t->sweeper);
    if (t->end != nullptr)
        (void)cudaEventDestroy(t->end);
    if (t->begin != nullptr)
        (void)cudaEventDestroy(t->begin);
}

/* One run. The last step before it is the sweep through the cache. */
bool time_once(const timing *t, int (*run)(void *user), void *user, void *poison,
               size_t poison_bytes, double *milliseconds) {
    float elapsed = 0;
    if (poison != nullptr && !succeeded(cudaMemsetAsync(poison, 0xff, poison_bytes, t->stream)))
        return false;
    if (t->sweeper != nullptr &&
        !succeeded(cudaMemsetAsync(t->sweeper, 0, t->sweeper_bytes, t->stream)))
        return false;
    hold<<<1, 1, 0, t->stream>>>(head_start_ns);
    if (!succeeded(cudaGetLastError()) || !succeeded(cudaEventRecord(t->begin, t->stream)) ||
        run(user) != 0 || !succeeded(cudaEventRecord(t->end, t->stream)) ||
        !succeeded(cudaEventSynchronize(t->end)) ||
        !succeeded(cudaEventElapsedTime(&elapsed, t->begin, t->end)))
        return false;
    *milliseconds = elapsed;
    return true;
}

} // namespace

extern "C" int gsw_device_describe(int device, char *name, char *driver, char *toolkit,
                                   size_t size) {
    cudaDeviceProp properties;
    int driver_version = 0, toolkit_version = 0;
    if (size == 0)
        return -1;
    name[0] = driver[0] = toolkit[0] = '\0';
    if (!succeeded(cudaGetDeviceProperties(&properties, device)) ||
        !succeeded(cudaDriverGetVersion(&driver_version)) ||
        !succeeded(cudaRuntimeGetVersion(&toolkit_version)))
        return -1;
    (void)snprintf(name, size, "%s", properties.name);
    (void)snprintf(driver, size, "%d.%d", driver_version / 1000, driver_version % 1000 / 10);
    (void)snprintf(toolkit, size, "%d.%d", toolkit_version / 1000, toolkit_version % 1000 / 10);
    return 0;
}

extern "C" double gsw_device_copy_bandwidth(void *stream) {
    copy_task task = {nullptr, nullptr, 0, static_cast<cudaStream_t>(stream)};
    double times[copy_repeats], bandwidth = NAN;
    if (!allocate_pair(&task.bytes, &task.from, &task.to))
        return NAN;
    /* Memory that was never written may read faster than real data. */
    if (succeeded(cudaMemsetAsync(task.from, 1, task.bytes, task.stream)) &&
        gsw_device_time(stream, copy_once, &task, copy_warm_up, copy_repeats, 0, nullptr, 0,
                        times) == 0)
        bandwidth = 2e-6 * double(task.bytes) / median(times, copy_repeats);
    (void)cudaFree(task.to);
    (void)cudaFree(task.from);
    return bandwidth;
}

extern "C" int gsw_device_time(void *stream, int (*run)(void *user), void *user, int warm_up,
                               int repeats, int cold, void *poison, size_t poison_bytes,
                               double *milliseconds) {
    timing t = {static_cast<cudaStream_t>(stream), nullptr, nullptr, nullptr, 0};
    double ignored;
    bool good = open_timing(&t, cold != 0);
    for (int k = 0; good && k < warm_up; k++)
        good = time_once(&t, run, user, poison, poison_bytes, &ignored);
    for (int k = 0; good && k < repeats; k++)
        good = time_once(&t, run, user, poison, poison_bytes, &milliseconds[k]);
    close_timing(&t);
    return good ? 0 : -1;
}

extern "C" void *gsw_device_stream_create(int device) {
    cudaStream_t stream = nullptr;
    if (!succeeded(cudaSetDevice(device)) ||
        !succeeded(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)))
        return nullptr;
    return stream;
}

extern "C" void gsw_device_stream_destroy(void *stream) {
    if (stream != nullptr)
        (void)cudaStreamDestroy(static_cast<cudaStream_t>(stream));
}
