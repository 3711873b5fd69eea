/* multigrid_alone.c: hierarchies of one process: options, creation, application, reports. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/check.h"
#include "core/options.h"
#include "core/quiet.h"
#include "hierarchy.h"
#include "matrix/matrix_row.h"
#include "matrix/stencil_facts.h"

GSW_ENDS_WITH(gsw_multigrid_level, bytes);

enum { COARSEST_LIMIT = 2000, SWEEPS_LIMIT = 1000 };

gsw_status gsw_multigrid_resolve(gsw_context *context, const gsw_multigrid_options *given,
                                 gsw_multigrid_options *o) {
    GSW_TRY(gsw_options_take(context, "gsw_multigrid_options", given, sizeof *o, o));
    GSW_REQUIRE(context, (unsigned)o->smoother <= GSW_SMOOTHER_MULTICOLOR,
                "options->smoother %d is unknown", (int)o->smoother);
    GSW_REQUIRE(context, (unsigned)o->cycle <= GSW_CYCLE_W, "options->cycle %d is unknown",
                (int)o->cycle);
    GSW_REQUIRE(context, o->pre_sweeps >= 0 && o->pre_sweeps <= SWEEPS_LIMIT,
                "options->pre_sweeps %d is not in 0..%d", o->pre_sweeps, SWEEPS_LIMIT);
    GSW_REQUIRE(context, o->post_sweeps >= 0 && o->post_sweeps <= SWEEPS_LIMIT,
                "options->post_sweeps %d is not in 0..%d", o->post_sweeps, SWEEPS_LIMIT);
    GSW_REQUIRE(context, o->theta >= 0 && o->theta <= 1, "options->theta %g is not in (0, 1]",
                o->theta);
    GSW_REQUIRE(context, (unsigned)o->cycle_type <= GSW_F32, "options->cycle_type %d is unknown",
                (int)o->cycle_type);
    GSW_REQUIRE(context, o->coarsest_points >= 0 && o->coarsest_points <= COARSEST_LIMIT,
                "options->coarsest_points %lld is not in 0..%d", (long long)o->coarsest_points,
                COARSEST_LIMIT);
    GSW_REQUIRE(context, (unsigned)o->interpolation <= GSW_INTERPOLATION_INJECTION,
                "options->interpolation %d is unknown", (int)o->interpolation);
    GSW_REQUIRE(context, o->max_levels >= 0 && o->max_levels <= GSW_LEVELS_MAX,
                "options->max_levels %d is not in 0..%d", o->max_levels, GSW_LEVELS_MAX);
    GSW_REQUIRE(context, (unsigned)o->scope <= GSW_SCOPE_GLOBAL, "options->scope %d is unknown",
                (int)o->scope);
    GSW_REQUIRE(context, o->whole_points >= 0, "options->whole_points %lld is negative",
                (long long)o->whole_points);
    o->pre_sweeps = o->pre_sweeps == 0 ? 1 : o->pre_sweeps;
    o->post_sweeps = o->post_sweeps == 0 ? 1 : o->post_sweeps;
    o->theta = o->theta == 0 ? 0.25 : o->theta;
    o->coarsest_points =
        o->coarsest_points == 0 ? context->ops->multigrid->coarsest_points : o->coarsest_points;
    return GSW_SUCCESS;
}

static gsw_status check_reach(gsw_context *context, const gsw_stencil *stencil) {
    const gsw_offset *far = gsw_stencil_beyond(stencil, GSW_LUMPED_RADIUS);
    return far == NULL
               ? GSW_SUCCESS
               : gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                          "multigrid: offset (%d, %d, %d) of the stencil reaches farther than %d",
                          far->dx, far->dy, far->dz, GSW_LUMPED_RADIUS);
}

gsw_status gsw_hierarchy_take(gsw_multigrid *multigrid, const gsw_matrix *matrix,
                              gsw_status (*with)(gsw_multigrid *multigrid,
                                                 const gsw_matrix *matrix)) {
    const gsw_quiet quiet = gsw_quiet_begin(multigrid->context);
    const gsw_status status = with(multigrid, matrix);
    const int64_t row = status == GSW_ERROR_ZERO_PIVOT ? multigrid->level[0]->survey.bad_row : -1;
    return gsw_matrix_explain(multigrid->context, &quiet, matrix, row, 0, status);
}

gsw_status gsw_hierarchy_create(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_multigrid_options *options, int is_coarse,
                                gsw_multigrid **multigrid) {
    gsw_multigrid_options resolved;
    gsw_multigrid *made;
    gsw_status status;
    *multigrid = NULL;
    GSW_TRY(gsw_multigrid_resolve(context, options, &resolved));
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    if (resolved.interpolation == GSW_INTERPOLATION_BLACK_BOX)
        GSW_TRY(check_reach(context, &matrix->stencil));
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "a multigrid hierarchy", (void **)&made));
    memset(made, 0, sizeof *made);
    made->context = context;
    made->options = resolved;
    made->is_coarse = is_coarse;
    made->grid = matrix->grid;
    made->stencil = matrix->stencil;
    GSW_TRY_GOTO(gsw_hierarchy_take(made, matrix, gsw_multigrid_build), fail);
    made->usable = 1;
    *multigrid = made;
    return GSW_SUCCESS;

fail:
    gsw_multigrid_clear(made);
    free(made);
    return status;
}

gsw_status gsw_hierarchy_cycle_on_own(gsw_multigrid *multigrid) {
    multigrid->level[0]->b = multigrid->own_b;
    multigrid->level[0]->x = multigrid->own_x;
    return gsw_multigrid_cycle(multigrid);
}

gsw_status gsw_hierarchy_apply(gsw_multigrid *multigrid, const double *b, double *x) {
    gsw_context *context = multigrid->context;
    gsw_level *finest = multigrid->level[0];
    const int64_t n = finest->points;
    if (multigrid->options.cycle_type == GSW_F32) {
        const gsw_multigrid_ops *ops = context->ops->multigrid;
        GSW_TRY(ops->narrow(context, n, b, multigrid->own_b, multigrid->scale));
        GSW_TRY(gsw_hierarchy_cycle_on_own(multigrid));
        return ops->widen(context, n, multigrid->own_x, multigrid->scale, x);
    }
    finest->b = (void *)(uintptr_t)b; /* only read */
    finest->x = x;
    if (b == x) {
        finest->b = multigrid->own_b;
        GSW_TRY(context->ops->copy(context, n, b, multigrid->own_b));
    }
    return gsw_multigrid_cycle(multigrid);
}

