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
 * inactive, by 3e-3 or 3e-4 times the smaller coupling of the active rows nearest to both, and its
 * rows add up to 0. Interpolation depends on ratios, so its weights become the usual ones.
 * `nearest` holds the active row nearest to a point along x, else along y, else along z; itself
 * where the point is active; -1 where none is. (perf/DECISIONS.md, Inactive points) */
#ifndef GSW_MASK_H
#define GSW_MASK_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <gridsweep/matrix.h>
#include "common/host_device.h"
#include "common/pivot.h"

#define GSW_WEAK_COAST 3e-3 /* between an active and an inactive point */
#define GSW_WEAK_LAND  3e-4 /* between two inactive ones */

/* Smaller couplings of a row, relative to its largest one, are rounding errors. */
#define GSW_WEAK_TINY 1e-10

/* A matrix with a mask, as stencil arrays of all points. */
typedef struct gsw_mask_rows {
    int64_t n[3];
    int32_t periodic; /* the axes around which neighbours are found */
    const uint8_t *active;
    gsw_dtype type;
    int32_t count, center;
    int16_t offset[GSW_STENCIL_MAX][3];
    int64_t distance[GSW_STENCIL_MAX]; /* rows from a point to its neighbour, */
    int16_t reach[3];                  /* for points at least so far from all ends */
    int8_t axis[GSW_STENCIL_MAX];      /* of an offset of one point along one axis; else -1 */
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
    m.periodic = g->periodic;
    m.type = type;
    m.count = s->count;
    m.center = s->center;
    m.reach[0] = m.reach[1] = m.reach[2] = 0;
    for (int32_t e = 0; e < s->count; e++) {
        const gsw_offset o = s->offsets[e];
        const int32_t d[3] = {o.dx, o.dy, o.dz};
        m.axis[e] = -1;
        m.distance[e] = gsw_grid_row(g, o.dx, o.dy, o.dz);
        for (int32_t a = 0; a < 3; a++) {
            m.offset[e][a] = (int16_t)d[a];
            if (m.reach[a] < abs(d[a]))
                m.reach[a] = (int16_t)abs(d[a]);
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
    return m->type == GSW_F64 ? ((const double *)m->values[e])[row]
                              : (double)((const float *)m->values[e])[row];
}

typedef struct gsw_mask_point {
    int64_t row, at[3];
    int inner; /* all its neighbours are in the grid */
} gsw_mask_point;

GSW_HD gsw_mask_point gsw_mask_point_at(const gsw_mask_rows *m, int64_t row, int64_t x, int64_t y,
                                        int64_t z) {
    const gsw_mask_point p = {row,
                              {x, y, z},
                              x >= m->reach[0] && x < m->n[0] - m->reach[0] && y >= m->reach[1] &&
                                  y < m->n[1] - m->reach[1] && z >= m->reach[2] &&
                                  z < m->n[2] - m->reach[2]};
    return p;
}

GSW_HD gsw_mask_point gsw_mask_point_of(const gsw_mask_rows *m, int64_t row) {
    const int64_t line = row / m->n[0];
    return gsw_mask_point_at(m, row, row % m->n[0], line % m->n[1], line / m->n[1]);
}

/* The row at `sign` times offset e of a point; -1: it is outside the grid. */
GSW_HD int64_t gsw_mask_neighbour(const gsw_mask_rows *m, const gsw_mask_point *p, int32_t e,
                                  int32_t sign) {
    int64_t other = p->row, step = 1;
    if (p->inner)
        return other + sign * m->distance[e]; /* NOLINT: an int holds it */
    for (int32_t a = 0; a < 3; a++) {
        int64_t at = p->at[a] + sign * m->offset[e][a]; /* NOLINT: an int holds it */
        if (at < 0 || at >= m->n[a]) {
            if (!(m->periodic >> a & 1))
                return -1;
            at += at < 0 ? m->n[a] : -m->n[a];
        }
        other += step * (at - p->at[a]);
        step *= m->n[a];
    }
    return other;
}

/* The neighbour before or after a point along an axis; -1: it is outside the grid, or the stencil
 * does not have both. */
GSW_HD int64_t gsw_mask_beside(const gsw_mask_rows *m, const gsw_mask_point *p, int32_t axis,
                               int32_t side) {
    const int32_t e = m->beside[axis][side];
    return e < 0 ? -1 : gsw_mask_neighbour(m, p, e, 1);
}

/* The row in a frame, as in gsw_mask_cut_row(), of a row of a box of n points along each axis. */
GSW_HD int64_t gsw_mask_row_in_frame(const int64_t n[3], const int64_t e[3], const int64_t low[3],
                                     int64_t row) {
    const int64_t line = row / n[0];
    return row % n[0] + low[0] + e[0] * (line % n[1] + low[1] + e[1] * (line / n[1] + low[2]));
}

/* What a row is: 0 one of a system; 1 one without couplings; 2 one with a diagonal so large that it
 * determines its unknown nearly alone; 3 one of zeros; 4 one of an inactive point. The mask may be
 * NULL. */
GSW_HD int gsw_mask_kind(const gsw_mask_rows *m, int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    double couplings = 0, diagonal = 0;
    if (m->active != NULL && !m->active[row])
        return 4;
    for (int32_t e = 0; e < m->count; e++) {
        const int64_t other = m->values[e] == NULL ? -1 : gsw_mask_neighbour(m, &p, e, 1);
        if (other < 0 || (m->active != NULL && !m->active[other]))
            continue;
        const double value = fabs(gsw_mask_get(m, e, row));
        if (e == m->center)
            diagonal = value;
        else
            couplings += value;
    }
    if (couplings == 0 && diagonal == 0)
        return 3;
    return !gsw_row_is_fixed(diagonal, couplings + diagonal) ? 0 : couplings == 0 ? 1 : 2;
}

/* Where couplings of a matrix go in one of neighbours alone. */
typedef struct gsw_mask_near {
    int32_t count, center;
    int16_t entry[GSW_STENCIL_MAX]; /* of an offset of the matrix; -1: it reaches farther */
    int16_t beside[3][2];           /* the neighbours along the axes; -1: there is none */
    double *values[GSW_STENCIL_MAX];
} gsw_mask_near;

static inline gsw_mask_near gsw_mask_near_of(const gsw_matrix *matrix, const gsw_stencil *near,
                                             double *const *arrays) {
    gsw_mask_near n;
    n.count = near->count;
    n.center = near->center;
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        n.entry[e] = (int16_t)gsw_stencil_find(near, matrix->stencil.offsets[e]);
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int32_t d = 2 * side - 1;
            const gsw_offset o = {a == 0 ? d : 0, a == 1 ? d : 0, a == 2 ? d : 0};
            n.beside[a][side] = (int16_t)gsw_stencil_find(near, o);
        }
    for (int32_t e = 0; e < near->count; e++)
        n.values[e] = arrays[e];
    return n;
}

/* Writes a row with neighbours alone. Couplings that reach farther count by their moments along the
 * axes. Where a neighbour is outside the grid, its part stays on the diagonal, so that the row
 * keeps its sum; where it is inactive, x is 0 there, and its part counts as none. An inactive row
 * is that of the identity. */
GSW_HD void gsw_mask_shorten_row(const gsw_mask_rows *m, const gsw_mask_near *n, int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    const int active = m->active == NULL || m->active[row];
    int stands[3][2] = {
        {0, 0}, {0, 0}, {0, 0}}; /* 1: there is such a neighbour; 2: an active one */
    double moment[3][2] = {{0, 0}, {0, 0}, {0, 0}}, diagonal = active ? 0 : 1;
    for (int32_t e = 0; e < n->count; e++)
        n->values[e][row] = 0;
    for (int32_t e = 0; e < m->count && active; e++) {
        const int64_t other = gsw_mask_neighbour(m, &p, e, 1);
        const double value = other < 0 || m->values[e] == NULL ? 0 : gsw_mask_get(m, e, row);
        const int there = other < 0 ? 0 : m->active == NULL || m->active[other] ? 2 : 1;
        for (int32_t a = 0; a < 3; a++)
            for (int32_t side = 0; side < 2; side++)
                if (n->entry[e] >= 0 && n->entry[e] == n->beside[a][side])
                    stands[a][side] = there;
        if (n->entry[e] >= 0) {
            n->values[n->entry[e]][row] += there == 2 ? value : 0;
            continue;
        }
        diagonal += value;
        for (int32_t a = 0; a < 3; a++) {
            moment[a][0] += value * m->offset[e][a];
            moment[a][1] += value * m->offset[e][a] * m->offset[e][a];
        }
    }
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const double part = 0.5 * (moment[a][1] + (2 * side - 1) * moment[a][0]);
            if (part == 0 || n->beside[a][side] < 0 || stands[a][side] == 0)
                continue;
            if (stands[a][side] == 2)
                n->values[n->beside[a][side]][row] += part;
            diagonal -= part;
        }
    n->values[n->center][row] += diagonal;
}

