/* multigrid_probe.c: whether an incomplete factorisation is a usable smoother.
 *
 * A step of ILU(0) multiplies the error by I - M^-1 A. For a matrix whose diagonal dominates its
 * rows all eigenvalues of M^-1 A lie within 1 of 1 (Varga, Saff and Mehrmann, Incomplete
 * factorizations of matrices and connections with H-matrices, SIAM J. Numer. Anal. 17, 1980).
 * Coarse matrices need not be dominant. Then pivots can have the wrong sign or almost vanish. Even
 * with good pivots the sweeps can be unstable (Elman, A stability analysis of incomplete LU
 * factorizations, Math. Comp. 47, 1986). All of this shows in the largest eigenvalue: from 2 on the
 * step enlarges some errors, and a symmetric cycle is no longer positive. */
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

/* Converts the probe in `x`, of the cycle's type, to fp64. */
static gsw_status measure(gsw_multigrid *mg, gsw_level *level, const void *x, double *square) {
    gsw_context *context = mg->context;
    const double *from = x;
    if (mg->options.cycle_type == GSW_F32) {
        GSW_TRY(context->ops->multigrid->widen(context, level->points, x, mg->scale, level->probe));
        from = level->probe;
    }
    return context->ops->dot(context, level->points, from, from, square);
}

static gsw_status start(gsw_multigrid *mg, gsw_level *level, void *x) {
    gsw_context *context = mg->context;
    const int narrow = mg->options.cycle_type == GSW_F32;
    double *to = narrow ? level->probe : x;
    GSW_TRY(context->ops->fill(context, level->points, 1, to));
    GSW_TRY(context->ops->change_signs(context, level->points, to, to));
    return narrow ? context->ops->multigrid->narrow(context, level->points, to, x, mg->scale)
                  : GSW_SUCCESS;
}

/* x = M^-1 residual */
static gsw_status apply(const gsw_multigrid *mg, const gsw_level *level, void *x) {
    gsw_context *context = mg->context;
    const gsw_backend_ops *ops = context->ops;
    GSW_TRY(ops->factor_sweep(context, level->first, 0, 1, level->residual, 0, x, 0));
    return ops->factor_sweep(context, level->first, 1, 1, x, 0, x, 0);
}

/* A singular matrix. Where the factorisation drops nothing, or almost nothing, M is as singular,
 * and its last pivot is rounding. A x has no constant part, and with other signs it has one, which
 * such an M^-1 enlarges beyond all measure. */
static gsw_status probe_constant(gsw_multigrid *mg, gsw_level *level, void *x, int *serves) {
    gsw_context *context = mg->context;
    const gsw_backend_ops *ops = context->ops;
    const int narrow = mg->options.cycle_type == GSW_F32;
    double *r = narrow ? level->probe : level->residual, without, with;
    GSW_TRY(start(mg, level, x));
    GSW_TRY(ops->spmv(context, &level->product, mg->options.cycle_type, NULL, x, level->residual));
    GSW_TRY(apply(mg, level, x));
    GSW_TRY(measure(mg, level, x, &without));
    if (narrow)
        GSW_TRY(ops->multigrid->widen(context, level->points, level->residual, mg->scale, r));
    GSW_TRY(ops->change_signs(context, level->points, r, r));
    if (narrow)
        GSW_TRY(ops->multigrid->narrow(context, level->points, r, level->residual, mg->scale));
    GSW_TRY(apply(mg, level, x));
    GSW_TRY(measure(mg, level, x, &with));
    *serves = with < CONSTANT_LIMIT * CONSTANT_LIMIT * without;
    return GSW_SUCCESS;
}

gsw_status gsw_smoother_probe(gsw_multigrid *mg, gsw_level *level, int *serves) {
    gsw_context *context = mg->context;
    const gsw_backend_ops *ops = context->ops;
    const gsw_dtype type = mg->options.cycle_type;
    void *x = level == mg->level[0] ? mg->own_b : level->x;
    double last = 0, now = 0;
    *serves = 1;
    if (mg->singular)
        GSW_TRY(probe_constant(mg, level, x, serves));
    if (!*serves || level->survey.row_ratio <= DOMINANCE)
        return GSW_SUCCESS;
    GSW_TRY(start(mg, level, x));
    for (int step = 1; step <= PROBE_STEPS; step++) {
        GSW_TRY(ops->spmv(context, &level->product, type, NULL, x, level->residual));
        GSW_TRY(apply(mg, level, x));
        if (step >= PROBE_STEPS - 1) {
            last = now;
            GSW_TRY(measure(mg, level, x, &now));
        }
    }
    *serves = now < PROBE_LIMIT * PROBE_LIMIT * last; /* false where a sum is not a number */
    return GSW_SUCCESS;
}
