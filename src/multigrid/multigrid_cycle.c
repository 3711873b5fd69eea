/* multigrid_cycle.c: smoothing steps and cycles. Everything is queued through the backend's table,
 * and nothing waits but for other processes. */
#include "shared_level.h"
#include "wrapped_level.h"

typedef gsw_multigrid hierarchy;

/* y = b - A x. */
static gsw_status find_residual(const hierarchy *mg, const gsw_level *l, void *y) {
    const gsw_dtype type = mg->options.cycle_type;
    GSW_TRY(mg->context->ops->matrix->spmv(mg->context, &l->product, type, l->b, l->x, y));
    return gsw_wrapped_multiply(mg->context, &l->around, type, -1, l->x, y);
}

static gsw_status sweep(const hierarchy *mg, gsw_factor *factor, int which, const void *b,
                        void *x) {
    return mg->context->ops->factor->sweep(mg->context, factor, which, 1, b, 0, x, 0);
}

static gsw_status combine(const hierarchy *mg, const gsw_level *l, double a, const void *x,
                          double b, void *y) {
    return mg->context->ops->multigrid->combine(mg->context, mg->options.cycle_type, l->points, a,
                                                x, b, y);
}

static gsw_status gauss_seidel(const hierarchy *mg, const gsw_level *l, int down, int zero) {
    if (!zero)
        GSW_TRY(gsw_wrapped_shear(mg, l));
    GSW_TRY(mg->context->ops->multigrid->gauss_seidel->step(
        mg->context, l->gauss_seidel, &l->product, down, zero, l->b, l->x, l->residual));
    return zero ? GSW_SUCCESS : gsw_wrapped_restore(mg, l);
}

static gsw_status ilu_step(const hierarchy *mg, const gsw_level *l, int zero) {
    void *to = zero ? l->x : l->residual;
    if (!zero)
        GSW_TRY(find_residual(mg, l, to));
    GSW_TRY(sweep(mg, l->ilu, 0, zero ? l->b : to, to));
    GSW_TRY(sweep(mg, l->ilu, 1, to, to));
    return zero ? GSW_SUCCESS : combine(mg, l, 1, to, 1, l->x);
}

/* ---- Steps on a shared level ------------------------------------------------------------------
 */

/* x += M^-1 (b - A x), with M a sweep or an incomplete factor; or x = M^-1 (b - N x), where N is
 * what the sweep leaves of A: that reads half of the matrix once less. */
static gsw_status shared_step(const hierarchy *mg, const gsw_level *l, int down, int zero) {
    const gsw_shared_level *s = l->shared;
    gsw_distributed_factor *M = down ? s->after : s->before;
    const void *from = zero ? l->b : l->residual;
    void *to = zero || s->takes_rest ? l->x : l->direction;
    const gsw_slab_part part = !s->takes_rest ? GSW_PART_ALL
                               : down         ? GSW_PART_AFTER_DOWN
                                              : GSW_PART_AFTER_UP;
    if (!zero)
        GSW_TRY(gsw_shared_rest(mg, l, part, l->b, l->residual));
    GSW_TRY(gsw_distributed_factor_solve(M, from, to));
    return to == l->x ? GSW_SUCCESS : combine(mg, l, 1, to, 1, l->x);
}

/* Sweeps of Jacobi or Chebyshev: p = alpha D^-1 (b - A x) + beta p, x = x + p. */
static gsw_status shared_loop(const hierarchy *mg, const gsw_level *l, int sweeps, int zero) {
    const int chebyshev = l->smoother == GSW_SMOOTHER_CHEBYSHEV;
    const gsw_relax_options options = {.method = chebyshev ? GSW_RELAX_CHEBYSHEV : GSW_RELAX_JACOBI,
                                       .weight = GSW_JACOBI_WEIGHT,
                                       .highest = l->survey.row_ratio,
                                       .lowest = GSW_CHEBYSHEV_SHARE * l->survey.row_ratio};
    gsw_relax_recurrence at = gsw_relax_begin(&options);
    for (int sweep = 0; sweep < sweeps; sweep++) {
        double alpha, beta;
        const int first = zero && sweep == 0;
        gsw_relax_next(&options, &at, &alpha, &beta);
        if (!first)
            GSW_TRY(gsw_shared_rest(mg, l, GSW_PART_ALL, l->b, l->residual));
        GSW_TRY(gsw_distributed_factor_solve(l->shared->before, first ? l->b : l->residual,
                                             l->residual));
        GSW_TRY(combine(mg, l, alpha, l->residual, sweep == 0 ? 0 : beta, l->direction));
        GSW_TRY(combine(mg, l, 1, l->direction, first ? 0 : 1, l->x));
    }
    return GSW_SUCCESS;
}

