/* multigrid_matrices.h: matrices that are hard for multigrid, on the host. */
#ifndef GSW_TESTS_MULTIGRID_MATRICES_H
#define GSW_TESTS_MULTIGRID_MATRICES_H

#include <math.h>

#include "reference/reference.h"
#include "context_fixture.h"

static inline void hard_place(const gsw_grid *g, int64_t row, int64_t at[3]) {
    at[0] = row % g->nx;
    at[1] = row / g->nx % g->ny;
    at[2] = row / g->nx / g->ny;
}

/* The neighbour of a row at an offset, or -1 where it lies outside the grid. */
static inline int64_t hard_neighbour(const gsw_grid *g, int64_t row, gsw_offset o) {
    return gsw_reference_neighbour(g, row, o, 1);
}

/* Uniform in [0, 1), from a hash of three indices (the finaliser of SplitMix64). */
static inline double hard_random(uint64_t seed, int64_t x, int64_t y, int64_t z) {
    const uint64_t words[4] = {seed, (uint64_t)x, (uint64_t)y, (uint64_t)z};
    uint64_t h = 0;
    for (int i = 0; i < 4; i++) {
        h += words[i] + UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
        h ^= h >> 31;
    }
    return (double)(h >> 11) * 0x1p-53;
}

/* A 5- or 7-point matrix of zeros. */
static inline oracle_matrix *hard_zeros(const gsw_grid *grid) {
    oracle_matrix *m = keep_matrix_of(grid, oracle_stencil_named(grid->nz == 1 ? "D2N5" : "D3N7"),
                                      1, ORACLE_POSITIVE);
    for (int32_t e = 0; e < m->view.stencil.count; e++)
        oracle_fill(GSW_F64, m->arrays[e], oracle_points(grid), 0);
    return m;
}

/* ---- Flow through cells -----------------------------------------------------------------------
 */

/* Conductivity of a cell along an axis. */
typedef double (*hard_conductivity)(const int64_t at[3], int axis);

/* The surroundings of the cells: nothing; a face of fixed pressure, a cell's width away; nothing,
 * with a well in the most conductive cell. */
typedef enum hard_boundary { HARD_NEUMANN, HARD_DIRICHLET, HARD_WELL } hard_boundary;

/* Two-point fluxes with harmonic means. */
static inline oracle_matrix *hard_flow(const gsw_grid *grid, hard_conductivity conductivity,
                                       hard_boundary boundary) {
    oracle_matrix *m = hard_zeros(grid);
    const gsw_stencil *s = &m->view.stencil;
    double *diagonal = m->arrays[s->center], best = 0;
    int64_t well = 0;
    for (int64_t row = 0; row < oracle_points(grid); row++)
        for (int32_t e = 0; e < s->count; e++) {
            const gsw_offset o = s->offsets[e];
            const int axis = o.dx != 0 ? 0 : o.dy != 0 ? 1 : 2;
            const int64_t there = hard_neighbour(grid, row, o);
            int64_t at[3], to[3];
            hard_place(grid, row, at);
            if (e == s->center)
                continue;
            const double k = conductivity(at, axis);
            if (k > best) {
                best = k;
                well = row;
            }
            if (there < 0) {
                diagonal[row] += boundary == HARD_DIRICHLET ? k : 0;
                continue;
            }
            hard_place(grid, there, to);
            const double other = conductivity(to, axis), mean = 2 * k * other / (k + other);
            ((double *)m->arrays[e])[row] = -mean;
            diagonal[row] += mean;
        }
    if (boundary == HARD_WELL)
        diagonal[well] += best;
    return m;
}

/* Blocks of 16^3 cells. Each block conducts a thousand times better along one axis. */
static inline double hard_blocks(const int64_t at[3], int axis) {
    const int strong = (int)(3 * hard_random(1, at[0] / 16, at[1] / 16, at[2] / 16));
    return axis == strong ? 1e3 : 1;
}

