/* cores.h: how many threads are of use, on a machine that others use as well.
 *
 * Threads of one kernel wait for each other. Where another process takes a core away from one of
 * them, all the others wait for it, and n threads are slower than n - 1. So a wait that lasts long
 * (one that no kernel of this library makes on an idle machine) counts as a lost core: for a while
 * kernels then run with one thread less. After that all threads are tried again. The while is
 * short at first; it doubles whenever the trial fails, so that a busy machine is tried seldom and
 * an idle one that was disturbed once is soon back to speed. Results do not depend on any of this,
 * since they are the same bits for every number of threads.
 *
 * What is known about the cores is common to all contexts of the process. With the environment
 * variable GSW_KEEP_THREADS no core counts as lost: for tests that want more threads than cores. */
#ifndef GSW_CPU_CORES_H
#define GSW_CPU_CORES_H

#include <stdint.h>

struct gsw_context;

/* Threads that some work is worth now: one for each `grain` of `size`, at most those of the context
 * that have a core. At least 1. */
int gsw_useful_threads(const struct gsw_context *context, int64_t size, int64_t grain);

/* Most threads that a context takes by itself, however many OpenMP offers. */
int gsw_thread_limit(void);

/* A wait for another thread: {0} before its first turn. */
typedef struct gsw_wait {
    unsigned turns;
    int reported;  /* as a lost core */
    int64_t began; /* ns; 0 before the first look at the clock */
} gsw_wait;

enum { GSW_WAIT_PAUSES = 1024 }; /* turns between two looks at the clock: some 10 us */

/* Gives the core to whoever wants it. Counts a core as lost once the wait is long. It does not
 * sleep: a sleeper is late when the wait ends, which costs more than it gives. */
void gsw_wait_long(gsw_wait *wait);

/* One turn of a wait. */
static inline void gsw_wait_turn(gsw_wait *wait) {
    if (++wait->turns % GSW_WAIT_PAUSES == 0)
        gsw_wait_long(wait);
#if defined(__x86_64__)
    else
        __builtin_ia32_pause();
#endif
}

#endif
