/* mask.h: rows beside inactive points, once for host and device: what is cut out of a matrix, and
 * the weak extension that coarse grids are made from.
 *
 * All work begins at an inactive point, and each value has one writer, so that points can be taken
 * in any order. What is written belongs to the inactive point's row or couples an active row to it;
 * what is read couples active rows. The active neighbour's diagonal is the work of the first
 * inactive point beside it.
 *
 * THE WEAK EXTENSION. Without it a coarse point that is inactive takes the coarse neighbour from
 * the active points beside it. Where no flux crosses the coast, nothing else carries their smooth
 * error: multigrid took 3 to 30 times the iterations of the full box. So the hierarchy, and it
 * alone, is built from A + W: W couples neighbours along the axes, at least one of which is
 * inactive, by GSW_WEAK times the smaller coupling of the active rows nearest to both, and its rows
 * add up to 0. Interpolation depends on ratios, so its weights become the usual ones. `nearest`
 * holds the active row nearest to a point along x, else along y, else along z; itself where the
 * point is active; -1 where none is. (perf/DECISIONS.md, Inactive points) */
#ifndef GSW_MASK_H
#define GSW_MASK_H

#include <math.h>
#include <stddef.h>
#include <gridsweep/matrix.h>
#include "common/host_device.h"

#define GSW_WEAK 1e-3

/* Smaller couplings of a row, relative to its largest one, are rounding errors. */
#define GSW_WEAK_TINY 1e-10

/* A matrix with a mask, as stencil arrays of all points. */
typedef struct gsw_mask_rows {
    int64_t n[3];
    const uint8_t *active;
    gsw_dtype type;
    int32_t count, center;
    int16_t offset[GSW_STENCIL_MAX][3];
    int8_t axis[GSW_STENCIL_MAX]; /* of an offset of one point along one axis; else -1 */
    int32_t beside[3][2]; /* the entries of the neighbours before and after; -1: not both exist */
    void *values[GSW_STENCIL_MAX];
} gsw_mask_rows;

static inline gsw_mask_rows gsw_mask_rows_of(const gsw_matrix *matrix, gsw_dtype type,
                                             void *const *arrays) {
    const gsw_grid *g = &matrix->grid;
    const gsw_stencil *s = &matrix->stencil;
    const int64_t extent[3] = {g->nx, g->ny, g->nz};
    gsw_mask_rows m;
    m.active = matrix->active;
    m.type = type;
    m.count = s->count;
    m.center = s->center;
    for (int32_t e = 0; e < s->count; e++) {
        const gsw_offset o = s->offsets[e];
        const int32_t d[3] = {o.dx, o.dy, o.dz};
        m.axis[e] = -1;
        for (int32_t a = 0; a < 3; a++) {
            m.offset[e][a] = (int16_t)d[a];
            if (d[a] != 0 && d[0] * d[0] + d[1] * d[1] + d[2] * d[2] == 1)
                m.axis[e] = (int8_t)a;
        }
        m.values[e] = arrays[e];
    }
    for (int32_t a = 0; a < 3; a++) {
        m.n[a] = extent[a];
        gsw_offset after = {a == 0, a == 1, a == 2}, before = {-(a == 0), -(a == 1), -(a == 2)};
        m.beside[a][0] = gsw_stencil_find(s, before);
        m.beside[a][1] = gsw_stencil_find(s, after);
        if (m.beside[a][0] < 0 || m.beside[a][1] < 0)
            m.beside[a][0] = m.beside[a][1] = -1;
    }
    return m;
}

GSW_HD void gsw_mask_put(const gsw_mask_rows *m, int32_t e, int64_t row, double value) {
    if (m->type == GSW_F64)
        ((double *)m->values[e])[row] = value;
    else
        ((float *)m->values[e])[row] = (float)value;
}

GSW_HD double gsw_mask_get(const gsw_mask_rows *m, int32_t e, int64_t row) {
    return ((const double *)m->values[e])[row];
}

/* The row at `sign` times offset e of a row; -1: it is outside the grid. */
GSW_HD int64_t gsw_mask_neighbour(const gsw_mask_rows *m, int64_t row, int32_t e, int32_t sign) {
    int64_t rest = row, other = row, step = sign;
    for (int32_t a = 0; a < 3; a++) {
        const int64_t at = rest % m->n[a] + sign * m->offset[e][a];
        if (at < 0 || at >= m->n[a])
            return -1;
        other += step * m->offset[e][a];
        step *= m->n[a];
        rest /= m->n[a];
    }
    return other;
}

/* Cuts an inactive point out. */
GSW_HD void gsw_mask_cut_point(const gsw_mask_rows *m, int64_t row) {
    for (int32_t e = 0; e < m->count; e++) {
        if (m->values[e] == NULL)
            continue;
        gsw_mask_put(m, e, row, e == m->center);
        const int64_t other = e == m->center ? -1 : gsw_mask_neighbour(m, row, e, -1);
        if (other >= 0 && m->active[other])
            gsw_mask_put(m, e, other, 0);
    }
}

