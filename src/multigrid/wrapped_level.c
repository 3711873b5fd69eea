/* wrapped_level.c: see wrapped_level.h. */
#include "wrapped_level.h"

#include <stdlib.h>

#include "contract/allocate.h"
#include "core/reserve.h"

/* Opens what the cycle's transfers across the seam need: see gsw_seam_level. */
static gsw_status open_tables(gsw_multigrid *mg, gsw_level *level) {
    const gsw_seam across = gsw_seam_across(level->transfer, &level->around.wraps);
    const gsw_seam restricted = gsw_seam_restricted(level->transfer, &level->around.wraps);
    const int64_t weights = GSW_CLASSES * across.count, shares = GSW_SLOTS * restricted.count;
    const int64_t all = 3 * weights + across.count + 2 * shares + restricted.count;
    gsw_seam_level *seam = level->seam;
    GSW_TRY(gsw_reserve_counted(mg->context, (size_t)all, sizeof(double), &level->bytes,
                                (void **)&level->seam_block));
    double *values = level->seam_block;
    seam->weights_across[0] = values;
    seam->weights_across[1] = mg->symmetric ? values : values + weights;
    seam->share_weight = values + 2 * weights;
    int64_t *rows = (int64_t *)(seam->share_weight + shares);
    seam->share = rows;
    seam->across_to = rows + shares;
    seam->across_row = seam->across_to + weights;
    seam->restricted_row = seam->across_row + across.count;
    return GSW_SUCCESS;
}

/* Whether the next level is turned along an axis. Around an odd number of points the first and the
 * last one are both coarse, so the coarse ones there are closer than others. If the next level were
 * coarsened there in the same way, they would be closer still, and a smoother that leaves their
 * coupling out would not see it. Turned by one, they are a coarse and a fine point. */
static int is_uneven(const gsw_level *level, const gsw_grid *coarse, int axis) {
    const gsw_transfer *t = level->transfer;
    return (t->axes & coarse->periodic) >> axis & 1 && gsw_extent(&t->fine, axis) % 2 == 1 &&
           gsw_extent(coarse, axis) % 2 == 1;
}

gsw_status gsw_wrapped_open_transfer(gsw_multigrid *mg, gsw_level *level, gsw_level *coarse) {
    const gsw_transfer *t = level->transfer;
    gsw_grid grid = t->coarse;
    if (!gsw_level_is_wrapped(level))
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(mg->context, 1, sizeof *level->seam, "a seam", (void **)&level->seam));
    GSW_TRY(open_tables(mg, level));
    for (int axis = 0; axis < 3; axis++) /* couplings of two points are inside the grid */
        if ((level->around.wraps.periodic >> axis & 1) && gsw_extent(&grid, axis) > 2)
            grid.periodic |= 1 << axis;
    GSW_TRY(gsw_wrapped_open(mg->context, &grid, &t->coarse_stencil, &coarse->around));
    int turns = 0;
    for (int axis = 0; axis < 3; axis++) {
        coarse->turned[axis] = is_uneven(level, &grid, axis);
        turns |= coarse->turned[axis] != 0;
    }
    return turns ? gsw_reserve_counted(mg->context, (size_t)coarse->points,
                                       gsw_dtype_size(mg->options.cycle_type), &coarse->bytes,
                                       &coarse->turn)
                 : GSW_SUCCESS;
}

/* The level with the matrix of its set-up, or of its cycle. */
static gsw_seam_level tables_of(const gsw_multigrid *mg, const gsw_level *level,
                                const gsw_matrix *matrix) {
    const gsw_transfer *t = level->transfer;
    const gsw_seam_level *own = level->seam;
    gsw_seam_level made =
        gsw_seam_level_of(t, matrix, &level->around.wraps, mg->options.cycle_type);
    for (int32_t w = 0; w < t->weights; w++) {
        made.weights[0][w] = level->prolongation.values[w];
        made.weights[1][w] = level->restriction.values[w];
    }
    made.weights_across[0] = own->weights_across[0];
    made.weights_across[1] = own->weights_across[1];
    made.share_weight = own->share_weight;
    made.share = own->share;
    made.across_to = own->across_to;
    made.across_row = own->across_row;
    made.restricted_row = own->restricted_row;
    return made;
}

gsw_status gsw_wrapped_weigh(const gsw_multigrid *mg, const gsw_level *level, int which,
                             gsw_rows rows) {
    if (!gsw_level_is_wrapped(level))
        return GSW_SUCCESS;
    const gsw_seam_level tables = tables_of(mg, level, &level->matrix);
    const gsw_seam seam = gsw_seam_of_weights(level->transfer, &level->around.wraps);
    return mg->context->ops->wrap->weigh(mg->context, &seam, &tables, which, rows);
}

/* Turns the matrix of a level, one array after the other. */
static gsw_status turn_matrix(const gsw_multigrid *mg, const gsw_level *level) {
    gsw_context *context = mg->context;
    const gsw_wrap_ops *ops = context->ops->wrap;
    const gsw_wraps *w = &level->around.wraps;
    double *before, *after = NULL;
    gsw_status status;
    GSW_TRY(gsw_reserve_vector(context, level->points, &before));
    GSW_TRY_GOTO(gsw_reserve_vector(context, level->points, &after), cleanup);
    for (int32_t e = 0; e < w->count; e++) {
        double *from[GSW_STENCIL_MAX] = {NULL}, *to[GSW_STENCIL_MAX] = {NULL};
        from[e] = before;
        to[e] = after;
        GSW_TRY_GOTO(context->ops->multigrid->copy_arrays(context, &level->matrix, GSW_F64,
                                                          (void *const *)from),
                     cleanup);
        GSW_TRY_GOTO(ops->move(context, w, from, 0), cleanup);
        GSW_TRY_GOTO(ops->turn(context, &level->matrix.grid, level->turned, GSW_F64, before, after),
                     cleanup);
        GSW_TRY_GOTO(ops->move(context, w, to, 1), cleanup);
        if (e >= level->setup.mirrored)
            GSW_TRY_GOTO(
                context->ops->vector->copy(context, level->points, after, level->setup.values[e]),
                cleanup);
    }
    status = GSW_SUCCESS;
cleanup:
    gsw_unreserve(context, after);
    gsw_unreserve(context, before);
    return status;
}

