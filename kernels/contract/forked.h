/* forked.h: whether this process is a fork of one that ran threads. */
#ifndef GSW_FORKED_H
#define GSW_FORKED_H

#include <stdbool.h>

/* Begins to watch for forks; may be called any number of times. Forks before the first call are not
 * noticed. */
void gsw_watch_forks(void);

/* Whether this process was forked from one that had more than one thread at that moment. Only the
 * forking thread exists in the child. OpenMP's pool of threads is gone, and some runtimes (GNU's)
 * would wait for it for ever. Such a child computes with one thread. */
bool gsw_forked_from_threads(void);

#endif
