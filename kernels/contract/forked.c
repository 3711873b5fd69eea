/* forked.c: see forked.h. If the system does not report the number of threads (Linux does), a fork
 * counts as one of a process with threads. */
#include <pthread.h>
#include <sys/stat.h>
#include "contract/system_threads.h"

static pthread_once_t watched = PTHREAD_ONCE_INIT;
static _Atomic bool threads_at_fork, forked;

/* In the parent, before it forks. A folder has two links and one more for each folder in it. */
static void before_fork(void) {
    struct stat tasks;
    threads_at_fork = stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != 3;
}

/* In the child, whose only thread this is. */
static void in_child(void) {
    forked = forked || threads_at_fork;
}

static void watch(void) {
    (void)pthread_atfork(before_fork, NULL, in_child);
}

void gsw_watch_forks(void) {
    (void)pthread_once(&watched, watch);
}

bool gsw_forked_from_threads(void) {
    return forked;
}
