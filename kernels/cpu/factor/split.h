/* split.h: Eisenstat's form on the CPU (struct gsw_split). */
#ifndef GSW_CPU_SPLIT_H
#define GSW_CPU_SPLIT_H

#include "contract/backend.h"

/* See backend.h. */
gsw_status gsw_cpu_split_fill(gsw_context *context, const gsw_factor *factor,
                              const gsw_matrix *matrix, const gsw_split *split, int *fits);
gsw_status gsw_cpu_split_apply(gsw_context *context, const gsw_split *split, const double *v,
                               double *t, double *y);

#endif
