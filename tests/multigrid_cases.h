/* multigrid_cases.h: matrices that multigrid finds hard, and solves with it, for contexts of any
 * backend. Matrices are made on the host; a solve uploads what it needs. */
#ifndef GSW_TESTS_MULTIGRID_CASES_H
#define GSW_TESTS_MULTIGRID_CASES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>

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
    int64_t at[3];
    hard_place(g, row, at);
    const int64_t x = at[0] + o.dx, y = at[1] + o.dy, z = at[2] + o.dz;
    return x < 0 || x >= g->nx || y < 0 || y >= g->ny || z < 0 || z >= g->nz
               ? -1
               : gsw_grid_row(g, x, y, z);
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
    oracle_matrix *m = oracle_random(
        grid, oracle_stencil_named(grid->nz == 1 ? "D2N5" : "D3N7"), 1, ORACLE_POSITIVE);
    for (int32_t e = 0; e < m->view.stencil.count; e++)
        oracle_fill(GSW_F64, m->arrays[e], oracle_points(grid), 0);
    return m;
}

/* ---- Flow through cells -----------------------------------------------------------------------
 */

/* Conductivity of a cell along an axis. */
typedef double (*hard_conductivity)(const int64_t at[3], int axis);

/* What lies around the cells: nothing; a face of fixed pressure, a cell's width away; nothing, but
 * a well in the most conductive cell. */
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

/* Blocks of 16^3 cells; each conducts a thousand times better along an axis of its own. */
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

/* Diffusion 1, and first-order upwind convection with a wind of so much per cell. */
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

/* Round and round in planes of constant z. */
static inline void hard_recirculating(const double at[3], double wind[3]) {
    const double pi = 3.14159265358979323846;
    wind[0] = sin(pi * at[0]) * cos(pi * at[1]);
    wind[1] = -cos(pi * at[0]) * sin(pi * at[1]);
    wind[2] = 0;
}

#endif
