/* transfer.c: transfers between levels, fine point by fine point. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/error.h"
#include "reference/levels.h"
#include "reference/reference.h"
#include "reference/rows.h"

/* ---- Weights ----------------------------------------------------------------------------------
 */

/* A fine point at 2 I + class along coarsened axes. */
typedef struct fine_point {
    gsw_reference_point coarse; /* I */
    int class_;
} fine_point;

static fine_point fine_point_of(const gsw_transfer *t, int64_t row) {
    const gsw_reference_point p = gsw_reference_point_of(&t->fine, row);
    const int64_t at[3] = {p.x, p.y, p.z};
    int64_t coarse[3];
    int class_ = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int coarsened = t->axes >> axis & 1;
        coarse[axis] = coarsened ? at[axis] / 2 : at[axis];
        class_ |= (coarsened ? (int)(at[axis] & 1) : 0) << axis;
    }
    return (fine_point){{coarse[0], coarse[1], coarse[2]}, class_};
}

/* The coarse row at I + subset from which a fine point interpolates, and its weight. Returns -1
 * where there is none. */
static int64_t share_of(const gsw_transfer *t, gsw_dtype type, void *const *weights,
                        const fine_point *p, int subset, double *weight) {
    const gsw_reference_point near = p->coarse;
    const gsw_offset o = {subset & 1, subset >> 1 & 1, subset >> 2 & 1};
    const int64_t to = gsw_reference_beside(&t->coarse, near, o);
    if ((subset & ~p->class_) || to < 0 || (t->injection && p->class_ != 0))
        return -1;
    const int32_t array = t->injection ? GSW_WEIGHT_ONE : gsw_weight_of(t, p->class_, subset);
    *weight =
        array == GSW_WEIGHT_ONE
            ? 1
            : gsw_value_at(weights[array], type, gsw_grid_row(&t->coarse, near.x, near.y, near.z));
    return to;
}

/* All weights as interpolation.c has them: eight for each fine point. Free them with free(). */
static gsw_status gather_weights(gsw_context *context, const gsw_transfer *t, gsw_dtype type,
                                 void *const *weights, double **out) {
    const int64_t n = gsw_reference_points(&t->fine);
    GSW_TRY(gsw_alloc(context, (size_t)n, 8 * sizeof **out, "weights", (void **)out));
    for (int64_t row = 0; row < n; row++) {
        const fine_point p = fine_point_of(t, row);
        for (int d = 0; d < 8; d++)
            if (share_of(t, type, weights, &p, d, &(*out)[8 * row + d]) < 0)
                (*out)[8 * row + d] = 0;
    }
    return GSW_SUCCESS;
}

/* How rows are lumped. Where each coupling has a slot of its own, there is nothing to share. */
static gsw_reference_lumping lumping_of(const gsw_transfer *t, gsw_rows rows) {
    return (gsw_reference_lumping){.rows = rows, .symmetric = t->symmetric && !t->plain};
}

gsw_status gsw_reference_interpolate(gsw_context *context, const gsw_transfer *transfer,
                                     const gsw_matrix *matrix, gsw_rows rows, gsw_dtype type,
                                     void *const *weights, int64_t *degenerate) {
    const gsw_transfer *t = transfer;
    const int64_t n = gsw_reference_points(&t->fine), m = gsw_reference_points(&t->coarse);
    double *p;
    GSW_TRY(gsw_alloc(context, (size_t)n, 8 * sizeof *p, "weights", (void **)&p));
    *degenerate = gsw_reference_interpolation(matrix, t->axes, lumping_of(t, rows), p);
    for (int32_t w = 0; w < t->weights; w++)
        for (int64_t i = 0; i < m; i++)
            gsw_value_put(weights[w], type, i, 0);
    for (int64_t row = 0; row < n; row++) {
        const fine_point at = fine_point_of(t, row);
        const int64_t i = gsw_grid_row(&t->coarse, at.coarse.x, at.coarse.y, at.coarse.z);
        for (int d = 0; at.class_ != 0 && d < 8; d++)
            if ((d & ~at.class_) == 0)
                gsw_value_put(weights[gsw_weight_of(t, at.class_, d)], type, i, p[8 * row + d]);
    }
    free(p);
    return GSW_SUCCESS;
}

/* ---- Coarse matrices --------------------------------------------------------------------------
 */

gsw_status gsw_reference_multiply_levels(gsw_context *context, const gsw_transfer *transfer,
                                         const gsw_matrix *matrix, gsw_dtype type,
                                         void *const *prolongation, void *const *restriction,
                                         double *const *coarse) {
    double *p = NULL, *r = NULL;
    gsw_status status = gather_weights(context, transfer, type, prolongation, &p);
    if (status == GSW_SUCCESS)
        status = gather_weights(context, transfer, type, restriction, &r);
    if (status == GSW_SUCCESS)
        gsw_reference_triple(matrix, transfer->axes, lumping_of(transfer, GSW_ROWS_OF_MATRIX), p, r,
                             &transfer->coarse_stencil, coarse);
    free(p);
    free(r);
    return status;
}