/* Cuts an inactive point out. */
GSW_HD void gsw_mask_cut_point(const gsw_mask_rows *m, int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    for (int32_t e = 0; e < m->count; e++) {
        if (m->values[e] == NULL)
            continue;
        gsw_mask_put(m, e, row, e == m->center);
        const int64_t other = e == m->center ? -1 : gsw_mask_neighbour(m, &p, e, -1);
        if (other >= 0 && m->active[other])
            gsw_mask_put(m, e, other, 0);
    }
}

/* Cuts a row of a box out, or its couplings to inactive points and out of the grid. The mask has
 * `e` points along each axis, and begins `low` points before the box: other processes have these
 * (contract/box_ops.h). */
GSW_HD void gsw_mask_cut_row(const gsw_mask_rows *m, const int64_t e[3], const int64_t low[3],
                             int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    const int64_t x = p.at[0] + low[0], y = p.at[1] + low[1], z = p.at[2] + low[2];
    const int active = m->active[x + e[0] * (y + e[1] * z)];
    for (int32_t k = 0; k < m->count; k++) {
        const int64_t i = x + m->offset[k][0], j = y + m->offset[k][1], l = z + m->offset[k][2];
        const int inside = i >= 0 && i < e[0] && j >= 0 && j < e[1] && l >= 0 && l < e[2];
        if (m->values[k] == NULL)
            continue;
        if (!active)
            gsw_mask_put(m, k, row, k == m->center);
        else if (!inside || !m->active[i + e[0] * (j + e[1] * l)])
            gsw_mask_put(m, k, row, 0);
    }
}

