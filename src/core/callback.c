/* callback.c: see callback.h. */
#include <string.h>

#include "contract/context.h"
#include "contract/error.h"
#include "callback.h"

static int is_status(int value) {
    switch (value) {
#define GSW_STATUS_CASE(name, number, text) case number:
        GSW_STATUS_LIST(GSW_STATUS_CASE)
#undef GSW_STATUS_CASE
        return 1;
    default:
        return 0;
    }
}

gsw_status gsw_call_apply(gsw_context *context, const char *what, gsw_apply_fn apply, void *user,
                          const double *x, double *y) {
    char before[sizeof context->message];
    memcpy(before, context->message, sizeof before);
    context->message[0] = '\0';
    const gsw_status status = apply(user, context, x, y);
    if (status == GSW_SUCCESS) {
        memcpy(context->message, before, sizeof before);
        return GSW_SUCCESS;
    }
    GSW_REQUIRE(context, is_status((int)status), "%s: the callback returned %d, not a gsw_status",
                what, (int)status);
    if (context->message[0] != '\0')
        return gsw_fail(context, status, "%s: the callback failed: %s", what, context->message);
    return gsw_fail(context, status, "%s: the callback returned %s", what, gsw_status_name(status));
}
