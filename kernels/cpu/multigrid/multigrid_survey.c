/* multigrid_survey.c: properties of a level's matrix, and copies of it, with SIMD over blocks of a
 * line and OpenMP over lines. One thread computes each result, in an order that does not depend on
 * the number of threads. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "common/pivot.h"
#include "common/wraps.h"
#include "multigrid_blocks.h"
#include "multigrid_kernels.h"

enum { PARTS = 64 /* sums and extremes that are computed separately, on the stack */ };

/* ---- Properties of a matrix ------------------------------------------------------------------ */

/* Sums and extremes over some lines. */
typedef struct tally {
    double coupling[3][LANES];
    double row_ratio[LANES], largest[LANES], least[LANES];
    double off_diagonal[LANES], same_sign[LANES], strongest[LANES];
    int64_t negative, fixed, bad_row;
    int symmetric, zero_sums, constants, isolated, bad;
} tally;

/* Rows next to each other on a line, so many that the loops over them take most of the time. */
enum { SPAN = 8 * LANES };

typedef struct span {
    int64_t x, y, z, count;
} span;

/* Entry e of the rows, zero where the neighbour is outside the grid. Returns 0 where all are. */
static int fetch_span(const gsw_matrix *matrix, int32_t e, const span *rows, double to[SPAN]) {
    const gsw_grid *g = &matrix->grid;
    const gsw_offset o = matrix->stencil.offsets[e];
    const void *array = matrix->array.values[e];
    const int64_t x = rows->x, y = rows->y, z = rows->z, at = gsw_grid_row(g, x, y, z);
    if (array == NULL || y < 0 || y >= g->ny || z < 0 || z >= g->nz || y + o.dy < 0 ||
        y + o.dy >= g->ny || z + o.dz < 0 || z + o.dz >= g->nz)
        return 0;
    const int64_t before = x < 0 && o.dx >= 0 ? -x : x + o.dx < 0 ? -(x + o.dx) : 0;
    const int64_t inside = g->nx - x - (o.dx > 0 ? o.dx : 0);
    const int64_t last = inside < rows->count ? inside : rows->count;
    const int64_t first = before < last ? before : last;
    if (first >= last)
        return 0;
    for (int64_t l = 0; l < first; l++)
        to[l] = 0;
    if (matrix->array.value_type == GSW_F64)
        for (int64_t l = first; l < last; l++)
            to[l] = ((const double *)array)[at + l];
    else
        for (int64_t l = first; l < last; l++)
            to[l] = ((const float *)array)[at + l];
    for (int64_t l = last; l < rows->count; l++)
        to[l] = 0;
    return 1;
}

/* Compares entry e with its mirror image: entry `mirror` of the neighbouring rows (-1: zeros). */
static void compare_mirror(const gsw_matrix *matrix, int32_t e, int32_t mirror, const span *rows,
                           const double value[SPAN], const double diagonal[SPAN], tally *sums) {
    const gsw_offset o = matrix->stencil.offsets[e];
    const span there = {rows->x + o.dx, rows->y + o.dy, rows->z + o.dz, rows->count};
    double other[SPAN];
    int differ = 0;
    if (mirror < 0 || !fetch_span(matrix, mirror, &there, other))
        for (int64_t l = 0; l < rows->count; l++)
            other[l] = 0;
#pragma omp simd reduction(| : differ)
    for (int64_t l = 0; l < rows->count; l++)
        differ |= fabs(value[l] - other[l]) > 1e-7 * fabs(diagonal[l]);
    if (differ)
        sums->symmetric = 0;
}

/* What the entries of rows add up to. */
typedef struct row_sums {
    double diagonal[SPAN], size[SPAN], total[SPAN], axis[3][SPAN];
} row_sums;

static inline void add_span(const double value[SPAN], int64_t count, double to[SPAN]) {
    for (int64_t l = 0; l < count; l++)
        to[l] += value[l];
}

