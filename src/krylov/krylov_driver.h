/* krylov_driver.h: how a call is solved, above the methods. krylov.c checks the call,
 * krylov_solve.c takes its systems one after the other and judges their x, and krylov_queue.c runs
 * the rounds of a method. A system is entered and left as krylov_method.h says. */
#ifndef GSW_KRYLOV_DRIVER_H
#define GSW_KRYLOV_DRIVER_H

#include "krylov_method.h"

/* ---- A call: krylov_solve.c ---- */

/* Right-hand side i begins at b + i * ldb, and x likewise. `results` may be NULL; else it is an
 * array of `count` structs that have passed gsw_result_check(), as long as the first one says. */
typedef struct gsw_krylov_job {
    int64_t count;
    const double *b;
    int64_t ldb;
    double *x;
    int64_t ldx;
    gsw_krylov_result *results;
    int several;  /* messages name the system */
    double begin; /* when the call began, by gsw_seconds_now() */
    gsw_context *context;
    const gsw_krylov_method *method;
    const gsw_operator *op;
    gsw_preconditioner *preconditioner;
    gsw_krylov_options options; /* defaults resolved */
    int64_t n;
} gsw_krylov_job;

/* The result of system i, in the caller's array; NULL if there is none. */
gsw_krylov_result *gsw_krylov_result_of(const gsw_krylov_job *job, int64_t i);

/* Arguments have been checked. Allocates the work vectors and frees them. Fills all results.
 * Returns an error that concerns all systems, or else the status of the first system that has not
 * converged. */
gsw_status gsw_krylov_solve(const gsw_krylov_job *job);

/* ---- A system: krylov_system.c and eisenstat.c ---- */

/* The true residual of the user's x, and what rounding leaves unknown of it. */
typedef struct gsw_krylov_truth {
    double residual; /* ||b - A x|| */
    double checked;  /* the norm that the tolerance applies to: the same, or ||M^-1 (b - A x)|| */
    double rounding; /* bound of the rounding error in it */
    double x;        /* ||x|| */
} gsw_krylov_truth;

/* A system that is being solved. */
struct gsw_krylov_member {
    gsw_krylov_run user;       /* of the user's own system */
    gsw_krylov_run *run;       /* what the method has: the same, or that of a form */
    double *own;               /* the vectors of its system, `spacing` values apart */
    double b_norm, guess_norm; /* ||b||, ||x0|| */
    double given, along;       /* with a null vector ||b|| before the projection, and v'b */
    gsw_krylov_truth truth;    /* at the end of the last round */
    int known;                 /* it is that of the present x */
    int judged;                /* there was one */
    int stalls;                /* rounds in succession that were in vain */
    double before;             /* the norm at the end of the round before */
    gsw_krylov_result result;
};

/* The distance of vectors of n values that lie one after the other: a multiple of 256 bytes, which
 * a warp reads at a time and which is a multiple of every cache line, and not a power of two,
 * because vectors would then compete for the same sets of a cache. */
static inline int64_t gsw_krylov_spacing(int64_t n) {
    return ((n + 31) / 32 + 3) * 32;
}

/* The user's own system, plain or with a null vector. */
gsw_krylov_system gsw_krylov_user_system(const gsw_krylov_job *job);

/* The beginning of a plain one, for forms of it: the norms, and what is to be reached. */
gsw_status gsw_krylov_enter_user(gsw_krylov_system *system, gsw_krylov_member *m,
                                 gsw_krylov_next *next);

/* Measures run->x. Overwrites work vectors 0, 1 and 2. */
gsw_status gsw_krylov_measure(gsw_krylov_run *run, gsw_krylov_truth *truth);

/* The same, with r = b - A x in any vector and without other work vectors. *done = 0: that is not
 * possible here, and nothing has been done. */
gsw_status gsw_krylov_measure_at_once(gsw_krylov_run *run, double *r, gsw_krylov_truth *truth,
                                      int *done);

