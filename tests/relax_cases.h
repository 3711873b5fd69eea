/* relax_cases.h: stencil loops with ghost zones against the plain serial sweep, for contexts of any
 * backend: gsw_relax, and the loops of multigrid, which are in fp32, too. */
#ifndef GSW_TESTS_RELAX_CASES_H
#define GSW_TESTS_RELAX_CASES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>

#include "contract/context.h"
#include "sweep/relax_loop.h"
#include "cpu/relax/relax.h"
#include "oracle.h"

#define relax_try(where, call)                                                                     \
    do {                                                                                           \
        const gsw_status relax_status_ = (call);                                                   \
        ck_assert_msg(relax_status_ == GSW_SUCCESS, "%s: %s: %s", #call,                           \
                      gsw_status_name(relax_status_), gsw_context_message(where));                 \
    } while (0)

/* Whether the kernels fuse multiply-adds, as the reference does. */
static inline int relax_fuses(const gsw_context *where) {
    return strstr(where->device, "(base)") == NULL;
}

/* What `sweeps` sweeps make of x, serially. */
static inline void relax_expect(const gsw_matrix *matrix, const gsw_relax_options *options,
                                int32_t sweeps, int zero, const double *b, double *x) {
    const int64_t n = oracle_points(&matrix->grid);
    const double center = (options->highest + options->lowest) / 2,
                 half = (options->highest - options->lowest) / 2, sigma = center / half;
    double *y = oracle_copy(GSW_F64, x, n), *p = oracle_copy(GSW_F64, x, n), rho = 1 / sigma;
    for (int32_t s = 0; s < sweeps; s++) {
        double alpha = options->weight == 0 ? 1 : options->weight, beta = 0;
        if (options->method == GSW_RELAX_CHEBYSHEV) {
            const double next = 1 / (2 * sigma - rho);
            alpha = s == 0 ? 1 / center : 2 * next / half;
            beta = s == 0 ? 0 : next * rho;
            rho = s == 0 ? rho : next;
        }
        gsw_reference_relax(matrix, alpha, beta, zero && s == 0, b, x, y, p);
        memcpy(x, y, (size_t)n * sizeof *x);
    }
    free(p);
    free(y);
}

/* Runs the loop on a copy of x in the where's memory; the result is in x. */
static inline void relax_run(gsw_context *where, gsw_relax *relax, int32_t sweeps, int zero,
                             int64_t n, const double *b, double *x) {
    const size_t bytes = (size_t)n * sizeof *x;
    void *there_b, *there_x;
    relax_try(where, gsw_memory_alloc(where, bytes, &there_b));
    relax_try(where, gsw_memory_alloc(where, bytes, &there_x));
    relax_try(where, gsw_memory_upload(where, there_b, b, bytes));
    relax_try(where, gsw_memory_upload(where, there_x, x, bytes));
    if (zero)
        relax_try(where, gsw_memory_set(where, there_x, 0xff, bytes));
    relax_try(where, gsw_relax_run(where, relax, sweeps, zero, there_b, there_x));
    relax_try(where, gsw_memory_download(where, x, there_x, bytes));
    gsw_memory_free(where, there_x);
    gsw_memory_free(where, there_b);
}

static inline void relax_compare(const gsw_context *where, const gsw_matrix *matrix, int64_t n,
                                 const double *x, const double *expected, const char *what) {
    const gsw_grid *g = &matrix->grid;
    const double error = oracle_error(GSW_F64, n, x, expected);
    const int equal = memcmp(x, expected, (size_t)n * sizeof *x) == 0;
    ck_assert_msg(relax_fuses(where) ? equal : error <= 1e-13, "%s on %lldx%lldx%lld, %s: error %g",
                  gsw_stencil_name(&matrix->stencil), (long long)g->nx, (long long)g->ny,
                  (long long)g->nz, what, error);
}

/* The model's choice (height 0) and every height that has a tile, from `first` on in steps of
 * `step`, with both methods, some numbers of sweeps, and both kinds of first guesses. */
static inline void relax_compare_heights(gsw_context *where, const gsw_matrix *host,
                                         const gsw_matrix *there, int32_t first, int32_t step) {
    const int64_t n = oracle_points(&host->grid);
    double *b = oracle_vector(GSW_F64, 11, n), *x = oracle_vector(GSW_F64, 12, n),
           *guess = oracle_copy(GSW_F64, x, n), *expected = oracle_copy(GSW_F64, x, n);
    for (int method = 0; method < 2; method++)
        for (int32_t height = 0; height <= 8; height = height == 0 ? first : height + step) {
            const gsw_relax_options options = {.size = sizeof options,
                                               .method = (gsw_relax_method)method,
                                               .height = height,
                                               .weight = height % 3 == 0 ? 0 : 0.8,
                                               .lowest = 0.3,
                                               .highest = 2.1};
            gsw_relax *relax;
            const gsw_status status = gsw_relax_create(where, there, &options, &relax);
            if (height > 1 && status == GSW_ERROR_UNSUPPORTED) {
                ck_assert_ptr_null(relax);
                continue; /* wide stencils have no tile of such a height */
            }
            relax_try(where, status);
            for (int number = 0; number < 4; number++) {
                const int32_t sweeps = (int32_t[]){1, height + 1, 2 * height + 1, 8}[number];
                const int zero = (number + height + method) % 2;
                char what[100];
                snprintf(what, sizeof what, "%s, height %d, %d sweeps%s",
                         gsw_relax_method_name(options.method), (int)height, (int)sweeps,
                         zero ? " from zero" : "");
                memcpy(x, guess, (size_t)n * sizeof *x);
                memcpy(expected, guess, (size_t)n * sizeof *x);
                relax_expect(host, &options, sweeps, zero, b, expected);
                relax_run(where, relax, sweeps, zero, n, b, x);
                relax_compare(where, host, n, x, expected, what);
            }
            gsw_relax_destroy(relax);
        }
    free(expected);
    free(guess);
    free(x);
    free(b);
}

