/* petsc_multigrid.h: the options of multigrid, and what is printed of a hierarchy. */
#ifndef GSW_PETSC_MULTIGRID_H
#define GSW_PETSC_MULTIGRID_H

#include <petscpc.h>
#include <gridsweep/gridsweep.h>

PetscErrorCode gsw_petsc_read_multigrid(gsw_multigrid_options *options, MPI_Comm comm,
                                        const char *prefix, gsw_scope scope);
PetscErrorCode gsw_petsc_view_multigrid(const gsw_multigrid *multigrid, PetscViewer viewer);

#endif
