/* solver_attempts.h: which attempts a solver makes, and in which order. */
#ifndef GSW_SOLVER_ATTEMPTS_H
#define GSW_SOLVER_ATTEMPTS_H

#include "solver_state.h"

/* Prepares the options of the next attempt. */
void gsw_attempt_begin(gsw_solver *solver, gsw_krylov_options *options);

/* Whether something else is to be tried after an attempt that has ended with `status`. If so,
 * solver->method and *precond say what. */
int gsw_attempt_next(gsw_solver *solver, gsw_status status, const gsw_krylov_result *result,
                     gsw_precond *precond);

#endif
