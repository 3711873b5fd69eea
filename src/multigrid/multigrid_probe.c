/* multigrid_probe.c: whether an incomplete factorisation is a usable smoother.
 *
 * A step of ILU(0) multiplies the error by I - M^-1 A. For a matrix whose diagonal dominates its
 * rows all eigenvalues of M^-1 A lie within 1 of 1 (Varga, Saff and Mehrmann, Incomplete
 * factorizations of matrices and connections with H-matrices, SIAM J. Numer. Anal. 17, 1980).
 * Coarse matrices need not be dominant. Then pivots can have the wrong sign or almost vanish. Even
 * with good pivots the sweeps can be unstable (Elman, A stability analysis of incomplete LU
 * factorizations, Math. Comp. 47, 1986). All of this shows in the largest eigenvalue: from 2 on the
 * step enlarges some errors, and a symmetric cycle is no longer positive. */
#include "core/sums.h"
#include "hierarchy.h"

/* Steps of the power iteration, which begins with random signs. */
#define PROBE_STEPS 8

/* Matrices this close to dominance count as dominant. */
#define DOMINANCE (2 + 1e-6)

/* The eigenvalue from which a step is not usable. Usable factors have stayed below 1.7, and others
 * have been above 3. */
#define PROBE_LIMIT 2.0

/* How much more M^-1 may enlarge a vector with a constant part. Usable factors have stayed below
 * 20, and others have been above 1e8. */
#define CONSTANT_LIMIT 1e4

/* The square of the probe's norm. */
static gsw_status measure(const gsw_smoother_trial *t, const void *x, double *square) {
    const double *from = x;
    if (t->type == GSW_F32) {
        GSW_TRY(t->context->ops->multigrid->widen(t->context, t->points, x, t->scale, t->wide));
        from = t->wide;
    }
    return t->shared ? gsw_dot(t->context, t->points, from, from, square)
                     : t->context->ops->vector->dot(t->context, t->points, from, from, square);
}

static gsw_status start(const gsw_smoother_trial *t) {
    gsw_context *context = t->context;
    const int narrow = t->type == GSW_F32;
    double *to = narrow ? t->wide : t->x;
    GSW_TRY(context->ops->vector->fill(context, t->points, 1, to));
    GSW_TRY(context->ops->vector->change_signs(context, t->points, to, to));
    return narrow ? context->ops->multigrid->narrow(context, t->points, to, t->x, t->scale)
                  : GSW_SUCCESS;
}

/* A singular matrix. Where the factorisation drops nothing, or almost nothing, M is as singular,
 * and its last pivot is rounding. A x has no constant part, and with other signs it has one, which
 * such an M^-1 enlarges beyond all measure. */
static gsw_status probe_constant(const gsw_smoother_trial *t, int *serves) {
    gsw_context *context = t->context;
    const gsw_backend_ops *ops = context->ops;
    const int narrow = t->type == GSW_F32;
    double *r = narrow ? t->wide : t->residual, without, with;
    GSW_TRY(start(t));
    GSW_TRY(t->multiply(t->user, t->x, t->residual));
    GSW_TRY(t->apply(t->user, t->residual, t->x));
    GSW_TRY(measure(t, t->x, &without));
    if (narrow)
        GSW_TRY(ops->multigrid->widen(context, t->points, t->residual, t->scale, r));
    GSW_TRY(ops->vector->change_signs(context, t->points, r, r));
    if (narrow)
        GSW_TRY(ops->multigrid->narrow(context, t->points, r, t->residual, t->scale));
    GSW_TRY(t->apply(t->user, t->residual, t->x));
    GSW_TRY(measure(t, t->x, &with));
    *serves = with < CONSTANT_LIMIT * CONSTANT_LIMIT * without;
    return GSW_SUCCESS;
}

gsw_status gsw_smoother_probe(const gsw_smoother_trial *t, int *serves) {
    double last = 0, now = 0;
    *serves = 1;
    if (t->singular)
        GSW_TRY(probe_constant(t, serves));
    if (!*serves || t->row_ratio <= DOMINANCE)
        return GSW_SUCCESS;
    GSW_TRY(start(t));
    for (int step = 1; step <= PROBE_STEPS; step++) {
        GSW_TRY(t->multiply(t->user, t->x, t->residual));
        GSW_TRY(t->apply(t->user, t->residual, t->x));
        if (step >= PROBE_STEPS - 1) {
            last = now;
            GSW_TRY(measure(t, t->x, &now));
        }
    }
    *serves = now < PROBE_LIMIT * PROBE_LIMIT * last; /* false where a sum is not a number */
    return GSW_SUCCESS;
}
