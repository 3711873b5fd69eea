/* multigrid_vectors.c: passes over the vectors of a cycle, and the table of one instruction set's
 * multigrid kernels. */
#include <math.h>
#include "multigrid_kernels.h"

enum { PARTS = 256 /* maxima that are computed separately */ };

/* Smaller vectors are not worth waking the other threads. */
#define SERIAL_LIMIT 4096

static void combine_f64(int threads, int64_t n, double a, const double *x, double b, double *y) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < n; i++)
        y[i] = b == 0 ? a * x[i] : a * x[i] + b * y[i];
}

static void combine_f32(int threads, int64_t n, float a, const float *x, float b, float *y) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = 0; i < n; i++)
        y[i] = b == 0 ? a * x[i] : a * x[i] + b * y[i];
}

static void combine(int threads, gsw_dtype type, int64_t n, double a, const void *x, double b,
                    void *y) {
    if (type == GSW_F64)
        combine_f64(threads, n, a, x, b, y);
    else
        combine_f32(threads, n, (float)a, x, (float)b, y);
}

/* The largest |from[i]| except NaN, with eight maxima side by side. */
static double largest(int64_t n, const double *from) {
    double own[8] = {0}, most = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) {
            const double size = fabs(from[i + l]);
            own[l] = size > own[l] ? size : own[l];
        }
    for (; i < n; i++)
        own[0] = fabs(from[i]) > own[0] ? fabs(from[i]) : own[0];
    for (int l = 0; l < 8; l++)
        most = own[l] > most ? own[l] : most;
    return most;
}

static void narrow(int threads, int64_t n, const double *from, float *to, double *scale) {
    double part[PARTS] = {0}, most = 0;
    const int64_t length = (n + PARTS - 1) / PARTS;
#pragma omp parallel for schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t p = 0; p < PARTS; p++) {
        const int64_t left = n - p * length;
        part[p] = left > 0 ? largest(left < length ? left : length, from + p * length) : 0;
    }
    for (int p = 0; p < PARTS; p++)
        most = part[p] > most ? part[p] : most;
    /* NaN and infinity stay as they are. */
    enum { LEAST = -1000 }; /* the reciprocal of 2^-1074 would be infinite */
    const int wanted = most > 0 && isfinite(most) ? ilogb(most) : 0;
    const int exponent = wanted < LEAST ? LEAST : wanted;
    const double factor = ldexp(1, -exponent);
    *scale = ldexp(1, exponent);
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)(factor * from[i]);
}

static void widen(int threads, int64_t n, const float *from, double scale, double *to) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        to[i] = scale * from[i];
}

const gsw_cpu_multigrid GSW_ISA_FN(gsw_cpu_multigrid) = {
    .survey = GSW_ISA_FN(gsw_multigrid_survey),
    .interpolate = GSW_ISA_FN(gsw_multigrid_interpolate),
    .triple = GSW_ISA_FN(gsw_multigrid_triple),
    .smooth = GSW_ISA_FN(gsw_multigrid_smooth),
    .restrict_residual = GSW_ISA_FN(gsw_multigrid_restrict),
    .prolong_add = GSW_ISA_FN(gsw_multigrid_prolong),
    .narrow = narrow,
    .widen = widen,
    .combine = combine,
};
