/* fill.h: values of packed factors from matrices. */
#ifndef GSW_CPU_FILL_H
#define GSW_CPU_FILL_H

#include "contract/backend.h"
#include "contract/box_ops.h"

/* See backend.h. */
gsw_status gsw_cpu_factor_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               const gsw_matrix *upper);

/* See box_ops.h. */
int64_t gsw_cpu_eliminate_bands(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                                const gsw_band_eliminate *bands);

#endif
