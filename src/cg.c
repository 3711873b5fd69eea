/* cg.c: the preconditioned conjugate gradient method. Hestenes and Stiefel (1952); Saad, Iterative
 * Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1. Matrix and preconditioner may be
 * negative definite as well: what gives an indefinite one away is a change of sign. */
#include "krylov_internal.h"

static int vanished_or_turned(double now, double before) {
    return now == 0 || (before != 0 && (now > 0) != (before > 0));
}

/* z = M^-1 r and the norm that is checked: of r, or of z where the preconditioned one is asked for.
 */
static gsw_status precondition_and_check(gsw_krylov_run *run, const double *r, double *z) {
    double norm;
    if (run->options.norm == GSW_NORM_PRECONDITIONED) {
        GSW_TRY(gsw_krylov_precondition(run, r, z));
        GSW_TRY(gsw_krylov_norm(run, z, &norm));
        return gsw_krylov_check(run, norm);
    }
    GSW_TRY(gsw_krylov_norm(run, r, &norm));
    GSW_TRY(gsw_krylov_check(run, norm));
    return run->converged ? GSW_SUCCESS : gsw_krylov_precondition(run, r, z);
}

gsw_status gsw_cg_iterate(gsw_krylov_run *run) {
    double *r = gsw_krylov_vector(run, 0), *z = gsw_krylov_vector(run, 1);
    double *p = gsw_krylov_vector(run, 2), *w = gsw_krylov_vector(run, 3);
    double rz_before = 0, pw_before = 0;

    GSW_TRY(gsw_krylov_residual(run, r));
    for (;;) {
        GSW_TRY(precondition_and_check(run, r, z));
        if (run->converged)
            return GSW_SUCCESS;

        double rz, pw;
        GSW_TRY(gsw_krylov_dot(run, r, z, &rz));
        GSW_TRY(gsw_krylov_finite(run, "r'z", rz));
        if (vanished_or_turned(rz, rz_before))
            return gsw_krylov_breakdown(run, "r'z", rz, "the preconditioner is indefinite");
        double beta = run->iterations > 0 ? rz / rz_before : 0;
        GSW_TRY(gsw_krylov_axpby(run, 1, z, beta, p));
        GSW_TRY(gsw_krylov_multiply(run, p, w));
        GSW_TRY(gsw_krylov_dot(run, p, w, &pw));
        GSW_TRY(gsw_krylov_finite(run, "p'Ap", pw));
        if (vanished_or_turned(pw, pw_before))
            return gsw_krylov_breakdown(run, "p'Ap", pw, "the matrix is indefinite");
        double alpha = rz / pw;
        GSW_TRY(gsw_krylov_finite(run, "r'z / p'Ap", alpha));
        GSW_TRY(gsw_krylov_axpby(run, alpha, p, 1, run->x));
        GSW_TRY(gsw_krylov_axpby(run, -alpha, w, 1, r));
        rz_before = rz;
        pw_before = pw;
        run->iterations++;
    }
}