/* Whether cutting an inactive point out would change nothing but the scale of its row. */
GSW_HD int gsw_mask_is_cut(const gsw_mask_rows *m, int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    for (int32_t e = 0; e < m->count; e++) {
        if (m->values[e] == NULL || e == m->center)
            continue;
        const int64_t other = gsw_mask_neighbour(m, &p, e, -1);
        if ((gsw_mask_neighbour(m, &p, e, 1) >= 0 && gsw_mask_get(m, e, row) != 0) ||
            (other >= 0 && gsw_mask_get(m, e, other) != 0))
            return 0;
    }
    return m->values[m->center] != NULL && !gsw_pivot_is_bad(gsw_mask_get(m, m->center, row), 1);
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

/* What an active row counts as its couplings along the axes, with the sign of its diagonal: the
 * smaller one along each; else the smallest along another one; else the largest of all. */
typedef struct gsw_mask_couplings {
    int64_t row;
    double along[3];
} gsw_mask_couplings;

/* The sum of an active row, with the sign of its diagonal; 0 where it is the other, or nothing but
 * rounding. */
GSW_HD double gsw_mask_sum(const gsw_mask_rows *m, int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    double sum = 0, size = 0;
    for (int32_t e = 0; e < m->count; e++) {
        const int64_t other = gsw_mask_neighbour(m, &p, e, 1);
        const double value = other >= 0 && !m->active[other] ? 0 : gsw_mask_get(m, e, row);
        sum += value;
        size += fabs(value);
    }
    const int counts = sum * gsw_mask_get(m, m->center, row) > 0 && !gsw_row_sum_is_zero(sum, size);
    return counts ? sum : 0;
}

GSW_HD gsw_mask_couplings gsw_mask_couplings_of(const gsw_mask_rows *m, int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    const double diagonal = gsw_mask_get(m, m->center, row);
    gsw_mask_couplings c = {row, {0, 0, 0}};
    double largest = 0, least = 0;
    for (int32_t e = 0; e < m->count; e++) {
        const int64_t other = gsw_mask_neighbour(m, &p, e, 1);
        if (e == m->center || (other >= 0 && !m->active[other]))
            continue;
        const double size = fabs(gsw_mask_get(m, e, row));
        const int32_t a = m->axis[e]; /* NOLINT: it may be -1 */
        if (size > largest)
            largest = size;
        if (a >= 0 && size > 0 && (c.along[a] == 0 || size < c.along[a]))
            c.along[a] = size;
    }
    for (int32_t a = 0; a < 3; a++)
        if (c.along[a] > GSW_WEAK_TINY * largest && (least == 0 || c.along[a] < least))
            least = c.along[a];
    if (least == 0)
        least = largest > 0 ? largest : fabs(diagonal) / 6;
    for (int32_t a = 0; a < 3; a++) {
        if (!(c.along[a] > GSW_WEAK_TINY * largest))
            c.along[a] = least;
        if (diagonal < 0)
            c.along[a] = -c.along[a];
    }
    return c;
}

/* The weak coupling of two points from those of the active rows nearest to them: the same from both
 * sides, also where the signs differ. `coast`: one of the points is active. */
GSW_HD double gsw_mask_weaker(double a, double b, int coast) {
    const double least = fabs(a) < fabs(b) || (fabs(a) == fabs(b) && a < b) ? a : b;
    return (coast ? GSW_WEAK_COAST : GSW_WEAK_LAND) * least;
}

/* Finds the couplings of a row, unless they are in *found. */
GSW_HD void gsw_mask_find(const gsw_mask_rows *m, int64_t row, gsw_mask_couplings *found) {
    if (found->row != row)
        *found = gsw_mask_couplings_of(m, row);
}

/* Couples an inactive point to its neighbours, in both rows; its diagonal holds its share of the
 * row sum until the couplings are added. *own, *sum and beside[step * k] keep what has been found
 * for the point and its neighbour k: points that follow each other often have the same nearest
 * rows. At first their rows are -1. */
GSW_HD void gsw_mask_extend_point(const gsw_mask_rows *m, const int64_t *nearest, int64_t row,
                                  gsw_mask_couplings *own, double *sum, gsw_mask_couplings *beside,
                                  int64_t step) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    if (nearest[row] < 0)
        return;
    if (own->row != nearest[row])
        *sum = gsw_mask_sum(m, nearest[row]);
    gsw_mask_find(m, nearest[row], own);
    gsw_mask_put(m, m->center, row, GSW_WEAK_COAST * *sum);
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int64_t other = gsw_mask_beside(m, &p, a, side);
            if (other < 0)
                continue;
            gsw_mask_couplings *of = own;
            if (nearest[other] != nearest[row]) {
                of = beside + step * (2 * a + side);
                gsw_mask_find(m, nearest[other], of);
            }
            const double w = gsw_mask_weaker(own->along[a], of->along[a], m->active[other]);
            gsw_mask_put(m, m->beside[a][side], row, -w);
            if (m->active[other])
                gsw_mask_put(m, m->beside[a][!side], other, -w);
        }
}

