/* fill.c: the values of factors, row by row.
 *
 * ILU(0) in the IKJ order (Saad, algorithm 10.4), with the scaled rows u' = U / d of L U:
 *
 *     for each lower coefficient a_ik that is not zero, ascending in k:
 *         l_ik  = a_ik / d_k
 *         a_ij -= a_ik u'_kj   for every j > k that the stencil has
 *
 * IC(0) is the same on the symmetric matrix that the lower part describes. DILU updates the
 * diagonal only. The other kinds take the coefficients as they are. */
#include <float.h>
#include "common/pivot.h"
#include "reference/packed.h"
#include "reference/rows.h"

/* The matrices, and what is found on the way. Rows count from the first own one. */
typedef struct filler {
    const gsw_factor *factor;
    const struct gsw_packed *packed;
    const gsw_matrix *matrix, *other; /* `other`: U of kind LU */
    const gsw_band_eliminate *bands;  /* NULL: no ghosts */
    int64_t before;
    int narrows;
    int32_t target[GSW_STENCIL_MAX][GSW_STENCIL_MAX]; /* the offset o_k + o_e, or -1 */
    int64_t bad, beyond, shifted;
} filler;

static void note(int64_t row, int64_t *lowest) {
    if (*lowest < 0)
        *lowest = row;
}

/* ---- Coefficients -----------------------------------------------------------------------------
 */

/* Which matrix has the coefficient at offset e. */
static const gsw_matrix *matrix_of(const filler *f, int32_t e) {
    const int32_t center = f->packed->stencil.center;
    if (f->factor->options.kind != GSW_FACTOR_LU)
        return f->matrix;
    return (f->factor->options.transpose ? e > center : e < center) ? f->matrix : f->other;
}

/* IC(0): the mirror image of a coefficient below the diagonal of row j. */
static double mirrored(const filler *f, int64_t j, int32_t mirror) {
    double value = 0;
    if (j < f->factor->points)
        (void)gsw_reference_stored(f->matrix, j, mirror, &value);
    else if (f->bands && f->bands->after[mirror])
        value = f->bands->after[mirror][j - f->factor->points];
    return value;
}

/* The coefficient of an own row at offset e. The neighbour `j` is inside the frame. */
static double coefficient(const filler *f, int64_t row, int64_t j, int32_t e) {
    const gsw_stencil *stencil = &f->packed->stencil;
    const int32_t mirror = stencil->count - 1 - e;
    double value = 0;
    if (f->factor->options.kind == GSW_IC0 && e > stencil->center)
        return mirrored(f, j, mirror);
    if (f->factor->options.transpose)
        (void)gsw_reference_stored(matrix_of(f, e), j, mirror, &value);
    else
        (void)gsw_reference_stored(matrix_of(f, e), row, e, &value);
    return value;
}

/* The row at a point of the frame. */
static void take_row(const filler *f, gsw_reference_point p, int64_t row,
                     double a[GSW_STENCIL_MAX]) {
    const gsw_stencil *stencil = &f->packed->stencil;
    for (int32_t e = 0; e < stencil->count; e++) {
        const int64_t j = gsw_reference_beside(&f->factor->grid, p, stencil->offsets[e]);
        const int wanted = e == stencil->center || f->packed->value[e] != NULL;
        a[e] = wanted && j >= 0 ? coefficient(f, row, j - f->before, e) : 0;
    }
}

/* ---- Elimination ------------------------------------------------------------------------------
 */

/* u'_je of a neighbour's row j, which counts from the first one of the frame: own, or given. */
static double upper_of(const filler *f, int64_t j, int32_t e) {
    return j < f->before ? f->bands->given[e][j] : f->packed->upper[e][j - f->before];
}

/* l[k] receives the row of L. */
static void eliminate_row(const filler *f, gsw_reference_point p, double a[GSW_STENCIL_MAX],
                          double l[GSW_STENCIL_MAX]) {
    const gsw_stencil *stencil = &f->packed->stencil;
    const int32_t center = stencil->center;
    const int diagonal_only = f->factor->options.kind == GSW_DILU;
    for (int32_t k = 0; k < center; k++) {
        const int64_t j = gsw_reference_beside(&f->factor->grid, p, stencil->offsets[k]);
        l[k] = 0;
        if (j < 0 || a[k] == 0)
            continue;
        l[k] = a[k] * upper_of(f, j, center);
        for (int32_t e = center + 1; e < stencil->count; e++) {
            const int32_t to = f->target[k][e];
            if (to >= 0 && (!diagonal_only || to == center))
                a[to] -= a[k] * upper_of(f, j, e);
        }
    }
}

/* Notes or shifts the pivot of a row. */
static void check_pivot(filler *f, int64_t row, double a[GSW_STENCIL_MAX]) {
    const gsw_factor_options *o = &f->factor->options;
    const int any = o->kind >= GSW_FACTOR_LOWER; /* takes any diagonal */
    double *pivot = &a[f->packed->stencil.center];
    double largest = 0;
    if (f->narrows && !(any && o->unit_diagonal) && gsw_pivot_is_beyond_f32(*pivot))
        note(row, &f->beyond);
    if (any || !gsw_pivot_is_bad(*pivot, o->kind == GSW_IC0))
        return;
    if (o->pivot_shift == 0) {
        note(row, &f->bad);
        return;
    }
    for (int32_t e = 0; e < f->packed->stencil.count && o->kind != GSW_JACOBI; e++)
        largest = gsw_pivot_larger(largest, a[e]);
    *pivot = gsw_pivot_shifted(*pivot, o->pivot_shift, largest, o->kind == GSW_IC0);
    f->shifted++;
}

