/* relax_truth.h: the plain serial sweeps that stencil loops with ghost zones must equal. */
#ifndef GSW_TESTS_RELAX_TRUTH_H
#define GSW_TESTS_RELAX_TRUTH_H

#include "context_fixture.h"
#include "contract/context.h"
#include "reference/reference.h"

/* Whether the kernels fuse multiply-adds, as the reference does. */
static inline int relax_fuses(void) {
    return strstr(context->device, "(base)") == NULL;
}

/* What `sweeps` sweeps make of x, serially. */
static inline void relax_expect(const gsw_matrix *matrix, const gsw_relax_options *options,
                                int32_t sweeps, int zero, const double *b, double *x) {
    const int64_t n = oracle_points(&matrix->grid);
    const double center = (options->highest + options->lowest) / 2,
                 half = (options->highest - options->lowest) / 2, sigma = center / half;
    const size_t mark = keep_mark();
    double *y = keep_copy(x, n), *p = keep_copy(x, n), rho = 1 / sigma;
    for (int32_t s = 0; s < sweeps; s++) {
        double alpha = options->weight == 0 ? 1 : options->weight, beta = 0;
        if (options->method == GSW_RELAX_CHEBYSHEV) {
            const double next = 1 / (2 * sigma - rho);
            alpha = s == 0 ? 1 / center : 2 * next / half;
            beta = s == 0 ? 0 : next * rho;
            rho = s == 0 ? rho : next;
        }
        gsw_reference_relax(matrix, alpha, beta, zero && s == 0, b, x, y, p, p);
        memcpy(x, y, (size_t)n * sizeof *x);
    }
    keep_release(mark);
}

static inline void relax_compare(const gsw_matrix *matrix, int64_t n, const double *x,
                                 const double *expected, const char *what) {
    const gsw_grid *g = &matrix->grid;
    const double error = oracle_error(GSW_F64, n, x, expected);
    const int equal = memcmp(x, expected, (size_t)n * sizeof *x) == 0;
    ck_assert_msg(relax_fuses() ? equal : error <= 1e-13, "%s on %lldx%lldx%lld, %s: error %g",
                  gsw_stencil_name(&matrix->stencil), (long long)g->nx, (long long)g->ny,
                  (long long)g->nz, what, error);
}

#endif