static inline double hard_iid_1e3(const int64_t at[3], int axis) {
    (void)axis;
    return pow(1e3, hard_random(2, at[0], at[1], at[2]));
}

static inline double hard_iid_1e6(const int64_t at[3], int axis) {
    (void)axis;
    return pow(1e6, hard_random(2, at[0], at[1], at[2]));
}

static inline double hard_checkerboard(const int64_t at[3], int axis) {
    (void)axis;
    return (at[0] / 5 + at[1] / 5 + at[2] / 5) % 2 ? 1e4 : 1;
}

/* ---- Convection -------------------------------------------------------------------------------
 */

/* Diffusion 1, and first-order upwind convection with this much wind per cell. */
typedef void (*hard_wind)(const double at[3], double wind[3]);

static inline oracle_matrix *hard_convection(const gsw_grid *grid, hard_wind blow, double peclet) {
    oracle_matrix *m = hard_zeros(grid);
    const gsw_stencil *s = &m->view.stencil;
    double *diagonal = m->arrays[s->center];
    for (int64_t row = 0; row < oracle_points(grid); row++) {
        int64_t at[3];
        hard_place(grid, row, at);
        for (int32_t e = 0; e < s->count; e++) {
            const gsw_offset o = s->offsets[e];
            if (e == s->center)
                continue;
            /* the wind on the face between the two cells */
            const double face[3] = {((double)at[0] + 0.5 + 0.5 * o.dx) / (double)grid->nx,
                                    ((double)at[1] + 0.5 + 0.5 * o.dy) / (double)grid->ny,
                                    ((double)at[2] + 0.5 + 0.5 * o.dz) / (double)grid->nz};
            double wind[3];
            blow(face, wind);
            const double out = wind[0] * o.dx + wind[1] * o.dy + wind[2] * o.dz;
            const double inflow = out < 0 ? -peclet * out : 0;
            diagonal[row] += 1 + inflow;
            if (hard_neighbour(grid, row, o) >= 0)
                ((double *)m->arrays[e])[row] = -1 - inflow;
        }
    }
    return m;
}

/* A rotation in planes of constant z. */
static inline void hard_recirculating(const double at[3], double wind[3]) {
    const double pi = 3.14159265358979323846;
    wind[0] = sin(pi * at[0]) * cos(pi * at[1]);
    wind[1] = -cos(pi * at[0]) * sin(pi * at[1]);
    wind[2] = 0;
}

/* ---- Changes of a matrix ----------------------------------------------------------------------
 */

static inline double *hard_diagonal(oracle_matrix *m) {
    return m->arrays[m->view.stencil.center];
}

/* Multiplies each coupling a_ij by left(i) right(j). */
static inline void hard_scale(oracle_matrix *m, double (*left)(int64_t), double (*right)(int64_t)) {
    const gsw_grid *g = &m->view.grid;
    for (int32_t e = 0; e < m->view.stencil.count; e++)
        for (int64_t row = 0; row < oracle_points(g); row++) {
            const int64_t there = hard_neighbour(g, row, m->view.stencil.offsets[e]);
            if (there >= 0)
                ((double *)m->arrays[e])[row] *= left(row) * right(there);
        }
}

static inline double hard_one(int64_t i) {
    (void)i;
    return 1;
}

static inline double hard_minus_one(int64_t i) {
    (void)i;
    return -1;
}

static inline double hard_large(int64_t i) {
    (void)i;
    return 1e90;
}

static inline double hard_ten_to_one(int64_t i) {
    return pow(10, 2 * hard_random(3, i, 0, 0) - 1);
}

static inline double hard_eight_decades(int64_t i) {
    return pow(10, 16 * hard_random(3, i, 0, 0) - 8);
}

static inline double hard_alternating(int64_t i) {
    return i % 2 ? 1 : -1; /* on grids of odd extents: the checkerboard's signs */
}

