/* stack.h: systems on one grid as a single one, for devices: one launch a step works on all of
 * them.
 *
 * The grids lie one after the other along z, and nothing couples them. So products, factors and
 * levels of multigrid are those of each system alone. Each grid gets planes of identity rows up to
 * a power of two: then coarsening along z leaves no system without a coarse plane before the
 * others. CG takes its sums over all systems, whose spectra overlap; each b is scaled to the length
 * at which a residual of 1 meets that system's tolerance, so that none counts more than another. */
#ifndef GSW_STACK_H
#define GSW_STACK_H

#include <gridsweep/solve.h>
#include "multigrid/level_arrays.h"

typedef struct gsw_stack {
    gsw_context *context;
    int64_t count;         /* systems */
    int64_t points, pitch; /* of a system, and with its identity rows */
    gsw_krylov_options krylov;
    gsw_level_arrays arrays;
    gsw_matrix matrix;
    gsw_solver *solver;
    double *b, *x, *r; /* one block */
    double *sums;      /* in the backend's memory, */
    double *host;      /* and on the host: norms, then scales */
    int64_t bytes;
} gsw_stack;

/* Whether these matrices, of one grid and stencil, can be stacked. */
int gsw_stack_takes(const gsw_matrix *matrices, int64_t count);

/* Opens a stack of matrices that have been checked. Close it in any case. Errors: those of
 * gsw_solver_create(). */
gsw_status gsw_stack_open(gsw_context *context, const gsw_matrix *matrices, int64_t count,
                          const gsw_solver_options *options, gsw_stack *stack);
gsw_status gsw_stack_update(gsw_stack *stack, const gsw_matrix *matrices);
void gsw_stack_close(gsw_stack *stack);

/* Solves all systems; vectors follow each other. Fills converged and residual of each. Where CG has
 * not served a system, that is no error. */
gsw_status gsw_stack_solve(gsw_stack *stack, const double *b, double *x, gsw_solver_report *report,
                           gsw_system_report *systems);

#endif
