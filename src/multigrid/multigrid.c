/* multigrid.c: the public interface of hierarchies: arguments, creation and destruction,
 * application, reports. */
#include <gridsweep/multigrid.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/check.h"
#include "matrix/matrix_row.h"
#include "hierarchy.h"
#include "core/options.h"
#include "krylov/preconditioner.h"
#include "matrix/stencil_facts.h"

GSW_ENDS_WITH(gsw_multigrid_options, max_levels);
GSW_ENDS_WITH(gsw_multigrid_info, direct);
GSW_ENDS_WITH(gsw_multigrid_level, bytes);

enum { COARSEST_LIMIT = 2000, SWEEPS_LIMIT = 1000 };

gsw_status gsw_multigrid_resolve(gsw_context *context, int *pre_sweeps, int *post_sweeps,
                                 double *theta, gsw_dtype cycle_type) {
    GSW_REQUIRE(context, *pre_sweeps >= 0 && *pre_sweeps <= SWEEPS_LIMIT,
                "options->pre_sweeps %d is not in 0..%d", *pre_sweeps, SWEEPS_LIMIT);
    GSW_REQUIRE(context, *post_sweeps >= 0 && *post_sweeps <= SWEEPS_LIMIT,
                "options->post_sweeps %d is not in 0..%d", *post_sweeps, SWEEPS_LIMIT);
    GSW_REQUIRE(context, *theta >= 0 && *theta <= 1, "options->theta %g is not in (0, 1]", *theta);
    GSW_REQUIRE(context, (unsigned)cycle_type <= GSW_F32, "options->cycle_type %d is unknown",
                (int)cycle_type);
    *pre_sweeps = *pre_sweeps == 0 ? 1 : *pre_sweeps;
    *post_sweeps = *post_sweeps == 0 ? 1 : *post_sweeps;
    *theta = *theta == 0 ? 0.25 : *theta;
    return GSW_SUCCESS;
}

static gsw_status resolve(gsw_context *context, const gsw_multigrid_options *given,
                          gsw_multigrid_options *options) {
    GSW_TRY(gsw_options_take(context, "gsw_multigrid_options", given, sizeof *options, options));
    GSW_REQUIRE(context, (unsigned)options->smoother <= GSW_SMOOTHER_MULTICOLOR,
                "options->smoother %d is unknown", (int)options->smoother);
    GSW_REQUIRE(context, (unsigned)options->cycle <= GSW_CYCLE_W, "options->cycle %d is unknown",
                (int)options->cycle);
    GSW_TRY(gsw_multigrid_resolve(context, &options->pre_sweeps, &options->post_sweeps,
                                  &options->theta, options->cycle_type));
    GSW_REQUIRE(context,
                options->coarsest_points >= 0 && options->coarsest_points <= COARSEST_LIMIT,
                "options->coarsest_points %lld is not in 0..%d",
                (long long)options->coarsest_points, COARSEST_LIMIT);
    GSW_REQUIRE(context, (unsigned)options->interpolation <= GSW_INTERPOLATION_INJECTION,
                "options->interpolation %d is unknown", (int)options->interpolation);
    GSW_REQUIRE(context, options->max_levels >= 0 && options->max_levels <= GSW_LEVELS_MAX,
                "options->max_levels %d is not in 0..%d", options->max_levels, GSW_LEVELS_MAX);
    if (options->coarsest_points == 0)
        options->coarsest_points = context->ops->multigrid->coarsest_points;
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

/* Builds or fills a hierarchy from the user's matrix. */
static gsw_status take(gsw_multigrid *multigrid, const gsw_matrix *matrix,
                       gsw_status (*with)(gsw_multigrid *multigrid, const gsw_matrix *matrix)) {
    const gsw_quiet quiet = gsw_quiet_begin(multigrid->context);
    const gsw_status status = with(multigrid, matrix);
    const int64_t row = status == GSW_ERROR_ZERO_PIVOT ? multigrid->level[0]->survey.bad_row : -1;
    return gsw_matrix_explain(multigrid->context, &quiet, matrix, row, 0, status);
}

gsw_status gsw_multigrid_create_coarse(gsw_context *context, const gsw_matrix *matrix,
                                       const gsw_multigrid_options *options, int is_coarse,
                                       gsw_multigrid **multigrid) {
    gsw_multigrid_options resolved;
    gsw_multigrid *made;
    gsw_status status;
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    *multigrid = NULL;
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    GSW_TRY(resolve(context, options, &resolved));
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
    GSW_TRY_GOTO(take(made, matrix, gsw_multigrid_build), fail);
    made->usable = 1;
    *multigrid = made;
    return GSW_SUCCESS;

fail:
    gsw_multigrid_clear(made);
    free(made);
    return status;
}

gsw_status gsw_multigrid_create(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_multigrid_options *options, gsw_multigrid **multigrid) {
    return gsw_multigrid_create_coarse(context, matrix, options, 0, multigrid);
}

gsw_status gsw_multigrid_refactor(gsw_context *context, gsw_multigrid *multigrid,
                                  const gsw_matrix *matrix) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    GSW_REQUIRE(context, gsw_grid_is_same(&matrix->grid, &multigrid->grid),
                "matrix: its grid is not the hierarchy's");
    GSW_REQUIRE(context, gsw_stencil_is_same(&matrix->stencil, &multigrid->stencil),
                "matrix: its stencil is not the hierarchy's");
    GSW_REQUIRE(context,
                (matrix->format == GSW_FORMAT_CSR) == (multigrid->level[0]->setup.block != NULL),
                "matrix: its format is not that of the hierarchy's first matrix");
    multigrid->usable = 0;
    GSW_TRY(take(multigrid, matrix, gsw_multigrid_fill));
    multigrid->usable = 1;
    return GSW_SUCCESS;
}

