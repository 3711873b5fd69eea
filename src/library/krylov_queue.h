/* krylov_queue.h: runs a queued Krylov method. */
#ifndef GSW_KRYLOV_QUEUE_H
#define GSW_KRYLOV_QUEUE_H

#include "krylov_methods.h"

/* Runs a queued method from run->x and run->iterations until its own norm has reached run->target.
 * Errors: NON_FINITE, BREAKDOWN, STOPPED, NOT_CONVERGED at the limit of iterations. */
gsw_status gsw_krylov_queue(gsw_krylov_run *run, const gsw_krylov_method *method);

#endif
