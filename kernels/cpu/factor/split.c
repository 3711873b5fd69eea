/* split.c: see factors.h. */
#include "cpu/factor/factors.h"
#include <math.h>
#include "contract/context.h"
#include "contract/error.h"
#include "cpu/core/cores.h"
#include "packed.h"

enum { SCALE_GRAIN = 8192 }; /* points: scaling this many takes about as long as waking a thread */

gsw_status gsw_cpu_split_fill(gsw_context *context, const gsw_factor *factor,
                              const gsw_matrix *matrix, const gsw_split *split, int *fits) {
    const double *const *arrays = (const double *const *)matrix->array.values;
    const double *diagonal = arrays[matrix->stencil.center];
    const struct gsw_packed *packed = factor->packed;
    const int ssor = factor->options.kind == GSW_SSOR;
    const double omega = factor->options.omega;
    const int symmetric = split->left == split->right;
    const int64_t n = factor->points;
    double *right = split->right, *k = split->k;
    int64_t bad = 0;
    if (!ssor)
        gsw_cpu_unpack_diagonal(factor, packed->part[packed->upper[0]].diagonal ? 0 : 1, right);
#pragma omp parallel for num_threads(gsw_useful_threads(context, n, SCALE_GRAIN)) reduction(+ : bad)
    for (int64_t i = 0; i < n; i++) {
        if (ssor)
            right[i] = omega / diagonal[i];
        k[i] = diagonal[i] * right[i] - 2;
        bad += !isfinite(right[i]) || (symmetric && right[i] <= 0);
        if (symmetric)
            right[i] = sqrt(right[i]);
    }
    *fits = bad == 0;
    for (int which = 0; which < 2 && *fits; which++)
        gsw_cpu_pack_scaled(split->parts, which, arrays, split->left, right);
    return GSW_SUCCESS;
}
