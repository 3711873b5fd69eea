/* multigrid_setup.c: the levels of a hierarchy: which axes they coarsen, their matrices, transfers
 * and smoothers. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "multigrid_internal.h"

gsw_status gsw_multigrid_alloc(gsw_context *context, size_t count, size_t size, int64_t *bytes,
                               void **pointer) {
    size_t total;
    if (!gsw_mul_size(count, size, &total))
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "multigrid: a level's size exceeds 64 bits");
    GSW_TRY(context->ops->alloc(context, total, pointer));
    *bytes += (int64_t)total;
    return GSW_SUCCESS;
}

/* Arrays begin so far apart that equal places of several lie in different sets of a cache, also
 * where the number of points is a power of two: 384 bytes more than a multiple of 4096. */
static size_t spread(size_t bytes) {
    const size_t page = 4096, shift = 384;
    return (bytes + page - shift - 1) / page * page + shift;
}

/* `count` arrays of one value per point, with at least `pad` zeros before each and behind the
 * last. */
static gsw_status alloc_arrays(gsw_context *context, int32_t count, int64_t points, int64_t pad,
                               gsw_dtype type, int64_t *bytes, gsw_level_arrays *arrays) {
    const size_t size = gsw_dtype_size(type), margin = (size_t)pad * size;
    size_t body, total;
    if (!gsw_mul_size((size_t)points, size, &body) || body > SIZE_MAX / 2 - margin - 4096 ||
        !gsw_mul_size((size_t)count, spread(body + margin), &total) ||
        total > SIZE_MAX / 2 - margin)
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "multigrid: a level's size exceeds 64 bits");
    const size_t pitch = spread(body + margin), between = pitch - body;
    GSW_TRY(gsw_multigrid_alloc(context, total + margin, 1, bytes, &arrays->block));
    for (int32_t e = 0; e <= count && pad > 0; e++)
        GSW_TRY(context->ops->set(context, (char *)arrays->block + (size_t)e * pitch, 0,
                                  e < count ? between : margin));
    for (int32_t e = 0; e < count; e++)
        arrays->values[e] = (char *)arrays->block + (size_t)e * pitch + between;
    return GSW_SUCCESS;
}

/* Arrays of a matrix on this grid. Where it is symmetric, those of the lower part are those of the
 * upper part, seen from the neighbour: (i, i + o) is (j, j - o) with j = i + o. The zeros of
 * couplings that leave the grid are seen as such zeros, too. */
static gsw_status alloc_matrix(gsw_context *context, const gsw_grid *grid,
                               const gsw_stencil *stencil, int64_t points, int symmetric,
                               gsw_dtype type, int64_t *bytes, gsw_level_arrays *arrays) {
    const int64_t size = (int64_t)gsw_dtype_size(type);
    int64_t reach = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int64_t distance = llabs(gsw_grid_row(grid, o.dx, o.dy, o.dz));
        symmetric = symmetric && gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz}) >= 0;
        reach = distance > reach ? distance : reach;
    }
    if (!symmetric || !context->ops->multigrid->shares_mirrored)
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

/* ---- Smoothers --------------------------------------------------------------------------------
 */

static gsw_status fill_factor(gsw_multigrid *mg, gsw_level *level, gsw_factor_kind kind,
                              gsw_factor **factor) {
    if (*factor)
        return gsw_factor_refactor(mg->context, *factor, &level->matrix, NULL);
    const gsw_factor_options options = {.size = sizeof options,
                                        .kind = kind,
                                        .factor_type = mg->options.cycle_type,
                                        .vector_type = mg->options.cycle_type};
    return gsw_factor_create(mg->context, &level->matrix, &options, factor);
}

/* ILU(0): a bad pivot is an answer, not an error that anybody is told of. */
static gsw_status fill_quietly(gsw_multigrid *mg, gsw_level *level) {
    gsw_context *context = mg->context;
    const gsw_log_fn log = context->log;
    char message[sizeof context->message];
    int mirrored = mg->symmetric;
    for (int32_t e = 0; e < level->matrix.stencil.count; e++) {
        const gsw_offset o = level->matrix.stencil.offsets[e];
        const gsw_offset back = {-o.dx, -o.dy, -o.dz};
        mirrored = mirrored && gsw_stencil_find(&level->matrix.stencil, back) >= 0;
    }
    memcpy(message, context->message, sizeof message);
    context->log = NULL;
    const gsw_status status = fill_factor(mg, level, mirrored ? GSW_IC0 : GSW_ILU0, &level->first);
    context->log = log;
    if (status == GSW_ERROR_ZERO_PIVOT)
        memcpy(context->message, message, sizeof message);
    return status;
}

