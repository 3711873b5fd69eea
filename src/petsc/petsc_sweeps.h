/* petsc_sweeps.h: -pc_gridsweep_type ilu, icc, dilu, sor and jacobi. */
#ifndef GSW_PETSC_SWEEPS_H
#define GSW_PETSC_SWEEPS_H

#include "petsc_kind.h"

extern const gsw_petsc_kind gsw_petsc_ilu, gsw_petsc_icc, gsw_petsc_dilu, gsw_petsc_sor,
    gsw_petsc_jacobi;

#endif
