/* multigrid_smoother.c: the smoother of a level: which one it is, and its factors. */
#include <math.h>
#include <stdlib.h>
#include "contract/allocate.h"
#include "sweep/packed.h"
#include "shared_level.h"
#include "wrapped_level.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "geometry/stencil_facts.h"

/* Sweeps upwards alone are not symmetric, and on a coarsest level no sweep downwards follows. */
static gsw_smoother gauss_seidel_of(const gsw_multigrid *mg, const gsw_level *level) {
    return mg->symmetric && !level->coarsest ? GSW_SMOOTHER_GS : GSW_SMOOTHER_SYMGS;
}

/* Sections of a level, as the backend prefers them where it has the choice. The slabs of processes
 * cut a finest level enough. */
static gsw_sections sections_of(const gsw_multigrid *mg, const gsw_level *level) {
    if (level == mg->level[0] && mg->planes > 0 &&
        gsw_grid_is_same(&level->matrix.grid, &mg->grid)) /* nothing couples them */
        return (gsw_sections){.planes = mg->planes};
    if (level == mg->level[0] && gsw_level_is_shared(level))
        return gsw_uncut();
    return mg->options.smoother == GSW_SMOOTHER_AUTO &&
                   gsw_stencil_beyond(&level->matrix.stencil, 1) == NULL
               ? mg->context->ops->multigrid->sections(&level->matrix.grid, level == mg->level[0])
               : gsw_uncut();
}

/* Grids whose spacing grows by 1.15 a layer in three directions have 0.4, by 1.3 have 0.6 to 0.75;
 * uniform ones have 0, and rough media 0.1. */
#define MIXED 0.4

int gsw_smoother_sees_mixed(const gsw_survey *survey) {
    const double *c = survey->coupling, sum = c[0] + c[1] + c[2];
    const double most = c[0] > c[1] ? (c[0] > c[2] ? c[0] : c[2]) : (c[1] > c[2] ? c[1] : c[2]);
    return sum > 0.8 && survey->strongest - most > MIXED * (sum - most);
}

gsw_smoother gsw_smoother_choose(const gsw_multigrid *mg, int number) {
    const gsw_level *level = mg->level[number];
    /* couplings that reach one point at most: points of one colour do not depend on each other */
    const int near = gsw_stencil_beyond(&level->matrix.stencil, 1) == NULL;
    const gsw_multigrid_ops *ops = mg->context->ops->multigrid;
    const gsw_sections sections =
        mg->symmetric ? sections_of(mg, level) : gsw_uncut(); /* SymGS has none */
    switch (mg->options.smoother) {
    case GSW_SMOOTHER_AUTO:
        if (mg->mixed && (number == 0 || !ops->coarse_sweeps_are_slow))
            return GSW_SMOOTHER_ILU0;
        if (near && number > 0 && !gsw_level_is_shared(level) &&
            mg->options.interpolation == GSW_INTERPOLATION_BLACK_BOX &&
            ops->prefers_colors(&level->matrix.grid, sections))
            return GSW_SMOOTHER_MULTICOLOR;
        return gauss_seidel_of(mg, level);
    case GSW_SMOOTHER_MULTICOLOR:
        return near ? GSW_SMOOTHER_MULTICOLOR : gauss_seidel_of(mg, level);
    case GSW_SMOOTHER_ILU0_FINEST:
        return number == 0 ? GSW_SMOOTHER_ILU0 : gauss_seidel_of(mg, level);
    case GSW_SMOOTHER_GS:
        return level->coarsest ? GSW_SMOOTHER_SYMGS : GSW_SMOOTHER_GS;
    default:
        return mg->options.smoother;
    }
}

/* Steps of Gauss-Seidel may need no residual, except with injection. */
static int needs_residual(const gsw_multigrid *mg, const gsw_level *level) {
    return mg->context->ops->multigrid->gauss_seidel->needs_work ||
           mg->options.interpolation == GSW_INTERPOLATION_INJECTION ||
           (level->smoother != GSW_SMOOTHER_GS && level->smoother != GSW_SMOOTHER_SYMGS);
}

gsw_status gsw_smoother_open_vectors(gsw_multigrid *mg, gsw_level *level) {
    const size_t size = gsw_dtype_size(mg->options.cycle_type);
    if (gsw_level_is_shared(level))
        return gsw_shared_open_vectors(mg, level);
    GSW_TRY(gsw_wrapped_open_vectors(mg, level));
    if (needs_residual(mg, level) && level->residual == NULL)
        GSW_TRY(gsw_reserve_counted(mg->context, (size_t)level->points, size, &level->bytes,
                                    &level->residual));
    return level->smoother == GSW_SMOOTHER_ILU0 && mg->options.cycle_type == GSW_F32 &&
                   level->probe == NULL
               ? gsw_reserve_counted(mg->context, (size_t)level->points, sizeof *level->probe,
                                     &level->bytes, (void **)&level->probe)
               : GSW_SUCCESS;
}

