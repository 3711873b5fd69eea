/* multigrid_setup.c: the levels of a hierarchy: which axes they coarsen, their matrices, transfers
 * and smoothers. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/dense.h"
#include "contract/row.h"
#include "common/arrays.h"
#include "common/stencils.h"
#include "sweep/packed.h"
#include "shared_level.h"
#include "wrapped_level.h"
#include "core/reserve.h"
#include "geometry/stencil_facts.h"

/* The status of all processes of a hierarchy; `own` where it is one. */
static gsw_status agree(const gsw_multigrid *mg, gsw_status own) {
    return mg->partition ? gsw_partition_agree(mg->partition, own) : own;
}

/* The same while levels are shared. What fails on later ones is agreed on at the end. */
static gsw_status agree_on(const gsw_multigrid *mg, const gsw_level *level, gsw_status own) {
    return gsw_level_is_shared(level) ? agree(mg, own) : own;
}

static gsw_matrix view_of(const gsw_grid *grid, const gsw_stencil *stencil, gsw_dtype type,
                          const void *const *values) {
    return (gsw_matrix){.grid = *grid,
                        .stencil = *stencil,
                        .format = GSW_FORMAT_STENCIL,
                        .array = {.values = values, .value_type = type}};
}

/* ---- One level --------------------------------------------------------------------------------
 */

/* Refuses a level whose diagonal has a zero or is not finite, or whose values are beyond the range
 * of the cycle's type. */
static gsw_status refuse(const gsw_multigrid *mg, int number, const gsw_survey *survey) {
    gsw_context *context = mg->context;
    char row[GSW_ROW_TEXT];
    const int base = mg->partition ? mg->level[0]->shared->own->row_base
                                   : gsw_matrix_row_base(&mg->squeezed.matrix);
    if (survey->bad_row >= 0)
        return gsw_fail(context, GSW_ERROR_ZERO_PIVOT,
                        "multigrid: on level %d the diagonal of row %s is zero or not finite",
                        number,
                        gsw_row_text(context, number == 0 ? base : 0,
                                     number == 0 ? &mg->grid : NULL, survey->bad_row, row));
    if (mg->options.cycle_type == GSW_F32 &&
        !(survey->largest < 0.1 * (double)FLT_MAX && survey->least > 10 * (double)FLT_MIN))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "multigrid: on level %d the matrix has values beyond the range of fp32; "
                        "a cycle in fp64 takes them",
                        number);
    return GSW_SUCCESS;
}

/* Diagonals this far below the finest level's largest entry are replaced where rounding has
 * cancelled them. */
#define CANCELLED 1e-12

/* Whether diagonals of a coarse level may have cancelled. */
static int has_cancelled(const gsw_survey *survey, const gsw_survey *finest) {
    return survey->bad_row >= 0 || survey->least <= CANCELLED * finest->largest;
}

/* Whether the cycle uses the fp64 arrays of a level, too. */
static int shares_arrays(const gsw_multigrid *mg, const gsw_level *level) {
    return (level->setup.block != NULL || gsw_level_is_shared(level)) &&
           mg->options.cycle_type == GSW_F64;
}

static gsw_status open_products(gsw_multigrid *mg, gsw_level *level) {
    const gsw_stencil *stencil = &level->matrix.stencil;
    const gsw_grid *grid = &level->matrix.grid;
    const gsw_dtype type = mg->options.cycle_type;
    const int64_t points = grid->nx * grid->ny * grid->nz;
    /* With injection later values may be symmetric on the finest level alone. */
    const int mirrored =
        mg->symmetric &&
        (level == mg->level[0] || mg->options.interpolation != GSW_INTERPOLATION_INJECTION);
    if (shares_arrays(mg, level))
        memcpy(level->cycle.values, level->setup.values, sizeof level->cycle.values);
    else
        GSW_TRY(gsw_level_alloc_matrix(mg->context, grid, stencil, points, mirrored, type,
                                       &level->bytes, &level->cycle));
    level->product = view_of(grid, stencil, type, (const void *const *)level->cycle.values);
    return GSW_SUCCESS;
}

