/* multigrid_setup.c: the levels of a hierarchy: which axes they coarsen, their matrices, transfers
 * and smoothers. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/dense.h"
#include "contract/row.h"
#include "common/stencils.h"
#include "sweep/packed.h"
#include "hierarchy.h"
#include "core/reserve.h"
#include "matrix/stencil_facts.h"

/* Rounds a size so that equal places of several arrays lie in different sets of a cache, also where
 * the number of points is a power of two. The result is 384 bytes more than a multiple of 4096. */
static size_t spread(size_t bytes) {
    const size_t page = 4096, shift = 384;
    return (bytes + page - shift - 1) / page * page + shift;
}

/* Allocates `count` arrays of one value per point, with at least `pad` zeros before each and after
 * the last. */
static gsw_status alloc_arrays(gsw_context *context, int32_t count, int64_t points, int64_t pad,
                               gsw_dtype type, int64_t *bytes, gsw_level_arrays *arrays) {
    const size_t size = gsw_dtype_size(type), margin = (size_t)pad * size;
    size_t body, total;
    if (!gsw_mul_size((size_t)points, size, &body) || body > SIZE_MAX / 2 - margin - 4096 ||
        !gsw_mul_size((size_t)count, spread(body + margin), &total) ||
        total > SIZE_MAX / 2 - margin)
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "multigrid: a level's size exceeds 64 bits");
    const size_t pitch = spread(body + margin), between = pitch - body;
    GSW_TRY(gsw_reserve_counted(context, total + margin, 1, bytes, &arrays->block));
    for (int32_t e = 0; e <= count && pad > 0 && context->ops->multigrid->reads_margins; e++)
        GSW_TRY(context->ops->set(context, (char *)arrays->block + (size_t)e * pitch, 0,
                                  e < count ? between : margin));
    for (int32_t e = 0; e < count; e++)
        arrays->values[e] = (char *)arrays->block + (size_t)e * pitch + between;
    return GSW_SUCCESS;
}

/* Allocates arrays of a matrix on this grid. Where the matrix is symmetric, the arrays of the lower
 * part are those of the upper part, seen from the neighbour: (i, i + o) is (j, j - o) with j = i +
 * o. The same holds for the zeros of couplings that leave the grid. */
static gsw_status alloc_matrix(gsw_context *context, const gsw_grid *grid,
                               const gsw_stencil *stencil, int64_t points, int symmetric,
                               gsw_dtype type, int64_t *bytes, gsw_level_arrays *arrays) {
    const int64_t size = (int64_t)gsw_dtype_size(type);
    int64_t reach = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int64_t distance = llabs(gsw_grid_row(grid, o.dx, o.dy, o.dz));
        reach = distance > reach ? distance : reach;
    }
    if (!symmetric || !gsw_stencil_is_symmetric(stencil) ||
        !context->ops->multigrid->shares_mirrored)
        return alloc_arrays(context, stencil->count, points, 0, type, bytes, arrays);
    const int32_t first = stencil->center;
    gsw_level_arrays upper;
    GSW_TRY(alloc_arrays(context, stencil->count - first, points, reach, type, bytes, &upper));
    arrays->block = upper.block;
    arrays->mirrored = first;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int32_t mirror = gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz});
        arrays->values[e] = e >= first ? upper.values[e - first]
                                       : (char *)upper.values[mirror - first] +
                                             size * gsw_grid_row(grid, o.dx, o.dy, o.dz);
    }
    return GSW_SUCCESS;
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

