/* cg.c: the preconditioned conjugate gradient method. Hestenes and Stiefel (1952); Saad, Iterative
 * Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1. Matrix and preconditioner may also be
 * negative definite. A change of sign shows that one of them is indefinite. */
#include <float.h>
#include <math.h>

#include "krylov_method.h"

/* Work vectors. W holds A p, and then M^-1 r: A p is no longer needed then. */
enum { R, P, W };

/* Where M^-1 r lies: in R without a preconditioner. */
static int z_of(const gsw_krylov_run *run) {
    return run->system->preconditioner != NULL ? W : R;
}

/* Whether the preconditioner works in fp32, on scaled vectors of its own, for one run only. z is
 * not used then. */
static int is_narrow(const gsw_krylov_run *run, float **r_narrow, float **z_narrow) {
    *r_narrow = *z_narrow = NULL;
    return run->options.norm == GSW_NORM_TRUE && gsw_krylov_narrow(run, r_narrow, z_narrow);
}

static gsw_status norm_and_rz(gsw_krylov_run *run) {
    return gsw_krylov_pass(
        run, GSW_CG_NORM_RZ,
        (void *[]){gsw_krylov_vector(run, R), gsw_krylov_vector(run, z_of(run))});
}

static gsw_status start(gsw_krylov_run *run) {
    double *r = gsw_krylov_vector(run, R);
    float *r_narrow, *z_narrow;
    GSW_TRY(gsw_krylov_residual(run, r));
    if (run->options.norm == GSW_NORM_PRECONDITIONED) {
        GSW_TRY(gsw_krylov_precondition(&run, 1, r, gsw_krylov_vector(run, z_of(run))));
        return norm_and_rz(run);
    }
    if (run->system->preconditioner == NULL)
        return gsw_krylov_pass(run, GSW_CG_NORM_PLAIN, (void *[]){r});
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_NORM, (void *[]){r}));
    return is_narrow(run, &r_narrow, &z_narrow)
               ? gsw_krylov_pass(run, GSW_CG_NARROW, (void *[]){r, r_narrow})
               : GSW_SUCCESS;
}

static gsw_status find_direction(gsw_krylov_run *run) {
    double *r = gsw_krylov_vector(run, R), *p = gsw_krylov_vector(run, P);
    double *z = gsw_krylov_vector(run, z_of(run));
    float *r_narrow, *z_narrow;
    if (is_narrow(run, &r_narrow, &z_narrow)) {
        GSW_TRY(gsw_krylov_pass(run, GSW_CG_RZ_WIDEN, (void *[]){r, z_narrow}));
        return gsw_krylov_pass(run, GSW_CG_DIRECTION_WIDEN, (void *[]){p, z_narrow});
    }
    if (gsw_krylov_right(run)) /* else r'z is known from the norm's pass */
        GSW_TRY(gsw_krylov_pass(run, GSW_CG_RZ, (void *[]){r, z}));
    return gsw_krylov_pass(run, GSW_CG_DIRECTION, (void *[]){p, z});
}

static gsw_status update(gsw_krylov_run *run) {
    float *r_narrow, *z_narrow;
    const gsw_pass pass = is_narrow(run, &r_narrow, &z_narrow)           ? GSW_CG_UPDATE_NARROW
                          : run->options.norm == GSW_NORM_PRECONDITIONED ? GSW_CG_UPDATE
                          : run->system->preconditioner == NULL          ? GSW_CG_UPDATE_PLAIN
                                                                         : GSW_CG_UPDATE_NORM;
    return gsw_krylov_pass(run, pass,
                           (void *[]){run->x, gsw_krylov_vector(run, P), gsw_krylov_vector(run, R),
                                      gsw_krylov_vector(run, W), r_narrow});
}

/* It ends where a norm is checked: the norm of r, or of z for the preconditioned norm. */
static gsw_status iterate(gsw_krylov_run *const *runs, int count) {
    gsw_krylov_run *first = runs[0];
    double *r = gsw_krylov_vector(first, R), *z = gsw_krylov_vector(first, z_of(first));
    float *r_narrow, *z_narrow;
    if (is_narrow(first, &r_narrow, &z_narrow))
        GSW_TRY(gsw_krylov_precondition_narrow(first));
    else if (gsw_krylov_right(first))
        GSW_TRY(gsw_krylov_precondition(runs, count, r, z));
    GSW_TRY(gsw_krylov_each(runs, count, find_direction));
    GSW_TRY(gsw_krylov_multiply_pass(runs, count, GSW_CG_PW, gsw_krylov_vector(first, P),
                                     gsw_krylov_vector(first, W)));
    GSW_TRY(gsw_krylov_each(runs, count, update));
    if (first->options.norm == GSW_NORM_TRUE)
        return GSW_SUCCESS;
    GSW_TRY(gsw_krylov_precondition(runs, count, r, z));
    return gsw_krylov_each(runs, count, norm_and_rz);
}