static void sum_rows(const gsw_matrix *matrix, const int32_t *mirror, const span *rows, row_sums *r,
                     tally *sums) {
    const int32_t center = matrix->stencil.center;
    const int64_t all = (rows->count + LANES - 1) / LANES * LANES;
    memset(r->size, 0, (size_t)all * sizeof *r->size);
    memset(r->total, 0, (size_t)all * sizeof *r->total);
    for (int axis = 0; axis < 3; axis++)
        memset(r->axis[axis], 0, (size_t)all * sizeof *r->axis[axis]);
    if (!fetch_span(matrix, center, rows, r->diagonal))
        memset(r->diagonal, 0, (size_t)all * sizeof *r->diagonal);
    for (int64_t l = rows->count; l < all; l++)
        r->diagonal[l] = DBL_MAX; /* these rows do not count */
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        double value[SPAN];
        if (!fetch_span(matrix, e, rows, value))
            continue;
        for (int64_t l = 0; l < rows->count; l++)
            r->size[l] += fabs(value[l]);
        add_span(value, rows->count, r->total);
        if (o.dx != 0)
            add_span(value, rows->count, r->axis[0]);
        if (o.dy != 0)
            add_span(value, rows->count, r->axis[1]);
        if (o.dz != 0)
            add_span(value, rows->count, r->axis[2]);
        /* It is enough to compare one entry of each pair, and each entry without a mirror image. */
        if (sums->symmetric && (e > center || mirror[e] < 0))
            compare_mirror(matrix, e, mirror[e], rows, value, r->diagonal, sums);
    }
}

/* Adds the rows of one block, from `from` on, of which `count` are in the grid. */
static void tally_block(const row_sums *r, int64_t from, int64_t count, tally *sums) {
    const double *diagonal = r->diagonal + from, *size = r->size + from, *total = r->total + from;
    int bad = 0, unbalanced = 0, varies = 0, isolated = 0;
#pragma omp simd reduction(| : bad, unbalanced, varies, isolated)
    for (int l = 0; l < LANES; l++) {
        const double d = fabs(diagonal[l]), ratio = size[l] / d;
        bad |= !(d > 0) | !(d <= DBL_MAX);
        isolated |= size[l] == d;
        varies |= !gsw_row_sum_is_zero(total[l], size[l]);
        unbalanced |= !(fabs(total[l]) <= 1e-12 * size[l]);
        sums->row_ratio[l] = ratio > sums->row_ratio[l] ? ratio : sums->row_ratio[l];
        sums->largest[l] = size[l] > sums->largest[l] ? size[l] : sums->largest[l];
        sums->least[l] = d < sums->least[l] ? d : sums->least[l];
    }
    double strongest[LANES] = {0};
    for (int axis = 0; axis < 3; axis++) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            const double share = -r->axis[axis][from + l] / diagonal[l];
            sums->coupling[axis][l] += share > 0 ? share : 0;
            strongest[l] = share > strongest[l] ? share : strongest[l];
        }
    }
    for (int l = 0; l < LANES; l++)
        sums->strongest[l] += strongest[l];
    /* For couplings with sum t and sum of absolute values s, the sum of the positive ones is (s +
     * t) / 2. */
    for (int l = 0; l < LANES; l++) {
        const double d = fabs(diagonal[l]), own = l < count ? 1 : 0;
        const double off = size[l] / d - own, sum = total[l] / diagonal[l] - own;
        const double same = (off + sum) / 2;
        sums->off_diagonal[l] += off > 0 && d > 0 ? off : 0;
        sums->same_sign[l] += same > 1e-14 * off && d > 0 ? same : 0;
        sums->negative += diagonal[l] < 0;
        sums->fixed += l < count && gsw_row_is_fixed(d, size[l]);
    }
    sums->zero_sums &= !unbalanced;
    sums->constants &= !varies;
    sums->isolated |= isolated;
    sums->bad |= bad;
}

