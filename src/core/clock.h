/* clock.h: the time that does not jump. */
#ifndef GSW_CLOCK_H
#define GSW_CLOCK_H

#include <time.h>

/* Seconds since a fixed moment. */
static inline double gsw_seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
