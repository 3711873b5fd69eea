/* survey.c: properties of a level's matrix, row by row. */
#include <float.h>
#include "common/pivot.h"
#include "common/wraps.h"
#include "reference/levels.h"
#include "reference/rows.h"

/* What the entries of a row add up to. */
typedef struct row_sums {
    double diagonal;
    double size, total; /* of |a|, of a */
    double axis[3];     /* of the couplings along an axis */
} row_sums;

static row_sums sums_of(const gsw_matrix *matrix, gsw_reference_point p, int64_t row) {
    row_sums s = {0};
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        double a = 0;
        if (gsw_reference_beside(&matrix->grid, p, o) >= 0)
            (void)gsw_reference_stored(matrix, row, e, &a);
        if (e == matrix->stencil.center)
            s.diagonal = a;
        s.size += fabs(a);
        s.total += a;
        s.axis[0] += o.dx != 0 ? a : 0;
        s.axis[1] += o.dy != 0 ? a : 0;
        s.axis[2] += o.dz != 0 ? a : 0;
    }
    return s;
}

/* Adds the couplings around a periodic grid. */
static void add_around(const gsw_wraps *wraps, gsw_reference_point p, row_sums *s,
                       gsw_survey *survey) {
    const int64_t at[3] = {p.x, p.y, p.z};
    const gsw_wraps_sums around = gsw_wraps_add_up(wraps, at, s->diagonal);
    s->size += around.size;
    s->total += around.total;
    for (int axis = 0; axis < 3; axis++)
        s->axis[axis] += around.axis[axis];
    survey->symmetric &= !around.asymmetric;
}

/* Whether the couplings of a row are those of its column. It is enough to look at one entry of each
 * pair, and at each entry without a mirror image. */
static int is_mirrored(const gsw_matrix *matrix, gsw_reference_point p, int64_t row,
                       double diagonal) {
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const int32_t mirror = gsw_matrix_mirror(matrix, e);
        const int64_t j = gsw_reference_beside(&matrix->grid, p, matrix->stencil.offsets[e]);
        double a, other = 0;
        if (j < 0 || (e <= matrix->stencil.center && mirror >= 0))
            continue;
        (void)gsw_reference_stored(matrix, row, e, &a);
        if (mirror >= 0)
            (void)gsw_reference_stored(matrix, j, mirror, &other);
        if (fabs(a - other) > 1e-7 * fabs(diagonal))
            return 0;
    }
    return 1;
}

/* Adds a row to the survey, whose means are still sums. */
static void add_row(const row_sums *s, int64_t row, gsw_survey *survey) {
    const double d = fabs(s->diagonal), ratio = s->size / d;
    double strongest = 0;
    if (!(d > 0 && d <= DBL_MAX) && survey->bad_row < 0)
        survey->bad_row = row;
    survey->isolated |= s->size == d;
    survey->zero_sums &= fabs(s->total) <= 1e-12 * s->size;
    survey->constants &= gsw_row_sum_is_zero(s->total, s->size);
    survey->row_ratio = ratio > survey->row_ratio ? ratio : survey->row_ratio;
    survey->largest = s->size > survey->largest ? s->size : survey->largest;
    survey->least = d < survey->least ? d : survey->least;
    survey->negative += s->diagonal < 0;
    survey->fixed += gsw_row_is_fixed(d, s->size);
    for (int axis = 0; axis < 3; axis++) {
        const double share = -s->axis[axis] / s->diagonal;
        survey->coupling[axis] += share > 0 ? share : 0;
        strongest = share > strongest ? share : strongest;
    }
    survey->strongest += strongest;
    /* Couplings with sum t and sum of absolute values s: the positive ones add up to (s + t) / 2.
     */
    const double off = ratio - 1, same = (off + s->total / s->diagonal - 1) / 2;
    survey->off_diagonal += off > 0 && d > 0 ? off : 0;
    survey->same_sign += same > 1e-14 * off && d > 0 ? same : 0;
}

gsw_status gsw_reference_survey(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_frame *own, const gsw_wraps *wraps, int mirror,
                                gsw_survey *survey) {
    const gsw_grid *g = &matrix->grid;
    const gsw_frame all = {{g->nx, g->ny, g->nz}, {g->nx, g->ny, g->nz}, {0, 0, 0}};
    const gsw_frame *f = own ? own : &all;
    const double points = (double)(f->n[0] * f->n[1] * f->n[2]);
    (void)context;
    *survey = (gsw_survey){
        .least = DBL_MAX, .bad_row = -1, .symmetric = 1, .zero_sums = 1, .constants = 1};
    for (int64_t z = 0; z < f->n[2]; z++)
        for (int64_t y = 0; y < f->n[1]; y++)
            for (int64_t x = 0; x < f->n[0]; x++) {
                const gsw_reference_point p = {f->low[0] + x, f->low[1] + y, f->low[2] + z};
                const int64_t row = gsw_grid_row(g, p.x, p.y, p.z);
                row_sums s = sums_of(matrix, p, row);
                if (wraps)
                    add_around(wraps, p, &s, survey);
                add_row(&s, row, survey);
                if (mirror && survey->symmetric)
                    survey->symmetric = is_mirrored(matrix, p, row, s.diagonal);
            }
    for (int axis = 0; axis < 3; axis++)
        survey->coupling[axis] /= points;
    survey->off_diagonal /= points;
    survey->same_sign /= points;
    survey->strongest /= points;
    survey->symmetric |= !mirror;
    return GSW_SUCCESS;
}