/* ---- Applying ---------------------------------------------------------------------------------
 */

/* x = M^-1 b for the finest level's own vectors. */
static gsw_status cycle_on_own(void *self, gsw_context *context) {
    gsw_multigrid *multigrid = self;
    (void)context;
    multigrid->level[0]->b = multigrid->own_b;
    multigrid->level[0]->x = multigrid->own_x;
    return gsw_multigrid_cycle(multigrid);
}

gsw_status gsw_multigrid_apply(gsw_context *context, gsw_multigrid *multigrid, const double *b,
                               double *x) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    GSW_REQUIRE(context, multigrid->usable, "multigrid holds no values: its last refactor failed");
    gsw_level *finest = multigrid->level[0];
    const int64_t n = finest->points;
    const gsw_vector vectors[] = {{.name = "b", .data = b},
                                  {.name = "x", .data = x, .written = 1, .may_be = "b"}};
    GSW_TRY(gsw_check_vectors(context, n, GSW_F64, 1, vectors, 2));
    if (multigrid->options.cycle_type == GSW_F32) {
        const gsw_multigrid_ops *ops = context->ops->multigrid;
        GSW_TRY(ops->narrow(context, n, b, multigrid->own_b, multigrid->scale));
        GSW_TRY(cycle_on_own(multigrid, context));
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
        return GSW_ERROR_INVALID_ARGUMENT;
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

gsw_status gsw_multigrid_get_info(const gsw_multigrid *multigrid, gsw_multigrid_info *info) {
    if (!multigrid || !info)
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_result_check(NULL, "gsw_multigrid_info", info));
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

/* ---- As a preconditioner ----------------------------------------------------------------------
 */

static gsw_status apply_cycle(void *self, gsw_context *context, const double *b, double *x) {
    return gsw_multigrid_apply(context, self, b, x);
}

/* The finest level's own vectors. */
static int own_vectors(void *self, float **b, float **x) {
    const gsw_multigrid *multigrid = self;
    if (multigrid->options.cycle_type != GSW_F32)
        return 0;
    *b = multigrid->own_b;
    *x = multigrid->own_x;
    return 1;
}

static const char *name_of(const void *self) {
    (void)self;
    return "mg";
}

static int is_costly(const void *self) {
    (void)self;
    return 1;
}

static int is_judged(const void *self) {
    const gsw_multigrid *multigrid = self;
    return multigrid->options.smoother == GSW_SMOOTHER_AUTO && multigrid->judged < 2 &&
           multigrid->levels > 1 && multigrid->options.interpolation == GSW_INTERPOLATION_BLACK_BOX;
}

static int judge(void *self, double rate) {
    return gsw_smoother_judge(self, rate);
}

static gsw_status change(void *self, gsw_context *context) {
    (void)context;
    return gsw_smoother_change(self);
}

static gsw_status check_values(const void *self, gsw_context *context) {
    const gsw_multigrid *multigrid = self;
    GSW_REQUIRE(context, multigrid->usable, "multigrid holds no values: its last refactor failed");
    return GSW_SUCCESS;
}

gsw_status gsw_preconditioner_from_multigrid(gsw_context *context, gsw_multigrid *multigrid,
                                             gsw_preconditioner **preconditioner) {
    static const gsw_preconditioner_ops ops = {.in_place = 1,
                                               .costly = is_costly,
                                               .apply = apply_cycle,
                                               .narrow = own_vectors,
                                               .apply_narrow = cycle_on_own,
                                               .name = name_of,
                                               .is_judged = is_judged,
                                               .judge = judge,
                                               .change = change,
                                               .check = check_values};
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, preconditioner, "preconditioner is NULL");
    *preconditioner = NULL;
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    return gsw_preconditioner_make(context, multigrid->level[0]->points, &ops, multigrid,
                                   preconditioner);
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

void gsw_multigrid_destroy(gsw_multigrid *multigrid) {
    if (!multigrid)
        return;
    gsw_multigrid_clear(multigrid);
    free(multigrid);
}
