/* petsc_solve.h: PETSc's sequential solvers as a yardstick. Needs no PETSc header.
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

/* Solves A x = b from x = 0 with the KSP that stands for the method, norm and tolerances (no
 * monitor), preconditioned by JACOBI, ILU0 or IC0; precond NULL: none. *iterations receives the
 * iterations and *converged whether the tolerance was met. */
int gsw_baseline_petsc_krylov(const gsw_matrix *matrix, gsw_method method,
                              const gsw_factor_kind *precond, const gsw_krylov_options *options,
                              const double *b, double *x, int64_t *iterations, int *converged);

#endif