/* Allocates a level that is smoothed. */
static gsw_status open_smoothed(gsw_multigrid *mg, gsw_level *level) {
    GSW_TRY(open_products(mg, level));
    GSW_TRY(gsw_smoother_open_vectors(mg, level));
    const int loops =
        level->smoother == GSW_SMOOTHER_JACOBI || level->smoother == GSW_SMOOTHER_CHEBYSHEV;
    return loops && !gsw_level_is_shared(level) ? gsw_smoother_open_loop(mg, level) : GSW_SUCCESS;
}

/* Allocates the weights of a transfer between two levels. */
static gsw_status open_weights(gsw_multigrid *mg, gsw_level *level) {
    const gsw_transfer *t = level->transfer;
    const gsw_dtype type = mg->options.cycle_type;
    const int64_t points = t->coarse.nx * t->coarse.ny * t->coarse.nz;
    if (t->injection)
        return GSW_SUCCESS; /* there are no weights */
    GSW_TRY(gsw_level_alloc_arrays(mg->context, t->weights, points, GSW_WEIGHTS_PAD, type,
                                   &level->bytes, &level->prolongation));
    if (!mg->symmetric)
        return gsw_level_alloc_arrays(mg->context, t->weights, points, GSW_WEIGHTS_PAD, type,
                                      &level->bytes, &level->restriction);
    memcpy(level->restriction.values, level->prolongation.values, sizeof level->restriction.values);
    return GSW_SUCCESS;
}

static int holds(const gsw_stencil *stencil, const gsw_stencil *part) {
    for (int32_t e = 0; e < part->count; e++)
        if (gsw_stencil_find(stencil, part->offsets[e]) < 0)
            return 0;
    return 1;
}

/* Takes the smallest named stencil that holds a stencil without a name; the new entries are zeros.
 * One coarsened axis turns seven points into 15, which D3N19 holds. */
static void extend(gsw_context *context, gsw_transfer *t) {
    const gsw_grid *g = &t->coarse;
    gsw_stencil stencil;
    if (!context->ops->multigrid->named_stencils || g->nx == 1 || g->ny == 1 || g->nz == 1 ||
        strcmp(gsw_stencil_name(&t->coarse_stencil), "custom") != 0)
        return;
    for (int i = 0; i < GSW_NAMED_COUNT; i++) {
        if (gsw_stencil_named(gsw_named_stencils[i].name, &stencil) != GSW_SUCCESS ||
            !holds(&stencil, &t->coarse_stencil))
            continue;
        t->coarse_stencil = stencil;
        for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
            t->coarse_entry[slot] = gsw_stencil_find(
                &stencil, (gsw_offset){gsw_slot_offset(slot, 0), gsw_slot_offset(slot, 1),
                                       gsw_slot_offset(slot, 2)});
        return;
    }
}

/* Allocates an empty level. */
static gsw_status add_level(gsw_multigrid *mg, gsw_level **level) {
    GSW_TRY(gsw_alloc(mg->context, 1, sizeof **level, "a level", (void **)level));
    memset(*level, 0, sizeof **level);
    mg->level[mg->levels++] = *level;
    return GSW_SUCCESS;
}

/* Opens the transfer from a level to the next one, and creates the next one. On several processes
 * that is not complete yet. */
