/* gridsweep/status.h: the status that every call returns.
 *
 * Every function that can fail returns a gsw_status. GSW_SUCCESS is 0; all other values are errors.
 * An error leaves the outputs untouched, unless the function's comment says otherwise. The context
 * keeps a sentence that names the argument, the row or the file: use gsw_context_message() in
 * context.h. Use gsw_status_name() and gsw_status_text() if you have only the status. */
#ifndef GRIDSWEEP_STATUS_H
#define GRIDSWEEP_STATUS_H

#include <gridsweep/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One list defines the enum, the names and the texts. The values never change; compare with the
 * enumerators, not with numbers. */
#define GSW_STATUS_LIST(X)                                                                         \
    X(GSW_SUCCESS, 0, "success")                                                                   \
    X(GSW_ERROR_INVALID_ARGUMENT, 1, "an argument has a value that is not allowed")                \
    X(GSW_ERROR_OVERFLOW, 2, "a size does not fit in 64 bits")                                     \
    X(GSW_ERROR_OUT_OF_MEMORY, 3, "memory could not be allocated")                                 \
    X(GSW_ERROR_NOT_A_GRID, 4, "the matrix does not fit the grid and the stencil")                 \
    X(GSW_ERROR_UNSUPPORTED, 5, "the combination is valid but not supported")                      \
    X(GSW_ERROR_IO, 6, "a file could not be opened, read or written")                              \
    X(GSW_ERROR_FORMAT, 7, "a file's content is malformed")                                        \
    X(GSW_ERROR_ZERO_PIVOT, 8, "a pivot is zero, negative where it must not be, or not finite")    \
    X(GSW_ERROR_NOT_CONVERGED, 9, "the iteration ended before it met the tolerance")               \
    X(GSW_ERROR_BREAKDOWN, 10, "the Krylov method broke down")                                     \
    X(GSW_ERROR_NON_FINITE, 11, "a NaN or an infinity appeared in the iteration")                  \
    X(GSW_ERROR_STOPPED, 12, "the monitor callback asked to stop")                                 \
    X(GSW_ERROR_NO_BACKEND, 13, "the backend is not built in or has no device to run on")          \
    X(GSW_ERROR_DEVICE, 14, "the device reported an error")                                        \
    X(GSW_ERROR_TIMEOUT, 15, "a bounded wait inside a kernel or for another process ran out")      \
    X(GSW_ERROR_COMMUNICATION, 16, "a message between processes failed")

typedef enum gsw_status {
#define GSW_STATUS_ENUM(name, value, text) name = (value),
    GSW_STATUS_LIST(GSW_STATUS_ENUM)
#undef GSW_STATUS_ENUM
} gsw_status;

/* The enumerator's name, such as "GSW_ERROR_FORMAT"; "GSW_UNKNOWN_STATUS" for any other value. It
 * is never NULL. Static storage. */
GSW_API
const char *gsw_status_name(gsw_status status);

/* One plain sentence about the status. It is never NULL. Static storage. */
GSW_API
const char *gsw_status_text(gsw_status status);

#ifdef __cplusplus
}
#endif

#endif
