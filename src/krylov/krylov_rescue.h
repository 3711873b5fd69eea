/* krylov_rescue.h: what a solve does where its method breaks down or grows without hope.
 *
 * A method that can renew itself (BiCGSTAB) begins again from its x where a scalar vanishes: first
 * with the residual as the shadow, then with a shadow in which signs at random are mixed. It gives
 * up where several such starts in succession have not halved the residual.
 *
 * A preconditioner that has shown itself slow may change its smoother. Any method then begins again
 * from x.
 *
 * A norm that is beyond gsw_krylov_limit(), or not finite, ends a round of any method. The method
 * begins again once, from the best x that is known; the second time the solve ends with that x.
 * An x that has grown until rounding errors of A x hide the residual ends the solve at once.
 * The best x was copied when the norm had grown to 100 times its least value
 * (gsw_krylov_should_keep()), or it is 0. A solve without such growth copies nothing. */
#ifndef GSW_KRYLOV_RESCUE_H
#define GSW_KRYLOV_RESCUE_H

#include "krylov_methods.h"

/* Looks at how a round has ended: run->rescued says it. *again: the method is to begin again from
 * run->x. Else this is the round's last word, and after a growth x is the best one. */
gsw_status gsw_krylov_rescue(gsw_krylov_run *run, const gsw_krylov_method *method,
                             gsw_status status, int *again);

/* Makes the shadow for a start: r, or r and signs at random. */
gsw_status gsw_krylov_make_shadow(gsw_krylov_run *run, const double *r, double *shadow);

#endif
