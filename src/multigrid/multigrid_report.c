/* multigrid_report.c: what a hierarchy tells about itself and its levels; names. */
#include "core/options.h"
#include "geometry/stencil_facts.h"
#include "shared_level.h"

GSW_ENDS_WITH(gsw_multigrid_info, scope);
GSW_ENDS_WITH(gsw_multigrid_level, bytes);

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
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_result_check(NULL, "gsw_multigrid_level", description));
    const gsw_level *l = multigrid->level[level];
    const int shared = gsw_level_is_shared(l);
    const gsw_grid *grid = shared ? &l->shared->partition->grid : &l->matrix.grid;
    gsw_multigrid_level made = {
        .size = sizeof made,
        .grid = *grid,
        .stencil = l->matrix.stencil,
        .points = grid->nx * grid->ny * grid->nz,
        .couplings = gsw_stencil_couplings(&l->matrix.stencil, grid),
        .axes = l->transfer ? l->transfer->axes : 0,
        .coupling = {l->survey.coupling[0], l->survey.coupling[1], l->survey.coupling[2]},
        .direct = l->inverse != NULL,
        .smoother = l->smoother,
        .degenerate_points = l->degenerate,
        .bytes = l->bytes + l->smoother_bytes,
    };
    gsw_factor_info info = {.size = sizeof info};
    if (gsw_factor_get_info(l->ilu, &info) == GSW_SUCCESS)
        made.bytes += info.packed_bytes + info.work_bytes;
    if (!shared)
        unsqueeze(multigrid->squeezed.axis, &made);
    gsw_result_give(description, &made, sizeof made);
    return GSW_SUCCESS;
}

gsw_status gsw_multigrid_get_info(const gsw_multigrid *multigrid, gsw_multigrid_info *info) {
    if (!multigrid || !info)
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_result_check(NULL, "gsw_multigrid_info", info));
    gsw_multigrid_info made = {
        .size = sizeof made,
        .levels = multigrid->levels,
        .shared_levels = multigrid->shared_levels,
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
