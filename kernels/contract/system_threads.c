/* system_threads.c: see system_threads.h. */
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

#include "contract/context.h"
#include "contract/error.h"
#include "contract/system_threads.h"

/* Threads of the process and two more, by the links of a folder with a folder for each. 0: the
 * system does not say (Linux does). */
static long count_tasks(void) {
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 ? (long)tasks.st_nlink : 0;
}

/* ---- forks: where the number is not known, as of a process with threads ---- */

static pthread_once_t watched = PTHREAD_ONCE_INIT;
static _Atomic bool threads_at_fork, forked;

/* In the parent, before it forks. */
static void before_fork(void) {
    threads_at_fork = count_tasks() != 3;
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

/* ---- how many may start ---- */

#ifdef _OPENMP

enum { LEAVING_TURNS = 1000 };

static void *pass_gate(void *gate) {
    (void)pthread_rwlock_rdlock(gate); /* all pass at once */
    (void)pthread_rwlock_unlock(gate);
    return NULL;
}

/* Starts threads until there are `wanted` or the system refuses one. Returns how many there were.
 */
static int try_threads(int wanted) {
    pthread_t thread[GSW_THREADS_MAX];
    pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;
    const long before = count_tasks();
    int count = 1;
    (void)pthread_rwlock_wrlock(&gate);
    while (count < wanted && pthread_create(&thread[count], NULL, pass_gate, &gate) == 0)
        count++;
    (void)pthread_rwlock_unlock(&gate);
    for (int i = 1; i < count; i++)
        (void)pthread_join(thread[i], NULL);
    /* The system counts a thread for a moment after it has ended. */
    for (int turn = 0; turn < LEAVING_TURNS && count_tasks() > before; turn++)
        (void)sched_yield();
    return count;
}

int gsw_startable_threads(const gsw_context *context) {
    static _Thread_local int tried = 1, startable = 1;
    const int wanted = context->threads;
    if (wanted > tried && !gsw_forked_from_threads()) {
        const int count = try_threads(wanted);
        /* At a limit, OpenMP gets half: when a team grows again, the runtime starts new threads
         * while those of the team before may still be ending. */
        startable = count == wanted ? wanted : (count + 1) / 2;
        tried = wanted;
        if (count < wanted)
            gsw_warn(context,
                     "the system lets only %d of %d threads start, and %d are used: raise its "
                     "limits (ulimit -u, ulimit -v, pids.max), or ask for fewer threads",
                     count, wanted, startable);
    }
    return wanted < startable ? wanted : startable;
}

#else

int gsw_startable_threads(const gsw_context *context) {
    return context->threads;
}

#endif
