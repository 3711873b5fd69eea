/* petsc_factor.h: the solver package "gridsweep" of PETSc. */
#ifndef GSW_PETSC_FACTOR_H
#define GSW_PETSC_FACTOR_H

#include <petscmat.h>

/* Registers the package for ILU and ICC of matrices of type seqaij. */
PetscErrorCode gsw_petsc_register_factors(void);

#endif
