/* jacobi.c: see factors.h. */
#include <float.h>
#include <math.h>
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "common/csr.h"
#include "contract/error.h"
#include "common/pivot.h"
#include "cpu/core/cores.h"
#include "cpu/factor/factors.h"
#include "cpu/rows/rows.h"

enum {
    GRAIN = 16384, /* rows: scaling this many takes about as long as waking a thread */
    SPAN = 256
};

/* Refuses the first row whose pointers do not fit. */
static gsw_status refuse_row(gsw_context *context, const gsw_csr *csr, int64_t row) {
    const int64_t begin = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
    return gsw_csr_refuse_row(context, csr, row, row > 0 ? begin : 0);
}

gsw_status gsw_cpu_fill_jacobi(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               void *reciprocal) {
    const double shift = factor->options.pivot_shift;
    const int narrows = gsw_factor_narrows(factor, matrix, NULL);
    const gsw_row_source *rows = gsw_rows_of(context->backend_data, matrix);
    int64_t broken = INT64_MAX, bad = INT64_MAX, beyond = INT64_MAX, shifted = 0;
#pragma omp parallel for num_threads(gsw_useful_threads(context, factor->points, GRAIN)) \
    reduction(min : broken, bad, beyond) reduction(+ : shifted)
    for (int64_t first = 0; first < factor->points; first += SPAN) {
        const int64_t left = factor->points - first, count = left < SPAN ? left : SPAN;
        double diagonal[SPAN];
        const int64_t misfit = rows->diagonal(matrix, first, count, diagonal);
        if (misfit >= 0 && misfit < broken)
            broken = misfit;
        for (int64_t row = first; row < first + count && misfit < 0; row++) {
            double d = diagonal[row - first];
            if (gsw_pivot_is_bad(d, 0)) {
                if (shift > 0) {
                    d = gsw_pivot_shifted(d, shift, 0, 0);
                    shifted++;
                } else if (row < bad) {
                    bad = row;
                }
            }
            if (narrows && gsw_pivot_is_beyond_f32(d) && row < beyond)
                beyond = row;
            gsw_value_put(reciprocal, factor->options.factor_type, row, 1 / d);
        }
    }
    if (broken != INT64_MAX)
        return refuse_row(context, &matrix->csr, broken);
    factor->info.first_bad_row = bad == INT64_MAX ? -1 : bad;
    factor->info.shifted_pivots = shifted;
    return gsw_factor_report(context, factor, -1, beyond == INT64_MAX ? -1 : beyond);
}

void gsw_cpu_apply_jacobi(gsw_context *context, const gsw_factor *factor, const void *reciprocal,
                          int64_t count, const void *b, int64_t ldb, void *x, int64_t ldx) {
    const int f32 = factor->options.factor_type == GSW_F32;
    (void)context; /* without OpenMP nothing uses it */
    for (int64_t r = 0; r < count; r++) {
        if (factor->options.vector_type == GSW_F32) {
            const float *from = (const float *)b + r * ldb, *d = reciprocal;
            float *to = (float *)x + r * ldx;
#pragma omp parallel for num_threads(gsw_useful_threads(context, factor->points, GRAIN))
            for (int64_t i = 0; i < factor->points; i++)
                to[i] = from[i] * d[i];
        } else {
            const double *from = (const double *)b + r * ldb;
            double *to = (double *)x + r * ldx;
#pragma omp parallel for num_threads(gsw_useful_threads(context, factor->points, GRAIN))
            for (int64_t i = 0; i < factor->points; i++)
                to[i] = from[i] * (f32 ? (double)((const float *)reciprocal)[i]
                                       : ((const double *)reciprocal)[i]);
        }
    }
}
