/* triad.c: STREAM's triad and copy, and a reading loop. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "triad.h"

/* Used where the system does not report the size of its last-level cache. */
#define USUAL_CACHE (INT64_C(32) << 20)

#define ARRAYS 3

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int64_t gsw_baseline_elements(void) {
    int64_t cache = USUAL_CACHE;
#ifdef _SC_LEVEL3_CACHE_SIZE
    long reported = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (reported > 0)
        cache = reported;
#endif
    return 4 * cache / (int64_t)sizeof(double);
}

/* The loops. Each returns a value that depends on its work. */
typedef double (*loop)(int threads, int64_t n, double *const *arrays);

static double triad(int threads, int64_t n, double *const *arrays) {
    double *a = arrays[0];
    const double *b = arrays[1], *c = arrays[2];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
    return a[n / 2];
}

/* Sum of one block: sixteen running sums hide the latency of the additions. */
static double sum_block(const double *a, int64_t n) {
    double sums[16] = {0}, total = 0;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++)
            sums[k] += a[i + k];
    for (; i < n; i++)
        total += a[i];
    for (int k = 0; k < 16; k++)
        total += sums[k];
    return total;
}

static double read_all(int threads, int64_t n, double *const *arrays) {
    const double *a = arrays[0];
    const int64_t length = 65536;
    double sum = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : sum)
    for (int64_t begin = 0; begin < n; begin += length)
        sum += sum_block(a + begin, n - begin < length ? n - begin : length);
    return sum;
}

static double copy(int threads, int64_t n, double *const *arrays) {
    const double *a = arrays[0];
    double *b = arrays[1];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < n; i++)
        b[i] = a[i];
    return b[n / 2];
}

/* Each thread first touches the values that it works on later, so that they lie in the nearest
 * memory. */
static int allocate(int threads, int64_t n, int count, double **arrays) {
    for (int k = 0; k < count; k++) {
        double *array = malloc((size_t)n * sizeof *array);
        arrays[k] = array;
        if (array == NULL)
            return 0;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t i = 0; i < n; i++)
            array[i] = 1.0;
    }
    return 1;
}

/* Best rate of a loop over `count` arrays that accesses `bytes` bytes per element. */
static double measure(loop run, int count, int64_t bytes, int threads, int64_t n, int repeats) {
    double *arrays[ARRAYS] = {NULL, NULL, NULL};
    double best = 0;
    if (n > 0 && n <= INT64_MAX / (int64_t)sizeof(double) / ARRAYS &&
        allocate(threads, n, count, arrays)) {
        volatile double sink = run(threads, n, arrays);
        for (int k = 0; k < repeats; k++) {
            double start = seconds();
            sink = run(threads, n, arrays);
            double rate = (double)bytes * (double)n / (seconds() - start) * 1e-9;
            best = rate > best ? rate : best;
        }
        (void)sink;
    }
    for (int k = 0; k < ARRAYS; k++)
        free(arrays[k]);
    return best;
}

double gsw_baseline_triad(int threads, int64_t elements, int repeats) {
    return measure(triad, 3, 24, threads, elements, repeats);
}

double gsw_baseline_read(int threads, int64_t elements, int repeats) {
    return measure(read_all, 1, 8, threads, elements, repeats);
}

double gsw_baseline_copy(int threads, int64_t elements, int repeats) {
    return measure(copy, 2, 16, threads, elements, repeats);
}
