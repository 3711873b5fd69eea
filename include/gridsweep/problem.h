/* gridsweep/problem.h: model problems to try, test and time the solvers with (host arrays).
 *
 * Use gsw_problem_parse() for a text such as "poisson:64x64x64", which a user typed. Use
 * gsw_problem_create() if you have the grid as numbers. poisson and hpcg are the usual first tests;
 * lognormal is the hard symmetric problem; convection and random are not symmetric.
 *
 *   poisson      -div grad on the unit spacing, Dirichlet; D2N5 where nz = 1, else D3N7
 *   anisotropic  the same with coefficients 1, 0.1 and 0.001 along x, y, z
 *   convection   diffusion and a constant wind (1, 0.7, 0.4), first-order upwind, cell Peclet
 *                number 10; not symmetric; D2N5 or D3N7
 *   lognormal    two-point-flux pressure equation over a correlated log-normal permeability field
 *                with contrast 1e6, as in SPE10; one well keeps it regular; symmetric; D2N5 or D3N7
 *   hpcg         26 on the diagonal, -1 to the 26 neighbours: D3N27 (D2N9 where nz = 1, with 8)
 *   helmholtz19  19-point Laplacian with a positive shift; symmetric; D3N19
 *   star13       fourth-order Laplacian; symmetric; D3N13
 *   box33        hpcg and the six neighbours at distance two; D3N33
 *   ocean:LAND   diffusion in water, without flux at a fractal coast, with a shift of 1e-4; LAND is
 *                the share of inactive points, 0 <= LAND < 1, such as ocean:0.5 (ocean alone:
 *                0.35). In 3D that of plane z = 0, the surface; the land grows with z
 *   reservoir    two-point-flux pressure equation in layers of rock whose permeability varies by
 *                1e6; about 30 % of the cells are inactive (layers that pinch out, a fault); four
 *                wells and a small compressibility
 *   channel      pressure between two walls, on a grid stretched towards them, with a shift of
 *                1e-4; periodic along x, in 3D also along y
 *   obstacles    flow around five cylinders and two boxes, which are inactive, between given
 *                values at both ends of x
 *   globe        diffusion on a sphere with a shift of 1e-4: longitude along x, which is periodic,
 *                and latitude along y, whose spacing is half the mean at the equator
 *   random:SEED  uniform random off-diagonals in [-1, 1], diagonal 1 + the row's absolute sum, on
 *                the given stencil (D3N7 if none, D2N5 where nz = 1); not symmetric
 *
 * From ocean to globe all are symmetric, and D2N5 or D3N7. Rows of inactive points are those of the
 * identity, and couplings to them are 0: the matrix is right without its mask, too. They set the
 * periodic axes of their grid; such an axis needs 3 points.
 *
 * Random values depend only on seed, row and offset. They are the same on every machine and for
 * every number of threads. */
#ifndef GRIDSWEEP_PROBLEM_H
#define GRIDSWEEP_PROBLEM_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gsw_problem gsw_problem;

/* Creates the problem `name` (as above) on `grid`, with fp64 values in host memory. Only random
 * uses `stencil`, and it may be NULL there; for the other problems it must be NULL. Errors:
 * INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_problem_create(gsw_context *context, const char *name, const gsw_grid *grid,
                              const gsw_stencil *stencil, gsw_problem **problem);

/* The same from a text "NAME:NXxNYxNZ", such as "poisson:64x64x64", "random:7:20x30x40" or
 * "ocean:0.5:512x512". A 2D
 * problem may leave out NZ. */
GSW_API
gsw_status gsw_problem_parse(gsw_context *context, const char *text, const gsw_stencil *stencil,
                             gsw_problem **problem);

/* The same, but the matrix holds one number per offset (GSW_REPEAT_YZ). It needs next to no memory.
 * For poisson, anisotropic, convection, hpcg, helmholtz19, star13 and box33. */
GSW_API
gsw_status gsw_problem_parse_constant(gsw_context *context, const char *text,
                                      gsw_problem **problem);

/* A view of the problem's matrix as stencil arrays, with its mask (`active`) in host memory. Both
 * are valid until the problem is destroyed. */
GSW_API
const gsw_matrix *gsw_problem_matrix(const gsw_problem *problem);

/* 1 if the matrix is symmetric, else 0. */
GSW_API
int gsw_problem_symmetric(const gsw_problem *problem);

/* Fills `values` with `count` numbers, uniform in [-1, 1]. They depend on the seed only and are the
 * same on every machine. */
GSW_API
void gsw_random_vector(uint64_t seed, int64_t count, double *values);

/* Reads a grid from the text "NXxNY" or "NXxNYxNZ". The whole text must match.
 * Errors: INVALID_ARGUMENT (malformed, an extent < 1), OVERFLOW. */
GSW_API
gsw_status gsw_grid_parse(gsw_context *context, const char *text, gsw_grid *grid);

GSW_API
void gsw_problem_destroy(gsw_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