gsw_status gsw_level_refuse(gsw_context *context, gsw_dtype type, int number, int base,
                            const gsw_grid *grid, const gsw_survey *survey) {
    char row[GSW_ROW_TEXT];
    if (survey->bad_row >= 0)
        return gsw_fail(context, GSW_ERROR_ZERO_PIVOT,
                        "multigrid: on level %d the diagonal of row %s is zero or not finite",
                        number,
                        gsw_row_text(context, number == 0 ? base : 0, number == 0 ? grid : NULL,
                                     survey->bad_row, row));
    if (type == GSW_F32 &&
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

int gsw_level_has_cancelled(const gsw_survey *survey, const gsw_survey *finest) {
    return survey->bad_row >= 0 || survey->least <= CANCELLED * finest->largest;
}

/* Whether the cycle uses the fp64 arrays of a level, too. */
static int shares_arrays(const gsw_multigrid *mg, const gsw_level *level) {
    return level->setup.block != NULL && mg->options.cycle_type == GSW_F64;
}

static gsw_status open_products(gsw_multigrid *mg, gsw_level *level) {
    const gsw_stencil *stencil = &level->matrix.stencil;
    const gsw_grid *grid = &level->matrix.grid;
    const gsw_dtype type = mg->options.cycle_type;
    /* With injection later values may be symmetric on the finest level alone. */
    const int mirrored =
        mg->symmetric &&
        (level == mg->level[0] || mg->options.interpolation != GSW_INTERPOLATION_INJECTION);
    if (shares_arrays(mg, level))
        memcpy(level->cycle.values, level->setup.values, sizeof level->cycle.values);
    else
        GSW_TRY(alloc_matrix(mg->context, grid, stencil, level->points, mirrored, type,
                             &level->bytes, &level->cycle));
    level->product = view_of(grid, stencil, type, (const void *const *)level->cycle.values);
    return GSW_SUCCESS;
}

/* Allocates a level that is smoothed. */
static gsw_status open_smoothed(gsw_multigrid *mg, gsw_level *level) {
    GSW_TRY(open_products(mg, level));
    GSW_TRY(gsw_smoother_open_vectors(mg, level));
    return level->smoother == GSW_SMOOTHER_JACOBI || level->smoother == GSW_SMOOTHER_CHEBYSHEV
               ? gsw_smoother_open_loop(mg, level)
               : GSW_SUCCESS;
}

/* Allocates the weights of a transfer between two levels. */
static gsw_status open_weights(gsw_multigrid *mg, gsw_level *level, const gsw_level *coarse) {
    const gsw_transfer *t = level->transfer;
    const gsw_dtype type = mg->options.cycle_type;
    if (t->injection)
        return GSW_SUCCESS; /* there are no weights */
    GSW_TRY(alloc_arrays(mg->context, t->weights, coarse->points, GSW_WEIGHTS_PAD, type,
                         &level->bytes, &level->prolongation));
    if (!mg->symmetric)
        return alloc_arrays(mg->context, t->weights, coarse->points, GSW_WEIGHTS_PAD, type,
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
void gsw_transfer_extend(gsw_context *context, gsw_transfer *t) {
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

/* Opens the transfer from a level to the next one, and creates the next one. */
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
    gsw_transfer_extend(context, t);
    if (context->ops->multigrid->transfer_open)
        GSW_TRY(context->ops->multigrid->transfer_open(context, t));

    GSW_TRY(gsw_alloc(context, 1, sizeof *coarse, "a level", (void **)&coarse));
    memset(coarse, 0, sizeof *coarse);
    mg->level[mg->levels++] = coarse;
    GSW_TRY(gsw_grid_points(&t->coarse, &coarse->points));
    GSW_TRY(open_weights(mg, level, coarse));
    GSW_TRY(alloc_matrix(context, &t->coarse, &t->coarse_stencil, coarse->points,
                         mg->symmetric && !t->injection, GSW_F64, &coarse->bytes, &coarse->setup));
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
    void *own[GSW_STENCIL_MAX];
    if (level->transfer->injection)
        return ops->inject(context, level->transfer, &level->matrix,
                           (double *const *)coarse->setup.values);
    GSW_TRY(ops->interpolate(context, level->transfer, &level->matrix, GSW_ROWS_OF_MATRIX, type,
                             level->prolongation.values, &level->degenerate));
    if (!mg->symmetric) {
        int64_t degenerate;
        GSW_TRY(ops->interpolate(context, level->transfer, &level->matrix,
                                 level->survey.isolated ? GSW_ROWS_OF_SYMMETRIC_PART_CUT
                                                        : GSW_ROWS_OF_SYMMETRIC_PART,
                                 type, level->restriction.values, &degenerate));
        level->degenerate += degenerate;
    }
    own_arrays(&coarse->setup, coarse->matrix.stencil.count, own);
    return ops->triple(context, level->transfer, &level->matrix, type, level->prolongation.values,
                       level->restriction.values, (double *const *)own);
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

/* Takes the user's matrix, squeezed, or copies a CSR into arrays of the hierarchy. */
static gsw_status take_matrix(gsw_multigrid *mg, const gsw_matrix *given) {
    gsw_level *level = mg->level[0];
    const gsw_matrix *matrix = &mg->finest.matrix;
    gsw_squeeze(given, &mg->finest);
    if (matrix->format == GSW_FORMAT_STENCIL) {
        level->matrix = *matrix;
        return GSW_SUCCESS;
    }
    if (!level->setup.block)
        GSW_TRY(alloc_arrays(mg->context, matrix->stencil.count, level->points, 0, GSW_F64,
                             &level->bytes, &level->setup));
    level->matrix =
        view_of(&matrix->grid, &matrix->stencil, GSW_F64, (const void *const *)level->setup.values);
    return mg->context->ops->multigrid->copy_arrays(mg->context, matrix, GSW_F64,
                                                    level->setup.values);
}

static gsw_status open_finest(gsw_multigrid *mg, const gsw_matrix *matrix) {
    gsw_level *level;
    GSW_TRY(gsw_alloc(mg->context, 1, sizeof *level, "a level", (void **)&level));
    memset(level, 0, sizeof *level);
    mg->level[mg->levels++] = level;
    GSW_TRY(gsw_grid_points(&matrix->grid, &level->points));
    if (level->points <= mg->options.coarsest_points)
        mg->options.cycle_type = GSW_F64; /* the direct solve, in fp64, is the whole cycle */
    const size_t size = gsw_dtype_size(mg->options.cycle_type);
    GSW_TRY(gsw_reserve_counted(mg->context, (size_t)level->points, size, &mg->bytes, &mg->own_b));
    GSW_TRY(
        gsw_reserve_counted(mg->context, 1, sizeof *mg->scale, &mg->bytes, (void **)&mg->scale));
    if (mg->options.cycle_type == GSW_F32)
        GSW_TRY(
            gsw_reserve_counted(mg->context, (size_t)level->points, size, &mg->bytes, &mg->own_x));
    return take_matrix(mg, matrix);
}

/* Symmetry is checked on the finest level only. The coarse levels inherit it, except with
 * injection. */
static gsw_status survey_level(gsw_multigrid *mg, int number) {
    const gsw_multigrid_ops *ops = mg->context->ops->multigrid;
    const int injection = mg->options.interpolation == GSW_INTERPOLATION_INJECTION;
    gsw_level *level = mg->level[number];
    gsw_survey *found = &level->survey;
    GSW_TRY(ops->survey(mg->context, &level->matrix, NULL, number == 0 || injection, found));
    if (number > 0 && !injection && gsw_level_has_cancelled(found, &mg->level[0]->survey)) {
        const gsw_level *fine = mg->level[number - 1];
        double *diagonal = level->setup.values[level->matrix.stencil.center];
        GSW_TRY(ops->mend_diagonal(mg->context, fine->transfer, &fine->matrix, diagonal));
        GSW_TRY(ops->survey(mg->context, &level->matrix, NULL, 0, found));
    }
    return gsw_level_refuse(mg->context, mg->options.cycle_type, number,
                            gsw_matrix_row_base(&mg->finest.matrix), &mg->grid, found);
}

/* Computes the values of a level: those of its smoother and of the next level's matrix, or of its
 * inverse. The order serves devices: the host opens the smoother while the next matrix is computed.
 * Once that is surveyed, the host opens the next level while this level's smoother is filled. */
static gsw_status fill_level(gsw_multigrid *mg, int number) {
    gsw_level *level = mg->level[number];
    if (level->inverse)
        return mg->context->ops->multigrid->dense_invert(mg->context, &level->matrix, mg->singular,
                                                         level->inverse, level->dense_work);
    if (level->transfer)
        GSW_TRY(fill_transfer(mg, level, mg->level[number + 1]));
    GSW_TRY(gsw_smoother_open(mg, level));
    if (level->transfer)
        GSW_TRY(survey_level(mg, number + 1));
    return fill_smoothed(mg, level);
}

/* Surveys the finest level, and keeps what concerns all levels. */
static gsw_status survey_finest(gsw_multigrid *mg, int again) {
    const gsw_survey *found = &mg->level[0]->survey;
    GSW_TRY(survey_level(mg, 0));
    if (again && mg->symmetric && !found->symmetric)
        return gsw_fail(mg->context, GSW_ERROR_INVALID_ARGUMENT,
                        "matrix is not symmetric, but the hierarchy's first matrix was");
    if (!again)
        mg->symmetric = found->symmetric;
    mg->singular = found->zero_sums;
    return GSW_SUCCESS;
}

/* Waits for the factors of all levels. */
static gsw_status await_factors(gsw_multigrid *mg) {
    for (int number = 0; number < mg->levels; number++) {
        gsw_level *level = mg->level[number];
        if (level->first)
            GSW_TRY(gsw_packed_await(mg->context, level->first));
        if (level->second)
            GSW_TRY(gsw_packed_await(mg->context, level->second));
    }
    return GSW_SUCCESS;
}

/* Drops the user's arrays, which must not be read again. */
static void forget_matrix(gsw_multigrid *mg) {
    if (mg->levels > 0 && !mg->level[0]->setup.block)
        mg->level[0]->matrix.array.values = NULL;
}

/* The axes along which a level is coarsened; 0: it is the coarsest. */
static int axes_of(const gsw_multigrid *mg, int number) {
    const gsw_level *level = mg->level[number];
    if (level->points <= mg->options.coarsest_points || number + 1 == mg->options.max_levels)
        return 0;
    if (mg->options.interpolation == GSW_INTERPOLATION_INJECTION)
        return gsw_all_axes(&level->matrix.grid);
    return gsw_choose_axes(&level->matrix.grid, level->survey.coupling, mg->options.theta);
}

/* Whether a coarsest level is solved directly: it is small, or no axis can be coarsened further. */
static int is_direct(const gsw_multigrid *mg, int number) {
    return mg->level[number]->points <= mg->options.coarsest_points ||
           number + 1 != mg->options.max_levels;
}

static gsw_status build_levels(gsw_multigrid *mg) {
    GSW_TRY(survey_finest(mg, 0));
    for (int number = 0; number < GSW_LEVELS_MAX; number++) {
        gsw_level *level = mg->level[number];
        const int axes = axes_of(mg, number);
        level->coarsest = axes == 0;
        if (level->coarsest && is_direct(mg, number)) {
            GSW_TRY(open_direct(mg, level));
        } else {
            level->smoother = gsw_smoother_choose(mg, number);
            GSW_TRY(open_smoothed(mg, level));
        }
        if (!level->coarsest)
            GSW_TRY(open_transfer(mg, level, axes));
        GSW_TRY(fill_level(mg, number));
        if (level->coarsest)
            return GSW_SUCCESS;
    }
    return gsw_fail(mg->context, GSW_ERROR_OVERFLOW, "multigrid: too many levels");
}

gsw_status gsw_multigrid_build(gsw_multigrid *mg, const gsw_matrix *matrix) {
    GSW_TRY(open_finest(mg, matrix));
    gsw_status status = build_levels(mg);
    if (status == GSW_SUCCESS)
        status = await_factors(mg);
    forget_matrix(mg);
    return status;
}

static gsw_status fill_levels(gsw_multigrid *mg) {
    GSW_TRY(survey_finest(mg, 1));
    for (int number = 0; number < mg->levels; number++)
        GSW_TRY(fill_level(mg, number));
    return GSW_SUCCESS;
}

gsw_status gsw_multigrid_fill(gsw_multigrid *mg, const gsw_matrix *matrix) {
    gsw_status status = take_matrix(mg, matrix);
    if (status == GSW_SUCCESS)
        status = fill_levels(mg);
    if (status == GSW_SUCCESS)
        status = await_factors(mg);
    forget_matrix(mg);
    return status;
}

void gsw_multigrid_clear(gsw_multigrid *mg) {
    gsw_context *context = mg->context;
    for (int number = 0; number < mg->levels; number++) {
        gsw_level *level = mg->level[number];
        if (number > 0) { /* the finest level's are the user's, or below */
            gsw_unreserve(context, level->b);
            gsw_unreserve(context, level->x);
        }
        gsw_unreserve(context, level->reciprocal);
        gsw_factor_destroy(level->second);
        gsw_factor_destroy(level->first);
        gsw_unreserve(context, level->probe);
        gsw_unreserve(context, level->direction);
        gsw_unreserve(context, level->residual);
        gsw_unreserve(context, level->dense_work);
        gsw_unreserve(context, level->inverse);
        gsw_unreserve(context, level->restriction.block);
        gsw_unreserve(context, level->prolongation.block);
        gsw_unreserve(context, level->cycle.block);
        gsw_unreserve(context, level->setup.block);
        if (level->transfer && context->ops->multigrid->transfer_close)
            context->ops->multigrid->transfer_close(context, level->transfer);
        free(level->transfer);
        free(level);
    }
    mg->levels = 0;
    free(mg->tiles);
    gsw_unreserve(context, mg->scale);
    gsw_unreserve(context, mg->own_x);
    gsw_unreserve(context, mg->own_b);
}