gsw_status gsw_smoother_open_loop(gsw_multigrid *mg, gsw_level *level) {
    gsw_context *context = mg->context;
    gsw_relax_loop *loop = &level->loop;
    const int chebyshev = level->smoother == GSW_SMOOTHER_CHEBYSHEV;
    const int most = mg->options.pre_sweeps > mg->options.post_sweeps ? mg->options.pre_sweeps
                                                                      : mg->options.post_sweeps;
    const gsw_relax_options options = {.method = chebyshev ? GSW_RELAX_CHEBYSHEV : GSW_RELAX_JACOBI,
                                       .weight = GSW_JACOBI_WEIGHT};
    GSW_TRY(gsw_relax_loop_open(context, &level->product, &options,
                                gsw_level_is_wrapped(level)   ? 1
                                : chebyshev                   ? GSW_CHEBYSHEV_DEGREE
                                : most > GSW_RELAX_HEIGHT_MAX ? GSW_RELAX_HEIGHT_MAX
                                                              : most,
                                loop));
    loop->around = gsw_level_is_wrapped(level) ? &level->around : NULL;
    loop->sheared = level->sheared;
    if (loop->tile.work_bytes > mg->tiles_bytes) { /* one level at a time uses it */
        free(mg->tiles);
        mg->tiles = NULL;
        mg->bytes -= (int64_t)mg->tiles_bytes;
        mg->tiles_bytes = 0;
        GSW_TRY(
            gsw_alloc(context, loop->tile.work_bytes, 1, "the tiles of a smoother", &mg->tiles));
        mg->tiles_bytes = loop->tile.work_bytes;
        mg->bytes += (int64_t)mg->tiles_bytes;
    }
    return chebyshev && gsw_relax_loop_passes(loop, GSW_CHEBYSHEV_DEGREE) > 1
               ? gsw_reserve_counted(context, (size_t)level->points,
                                     gsw_dtype_size(mg->options.cycle_type), &level->bytes,
                                     &level->direction)
               : GSW_SUCCESS;
}

static gsw_factor_kind ilu_kind(const gsw_multigrid *mg, const gsw_level *level) {
    const int mirrored = mg->symmetric &&
                         mg->options.interpolation != GSW_INTERPOLATION_INJECTION &&
                         gsw_stencil_is_symmetric(&level->matrix.stencil);
    return mirrored ? GSW_IC0 : GSW_ILU0;
}

gsw_status gsw_smoother_open(gsw_multigrid *mg, gsw_level *level) {
    const gsw_dtype type = mg->options.cycle_type;
    const gsw_factor_options options = {.size = sizeof options,
                                        .kind = ilu_kind(mg, level),
                                        .factor_type = type,
                                        .vector_type = type};
    if (gsw_level_is_shared(level) || level->gauss_seidel || level->ilu)
        return GSW_SUCCESS; /* the factors of a shared one are made with their values */
    switch (level->smoother) {
    case GSW_SMOOTHER_JACOBI:
    case GSW_SMOOTHER_CHEBYSHEV:
    case GSW_SMOOTHER_MULTICOLOR:
        return GSW_SUCCESS;
    case GSW_SMOOTHER_ILU0:
        return gsw_packed_open(mg->context, &level->matrix, &options, gsw_uncut(), &level->ilu);
    default:
        return mg->context->ops->multigrid->gauss_seidel->open(
            mg->context, &level->matrix, type, level->smoother == GSW_SMOOTHER_SYMGS,
            sections_of(mg, level), &level->smoother_bytes, &level->gauss_seidel);
    }
}

/* Waits for the values of a smoother. */
gsw_status gsw_smoother_await(gsw_multigrid *mg, gsw_level *level) {
    if (level->ilu)
        GSW_TRY(gsw_packed_await(mg->context, level->ilu));
    return level->gauss_seidel
               ? mg->context->ops->multigrid->gauss_seidel->await(mg->context, level->gauss_seidel)
               : GSW_SUCCESS;
}

void gsw_smoother_close(gsw_multigrid *mg, gsw_level *level) {
    if (level->gauss_seidel)
        mg->context->ops->multigrid->gauss_seidel->close(mg->context, level->gauss_seidel);
    gsw_factor_destroy(level->ilu);
    level->gauss_seidel = NULL;
    level->ilu = NULL;
    level->smoother_bytes = 0;
}

