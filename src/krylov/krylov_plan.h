/* krylov_plan.h: an iteration of CG or BiCGSTAB as a list of steps, and how the list is performed
 * for one system or several.
 *
 * Systems in neighbouring places of the work vectors (krylov_run.h) share a solve with the
 * preconditioner and a product with the matrix: what these read is read once for some of them.
 * Passes between two such steps are done system by system, so that a vector is in the cache when
 * the next pass reads it. Each system's values have the bits that they have alone. */
#ifndef GSW_KRYLOV_PLAN_H
#define GSW_KRYLOV_PLAN_H

#include "krylov_run.h"

typedef enum gsw_krylov_action {
    GSW_STEP_PASS,                /* over these vectors */
    GSW_STEP_PRECONDITION,        /* from, to: M^-1, or P M^-1 with a null vector */
    GSW_STEP_PRECONDITION_NARROW, /* for the preconditioner's own fp32 vectors: one system only */
    GSW_STEP_MULTIPLY,            /* from, to: A, or P A */
    GSW_STEP_MULTIPLY_PASS        /* the same, and a pass over both that updates nothing */
} gsw_krylov_action;

/* A vector is the number of a work vector, or one of these. */
enum { GSW_KRYLOV_X = -1, GSW_KRYLOV_NARROW_IN = -2, GSW_KRYLOV_NARROW_OUT = -3 };

typedef struct gsw_plan_step {
    gsw_krylov_action action;
    gsw_pass pass;
    int vector[GSW_PASS_VECTORS];
} gsw_plan_step;

typedef struct gsw_krylov_plan {
    int count;
    gsw_plan_step step[12];
} gsw_krylov_plan;

/* These add a step. A step of the preconditioner is left out where there is none; `from` and `to`
 * are then the same vector. */
void gsw_plan_pass(gsw_krylov_plan *plan, gsw_pass pass, const int *vectors);
void gsw_plan_precondition(const gsw_krylov_run *run, gsw_krylov_plan *plan, int from, int to);
void gsw_plan_precondition_narrow(gsw_krylov_plan *plan);
void gsw_plan_multiply_pass(gsw_krylov_plan *plan, gsw_pass pass, int from, int to);

/* Adds those of gsw_krylov_apply(). */
void gsw_plan_apply(const gsw_krylov_run *run, gsw_krylov_plan *plan, int from, int hat, int to);

/* Performs the steps from number `first` on for `count` systems in neighbouring places. An error
 * may leave some of them after the iteration and others before it; each x is an iterate. */
gsw_status gsw_krylov_perform(const gsw_krylov_plan *plan, int first, gsw_krylov_run *const *runs,
                              int count);

#endif