/* Adds the couplings around a periodic grid. */
static void add_around(const gsw_wraps *wraps, const span *rows, row_sums *r, tally *sums) {
    for (int64_t l = 0; l < rows->count; l++) {
        const int64_t at[3] = {rows->x + l, rows->y, rows->z};
        if (gsw_seam_row(&wraps->seam, at) < 0)
            continue;
        const gsw_wraps_sums around = gsw_wraps_add_up(wraps, at, r->diagonal[l]);
        r->size[l] += around.size;
        r->total[l] += around.total;
        for (int axis = 0; axis < 3; axis++)
            r->axis[axis][l] += around.axis[axis];
        sums->symmetric &= !around.asymmetric;
    }
}

static void tally_span(const gsw_matrix *matrix, const gsw_wraps *wraps, const int32_t *mirror,
                       const span *rows, tally *sums) {
    row_sums r;
    sum_rows(matrix, mirror, rows, &r, sums);
    if (wraps)
        add_around(wraps, rows, &r, sums);
    for (int64_t from = 0; from < rows->count; from += LANES)
        tally_block(&r, from, rows->count - from, sums);
    for (int64_t l = 0; sums->bad && l < rows->count && sums->bad_row < 0; l++)
        if (!(fabs(r.diagonal[l]) > 0 && fabs(r.diagonal[l]) <= DBL_MAX))
            sums->bad_row = gsw_grid_row(&matrix->grid, rows->x + l, rows->y, rows->z);
}

void GSW_ISA_FN(gsw_multigrid_survey)(int threads, const gsw_matrix *matrix, const gsw_frame *own,
                                      const gsw_wraps *wraps, int mirrored, gsw_survey *result) {
    const int64_t *n = own->n, *low = own->low;
    int32_t mirror[GSW_STENCIL_MAX];
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        mirror[e] = mirrored ? gsw_matrix_mirror(matrix, e) : e;
    const int64_t lines = n[1] * n[2], length = (lines + PARTS - 1) / PARTS;
    tally part[PARTS];
#pragma omp parallel for schedule(static) num_threads(threads) if (n[0] * lines > SERIAL_LIMIT)
    for (int64_t p = 0; p < PARTS; p++) {
        tally sums = {.bad_row = -1, .symmetric = mirrored, .zero_sums = 1, .constants = 1};
        for (int l = 0; l < LANES; l++)
            sums.least[l] = DBL_MAX;
        for (int64_t line = p * length; line < (p + 1) * length && line < lines; line++) {
            const int64_t y = low[1] + line % n[1], z = low[2] + line / n[1];
            for (int64_t x = 0; x < n[0]; x += SPAN) {
                const int64_t count = n[0] - x < SPAN ? n[0] - x : SPAN;
                tally_span(matrix, wraps, mirror, &(span){low[0] + x, y, z, count}, &sums);
            }
        }
        part[p] = sums;
    }
    *result = (gsw_survey){
        .least = DBL_MAX, .bad_row = -1, .symmetric = 1, .zero_sums = 1, .constants = 1};
    for (int p = 0; p < PARTS; p++) {
        for (int axis = 0; axis < 3; axis++)
            for (int l = 0; l < LANES; l++)
                result->coupling[axis] += part[p].coupling[axis][l];
        for (int l = 0; l < LANES; l++) {
            result->row_ratio = fmax(result->row_ratio, part[p].row_ratio[l]);
            result->largest = fmax(result->largest, part[p].largest[l]);
            result->least = fmin(result->least, part[p].least[l]);
            result->off_diagonal += part[p].off_diagonal[l];
            result->same_sign += part[p].same_sign[l];
            result->strongest += part[p].strongest[l];
        }
        result->negative += part[p].negative;
        result->fixed += part[p].fixed;
        if (result->bad_row < 0)
            result->bad_row = part[p].bad_row;
        result->symmetric &= part[p].symmetric || !mirrored;
        result->zero_sums &= part[p].zero_sums;
        result->constants &= part[p].constants;
        result->isolated |= part[p].isolated;
    }
    for (int axis = 0; axis < 3; axis++)
        result->coupling[axis] /= (double)(n[0] * lines);
    result->off_diagonal /= (double)(n[0] * lines);
    result->same_sign /= (double)(n[0] * lines);
    result->strongest /= (double)(n[0] * lines);
}
