/* petsc_auto.h: -pc_gridsweep_type auto. */
#ifndef GSW_PETSC_AUTO_H
#define GSW_PETSC_AUTO_H

#include "petsc_kind.h"

extern const gsw_petsc_kind gsw_petsc_auto;

#endif
