/* hypre_struct.h: hypre's structured multigrids. */
#ifndef GSW_BASELINES_HYPRE_STRUCT_H
#define GSW_BASELINES_HYPRE_STRUCT_H

#include "hypre_base.h"

extern const gsw_hypre_kind gsw_hypre_pfmg, gsw_hypre_smg;

#endif
