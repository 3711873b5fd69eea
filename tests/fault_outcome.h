/* fault_outcome.h: how a run with a fault has ended, and the table of all runs. */
#ifndef GSW_TESTS_FAULT_OUTCOME_H
#define GSW_TESTS_FAULT_OUTCOME_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <gridsweep/gridsweep.h>

#include "common/hash.h"

/* About so many faults are to be injected: GSW_FAULTS in the environment; 0: a short run. */
static inline long wanted_faults(void) {
    const char *text = getenv("GSW_FAULTS");
    return text != NULL ? strtol(text, NULL, 10) : 0;
}

/* A set of statuses as bits. */
#define MAY(status) (1u << (status))

/* How a run of a scene has ended. */
typedef struct outcome {
    gsw_status status;
    uint64_t hash;   /* of all that was noted */
    int left;        /* a failed call left an output that it must not leave */
    int substitute;  /* success, but in a documented other way, for lack of memory */
    int had_message; /* after a failure */
} outcome;

static inline void note(outcome *o, const void *bytes, size_t size) {
    o->hash = gsw_hash(o->hash, bytes, size);
}

static inline void note_number(outcome *o, int64_t number) {
    note(o, &number, sizeof number);
}

/* Ends the scene where the call failed. */
#define STEP(o, call)                                                                              \
    do {                                                                                           \
        (o)->status = (call);                                                                      \
        if ((o)->status != GSW_SUCCESS)                                                            \
            goto end;                                                                              \
    } while (0)

/* The same for a call that creates: after a failure the output must be NULL. */
#define MAKE(o, output, call)                                                                      \
    do {                                                                                           \
        (o)->status = (call);                                                                      \
        if ((o)->status != GSW_SUCCESS) {                                                          \
            (o)->left += (output) != NULL;                                                         \
            goto end;                                                                              \
        }                                                                                          \
    } while (0)

/* ---- Tables ---------------------------------------------------------------------------------- */

/* What became of the faults of one kind. */
typedef struct tally {
    long injected, refused, served, substituted, wrong, leaked;
} tally;

static inline void print_head(const char *refused) {
    printf("\n%-30s %8s %13s %8s %11s %6s %7s\n", "kind", "injected", refused, "served",
           "substituted", "wrong", "leaked");
}

static inline void print_tally(const char *kind, const tally *t) {
    printf("%-30s %8ld %13ld %8ld %11ld %6ld %7ld\n", kind, t->injected, t->refused, t->served,
           t->substituted, t->wrong, t->leaked);
}

static inline void add_tally(tally *sum, const tally *t) {
    sum->injected += t->injected;
    sum->refused += t->refused;
    sum->served += t->served;
    sum->substituted += t->substituted;
    sum->wrong += t->wrong;
    sum->leaked += t->leaked;
}

#endif
