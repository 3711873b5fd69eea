/* petsc_multigrid.h: -pc_gridsweep_type mg. */
#ifndef GSW_PETSC_MULTIGRID_H
#define GSW_PETSC_MULTIGRID_H

#include "petsc_kind.h"

extern const gsw_petsc_kind gsw_petsc_multigrid;

#endif
