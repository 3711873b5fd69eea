/* jacobi.h: the diagonal as a preconditioner. */
#ifndef GSW_CPU_JACOBI_H
#define GSW_CPU_JACOBI_H

#include "contract/backend.h"

/* reciprocal[row] = 1 / diagonal, in the factor's type; bad pivots as in gsw_factor_create. */
gsw_status gsw_cpu_fill_jacobi(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               void *reciprocal);

/* x = reciprocal * b for each right-hand side. */
void gsw_cpu_apply_jacobi(gsw_context *context, const gsw_factor *factor, const void *reciprocal,
                          int64_t count, const void *b, int64_t ldb, void *x, int64_t ldx);

#endif