static inline void hard_negate(oracle_matrix *m) {
    hard_scale(m, hard_minus_one, hard_one);
}

static inline void hard_enlarge(oracle_matrix *m) {
    hard_scale(m, hard_large, hard_one);
}

static inline void hard_scale_rows(oracle_matrix *m) {
    hard_scale(m, hard_ten_to_one, hard_one);
}

static inline void hard_scale_both(oracle_matrix *m) {
    hard_scale(m, hard_eight_decades, hard_eight_decades);
}

static inline void hard_change_signs(oracle_matrix *m) {
    hard_scale(m, hard_alternating, hard_alternating);
}

/* Exchanges the couplings at opposite offsets of a matrix of constants: the wind reverses. */
static inline void hard_turn_wind(oracle_matrix *m) {
    const gsw_stencil *s = &m->view.stencil;
    const gsw_grid *g = &m->view.grid;
    const int64_t n = oracle_points(g), middle = gsw_grid_row(g, g->nx / 2, g->ny / 2, g->nz / 2);
    for (int32_t e = 0; e < s->center; e++) {
        double *up = m->arrays[e], *down = m->arrays[s->count - 1 - e];
        const double there = up[middle], back = down[middle];
        for (int64_t row = 0; row < n; row++) {
            up[row] = hard_neighbour(g, row, s->offsets[e]) < 0 ? 0 : back;
            down[row] = hard_neighbour(g, row, s->offsets[s->count - 1 - e]) < 0 ? 0 : there;
        }
    }
}

/* Rows add up to 0: the boundary is closed. */
static inline void hard_close(oracle_matrix *m) {
    const gsw_stencil *s = &m->view.stencil;
    for (int64_t row = 0; row < oracle_points(&m->view.grid); row++) {
        double sum = 0;
        for (int32_t e = 0; e < s->count; e++)
            if (e != s->center && hard_neighbour(&m->view.grid, row, s->offsets[e]) >= 0)
                sum += ((double *)m->arrays[e])[row];
        hard_diagonal(m)[row] = -sum;
    }
}

/* The same, with numbers rounded to fp32: sums vanish to seven digits only. */
static inline void hard_close_roughly(oracle_matrix *m) {
    hard_close(m);
    for (int32_t e = 0; e < m->view.stencil.count; e++)
        for (int64_t row = 0; row < oracle_points(&m->view.grid); row++) {
            double *values = m->arrays[e];
            values[row] = (float)values[row];
        }
}

static inline void hard_indefinite(oracle_matrix *m) {
    for (int64_t row = 0; row < oracle_points(&m->view.grid); row++)
        hard_diagonal(m)[row] -= 0.05;
}

/* ---- Places ---- */

typedef int (*hard_place_fn)(const gsw_grid *grid, const int64_t at[3]);

static inline int hard_ball(const gsw_grid *g, const int64_t at[3]) {
    double distance = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double n = (double)(axis == 0 ? g->nx : axis == 1 ? g->ny : g->nz);
        const double d = n > 1 ? ((double)at[axis] - 0.45 * n) / n : 0;
        distance += d * d;
    }
    return distance < 0.06;
}

static inline int hard_bars(const gsw_grid *g, const int64_t at[3]) {
    (void)g;
    return at[0] % 7 == 3 && at[1] % 9 > 3;
}

static inline int hard_tenth(const gsw_grid *g, const int64_t at[3]) {
    (void)g;
    return hard_random(9, at[0], at[1], at[2]) < 0.1;
}

/* Enough places that they enclose others. */
static inline int hard_half(const gsw_grid *g, const int64_t at[3]) {
    return hard_random(9, at[0], at[1], at[2]) < (g->nz > 1 ? 0.45 : 0.35);
}

/* Rows of these places keep their diagonal only, which becomes `value`: conditions x_i = b_i.
 * `columns`: the unknowns are removed from the other equations, too. */
