/* bicgstab.c: the stabilised bi-conjugate gradient method. Van der Vorst (1992); Saad, Iterative
 * Methods for Sparse Linear Systems, 2nd ed., algorithm 7.7. With the true norm it preconditions
 * from the right and adds M^-1 p and M^-1 s to x directly, so that x is an iterate at any time. */
#include "krylov_internal.h"

typedef struct bicgstab {
    double *r, *shadow; /* residual and the fixed vector that it is made orthogonal to */
    double *p, *v;      /* direction and its product */
    double *s, *t;      /* residual after the first half of the iteration, and its product */
    double *p_hat, *s_hat;
    double rho, alpha, omega;
} bicgstab;

/* p = r + beta (p - omega v). */
static gsw_status next_direction(gsw_krylov_run *run, bicgstab *m) {
    double rho;
    GSW_TRY(gsw_krylov_dot(run, m->r, m->shadow, &rho));
    GSW_TRY(gsw_krylov_finite(run, "rho", rho));
    if (rho == 0)
        return gsw_krylov_breakdown(run, "rho", rho,
                                    "the residual is orthogonal to the first residual");
    if (run->iterations == 0) {
        GSW_TRY(gsw_krylov_copy(run, m->r, m->p));
    } else {
        double beta = (rho / m->rho) * (m->alpha / m->omega);
        GSW_TRY(gsw_krylov_axpby(run, -m->omega, m->v, 1, m->p));
        GSW_TRY(gsw_krylov_axpby(run, 1, m->r, beta, m->p));
    }
    m->rho = rho;
    return GSW_SUCCESS;
}

/* The step along p: s = r - alpha v. */
static gsw_status first_half(gsw_krylov_run *run, bicgstab *m) {
    double product;
    GSW_TRY(gsw_krylov_apply(run, m->p, m->p_hat, m->v));
    GSW_TRY(gsw_krylov_dot(run, m->v, m->shadow, &product));
    GSW_TRY(gsw_krylov_finite(run, "the product of v and the first residual", product));
    if (product == 0)
        return gsw_krylov_breakdown(run, "the product of v and the first residual", product,
                                    "alpha does not exist");
    m->alpha = m->rho / product;
    GSW_TRY(gsw_krylov_finite(run, "alpha", m->alpha));
    GSW_TRY(gsw_krylov_copy(run, m->r, m->s));
    return gsw_krylov_axpby(run, -m->alpha, m->v, 1, m->s);
}

/* omega = t's / t't, the factor that makes s - omega t shortest. t = 0 is fine where s is 0. */
static gsw_status find_omega(gsw_krylov_run *run, bicgstab *m) {
    double ts, tt, ss;
    GSW_TRY(gsw_krylov_apply(run, m->s, m->s_hat, m->t));
    GSW_TRY(gsw_krylov_dot(run, m->t, m->s, &ts));
    GSW_TRY(gsw_krylov_dot(run, m->t, m->t, &tt));
    GSW_TRY(gsw_krylov_finite(run, "t't", tt));
    if (tt == 0) {
        GSW_TRY(gsw_krylov_dot(run, m->s, m->s, &ss));
        if (ss != 0)
            return gsw_krylov_breakdown(run, "t't", tt, "omega does not exist");
    }
    m->omega = tt > 0 ? ts / tt : 0;
    return gsw_krylov_finite(run, "omega", m->omega);
}

/* x and r after both halves. */
static gsw_status update(gsw_krylov_run *run, bicgstab *m) {
    int right = run->options.norm == GSW_NORM_TRUE;
    GSW_TRY(gsw_krylov_axpby(run, m->alpha, right ? m->p_hat : m->p, 1, run->x));
    GSW_TRY(gsw_krylov_axpby(run, m->omega, right ? m->s_hat : m->s, 1, run->x));
    GSW_TRY(gsw_krylov_copy(run, m->s, m->r));
    return gsw_krylov_axpby(run, -m->omega, m->t, 1, m->r);
}

gsw_status gsw_bicgstab_iterate(gsw_krylov_run *run) {
    bicgstab m = {.r = gsw_krylov_vector(run, 0),
                  .shadow = gsw_krylov_vector(run, 1),
                  .p = gsw_krylov_vector(run, 2),
                  .v = gsw_krylov_vector(run, 3),
                  .s = gsw_krylov_vector(run, 4),
                  .t = gsw_krylov_vector(run, 5),
                  .p_hat = gsw_krylov_vector(run, 6),
                  .s_hat = gsw_krylov_vector(run, 7),
                  .rho = 1,
                  .alpha = 1,
                  .omega = 1};
    double norm;

    GSW_TRY(gsw_krylov_side_residual(run, m.t, m.r));
    GSW_TRY(gsw_krylov_copy(run, m.r, m.shadow));
    for (;;) {
        GSW_TRY(gsw_krylov_norm(run, m.r, &norm));
        GSW_TRY(gsw_krylov_check(run, norm));
        if (run->converged)
            return GSW_SUCCESS;
        if (m.omega == 0)
            return gsw_krylov_breakdown(run, "omega", m.omega, "the next direction does not exist");
        GSW_TRY(next_direction(run, &m));
        GSW_TRY(first_half(run, &m));
        GSW_TRY(find_omega(run, &m));
        GSW_TRY(update(run, &m));
        run->iterations++;
    }
}
