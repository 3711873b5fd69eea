/* wraps.h: the couplings around a periodic grid, once for host and device.
 *
 * A matrix on a periodic grid is A = B + W: B is the matrix of the box, whose couplings stay inside
 * the grid, and W holds the couplings around it. Kernels that know boxes read B; W is applied by
 * the functions here, row by row of the seam (common/seam.h), each of which has one writer.
 * Coefficients of W are fp64 and lie in arrays of their own, one for each offset that can leave the
 * grid along a periodic axis, with one value for each row of the seam. Row k of the seam is row[k]
 * of the grid; another array per offset holds the columns. Where an offset stays inside the grid,
 * the coefficient is 0 and the column that of the row itself. */
#ifndef GSW_WRAPS_H
#define GSW_WRAPS_H

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <gridsweep/matrix.h>
#include "common/arrays.h"
#include "common/csr.h"
#include "common/seam.h"

typedef struct gsw_wraps {
    gsw_seam seam;
    int32_t periodic; /* bit set of axes */
    int32_t count, center, arrays;
    int16_t offset[GSW_STENCIL_MAX][3];
    int16_t mirror[GSW_STENCIL_MAX]; /* the entry of the opposite offset; -1: there is none */
    int16_t array[GSW_STENCIL_MAX];  /* which array is that of an offset; -1: it never leaves */
    double *values;
    int64_t *to, *row;
} gsw_wraps;

GSW_HD int gsw_wraps_has(const gsw_wraps *w, int32_t e) {
    return w->array[e] >= 0;
}

/* The place of row k in the array of offset e. */
GSW_HD int64_t gsw_wraps_place(const gsw_wraps *w, int32_t e, int64_t k) {
    return w->array[e] * w->seam.count + k;
}

/* Where a coupling leads. */
enum { GSW_INSIDE, GSW_AROUND, GSW_OUTSIDE };

/* The neighbour at `sign` times offset e of a point. */
GSW_HD int gsw_wraps_step(const gsw_wraps *w, const int64_t at[3], int32_t e, int32_t sign,
                          int64_t to[3]) {
    int where = GSW_INSIDE;
    for (int a = 0; a < 3; a++) {
        to[a] = at[a] + sign * w->offset[e][a]; /* NOLINT: an int holds it */
        if (to[a] >= 0 && to[a] < w->seam.n[a])
            continue;
        if (!(w->periodic >> a & 1))
            return GSW_OUTSIDE;
        to[a] += to[a] < 0 ? w->seam.n[a] : -w->seam.n[a];
        where = GSW_AROUND;
    }
    return where;
}

/* Coefficient e of a point whose neighbour there is around the grid. */
GSW_HD double gsw_wraps_at(const gsw_wraps *w, int32_t e, const int64_t at[3]) {
    const int64_t k = gsw_wraps_has(w, e) ? gsw_seam_row(&w->seam, at) : -1;
    return k < 0 ? 0 : w->values[gsw_wraps_place(w, e, k)];
}

/* Finds row k and its columns. */
GSW_HD void gsw_wraps_place_row(const gsw_wraps *w, int64_t k) {
    int64_t at[3], to[3];
    gsw_seam_point(&w->seam, k, at);
    w->row[k] = gsw_seam_grid_row(&w->seam, at);
    for (int32_t e = 0; e < w->count; e++)
        if (gsw_wraps_has(w, e))
            w->to[gsw_wraps_place(w, e, k)] = gsw_wraps_step(w, at, e, 1, to) == GSW_AROUND
                                                  ? gsw_seam_grid_row(&w->seam, to)
                                                  : w->row[k];
}

/* W x in row k of the seam, of every `step`th array from `first` on: a device adds the parts up. */
GSW_HD double gsw_wraps_part(const gsw_wraps *w, int64_t k, int32_t first, int32_t step,
                             gsw_dtype type, const void *x) {
    double sum = 0;
    GSW_UNROLL(4)
    for (int32_t a = first; a < w->arrays; a += step)
        sum +=
            w->values[a * w->seam.count + k] * gsw_value_at(x, type, w->to[a * w->seam.count + k]);
    return sum;
}

/* y += `product` in row k. `saved`: keeps what y was; NULL: nothing does. */
GSW_HD void gsw_wraps_add(const gsw_wraps *w, int64_t k, gsw_dtype type, double product, void *y,
                          double *saved) {
    const double before = gsw_value_at(y, type, w->row[k]);
    if (saved != NULL)
        saved[k] = before;
    gsw_value_put(y, type, w->row[k], before + product);
}

/* Adds row k to a dense matrix of n points, by rows. */
GSW_HD void gsw_wraps_add_to_dense(const gsw_wraps *w, int64_t k, int64_t n, double *dense) {
    for (int32_t e = 0; e < w->count; e++)
        if (gsw_wraps_has(w, e))
            dense[w->row[k] * n + w->to[gsw_wraps_place(w, e, k)]] +=
                w->values[gsw_wraps_place(w, e, k)];
}

/* What the couplings of W add to the sums of a row; *asymmetric becomes 1 where one is not its
 * mirror image, to 1e-7 of `diagonal`. */
typedef struct gsw_wraps_sums {
    double size, total, axis[3];
    int asymmetric;
} gsw_wraps_sums;

