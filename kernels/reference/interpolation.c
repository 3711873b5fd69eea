/* interpolation.c: interpolation and triple product point by point, from their definitions. It
 * shares no table with the kernels, which are compared with it. */
#include <math.h>
#include <string.h>
#include "geometry/multigrid.h"
#include "reference/reference.h"
#include "reference/rows.h"

typedef struct point {
    int64_t at[3];
} point;

static point point_of(const gsw_grid *g, int64_t row) {
    return (point){{row % g->nx, row / g->nx % g->ny, row / g->nx / g->ny}};
}

static int inside(const gsw_grid *g, const point *p) {
    return p->at[0] >= 0 && p->at[0] < g->nx && p->at[1] >= 0 && p->at[1] < g->ny &&
           p->at[2] >= 0 && p->at[2] < g->nz;
}

static point moved(const point *p, const int d[3]) {
    return (point){{p->at[0] + d[0], p->at[1] + d[1], p->at[2] + d[2]}};
}

/* Entry e of row p, 0 where row or column lies outside the grid. */
static double entry(const gsw_matrix *m, int32_t e, const point *p) {
    const gsw_offset o = m->stencil.offsets[e];
    const point to = moved(p, (const int[3]){o.dx, o.dy, o.dz});
    double value = 0;
    if (inside(&m->grid, p) && inside(&m->grid, &to))
        (void)gsw_reference_stored(m, gsw_grid_row(&m->grid, p->at[0], p->at[1], p->at[2]), e,
                                   &value);
    return value;
}

/* Adds c at offset o to a[27]: c at its direction; for each +-2 also 3 c at +-1 on that axis, and
 * -3 c at 0. */
static void add_lumped(const int o[3], double c, double a[27]) {
    int at = 13;
    for (int axis = 0, stride = 1; axis < 3; axis++, stride *= 3) {
        const int sign = o[axis] > 0 ? 1 : o[axis] < 0 ? -1 : 0;
        at += sign * stride;
        if (o[axis] != sign) {
            a[13 + sign * stride] += 3 * c;
            a[13] -= 3 * c;
        }
    }
    a[at] += c;
}

/* Whether a row has no entry except its diagonal. */
static int isolated(const gsw_matrix *m, const point *p) {
    for (int32_t e = 0; e < m->stencil.count; e++)
        if (e != m->stencil.center && entry(m, e, p) != 0)
            return 0;
    return 1;
}

static void lumped_row(const gsw_matrix *m, const point *p, gsw_rows rows, double a[27]) {
    const int symmetric_part = rows != GSW_ROWS_OF_MATRIX;
    memset(a, 0, 27 * sizeof *a);
    for (int32_t e = 0; e < m->stencil.count; e++) {
        const gsw_offset offset = m->stencil.offsets[e];
        const int o[3] = {offset.dx, offset.dy, offset.dz};
        const int back[3] = {-o[0], -o[1], -o[2]};
        const point from = moved(p, back);
        const point to = moved(p, o);
        const int cut = rows == GSW_ROWS_OF_SYMMETRIC_PART_CUT && e != m->stencil.center;
        if (!cut || !isolated(m, &to))
            add_lumped(o, (symmetric_part ? 0.5 : 1) * entry(m, e, p), a);
        if (symmetric_part && (!cut || !isolated(m, p)))
            add_lumped(back, 0.5 * entry(m, e, &from), a);
    }
}

static void row_of(const gsw_matrix *m, const point *p, gsw_reference_lumping lumping,
                   double a[27]) {
    double own[27], other[27], sum = 0;
    lumped_row(m, p, lumping.rows, own);
    memcpy(a, own, sizeof own);
    if (!lumping.symmetric || lumping.rows != GSW_ROWS_OF_MATRIX)
        return;
    for (int i = 0; i < 27; i++) {
        const int o[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
        const point there = moved(p, o);
        lumped_row(m, &there, GSW_ROWS_OF_MATRIX, other);
        a[i] = 0.5 * (own[i] + other[26 - i]);
        sum += own[i] - (i != 13 ? a[i] : 0);
    }
    a[13] = sum;
}

static int odd_axes(const point *p, int axes) {
    int odd = 0;
    for (int axis = 0; axis < 3; axis++)
        odd |= (axes >> axis & 1 ? (int)(p->at[axis] & 1) : 0) << axis;
    return odd;
}

static void add_neighbour(const gsw_grid *g, const point *p, const int o[3], int axes, double c,
                          const double *all, double own[8]) {
    const point to = moved(p, o);
    if (!inside(g, &to))
        return;
    const double *theirs = all + 8 * gsw_grid_row(g, to.at[0], to.at[1], to.at[2]);
    for (int d = 0; d < 8; d++) {
        int subset = 0;
        for (int axis = 0; axis < 3; axis++) {
            const int mine = axes >> axis & 1 ? (int)(p->at[axis] / 2) : 0;
            const int other = axes >> axis & 1 ? (int)(to.at[axis] / 2) : 0;
            subset |= (other + (d >> axis & 1) - mine) << axis;
        }
        if (theirs[d] != 0)
            own[subset] += c * theirs[d];
    }
}

static int mean_of_neighbours(const gsw_grid *g, const point *p, int odd, double own[8]) {
    int count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < 8; d++) {
            int o[3];
            for (int axis = 0; axis < 3; axis++)
                o[axis] = odd >> axis & 1 ? 2 * (d >> axis & 1) - 1 : 0;
            const point to = moved(p, o);
            if ((d & ~odd) || !inside(g, &to))
                continue;
            if (pass == 0)
                count++;
            else
                own[d] = 1.0 / count;
        }
    return 1;
}

