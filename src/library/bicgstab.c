/* bicgstab.c: the stabilised bi-conjugate gradient method. Van der Vorst (1992); Saad, Iterative
 * Methods for Sparse Linear Systems, 2nd ed., algorithm 7.7. With the true norm it preconditions
 * from the right and adds M^-1 p and M^-1 s to x directly, so that x is an iterate at any time. */
#include "krylov_methods.h"

typedef struct bicgstab {
    double *r;      /* residual; s after the first half of an iteration */
    double *shadow; /* the fixed vector that the residual becomes orthogonal to */
    double *p, *v;  /* direction and its product */
    double *t;      /* the product of s */
    /* M^-1 p and M^-1 s, which are added to x. Where M is applied from the left, or there is no M,
     * they are p and s. */
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

static gsw_status start(gsw_krylov_run *run) {
    const bicgstab m = vectors_of(run);
    GSW_TRY(gsw_krylov_side_residual(run, m.r));
    GSW_TRY(gsw_krylov_copy(run, m.r, m.shadow));
    GSW_TRY(gsw_krylov_copy(run, m.r, m.p));
    return gsw_krylov_pass(run, GSW_BICGSTAB_START, (void *[]){m.r});
}

static gsw_status iterate(gsw_krylov_run *run) {
    const bicgstab m = vectors_of(run);
    GSW_TRY(gsw_krylov_apply(run, m.p, m.p_hat, m.v));
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_ALPHA, (void *[]){m.v, m.shadow}));
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_HALF, (void *[]){m.r, m.v}));
    GSW_TRY(gsw_krylov_apply(run, m.r, m.s_hat, m.t));
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_OMEGA, (void *[]){m.t, m.r}));
    GSW_TRY(gsw_krylov_pass(run, GSW_BICGSTAB_UPDATE,
                            (void *[]){run->x, m.p_hat, m.s_hat, m.r, m.t, m.shadow}));
    return gsw_krylov_pass(run, GSW_BICGSTAB_DIRECTION, (void *[]){m.p, m.v, m.r});
}

/* Checks whether the product of a vanished scalar is 0. If so, A is singular. */
static gsw_status explain(gsw_krylov_run *run, gsw_krylov_scalar scalar, double value) {
    const bicgstab m = vectors_of(run);
    const long long iteration = (long long)run->iterations + 1;
    const int first_half = scalar == GSW_SCALAR_V_SHADOW || scalar == GSW_SCALAR_ALPHA;
    double product, size, hat;
    if (scalar == GSW_SCALAR_RHO)
        return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                        "iteration %lld: rho is %g: the residual is orthogonal to the first one",
                        iteration, value);
    if (first_half)
        GSW_TRY(gsw_krylov_cancellation(run, m.p_hat, m.t, m.v, &product, &size));
    else
        GSW_TRY(gsw_krylov_cancellation(run, m.s_hat, m.v, m.t, &product, &size));
    GSW_TRY(gsw_krylov_norm(run, first_half ? m.p_hat : m.s_hat, &hat));
    const char *name = first_half                ? "the product of v and the first residual"
                       : scalar == GSW_SCALAR_TT ? "t't"
                                                 : "omega";
    const char *meaning = hat == 0 && gsw_krylov_right(run)
                              ? "the preconditioner is singular: it maps the direction to 0"
                          : gsw_krylov_vanishes(product, size)
                              ? "the matrix is singular: it maps the direction to 0"
                          : first_half ? "alpha does not exist"
                                       : "the next direction does not exist";
    const char vector = first_half ? 'p' : 's';
    return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                    "iteration %lld: %s is %g (|A%c| = %.3g, terms of A%c %.3g): %s", iteration,
                    name, value, vector, product, vector, size, meaning);
}

/* With a preconditioner from the right, M^-1 p and M^-1 s have vectors of their own. */
static int64_t vectors(const gsw_krylov_run *run) {
    return gsw_krylov_right(run) ? 7 : 5;
}

const gsw_krylov_method gsw_bicgstab_method = {
    .name = "bicgstab", .vectors = vectors, .start = start, .iterate = iterate, .explain = explain};
