/* multigrid_survey.c: properties of a level's matrix, and copies of it, with SIMD over blocks of a
 * line and OpenMP over lines. One thread computes each result, in an order that does not depend on
 * the number of threads. */
#include <float.h>
#include <math.h>
#include "cpu/multigrid_blocks.h"
#include "cpu/multigrid_kernels.h"

enum { PARTS = 64 /* sums and extremes that are computed separately, on the stack */ };

/* ---- Properties of a matrix ------------------------------------------------------------------ */

/* Sums and extremes over some lines. */
typedef struct tally {
    double coupling[3][LANES];
    double row_ratio[LANES], largest[LANES], least[LANES];
    double off_diagonal[LANES], same_sign[LANES];
    int64_t negative, bad_row;
    int symmetric, zero_sums, isolated;
} tally;

/* Compares entry e with its mirror image: entry `mirror` of the neighbouring rows (-1: zeros). */
static void compare_mirror(const gsw_matrix *matrix, int32_t e, int32_t mirror,
                           const fine_block *block, const double value[LANES],
                           const double diagonal[LANES], tally *sums) {
    const gsw_offset o = matrix->stencil.offsets[e];
    const fine_block there = {block->x + o.dx, block->y + o.dy, block->z + o.dz, 1, 0};
    double other[LANES];
    if (mirror < 0 || !fetch_entry(matrix, mirror, &there, other))
        clear_lanes(other);
    int differ = 0;
#pragma omp simd reduction(| : differ)
    for (int l = 0; l < LANES; l++)
        differ |= fabs(value[l] - other[l]) > 1e-7 * fabs(diagonal[l]);
    if (differ)
        sums->symmetric = 0;
}

static inline void add_lanes(const double value[LANES], double to[LANES]) {
    for (int l = 0; l < LANES; l++)
        to[l] += value[l];
}

/* Adds the first `left` rows of a block. */
static void tally_block(const gsw_matrix *matrix, const int32_t *mirror, const fine_block *block,
                        int64_t left, tally *sums) {
    const int32_t center = matrix->stencil.center;
    const int64_t count = left < LANES ? left : LANES;
    double diagonal[LANES], size[LANES], total[LANES], axis_sum[3][LANES];
    clear_lanes(size);
    clear_lanes(total);
    for (int axis = 0; axis < 3; axis++)
        clear_lanes(axis_sum[axis]);
    if (!fetch_entry(matrix, center, block, diagonal))
        clear_lanes(diagonal);
    for (int64_t l = count; l < LANES; l++)
        diagonal[l] = DBL_MAX; /* these rows do not count */
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        double value[LANES];
        if (!fetch_entry(matrix, e, block, value))
            continue;
        for (int l = 0; l < LANES; l++)
            size[l] += fabs(value[l]);
        add_lanes(value, total);
        if (o.dx != 0)
            add_lanes(value, axis_sum[0]);
        if (o.dy != 0)
            add_lanes(value, axis_sum[1]);
        if (o.dz != 0)
            add_lanes(value, axis_sum[2]);
        /* It is enough to compare one entry of each pair, and each entry without a mirror image. */
        if (sums->symmetric && (e > center || mirror[e] < 0))
            compare_mirror(matrix, e, mirror[e], block, value, diagonal, sums);
    }
    for (int64_t l = count; l < LANES; l++)
        size[l] = total[l] = 0;
    int bad = 0, unbalanced = 0, isolated = 0;