/* The diagonal of a row: plus its weak couplings. */
GSW_HD void gsw_mask_add_weak(const gsw_mask_rows *m, int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    double sum = gsw_mask_get(m, m->center, row);
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int64_t other = gsw_mask_beside(m, &p, a, side);
            if (other >= 0 && !(m->active[row] && m->active[other]))
                sum -= gsw_mask_get(m, m->beside[a][side], row);
        }
    if (m->active[row] || sum != 0)
        gsw_mask_put(m, m->center, row, sum);
}

/* The first inactive point beside an active row along the axes. */
GSW_HD int64_t gsw_mask_first_inactive(const gsw_mask_rows *m, int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int64_t other = gsw_mask_beside(m, &p, a, side);
            if (other >= 0 && !m->active[other])
                return other;
        }
    return -1;
}

/* After all points have been coupled: the diagonals of an inactive point, and of the active ones
 * whose first inactive neighbour it is. */
GSW_HD void gsw_mask_end_point(const gsw_mask_rows *m, int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    gsw_mask_add_weak(m, row);
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int64_t other = gsw_mask_beside(m, &p, a, side);
            if (other >= 0 && m->active[other] && gsw_mask_first_inactive(m, other) == row)
                gsw_mask_add_weak(m, other);
        }
}

/* Of a point: the couplings along the axes of the active row nearest to it; 0: there is none. */
GSW_HD void gsw_mask_put_couplings(const gsw_mask_rows *m, const int64_t *nearest, int64_t row,
                                   double *const along[3]) {
    gsw_mask_couplings c = {row, {0, 0, 0}};
    if (nearest[row] >= 0)
        c = gsw_mask_couplings_of(m, nearest[row]);
    for (int32_t a = 0; a < 3; a++)
        along[a][row] = c.along[a];
}

