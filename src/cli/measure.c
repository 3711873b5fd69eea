/* measure.c: clocks, statistics, the memory's copy bandwidth, and errors against a reference. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "cli.h"

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
    return (cli_times){middle, samples[0], samples[count - 1], count};
}

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
    for (int64_t i = 0; i < count; i++) {
        if (same_non_finite(x[i], reference[i]))
            continue;
        if (!isfinite(x[i]) || !isfinite(reference[i]))
            return NAN;
        error = fmax(error, fabs(x[i] - reference[i]));
        scale = fmax(scale, fabs(reference[i]));
    }
    return error == 0 ? 0 : error / scale;
}

double cli_effective_bytes(int64_t nonzeros, int64_t rows, int value_bytes, int vector_bytes) {
    double n = (double)rows;
    return (value_bytes + 4.0) * (double)nonzeros + 4.0 * (n + 1) + 2.0 * vector_bytes * n;
}