/* ---- Reports ----------------------------------------------------------------------------------
 */

/* Describes a level of the squeezed grid along the axes of the user's. */
static void unsqueeze(const int axis[3], gsw_multigrid_level *level) {
    const gsw_multigrid_level squeezed = *level;
    const int64_t extent[3] = {squeezed.grid.nx, squeezed.grid.ny, squeezed.grid.nz};
    int64_t to[3];
    level->axes = 0;
    for (int i = 0; i < 3; i++) {
        to[axis[i]] = extent[i];
        level->axes |= (squeezed.axes >> i & 1) << axis[i];
        level->coupling[axis[i]] = squeezed.coupling[i];
    }
    level->grid = (gsw_grid){to[0], to[1], to[2]};
    for (int32_t e = 0; e < level->stencil.count; e++) {
        const gsw_offset o = squeezed.stencil.offsets[e];
        const int32_t d[3] = {o.dx, o.dy, o.dz};
        int32_t turned[3];
        for (int i = 0; i < 3; i++)
            turned[axis[i]] = d[i];
        level->stencil.offsets[e] = (gsw_offset){turned[0], turned[1], turned[2]};
    }
}

gsw_status gsw_multigrid_get_level(const gsw_multigrid *multigrid, int level,
                                   gsw_multigrid_level *description) {
    if (!multigrid || !description || level < 0 || level >= multigrid->levels)
        return GSW_ERROR_INVALID_ARGUMENT; /* on several processes `levels` is 0 */
    GSW_TRY(gsw_result_check(NULL, "gsw_multigrid_level", description));
    const gsw_level *l = multigrid->level[level];
    gsw_multigrid_level made = {
        .size = sizeof made,
        .grid = l->matrix.grid,
        .stencil = l->matrix.stencil,
        .points = l->points,
        .couplings = gsw_stencil_couplings(&l->matrix.stencil, &l->matrix.grid),
        .axes = l->transfer ? l->transfer->axes : 0,
        .coupling = {l->survey.coupling[0], l->survey.coupling[1], l->survey.coupling[2]},
        .direct = l->inverse != NULL,
        .smoother = l->smoother,
        .degenerate_points = l->degenerate,
        .bytes = l->bytes,
    };
    const gsw_factor *const factors[2] = {l->first, l->second};
    for (int i = 0; i < 2; i++) {
        gsw_factor_info info = {.size = sizeof info};
        if (gsw_factor_get_info(factors[i], &info) == GSW_SUCCESS)
            made.bytes += info.packed_bytes + info.work_bytes;
    }
    unsqueeze(multigrid->finest.axis, &made);
    gsw_result_give(description, &made, sizeof made);
    return GSW_SUCCESS;
}