/* A vector of floats in the where's memory. */
static inline void *relax_upload_f32(gsw_context *where, const float *values, int64_t n) {
    void *there;
    relax_try(where, gsw_memory_alloc(where, (size_t)n * sizeof *values, &there));
    relax_try(where, gsw_memory_upload(where, there, values, (size_t)n * sizeof *values));
    return there;
}

/* x after so many sweeps of a loop in fp32. What a pass must not read are NaNs. */
static inline void relax_run_f32(const gsw_relax_loop *loop, int32_t sweeps, int zero, int64_t n,
                                 const float *b, float *x) {
    gsw_context *where = loop->context;
    float *nan = oracle_vector(GSW_F32, 1, n);
    oracle_fill(GSW_F32, nan, n, NAN);
    void *const there_b = relax_upload_f32(where, b, n);
    void *const turns[2] = {relax_upload_f32(where, zero ? nan : x, n),
                            relax_upload_f32(where, nan, n)};
    void *const p[2] = {relax_upload_f32(where, nan, n), relax_upload_f32(where, nan, n)};
    void *work = malloc(loop->tile.work_bytes + 1);
    ck_assert_ptr_nonnull(work);
    relax_try(where, gsw_relax_loop_run(loop, sweeps, zero, there_b, turns, p, work));
    relax_try(where, gsw_memory_download(where, x, turns[gsw_relax_loop_passes(loop, sweeps) % 2],
                                         (size_t)n * sizeof *x));
    free(work);
    for (int k = 1; k >= 0; k--) {
        gsw_memory_free(where, p[k]);
        gsw_memory_free(where, turns[k]);
    }
    gsw_memory_free(where, there_b);
    free(nan);
}

/* Loops in fp32 on a random matrix against the same sweeps in fp64. Each height has the bits of
 * height 1. */
static inline void relax_compare_f32(gsw_context *where, const gsw_grid *grid,
                                     const gsw_stencil *stencil) {
    const oracle_layout narrow = {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0};
    const int64_t n = oracle_points(grid);
    oracle_matrix *matrix = oracle_random(grid, stencil, 43, ORACLE_ANY_SIGN),
                  *stored = oracle_convert(matrix, &narrow);
    float *b = oracle_vector(GSW_F32, 11, n), *guess = oracle_vector(GSW_F32, 12, n),
          *x = oracle_vector(GSW_F32, 12, n), *first = oracle_vector(GSW_F32, 12, n);
    double *wide_b = oracle_vector(GSW_F64, 11, n), *expected = oracle_vector(GSW_F64, 12, n);
    gsw_matrix there;
    for (int64_t i = 0; i < n; i++) {
        wide_b[i] = (double)b[i];
        for (int32_t e = 0; e < stencil->count; e++)
            oracle_set(GSW_F64, matrix->arrays[e], i, oracle_get(GSW_F32, stored->arrays[e], i));
    }
    relax_try(where, gsw_matrix_upload(where, &stored->view, &there));
    for (int number = 0; number < 8; number++) { /* methods, sweeps, first guesses */
        const int32_t sweeps = (int32_t[]){1, 2, 5, 4}[number / 2];
        const int zero = (number + sweeps) % 2;
        gsw_relax_options options = {.method = (gsw_relax_method)(number % 2),
                                     .weight = 2.0 / 3,
                                     .lowest = 0.5,
                                     .highest = 2};
        for (int64_t i = 0; i < n; i++)
            expected[i] = (double)guess[i];
        relax_expect(&matrix->view, &options, sweeps, zero, wide_b, expected);
        for (int32_t height = 1; height <= 4; height++) {
            gsw_relax_loop loop;
            options.height = height;
            const gsw_status status =
                gsw_relax_loop_open(where, &there, &options, GSW_RELAX_HEIGHT_MAX, &loop);
            if (height > 1 && status == GSW_ERROR_UNSUPPORTED)
                continue;
            relax_try(where, status);
            memcpy(x, guess, (size_t)n * sizeof *x);
            relax_run_f32(&loop, sweeps, zero, n, b, x);
            if (height == 1)
                memcpy(first, x, (size_t)n * sizeof *x);
            double most = 0, error = 0;
            for (int64_t i = 0; i < n; i++) {
                most = fmax(most, fabs(expected[i]));
                error = isnan(x[i]) ? INFINITY : fmax(error, fabs((double)x[i] - expected[i]));
            }
            ck_assert_msg(error <= oracle_tolerance(GSW_F32) * most &&
                              memcmp(x, first, (size_t)n * sizeof *x) == 0,
                          "%s on %lldx%lldx%lld, %s in f32, height %d, %d sweeps%s: error %g of %g",
                          gsw_stencil_name(stencil), (long long)grid->nx, (long long)grid->ny,
                          (long long)grid->nz, gsw_relax_method_name(options.method), (int)height,
                          (int)sweeps, zero ? " from zero" : "", error, most);
        }
    }
    gsw_matrix_release(where, &there);
    free(expected);
    free(wide_b);
    free(first);
    free(x);
    free(guess);
    free(b);
    oracle_free(stored);
    oracle_free(matrix);
}

#endif