/* ---- Smoothing --------------------------------------------------------------------------------
 */

/* Sweeps of the level's loop. Each pass exchanges x and residual. */
static gsw_status run_loop(const hierarchy *mg, gsw_level *l, int32_t sweeps, int zero) {
    void *const x[2] = {l->x, l->residual}, *const p[2] = {NULL, l->direction};
    if (gsw_level_is_shared(l))
        return shared_loop(mg, l, sweeps, zero);
    const int odd = gsw_relax_loop_passes(&l->loop, sweeps) % 2;
    GSW_TRY(gsw_relax_loop_run(&l->loop, sweeps, zero, l->b, x, p, mg->tiles));
    l->x = x[odd];
    l->residual = x[!odd];
    return GSW_SUCCESS;
}

/* Sweeps downwards as well where the matrix is not symmetric, or where no other step runs
 * downwards. */
static gsw_status multicolor_step(const hierarchy *mg, const gsw_level *l, int down, int zero) {
    const gsw_multigrid_ops *ops = mg->context->ops->multigrid;
    const gsw_dtype type = mg->options.cycle_type;
    const int both = !mg->symmetric || l->coarsest;
    if (!zero)
        GSW_TRY(gsw_wrapped_shear(mg, l));
    GSW_TRY(ops->color_sweep(mg->context, &l->product, type, down && !both, zero, l->b, l->x));
    if (both)
        GSW_TRY(ops->color_sweep(mg->context, &l->product, type, 1, 0, l->b, l->x));
    return zero ? GSW_SUCCESS : gsw_wrapped_restore(mg, l);
}

/* Smoothing steps on A x = b. With `zero`, x counts as 0 and its contents are not read. */
static gsw_status smooth(const hierarchy *mg, gsw_level *l, int steps, int down, int zero) {
    if (l->smoother == GSW_SMOOTHER_JACOBI)
        return run_loop(mg, l, steps, zero);
    for (int step = 0; step < steps; step++) {
        const int first = zero && step == 0;
        if (gsw_level_is_shared(l) && l->smoother != GSW_SMOOTHER_CHEBYSHEV) {
            GSW_TRY(shared_step(mg, l, down, first));
            continue;
        }
        switch (l->smoother) {
        case GSW_SMOOTHER_ILU0:
            GSW_TRY(ilu_step(mg, l, first));
            break;
        case GSW_SMOOTHER_MULTICOLOR:
            GSW_TRY(multicolor_step(mg, l, down, first));
            break;
        case GSW_SMOOTHER_CHEBYSHEV:
            GSW_TRY(run_loop(mg, l, GSW_CHEBYSHEV_DEGREE, first));
            break;
        default:
            GSW_TRY(gauss_seidel(mg, l, down, first));
        }
    }
    return GSW_SUCCESS;
}

/* Whether `steps` are one sweep of Gauss-Seidel beside a transfer that may join it. */
static int sweeps_once(const gsw_level *l, int steps) {
    return l->smoother == GSW_SMOOTHER_GS && steps == 1 && !l->transfer->injection;
}

/* Smooths, and computes b of the next level. After one sweep upwards from zero the residual needs
 * only half the matrix. */
static gsw_status descend(const hierarchy *mg, gsw_level *l, const gsw_level *next, int zero) {
    const gsw_multigrid_ops *ops = mg->context->ops->multigrid;
    const int once = zero && sweeps_once(l, mg->options.pre_sweeps);
    if (gsw_level_is_shared(l)) {
        const int half = once && l->shared->takes_rest;
        GSW_TRY(smooth(mg, l, mg->options.pre_sweeps, 0, zero));
        GSW_TRY(gsw_shared_rest(mg, l, half ? GSW_PART_AFTER_UP : GSW_PART_ALL, half ? NULL : l->b,
                                l->residual));
        return gsw_shared_restrict(mg, l, next);
    }
    if (once) {
        GSW_TRY(ops->gauss_seidel->descend(mg->context, l->gauss_seidel, l->transfer, &l->product,
                                           l->restriction.values, l->b, l->x, l->residual,
                                           gsw_wrapped_target(next)));
        return gsw_wrapped_restrict(mg, l, next);
    }
    GSW_TRY(smooth(mg, l, mg->options.pre_sweeps, 0, zero));
    GSW_TRY(ops->restrict_residual(mg->context, l->transfer, &l->product, mg->options.cycle_type,
                                   l->restriction.values, l->b, l->x, l->residual,
                                   gsw_wrapped_target(next)));
    return gsw_wrapped_restrict(mg, l, next);
}

