/* krylov_queue.h: how a queued Krylov method is run. */
#ifndef GSW_KRYLOV_QUEUE_H
#define GSW_KRYLOV_QUEUE_H

#include "krylov_methods.h"

/* Runs a queued method from run->x and run->iterations on until its own norm has reached
 * run->target. Errors: NON_FINITE, BREAKDOWN, STOPPED, NOT_CONVERGED at the limit of iterations. */
gsw_status gsw_krylov_queue(gsw_krylov_run *run, const gsw_krylov_method *method);

#endif
