/* callback.h: how the library calls the user's callbacks. */
#ifndef GSW_CALLBACK_H
#define GSW_CALLBACK_H

#include <gridsweep/operator.h>

/* Calls the callback of `what` ("operator", "preconditioner") with vectors that do not overlap.
 * After a failure the context's message names it, with the callback's own reason where there is
 * one. A success leaves the context's message unchanged. Errors: the callback's own status;
 * INVALID_ARGUMENT where that is not a gsw_status. */
gsw_status gsw_call_apply(gsw_context *context, const char *what, gsw_apply_fn apply, void *user,
                          const double *x, double *y);

#endif