static gsw_status open_transfer(gsw_multigrid *mg, gsw_level *level, int axes) {
    gsw_context *context = mg->context;
    const size_t size = gsw_dtype_size(mg->options.cycle_type);
    gsw_level *coarse;
    GSW_TRY(
        gsw_alloc(context, 1, sizeof *level->transfer, "a transfer", (void **)&level->transfer));
    gsw_transfer *t = level->transfer;
    if (mg->options.interpolation == GSW_INTERPOLATION_INJECTION)
        gsw_transfer_inject(t, &level->matrix.grid, &level->matrix.stencil, axes);
    else
        gsw_transfer_make(t, &level->matrix.grid, &level->matrix.stencil, axes, mg->symmetric);
    extend(context, t);
    GSW_TRY(context->ops->multigrid->transfer_open(context, t));
    GSW_TRY(add_level(mg, &coarse));
    GSW_TRY(open_weights(mg, level));
    if (gsw_level_is_shared(level))
        return gsw_shared_open_product(mg, level);
    GSW_TRY(gsw_grid_points(&t->coarse, &coarse->points));
    GSW_TRY(gsw_wrapped_open_transfer(mg, level, coarse));
    GSW_TRY(gsw_level_alloc_matrix(context, &t->coarse, &t->coarse_stencil, coarse->points,
                                   mg->symmetric && !t->injection, GSW_F64, &coarse->bytes,
                                   &coarse->setup));
    coarse->matrix =
        view_of(&t->coarse, &t->coarse_stencil, GSW_F64, (const void *const *)coarse->setup.values);
    GSW_TRY(gsw_reserve_counted(context, (size_t)coarse->points, size, &coarse->bytes, &coarse->b));
    return gsw_reserve_counted(context, (size_t)coarse->points, size, &coarse->bytes, &coarse->x);
}

/* Lists the arrays to write: those that are not shifted views of others. */
static void own_arrays(const gsw_level_arrays *arrays, int32_t count, void **own) {
    for (int32_t e = 0; e < count; e++)
        own[e] = e < arrays->mirrored ? NULL : arrays->values[e];
}

/* Computes the values of a level that is smoothed. */
static gsw_status fill_smoothed(gsw_multigrid *mg, gsw_level *level) {
    void *own[GSW_STENCIL_MAX];
    if (gsw_level_is_shared(level))
        gsw_shared_find_product(mg, level);
    if (!shares_arrays(mg, level)) {
        own_arrays(&level->cycle, level->matrix.stencil.count, own);
        GSW_TRY(mg->context->ops->multigrid->copy_arrays(mg->context, &level->matrix,
                                                         mg->options.cycle_type, own));
    }
    return gsw_smoother_fill(mg, level);
}

/* Computes the values of the weights, and of the next level's matrix. */
static gsw_status fill_transfer(gsw_multigrid *mg, gsw_level *level, gsw_level *coarse) {
    gsw_context *context = mg->context;
    const gsw_multigrid_ops *ops = context->ops->multigrid;
    const gsw_dtype type = mg->options.cycle_type;
    const gsw_level_arrays *to =
        gsw_level_is_shared(level) ? &level->shared->product : &coarse->setup;
    void *own[GSW_STENCIL_MAX];
    if (level->transfer->injection)
        return ops->inject(context, level->transfer, &level->matrix,
                           (double *const *)coarse->setup.values);
    GSW_TRY(ops->interpolate(context, level->transfer, &level->matrix, GSW_ROWS_OF_MATRIX, type,
                             level->prolongation.values, &level->degenerate));
    GSW_TRY(gsw_wrapped_weigh(mg, level, 0, GSW_ROWS_OF_MATRIX));
    if (!mg->symmetric) {
        int64_t degenerate;
        const gsw_rows rows =
            level->survey.isolated ? GSW_ROWS_OF_SYMMETRIC_PART_CUT : GSW_ROWS_OF_SYMMETRIC_PART;
        GSW_TRY(ops->interpolate(context, level->transfer, &level->matrix, rows, type,
                                 level->restriction.values, &degenerate));
        GSW_TRY(gsw_wrapped_weigh(mg, level, 1, rows));
        level->degenerate += degenerate;
    }
    own_arrays(to, level->transfer->coarse_stencil.count, own);
    GSW_TRY(ops->triple(context, level->transfer, &level->matrix, type, level->prolongation.values,
                        level->restriction.values, (double *const *)own));
    GSW_TRY(gsw_wrapped_triple(mg, level, coarse));
    return gsw_level_is_shared(level) ? gsw_shared_take_product(level, coarse) : GSW_SUCCESS;
}

/* Allocates the coarsest level where it is solved directly. */
static gsw_status open_direct(gsw_multigrid *mg, gsw_level *level) {
    const size_t n = (size_t)level->points;
    GSW_TRY(gsw_reserve_counted(mg->context, n * n, sizeof(double), &level->bytes,
                                (void **)&level->inverse));
    return gsw_reserve_counted(mg->context, gsw_dense_work(n), sizeof(double), &level->bytes,
                               (void **)&level->dense_work);
}

