/* error.c: see error.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "contract/context.h"
#include "contract/error.h"

gsw_status gsw_fail(gsw_context *context, gsw_status status, const char *format, ...) {
    if (context == NULL)
        return status;
    /* An argument may be the context's own message, so the new text is written beside it. */
    char text[sizeof context->message];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    memcpy(context->message, text, sizeof text);
    if (context->log != NULL)
        context->log(context->log_user, status, context->message);
    return status;
}

void gsw_warn(const gsw_context *context, const char *format, ...) {
    char text[sizeof context->message];
    va_list arguments;
    if (context->log == NULL)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    context->log(context->log_user, GSW_SUCCESS, text);
}
