/* petsc_distributed.h: a matrix of type mpiaij or mpiaijcusparse as one of the library, on one
 * process or several. */
#ifndef GSW_PETSC_DISTRIBUTED_H
#define GSW_PETSC_DISTRIBUTED_H

#include <petscpc.h>
#include "petsc_place.h"

typedef struct gsw_petsc_distributed gsw_petsc_distributed;

/* Takes PETSc's matrix. Opens the place, too: context, grid, stencil and the number of own rows. It
 * is collective. *made must be closed after an error, too, and before the place. */
PetscErrorCode gsw_petsc_distributed_open(gsw_petsc_place *place, PC pc, Mat matrix,
                                          gsw_petsc_distributed **made);

/* Takes new values of the same matrix with the same pattern. *fits: no stored zero of any process
 * has become a coupling outside the stencil. It is collective. */
PetscErrorCode gsw_petsc_distributed_refill(gsw_petsc_distributed *d, const gsw_petsc_place *place,
                                            Mat matrix, PetscBool *fits);

/* The rows of this process, which `d` holds. */
const gsw_matrix *gsw_petsc_distributed_matrix(const gsw_petsc_distributed *d);

/* Prints "scope global, 4 processes, 2x2x1 boxes of at most 16x16x32 points". */
PetscErrorCode gsw_petsc_distributed_view(const gsw_petsc_distributed *d, gsw_scope scope,
                                          PetscViewer viewer);

/* NULL is allowed. */
void gsw_petsc_distributed_close(gsw_petsc_distributed *d, gsw_petsc_place *place);

#endif
