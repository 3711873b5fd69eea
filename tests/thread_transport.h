/* thread_transport.h: a transport between the threads of a test, each of which acts as a process.
 *
 * Messages are copied, so a send has ended when it returns. The n-th receive from a thread with a
 * tag takes its n-th message with that tag. With `jitter`, requests end late at random. A thread in
 * `silent` sends nothing: its messages are lost. */
#ifndef GSW_TESTS_THREAD_TRANSPORT_H
#define GSW_TESTS_THREAD_TRANSPORT_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/partition.h>

enum { HUB_PROCESSES = 12, HUB_TAGS = 8 };

typedef struct hub_message {
    struct hub_message *next;
    int from, to, tag;
    int64_t number;
    size_t bytes;
    char data[];
} hub_message;

typedef struct hub {
    pthread_mutex_t lock;
    int processes;
    int jitter; /* one test of a request in `jitter` looks; 0: all do */
    int silent; /* a rank, or -1 */
    hub_message *first;
    int64_t sent[HUB_PROCESSES][HUB_PROCESSES][HUB_TAGS];
    int64_t received[HUB_PROCESSES][HUB_PROCESSES][HUB_TAGS];
} hub;

typedef struct hub_rank {
    hub *hub;
    int rank;
    int64_t gathers;
    unsigned seed;
} hub_rank;

typedef struct hub_request {
    int gather;
    int from, tag;
    int64_t number;
    size_t bytes;
    char *data;
} hub_request;

enum { HUB_GATHER = 0 }; /* a tag that the library does not use */

static void hub_post(hub *h, int from, int to, int tag, const void *data, size_t bytes) {
    hub_message *m = malloc(sizeof *m + bytes), **last = &h->first;
    *m = (hub_message){.from = from, .to = to, .tag = tag, .bytes = bytes};
    memcpy(m->data, data, bytes);
    pthread_mutex_lock(&h->lock);
    m->number = h->sent[from][to][tag]++;
    while (*last)
        last = &(*last)->next;
    *last = m;
    pthread_mutex_unlock(&h->lock);
}

static int hub_send(void *user, int to, int tag, const void *data, size_t bytes, void **request) {
    const hub_rank *r = user;
    if (r->hub->silent != r->rank)
        hub_post(r->hub, r->rank, to, tag, data, bytes);
    *request = NULL;
    return 0;
}

static int hub_receive(void *user, int from, int tag, void *data, size_t bytes, void **request) {
    const hub_rank *r = user;
    hub_request *made = malloc(sizeof *made);
    pthread_mutex_lock(&r->hub->lock);
    *made = (hub_request){.from = from,
                          .tag = tag,
                          .number = r->hub->received[from][r->rank][tag]++,
                          .bytes = bytes,
                          .data = data};
    pthread_mutex_unlock(&r->hub->lock);
    *request = made;
    return 0;
}

/* Takes the message out of the hub, or returns 0. A message of another length is a failure. */
static int hub_take(hub *h, int to, const hub_request *want, int from, char *data) {
    int found = 0;
    pthread_mutex_lock(&h->lock);
    for (hub_message **at = &h->first; *at; at = &(*at)->next) {
        hub_message *m = *at;
        if (m->from != from || m->to != to || m->tag != want->tag || m->number != want->number)
            continue;
        found = m->bytes == want->bytes ? 1 : -1;
        if (found > 0)
            memcpy(data, m->data, m->bytes);
        *at = m->next;
        free(m);
        break;
    }
    pthread_mutex_unlock(&h->lock);
    return found;
}

static int hub_test(void *user, void **request) {
    hub_rank *r = user;
    hub_request *want = *request;
    if (r->hub->jitter > 0 && rand_r(&r->seed) % r->hub->jitter != 0)
        return 0;
    for (; want->gather && want->from < r->hub->processes; want->from++) {
        const int found = hub_take(r->hub, r->rank, want, want->from,
                                   want->data + (size_t)want->from * want->bytes);
        if (found != 1)
            return found;
    }
    if (!want->gather) {
        const int found = hub_take(r->hub, r->rank, want, want->from, want->data);
        if (found != 1)
            return found;
    }
    free(want);
    *request = NULL;
    return 1;
}

static int hub_gather(void *user, const void *own, size_t bytes, void *all, void **request) {
    hub_rank *r = user;
    hub_request *made = malloc(sizeof *made);
    for (int to = 0; to < r->hub->processes && r->hub->silent != r->rank; to++)
        hub_post(r->hub, r->rank, to, HUB_GATHER, own, bytes);
    *made = (hub_request){.gather = 1,
                          .from = 0,
                          .tag = HUB_GATHER,
                          .number = r->gathers++,
                          .bytes = bytes,
                          .data = all};
    *request = made;
    return 0;
}

static void hub_abandon(void *user, void **request) {
    (void)user;
    free(*request);
    *request = NULL;
}

static gsw_transport hub_transport(hub_rank *rank) {
    return (gsw_transport){.size = sizeof(gsw_transport),
                           .rank = rank->rank,
                           .processes = rank->hub->processes,
                           .user = rank,
                           .send = hub_send,
                           .receive = hub_receive,
                           .gather = hub_gather,
                           .test = hub_test,
                           .abandon = hub_abandon};
}

/* What one thread does; the test checks its results after all threads have ended, because Check's
 * assertions work in the main thread only. */
typedef void (*hub_body)(hub_rank *rank, const gsw_transport *transport, void *user);

typedef struct hub_thread {
    hub_rank rank;
    hub_body body;
    void *user;
    pthread_t thread;
} hub_thread;

static void *hub_main(void *argument) {
    hub_thread *t = argument;
    const gsw_transport transport = hub_transport(&t->rank);
    t->body(&t->rank, &transport, t->user);
    return NULL;
}

/* Runs `body` in so many threads, and waits for them. */
static void hub_run(int processes, int jitter, int silent, hub_body body, void *user) {
    static hub_thread threads[HUB_PROCESSES];
    hub *h = calloc(1, sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    h->processes = processes;
    h->jitter = jitter;
    h->silent = silent;
    for (int i = 0; i < processes; i++) {
        threads[i] = (hub_thread){
            .rank = {.hub = h, .rank = i, .seed = (unsigned)i + 1}, .body = body, .user = user};
        pthread_create(&threads[i].thread, NULL, hub_main, &threads[i]);
    }
    for (int i = 0; i < processes; i++)
        pthread_join(threads[i].thread, NULL);
    while (h->first) {
        hub_message *m = h->first;
        h->first = m->next;
        free(m);
    }
    pthread_mutex_destroy(&h->lock);
    free(h);
}

#endif