/* Gauss-Seidel on the level's own arrays. */
static gsw_status fill_reciprocal(gsw_multigrid *mg, gsw_level *level) {
    const gsw_dtype type = mg->options.cycle_type;
    if (!level->reciprocal)
        GSW_TRY(gsw_multigrid_alloc(mg->context, (size_t)level->points, gsw_dtype_size(type),
                                    &level->bytes, &level->reciprocal));
    return mg->context->ops->multigrid->invert_diagonal(mg->context, &level->matrix, type,
                                                        level->reciprocal);
}

gsw_status gsw_smoother_fill(gsw_multigrid *mg, gsw_level *level) {
    switch (level->smoother) {
    case GSW_SMOOTHER_ILU0: {
        const gsw_status status = fill_quietly(mg, level);
        if (status != GSW_ERROR_ZERO_PIVOT)
            return status;
        gsw_factor_destroy(level->first);
        level->first = NULL;
        level->fell_back = 1;
        level->smoother = mg->symmetric ? GSW_SMOOTHER_GS : GSW_SMOOTHER_SYMGS;
        break;
    }
    case GSW_SMOOTHER_JACOBI:
    case GSW_SMOOTHER_CHEBYSHEV:
        return fill_factor(mg, level, GSW_JACOBI, &level->first);
    default:
        break;
    }
    if (mg->context->ops->multigrid->smooth)
        return fill_reciprocal(mg, level);
    GSW_TRY(fill_factor(mg, level, GSW_FACTOR_LOWER, &level->first));
    return fill_factor(mg, level, GSW_FACTOR_UPPER, &level->second);
}

/* ---- One level --------------------------------------------------------------------------------
 */

static gsw_status refuse_numbers(gsw_multigrid *mg, int number, const gsw_survey *survey) {
    if (survey->bad_row >= 0)
        return gsw_fail(mg->context, GSW_ERROR_ZERO_PIVOT,
                        "multigrid: on level %d the diagonal of row %lld is zero or not finite",
                        number, (long long)survey->bad_row);
    if (mg->options.cycle_type == GSW_F32 &&
        !(survey->largest < 0.1 * (double)FLT_MAX && survey->least > 10 * (double)FLT_MIN))
        return gsw_fail(mg->context, GSW_ERROR_UNSUPPORTED,
                        "multigrid: on level %d the matrix has values beyond the range of fp32; "
                        "a cycle in fp64 takes them",
                        number);
    return GSW_SUCCESS;
}

/* Whether the fp64 arrays of a level are the cycle's, too. */
static int shares_arrays(const gsw_multigrid *mg, const gsw_level *level) {
    return level->setup.block != NULL && mg->options.cycle_type == GSW_F64;
}

static gsw_status open_products(gsw_multigrid *mg, gsw_level *level) {
    const gsw_stencil *stencil = &level->matrix.stencil;
    const gsw_grid *grid = &level->matrix.grid;
    const gsw_dtype type = mg->options.cycle_type;
    if (shares_arrays(mg, level))
        memcpy(level->cycle.values, level->setup.values, sizeof level->cycle.values);
    else
        GSW_TRY(alloc_matrix(mg->context, grid, stencil, level->points, mg->symmetric, type,
                             &level->bytes, &level->cycle));
    for (int32_t e = 0; e < stencil->count; e++) {
        level->lower_values[e] = e < stencil->center ? level->cycle.values[e] : NULL;
        level->upper_values[e] = e > stencil->center ? level->cycle.values[e] : NULL;
    }
    level->product = view_of(grid, stencil, type, (const void *const *)level->cycle.values);
    level->lower = view_of(grid, stencil, type, level->lower_values);
    level->upper = view_of(grid, stencil, type, level->upper_values);
    return GSW_SUCCESS;
}

/* Gauss-Seidel on the level's own arrays needs no residual. */
static int smooths_in_place(const gsw_multigrid *mg, const gsw_level *level) {
    return mg->context->ops->multigrid->smooth != NULL &&
           (level->smoother == GSW_SMOOTHER_GS || level->smoother == GSW_SMOOTHER_SYMGS);
}