/* ---- The finest level -------------------------------------------------------------------------
 */

/* Whether rows of the finest level are known: of the same axes. */
static int is_known(const gsw_multigrid *mg) {
    return mg->known != NULL && mg->known->is_surveyed &&
           gsw_grid_is_same(&mg->squeezed.matrix.grid, &mg->grid);
}

/* Takes the rows of the first level that is not shared, squeezed. */
static gsw_status take_rows(gsw_multigrid *mg, gsw_level *level, const gsw_matrix *matrix) {
    gsw_box_rows rows = {.arrays = level->setup, .around = level->around};
    const int is_copied = mg->known != NULL && mg->known->arrays.block != NULL;
    gsw_status status = GSW_SUCCESS;
    if (is_known(mg) && is_copied)
        gsw_box_rows_move(mg->known, &rows);
    else
        status = gsw_box_rows_take(mg->context, matrix, &rows);
    level->setup = rows.arrays;
    level->around = rows.around;
    level->bytes += rows.bytes;
    level->matrix = rows.view;
    if (level->setup.block)
        level->matrix.array.values = (const void *const *)level->setup.values;
    return status;
}

/* Takes the matrix of that level, with its mask. */
static gsw_status take_matrix(gsw_multigrid *mg, gsw_level *level, const gsw_matrix *given) {
    const gsw_matrix *matrix = &mg->squeezed.matrix;
    gsw_squeeze(given, &mg->squeezed);
    GSW_TRY(take_rows(mg, level, matrix));
    if (!matrix->active)
        return GSW_SUCCESS;
    GSW_TRY(gsw_masked_take_mask(mg->context, matrix, &mg->masked));
    gsw_matrix box = level->matrix;
    box.active = matrix->active;
    box.grid.periodic = matrix->grid.periodic;
    return gsw_lakes_take(mg->context, &box, NULL, (const double *const *)level->setup.values,
                          &mg->lakes);
}

/* Takes the present values of a level of several processes. */
static gsw_status fetch(gsw_multigrid *mg, gsw_level *level) {
    GSW_TRY(gsw_distributed_rows_fetch(&level->shared->rows));
    return level->shared->together ? take_matrix(mg, level, &level->shared->rows.matrix)
                                   : GSW_SUCCESS;
}

/* The vectors of the finest level. */
static gsw_status open_own_vectors(gsw_multigrid *mg) {
    gsw_level *level = mg->level[0];
    const size_t size = gsw_dtype_size(mg->options.cycle_type);
    GSW_TRY(
        gsw_reserve_counted(mg->context, 1, sizeof *mg->scale, &mg->bytes, (void **)&mg->scale));
    if (gsw_level_is_shared(level)) {
        GSW_TRY(gsw_shared_open_vectors(mg, level));
        mg->own_b = level->b;
        mg->own_x = level->x;
        return GSW_SUCCESS;
    }
    GSW_TRY(gsw_reserve_counted(mg->context, (size_t)level->points, size, &mg->bytes, &mg->own_b));
    if (mg->options.cycle_type == GSW_F32)
        GSW_TRY(
            gsw_reserve_counted(mg->context, (size_t)level->points, size, &mg->bytes, &mg->own_x));
    return level->shared ? gsw_reserve_counted(mg->context, (size_t)(2 * level->points),
                                               sizeof(double), &mg->bytes, &level->shared->block)
                         : GSW_SUCCESS;
}

static gsw_status open_finest(gsw_multigrid *mg, const gsw_matrix *matrix,
                              gsw_distributed_matrix *rows) {
    gsw_level *level = NULL;
    gsw_status status = add_level(mg, &level);
    if (status != GSW_SUCCESS)
        gsw_distributed_matrix_destroy(rows);
    else if (rows != NULL)
        status = gsw_shared_open(mg, mg->partition, rows, level);
    GSW_TRY(agree(mg, status));
    if (rows != NULL)
        GSW_TRY(gsw_shared_open_rows(mg, 0));
    else
        GSW_TRY(gsw_grid_points(&matrix->grid, &level->points));
    if (!gsw_level_is_shared(level) && level->points <= mg->options.coarsest_points)
        mg->options.cycle_type = GSW_F64; /* the direct solve, in fp64, is the whole cycle */
    if (rows != NULL)                     /* whether it is shared, its survey tells */
        return fetch(mg, level);
    GSW_TRY(open_own_vectors(mg)); /* what is too large is refused before values are read */
    return take_matrix(mg, level, matrix);
}

