/* cores.h: how many threads are useful on a machine that other processes use as well.
 *
 * Threads of one kernel wait for each other. When another process takes a core from one thread, all
 * the others wait for that thread. Then n threads are slower than n - 1. So a long wait counts as a
 * lost core, and so does a thread that begins late. Neither happens on an idle machine. For some
 * time, kernels then run with one thread less. After that all threads are tried again. The time is
 * short at first and doubles whenever the trial fails. So a busy machine is tried rarely, and an
 * idle machine soon uses all its cores again. Results do not depend on any of this: they have the
 * same bits for every number of threads.
 *
 * All contexts of the process share what is known about the cores. With the environment variable
 * GSW_KEEP_THREADS no core counts as lost. Tests that want more threads than cores set it. */
#ifndef GSW_CPU_CORES_H
#define GSW_CPU_CORES_H

#include <stdint.h>

struct gsw_context;

/* The number of threads that a piece of work is worth now: one per `grain` of `size`, and at most
 * the context's threads that have a core. At least 1. */
int gsw_useful_threads(const struct gsw_context *context, int64_t size, int64_t grain);

/* Most threads that a context takes by default, however many OpenMP offers. */
int gsw_thread_limit(void);

/* A wait for another thread: {0} before its first turn. */
typedef struct gsw_wait {
    unsigned turns;
    int reported;  /* counted as a lost core */
    int64_t began; /* ns; 0 before the clock is first read */
} gsw_wait;

enum { GSW_WAIT_PAUSES = 1024 }; /* turns between two readings of the clock: some 10 us */

/* The time at which a kernel calls its threads. With one thread it is 0, and the clock is not read.
 */
int64_t gsw_team_begins(int threads);

/* Each thread of the kernel calls this first. It counts a core as lost if the thread begins long
 * after `team_began`. The other threads may have done all of its work by then, but they wait for it
 * at the end of the kernel. */
void gsw_thread_begins(int64_t team_began);

/* Yields the core to any other thread that is ready. Counts a core as lost once the wait is long.
 * It does not sleep, because a sleeping thread would continue too late when the wait ends. */
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