gsw_status gsw_hierarchy_get_info(const gsw_multigrid *multigrid, gsw_multigrid_info *info) {
    gsw_multigrid_info made = {
        .size = sizeof made,
        .levels = multigrid->levels,
        .smoother = multigrid->options.smoother,
        .cycle = multigrid->options.cycle,
        .cycle_type = multigrid->options.cycle_type,
        .symmetric = multigrid->symmetric,
        .singular = multigrid->singular,
        .bytes = multigrid->bytes,
        .interpolation = multigrid->options.interpolation,
        .scope = multigrid->options.scope,
        .direct = multigrid->level[multigrid->levels - 1]->inverse != NULL,
    };
    if (made.smoother == GSW_SMOOTHER_AUTO)
        made.smoother = multigrid->level[0]->smoother == GSW_SMOOTHER_ILU0 ? GSW_SMOOTHER_ILU0
                        : multigrid->symmetric                             ? GSW_SMOOTHER_GS
                                                                           : GSW_SMOOTHER_SYMGS;
    double points = 0, couplings = 0, finest_points = 1, finest_couplings = 1;
    for (int number = 0; number < multigrid->levels; number++) {
        gsw_multigrid_level level = {.size = sizeof level};
        GSW_TRY(gsw_multigrid_get_level(multigrid, number, &level));
        points += (double)level.points;
        couplings += (double)level.couplings;
        if (number == 0) {
            finest_points = (double)level.points;
            finest_couplings = (double)level.couplings;
        }
        made.bytes += level.bytes;
        made.degenerate_points += level.degenerate_points;
        made.smoother_fallbacks += multigrid->level[number]->fell_back;
        made.symmetric = made.symmetric && multigrid->level[number]->survey.symmetric;
    }
    made.grid_complexity = points / finest_points;
    made.operator_complexity = couplings / finest_couplings;
    gsw_result_give(info, &made, sizeof made);
    return GSW_SUCCESS;
}

const char *gsw_smoother_name(gsw_smoother smoother) {
    static const char *const names[] = {"auto",        "gs",     "symgs",     "ilu0",
                                        "ilu0-finest", "jacobi", "chebyshev", "multicolor"};
    return (unsigned)smoother < sizeof names / sizeof names[0] ? names[smoother] : "unknown";
}

const char *gsw_cycle_name(gsw_cycle cycle) {
    static const char *const names[] = {"V", "F", "W"};
    return (unsigned)cycle < sizeof names / sizeof names[0] ? names[cycle] : "unknown";
}

void gsw_hierarchy_close(gsw_multigrid *multigrid) {
    if (!multigrid)
        return;
    gsw_multigrid_clear(multigrid);
    free(multigrid);
}
