/* krylov_methods.h: the methods, as the driver in krylov_solve.c sees them. There are two kinds.
 *
 * CG and BiCGSTAB are queued: `start` makes the first residual and has its norm checked, `iterate`
 * queues one iteration, and both only call what does not wait. Their scalars live beside the
 * vectors, and what ends them is found there (krylov_passes.h). krylov_queue.c queues iterations
 * and looks at the state after each, late enough that the device need not wait.
 *
 * GMRES and Richardson know their scalars on the host. `run` iterates until gsw_krylov_check() says
 * that it has ended or returns an error.
 *
 * Both begin from run->x, and keep run->x and run->iterations up to date, so that whatever ends the
 * method leaves the last iterate behind, and a method can begin again from there. */
#ifndef GSW_KRYLOV_METHODS_H
#define GSW_KRYLOV_METHODS_H

#include "krylov_run.h"

typedef struct gsw_krylov_method {
    const char *name;
    int64_t (*vectors)(const gsw_krylov_run *run); /* work vectors that it needs: at least 3 */

    /* Queued methods. `explain` finds out what a breakdown means: it raises the error. It may
     * overwrite work vectors. */
    gsw_status (*start)(gsw_krylov_run *run);
    gsw_status (*iterate)(gsw_krylov_run *run);
    gsw_status (*explain)(gsw_krylov_run *run, gsw_krylov_scalar scalar, double value);

    gsw_status (*run)(gsw_krylov_run *run); /* the others */
} gsw_krylov_method;

extern const gsw_krylov_method gsw_cg_method;
extern const gsw_krylov_method gsw_bicgstab_method;
extern const gsw_krylov_method gsw_gmres_method;
extern const gsw_krylov_method gsw_richardson_method;

#endif
