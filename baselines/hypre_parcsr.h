/* hypre_parcsr.h: hypre's algebraic multigrid. */
#ifndef GSW_BASELINES_HYPRE_PARCSR_H
#define GSW_BASELINES_HYPRE_PARCSR_H

#include "hypre_base.h"

extern const gsw_hypre_kind gsw_hypre_boomeramg;

#endif
