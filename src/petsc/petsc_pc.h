/* petsc_pc.h: the PETSc preconditioner "gridsweep". */
#ifndef GSW_PETSC_PC_H
#define GSW_PETSC_PC_H

#include <petscpc.h>

/* Registers the type "gridsweep" of preconditioners. */
PetscErrorCode gsw_petsc_register_preconditioner(void);

#endif