/* ---- the meaning of a breakdown ---- */

/* Whether a scalar product of vectors of these lengths is no more than its rounding errors. */
static int negligible(double product, double length, double other) {
    return fabs(product) <= 64 * DBL_EPSILON * length * other;
}

static const char *changed(double product) {
    return product != 0 ? ", of the other sign than before" : "";
}

/* The sign of r'M^-1 r has changed, or it is 0. */
static gsw_status explain_rz(gsw_krylov_run *run, double rz) {
    double *at_r = gsw_krylov_vector(run, R), *at_z = gsw_krylov_vector(run, z_of(run)), r, z;
    int r_out, z_out;
    GSW_TRY(gsw_krylov_precondition(&run, 1, at_r, at_z));
    GSW_TRY(gsw_krylov_norm(run, at_r, &r));
    GSW_TRY(gsw_krylov_norm(run, at_z, &z));
    GSW_TRY(gsw_krylov_out_of_range(run, at_r, r, gsw_krylov_vector(run, P), &r_out));
    GSW_TRY(gsw_krylov_out_of_range(run, at_z, z, gsw_krylov_vector(run, P), &z_out));
    return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                    "iteration %lld: r'z is %g%s (|r| = %.3g, |z| = %.3g): %s",
                    (long long)run->iterations + 1, rz, changed(rz), r, z,
                    r_out || z_out ? GSW_OUT_OF_RANGE
                    : z == 0       ? "the preconditioner is singular"
                    : negligible(rz, r, z)
                        ? "the preconditioner is singular, indefinite or not symmetric"
                        : "the preconditioner is indefinite");
}

/* The sign of p'Ap has changed, or it is 0. For a semidefinite A of norm |A|, |Ap|^2 <= |A| p'Ap.
 * So where p'Ap is rounding error, Ap is small as well, and p lies in the null space. If Ap is not
 * small, A has eigenvalues of both signs or is not symmetric. The exception: p came from vectors
 * that were rounding errors already, and x has grown with it. */
static gsw_status explain_pw(gsw_krylov_run *run, double pw) {
    double *at_r = gsw_krylov_vector(run, R), *at_w = gsw_krylov_vector(run, W);
    const double *at_p = gsw_krylov_vector(run, P);
    const char *meaning = "the matrix is indefinite or not symmetric";
    double p, w, size, b, rounding;
    int p_out, terms_out;
    GSW_TRY(gsw_krylov_norm(run, at_p, &p));
    GSW_TRY(gsw_krylov_cancellation(run, at_p, at_r, at_w, &w, &size));
    GSW_TRY(gsw_krylov_out_of_range(run, at_w, size, at_r, &terms_out));
    GSW_TRY(gsw_krylov_out_of_range(run, at_p, p, at_r, &p_out));
    GSW_TRY(gsw_krylov_rounding(run, at_r, at_w, &rounding));
    GSW_TRY(gsw_krylov_norm(run, run->b, &b));
    if (p_out || terms_out || !isfinite(w))
        meaning = GSW_OUT_OF_RANGE;
    else if (negligible(pw, p, size) && w * w <= 64 * DBL_EPSILON * size * size)
        meaning = "the matrix is singular (semidefinite): it maps p to 0";
    else if (rounding > GSW_SINGULAR_ROUNDING * b)
        meaning = "the matrix is singular or nearly so: x is huge, and A x is rounding error";
    return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                    "iteration %lld: p'Ap is %g%s (|p| = %.3g, |Ap| = %.3g, terms of Ap %.3g): %s",
                    (long long)run->iterations + 1, pw, changed(pw), p, w, size, meaning);
}

static gsw_status explain(gsw_krylov_run *run, gsw_krylov_scalar scalar, double value) {
    return scalar == GSW_SCALAR_RZ ? explain_rz(run, value) : explain_pw(run, value);
}

static int64_t vectors(const gsw_krylov_run *run) {
    (void)run;
    return 3;
}

const gsw_krylov_method gsw_cg_method = {.name = "cg",
                                         .vectors = vectors,
                                         .applications = 1,
                                         .start = start,
                                         .iterate = iterate,
                                         .explain = explain};
