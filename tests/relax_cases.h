/* relax_cases.h: stencil loops with ghost zones against the plain serial sweep, for contexts of any
 * backend. */
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
#include "cpu/relax.h"
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

#endif
