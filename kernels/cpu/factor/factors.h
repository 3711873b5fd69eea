/* factors.h: packed factors on the CPU: filled and applied. */
#ifndef GSW_CPU_FACTORS_H
#define GSW_CPU_FACTORS_H

#include "contract/backend.h"
#include "contract/box_ops.h"

/* ---- values of packed factors from matrices. */

/* See backend.h. */
gsw_status gsw_cpu_factor_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               const gsw_matrix *upper);

/* See box_ops.h. */
int64_t gsw_cpu_eliminate_bands(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                                const gsw_band_eliminate *bands);

/* ---- the diagonal as a preconditioner. */

/* reciprocal[row] = 1 / diagonal, in the factor's type; bad pivots as in gsw_factor_create. */
gsw_status gsw_cpu_fill_jacobi(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               void *reciprocal);

/* x = reciprocal * b for each right-hand side. */
void gsw_cpu_apply_jacobi(gsw_context *context, const gsw_factor *factor, const void *reciprocal,
                          int64_t count, const void *b, int64_t ldb, void *x, int64_t ldx);

/* ---- the values of Eisenstat's form (struct gsw_split). */

/* See backend.h. */
gsw_status gsw_cpu_split_fill(gsw_context *context, const gsw_factor *factor,
                              const gsw_matrix *matrix, const gsw_split *split, int *fits);

#endif
