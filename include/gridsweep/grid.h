/* gridsweep/grid.h: regular grids and stencils.
 *
 * A grid and a stencil describe the structure of a matrix, so the library needs no analysis of it.
 * If you know both, create them here: a gsw_grid by its extents, a stencil by its name
 * (gsw_stencil_named) or from a list of offsets (gsw_stencil_from_offsets). If you have only a CSR
 * matrix, gsw_detect() in matrix.h finds both.
 *
 * A grid has nx x ny x nz points. Point (x, y, z) is row x + nx*(y + ny*z) of the matrix. This is
 * the natural order, with x fastest. A 2D grid has nz = 1.
 *
 * A stencil is the set of offsets (dx, dy, dz) that a row may couple to. The *lower part* holds the
 * offsets that come lexicographically before (0, 0, 0) in (dz, dy, dx); the *upper part* holds
 * those after it. Couplings that leave the grid do not exist.
 *
 * Both types are plain values: you can copy them and keep them on the stack, and you need not free
 * them. */
#ifndef GRIDSWEEP_GRID_H
#define GRIDSWEEP_GRID_H

#include <stdint.h>
#include <gridsweep/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsw_grid {
    int64_t nx, ny, nz; /* each >= 1 */
    int32_t periodic;   /* bit set of GSW_PERIODIC_X, _Y and _Z; 0: none of the axes */
} gsw_grid;

/* PERIODIC AXES. The points at both ends of a periodic axis are neighbours. In stencil arrays the
 * entry whose neighbour lies outside the grid then couples to the point at the other end: with
 * GSW_PERIODIC_X entry (-1, 0, 0) of point (0, y, z) couples to (nx - 1, y, z). In a CSR these
 * couplings have the columns of those points. A stencil that reaches r points along a periodic axis
 * needs at least 2 r + 1 points there.
 *
 * Products, residuals, stencil loops, multigrid and Krylov methods use all couplings. Incomplete
 * factors, SSOR, Jacobi, and the sweeps inside multigrid, are those of the matrix without the
 * couplings around the grid. Exact triangular solves (gsw_sptrsv() and the kinds LOWER, UPPER and
 * LU) keep them where the matrix is a CSR, and refuse stencil arrays. */
enum { GSW_PERIODIC_X = 1, GSW_PERIODIC_Y = 2, GSW_PERIODIC_Z = 4 };

typedef struct gsw_offset {
    int32_t dx, dy, dz;
} gsw_offset;

/* A stencil can hold GSW_STENCIL_MAX offsets. |dx|, |dy| and |dz| are at most GSW_OFFSET_MAX. */
#define GSW_STENCIL_MAX 128
#define GSW_OFFSET_MAX  1024

/* The offsets ascend in (dz, dy, dx), each appears once, and the centre is among them. Create a
 * stencil with the functions below, which establish that order. */
typedef struct gsw_stencil {
    int32_t count;
    int32_t center; /* index of (0, 0, 0); also the number of offsets in the lower part */
    gsw_offset offsets[GSW_STENCIL_MAX];
} gsw_stencil;

/* Number of points, nx*ny*nz, in *points.
 * Errors: INVALID_ARGUMENT (grid NULL, an extent < 1, unknown bits in periodic), OVERFLOW (more
 * than 2^48 points, which no call takes). */
GSW_API
gsw_status gsw_grid_points(const gsw_grid *grid, int64_t *points);

/* Row of point (x, y, z). Nothing is checked. */
static inline int64_t gsw_grid_row(const gsw_grid *grid, int64_t x, int64_t y, int64_t z) {
    return x + grid->nx * (y + grid->ny * z);
}

/* A stencil by its name, in any case:
 *   D2N5  centre and 4 axis neighbours in the plane     D2N9  the 3 x 3 square
 *   D3N7  centre and 6 axis neighbours                  D3N13 D3N7 and the 6 at distance two
 *   D3N15 D3N7 and the 8 corners of the cube
 *   D3N15X  3 points along x, at the centre and at its 4 neighbours across x: the stencil that
 *           multigrid gets from D3N7 when it coarsens x
 *   D3N15Y  the same along y                            D3N15Z  the same along z
 *   D3N19 the 3 x 3 x 3 cube without corners
 *   D3N27 the 3 x 3 x 3 cube                            D3N33 D3N27 and the 6 at distance two
 * Errors: INVALID_ARGUMENT (NULL, unknown name). */
GSW_API
gsw_status gsw_stencil_named(const char *name, gsw_stencil *stencil);

/* Name of the named stencil number k = 0, 1, 2, ..., for a list of all; NULL if there is none.
 * Static storage. */
GSW_API
const char *gsw_stencil_known(int32_t k);

/* A stencil from `count` offsets in any order, for stencils without a name. A stencil whose offsets
 * are those of a named one is the same stencil. Duplicates are refused.
 * Errors: INVALID_ARGUMENT (NULL, count < 1 or > GSW_STENCIL_MAX, no centre, a duplicate, a
 * component beyond GSW_OFFSET_MAX). */
GSW_API
gsw_status gsw_stencil_from_offsets(const gsw_offset *offsets, int32_t count, gsw_stencil *stencil);

/* "D3N7" and so on if the offsets are those of a named stencil, else "custom". Static storage. */
GSW_API
const char *gsw_stencil_name(const gsw_stencil *stencil);

/* Index of an offset in the stencil, or -1 if it is not there. */
GSW_API
int32_t gsw_stencil_find(const gsw_stencil *stencil, gsw_offset offset);

#ifdef __cplusplus
}
#endif

#endif
