/* vector.c: fp64 vector operations for the Krylov solvers.
 *
 * The result of every operation depends on the vectors' length and values alone, never on the
 * number of threads. Elementwise operations have this property by themselves. Sums are taken in
 * blocks of fixed size, and their partial sums are added in a fixed order. */
#include <stdint.h>

#include "contract/krylov_passes.h"
#include "cpu/core/cores.h"
#include "cpu/core/kernels.h"
#include "cpu/core/multiply_add.h"

#define VALUE      double
#define SIMD(name) name##_f64
#include "cpu/core/simd.h"

/* Shorter vectors are not worth waking the other threads. */
#define SERIAL_LIMIT 16384

/* Elements per block: one page of each vector. It bounds the length over which one running sum
 * loses digits. */
#define BLOCK 4096

/* Elements per chunk: small enough that chunks of all vectors of a pass fit the first-level cache.
 * It is a multiple of 32, and a block is a multiple of it. */
#define CHUNK 512

/* Most partial sums of a product; they live on the stack. */
#define PARTS_MAX 1024

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

/* y is not read where b is 0, so a NaN in y does not reach the result. */
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

void GSW_ISA_FN(gsw_add_scaled)(int threads, int64_t n, const double *d, const double *x,
                                const double *y, double *z) {
    if (y == NULL) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
        for (int64_t i = 0; i < n; i++)
            z[i] = d[i] * x[i];
        return;
    }
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        z[i] = multiply_add_f64(d[i], x[i], y[i]);
}

void GSW_ISA_FN(gsw_change_signs)(int threads, int64_t n, const double *x, double *y) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        y[i] = gsw_changes_sign(i) ? -x[i] : x[i];
}

/* y = a x + b y. */
static void update_chunk(int64_t n, double a, const double *x, double b, double *y) {
    if (b == 0) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            y[i] = a * x[i];
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = multiply_add_f64(a, x[i], b * y[i]);
}

static void widen_chunk(int64_t n, const float *x, double *y) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i];
}

static void narrow_chunk(int64_t n, double a, const double *x, float *y) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = (float)(a * x[i]);
}

/* Adds products to 32 running sums, except up to 31 after the last whole group. */
static void add_products(int64_t n, const double *x, const double *y, vec_f64 sum[4]) {
    vec_f64 own[4] = {sum[0], sum[1], sum[2], sum[3]};
    for (int64_t i = 0; i + 32 <= n; i += 32)
        for (int64_t k = 0; k < 4; k++)
            own[k] += load_f64(x + i + 8 * k) * load_f64(y + i + 8 * k);
    for (int64_t k = 0; k < 4; k++)
        sum[k] = own[k];
}

/* Adds the running sums in a fixed order, and then the remaining products i to n - 1. */
static double end_products(int64_t i, int64_t n, const double *x, const double *y,
                           const float *y_f32, const vec_f64 sum[4]) {
    vec_f64 lanes = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    double total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                   ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < n; i++)
        total = multiply_add_f64(x[i], y_f32 ? y_f32[i] : y[i], total);
    return total;
}

/* One update or product of a chunk that begins at value i. */
static void update_one(const gsw_vector_pass *pass, int u, int64_t i, int64_t length) {
    const double a = pass->update[u].a, b = pass->update[u].b;
    double wide[CHUNK];
    const double *x = pass->update[u].x_f32 ? wide : pass->update[u].x + i;
    if (pass->update[u].x_f32)
        widen_chunk(length, pass->update[u].x_f32 + i, wide);
    if (pass->update[u].y_f32)
        narrow_chunk(length, a, x, pass->update[u].y_f32 + i);
    else
        update_chunk(length, a, x, b, pass->update[u].y + i);
}

static void product_of_one(const gsw_vector_pass *pass, int d, int64_t i, int64_t length,
                           vec_f64 sum[4]) {
    double wide[CHUNK];
    const double *y = pass->product[d].y_f32 ? wide : pass->product[d].y + i;
    if (pass->product[d].y_f32)
        widen_chunk(length, pass->product[d].y_f32 + i, wide);
    add_products(length, pass->product[d].x + i, y, sum);
}

/* The whole pass over one block, chunk by chunk. A chunk stays in the cache from one update or
 * product to the next. */
static void pass_block(const gsw_vector_pass *pass, int64_t begin, int64_t n, double *sums) {
    vec_f64 sum[GSW_VECTOR_PASS_MAX][4];
    for (int d = 0; d < pass->products; d++)
        for (int k = 0; k < 4; k++)
            sum[d][k] = (vec_f64){0};
    for (int64_t i = 0; i < n; i += CHUNK) {
        const int64_t length = n - i < CHUNK ? n - i : CHUNK;
        for (int u = 0; u < pass->updates; u++)
            update_one(pass, u, begin + i, length);
        for (int d = 0; d < pass->products; d++)
            product_of_one(pass, d, begin + i, length, sum[d]);
    }
    for (int d = 0; d < pass->products; d++)
        sums[d] += end_products(begin + n - n % 32, begin + n, pass->product[d].x,
                                pass->product[d].y, pass->product[d].y_f32, sum[d]);
}

void GSW_ISA_FN(gsw_pass)(int threads, int64_t n, const gsw_vector_pass *pass, double *sums) {
    int64_t blocks = (n + BLOCK - 1) / BLOCK;
    int64_t blocks_per_part = (blocks + PARTS_MAX - 1) / PARTS_MAX;
    int64_t length = blocks_per_part * BLOCK;
    int64_t parts = n > 0 ? (n + length - 1) / length : 0;
    double partial[PARTS_MAX][GSW_VECTOR_PASS_MAX];
    const int64_t began = gsw_team_begins(threads);
#pragma omp parallel num_threads(threads) if (n > SERIAL_LIMIT)
    {
        gsw_thread_begins(began);
#pragma omp for schedule(static) nowait
        for (int64_t p = 0; p < parts; p++) {
            int64_t end = (p + 1) * length < n ? (p + 1) * length : n;
            for (int d = 0; d < pass->products; d++)
                partial[p][d] = 0;
            for (int64_t i = p * length; i < end; i += BLOCK)
                pass_block(pass, i, end - i < BLOCK ? end - i : BLOCK, partial[p]);
        }
    }
    for (int d = 0; d < pass->products; d++) {
        double total = 0;
        for (int64_t p = 0; p < parts; p++)
            total += partial[p][d];
        sums[d] = total;
    }
}