/* Fills the gaps, where `nearest` is -1, of `count` points that are `step` apart: each from the
 * nearer end. */
GSW_HD void gsw_mask_fill_gaps(int64_t *nearest, int64_t step, int64_t count) {
    int64_t before = -1;
    for (int64_t at = 0; at <= count; at++) {
        if (at < count && nearest[at * step] < 0)
            continue;
        for (int64_t gap = before + 1; gap < at; gap++) {
            const int low = at == count || (before >= 0 && gap - before <= at - gap);
            const int64_t from = low ? before : at;
            if (from >= 0)
                nearest[gap * step] = nearest[from * step];
        }
        before = at;
    }
}

/* What active row `row` counts as a coupling along an axis, with the sign of its diagonal: the
 * smaller one along that axis; else the smallest along another one; else the largest of all. */
GSW_HD double gsw_mask_coupling(const gsw_mask_rows *m, int64_t row, int32_t axis) {
    const double diagonal = gsw_mask_get(m, m->center, row);
    double least[3] = {0, 0, 0}, largest = 0, found = 0;
    for (int32_t e = 0; e < m->count; e++) {
        const int64_t other = e == m->center ? -1 : gsw_mask_neighbour(m, row, e, 1);
        if (other < 0 || !m->active[other])
            continue;
        const double size = fabs(gsw_mask_get(m, e, row));
        const int32_t a = m->axis[e];
        if (size > largest)
            largest = size;
        if (a >= 0 && size > 0 && (least[a] == 0 || size < least[a]))
            least[a] = size;
    }
    for (int32_t a = 0; a < 3; a++)
        if (least[a] > GSW_WEAK_TINY * largest && (found == 0 || least[a] < found))
            found = least[a];
    if (least[axis] > GSW_WEAK_TINY * largest)
        found = least[axis];
    if (found == 0)
        found = largest > 0 ? largest : fabs(diagonal) / 6;
    return diagonal < 0 ? -found : found;
}

/* The weak coupling of two points along an axis. */
GSW_HD double gsw_mask_weak(const gsw_mask_rows *m, const int64_t *nearest, int32_t axis,
                            int64_t row, int64_t other) {
    const double a = gsw_mask_coupling(m, nearest[row], axis);
    const double b =
        nearest[row] == nearest[other] ? a : gsw_mask_coupling(m, nearest[other], axis);
    return GSW_WEAK * (fabs(a) <= fabs(b) ? a : b);
}

/* Couples an inactive point to its neighbours, in both rows. */
GSW_HD void gsw_mask_extend_point(const gsw_mask_rows *m, const int64_t *nearest, int64_t row) {
    for (int32_t a = 0; a < 3 && nearest[row] >= 0; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int32_t e = m->beside[a][side], back = m->beside[a][!side];
            const int64_t other = e < 0 ? -1 : gsw_mask_neighbour(m, row, e, 1);
            if (other < 0)
                continue;
            /* from the lower one to the higher one, so that both rows have the same bits */
            const double w = side == 0 ? gsw_mask_weak(m, nearest, a, other, row)
                                       : gsw_mask_weak(m, nearest, a, row, other);
            gsw_mask_put(m, e, row, -w);
            if (m->active[other])
                gsw_mask_put(m, back, other, -w);
        }
}

/* The diagonal of a row: plus its weak couplings. */
GSW_HD void gsw_mask_add_weak(const gsw_mask_rows *m, int64_t row) {
    double sum = m->active[row] ? gsw_mask_get(m, m->center, row) : 0;
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int32_t e = m->beside[a][side];
            const int64_t other = e < 0 ? -1 : gsw_mask_neighbour(m, row, e, 1);
            if (other >= 0 && !(m->active[row] && m->active[other]))
                sum -= gsw_mask_get(m, e, row);
        }
    if (m->active[row] || sum != 0)
        gsw_mask_put(m, m->center, row, sum);
}

/* The first inactive point beside an active row along the axes. */
GSW_HD int64_t gsw_mask_first_inactive(const gsw_mask_rows *m, int64_t row) {
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int32_t e = m->beside[a][side];
            const int64_t other = e < 0 ? -1 : gsw_mask_neighbour(m, row, e, 1);
            if (other >= 0 && !m->active[other])
                return other;
        }
    return -1;
}

/* After all points have been coupled: the diagonals of an inactive point, and of the active ones
 * whose first inactive neighbour it is. */
GSW_HD void gsw_mask_end_point(const gsw_mask_rows *m, int64_t row) {
    gsw_mask_add_weak(m, row);
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int32_t e = m->beside[a][side];
            const int64_t other = e < 0 ? -1 : gsw_mask_neighbour(m, row, e, 1);
            if (other >= 0 && m->active[other] && gsw_mask_first_inactive(m, other) == row)
                gsw_mask_add_weak(m, other);
        }
}

#endif