static inline void hard_fix(oracle_matrix *m, hard_place_fn place, double value, int columns) {
    const gsw_grid *g = &m->view.grid;
    const gsw_stencil *s = &m->view.stencil;
    for (int64_t row = 0; row < oracle_points(g); row++)
        for (int32_t e = 0; e < s->count; e++) {
            const int64_t there = hard_neighbour(g, row, s->offsets[e]);
            int64_t at[3], to[3];
            double *values = m->arrays[e];
            if (there < 0)
                continue;
            hard_place(g, row, at);
            hard_place(g, there, to);
            if (place(g, at))
                values[row] = e == s->center ? value : 0;
            else if (e != s->center && columns && place(g, to))
                values[row] = 0;
        }
}

#define HARD_FIX(name, place, value, columns)                                                      \
    static inline void name(oracle_matrix *m) {                                                    \
        hard_fix(m, place, value, columns);                                                        \
    }
HARD_FIX(hard_fix_ball, hard_ball, 1, 1)
HARD_FIX(hard_fix_bars, hard_bars, 1e-6, 1)
HARD_FIX(hard_fix_tenth, hard_tenth, 1e6, 1)
HARD_FIX(hard_rows_ball, hard_ball, 1e-6, 0)
HARD_FIX(hard_rows_bars, hard_bars, 1, 0)
HARD_FIX(hard_rows_tenth, hard_tenth, 1e6, 0)

/* Obstacles: no flow enters them, and their rows are x_i = b_i. The boundary is closed, so that the
 * matrix is singular. Cells that only obstacles enclose are obstacles, too. */
static inline void hard_obstruct(oracle_matrix *m, hard_place_fn place) {
    hard_fix(m, place, 1, 1);
    hard_close(m);
    for (int64_t row = 0; row < oracle_points(&m->view.grid); row++)
        if (hard_diagonal(m)[row] == 0)
            hard_diagonal(m)[row] = 1;
}

static inline void hard_obstruct_ball(oracle_matrix *m) {
    hard_obstruct(m, hard_ball);
}

static inline void hard_obstruct_bars(oracle_matrix *m) {
    hard_obstruct(m, hard_bars);
}

static inline void hard_obstruct_half(oracle_matrix *m) {
    hard_obstruct(m, hard_half);
}

static inline double hard_inactive(const int64_t at[3], int axis) {
    (void)axis;
    return at[0] > 9 && at[0] < 21 && at[1] > 5 && at[2] > 12 ? 1e-20 : 1;
}

static inline double hard_leaky(const int64_t at[3], int axis) {
    (void)axis;
    return hard_random(9, at[0], at[1], at[2]) < 0.3 ? 1e-12 : 1;
}

/* A copy of a model problem's matrix. */
static inline oracle_matrix *hard_problem(const char *text) {
    const gsw_matrix *from = keep_problem(text);
    oracle_matrix *m = keep_matrix_of(&from->grid, &from->stencil, 1, ORACLE_POSITIVE);
    for (int32_t e = 0; e < from->stencil.count; e++)
        memcpy(m->arrays[e], from->array.values[e],
               (size_t)oracle_points(&from->grid) * sizeof(double));
    return m;
}

/* x' M y = y' M x, and M is positive. */
static inline void check_symmetric(const char *what, int64_t n, const double *x, const double *mx,
                                   const double *y, const double *my, double tolerance) {
    double xmy = 0, ymx = 0, xmx = 0, ymy = 0;
    for (int64_t k = 0; k < n; k++) {
        xmy += x[k] * my[k];
        ymx += y[k] * mx[k];
        xmx += x[k] * mx[k];
        ymy += y[k] * my[k];
    }
    ck_assert_msg(xmx > 0 && ymy > 0, "%s: x'Mx is %g, y'My %g", what, xmx, ymy);
    ck_assert_msg(fabs(xmy - ymx) <= tolerance * sqrt(xmx * ymy), "%s: x'My is %.16g, y'Mx %.16g",
                  what, xmy, ymx);
}

#endif