static gsw_status survey(const gsw_multigrid *mg, const gsw_level *level, int mirror,
                         gsw_survey *found) {
    if (gsw_level_is_shared(level))
        return gsw_distributed_survey(&level->shared->rows, mirror, found);
    const gsw_status status = mg->context->ops->multigrid->survey(
        mg->context, &level->matrix, NULL, gsw_wraps_of(&level->around), mirror, found);
    return level->shared ? agree(mg, status) : status;
}

/* Replaces diagonals that have cancelled. */
static gsw_status mend(gsw_multigrid *mg, const gsw_level *fine, gsw_level *level) {
    const int shared = gsw_level_is_shared(fine);
    const gsw_level_arrays *arrays = shared ? &fine->shared->product : &level->setup;
    double *diagonal = arrays->values[fine->transfer->coarse_stencil.center];
    gsw_status status = mg->context->ops->multigrid->mend_diagonal(mg->context, fine->transfer,
                                                                   &fine->matrix, diagonal);
    if (!shared)
        return status;
    if (status == GSW_SUCCESS)
        status = gsw_shared_take_product(fine, level);
    GSW_TRY(agree(mg, status));
    return fetch(mg, level);
}

/* Symmetry is checked on the finest level only. The coarse levels inherit it, except with
 * injection. */
static gsw_status survey_level(gsw_multigrid *mg, int number) {
    const int injection = mg->options.interpolation == GSW_INTERPOLATION_INJECTION;
    gsw_level *level = mg->level[number];
    gsw_survey *found = &level->survey;
    GSW_TRY(survey(mg, level, number == 0 || injection, found));
    if (number > 0 && !injection && has_cancelled(found, &mg->level[0]->survey)) {
        GSW_TRY(mend(mg, mg->level[number - 1], level));
        GSW_TRY(survey(mg, level, 0, found));
    }
    return refuse(mg, number, found);
}

/* Fills a smoother: beside the next levels where that computes nothing that the host waits for. */
static gsw_status fill_aside(gsw_multigrid *mg, gsw_level *level) {
    const gsw_multigrid_ops *ops = mg->context->ops->multigrid;
    if (gsw_level_is_shared(level) || level->smoother == GSW_SMOOTHER_ILU0)
        return fill_smoothed(mg, level);
    GSW_TRY(ops->aside(mg->context, GSW_ASIDE_BEGIN));
    const gsw_status status = fill_smoothed(mg, level);
    const gsw_status ended = ops->aside(mg->context, GSW_ASIDE_END);
    return status != GSW_SUCCESS ? status : ended;
}

/* Computes the values of a level: those of its smoother and of the next level's matrix, or of its
 * inverse. The order serves devices: the host opens the smoother while the next matrix is computed,
 * and the next level while this level's smoother is filled. */
static gsw_status fill_level(gsw_multigrid *mg, int number) {
    gsw_level *level = mg->level[number], *next = mg->level[number + 1];
    if (level->inverse)
        return mg->context->ops->multigrid->dense_invert(mg->context, &level->matrix,
                                                         gsw_wraps_of(&level->around), mg->singular,
                                                         level->inverse, level->dense_work);
    if (level->transfer) {
        const gsw_status status = fill_transfer(mg, level, next);
        GSW_TRY(agree_on(mg, level, status));
        if (next->shared)
            GSW_TRY(fetch(mg, next));
    }
    GSW_TRY(gsw_smoother_open(mg, level));
    GSW_TRY(agree_on(mg, level, fill_aside(mg, level)));
    return level->transfer ? survey_level(mg, number + 1) : GSW_SUCCESS;
}

