/* petsc_register.h: what the plug-in gives to PETSc. */
#ifndef GSW_PETSC_REGISTER_H
#define GSW_PETSC_REGISTER_H

#include <petscsys.h>

/* The solver package "gridsweep", for ILU and ICC of matrices of type seqaij. */
PetscErrorCode gsw_petsc_register_factors(void);

/* The type "gridsweep" of preconditioners. */
PetscErrorCode gsw_petsc_register_preconditioner(void);

#endif