/* The fine row at a coarse point. */
static int64_t fine_row(const gsw_transfer *t, gsw_reference_point p) {
    return gsw_grid_row(&t->fine, t->axes & 1 ? 2 * p.x : p.x, t->axes & 2 ? 2 * p.y : p.y,
                        t->axes & 4 ? 2 * p.z : p.z);
}

gsw_status gsw_reference_mend_diagonal(gsw_context *context, const gsw_transfer *transfer,
                                       const gsw_matrix *matrix, double *diagonal) {
    const gsw_transfer *t = transfer;
    (void)context;
    for (int64_t i = 0; i < gsw_reference_points(&t->coarse); i++) {
        double fine;
        (void)gsw_reference_stored(matrix, fine_row(t, gsw_reference_point_of(&t->coarse, i)),
                                   matrix->stencil.center, &fine);
        if (fabs(diagonal[i]) <= 64 * DBL_EPSILON * fabs(fine))
            diagonal[i] = fine;
    }
    return GSW_SUCCESS;
}

gsw_status gsw_reference_inject(gsw_context *context, const gsw_transfer *transfer,
                                const gsw_matrix *matrix, double *const *coarse) {
    const gsw_transfer *t = transfer;
    (void)context;
    for (int64_t i = 0; i < gsw_reference_points(&t->coarse); i++) {
        const gsw_reference_point p = gsw_reference_point_of(&t->coarse, i);
        for (int32_t e = 0; e < t->coarse_stencil.count; e++) {
            coarse[e][i] = 0;
            if (gsw_reference_beside(&t->coarse, p, t->coarse_stencil.offsets[e]) >= 0)
                (void)gsw_reference_stored(matrix, fine_row(t, p), e, &coarse[e][i]);
        }
    }
    return GSW_SUCCESS;
}

/* ---- Vectors ----------------------------------------------------------------------------------
 */

static void clear(const gsw_transfer *t, gsw_dtype type, void *to) {
    for (int64_t i = 0; i < gsw_reference_points(&t->coarse); i++)
        gsw_value_put(to, type, i, 0);
}

/* Adds the shares of a fine point's value. */
static void restrict_value(const gsw_transfer *t, gsw_dtype type, void *const *weights, int64_t row,
                           double value, void *to) {
    const fine_point p = fine_point_of(t, row);
    for (int d = 0; d < 8; d++) {
        double weight;
        const int64_t i = share_of(t, type, weights, &p, d, &weight);
        if (i >= 0)
            gsw_value_put(to, type, i,
                          gsw_reference_fused(type, weight, value, gsw_value_at(to, type, i)));
    }
}

gsw_status gsw_reference_restrict_residual(gsw_context *context, const gsw_transfer *transfer,
                                           const gsw_matrix *matrix, gsw_dtype type,
                                           void *const *weights, const void *b, const void *x,
                                           void *work, void *to) {
    (void)context;
    (void)work;
    clear(transfer, type, to);
    for (int64_t row = 0; row < gsw_reference_points(&transfer->fine); row++)
        restrict_value(
            transfer, type, weights, row,
            gsw_reference_row_product(matrix, row, type, gsw_value_at(b, type, row), 1, x), to);
    return GSW_SUCCESS;
}

gsw_status gsw_reference_restrict_vector(gsw_context *context, const gsw_transfer *transfer,
                                         gsw_dtype type, void *const *weights, const void *from,
                                         void *to) {
    (void)context;
    clear(transfer, type, to);
    for (int64_t row = 0; row < gsw_reference_points(&transfer->fine); row++)
        restrict_value(transfer, type, weights, row, gsw_value_at(from, type, row), to);
    return GSW_SUCCESS;
}

gsw_status gsw_reference_prolong_add(gsw_context *context, const gsw_transfer *transfer,
                                     gsw_dtype type, void *const *weights, const void *from,
                                     void *to) {
    (void)context;
    for (int64_t row = 0; row < gsw_reference_points(&transfer->fine); row++) {
        const fine_point p = fine_point_of(transfer, row);
        double sum = 0, weight;
        if (transfer->injection && p.class_ != 0)
            continue; /* neither read nor written */
        for (int d = 0; d < 8; d++) {
            const int64_t i = share_of(transfer, type, weights, &p, d, &weight);
            if (i >= 0)
                sum = gsw_reference_fused(type, weight, gsw_value_at(from, type, i), sum);
        }
        gsw_value_put(to, type, row, gsw_value_at(to, type, row) + sum);
    }
    return GSW_SUCCESS;
}