/* ---- factors of several processes ---- */

/* Makes a factor of a shared level, or fills it anew. Coarse levels on devices are swept slab by
 * slab, and in sections as on one device. Collective. */
static gsw_status make_shared(const gsw_multigrid *mg, const gsw_level *level, gsw_factor_kind kind,
                              int64_t planes, gsw_distributed_factor **factor) {
    const int local = level != mg->level[0] && !mg->context->ops->link->on_host;
    const gsw_factor_options options = {
        .size = sizeof options, .kind = kind, .scope = local ? GSW_SCOPE_LOCAL : mg->options.scope};
    return *factor ? gsw_distributed_factor_refactor(*factor)
                   : gsw_distributed_factor_create_as(level->shared->own, &options, planes,
                                                      mg->options.cycle_type, factor);
}

/* The planes of sections that Gauss-Seidel on a device sweeps at once; 0: one sweep crosses all. */
static int64_t planes_of(const gsw_shared_level *s) {
    const gsw_partition *p = s->partition;
    if (!s->before->local)
        return 0;
    return s->before->local->sections.planes > 0 ? s->before->local->sections.planes
                                                 : p->own.end[2] - p->own.begin[2];
}

/* The values of a smoother that always exists. */
static gsw_status fill_shared(const gsw_multigrid *mg, const gsw_level *level) {
    gsw_shared_level *s = level->shared;
    const int64_t planes = sections_of(mg, level).planes;
    if (level->smoother != GSW_SMOOTHER_GS) {
        GSW_TRY(make_shared(mg, level,
                            level->smoother == GSW_SMOOTHER_SYMGS ? GSW_SSOR : GSW_JACOBI, 0,
                            &s->before));
        s->after = s->before;
        return GSW_SUCCESS;
    }
    GSW_TRY(make_shared(mg, level, GSW_FACTOR_LOWER, planes, &s->before));
    GSW_TRY(make_shared(mg, level, GSW_FACTOR_UPPER, planes, &s->after));
    /* Where sweeps end at the slab, kernels know couplings to the next plane only. */
    s->takes_rest = !mg->context->ops->link->on_host &&
                    !(s->before->local && gsw_stencil_beyond(&s->own->local.stencil, 1));
    s->before->ordered = s->after->ordered = s->takes_rest;
    s->planes = planes_of(s);
    return GSW_SUCCESS;
}

/* ---- trials ---- */

/* The level of a trial. */
typedef struct tried_level {
    const gsw_multigrid *mg;
    const gsw_level *level;
} tried_level;

static gsw_status multiply(void *user, const void *x, void *y) {
    const tried_level *t = user;
    if (gsw_level_is_shared(t->level))
        return gsw_distributed_matrix_multiply(t->level->shared->own, x, y);
    const gsw_dtype type = t->mg->options.cycle_type;
    gsw_context *context = t->mg->context;
    GSW_TRY(context->ops->matrix->spmv(context, &t->level->product, type, NULL, x, y));
    return gsw_wrapped_multiply(context, &t->level->around, type, 1, x, y);
}

static gsw_status apply(void *user, const void *r, void *x) {
    const tried_level *t = user;
    if (gsw_level_is_shared(t->level))
        return gsw_distributed_factor_solve(t->level->shared->before, r, x);
    return gsw_packed_solve(t->mg->context, t->level->ilu, 1, r, 0, x, 0);
}

/* Whether the level's ILU(0), which exists, is a usable smoother. Overwrites its vectors. On
 * several processes one of fp32 is taken without a trial where the matrix is dominant, and else not
 * at all.
 */
static gsw_status probe(const gsw_multigrid *mg, const gsw_level *level, int *serves) {
    const int shared = gsw_level_is_shared(level);
    tried_level tried = {mg, level};
    const gsw_smoother_trial trial = {.context = mg->context,
                                      .points = level->points,
                                      .type = mg->options.cycle_type,
                                      .x = level == mg->level[0] && !shared ? mg->own_b : level->x,
                                      .residual = level->residual,
                                      .wide = level->probe,
                                      .scale = mg->scale,
                                      .row_ratio = level->survey.row_ratio,
                                      .singular = mg->singular,
                                      .shared = shared,
                                      .multiply = multiply,
                                      .apply = apply,
                                      .user = &tried};
    *serves = level->survey.row_ratio <= 2 && !mg->singular;
    return shared && mg->options.cycle_type == GSW_F32 ? GSW_SUCCESS
                                                       : gsw_smoother_probe(&trial, serves);
}

