/* cg.c: the preconditioned conjugate gradient method. Hestenes and Stiefel (1952); Saad, Iterative
 * Methods for Sparse Linear Systems, 2nd ed., algorithm 9.1. Matrix and preconditioner may also be
 * negative definite. A change of sign shows that one of them is indefinite. */
#include <float.h>
#include <math.h>

#include "krylov_methods.h"

typedef struct cg {
    double *r, *p;
    double *w; /* A p, and then M^-1 r: A p is no longer needed then */
    double *z; /* where M^-1 r lies: w, or r without a preconditioner */
    /* With a preconditioner that works in fp32: its r and z, scaled. z is not used then. */
    int narrow;
    float *r_narrow, *z_narrow;
} cg;

static cg vectors_of(const gsw_krylov_run *run) {
    cg m = {.r = gsw_krylov_vector(run, 0),
            .p = gsw_krylov_vector(run, 1),
            .w = gsw_krylov_vector(run, 2)};
    m.z = run->preconditioner != NULL ? m.w : m.r;
    m.narrow =
        run->options.norm == GSW_NORM_TRUE && gsw_krylov_narrow(run, &m.r_narrow, &m.z_narrow);
    return m;
}

static gsw_status norm_of_z_and_rz(gsw_krylov_run *run, const cg *m) {
    GSW_TRY(gsw_krylov_precondition(run, m->r, m->z));
    return gsw_krylov_pass(run, GSW_CG_NORM_RZ, (void *[]){m->r, m->z});
}

static gsw_status start(gsw_krylov_run *run) {
    const cg m = vectors_of(run);
    GSW_TRY(gsw_krylov_residual(run, m.r));
    if (run->options.norm == GSW_NORM_PRECONDITIONED)
        return norm_of_z_and_rz(run, &m);
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_NORM, (void *[]){m.r}));
    return m.narrow ? gsw_krylov_pass(run, GSW_CG_NARROW, (void *[]){m.r, m.r_narrow})
                    : GSW_SUCCESS;
}

/* An iteration ends where a norm is checked: the norm of r, or of z for the preconditioned norm. */
static gsw_status iterate_preconditioned(gsw_krylov_run *run, const cg *m) {
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_DIRECTION, (void *[]){m->p, m->z}));
    GSW_TRY(gsw_krylov_multiply_pass(run, GSW_CG_PW, m->p, m->w));
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_UPDATE, (void *[]){run->x, m->p, m->r, m->w}));
    return norm_of_z_and_rz(run, m);
}

static gsw_status iterate_narrow(gsw_krylov_run *run, const cg *m) {
    GSW_TRY(gsw_krylov_precondition_narrow(run));
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_RZ_WIDEN, (void *[]){m->r, m->z_narrow}));
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_DIRECTION_WIDEN, (void *[]){m->p, m->z_narrow}));
    GSW_TRY(gsw_krylov_multiply_pass(run, GSW_CG_PW, m->p, m->w));
    return gsw_krylov_pass(run, GSW_CG_UPDATE_NARROW,
                           (void *[]){run->x, m->p, m->r, m->w, m->r_narrow});
}

static gsw_status iterate(gsw_krylov_run *run) {
    const cg m = vectors_of(run);
    if (run->options.norm == GSW_NORM_PRECONDITIONED)
        return iterate_preconditioned(run, &m);
    if (m.narrow)
        return iterate_narrow(run, &m);
    GSW_TRY(gsw_krylov_precondition(run, m.r, m.z));
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_RZ, (void *[]){m.r, m.z}));
    GSW_TRY(gsw_krylov_pass(run, GSW_CG_DIRECTION, (void *[]){m.p, m.z}));
    GSW_TRY(gsw_krylov_multiply_pass(run, GSW_CG_PW, m.p, m.w));
    return gsw_krylov_pass(run, GSW_CG_UPDATE_NORM, (void *[]){run->x, m.p, m.r, m.w});
}

/* ---- the meaning of a breakdown ---- */

/* Whether a scalar product of vectors of these lengths is no more than its rounding errors. */
static int negligible(double product, double length, double other) {
    return fabs(product) <= 64 * DBL_EPSILON * length * other;
}

/* The sign of r'M^-1 r has changed, or it is 0. */
static gsw_status explain_rz(gsw_krylov_run *run, const cg *m, double rz) {
    double r, z;
    GSW_TRY(gsw_krylov_precondition(run, m->r, m->z));
    GSW_TRY(gsw_krylov_norm(run, m->r, &r));
    GSW_TRY(gsw_krylov_norm(run, m->z, &z));
    return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                    "iteration %lld: r'z is %g (|r| = %.3g, |z| = %.3g): the preconditioner is %s",
                    (long long)run->iterations + 1, rz, r, z,
                    z == 0                 ? "singular"
                    : negligible(rz, r, z) ? "singular, indefinite or not symmetric"
                                           : "indefinite");
}

/* The sign of p'Ap has changed, or it is 0. For a semidefinite A of norm |A|, |Ap|^2 <= |A| p'Ap.
 * So where p'Ap is rounding error, Ap is small as well, and p lies in the null space. If Ap is not
 * small, A has eigenvalues of both signs or is not symmetric. The exception: p came from vectors
 * that were rounding errors already, and x has grown with it. */
static gsw_status explain_pw(gsw_krylov_run *run, const cg *m, double pw) {
    const char *meaning = "the matrix is indefinite or not symmetric";
    double p, w, size, b, rounding;
    GSW_TRY(gsw_krylov_norm(run, m->p, &p));
    GSW_TRY(gsw_krylov_cancellation(run, m->p, m->r, m->w, &w, &size));
    GSW_TRY(gsw_krylov_rounding(run, m->r, m->w, &rounding));
    GSW_TRY(gsw_krylov_norm(run, run->b, &b));
    if (negligible(pw, p, size) && w * w <= 64 * DBL_EPSILON * size * size)
        meaning = "the matrix is singular (semidefinite): it maps p to 0";
    else if (rounding > GSW_SINGULAR_ROUNDING * b)
        meaning = "the matrix is singular or nearly so: x is huge, and A x is rounding error";
    return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                    "iteration %lld: p'Ap is %g%s (|p| = %.3g, |Ap| = %.3g, terms of Ap %.3g): %s",
                    (long long)run->iterations + 1, pw,
                    pw != 0 ? ", of the other sign than before" : "", p, w, size, meaning);
}

static gsw_status explain(gsw_krylov_run *run, gsw_krylov_scalar scalar, double value) {
    const cg m = vectors_of(run);
    return scalar == GSW_SCALAR_RZ ? explain_rz(run, &m, value) : explain_pw(run, &m, value);
}

static int64_t vectors(const gsw_krylov_run *run) {
    (void)run;
    return 3;
}

const gsw_krylov_method gsw_cg_method = {
    .name = "cg", .vectors = vectors, .start = start, .iterate = iterate, .explain = explain};
