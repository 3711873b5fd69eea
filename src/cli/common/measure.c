/* measure.c: clocks, statistics, the memory's copy bandwidth, and errors against a reference. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "measure.h"

#define COPY_BYTES   ((size_t)128 << 20) /* each of the two arrays: far beyond the caches */
#define COPY_REPEATS 5

double cli_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

cli_times cli_summarise(double *samples, int64_t count) {
    qsort(samples, (size_t)count, sizeof *samples, compare_doubles);
    double middle = samples[count / 2];
    if (count % 2 == 0)
        middle = (middle + samples[count / 2 - 1]) / 2;
    return (cli_times){
        .median = middle, .minimum = samples[0], .maximum = samples[count - 1], .repeats = count};
}

/* ---- Times ---------------------------------------------------------------------------------- */

#define MIN_REPEATS  10
#define MAX_REPEATS  200
#define MIN_TIME_MS  200.0 /* short runs repeat until they have taken this long */
#define MIN_BATCH_MS 2.0   /* on a device: at least so long between two readings of the clock */
#define MAX_BATCH    1000

/* The times of a run: its first step, the second, both. */
enum { STEP_FIRST, STEP_SECOND, STEP_BOTH, STEPS };

/* `count` runs after one preparation; their means in milliseconds. */
static gsw_status time_batch(const cli_task *task, int64_t count, double mean[STEPS]) {
    gsw_status status = task->prepare != NULL ? task->prepare(task->user) : GSW_SUCCESS;
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(task->context);
    double start = cli_now_ms(), middle = start;
    if (task->first != NULL && status == GSW_SUCCESS) {
        status = task->first(task->user);
        if (status == GSW_SUCCESS)
            status = gsw_context_synchronize(task->context);
        middle = cli_now_ms();
    }
    for (int64_t i = 0; i < count && status == GSW_SUCCESS; i++)
        status = task->run(task->user);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(task->context);
    mean[STEP_FIRST] = middle - start;
    mean[STEP_SECOND] = (cli_now_ms() - middle) / (double)count;
    mean[STEP_BOTH] = mean[STEP_FIRST] + mean[STEP_SECOND];
    return status;
}

/* Runs in a batch; one where the host runs them, which needs no launch. */
static int64_t batch_size(const cli_task *task, double milliseconds) {
    if (task->single || task->first != NULL ||
        gsw_context_backend(task->context) != GSW_BACKEND_CUDA)
        return 1;
    double count = ceil(MIN_BATCH_MS / fmax(milliseconds, 1e-4));
    return count < 1 ? 1 : count > MAX_BATCH ? MAX_BATCH : (int64_t)count;
}

int64_t cli_repeats(double milliseconds) {
    double count = ceil(MIN_TIME_MS / fmax(milliseconds, 1e-3));
    return count < MIN_REPEATS ? MIN_REPEATS : count > MAX_REPEATS ? MAX_REPEATS : (int64_t)count;
}

static gsw_status warm_up(const cli_task *task, double mean[STEPS]) {
    gsw_status status = time_batch(task, 1, mean);
    if (status == GSW_SUCCESS && gsw_context_backend(task->context) == GSW_BACKEND_CUDA)
        status = time_batch(task, 1, mean); /* the first one also loaded the kernels */
    if (status == GSW_SUCCESS && task->check != NULL)
        status = task->check(task->user);
    return status;
}

