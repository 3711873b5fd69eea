/* distributed_cycle.c: the cycle of a hierarchy on several processes.
 *
 * A smoothing step is x += M^-1 (b - A x), with M one sweep of the level (distributed_factor.c), or
 * Jacobi's diagonal. On devices Gauss-Seidel steps are x = M^-1 (b - N x), where N is what the
 * sweep leaves of A, as on one device (multigrid_cycle.c): half of the matrix is read once less.
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

/* Smoothing steps, the last of which writes its result to `out`; `zero`: x counts as 0 before the
 * first one. On devices x is l->x. */
static gsw_status smooth(const hierarchy *mg, level *l, int down, int zero, const void *b, void *x,
                         void *out) {
    gsw_distributed_factor *M = down ? l->after : l->before;
    const double weight = mg->options.smoother == GSW_SMOOTHER_JACOBI ? GSW_JACOBI_WEIGHT : 1;
    const int steps = down ? mg->options.post_sweeps : mg->options.pre_sweeps;
    for (int step = 0; step < steps; step++) {
        const int first = zero && step == 0, last = step == steps - 1;
        if (l->takes_rest) {
            if (!first)
                GSW_TRY(find_rest(l, down ? GSW_PART_AFTER_DOWN : GSW_PART_AFTER_UP, b));
            GSW_TRY(gsw_distributed_factor_solve(M, first ? b : l->residual, last ? out : x));
            continue;
        }
        if (!first)
            GSW_TRY(find_residual(l, b, x));
        GSW_TRY(gsw_distributed_factor_solve(M, first ? b : l->residual, l->step));
        GSW_TRY(combine(l, weight, l->step, first ? 0 : 1, x));
        if (last && out != x)
            GSW_TRY(combine(l, 1, x, 0, out));
    }
    return GSW_SUCCESS;
}

/* Smooths from zero, and restricts the residual. After one Gauss-Seidel sweep it is -N x. */
static gsw_status descend(const hierarchy *mg, level *l, const void *b, void *x, void *coarse) {
    GSW_TRY(smooth(mg, l, 0, 1, b, x, x));
    if (l->takes_rest && mg->options.pre_sweeps == 1)
        GSW_TRY(find_rest(l, GSW_PART_AFTER_UP, NULL));
    else
        GSW_TRY(find_residual(l, b, x));
    return gsw_distributed_restrict(&l->transfer, l->residual, coarse);
}

/* The last level: all processes get b, and each keeps its box of the result. On devices both are
 * already part of the whole vectors. */
static gsw_status solve_whole(hierarchy *mg, const void *b, void *x) {
    const int64_t *e = mg->whole.frame.e;
    void *all_b = mg->all,
         *all_x = (char *)mg->all + (size_t)(e[0] * e[1] * e[2]) * mg->whole.value;
    GSW_TRY(gsw_ghosts_update(&mg->whole, b, all_b));
    if (gsw_distributed_cycle_type(mg) == GSW_F64) {
        GSW_TRY(gsw_hierarchy_apply(mg->rest, all_b, all_x));
    } else {
        mg->rest->level[0]->b = all_b;
        mg->rest->level[0]->x = all_x;
        GSW_TRY(gsw_multigrid_cycle(mg->rest));
    }
    return gsw_ghosts_take_own(&mg->whole, all_x, x);
}

gsw_status gsw_distributed_cycle(hierarchy *mg, const void *b, void *x) {
    const int last = mg->levels - 1;
    for (int number = 0; number < last; number++) {
        level *l = &mg->level[number];
        GSW_TRY(descend(mg, l, number == 0 ? b : l->b, number == 0 && !on_device(l) ? x : l->x,
                        l[1].b));
    }
    GSW_TRY(solve_whole(mg, last == 0 ? b : mg->level[last].b, last == 0 ? x : mg->level[last].x));
    for (int number = last - 1; number >= 0; number--) {
        level *l = &mg->level[number];
        void *out = number == 0 ? x : l->x, *own = on_device(l) ? l->x : out;
        const int known = on_device(l) && number == last - 1;
        GSW_TRY(gsw_distributed_prolong_add(&l->transfer, l[1].x, known, own));
        GSW_TRY(smooth(mg, l, 1, 0, number == 0 ? b : l->b, own, out));
    }
    return GSW_SUCCESS;
}