/* ILU(0): a bad pivot, or a factor beyond fp32, is an answer, not an error, so nothing is logged.
 * *serves: whether the factor is a usable smoother. */
static gsw_status fill_quietly(gsw_multigrid *mg, gsw_level *level, int *serves) {
    const gsw_quiet quiet = gsw_quiet_begin(mg->context);
    gsw_shared_level *s = gsw_level_is_shared(level) ? level->shared : NULL;
    gsw_status status = s ? make_shared(mg, level, ilu_kind(mg, level), 0, &s->before)
                          : gsw_packed_take(mg->context, level->ilu, &level->matrix, NULL);
    if (s)
        s->after = s->before;
    const int answer = status == GSW_ERROR_ZERO_PIVOT || status == GSW_ERROR_UNSUPPORTED;
    gsw_quiet_end(mg->context, &quiet, answer);
    *serves = 0;
    if (status == GSW_SUCCESS)
        return probe(mg, level, serves);
    return answer ? GSW_SUCCESS : status;
}

static void drop(gsw_multigrid *mg, gsw_level *level) {
    if (gsw_level_is_shared(level))
        gsw_shared_drop_factors(level->shared);
    gsw_smoother_close(mg, level);
}

gsw_status gsw_smoother_fill(gsw_multigrid *mg, gsw_level *level) {
    /* the largest sum of |a| over the diagonal bounds the spectrum of D^-1 A */
    level->loop.options.highest = level->survey.row_ratio;
    level->loop.options.lowest = GSW_CHEBYSHEV_SHARE * level->survey.row_ratio;
    if (level->fell_back) { /* these values may serve */
        drop(mg, level);
        level->fell_back = 0;
        level->smoother = GSW_SMOOTHER_ILU0;
        GSW_TRY(gsw_smoother_open(mg, level));
    }
    if (level->smoother == GSW_SMOOTHER_ILU0) {
        int serves;
        GSW_TRY(fill_quietly(mg, level, &serves));
        if (serves)
            return GSW_SUCCESS;
        drop(mg, level);
        level->fell_back = 1;
        level->smoother = gauss_seidel_of(mg, level);
        GSW_TRY(gsw_smoother_open(mg, level));
    }
    if (gsw_level_is_shared(level))
        return fill_shared(mg, level);
    return level->gauss_seidel ? mg->context->ops->multigrid->gauss_seidel->fill(
                                     mg->context, level->gauss_seidel, &level->matrix)
                               : GSW_SUCCESS;
}

/* ---- judged by a solve ---- */

/* A cycle that leaves more of a residual is slow: it takes 40 iterations and more to 1e-8. Rough
 * coefficients leave 0.5 to 0.6, grids whose spacing grows by 1.3 a layer 0.8. */
#define SLOW 0.63

/* A step of ILU(0) costs so many of Gauss-Seidel, so it must gain as many digits for one. */
#define ILU_COST 1.6

int gsw_smoother_judge(gsw_multigrid *mg, double rate) {
    const int first = mg->judged++ == 0;
    if (!first)
        return !(log(rate) < ILU_COST * log(mg->rate)); /* also for NaN */
    mg->rate = rate;
    if (!(rate <= SLOW))
        return 1;
    mg->judged++; /* it stays */
    return 0;
}

/* Before the first judgement's change ILU(0) takes over, on the finest level alone where a backend
 * sweeps coarse levels slowly. After the second one the first smoother comes back. */
gsw_status gsw_smoother_change(gsw_multigrid *mg) {
    const int back = mg->judged > 1;
    const int finest_alone = mg->context->ops->multigrid->coarse_sweeps_are_slow;
    for (int number = 0; number < mg->levels; number++) {
        gsw_level *level = mg->level[number];
        if (level->inverse != NULL || (finest_alone && number > 0))
            continue;
        const gsw_matrix values = level->matrix;
        if (number == 0) /* the user's arrays may be gone */
            level->matrix = level->product;
        drop(mg, level);
        level->fell_back = 0;
        level->smoother = back ? gsw_smoother_choose(mg, number) : GSW_SMOOTHER_ILU0;
        gsw_status status = gsw_smoother_open_vectors(mg, level);
        if (status == GSW_SUCCESS)
            status = gsw_smoother_open(mg, level);
        if (status == GSW_SUCCESS)
            status = gsw_smoother_fill(mg, level);
        if (status == GSW_SUCCESS)
            status = gsw_smoother_await(mg, level);
        level->matrix = values;
        if (status != GSW_SUCCESS) {
            mg->usable = 0;
            return status;
        }
    }
    return GSW_SUCCESS;
}
