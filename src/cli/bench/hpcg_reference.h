/* hpcg_reference.h: HPCG's algorithm as plain serial loops, without the library: the oracle that
 * `gridsweep bench --hpcg` and the tests compare with.
 *
 * The matrix has 26 on its diagonal and -1 for each of up to 26 neighbours. The right-hand side is
 * the matrix times ones. On each of the levels, whose grids have half the points along each axis,
 * rounded up, the matrix is the same. The preconditioner is one V cycle: a step of symmetric
 * Gauss-Seidel before and after the coarse correction, restriction and prolongation by injection,
 * one step on the last level.
 *
 * Source: Dongarra, Heroux and Luszczek, High-performance conjugate-gradient benchmark, Int. J.
 * High Perform. Comput. Appl. 30 (2016), and its reference implementation, version 3.1. */
#ifndef GSW_CLI_BENCH_HPCG_REFERENCE_H
#define GSW_CLI_BENCH_HPCG_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <gridsweep/grid.h>

enum { HPCG_LEVELS = 4 };

/* The next level's grid. */
gsw_grid hpcg_coarser(const gsw_grid *grid);

/* Entries of the matrix: pairs of neighbours inside the grid, and the diagonal. */
int64_t hpcg_entries(const gsw_grid *grid);

/* The right-hand side, one value per point: a row's sum. */
void hpcg_rhs(const gsw_grid *grid, double *b);

/* Norms of the residual before the first iteration of CG from x = 0, and after each: iterations + 1
 * values. False without memory. */
bool hpcg_reference_norms(const gsw_grid *grid, int64_t iterations, double *norms);

/* Operations of one set of CG as HPCG counts them: a product of two vectors or a weighted sum of
 * two is 2 per point, a product with the matrix 2 per entry, a step of symmetric Gauss-Seidel 4 per
 * entry. An iteration has three of each of the first two, a product with the matrix, and on each
 * level that is not the last two steps and a product, on the last one step. Before the first
 * iteration there is one of each of the first three. */
double hpcg_flops(const gsw_grid *grid, int64_t iterations);

#endif
