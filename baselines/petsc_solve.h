/* petsc_solve.h: PETSc's sequential solvers for comparison. Needs no PETSc header.
 *
 * All functions take host arrays and return 0, or PETSc's error number. They print nothing. */
#ifndef GSW_BASELINES_PETSC_SOLVE_H
#define GSW_BASELINES_PETSC_SOLVE_H

#include <gridsweep/krylov.h>

/* Starts PETSc (and MPI, with this one process); before anything else here, once in a process. */
int gsw_baseline_petsc_begin(void);
void gsw_baseline_petsc_end(void);

/* Factorises the matrix by ILU(0) in natural order and solves L U x = b, each `repeats` >= 1 times
 * after one warm-up. *factor_ms and *solve_ms receive the medians of MatLUFactorNumeric and
 * MatSolve. Time for converting the matrix and for the symbolic factorisation is not counted. */
int gsw_baseline_petsc_ilu0(const gsw_matrix *matrix, const double *b, double *x, int repeats,
                            double *factor_ms, double *solve_ms);

/* A KSP equivalent to the method, norm and tolerances (no monitor; options NULL: the defaults),
 * preconditioned by JACOBI, ILU0 or IC0; precond NULL: none. open() factorises symbolically and
 * numerically; *setup_ms is the time of both. factor() repeats the numeric part. solve() starts
 * from x = 0 and reports the iterations and whether the tolerance was met. The matrix is copied and
 * need not outlive open(). */
typedef struct gsw_baseline_petsc gsw_baseline_petsc;

int gsw_baseline_petsc_open(const gsw_matrix *matrix, gsw_method method,
                            const gsw_factor_kind *precond, const gsw_krylov_options *options,
                            gsw_baseline_petsc **petsc, double *setup_ms);
int gsw_baseline_petsc_factor(gsw_baseline_petsc *petsc);
int gsw_baseline_petsc_solve(gsw_baseline_petsc *petsc, const double *b, double *x,
                             int64_t *iterations, int *converged);
void gsw_baseline_petsc_close(gsw_baseline_petsc *petsc); /* NULL is allowed */

/* All of it once. */
int gsw_baseline_petsc_krylov(const gsw_matrix *matrix, gsw_method method,
                              const gsw_factor_kind *precond, const gsw_krylov_options *options,
                              const double *b, double *x, int64_t *iterations, int *converged);

#endif
