/* krylov_solve.h: solves systems until the true residual of each meets the tolerance. */
#ifndef GSW_KRYLOV_SOLVE_H
#define GSW_KRYLOV_SOLVE_H

#include "krylov_methods.h"

/* The systems of a call: right-hand side i begins at b + i * ldb, and x likewise. `results` may be
 * NULL; else it is an array of `count` structs that have passed gsw_result_check(), as long as the
 * first one says. */
typedef struct gsw_krylov_job {
    int64_t count;
    const double *b;
    int64_t ldb;
    double *x;
    int64_t ldx;
    gsw_krylov_result *results;
    double begin; /* when the call began, by gsw_seconds_now() */
    int several;  /* messages name the system */
} gsw_krylov_job;

/* The result of system i, in the caller's array; NULL if there is none. */
gsw_krylov_result *gsw_krylov_result_of(const gsw_krylov_job *job, int64_t i);

/* Arguments have been checked and options resolved. `common` has the context, the operator, the
 * preconditioner, the options and n. Allocates the work vectors and frees them. Fills all results.
 * Returns an error that concerns all systems, or else the status of the first system that has not
 * converged. */
gsw_status gsw_krylov_solve(const gsw_krylov_run *common, const gsw_krylov_method *method,
                            const gsw_krylov_job *job);

#endif