#pragma omp simd reduction(| : bad, unbalanced, isolated)
    for (int l = 0; l < LANES; l++) {
        const double d = fabs(diagonal[l]), ratio = size[l] / d;
        bad |= !(d > 0) | !(d <= DBL_MAX);
        isolated |= size[l] == d;
        unbalanced |= !(fabs(total[l]) <= 1e-12 * size[l]);
        sums->row_ratio[l] = ratio > sums->row_ratio[l] ? ratio : sums->row_ratio[l];
        sums->largest[l] = size[l] > sums->largest[l] ? size[l] : sums->largest[l];
        sums->least[l] = d < sums->least[l] ? d : sums->least[l];
    }
    for (int axis = 0; axis < 3; axis++) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            const double share = -axis_sum[axis][l] / diagonal[l];
            sums->coupling[axis][l] += share > 0 ? share : 0;
        }
    }
    /* For couplings with sum t and sum of absolute values s, the sum of the positive ones is (s +
     * t) / 2. */
    for (int l = 0; l < LANES; l++) {
        const double d = fabs(diagonal[l]), own = l < count ? 1 : 0;
        const double off = size[l] / d - own, sum = total[l] / diagonal[l] - own;
        const double same = (off + sum) / 2;
        sums->off_diagonal[l] += off > 0 && d > 0 ? off : 0;
        sums->same_sign[l] += same > 1e-14 * off && d > 0 ? same : 0;
        sums->negative += diagonal[l] < 0;
    }
    if (unbalanced)
        sums->zero_sums = 0;
    if (isolated)
        sums->isolated = 1;
    for (int64_t l = 0; bad && l < count && sums->bad_row < 0; l++)
        if (!(fabs(diagonal[l]) > 0 && fabs(diagonal[l]) <= DBL_MAX))
            sums->bad_row = gsw_grid_row(&matrix->grid, block->x + l, block->y, block->z);
}

void GSW_ISA_FN(gsw_multigrid_survey)(int threads, const gsw_matrix *matrix, const gsw_frame *own,
                                      int mirrored, gsw_survey *result) {
    const int64_t *n = own->n, *low = own->low;
    int32_t mirror[GSW_STENCIL_MAX];
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        mirror[e] = mirrored ? gsw_matrix_mirror(matrix, e) : e;
    const int64_t lines = n[1] * n[2], length = (lines + PARTS - 1) / PARTS;
    tally part[PARTS];
#pragma omp parallel for schedule(static) num_threads(threads) if (n[0] * lines > SERIAL_LIMIT)
    for (int64_t p = 0; p < PARTS; p++) {
        tally sums = {.bad_row = -1, .symmetric = mirrored, .zero_sums = 1};
        for (int l = 0; l < LANES; l++)
            sums.least[l] = DBL_MAX;
        for (int64_t line = p * length; line < (p + 1) * length && line < lines; line++) {
            const int64_t y = low[1] + line % n[1], z = low[2] + line / n[1];
            for (int64_t x = 0; x < n[0]; x += LANES)
                tally_block(matrix, mirror, &(fine_block){low[0] + x, y, z, 1, 0}, n[0] - x, &sums);
        }
        part[p] = sums;
    }
    *result = (gsw_survey){.least = DBL_MAX, .bad_row = -1, .symmetric = 1, .zero_sums = 1};
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
        }
        result->negative += part[p].negative;
        if (result->bad_row < 0)
            result->bad_row = part[p].bad_row;
        result->symmetric &= part[p].symmetric || !mirrored;
        result->zero_sums &= part[p].zero_sums;
        result->isolated |= part[p].isolated;
    }
    for (int axis = 0; axis < 3; axis++)
        result->coupling[axis] /= (double)(n[0] * lines);
    result->off_diagonal /= (double)(n[0] * lines);
    result->same_sign /= (double)(n[0] * lines);
}

/* Copies stencil arrays line by line, with zeros where a coupling leaves the grid. */
void GSW_ISA_FN(gsw_multigrid_copy)(int threads, const gsw_matrix *matrix, gsw_dtype type,
                                    void *const *arrays) {
    const gsw_grid *g = &matrix->grid;
    const int64_t lines = g->ny * g->nz;
#pragma omp parallel for schedule(static) num_threads(threads) if (g->nx * lines > SERIAL_LIMIT)
    for (int64_t line = 0; line < lines; line++)
        for (int32_t e = 0; e < matrix->stencil.count; e++)
            for (int64_t x = 0; arrays[e] && x < g->nx; x += LANES) {
                const int64_t count = g->nx - x < LANES ? g->nx - x : LANES;
                double value[LANES];
                if (!fetch_entry(matrix, e, &(fine_block){x, line % g->ny, line / g->ny, 1, 0},
                                 value))
                    clear_lanes(value);
                store_lanes(arrays[e], type, line * g->nx + x, count, value);
            }
}