/* Weights of one point that is odd along `odd`. Returns 1 where it is degenerate. */
static int weigh(const gsw_matrix *m, const point *p, int axes, int odd,
                 gsw_reference_lumping lumping, double *all) {
    double a[27], c[27] = {0},
                  *own = all + 8 * gsw_grid_row(&m->grid, p->at[0], p->at[1], p->at[2]);
    row_of(m, p, lumping, a);
    double total = 0, eps = 1;
    const double d = a[13], sign = d < 0 ? -1 : 1;
    for (int i = 0; i < 27; i++) {
        const int o[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
        c[13 + (odd & 1 ? o[0] : 0) + 3 * (odd & 2 ? o[1] : 0) + 9 * (odd & 4 ? o[2] : 0)] += a[i];
        total += a[i];
    }
    for (int axis = 0; axis < 3; axis++)
        for (int side = -1; side <= 1 && (odd >> axis & 1); side += 2) {
            double sum = 0;
            for (int i = 0; i < 27; i++) {
                const int o[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
                sum += o[axis] == side ? a[i] : 0;
            }
            if (fabs(sum) < eps * fabs(d))
                eps = fabs(sum) / fabs(d);
        }
    double divisor = 0;
    for (int i = 0; i < 27; i++)
        divisor -= i != 13 ? c[i] : 0;
    if (sign * d > (1 + eps) * sign * (d - total))
        divisor += total;
    if (!(sign * divisor > 1e-14 * fabs(d)))
        return mean_of_neighbours(&m->grid, p, odd, own);
    for (int i = 0; i < 27; i++) {
        const int o[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
        if (i != 13 && c[i] != 0)
            add_neighbour(&m->grid, p, o, axes, -c[i] / divisor, all, own);
    }
    return 0;
}

int64_t gsw_reference_interpolation(const gsw_matrix *matrix, int axes,
                                    gsw_reference_lumping lumping, double *p) {
    const gsw_grid *g = &matrix->grid;
    const int64_t n = g->nx * g->ny * g->nz;
    int64_t degenerate = 0;
    memset(p, 0, (size_t)(8 * n) * sizeof *p);
    for (int size = 0; size <= 3; size++)
        for (int64_t row = 0; row < n; row++) {
            const point at = point_of(g, row);
            const int odd = odd_axes(&at, axes);
            if (gsw_class_size(odd) != size)
                continue;
            if (size == 0)
                p[8 * row] = 1;
            else
                degenerate += weigh(matrix, &at, axes, odd, lumping, p);
        }
    return degenerate;
}

/* Lists the coarse points that a fine point interpolates from. Returns their number. */
static int coarse_points(const gsw_grid *coarse, const point *fine, int axes, const double *weights,
                         point points[8], double values[8]) {
    int count = 0;
    for (int d = 0; d < 8; d++) {
        point to;
        for (int axis = 0; axis < 3; axis++)
            to.at[axis] =
                (axes >> axis & 1 ? fine->at[axis] / 2 : fine->at[axis]) + (d >> axis & 1);
        if (weights[d] == 0 || !inside(coarse, &to))
            continue;
        points[count] = to;
        values[count++] = weights[d];
    }
    return count;
}

/* Adds a coupling of the coarse grid. */
static void add_coupling(const gsw_grid *g, const gsw_stencil *stencil, double *const *coarse,
                         const point *row, const point *column, double value) {
    const gsw_offset o = {(int32_t)(column->at[0] - row->at[0]),
                          (int32_t)(column->at[1] - row->at[1]),
                          (int32_t)(column->at[2] - row->at[2])};
    const int32_t e = gsw_stencil_find(stencil, o);
    if (e >= 0 && coarse[e])
        coarse[e][gsw_grid_row(g, row->at[0], row->at[1], row->at[2])] += value;
}

void gsw_reference_triple(const gsw_matrix *matrix, int axes, gsw_reference_lumping lumping,
                          const double *p, const double *r, const gsw_stencil *stencil,
                          double *const *coarse) {
    const gsw_grid *g = &matrix->grid;
    const gsw_grid c = gsw_coarse_grid(g, axes);
    const int64_t n = g->nx * g->ny * g->nz, m = c.nx * c.ny * c.nz;
    for (int32_t e = 0; e < stencil->count; e++)
        if (coarse[e])
            memset(coarse[e], 0, (size_t)m * sizeof *coarse[e]);
    for (int64_t row = 0; row < n; row++) {
        const point at = point_of(g, row);
        double a[27], left[8], right[8];
        point to[8], from[8];
        const int lefts = coarse_points(&c, &at, axes, r + 8 * row, to, left);
        row_of(matrix, &at, lumping, a);
        for (int i = 0; i < 27; i++) {
            const int o[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
            const point there = moved(&at, o);
            if (a[i] == 0 || !inside(g, &there))
                continue;
            const int64_t column = gsw_grid_row(g, there.at[0], there.at[1], there.at[2]);
            const int rights = coarse_points(&c, &there, axes, p + 8 * column, from, right);
            for (int j = 0; j < lefts; j++)
                for (int k = 0; k < rights; k++)
                    add_coupling(&c, stencil, coarse, &to[j], &from[k], left[j] * a[i] * right[k]);
        }
    }
}
