/* quiet.c: see quiet.h. */
#include <string.h>

#include "contract/error.h"
#include "quiet.h"

gsw_quiet gsw_quiet_begin(gsw_context *context) {
    gsw_quiet quiet = {.log = context->log};
    memcpy(quiet.message, context->message, sizeof quiet.message);
    context->log = NULL;
    return quiet;
}

void gsw_quiet_end(gsw_context *context, const gsw_quiet *quiet, int forget) {
    context->log = quiet->log;
    if (forget)
        memcpy(context->message, quiet->message, sizeof quiet->message);
}

gsw_status gsw_quiet_settle(gsw_context *context, const gsw_quiet *quiet, gsw_status status,
                            int spared) {
    gsw_quiet_end(context, quiet, status == GSW_SUCCESS || spared);
    return status == GSW_SUCCESS || spared ? GSW_SUCCESS
                                           : gsw_fail(context, status, "%s", context->message);
}