/* Storage of a level that is smoothed, and of its transfer to the next one, which is made. */
static gsw_status open_level(gsw_multigrid *mg, gsw_level *level, int axes) {
    gsw_context *context = mg->context;
    const gsw_dtype type = mg->options.cycle_type;
    const size_t size = gsw_dtype_size(type);
    gsw_level *coarse;
    GSW_TRY(open_products(mg, level));
    if (!smooths_in_place(mg, level))
        GSW_TRY(gsw_multigrid_alloc(context, (size_t)level->points, size, &level->bytes,
                                    &level->residual));
    if (level->smoother == GSW_SMOOTHER_CHEBYSHEV)
        GSW_TRY(gsw_multigrid_alloc(context, (size_t)level->points, size, &level->bytes,
                                    &level->direction));
    GSW_TRY(
        gsw_alloc(context, 1, sizeof *level->transfer, "a transfer", (void **)&level->transfer));
    gsw_transfer *t = level->transfer;
    gsw_transfer_make(t, &level->matrix.grid, &level->matrix.stencil, axes, mg->symmetric);

    GSW_TRY(gsw_alloc(context, 1, sizeof *coarse, "a level", (void **)&coarse));
    memset(coarse, 0, sizeof *coarse);
    mg->level[mg->levels++] = coarse;
    GSW_TRY(gsw_grid_points(&t->coarse, &coarse->points));
    GSW_TRY(alloc_arrays(context, t->weights, coarse->points, GSW_WEIGHTS_PAD, type, &level->bytes,
                         &level->prolongation));
    if (mg->symmetric)
        memcpy(level->restriction.values, level->prolongation.values,
               sizeof level->restriction.values);
    else
        GSW_TRY(alloc_arrays(context, t->weights, coarse->points, GSW_WEIGHTS_PAD, type,
                             &level->bytes, &level->restriction));
    GSW_TRY(alloc_matrix(context, &t->coarse, &t->coarse_stencil, coarse->points, mg->symmetric,
                         GSW_F64, &coarse->bytes, &coarse->setup));
    coarse->matrix =
        view_of(&t->coarse, &t->coarse_stencil, GSW_F64, (const void *const *)coarse->setup.values);
    GSW_TRY(gsw_multigrid_alloc(context, (size_t)coarse->points, size, &coarse->bytes, &coarse->b));
    return gsw_multigrid_alloc(context, (size_t)coarse->points, size, &coarse->bytes, &coarse->x);
}

/* The arrays that are to be written: those that are not others, shifted. */
static void own_arrays(const gsw_level_arrays *arrays, int32_t count, void **own) {
    for (int32_t e = 0; e < count; e++)
        own[e] = e < arrays->mirrored ? NULL : arrays->values[e];
}

/* Values of a level that is smoothed, and of the next one's matrix. */
static gsw_status fill_level(gsw_multigrid *mg, gsw_level *level, gsw_level *coarse) {
    gsw_context *context = mg->context;
    const gsw_multigrid_ops *ops = context->ops->multigrid;
    const gsw_dtype type = mg->options.cycle_type;
    void *own[GSW_STENCIL_MAX];
    if (!shares_arrays(mg, level)) {
        own_arrays(&level->cycle, level->matrix.stencil.count, own);
        GSW_TRY(ops->copy_arrays(context, &level->matrix, type, own));
    }
    GSW_TRY(ops->interpolate(context, level->transfer, &level->matrix, 0, type,
                             level->prolongation.values, &level->degenerate));
    if (!mg->symmetric) {
        int64_t degenerate;
        GSW_TRY(ops->interpolate(context, level->transfer, &level->matrix, 1, type,
                                 level->restriction.values, &degenerate));
        level->degenerate += degenerate;
    }
    own_arrays(&coarse->setup, coarse->matrix.stencil.count, own);
    GSW_TRY(ops->triple(context, level->transfer, &level->matrix, type, level->prolongation.values,
                        level->restriction.values, (double *const *)own));
    return gsw_smoother_fill(mg, level);
}

static gsw_status open_coarsest(gsw_multigrid *mg, gsw_level *level) {
    const size_t n = (size_t)level->points;
    GSW_TRY(gsw_multigrid_alloc(mg->context, n * n, sizeof(double), &level->bytes,
                                (void **)&level->inverse));
    return gsw_multigrid_alloc(mg->context, n * n + n, sizeof(double), &level->bytes,
                               (void **)&level->dense_work);
}

/* ---- The finest level -------------------------------------------------------------------------
 */

/* Takes the user's matrix: as it is, or, from CSR, as arrays of our own. */
static gsw_status take_matrix(gsw_multigrid *mg, const gsw_matrix *matrix) {
    gsw_level *level = mg->level[0];
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
        mg->options.cycle_type = GSW_F64; /* the direct solve, which is in fp64, is all there is */
    const size_t size = gsw_dtype_size(mg->options.cycle_type);
    GSW_TRY(gsw_multigrid_alloc(mg->context, (size_t)level->points, size, &mg->bytes, &mg->own_b));
    GSW_TRY(
        gsw_multigrid_alloc(mg->context, 1, sizeof *mg->scale, &mg->bytes, (void **)&mg->scale));
    if (mg->options.cycle_type == GSW_F32)
        GSW_TRY(
            gsw_multigrid_alloc(mg->context, (size_t)level->points, size, &mg->bytes, &mg->own_x));
    return take_matrix(mg, matrix);
}