/* Couples a point of a box weakly to its neighbours in other boxes, in its own row. The mask and
 * `along` are those of the frame, as in gsw_mask_cut_row(). */
GSW_HD void gsw_mask_extend_faces(const gsw_mask_rows *m, const int64_t e[3], const int64_t low[3],
                                  const double *const along[3], int64_t row) {
    const gsw_mask_point p = gsw_mask_point_of(m, row);
    const int64_t step[3] = {1, e[0], e[0] * e[1]};
    const int64_t own = gsw_mask_row_in_frame(m->n, e, low, row);
    for (int32_t a = 0; a < 3; a++)
        for (int32_t side = 0; side < 2; side++) {
            const int64_t d = side == 0 ? -1 : 1, at = p.at[a] + d, other = own + step[a] * d;
            const int32_t entry = m->beside[a][side];
            if ((at >= 0 && at < m->n[a]) || at + low[a] < 0 || at + low[a] >= e[a] || entry < 0)
                continue;
            const int coast = m->active[own] || m->active[other];
            const double w = gsw_mask_weaker(along[a][own], along[a][other], coast);
            if (w == 0 || (m->active[own] && m->active[other]))
                continue;
            gsw_mask_put(m, entry, row, -w);
            gsw_mask_put(m, m->center, row, gsw_mask_get(m, m->center, row) + w);
        }
}

/* BASINS: the parts of the active points between which a stencil couples nothing. A forest joins
 * them (Tarjan, J. ACM 22, 1975): the root of a basin is its first row. */

/* Whether the pattern of a stencil has two sides, so that one of them joins all. */
static inline int32_t gsw_mask_joining(const gsw_mask_rows *m, const gsw_stencil *s) {
    for (int32_t e = 0; e < s->count; e++) {
        const gsw_offset o = s->offsets[e];
        if (gsw_stencil_find(s, (gsw_offset){-o.dx, -o.dy, -o.dz}) < 0)
            return m->count;
    }
    return m->center;
}

/* The row that offset e joins to an active point; -1: none, or both are joined by way of the points
 * before them. */
GSW_HD int64_t gsw_mask_joined(const gsw_mask_rows *m, const gsw_mask_point *p, int32_t e) {
    const int64_t other = gsw_mask_neighbour(m, p, e, 1);
    if (e == m->center || other < 0 || !m->active[other])
        return -1;
    if (e != m->beside[0][0] && m->beside[0][0] >= 0 && p->at[0] > 0 && m->active[p->row - 1]) {
        const gsw_mask_point before =
            gsw_mask_point_at(m, p->row - 1, p->at[0] - 1, p->at[1], p->at[2]);
        if (gsw_mask_neighbour(m, &before, e, 1) == other - 1 && m->active[other - 1])
            return -1;
    }
    return other;
}

/* Turns the roots of all points into the numbers of the basins, in the order of their first points,
 * and into -1 in the basin of root `but`. Returns how many have numbers. */
static inline int64_t gsw_mask_number_basins(int64_t *root, int64_t points, int64_t but) {
    int64_t count = 0;
    for (int64_t row = 0; row < points; row++)
        if (root[row] == row)
            root[row] = row == but ? -1 : count++;
        else if (root[row] >= 0) /* the root comes before, and has its number */
            root[row] = root[root[row]];
    return count;
}

/* The sum of a row without values outside the grid, and its diagonal. */
GSW_HD void gsw_mask_sum_row(const gsw_mask_rows *m, int64_t row, double *sum, double *diagonal) {
    *sum = 0;
    for (int32_t e = 0; e < m->count; e++)
        *sum += gsw_mask_get(m, e, row);
    *diagonal = gsw_mask_get(m, m->center, row);
}

#endif
