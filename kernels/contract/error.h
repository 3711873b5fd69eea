/* error.h: how errors are raised and passed on. */
#ifndef GSW_ERROR_H
#define GSW_ERROR_H

#include <gridsweep/context.h>

/* Keeps the text (printf format) in the context, hands it to the log callback and returns `status`.
 * The context may be NULL: then only the status is returned. */
gsw_status gsw_fail(gsw_context *context, gsw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Hands a warning to the log callback, with GSW_SUCCESS: nothing has failed. */
void gsw_warn(const gsw_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Refuses a bad argument: GSW_REQUIRE(context, rtol >= 0, "rtol must not be negative"). */
#define GSW_REQUIRE(context, condition, ...)                                                       \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return gsw_fail((context), GSW_ERROR_INVALID_ARGUMENT, __VA_ARGS__);                   \
    } while (0)

/* Passes a failure on. */
#define GSW_TRY(call)                                                                              \
    do {                                                                                           \
        gsw_status gsw_try_status_ = (call);                                                       \
        if (gsw_try_status_ != GSW_SUCCESS)                                                        \
            return gsw_try_status_;                                                                \
    } while (0)

/* The same for functions with something to free: needs a variable `status` and the label. */
#define GSW_TRY_GOTO(call, label)                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != GSW_SUCCESS)                                                                 \
            goto label;                                                                            \
    } while (0)

#endif