static gsw_smoother smoother_of(const gsw_multigrid *mg, int number) {
    switch (mg->options.smoother) {
    case GSW_SMOOTHER_AUTO:
        return mg->symmetric ? GSW_SMOOTHER_GS : GSW_SMOOTHER_SYMGS;
    case GSW_SMOOTHER_ILU0_FINEST:
        if (number == 0)
            return GSW_SMOOTHER_ILU0;
        return mg->symmetric ? GSW_SMOOTHER_GS : GSW_SMOOTHER_SYMGS;
    default:
        return mg->options.smoother;
    }
}

/* Symmetry is looked for on the finest level; the coarse ones have it from there. */
static gsw_status survey_level(gsw_multigrid *mg, int number) {
    gsw_level *level = mg->level[number];
    GSW_TRY(mg->context->ops->multigrid->survey(mg->context, &level->matrix, number == 0,
                                                &level->survey));
    return refuse_numbers(mg, number, &level->survey);
}

/* The user's arrays are not ours to look at again. */
static void forget_matrix(gsw_multigrid *mg) {
    if (mg->levels > 0 && !mg->level[0]->setup.block)
        mg->level[0]->matrix.array.values = NULL;
}

static gsw_status build_levels(gsw_multigrid *mg) {
    for (int number = 0; number < GSW_LEVELS_MAX; number++) {
        gsw_level *level = mg->level[number];
        GSW_TRY(survey_level(mg, number));
        if (number == 0) {
            mg->symmetric = level->survey.symmetric;
            mg->singular = level->survey.zero_sums;
        }
        const int axes =
            gsw_choose_axes(&level->matrix.grid, level->survey.coupling, mg->options.theta);
        if (level->points <= mg->options.coarsest_points || axes == 0) {
            GSW_TRY(open_coarsest(mg, level));
            return mg->context->ops->multigrid->dense_invert(
                mg->context, &level->matrix, mg->singular, level->inverse, level->dense_work);
        }
        level->smoother = smoother_of(mg, number);
        GSW_TRY(open_level(mg, level, axes));
        GSW_TRY(fill_level(mg, level, mg->level[number + 1]));
    }
    return gsw_fail(mg->context, GSW_ERROR_OVERFLOW, "multigrid: too many levels");
}

gsw_status gsw_multigrid_build(gsw_multigrid *mg, const gsw_matrix *matrix) {
    GSW_TRY(open_finest(mg, matrix));
    const gsw_status status = build_levels(mg);
    forget_matrix(mg);
    return status;
}

static gsw_status fill_levels(gsw_multigrid *mg) {
    for (int number = 0; number < mg->levels; number++) {
        gsw_level *level = mg->level[number];
        GSW_TRY(survey_level(mg, number));
        if (number == 0 && mg->symmetric && !level->survey.symmetric)
            return gsw_fail(mg->context, GSW_ERROR_INVALID_ARGUMENT,
                            "matrix is not symmetric, as the one was that the hierarchy was made "
                            "from");
        if (number == 0)
            mg->singular = level->survey.zero_sums;
        if (number + 1 < mg->levels)
            GSW_TRY(fill_level(mg, level, mg->level[number + 1]));
        else
            GSW_TRY(mg->context->ops->multigrid->dense_invert(
                mg->context, &level->matrix, mg->singular, level->inverse, level->dense_work));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_multigrid_fill(gsw_multigrid *mg, const gsw_matrix *matrix) {
    gsw_status status = take_matrix(mg, matrix);
    if (status == GSW_SUCCESS)
        status = fill_levels(mg);
    forget_matrix(mg);
    return status;
}

static void release(gsw_context *context, void *pointer) {
    if (pointer)
        context->ops->release(context, pointer);
}

void gsw_multigrid_clear(gsw_multigrid *mg) {
    gsw_context *context = mg->context;
    for (int number = 0; number < mg->levels; number++) {
        gsw_level *level = mg->level[number];
        if (number > 0) { /* the finest level's are the user's, or below */
            release(context, level->b);
            release(context, level->x);
        }
        release(context, level->reciprocal);
        gsw_factor_destroy(level->second);
        gsw_factor_destroy(level->first);
        release(context, level->direction);
        release(context, level->residual);
        release(context, level->dense_work);
        release(context, level->inverse);
        release(context, level->restriction.block);
        release(context, level->prolongation.block);
        release(context, level->cycle.block);
        release(context, level->setup.block);
        free(level->transfer);
        free(level);
    }
    mg->levels = 0;
    release(context, mg->scale);
    release(context, mg->own_x);
    release(context, mg->own_b);
}
