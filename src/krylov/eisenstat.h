/* eisenstat.h: a preconditioned system in Eisenstat's form, in which two sweeps apply the matrix
 * and the preconditioner together (struct gsw_split).
 *
 * With B = L1^-1 S^-1 A T^-1 U1^-1, a method without a preconditioner solves B x^ = r^ for
 * r^ = L1^-1 S^-1 (b - A x0). Then x = x0 + T^-1 U1^-1 x^. CG takes S = T, which makes B symmetric:
 * its iterates are those of the preconditioned method, except for rounding. BiCGSTAB and GMRES take
 * S = I. Their iterates are those of preconditioning from both sides, with L1 from the left.
 *
 * The method knows the norm of r^ = L1^-1 S^-1 r only. The ratio of ||r|| to it is measured at the
 * start, when ||r|| should be CLOSE times the target, and when it should have reached the target.
 * A queued method then goes on where it was. GMRES begins each cycle from x, and measures there. */
#ifndef GSW_EISENSTAT_H
#define GSW_EISENSTAT_H

#include "krylov_methods.h"
#include "krylov_evidence.h"

typedef struct gsw_split_form gsw_split_form;

/* Opens the form for runs like this one. *form is NULL where it does not apply, or where there is
 * no memory for a form that nobody has asked for. The values of the matrix are read now, and must
 * not change before the end. */
gsw_status gsw_split_form_open(const gsw_krylov_run *run, const gsw_krylov_method *method,
                               gsw_split_form **form);
void gsw_split_form_close(gsw_context *context, gsw_split_form *form);

/* Work vectors that gsw_split_form_iterate() needs. */
int64_t gsw_split_form_vectors(const gsw_split_form *form, const gsw_krylov_run *run);

/* Iterates from run->x until ||b - A x|| meets run->target, and counts in run->iterations. *begun =
 * 0: nothing has been done, because the residual meets the target or is not finite, or the form has
 * another M than the factor. SUCCESS also where the form cannot go on, by a breakdown or because
 * the recurrence has drifted: x is then an iterate from which the method continues without the
 * form. Overwrites the work vectors. *known: `truth` is that of the x that is left. Other errors:
 * NOT_CONVERGED at the limit of iterations, STOPPED, DEVICE. */
gsw_status gsw_split_form_iterate(gsw_split_form *form, gsw_krylov_run *run, int *begun,
                                  gsw_krylov_truth *truth, int *known);

#endif
