/* bicgstab.c: the stabilised bi-conjugate gradient method. Van der Vorst (1992); Saad, Iterative
 * Methods for Sparse Linear Systems, 2nd ed., algorithm 7.7. With the true norm it preconditions
 * from the right and adds M^-1 p and M^-1 s to x directly, so that x is an iterate at any time.
 *
 * The method fails where the residual has become orthogonal to the shadow, or t to s. A b with few
 * entries that are not 0 often causes it. The method then begins again from x with another shadow
 * (krylov_rescue.c). */
#include "krylov_method.h"

/* Work vectors. */
enum {
    R,      /* the residual; s after the first half of an iteration */
    SHADOW, /* the fixed vector that the residual becomes orthogonal to */
    P,      /* the direction, */
    V,      /* and its product */
    T,      /* the product of s */
    P_HAT,  /* M^-1 p and M^-1 s, which are added to x; only where M is applied from the right */
    S_HAT
};

/* Where M is applied from the left, or there is no M, p and s themselves are added to x. */
static int p_hat_of(const gsw_krylov_run *run) {
    return gsw_krylov_right(run) ? P_HAT : P;
}

static int s_hat_of(const gsw_krylov_run *run) {
    return gsw_krylov_right(run) ? S_HAT : R;
}

static gsw_status start(gsw_krylov_run *run) {
    double *r = gsw_krylov_vector(run, R);
    double *shadow = gsw_krylov_vector(run, SHADOW);
    GSW_TRY(gsw_krylov_side_residual(run, r));
    GSW_TRY(gsw_krylov_make_shadow(run, r, shadow));
    GSW_TRY(gsw_krylov_copy(run, r, gsw_krylov_vector(run, P)));
    return gsw_krylov_pass(run, GSW_BICGSTAB_START, (void *[]){r, shadow});
}

static gsw_status step_along_p(gsw_krylov_run *run) {
    double *v = gsw_krylov_vector(run, V);
    GSW_TRY(
        gsw_krylov_pass(run, GSW_BICGSTAB_ALPHA, (void *[]){v, gsw_krylov_vector(run, SHADOW)}));
    return gsw_krylov_pass(run, GSW_BICGSTAB_HALF, (void *[]){gsw_krylov_vector(run, R), v});
}

static gsw_status find_direction(gsw_krylov_run *run) {
    return gsw_krylov_pass(run, GSW_BICGSTAB_DIRECTION,
                           (void *[]){gsw_krylov_vector(run, P), gsw_krylov_vector(run, V),
                                      gsw_krylov_vector(run, R)});
}

static gsw_status step_along_s(gsw_krylov_run *run) {
    double *r = gsw_krylov_vector(run, R), *t = gsw_krylov_vector(run, T);
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_OMEGA, (void *[]){t, r}));
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_UPDATE,
                            (void *[]){run->x, gsw_krylov_vector(run, p_hat_of(run)),
                                       gsw_krylov_vector(run, s_hat_of(run)), r, t,
                                       gsw_krylov_vector(run, SHADOW)}));
    return find_direction(run);
}

static gsw_status iterate(gsw_krylov_run *const *runs, int count) {
    const gsw_krylov_run *first = runs[0];
    GSW_TRY(gsw_krylov_apply(runs, count, gsw_krylov_vector(first, P),
                             gsw_krylov_vector(first, p_hat_of(first)),
                             gsw_krylov_vector(first, V)));
    GSW_TRY(gsw_krylov_each(runs, count, step_along_p));
    GSW_TRY(gsw_krylov_apply(runs, count, gsw_krylov_vector(first, R),
                             gsw_krylov_vector(first, s_hat_of(first)),
                             gsw_krylov_vector(first, T)));
    return gsw_krylov_each(runs, count, step_along_s);
}

/* Checks whether the product of a vanished scalar is 0. If so, A is singular. */
static gsw_status explain(gsw_krylov_run *run, gsw_krylov_scalar scalar, double value) {
    double *v = gsw_krylov_vector(run, V), *t = gsw_krylov_vector(run, T);
    const int first_half = scalar == GSW_SCALAR_V_SHADOW || scalar == GSW_SCALAR_ALPHA;
    const double *at_hat = gsw_krylov_vector(run, first_half ? p_hat_of(run) : s_hat_of(run));
    double *scratch = first_half ? t : v, *terms = first_half ? v : t;
    double product, size, hat;
    int hat_out, terms_out;
    if (scalar == GSW_SCALAR_RHO)
        return gsw_krylov_breakdown(run, "rho", value,
                                    "the residual is orthogonal to the shadow, and new shadows "
                                    "have not helped");
    GSW_TRY(gsw_krylov_cancellation(run, at_hat, scratch, terms, &product, &size));
    GSW_TRY(gsw_krylov_norm(run, at_hat, &hat));
    GSW_TRY(gsw_krylov_out_of_range(run, terms, size, scratch, &terms_out));
    GSW_TRY(gsw_krylov_out_of_range(run, at_hat, hat, scratch, &hat_out));
    const char *name = first_half                ? "the product of v and the first residual"
                       : scalar == GSW_SCALAR_TT ? "t't"
                                                 : "omega";
    const char *meaning = hat_out || terms_out ? GSW_OUT_OF_RANGE
                          : hat == 0 && gsw_krylov_right(run)
                              ? "the preconditioner is singular: it maps the direction to 0"
                          : gsw_krylov_vanishes(product, size)
                              ? "the matrix is singular: it maps the direction to 0"
                          : first_half ? "alpha does not exist"
                                       : "the next direction does not exist";
    const char vector = first_half ? 'p' : 's';
    return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                    "iteration %lld: %s is %g (|A%c| = %.3g, terms of A%c %.3g): %s",
                    (long long)run->iterations + 1, name, value, vector, product, vector, size,
                    meaning);
}

/* A product that is 0 although neither of its vectors is. t = 0 is the matrix's fault. */
static int renews(gsw_krylov_scalar scalar) {
    return scalar == GSW_SCALAR_RHO || scalar == GSW_SCALAR_V_SHADOW || scalar == GSW_SCALAR_OMEGA;
}

/* With a preconditioner from the right, M^-1 p and M^-1 s have vectors of their own. */
static int64_t vectors(const gsw_krylov_run *run) {
    return gsw_krylov_right(run) ? 7 : 5;
}

const gsw_krylov_method gsw_bicgstab_method = {.name = "bicgstab",
                                               .vectors = vectors,
                                               .applications = 2,
                                               .start = start,
                                               .iterate = iterate,
                                               .rest = find_direction,
                                               .explain = explain,
                                               .renews = renews};
