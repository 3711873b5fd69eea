/* multigrid_cases.h: matrices that are hard for multigrid, and solves with it, for contexts of any
 * backend. Matrices are built on the host; a solve uploads them. */
#ifndef GSW_TESTS_MULTIGRID_CASES_H
#define GSW_TESTS_MULTIGRID_CASES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>

#include "cpu/reference/reference.h"
#include "oracle.h"

static inline double *hard_doubles(int64_t n) {
    double *v = calloc((size_t)n + 1, sizeof *v);
    ck_assert_ptr_nonnull(v);
    return v;
}

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
    oracle_matrix *m = oracle_random(grid, oracle_stencil_named(grid->nz == 1 ? "D2N5" : "D3N7"), 1,
                                     ORACLE_POSITIVE);
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

/* ---- Solves -----------------------------------------------------------------------------------
 */

typedef struct hard_case {
    const char *what;
    const char *problem; /* NAME:NXxNYxNZ; without a name: the grid of the members below */
    hard_conductivity conductivity;
    hard_boundary boundary;
    hard_wind wind;
    double peclet;
    void (*change)(oracle_matrix *m);
    gsw_method method;
    gsw_multigrid_options options;
    int product; /* b is A x for a random x; else 1 */
    int closed;  /* constants are in the null space, and the options state that */
    int most;    /* iterations to a true residual of 1e-8 */
    /* The expected end otherwise. */
    gsw_status status; /* BREAKDOWN: that, or any other end except success */
    int fallbacks;     /* at least so many levels */
} hard_case;

