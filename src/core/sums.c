/* sums.c: see sums.h. */
#include "sums.h"
#include "contract/backend.h"
#include "contract/error.h"

gsw_status gsw_context_sum(gsw_context *context, int count, double *values) {
    return context->sum == NULL ? GSW_SUCCESS
                                : context->sum(context->sum_user, context, count, values);
}

gsw_status gsw_dot(gsw_context *context, int64_t n, const double *x, const double *y,
                   double *result) {
    GSW_TRY(context->ops->vector->dot(context, n, x, y, result));
    return gsw_context_sum(context, 1, result);
}
