/* cg.c: the preconditioned conjugate gradient method. Hestenes and Stiefel (1952); Saad, Iterative
 * Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1. Matrix and preconditioner may be
 * negative definite as well: what gives an indefinite one away is a change of sign. */
#include "krylov_internal.h"

typedef struct cg {
    double *r, *p;
    double *w; /* A p, and then M^-1 r: one is done with before the other is made */
    double *z; /* where M^-1 r lies: w, or r without a preconditioner */
} cg;

static cg vectors_of(const gsw_krylov_run *run) {
    cg m = {.r = gsw_krylov_vector(run, 0),
            .p = gsw_krylov_vector(run, 1),
            .w = gsw_krylov_vector(run, 2)};
    m.z = run->preconditioner != NULL ? m.w : m.r;
    return m;
}

static gsw_status norm_of_z_and_rz(gsw_krylov_run *run, const cg *m) {
    GSW_TRY(gsw_krylov_precondition(run, m->r, m->z));
    return gsw_krylov_pass(run, GSW_CG_NORM_RZ, (double *[]){m->r, m->z});
}

gsw_status gsw_cg_start(gsw_krylov_run *run) {
    const cg m = vectors_of(run);
    GSW_TRY(gsw_krylov_residual(run, m.r));
    if (run->options.norm == GSW_NORM_PRECONDITIONED)
        return norm_of_z_and_rz(run, &m);
    return gsw_krylov_pass(run, GSW_CG_NORM, (double *[]){m.r});
}

/* Ends where a norm is checked: of r, or of z where the preconditioned one is asked for. */
gsw_status gsw_cg_iterate(gsw_krylov_run *run) {
    const cg m = vectors_of(run);
    const int preconditioned = run->options.norm == GSW_NORM_PRECONDITIONED;
    if (!preconditioned) {
        GSW_TRY(gsw_krylov_precondition(run, m.r, m.z));
        GSW_TRY(gsw_krylov_pass(run, GSW_CG_RZ, (double *[]){m.r, m.z}));
    }
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_DIRECTION, (double *[]){m.p, m.z}));
    GSW_TRY(gsw_krylov_multiply(run, m.p, m.w));
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_PW, (double *[]){m.p, m.w}));
    GSW_TRY(gsw_krylov_pass(run, preconditioned ? GSW_CG_UPDATE : GSW_CG_UPDATE_NORM,
                            (double *[]){run->x, m.p, m.r, m.w}));
    return preconditioned ? norm_of_z_and_rz(run, &m) : GSW_SUCCESS;
}