#define SMOOTHER(which)                                                                            \
    { .smoother = GSW_SMOOTHER_##which }
#define FP32                                                                                       \
    { .cycle_type = GSW_F32 }

/* `most` is the measured number, plus less than a tenth of it. So a method that gets worse by a
 * tenth fails. */
static const hard_case hard_cases[] = {
    /* media */
    {"blocks of anisotropy, GS", "48x48x48", hard_blocks, HARD_DIRICHLET, .most = 161},
    {"blocks of anisotropy, ILU(0)", "48x48x48", hard_blocks, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0), .most = 18},
    {"blocks of anisotropy, ILU(0) on top", "48x48x48", hard_blocks, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0_FINEST), .most = 24},
    {"blocks of anisotropy, a well, ILU(0)", "64x64x64", hard_blocks, HARD_WELL,
     .options = {.size = sizeof(gsw_multigrid_options),
                 .smoother = GSW_SMOOTHER_ILU0,
                 .coarsest_points = 200},
     .product = 1, .fallbacks = 1, .most = 17},
    {"iid 1e3, GS", "32x32x32", hard_iid_1e3, HARD_DIRICHLET, .most = 23},
    {"iid 1e3, GS, fp32", "32x32x32", hard_iid_1e3, HARD_DIRICHLET, .options = FP32, .most = 23},
    {"iid 1e3, ILU(0)", "32x32x32", hard_iid_1e3, HARD_DIRICHLET, .options = SMOOTHER(ILU0),
     .most = 12},
    {"iid 1e3, ILU(0) on top", "32x32x32", hard_iid_1e3, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0_FINEST), .most = 13},
    {"iid 1e6, GS", "32x32x32", hard_iid_1e6, HARD_DIRICHLET, .most = 72},
    {"iid 1e6, ILU(0)", "48x48x48", hard_iid_1e6, HARD_DIRICHLET, .options = SMOOTHER(ILU0),
     .fallbacks = 1, .most = 49},
    {"iid 1e6, ILU(0) on top", "32x32x32", hard_iid_1e6, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0_FINEST), .most = 38},
    {"checkerboard, GS", "40x40x40", hard_checkerboard, HARD_DIRICHLET,
     .options = {.smoother = GSW_SMOOTHER_GS}, .most = 43},
    {"checkerboard, auto", "40x40x40", hard_checkerboard, HARD_DIRICHLET, .most = 47},
    {"checkerboard, ILU(0)", "40x40x40", hard_checkerboard, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0), .most = 8},
    {"checkerboard, ILU(0) on top", "40x40x40", hard_checkerboard, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0_FINEST), .most = 42},
    /* winds */
    {"recirculating wind, GMRES", "32x32x32", .wind = hard_recirculating, .peclet = 100,
     .method = GSW_GMRES, .most = 13},
    {"recirculating wind, BiCGSTAB", "32x32x32", .wind = hard_recirculating, .peclet = 100,
     .method = GSW_BICGSTAB, .most = 7},
    {"recirculating wind, BiCGSTAB, fp32", "32x32x32", .wind = hard_recirculating, .peclet = 100,
     .method = GSW_BICGSTAB, .options = FP32, .most = 7},
    {"recirculating wind, ILU(0)", "32x32x32", .wind = hard_recirculating, .peclet = 100,
     .method = GSW_GMRES, .options = SMOOTHER(ILU0), .most = 13},
    {"strong recirculating wind, ILU(0)", "32x32x32", .wind = hard_recirculating, .peclet = 270,
     .method = GSW_GMRES, .options = SMOOTHER(ILU0), .fallbacks = 1, .most = 16},
    {"convection", "convection:48x48x48", .method = GSW_BICGSTAB, .most = 3},
    {"convection, wind turned", "convection:48x48x48", .change = hard_turn_wind,
     .method = GSW_BICGSTAB, .most = 3},
    {"convection, wind turned, ILU(0)", "convection:32x32x32", .change = hard_turn_wind,
     .method = GSW_BICGSTAB, .options = SMOOTHER(ILU0), .most = 3},
    /* cycles and smoothers */
    {"odd extents", "poisson:63x65x67", .most = 9},
    {"odd extents, lognormal", "lognormal:63x65x67", .most = 15},
    {"two sweeps", "lognormal:48x48x48", .options = {.pre_sweeps = 2, .post_sweeps = 2},
     .most = 13},
    {"two sweeps, poisson", "poisson:48x48x48", .options = {.pre_sweeps = 2, .post_sweeps = 2},
     .most = 7},
    {"F", "lognormal:48x48x48", .options = {.cycle = GSW_CYCLE_F}, .most = 15},
    {"W", "lognormal:48x48x48", .options = {.cycle = GSW_CYCLE_W}, .most = 15},
    {"F, fp32", "lognormal:48x48x48", .options = {.cycle = GSW_CYCLE_F, .cycle_type = GSW_F32},
     .most = 15},
    {"Jacobi", "poisson:32x32x32", .options = SMOOTHER(JACOBI), .most = 15},
    {"Chebyshev", "poisson:32x32x32", .options = SMOOTHER(CHEBYSHEV), .most = 8},
    {"Jacobi, lognormal", "lognormal:32x32x32", .options = SMOOTHER(JACOBI), .most = 23},
    {"Chebyshev, lognormal", "lognormal:32x32x32", .options = SMOOTHER(CHEBYSHEV), .most = 20},
    {"Chebyshev, F, fp32", "lognormal:32x32x32",
     .options = {.smoother = GSW_SMOOTHER_CHEBYSHEV, .cycle = GSW_CYCLE_F, .cycle_type = GSW_F32},
     .most = 14},
    {"a layer of the reservoir, ILU(0)", "lognormal:60x110x43", .options = SMOOTHER(ILU0),
     .most = 9},
    {"a layer of the reservoir", "lognormal:60x110x43", .most = 15},
    /* conditions x_i = b_i inside */
    {"ball fixed", "poisson:32x32x32", .change = hard_fix_ball, .product = 1, .most = 8},
    {"bars fixed", "poisson:32x32x32", .change = hard_fix_bars, .product = 1, .most = 8},
    {"a tenth fixed", "poisson:32x32x32", .change = hard_fix_tenth, .most = 9},
    {"a tenth fixed, ILU(0)", "lognormal:32x32x32", .change = hard_fix_tenth,
     .options = SMOOTHER(ILU0), .most = 7},
    {"a tenth fixed, 2D", "lognormal:150x150", .change = hard_fix_tenth, .most = 10},
    {"ball fixed, 27 points, fp32", "hpcg:32x32x32", .change = hard_fix_ball, .product = 1,
     .options = FP32, .most = 6},
    {"ball's rows", "poisson:32x32x32", .change = hard_rows_ball, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    {"bars' rows", "poisson:32x32x32", .change = hard_rows_bars, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    {"a tenth of the rows", "lognormal:32x32x32", .change = hard_rows_tenth, .product = 1,
     .method = GSW_BICGSTAB, .most = 2},
    {"ball's rows, 27 points", "hpcg:32x32x32", .change = hard_rows_ball, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    {"bars' rows, 27 points", "hpcg:32x32x32", .change = hard_rows_bars, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    {"ball's rows, 9 points", "hpcg:131x140", .change = hard_rows_ball, .product = 1,
     .method = GSW_BICGSTAB, .options = FP32, .most = 3},
    {"bars' rows, 13 points", "star13:32x32x32", .change = hard_rows_bars, .product = 1,
     .method = GSW_BICGSTAB, .most = 4},
    {"bars' rows, wind", "convection:32x32x32", .change = hard_rows_bars, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    /* obstacles */
    {"obstacle", "poisson:48x48x48", .change = hard_obstruct_ball, .product = 1, .most = 8},
    {"obstacles", "poisson:48x48x48", .change = hard_obstruct_bars, .product = 1, .options = FP32,
     .most = 10},
    {"obstacles, 2D", "poisson:150x150", .change = hard_obstruct_bars, .product = 1, .most = 17},
    {"closed pockets", "poisson:32x32x32", .change = hard_obstruct_half, .product = 1, .most = 39},
    {"closed pockets, 2D", "poisson:101x87", .change = hard_obstruct_half, .product = 1,
     .most = 96},
    /* numbers */
    {"inactive cells", "32x32x32", hard_inactive, HARD_DIRICHLET, .product = 1, .most = 8},
    {"inactive cells, fp32", "32x32x32", hard_inactive, HARD_DIRICHLET, .product = 1,
     .options = FP32, .most = 8},
    {"leaky cells", "32x32x32", hard_leaky, HARD_DIRICHLET, .product = 1, .most = 13},
    {"leaky cells, ILU(0)", "32x32x32", hard_leaky, HARD_DIRICHLET, .product = 1,
     .options = SMOOTHER(ILU0), .most = 8},
    {"negative definite", "poisson:32x32x32", .change = hard_negate, .most = 9},
    {"negative definite, ILU(0)", "lognormal:32x32x32", .change = hard_negate, .product = 1,
     .options = SMOOTHER(ILU0), .fallbacks = 1, .most = 10},
    {"negative, wind", "convection:32x32x32", .change = hard_negate, .method = GSW_BICGSTAB,
     .options = SMOOTHER(ILU0), .most = 2},
    {"positive couplings", "poisson:33x33x33", .change = hard_change_signs, .product = 1,
     .most = 37},
    {"rows scaled", "poisson:32x32x32", .change = hard_scale_rows, .product = 1,
     .method = GSW_BICGSTAB, .most = 4},
    {"rows and columns scaled", "poisson:32x32x32", .change = hard_scale_both, .product = 1,
     .most = 37},
    {"rows and columns scaled, fp32", "poisson:32x32x32", .change = hard_scale_both, .product = 1,
     .options = FP32, .most = 37},
    {"1e90", "poisson:32x32x32", .change = hard_enlarge, .product = 1, .most = 8},
    {"1e90, fp32", "poisson:32x32x32", .change = hard_enlarge, .options = FP32,
     .status = GSW_ERROR_UNSUPPORTED},
    {"indefinite", "poisson:32x32x32", .change = hard_indefinite, .status = GSW_ERROR_BREAKDOWN},
    {"indefinite, fp32", "poisson:32x32x32", .change = hard_indefinite, .options = FP32,
     .status = GSW_ERROR_BREAKDOWN},
};
#define HARD_CASES ((int)(sizeof hard_cases / sizeof hard_cases[0]))

static inline oracle_matrix *hard_make(gsw_context *cpu, const hard_case *c) {
    oracle_matrix *m;
    gsw_grid grid;
    if (strchr(c->problem, ':')) {
        gsw_problem *problem;
        ck_assert_int_eq(gsw_problem_parse(cpu, c->problem, NULL, &problem), GSW_SUCCESS);
        const gsw_matrix *from = gsw_problem_matrix(problem);
        m = oracle_random(&from->grid, &from->stencil, 1, ORACLE_POSITIVE);
        for (int32_t e = 0; e < from->stencil.count; e++)
            memcpy(m->arrays[e], from->array.values[e],
                   (size_t)oracle_points(&from->grid) * sizeof(double));
        gsw_problem_destroy(problem);
    } else {
        ck_assert_int_eq(gsw_grid_parse(cpu, c->problem, &grid), GSW_SUCCESS);
        m = c->wind ? hard_convection(&grid, c->wind, c->peclet)
                    : hard_flow(&grid, c->conductivity, c->boundary);
    }
    if (c->change)
        c->change(m);
    return m;
}

static inline double *hard_right_side(gsw_context *cpu, const hard_case *c,
                                      const oracle_matrix *m) {
    const int64_t n = oracle_points(&m->view.grid);
    double *b = hard_doubles(n), *x = hard_doubles(n);
    oracle_fill(GSW_F64, b, n, 1);
    if (c->product || c->closed) {
        gsw_random_vector(5, n, x);
        for (int64_t i = 0; i < n; i++)
            x[i] += 1;
        ck_assert_int_eq(gsw_spmv(cpu, &m->view, GSW_F64, x, b), GSW_SUCCESS);
    }
    free(x);
    return b;
}

/* The end of a solve. */
typedef struct hard_end {
    gsw_status status;
    gsw_krylov_result result;
    gsw_multigrid_info info;
    char message[600];
} hard_end;

static inline hard_end hard_solve(gsw_context *context, const hard_case *c) {
    hard_end end = {.result = {.size = sizeof end.result}, .info = {.size = sizeof end.info}};
    gsw_context *cpu = oracle_context(1);
    oracle_matrix *m = hard_make(cpu, c);
    const int64_t n = oracle_points(&m->view.grid);
    const size_t bytes = (size_t)n * sizeof(double);
    double *b = hard_right_side(cpu, c, m), *x = hard_doubles(n);
    gsw_multigrid_options options = c->options;
    const gsw_krylov_options krylov = {.size = sizeof krylov,
                                       .max_iterations = c->status ? 60 : 400,
                                       .nullspace =
                                           c->closed ? GSW_NULLSPACE_CONSTANT : GSW_NULLSPACE_NONE};
    gsw_matrix there;
    gsw_multigrid *mg = NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *cycle = NULL;
    void *bt = NULL, *xt = NULL;
    options.size = sizeof options;
    ck_assert_int_eq(gsw_matrix_upload(context, &m->view, &there), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_alloc(context, bytes, &bt), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_alloc(context, bytes, &xt), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_upload(context, bt, b, bytes), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_set(context, xt, 0, bytes), GSW_SUCCESS);
    ck_assert_int_eq(gsw_operator_from_matrix(context, &there, &op), GSW_SUCCESS);
    end.status = gsw_multigrid_create(context, &there, &options, &mg);
    if (end.status == GSW_SUCCESS) {
        ck_assert_int_eq(gsw_preconditioner_from_multigrid(context, mg, &cycle), GSW_SUCCESS);
        end.status = gsw_krylov(context, c->method, op, cycle, &krylov, bt, xt, &end.result);
        ck_assert_int_eq(gsw_multigrid_get_info(mg, &end.info), GSW_SUCCESS);
    }
    snprintf(end.message, sizeof end.message, "%s", gsw_context_message(context));
    ck_assert_int_eq(gsw_memory_download(context, x, xt, bytes), GSW_SUCCESS);
    for (int64_t i = 0; i < n && end.status == GSW_SUCCESS; i++)
        ck_assert_msg(isfinite(x[i]), "%s: x is not finite", c->what);
    gsw_preconditioner_destroy(cycle);
    gsw_multigrid_destroy(mg);
    gsw_operator_destroy(op);
    gsw_memory_free(context, xt);
    gsw_memory_free(context, bt);
    gsw_matrix_release(context, &there);
    free(x);
    free(b);
    oracle_free(m);
    gsw_context_destroy(cpu);
    return end;
}

/* `slack`: iterations that a backend may need beyond the CPU's. */
static inline void hard_check(gsw_context *context, const hard_case *c, int slack) {
    const hard_end end = hard_solve(context, c);
    if (c->status != GSW_SUCCESS) {
        ck_assert_msg(end.status == c->status || (c->status == GSW_ERROR_BREAKDOWN &&
                                                  (end.status == GSW_ERROR_NOT_CONVERGED ||
                                                   end.status == GSW_ERROR_NON_FINITE)),
                      "%s: %s: %s", c->what, gsw_status_name(end.status), end.message);
        ck_assert_msg(end.message[0] != '\0', "%s: no message", c->what);
        return;
    }
    ck_assert_msg(end.status == GSW_SUCCESS, "%s: %s: %s", c->what, gsw_status_name(end.status),
                  end.message);
    ck_assert_msg(end.result.residual <= 1.1e-8, "%s: residual %g", c->what, end.result.residual);
    ck_assert_msg(end.result.iterations <= c->most + slack, "%s: %d iterations, not %d", c->what,
                  (int)end.result.iterations, c->most);
    ck_assert_msg(end.info.smoother_fallbacks >= c->fallbacks, "%s: %d levels fell back", c->what,
                  end.info.smoother_fallbacks);
    ck_assert_msg(!c->closed || end.info.singular || c->change == hard_close_roughly,
                  "%s: not known to be singular", c->what);
}

/* ---- Singular matrices ------------------------------------------------------------------------
 */

/* Grids without a boundary condition: at most `most` iterations. Where `more` is not 0, also at
 * most `more` - 1 iterations beyond those of the same problem with its own boundary. Both cycles,
 * both types. */
static const struct {
    const char *problem;
    int most, more;
} hard_closed[] = {
    {"poisson:32x32", 7, 3},       {"poisson:64x64", 7, 3},         {"poisson:128x128", 7, 3},
    {"poisson:256x256", 7, 3},     {"poisson:512x512", 7, 3},       {"poisson:16x16x16", 9, 3},
    {"poisson:32x32x32", 9, 3},    {"poisson:64x64x64", 9, 3},      {"poisson:37x29x41", 9, 3},
    {"lognormal:64x64", 9, 3},     {"lognormal:256x256", 10, 3},    {"lognormal:32x32x32", 12, 3},
    {"lognormal:48x48x48", 13, 3}, {"anisotropic:48x48x48", 10, 3}, {"hpcg:32x32x32", 7, 3},
    {"star13:32x32x32", 9, 3},
};
#define HARD_CLOSED ((int)(sizeof hard_closed / sizeof hard_closed[0]))

static inline void hard_check_closed(gsw_context *context, int i, int slack) {
    const hard_case open = {
        .what = hard_closed[i].problem, .problem = hard_closed[i].problem, .most = 100};
    const hard_end with = hard_solve(context, &open);
    ck_assert_msg(with.status == GSW_SUCCESS, "%s: %s", open.what, with.message);
    for (int cycle = GSW_CYCLE_V; cycle <= GSW_CYCLE_F; cycle++)
        for (int type = GSW_F64; type <= GSW_F32; type++) {
            hard_case closed = open;
            const int more = (int)with.result.iterations + hard_closed[i].more - 1;
            closed.change = hard_close;
            closed.closed = 1;
            closed.most = hard_closed[i].most < more ? hard_closed[i].most : more;
            closed.options.cycle = (gsw_cycle)cycle;
            closed.options.cycle_type = (gsw_dtype)type;
            if (cycle == GSW_CYCLE_V || type == GSW_F32)
                hard_check(context, &closed, slack);
            closed.change = hard_close_roughly;
            if (cycle == GSW_CYCLE_V && type == GSW_F32)
                hard_check(context, &closed, slack);
        }
}

/* x = M b with a hierarchy that consists of its direct solve. */
static inline void hard_apply_direct(gsw_context *context, gsw_multigrid *mg, int64_t n,
                                     const double *b, double *x) {
    const size_t bytes = (size_t)n * sizeof(double);
    void *there = NULL;
    ck_assert_int_eq(gsw_memory_alloc(context, bytes, &there), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_upload(context, there, b, bytes), GSW_SUCCESS);
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, there, there), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_download(context, x, there, bytes), GSW_SUCCESS);
    gsw_memory_free(context, there);
}

/* Two closed halves, one of large and one of small numbers, and some fixed points: two null vectors
 * that the options do not name. The direct solve is a symmetric, semidefinite, generalised
 * inverse. */
static inline void hard_check_halves(gsw_context *context) {
    const gsw_grid grid = {9, 7, 3};
    const int64_t n = oracle_points(&grid);
    oracle_matrix *m = hard_flow(&grid, hard_iid_1e3, HARD_NEUMANN);
    const int32_t count = m->view.stencil.count;
    for (int64_t row = 0; row < n; row++) /* the plane x = 4 couples to nothing */
        for (int32_t e = 0; e < count; e++) {
            const int64_t there = hard_neighbour(&grid, row, m->view.stencil.offsets[e]);
            double *values = m->arrays[e];
            if (row % 9 == 4 || (there >= 0 && there % 9 == 4))
                values[row] = 0;
            values[row] *= row % 9 < 4 ? 1e6 : 1e-6;
        }
    hard_close(m);
    for (int64_t row = 4; row < n; row += 9)
        hard_diagonal(m)[row] = 3;
    gsw_matrix there;
    gsw_multigrid *mg;
    ck_assert_int_eq(gsw_matrix_upload(context, &m->view, &there), GSW_SUCCESS);
    ck_assert_msg(gsw_multigrid_create(context, &there, NULL, &mg) == GSW_SUCCESS, "%s",
                  gsw_context_message(context));
    double *x = hard_doubles(n), *b = hard_doubles(n), *again = hard_doubles(n);
    double *gx = hard_doubles(n), *gb = hard_doubles(n);
    gsw_context *cpu = oracle_context(1);
    gsw_random_vector(1, n, x);
    ck_assert_int_eq(gsw_spmv(cpu, &m->view, GSW_F64, x, b), GSW_SUCCESS);
    hard_apply_direct(context, mg, n, b, gb);
    ck_assert_int_eq(gsw_spmv(cpu, &m->view, GSW_F64, gb, again), GSW_SUCCESS);
    for (int64_t i = 0; i < n; i++) {
        const double size = i % 9 == 4 ? 1 : i % 9 < 4 ? 1e9 : 1e-3;
        ck_assert_msg(fabs(again[i] - b[i]) <= 1e-10 * size, "row %d: %g, not %g", (int)i, again[i],
                      b[i]);
    }
    for (int64_t i = 0; i < n; i++) { /* x'Gy = y'Gx and x'Gx > 0, in scaled vectors */
        const double size = i % 9 == 4 ? 1 : i % 9 < 4 ? 1e4 : 1e-2;
        x[i] = size * hard_random(1, i, 0, 0);
        b[i] = size * hard_random(2, i, 0, 0);
    }
    hard_apply_direct(context, mg, n, x, gx);
    hard_apply_direct(context, mg, n, b, gb);
    double xgb = 0, bgx = 0, xgx = 0, bgb = 0;
    for (int64_t i = 0; i < n; i++) {
        xgb += x[i] * gb[i];
        bgx += b[i] * gx[i];
        xgx += x[i] * gx[i];
        bgb += b[i] * gb[i];
    }
    ck_assert_msg(xgx > 0 && bgb > 0, "x'Gx is %g, b'Gb %g", xgx, bgb);
    ck_assert_msg(fabs(xgb - bgx) <= 1e-10 * sqrt(xgx * bgb), "x'Gb is %g, b'Gx %g", xgb, bgx);
    gsw_context_destroy(cpu);
    free(gb);
    free(gx);
    free(again);
    free(b);
    free(x);
    gsw_multigrid_destroy(mg);
    gsw_matrix_release(context, &there);
    oracle_free(m);
}

#endif