/* ---- Storing ----------------------------------------------------------------------------------
 */

static void store(filler *f, void *array, int64_t row, double value) {
    const gsw_dtype type = f->factor->options.factor_type;
    if (array == NULL)
        return;
    if (f->narrows && gsw_is_beyond_f32(value))
        note(row, &f->beyond);
    gsw_value_put(array, type, row, value);
}

/* Scales an eliminated row and stores it. `l` is the row of L, or that of the matrix. */
static void store_row(filler *f, int64_t row, const double a[GSW_STENCIL_MAX],
                      const double l[GSW_STENCIL_MAX]) {
    const struct gsw_packed *packed = f->packed;
    const gsw_factor_options *o = &f->factor->options;
    const int32_t center = packed->stencil.center;
    const double reciprocal = o->unit_diagonal ? 1 : 1 / a[center];
    const double scale = o->kind == GSW_SSOR ? o->omega * reciprocal : reciprocal;
    const double first = o->kind == GSW_SSOR ? o->omega * (2 - o->omega) * reciprocal : reciprocal;
    double scaled[GSW_STENCIL_MAX];
    for (int32_t e = 0; e < packed->stencil.count; e++) {
        const double c = e < center ? l[e] : a[e];
        const int scales = packed->layout.part[e > center].scale;
        scaled[e] = e == center ? reciprocal : scales && c != 0 ? c * scale : c;
        if (e != center)
            store(f, packed->value[e], row, scaled[e]);
    }
    /* The range of the diagonal has been checked. */
    for (int part = 0; part < 2; part++)
        if (packed->diagonal[part])
            gsw_value_put(packed->diagonal[part], o->factor_type, row,
                          part == 0 ? first : reciprocal);
    for (int32_t e = center; e < packed->stencil.count; e++) {
        if (packed->upper[e])
            packed->upper[e][row] = scaled[e];
        if (f->bands && row >= f->bands->kept_from)
            f->bands->kept[e][row - f->bands->kept_from] = scaled[e];
    }
}

static void fill_rows(filler *f) {
    const gsw_stencil *stencil = &f->packed->stencil;
    const int eliminates = gsw_eliminates(f->factor->options.kind);
    const int diagonal_only = f->factor->options.kind == GSW_DILU;
    for (int32_t k = 0; k < stencil->center; k++)
        for (int32_t e = stencil->center; e < stencil->count; e++) {
            const gsw_offset a = stencil->offsets[k], b = stencil->offsets[e];
            f->target[k][e] =
                gsw_stencil_find(stencil, (gsw_offset){a.dx + b.dx, a.dy + b.dy, a.dz + b.dz});
        }
    for (int64_t row = 0; row < f->factor->points; row++) {
        const gsw_reference_point p = gsw_reference_point_of(&f->factor->grid, row + f->before);
        double a[GSW_STENCIL_MAX] = {0}, l[GSW_STENCIL_MAX] = {0};
        take_row(f, p, row, a);
        if (eliminates)
            eliminate_row(f, p, a, l);
        check_pivot(f, row, a);
        store_row(f, row, a, eliminates && !diagonal_only ? l : a);
    }
}

/* ---- The calls --------------------------------------------------------------------------------
 */

static filler filler_of(const gsw_factor *factor, const gsw_matrix *matrix, const gsw_matrix *upper,
                        const gsw_band_eliminate *bands) {
    return (filler){.factor = factor,
                    .packed = factor->packed,
                    .matrix = matrix,
                    .other = upper,
                    .bands = bands,
                    .before = gsw_reference_before(factor),
                    .narrows = gsw_factor_narrows(factor, matrix, upper),
                    .bad = -1,
                    .beyond = -1};
}

/* The lowest row that cannot be read, or -1. A transpose looks up its own couplings only, and so
 * does Jacobi. */
static int64_t find_misfit(const gsw_factor *factor, const gsw_matrix *matrix) {
    const int looks_up = factor->options.transpose || factor->options.kind == GSW_JACOBI;
    for (int64_t row = 0; matrix && row < factor->points; row++)
        if (looks_up ? !gsw_reference_pointers_fit(matrix, row)
                     : !gsw_reference_row_fits(matrix, GSW_FULL, row))
            return row;
    return -1;
}

gsw_status gsw_reference_factor_fill(gsw_context *context, gsw_factor *factor,
                                     const gsw_matrix *matrix, const gsw_matrix *upper) {
    const int64_t first = find_misfit(factor, matrix), second = find_misfit(factor, upper);
    const int64_t misfit = first < 0 || (second >= 0 && second < first) ? second : first;
    factor->info.first_bad_row = -1;
    factor->info.shifted_pivots = 0;
    if (misfit >= 0 && factor->options.kind == GSW_JACOBI)
        return gsw_reference_refuse_pointers(context, matrix, misfit);
    if (misfit >= 0)
        return gsw_factor_report(context, factor, misfit, -1);
    filler f = filler_of(factor, matrix, upper, NULL);
    fill_rows(&f);
    factor->info.first_bad_row = f.bad;
    factor->info.shifted_pivots = f.shifted;
    return gsw_factor_report(context, factor, -1, f.beyond);
}

int64_t gsw_reference_eliminate_bands(gsw_context *context, gsw_factor *factor,
                                      const gsw_matrix *matrix, const gsw_band_eliminate *bands) {
    filler f = filler_of(factor, matrix, NULL, bands);
    (void)context;
    if (bands->end > bands->begin)
        fill_rows(&f);
    return f.bad;
}
