/* bicgstab.c: the stabilised bi-conjugate gradient method. Van der Vorst (1992); Saad, Iterative
 * Methods for Sparse Linear Systems, 2nd ed., algorithm 7.7. With the true norm it preconditions
 * from the right and adds M^-1 p and M^-1 s to x directly, so that x is an iterate at any time. */
#include "krylov_internal.h"

typedef struct bicgstab {
    double *r;      /* residual; s after the first half of an iteration */
    double *shadow; /* the fixed vector that it is made orthogonal to */
    double *p, *v;  /* direction and its product */
    double *t;      /* the product of s */
    /* M^-1 p and M^-1 s, which x takes; where M is applied from the left or not at all, p and s. */
    double *p_hat, *s_hat;
} bicgstab;

static bicgstab vectors_of(const gsw_krylov_run *run) {
    bicgstab m = {.r = gsw_krylov_vector(run, 0),
                  .shadow = gsw_krylov_vector(run, 1),
                  .p = gsw_krylov_vector(run, 2),
                  .v = gsw_krylov_vector(run, 3),
                  .t = gsw_krylov_vector(run, 4)};
    const int right = gsw_krylov_right(run);
    m.p_hat = right ? gsw_krylov_vector(run, 5) : m.p;
    m.s_hat = right ? gsw_krylov_vector(run, 6) : m.r;
    return m;
}

gsw_status gsw_bicgstab_start(gsw_krylov_run *run) {
    const bicgstab m = vectors_of(run);
    GSW_TRY(gsw_krylov_side_residual(run, m.r));
    GSW_TRY(gsw_krylov_copy(run, m.r, m.shadow));
    GSW_TRY(gsw_krylov_copy(run, m.r, m.p));
    return gsw_krylov_pass(run, GSW_BICGSTAB_START, (double *[]){m.r});
}

gsw_status gsw_bicgstab_iterate(gsw_krylov_run *run) {
    const bicgstab m = vectors_of(run);
    GSW_TRY(gsw_krylov_apply(run, m.p, m.p_hat, m.v));
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_ALPHA, (double *[]){m.v, m.shadow}));
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_HALF, (double *[]){m.r, m.v}));
    GSW_TRY(gsw_krylov_apply(run, m.r, m.s_hat, m.t));
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_OMEGA, (double *[]){m.t, m.r}));
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_UPDATE,
                            (double *[]){run->x, m.p_hat, m.s_hat, m.r, m.t, m.shadow}));
    return gsw_krylov_pass(run, GSW_BICGSTAB_DIRECTION, (double *[]){m.p, m.v, m.r});
}
