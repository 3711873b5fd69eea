/* distributed_cycle.c: the cycle of a hierarchy on several processes.
 *
 * A smoothing step is x += M^-1 (b - A x), with M one sweep of the level (distributed_factor.c) or
 * its ILU(0), or some sweeps of Jacobi or Chebyshev. On devices Gauss-Seidel steps are x = M^-1 (b
 * - N x), where N is what the sweep leaves of A, as on one device (multigrid_cycle.c): half of the
 * matrix is read once less.
 *
 * On devices the vectors of a level lie in frames. Ghosts of x are exchanged before each product.
 * Transfers work on whole frames, and what they write to ghosts is not used. */
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_cycle.h"

typedef gsw_distributed_multigrid hierarchy;
typedef gsw_distributed_level level;

gsw_dtype gsw_distributed_cycle_type(const hierarchy *mg) {
    return mg->levels > 1 ? mg->options.cycle_type : GSW_F64;
}

/* y = a x + b y on a level with a transfer. */
static gsw_status combine(const level *l, double a, const void *x, double b, void *y) {
    gsw_context *context = l->partition->context;
    return context->ops->multigrid->combine(context, l->transfer.type, l->points, a, x, b, y);
}

/* Devices: l->residual = b - the part times l->x; zeros where b is NULL. */
static gsw_status find_rest(level *l, gsw_slab_part part, const void *b) {
    gsw_context *context = l->partition->context;
    const gsw_frame *f = &l->transfer.fine.frame;
    const gsw_slab_rest job = {.matrix = &l->product,
                               .type = l->transfer.type,
                               .part = part,
                               .planes = l->planes,
                               .below = f->low[2],
                               .above = f->e[2] - f->n[2] - f->low[2],
                               .b = b,
                               .x = l->x,
                               .y = l->residual};
    GSW_TRY(
        gsw_ghosts_update(&l->transfer.fine, l->x, gsw_distributed_frame(&l->transfer.fine, l->x)));
    return context->ops->slab->rest(context, &job);
}

static int on_device(const level *l) {
    return l->partition->context->ops->slab != NULL;
}

static gsw_status find_residual(level *l, const void *b, const void *x) {
    if (on_device(l))
        return find_rest(l, GSW_PART_ALL, b);
    GSW_TRY(gsw_distributed_matrix_multiply(l->matrix, x, l->residual));
    return combine(l, 1, b, -1, l->residual);
}

/* Sweeps of Jacobi or Chebyshev: p = alpha D^-1 (b - A x) + beta p, x = x + p. p is l->step. */
static gsw_status run_loop(level *l, int sweeps, int zero, const void *b, void *x) {
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
            GSW_TRY(find_residual(l, b, x));
        GSW_TRY(gsw_distributed_factor_solve(l->before, first ? b : l->residual, l->residual));
        GSW_TRY(combine(l, alpha, l->residual, sweep == 0 ? 0 : beta, l->step));
        GSW_TRY(combine(l, 1, l->step, first ? 0 : 1, x));
    }
    return GSW_SUCCESS;
}

/* One smoothing step, whose result goes to `out`. `zero`: x counts as 0 before. */
static gsw_status smooth_once(level *l, int down, int zero, const void *b, void *x, void *out) {
    gsw_distributed_factor *M = down ? l->after : l->before;
    if (l->takes_rest) {
        if (!zero)
            GSW_TRY(find_rest(l, down ? GSW_PART_AFTER_DOWN : GSW_PART_AFTER_UP, b));
        return gsw_distributed_factor_solve(M, zero ? b : l->residual, out);
    }
    if (l->smoother == GSW_SMOOTHER_JACOBI || l->smoother == GSW_SMOOTHER_CHEBYSHEV) {
        GSW_TRY(
            run_loop(l, l->smoother == GSW_SMOOTHER_JACOBI ? 1 : GSW_CHEBYSHEV_DEGREE, zero, b, x));
    } else {
        if (!zero)
            GSW_TRY(find_residual(l, b, x));
        GSW_TRY(gsw_distributed_factor_solve(M, zero ? b : l->residual, l->step));
        GSW_TRY(combine(l, 1, l->step, zero ? 0 : 1, x));
    }
    return out != x ? combine(l, 1, x, 0, out) : GSW_SUCCESS;
}

/* Smoothing steps, the last of which writes its result to `out`; `zero`: x counts as 0 before the
 * first one. On devices x is l->x. */
static gsw_status smooth(const hierarchy *mg, level *l, int down, int zero, const void *b, void *x,
                         void *out) {
    const int steps = down ? mg->options.post_sweeps : mg->options.pre_sweeps;
    for (int step = 0; step < steps; step++)
        GSW_TRY(smooth_once(l, down, zero && step == 0, b, x, step == steps - 1 ? out : x));
    return GSW_SUCCESS;
}

/* Smooths, and restricts the residual. After one Gauss-Seidel sweep from zero it is -N x. */
static gsw_status descend(const hierarchy *mg, level *l, int zero, const void *b, void *x,
                          void *coarse) {
    GSW_TRY(smooth(mg, l, 0, zero, b, x, x));
    if (zero && l->takes_rest && mg->options.pre_sweeps == 1)
        GSW_TRY(find_rest(l, GSW_PART_AFTER_UP, NULL));
    else
        GSW_TRY(find_residual(l, b, x));
    return gsw_distributed_restrict(&l->transfer, l->residual, coarse);
}

/* The last level: all processes get b, and each keeps its box of the result. On devices both are
 * already part of the whole vectors. x is still there from the visit before. */
static gsw_status solve_whole(hierarchy *mg, gsw_cycle kind, int zero, const void *b, void *x) {
    const int64_t *e = mg->whole.frame.e;
    void *all_b = mg->all,
         *all_x = (char *)mg->all + (size_t)(e[0] * e[1] * e[2]) * mg->whole.value;
    GSW_TRY(gsw_ghosts_update(&mg->whole, b, all_b));
    if (mg->levels == 1) { /* fp64 vectors of a cycle that may be in fp32 */
        GSW_TRY(gsw_hierarchy_apply(mg->rest, all_b, all_x));
    } else {
        mg->rest->level[0]->b = all_b;
        mg->rest->level[0]->x = all_x;
        GSW_TRY(gsw_multigrid_cycle_as(mg->rest, kind, zero));
    }
    return gsw_ghosts_take_own(&mg->whole, all_x, x);
}

/* A cycle of level `number` and all below. On devices only the finest level has other vectors b and
 * `out` than its own. */
static gsw_status visit(hierarchy *mg, int number, gsw_cycle kind, int zero, const void *b,
                        void *out) {
    level *l = &mg->level[number], *next = l + 1;
    const int last = mg->levels - 1;
    void *x = on_device(l) ? l->x : out;
    if (number == last)
        return solve_whole(mg, kind, zero, b, out);
    GSW_TRY(descend(mg, l, zero, b, x, next->b));
    const int calls = gsw_cycle_calls(kind, number + 1 == last && mg->rest->levels == 1);
    for (int call = 0; call < calls; call++)
        GSW_TRY(visit(mg, number + 1, gsw_cycle_next(kind, call), call == 0, next->b, next->x));
    GSW_TRY(
        gsw_distributed_prolong_add(&l->transfer, next->x, on_device(l) && number == last - 1, x));
    return smooth(mg, l, 1, 0, b, x, out);
}

gsw_status gsw_distributed_cycle(hierarchy *mg, const void *b, void *x) {
    return visit(mg, 0, mg->options.cycle, 1, b, x);
}
