/* callback.h: how the library calls what the user gave it. */
#ifndef GSW_CALLBACK_H
#define GSW_CALLBACK_H

#include <gridsweep/operator.h>

/* Calls the callback of `what` ("operator", "preconditioner") with vectors that do not overlap. A
 * failure becomes the message of the context, with the callback's own reason where it gave one. A
 * success leaves the message of the context as it was. Errors: what the callback returns;
 * INVALID_ARGUMENT where that is not a gsw_status. */
gsw_status gsw_call_apply(gsw_context *context, const char *what, gsw_apply_fn apply, void *user,
                          const double *x, double *y);

#endif
