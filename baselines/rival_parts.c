/* rival_parts.c: parts that the rivals share. */
#include "rival_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

int gsw_rival_fail(char *message, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (size > 0)
        (void)vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return -1;
}

static int is_triangle(const gsw_csr *csr) {
    return csr->index_type == GSW_I32 && csr->base == 0 && csr->rows >= 1 &&
           csr->rows <= INT32_MAX && csr->nonzeros >= csr->rows && csr->nonzeros <= INT32_MAX;
}

int gsw_rival_check(const gsw_rival_system *system, int on_device, char *message, size_t size) {
    if (system->part != GSW_LOWER && system->part != GSW_UPPER)
        return gsw_rival_fail(message, size, "part must be the lower or the upper part");
    if (system->host == NULL || !is_triangle(system->host))
        return gsw_rival_fail(message, size,
                              "the part must be a 0-based CSR with int32 indices and a diagonal");
    if (on_device && (system->device == NULL || !is_triangle(system->device)))
        return gsw_rival_fail(message, size, "there is no copy of the system on a device");
    return 0;
}

double gsw_rival_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}