/* samples[] has room for three times `limit`: each step, then both. */
static gsw_status take_samples(const cli_task *task, int64_t limit, double *samples,
                               int64_t *count) {
    double mean[STEPS], total = 0;
    gsw_status status = warm_up(task, mean);
    int64_t batch = batch_size(task, mean[STEP_BOTH]);
    bool enough = task->patience_ms > 0 && mean[STEP_BOTH] > task->patience_ms;
    for (int step = 0; step < STEPS; step++)
        samples[step * limit] = mean[step];
    *count = enough ? 1 : 0;
    while (status == GSW_SUCCESS && !enough && *count < limit &&
           (task->repeats > 0 || *count < MIN_REPEATS || total < MIN_TIME_MS)) {
        status = time_batch(task, batch, mean);
        for (int step = 0; step < STEPS; step++)
            samples[step * limit + *count] = mean[step];
        *count += 1;
        total += mean[STEP_BOTH] * (double)batch;
    }
    if (status == GSW_SUCCESS && !enough && task->check != NULL)
        status = task->check(task->user);
    return status;
}

gsw_status cli_time(const cli_task *task, cli_times *times) {
    int64_t limit = task->repeats > 0 ? task->repeats : MAX_REPEATS, count = 0;
    double *samples = malloc((size_t)limit * STEPS * sizeof *samples);
    if (samples == NULL)
        return GSW_ERROR_OUT_OF_MEMORY;
    gsw_status status = take_samples(task, limit, samples, &count);
    if (status == GSW_SUCCESS) {
        *times = cli_summarise(samples + STEP_BOTH * limit, count);
        times->first = cli_summarise(samples + STEP_FIRST * limit, count).median;
        times->second = cli_summarise(samples + STEP_SECOND * limit, count).median;
    }
    free(samples);
    return status;
}

/* ---- Copy bandwidth ------------------------------------------------------------------------- */

/* Thread `number` of `threads` copies its share; fills both arrays where `fill` is set, so that
 * every thread's pages are its own. */
static void copy_share(char *to, char *from, int number, int threads, bool fill) {
    size_t page = 4096, share = (COPY_BYTES / (size_t)threads + page - 1) / page * page;
    size_t begin = share * (size_t)number;
    if (begin >= COPY_BYTES)
        return;
    if (share > COPY_BYTES - begin)
        share = COPY_BYTES - begin;
    if (fill) {
        memset(from + begin, 1, share);
        memset(to + begin, 2, share);
    } else {
        memcpy(to + begin, from + begin, share);
    }
}

static void copy_all(char *to, char *from, int threads, bool fill) {
#ifdef _OPENMP
#pragma omp parallel num_threads(threads)
    copy_share(to, from, omp_get_thread_num(), omp_get_num_threads(), fill);
#else
    (void)threads;
    copy_share(to, from, 0, 1, fill);
#endif
}

double cli_copy_bandwidth(int threads) {
    char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
    double best = NAN;
    if (from == NULL || to == NULL)
        goto cleanup;
    copy_all(to, from, threads, true);
    for (int i = 0; i < COPY_REPEATS; i++) {
        double start = cli_now_ms();
        copy_all(to, from, threads, false);
        best = fmin(best, cli_now_ms() - start);
    }
cleanup:
    free(to);
    free(from);
    return 2.0 * (double)COPY_BYTES / (best * 1e6);
}

static bool same_non_finite(double a, double b) {
    return (isnan(a) && isnan(b)) || (isinf(a) && a == b);
}

double cli_max_error(const double *x, const double *reference, int64_t count) {
    double error = 0, scale = 0;
    int64_t lost = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(max : error, scale) reduction(+ : lost)
#endif
    for (int64_t i = 0; i < count; i++) {
        if (same_non_finite(x[i], reference[i]))
            continue;
        if (!isfinite(x[i]) || !isfinite(reference[i])) {
            lost++;
            continue;
        }
        error = fmax(error, fabs(x[i] - reference[i]));
        scale = fmax(scale, fabs(reference[i]));
    }
    if (lost > 0)
        return NAN;
    return error == 0 ? 0 : error / scale;
}

double cli_effective_bytes(int64_t nonzeros, int64_t rows, int value_bytes, int vector_bytes) {
    double n = (double)rows;
    return (value_bytes + 4.0) * (double)nonzeros + 4.0 * (n + 1) + 2.0 * vector_bytes * n;
}
