/* krylov_methods.h: the methods, as the driver in krylov_solve.c uses them. There are two kinds.
 *
 * CG and BiCGSTAB are queued. `start` computes the first residual and queues the check of its norm.
 * `plan` lists the steps of an iteration, which krylov_plan.c performs for several systems at once.
 * Both use only operations that do not wait. Their scalars lie beside the vectors, and the reason
 * for an end is found there (krylov_passes.h). krylov_queue.c queues iterations. It reads the state
 * of each late enough that the device need not wait.
 *
 * GMRES and Richardson keep their scalars on the host. `run` iterates until gsw_krylov_check()
 * reports the end or returns an error.
 *
 * Both kinds begin from run->x, and keep run->x and run->iterations current. So the last iterate
 * remains however the method ends, and a method can begin again from there. */
#ifndef GSW_KRYLOV_METHODS_H
#define GSW_KRYLOV_METHODS_H

#include "krylov_plan.h"

typedef struct gsw_krylov_method {
    const char *name;
    int64_t (*vectors)(const gsw_krylov_run *run); /* work vectors that it needs: at least 3 */
    int applications;                              /* of M^-1 in an iteration */

    /* Queued methods. `explain` finds the meaning of a breakdown and raises the error. It may
     * overwrite work vectors. */
    gsw_status (*start)(gsw_krylov_run *run);
    void (*plan)(const gsw_krylov_run *run, gsw_krylov_plan *plan);
    gsw_status (*explain)(gsw_krylov_run *run, gsw_krylov_scalar scalar, double value);
    /* Whether another start from x may cure a breakdown; NULL: it never does. */
    int (*renews)(gsw_krylov_scalar scalar);

    gsw_status (*run)(gsw_krylov_run *run); /* the others */
} gsw_krylov_method;

extern const gsw_krylov_method gsw_cg_method;
extern const gsw_krylov_method gsw_bicgstab_method;
extern const gsw_krylov_method gsw_gmres_method;
extern const gsw_krylov_method gsw_richardson_method;

#endif
