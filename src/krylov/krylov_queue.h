/* krylov_queue.h: runs the rounds of a Krylov method for several systems side by side. A round
 * begins from run->x and ends when the method's own norm has reached run->target, or in an error.
 */
#ifndef GSW_KRYLOV_QUEUE_H
#define GSW_KRYLOV_QUEUE_H

#include "krylov_methods.h"

/* A system in a queue. */
typedef struct gsw_krylov_place {
    gsw_krylov_run *run;
    int state;     /* which of the states is its own */
    int fresh;     /* its round has not begun */
    int64_t since; /* the first copy of states that has its round */
    int64_t limit; /* the copy with its last iteration */
} gsw_krylov_place;

typedef struct gsw_krylov_queue {
    gsw_context *context;
    const gsw_krylov_method *method;
    gsw_krylov_plan plan;
    int width; /* places, and states */
    int count; /* systems: those of the first places */
    gsw_krylov_place place[GSW_KRYLOV_SYSTEMS];
    gsw_krylov_state *states; /* in the backend's memory */
    int64_t queued, seen;     /* copies that have been queued, and examined */
    int collected;            /* copy `seen` has been collected */
    gsw_krylov_state copy[GSW_KRYLOV_SLOTS][GSW_KRYLOV_SYSTEMS];
} gsw_krylov_queue;

/* Opens a queue for at most `width` systems like this one. Close it also after a failure. */
gsw_status gsw_krylov_queue_open(gsw_krylov_queue *queue, const gsw_krylov_method *method,
                                 const gsw_krylov_run *run, int width);
void gsw_krylov_queue_close(gsw_krylov_queue *queue);

/* Begins a round of the system in the place: of a new one in the first free place, or again. */
void gsw_krylov_queue_begin(gsw_krylov_queue *queue, int place, gsw_krylov_run *run);

/* Goes on with a round that has reached its target after its start, to a lower run->target, or that
 * has stopped for the host to copy x or to look at it. The plan ends with passes, the check of the
 * norm among them. */
gsw_status gsw_krylov_queue_resume(gsw_krylov_queue *queue, int place);

/* Takes out the system of a place whose round has ended. The last system moves to that place with
 * its work vectors. No system is put in after that. */
gsw_status gsw_krylov_queue_remove(gsw_krylov_queue *queue, int place);

/* Iterates until a round ends, and returns how: *place is its system. At least one system must be
 * there whose round has not ended. Where *place is -1, the error concerns all of them. A round goes
 * on after an end that krylov_rescue.h cures. Errors of a system: NON_FINITE, BREAKDOWN, STOPPED,
 * NOT_CONVERGED at the limit of iterations or of the norm; others if run->failed. */
gsw_status gsw_krylov_queue_next(gsw_krylov_queue *queue, int *place);

#endif
