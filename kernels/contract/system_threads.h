/* system_threads.h: threads of the process: whether a fork has lost them, and how many may start.
 */
#ifndef GSW_SYSTEM_THREADS_H
#define GSW_SYSTEM_THREADS_H

#include <stdbool.h>
#include <gridsweep/context.h>

/* ---- whether this process is a fork of one that ran threads. */

/* Begins to watch for forks; may be called any number of times. Forks before the first call are not
 * noticed. */
void gsw_watch_forks(void);

/* Whether this process was forked from one that had more than one thread at that moment. Only the
 * forking thread exists in the child. OpenMP's pool of threads is gone, and some runtimes (GNU's)
 * would wait for it for ever. Such a child computes with one thread. */
bool gsw_forked_from_threads(void);

/* ---- how many threads the system lets a caller start. */

/* The threads of a context that OpenMP can have in the calling thread, which counts as one of them.
 * Where a limit of processes or of memory stops OpenMP's runtime, the runtime ends the whole
 * process. So this starts as many threads first, and ends them; where the system refuses one, it
 * warns and returns fewer. It does so once in each calling thread. */
int gsw_startable_threads(const gsw_context *context);

#endif
