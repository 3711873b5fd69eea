/* cores.c: the state that cores.h describes. It only affects speed. Threads change it without a
 * lock: a thread that reads an old value loses some time and nothing else. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "contract/context.h"
#include "contract/system_threads.h"
#include "cores.h"
#include "threads.h"

#define MS INT64_C(1000000) /* ns */

enum {
    LONG_WAIT = 2 * MS,  /* schedulers take a core away for 3 to 4 ms */
    SAME_EVENT = 5 * MS, /* long waits that begin within this time of each other have one cause */
    WHILE_MIN = 50 * MS,
    WHILE_MAX = 1000 * MS,
    TRIAL = 500 * MS, /* after this time without a long wait, all threads count as useful */
    THREADS_EACH = 8, /* most threads per processor, */
    THREADS_MIN = 64  /* or this many, where that is more */
};

static struct {
    _Atomic int lost;        /* cores */
    _Atomic int64_t until;   /* when all threads are tried again */
    _Atomic int64_t last;    /* when a core was lost last */
    _Atomic int64_t since;   /* when all threads were tried last */
    _Atomic int64_t backoff; /* how long a lost core counts as lost */
} cores;

#define GET(member)        atomic_load_explicit(&cores.member, memory_order_relaxed)
#define SET(member, value) atomic_store_explicit(&cores.member, (value), memory_order_relaxed)

static int64_t clock_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

static int lost_cores(void) {
    const int lost = GET(lost);
    if (lost == 0)
        return 0;
    const int64_t now = clock_ns();
    if (now < GET(until))
        return lost;
    SET(since, now);
    SET(lost, 0);
    return 0;
}

/* Counts one core as lost. */
static void lose_core(int64_t now) {
    int64_t last = GET(last);
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): unsafe only while somebody changes the environment */
    if (getenv("GSW_KEEP_THREADS") != NULL)
        return;
    if (now - last < SAME_EVENT || !atomic_compare_exchange_strong(&cores.last, &last, now))
        return;
    int64_t backoff = GET(backoff);
    if (GET(lost) == 0) {
        const int failed = now - GET(since) < TRIAL;
        backoff = !failed ? WHILE_MIN : 2 * backoff < WHILE_MAX ? 2 * backoff : WHILE_MAX;
        SET(backoff, backoff);
    }
    SET(until, now + backoff);
    atomic_fetch_add_explicit(&cores.lost, 1, memory_order_relaxed);
}

int64_t gsw_team_begins(int threads) {
    return threads > 1 ? clock_ns() : 0;
}

void gsw_thread_begins(int64_t team_began) {
    if (team_began == 0)
        return;
    const int64_t now = clock_ns();
    if (now - team_began >= LONG_WAIT)
        lose_core(now);
}

void gsw_wait_long(gsw_wait *wait) {
    const int64_t now = clock_ns();
    if (wait->began == 0)
        wait->began = now;
    if (now - wait->began >= LONG_WAIT && !wait->reported) {
        wait->reported = 1;
        lose_core(now);
    }
    (void)sched_yield();
}

int gsw_useful_threads(const gsw_context *context, int64_t size, int64_t grain) {
    const int64_t worth = 1 + size / grain;
    if (worth == 1 || context->threads == 1 || gsw_forked_from_threads())
        return 1;
    int threads = gsw_startable_threads(context) - lost_cores();
    threads = threads < 1 ? 1 : threads;
    return worth < threads ? (int)worth : threads;
}

int gsw_thread_limit(void) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const long most =
        processors > THREADS_MIN / THREADS_EACH ? processors * THREADS_EACH : THREADS_MIN;
    const int offered = gsw_forked_from_threads() ? 1 : gsw_thread_offer();
    const int limit = most < GSW_THREADS_MAX ? (int)most : GSW_THREADS_MAX;
    return offered < limit ? offered : limit;
}