/* Surveys the finest level, and keeps what concerns all levels. */
static gsw_status survey_finest(gsw_multigrid *mg, int again) {
    gsw_survey *found = &mg->level[0]->survey;
    if (is_known(mg)) {
        *found = mg->known->survey;
        GSW_TRY(refuse(mg, 0, found));
    } else {
        GSW_TRY(survey_level(mg, 0));
    }
    if (again && mg->symmetric && !found->symmetric)
        return gsw_fail(mg->context, GSW_ERROR_INVALID_ARGUMENT,
                        "matrix is not symmetric, but the hierarchy's first matrix was");
    if (!again) {
        mg->symmetric = found->symmetric;
        mg->mixed = mg->options.smoother == GSW_SMOOTHER_AUTO && gsw_smoother_sees_mixed(found) &&
                    mg->options.interpolation == GSW_INTERPOLATION_BLACK_BOX;
        mg->judged = mg->mixed ? 2 : 0;
    }
    mg->singular = found->zero_sums;
    return GSW_SUCCESS;
}

/* Waits for the values of all levels, also of those that were begun before an error. */
static gsw_status await_levels(gsw_multigrid *mg, gsw_status status) {
    const gsw_status joined = mg->context->ops->multigrid->aside(mg->context, GSW_ASIDE_JOIN);
    GSW_TRY(status);
    GSW_TRY(joined);
    for (int number = 0; number < mg->levels; number++) {
        gsw_level *level = mg->level[number];
        GSW_TRY(gsw_smoother_await(mg, level));
    }
    return GSW_SUCCESS;
}

/* Drops the user's arrays, which must not be read again. */
static void forget_matrix(gsw_multigrid *mg) {
    if (mg->levels > 0 && !mg->level[0]->setup.block && !mg->partition)
        mg->level[0]->matrix.array.values = NULL;
}

/* The axes along which a level is coarsened; 0: it is the coarsest, or cannot be shared. */
static int axes_of(const gsw_multigrid *mg, int number) {
    const gsw_level *level = mg->level[number];
    if (gsw_level_is_shared(level))
        return gsw_choose_axes(&level->shared->partition->grid, level->survey.coupling,
                               mg->options.theta);
    if (level->points <= mg->options.coarsest_points || number + 1 == mg->options.max_levels)
        return 0;
    if (mg->options.interpolation == GSW_INTERPOLATION_INJECTION)
        return gsw_all_axes(&level->matrix.grid);
    return gsw_choose_axes(&level->matrix.grid, level->survey.coupling, mg->options.theta);
}

/* Whether a coarsest level is solved directly: it is small, or no axis can be coarsened further. Of
 * many grids it may have one point each, and sweeps are exact then. */
static int is_direct(const gsw_multigrid *mg, int number) {
    return mg->level[number]->points <= mg->options.coarsest_points ||
           (number + 1 != mg->options.max_levels && mg->planes == 0);
}

/* Chooses the axes, and for a shared level the next one's partition. Where there is none, all
 * processes take the level whole. */
static gsw_status choose_next(gsw_multigrid *mg, int number, int *axes, gsw_partition **coarse) {
    gsw_level *level = mg->level[number];
    *axes = axes_of(mg, number);
    *coarse = NULL;
    if (!gsw_level_is_shared(level))
        return GSW_SUCCESS;
    GSW_TRY(gsw_shared_coarsen(level, *axes, coarse));
    if (*coarse) {
        mg->shared_levels++;
        return GSW_SUCCESS;
    }
    GSW_TRY(gsw_shared_bring_together(mg, number));
    GSW_TRY(take_matrix(mg, level, &level->shared->rows.matrix));
    *axes = axes_of(mg, number);
    return GSW_SUCCESS;
}

/* Opens a level and the next one, as far as no other process takes part. */
static gsw_status open_level(gsw_multigrid *mg, int number, int axes) {
    gsw_level *level = mg->level[number];
    level->coarsest = axes == 0;
    if (number == 0 && mg->partition)
        GSW_TRY(open_own_vectors(mg));
    if (level->coarsest && is_direct(mg, number))
        return open_direct(mg, level);
    level->smoother = gsw_smoother_choose(mg, number);
    GSW_TRY(open_smoothed(mg, level));
    return level->coarsest ? GSW_SUCCESS : open_transfer(mg, level, axes);
}

