/* internal.h: what every file of the library shares: the context, and how errors are raised. */
#ifndef GSW_INTERNAL_H
#define GSW_INTERNAL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <gridsweep/context.h>

struct gsw_backend_ops;

struct gsw_context {
    const struct gsw_backend_ops *ops;
    gsw_backend backend;
    int threads;
    void *backend_data; /* owned by the backend */
    gsw_log_fn log;
    void *log_user;
    char device[160];
    char message[512];
    int row_base; /* of messages: 1 + what gsw_context_set_row_base() was given; 0: not set */
};

/* Keeps the text (printf format) in the context, hands it to the log callback and returns `status`.
 * The context may be NULL: then only the status travels. */
gsw_status gsw_fail(gsw_context *context, gsw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
gsw_status gsw_vfail(gsw_context *context, gsw_status status, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

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

/* The same where there is something to free: needs a variable `status` and the label. */
#define GSW_TRY_GOTO(call, label)                                                                  \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != GSW_SUCCESS)                                                                 \
            goto label;                                                                            \
    } while (0)

/* a*b and a+b of non-negative 64-bit sizes; return 0 and leave *out alone on overflow. */
static inline int gsw_mul_size(size_t a, size_t b, size_t *out) {
    size_t result;
    if (__builtin_mul_overflow(a, b, &result))
        return 0;
    *out = result;
    return 1;
}

/* Whether two vectors of so many fp64 values have any in common. */
static inline int gsw_overlap(const double *a, const double *b, int64_t points) {
    const uintptr_t from_a = (uintptr_t)a, from_b = (uintptr_t)b;
    const uintptr_t distance = from_a < from_b ? from_b - from_a : from_a - from_b;
    return distance / sizeof(double) < (uint64_t)points;
}

/* malloc of count * size bytes, 64-byte aligned, freed with free(). Fails with OUT_OF_MEMORY or
 * OVERFLOW and names `what`. count 0 gives a valid pointer. */
gsw_status gsw_alloc(gsw_context *context, size_t count, size_t size, const char *what, void **out);

#endif