GSW_HD gsw_wraps_sums gsw_wraps_add_up(const gsw_wraps *w, const int64_t at[3], double diagonal) {
    gsw_wraps_sums s = {0, 0, {0, 0, 0}, 0};
    const int64_t k = gsw_seam_row(&w->seam, at);
    for (int32_t e = 0; e < w->count && k >= 0; e++) {
        int64_t to[3];
        if (!gsw_wraps_has(w, e) || gsw_wraps_step(w, at, e, 1, to) != GSW_AROUND)
            continue;
        const int32_t mirror = w->mirror[e];
        const double value = w->values[gsw_wraps_place(w, e, k)];
        s.size += fabs(value);
        s.total += value;
        for (int a = 0; a < 3; a++)
            s.axis[a] += w->offset[e][a] != 0 ? value : 0;
        const double other = mirror < 0 ? 0 : gsw_wraps_at(w, mirror, to);
        s.asymmetric |= !(fabs(value - other) <= 1e-7 * fabs(diagonal));
    }
    return s;
}

/* ---- where the coefficients come from, and go to ---- */

/* The user's matrix: stencil arrays in which they stand where they are used, or a CSR. Where it is
 * a CSR, its stencil is another one, with long offsets. */
typedef struct gsw_wraps_source {
    const void *values[GSW_STENCIL_MAX]; /* of arrays */
    gsw_csr csr;                         /* row_ptr == NULL: there is none */
    gsw_dtype type;
    gsw_array_steps steps;
} gsw_wraps_source;

static inline gsw_wraps_source gsw_wraps_source_of(const gsw_matrix *matrix) {
    gsw_wraps_source s;
    memset(&s, 0, sizeof s);
    s.type = gsw_matrix_value_type(matrix);
    s.steps = gsw_array_steps_of(matrix);
    if (gsw_matrix_kind_of(matrix) == GSW_KIND_CSR)
        s.csr = matrix->csr;
    else
        for (int32_t e = 0; e < matrix->stencil.count; e++)
            s.values[e] = matrix->array.values[e];
    return s;
}

/* The entry of a row of a CSR in a column; 0: it is not stored. */
GSW_HD double gsw_wraps_find(const gsw_csr *csr, int64_t row, int64_t column) {
    const int64_t begin = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
    const int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
    for (int64_t p = begin < 0 ? 0 : begin; p < end && p < csr->nonzeros; p++)
        if (gsw_index_at(csr->columns, csr->index_type, p) - csr->base == column)
            return gsw_value_at(csr->values, csr->value_type, p);
    return 0;
}

/* Reads row k of W. */
GSW_HD void gsw_wraps_take_row(const gsw_wraps *w, const gsw_wraps_source *from, int64_t k) {
    int64_t at[3];
    gsw_seam_point(&w->seam, k, at);
    const int64_t row = gsw_seam_grid_row(&w->seam, at);
    const int64_t place = at[0] + from->steps.y * at[1] + from->steps.z * at[2];
    for (int32_t e = 0; e < w->count; e++) {
        int64_t to[3];
        if (!gsw_wraps_has(w, e))
            continue;
        double value = 0;
        if (gsw_wraps_step(w, at, e, 1, to) == GSW_AROUND) {
            if (from->csr.row_ptr != NULL)
                value = gsw_wraps_find(&from->csr, row, gsw_seam_grid_row(&w->seam, to));
            else if (from->values[e] != NULL)
                value = gsw_value_at(from->values[e], from->type, place);
        }
        w->values[gsw_wraps_place(w, e, k)] = value;
    }
}

/* Arrays of all points in fp64 that take W in, where it is used, or give it back: then zeros stand
 * there. Arrays that are NULL stay out of it. */
typedef struct gsw_wraps_arrays {
    double *values[GSW_STENCIL_MAX];
} gsw_wraps_arrays;

GSW_HD void gsw_wraps_move_row(const gsw_wraps *w, const gsw_wraps_arrays *arrays, int back,
                               int64_t k) {
    int64_t at[3];
    gsw_seam_point(&w->seam, k, at);
    const int64_t row = gsw_seam_grid_row(&w->seam, at);
    for (int32_t e = 0; e < w->count; e++) {
        int64_t to[3];
        if (!gsw_wraps_has(w, e) || arrays->values[e] == NULL)
            continue;
        if (gsw_wraps_step(w, at, e, 1, to) != GSW_AROUND) {
            w->values[gsw_wraps_place(w, e, k)] = 0;
            continue;
        }
        double *in = &arrays->values[e][row], *own = &w->values[gsw_wraps_place(w, e, k)];
        if (back)
            *own = *in;
        *in = back ? 0 : *own;
    }
}

/* Where the point of a row goes when a grid is turned by `by` planes along its axes. */
GSW_HD int64_t gsw_turned_row(const int64_t n[3], const int64_t by[3], int64_t row) {
    const int64_t line = row / n[0];
    const int64_t at[3] = {(row % n[0] + by[0] + n[0]) % n[0], (line % n[1] + by[1] + n[1]) % n[1],
                           (line / n[1] + by[2] + n[2]) % n[2]};
    return at[0] + n[0] * (at[1] + n[1] * at[2]);
}

/* Leaves out what inactive points have to do with row k. */
GSW_HD void gsw_wraps_cut_row(const gsw_wraps *w, const uint8_t *active, int64_t k) {
    int64_t at[3], to[3];
    gsw_seam_point(&w->seam, k, at);
    const int64_t row = gsw_seam_grid_row(&w->seam, at);
    for (int32_t e = 0; e < w->count; e++)
        if (gsw_wraps_has(w, e) && gsw_wraps_step(w, at, e, 1, to) == GSW_AROUND &&
            (!active[row] || !active[gsw_seam_grid_row(&w->seam, to)]))
            w->values[gsw_wraps_place(w, e, k)] = 0;
}

#endif