/* Adds the correction of the next level, and smooths. */
static gsw_status ascend(const hierarchy *mg, gsw_level *l, const gsw_level *next) {
    const gsw_multigrid_ops *ops = mg->context->ops->multigrid;
    if (sweeps_once(l, mg->options.post_sweeps) && !gsw_level_is_shared(l) &&
        !gsw_level_is_wrapped(l))
        return ops->gauss_seidel->ascend(mg->context, l->gauss_seidel, l->transfer, &l->product,
                                         l->prolongation.values, next->x, l->b, l->x, l->residual);
    if (gsw_level_is_shared(l)) {
        GSW_TRY(gsw_shared_prolong_add(mg, l, next));
    } else {
        const void *from;
        GSW_TRY(gsw_wrapped_source(mg, next, &from));
        GSW_TRY(ops->prolong_add(mg->context, l->transfer, mg->options.cycle_type,
                                 l->prolongation.values, from, l->x));
        GSW_TRY(gsw_wrapped_prolong_add(mg, l, from));
    }
    return smooth(mg, l, mg->options.post_sweeps, 1, 0);
}

/* How often a cycle of that kind visits the next level each time, and as which kind the next time.
 * The second cycle of F is a V cycle. */
static int calls_of(gsw_cycle kind, int next_is_coarsest) {
    return kind == GSW_CYCLE_V || next_is_coarsest ? 1 : 2;
}
static gsw_cycle next_of(gsw_cycle kind, int call) {
    return kind == GSW_CYCLE_F && call == 1 ? GSW_CYCLE_V : kind;
}

/* The state of a level during its cycle. */
typedef struct visit {
    gsw_cycle kind;
    int zero;  /* x is zero at the start */
    int calls; /* visits of the next level so far */
} visit;

/* Whether the next level is visited once more, and how. */
static int visit_next(const hierarchy *mg, int number, visit *at) {
    visit *next = at + 1;
    const int coarsest = number + 2 == mg->levels;
    if (at->calls == calls_of(at->kind, coarsest))
        return 0;
    next->kind = next_of(at->kind, at->calls);
    next->zero = at->calls == 0;
    next->calls = 0;
    at->calls++;
    return 1;
}

/* The coarsest level: solved directly, or smoothed once. */
static gsw_status solve_coarsest(const hierarchy *mg, gsw_level *l) {
    if (!l->inverse)
        return smooth(mg, l, 1, 0, 1);
    return mg->context->ops->multigrid->dense_apply(mg->context, l->points, l->inverse,
                                                    mg->options.cycle_type, l->b, l->x);
}

static gsw_status run_cycle(const hierarchy *mg) {
    visit at[GSW_LEVELS_MAX] = {{.kind = mg->options.cycle, .zero = 1}};
    const int last = mg->levels - 1;
    int number = 0;
    for (;;) {
        gsw_level *l = mg->level[number];
        if (number == last) {
            GSW_TRY(solve_coarsest(mg, l));
        } else if (at[number].calls == 0) {
            GSW_TRY(descend(mg, l, mg->level[number + 1], at[number].zero));
            visit_next(mg, number, &at[number]);
            number++;
            continue;
        } else if (visit_next(mg, number, &at[number])) {
            number++;
            continue;
        } else {
            GSW_TRY(ascend(mg, l, mg->level[number + 1]));
        }
        if (number == 0)
            return GSW_SUCCESS;
        number--;
    }
}

/* How often smooth() exchanges the level's x and residual. */
static int exchanges(const gsw_level *l, int steps) {
    if (gsw_level_is_shared(l))
        return 0;
    if (l->smoother == GSW_SMOOTHER_CHEBYSHEV)
        return steps * gsw_relax_loop_passes(&l->loop, GSW_CHEBYSHEV_DEGREE);
    return l->smoother == GSW_SMOOTHER_JACOBI ? gsw_relax_loop_passes(&l->loop, steps) : 0;
}

/* The solution must end in the x that the finest level was given. After a failure, too, the level
 * gets its own vector back. On a device a shared level works on the vector that has room for
 * ghosts. */
gsw_status gsw_multigrid_cycle(gsw_multigrid *mg) {
    gsw_level *finest = mg->level[0];
    void *const x = finest->x, *const residual = finest->residual;
    const int all = mg->levels == 1 ? exchanges(finest, 1)
                                    : exchanges(finest, mg->options.pre_sweeps) +
                                          exchanges(finest, mg->options.post_sweeps);
    if (all % 2 == 1) { /* the first smoothing begins with zeros and reads neither */
        finest->x = residual;
        finest->residual = x;
    }
    if (gsw_level_is_shared(finest) && !mg->context->ops->link->on_host)
        finest->x = mg->own_x;
    gsw_status status = run_cycle(mg);
    if (status == GSW_SUCCESS && finest->x != x)
        status = combine(mg, finest, 1, finest->x, 0, x);
    finest->x = x;
    finest->residual = residual;
    return status;
}