static gsw_status build_levels(gsw_multigrid *mg) {
    GSW_TRY(survey_finest(mg, 0));
    for (int number = 0; number < GSW_LEVELS_MAX; number++) {
        gsw_level *level = mg->level[number];
        gsw_partition *coarse;
        int axes;
        GSW_TRY(choose_next(mg, number, &axes, &coarse));
        gsw_status status = agree_on(mg, level, open_level(mg, number, axes));
        if (status != GSW_SUCCESS) {
            gsw_partition_destroy(coarse);
            return status;
        }
        if (coarse)
            GSW_TRY(gsw_shared_open_transfer(mg, number, coarse));
        GSW_TRY(fill_level(mg, number));
        if (level->coarsest)
            return GSW_SUCCESS;
    }
    return gsw_fail(mg->context, GSW_ERROR_OVERFLOW, "multigrid: too many levels");
}

gsw_status gsw_multigrid_build(gsw_multigrid *mg, const gsw_matrix *matrix,
                               gsw_distributed_matrix *rows) {
    GSW_TRY(open_finest(mg, matrix, rows));
    const gsw_status status = await_levels(mg, build_levels(mg));
    forget_matrix(mg);
    return agree(mg, status);
}

static gsw_status fill_levels(gsw_multigrid *mg) {
    GSW_TRY(survey_finest(mg, 1));
    for (int number = 0; number < mg->levels; number++)
        GSW_TRY(fill_level(mg, number));
    return GSW_SUCCESS;
}

gsw_status gsw_multigrid_fill(gsw_multigrid *mg, const gsw_matrix *matrix) {
    gsw_level *finest = mg->level[0];
    gsw_status status = mg->partition ? fetch(mg, finest) : take_matrix(mg, finest, matrix);
    if (status == GSW_SUCCESS)
        status = await_levels(mg, fill_levels(mg));
    forget_matrix(mg);
    return agree(mg, status);
}

/* Frees a level's vectors; the finest level's are the user's, or the hierarchy's. */
static void free_vectors(gsw_multigrid *mg, gsw_level *level) {
    gsw_context *context = mg->context;
    if (gsw_level_is_shared(level)) /* they lie in its block */
        return;
    if (level != mg->level[0]) {
        gsw_unreserve(context, level->b);
        gsw_unreserve(context, level->x);
    }
    gsw_unreserve(context, level->direction);
    gsw_unreserve(context, level->residual);
}

void gsw_multigrid_clear(gsw_multigrid *mg) {
    gsw_context *context = mg->context;
    const int shared = mg->levels > 0 && gsw_level_is_shared(mg->level[0]);
    for (int number = 0; number < mg->levels; number++) /* a transfer uses two partitions */
        if (mg->level[number]->shared)
            gsw_shared_close_transfer(mg->level[number]);
    for (int number = mg->levels - 1; number >= 0; number--) {
        gsw_level *level = mg->level[number];
        free_vectors(mg, level);
        gsw_wrapped_close_level(mg, level);
        gsw_smoother_close(mg, level);
        gsw_unreserve(context, level->probe);
        gsw_unreserve(context, level->dense_work);
        gsw_unreserve(context, level->inverse);
        gsw_unreserve(context, level->restriction.block);
        gsw_unreserve(context, level->prolongation.block);
        gsw_unreserve(context, level->cycle.block);
        gsw_unreserve(context, level->setup.block);
        if (level->transfer)
            context->ops->multigrid->transfer_close(context, level->transfer);
        free(level->transfer);
        if (level->shared)
            gsw_shared_close(level, number);
        free(level);
    }
    mg->levels = 0;
    gsw_lakes_close(context, &mg->lakes);
    gsw_masked_close(context, &mg->masked);
    free(mg->tiles);
    gsw_unreserve(context, mg->scale);
    if (!shared) {
        gsw_unreserve(context, mg->own_x);
        gsw_unreserve(context, mg->own_b);
    }
}