/* Opens Eisenstat's form for runs like `user`. *form is NULL where it does not apply, or where
 * there is no memory for a form that nobody has asked for. The values of the matrix are read now,
 * and must not change before the end. */
gsw_status gsw_eisenstat_open(const gsw_krylov_run *user, const gsw_krylov_method *method,
                              gsw_krylov_system **form);
void gsw_eisenstat_close(gsw_krylov_system *form);

/* ---- Rounds: krylov_queue.c ---- */

/* A run in a queue. */
typedef struct gsw_krylov_place {
    gsw_krylov_run *run;
    int state;     /* which of the states is its own */
    int fresh;     /* its round has not begun */
    int64_t since; /* the first copy of states that has its round */
    int64_t limit; /* the copy with its last iteration */
} gsw_krylov_place;

/* Runs rounds of a method side by side. A round begins from run->x and ends when the method's own
 * norm has reached run->target, or in an error. */
typedef struct gsw_krylov_queue {
    gsw_context *context;
    const gsw_krylov_method *method;
    int width; /* places, and states */
    int count; /* runs: those of the first places */
    gsw_krylov_place place[GSW_KRYLOV_SYSTEMS];
    gsw_krylov_state *states; /* in the backend's memory */
    int64_t queued, seen;     /* copies that have been queued, and examined */
    int collected;            /* copy `seen` has been collected */
    gsw_krylov_state copy[GSW_KRYLOV_SLOTS][GSW_KRYLOV_SYSTEMS];
} gsw_krylov_queue;

/* Opens a queue for at most `width` runs like this one. Close it also after a failure. */
gsw_status gsw_krylov_queue_open(gsw_krylov_queue *queue, const gsw_krylov_method *method,
                                 const gsw_krylov_run *run, int width);
void gsw_krylov_queue_close(gsw_krylov_queue *queue);

/* Begins a round in the place: of a new run in the first free place, or again. */
void gsw_krylov_queue_begin(gsw_krylov_queue *queue, int place, gsw_krylov_run *run);

/* Goes on with a round that has reached its target after its start, to a lower run->target, or that
 * has stopped for the host to copy x or to look at it. */
gsw_status gsw_krylov_queue_resume(gsw_krylov_queue *queue, int place);

/* Takes out the run of a place whose round has ended. The last run moves to that place with its
 * work vectors. No run is put in after that. */
gsw_status gsw_krylov_queue_remove(gsw_krylov_queue *queue, int place);

/* Iterates until a round ends, and returns how: *place is its own. At least one run must be there
 * whose round has not ended. Where *place is -1, the error concerns all of them. A round goes on
 * after an end that gsw_krylov_rescue() cures. Errors of a run: NON_FINITE, BREAKDOWN, STOPPED,
 * NOT_CONVERGED at the limit of iterations or of the norm; others if run->failed. */
gsw_status gsw_krylov_queue_next(gsw_krylov_queue *queue, int *place);

/* ---- Ends without convergence: krylov_rescue.c ---- */

/* gsw_krylov_check() for a norm that has been judged already. KEEP copies x into run->rescued.x,
 * where there is memory for it. */
gsw_status gsw_krylov_settle(gsw_krylov_run *run, gsw_krylov_end end);

/* Frees that copy. */
void gsw_krylov_forget(gsw_krylov_run *run);

/* Looks at how a round has ended: run->rescued says it. *again: the method is to begin again from
 * run->x. Else this is the round's last word, and after a growth x is the best one. */
gsw_status gsw_krylov_rescue(gsw_krylov_run *run, const gsw_krylov_method *method,
                             gsw_status status, int *again);

/* The likely cause, found from the matrix, from b and from the present x: the end of a sentence
 * that begins with "; ", or "" where nothing speaks for one. Overwrites work vectors 0, 1 and 2. */
gsw_status gsw_krylov_find_cause(gsw_krylov_run *run, char *cause, size_t size);

#endif