gsw_status gsw_wrapped_triple(const gsw_multigrid *mg, gsw_level *level, const gsw_level *coarse) {
    const gsw_transfer *t = level->transfer;
    if (!gsw_level_is_wrapped(level))
        return GSW_SUCCESS;
    gsw_seam_level tables = tables_of(mg, level, &level->matrix);
    const gsw_wraps *w = &coarse->around.wraps;
    tables.coarse_wraps = w->seam;
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
        const int32_t e = t->coarse_entry[slot];
        tables.coarse[slot] = e < 0 || e < coarse->setup.mirrored ? NULL : coarse->setup.values[e];
        tables.coarse_around[slot] = e < 0 || coarse->around.block == NULL || !gsw_wraps_has(w, e)
                                         ? NULL
                                         : w->values + gsw_wraps_place(w, e, 0);
    }
    const gsw_seam seam = gsw_seam_of_rows(t, &level->around.wraps);
    GSW_TRY(mg->context->ops->wrap->triple(mg->context, &seam, &tables));
    if (coarse->turn != NULL)
        GSW_TRY(turn_matrix(mg, coarse));
    *level->seam = tables_of(mg, level, &level->product);
    return mg->context->ops->wrap->prepare(mg->context, level->seam);
}

/* Whether b is used after a step that is not the first one on its level. */
static int keeps_b(const gsw_multigrid *mg) {
    return mg->options.cycle != GSW_CYCLE_V || mg->options.post_sweeps > 1 ||
           mg->options.pre_sweeps > 1;
}

gsw_status gsw_wrapped_shear(const gsw_multigrid *mg, const gsw_level *level) {
    return gsw_level_is_wrapped(level)
               ? mg->context->ops->wrap->multiply(mg->context, &level->around.wraps,
                                                  mg->options.cycle_type, -1, level->x, level->b,
                                                  keeps_b(mg) ? level->saved : NULL)
               : GSW_SUCCESS;
}

gsw_status gsw_wrapped_restore(const gsw_multigrid *mg, const gsw_level *level) {
    return gsw_level_is_wrapped(level) && keeps_b(mg)
               ? mg->context->ops->wrap->restore(mg->context, &level->around.wraps,
                                                 mg->options.cycle_type, level->saved, level->b)
               : GSW_SUCCESS;
}

void *gsw_wrapped_target(const gsw_level *next) {
    return next->turn != NULL ? next->turn : next->b;
}

gsw_status gsw_wrapped_restrict(const gsw_multigrid *mg, const gsw_level *level,
                                const gsw_level *next) {
    const gsw_wrap_ops *ops = mg->context->ops->wrap;
    if (!gsw_level_is_wrapped(level))
        return GSW_SUCCESS;
    GSW_TRY(ops->restrict_residual(mg->context, &level->around.wraps, level->seam, level->b,
                                   level->x, level->saved, gsw_wrapped_target(next)));
    return next->turn != NULL ? ops->turn(mg->context, &next->matrix.grid, next->turned,
                                          mg->options.cycle_type, next->turn, next->b)
                              : GSW_SUCCESS;
}

gsw_status gsw_wrapped_source(const gsw_multigrid *mg, const gsw_level *next, const void **x) {
    const int64_t back[3] = {-next->turned[0], -next->turned[1], -next->turned[2]};
    *x = next->turn != NULL ? next->turn : next->x;
    return next->turn != NULL
               ? mg->context->ops->wrap->turn(mg->context, &next->matrix.grid, back,
                                              mg->options.cycle_type, next->x, next->turn)
               : GSW_SUCCESS;
}

gsw_status gsw_wrapped_prolong_add(const gsw_multigrid *mg, const gsw_level *level,
                                   const void *from) {
    if (!gsw_level_is_wrapped(level) || level->seam->across.count == 0)
        return GSW_SUCCESS;
    return mg->context->ops->wrap->prolong_add(mg->context, level->seam, from, level->x);
}

gsw_status gsw_wrapped_open_vectors(gsw_multigrid *mg, gsw_level *level) {
    const int loops =
        level->smoother == GSW_SMOOTHER_JACOBI || level->smoother == GSW_SMOOTHER_CHEBYSHEV;
    if (!gsw_level_is_wrapped(level))
        return GSW_SUCCESS;
    if (level->saved == NULL) /* at most as many points are across the seam */
        GSW_TRY(gsw_reserve_counted(mg->context, (size_t)level->around.wraps.seam.count,
                                    2 * sizeof(double), &level->bytes, (void **)&level->saved));
    return loops && level->sheared == NULL
               ? gsw_reserve_counted(mg->context, (size_t)level->points,
                                     gsw_dtype_size(mg->options.cycle_type), &level->bytes,
                                     &level->sheared)
               : GSW_SUCCESS;
}

void gsw_wrapped_close_level(gsw_multigrid *mg, gsw_level *level) {
    gsw_unreserve(mg->context, level->sheared);
    gsw_unreserve(mg->context, level->saved);
    gsw_unreserve(mg->context, level->turn);
    gsw_unreserve(mg->context, level->seam_block);
    free(level->seam);
    gsw_wrapped_close(mg->context, &level->around);
}
