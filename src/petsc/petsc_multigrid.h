/* petsc_multigrid.h: -pc_gridsweep_type mg. */
#ifndef GSW_PETSC_MULTIGRID_H
#define GSW_PETSC_MULTIGRID_H

#include "petsc_kind.h"

typedef struct gsw_petsc_multigrid_data {
    gsw_multigrid_options options;
    gsw_multigrid *multigrid; /* NULL before make() */
} gsw_petsc_multigrid_data;

extern const gsw_petsc_kind gsw_petsc_multigrid;

#endif
