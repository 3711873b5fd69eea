/* sums.h: sums over the processes of a context. */
#ifndef GSW_SUMS_H
#define GSW_SUMS_H

#include "contract/context.h"

/* Adds values of all processes; every process gets the same sums. */
gsw_status gsw_context_sum(gsw_context *context, int count, double *values);

/* x'y of vectors that all processes share; n: points of the own part. */
gsw_status gsw_dot(gsw_context *context, int64_t n, const double *x, const double *y,
                   double *result);

#endif
