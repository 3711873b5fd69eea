/* vector.c: fp64 vector operations for the Krylov solvers.
 *
 * The result of every operation depends on the vectors' length and values alone, never on the
 * number of threads: elementwise ones trivially so, and sums because they are taken in blocks of
 * fixed size whose partial sums are added in a fixed order. */
#include <stdint.h>

#include "cpu/kernels.h"
#include "cpu/multiply_add.h"

#define VALUE      double
#define SIMD(name) name##_f64
#include "cpu/simd.h"

/* Shorter vectors are not worth waking the other threads. */
#define SERIAL_LIMIT 16384

/* Elements of a block: one page of each vector, and the length over which one running sum is
 * allowed to lose digits. */
#define BLOCK 4096

/* Most partial sums of a dot product; they live on the stack. */
#define PARTS_MAX 1024

void GSW_ISA_FN(gsw_fill)(int threads, int64_t n, double a, double *x);
void GSW_ISA_FN(gsw_copy)(int threads, int64_t n, const double *x, double *y);
void GSW_ISA_FN(gsw_axpby)(int threads, int64_t n, double a, const double *x, double b, double *y);
double GSW_ISA_FN(gsw_dot)(int threads, int64_t n, const double *x, const double *y);

void GSW_ISA_FN(gsw_fill)(int threads, int64_t n, double a, double *x) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        x[i] = a;
}

void GSW_ISA_FN(gsw_copy)(int threads, int64_t n, const double *x, double *y) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i];
}

/* Without b*y: what y holds, a NaN for one, must not come through. */
static void scale(int threads, int64_t n, double a, const double *x, double *y) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        y[i] = a * x[i];
}

void GSW_ISA_FN(gsw_axpby)(int threads, int64_t n, double a, const double *x, double b, double *y) {
    if (b == 0) {
        scale(threads, n, a, x, y);
        return;
    }
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        y[i] = multiply_add_f64(a, x[i], b * y[i]);
}

/* Dot product of one block: 32 running sums, added up in a fixed order. */
static double dot_block(int64_t n, const double *x, const double *y) {
    vec_f64 sum[4] = {{0}, {0}, {0}, {0}};
    int64_t i = 0;
    for (; i + 32 <= n; i += 32)
        for (int64_t k = 0; k < 4; k++)
            sum[k] += load_f64(x + i + 8 * k) * load_f64(y + i + 8 * k);
    vec_f64 lanes = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    double total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                   ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < n; i++)
        total = multiply_add_f64(x[i], y[i], total);
    return total;
}

double GSW_ISA_FN(gsw_dot)(int threads, int64_t n, const double *x, const double *y) {
    int64_t blocks = (n + BLOCK - 1) / BLOCK;
    int64_t blocks_per_part = (blocks + PARTS_MAX - 1) / PARTS_MAX;
    int64_t length = blocks_per_part * BLOCK;
    int64_t parts = n > 0 ? (n + length - 1) / length : 0;
    double partial[PARTS_MAX];
#pragma omp parallel for schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t p = 0; p < parts; p++) {
        int64_t end = (p + 1) * length < n ? (p + 1) * length : n;
        double sum = 0;
        for (int64_t i = p * length; i < end; i += BLOCK)
            sum += dot_block(end - i < BLOCK ? end - i : BLOCK, x + i, y + i);
        partial[p] = sum;
    }
    double total = 0;
    for (int64_t p = 0; p < parts; p++)
        total += partial[p];
    return total;
}
