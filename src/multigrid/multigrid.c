/* multigrid.c: the public interface of hierarchies: options, creation and destruction, application,
 * use as a preconditioner. */
#include <gridsweep/multigrid.h>
#include <stdlib.h>
#include <string.h>
#include "common/arrays.h"
#include "contract/allocate.h"
#include "contract/check.h"
#include "geometry/squeeze.h"
#include "core/options.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "krylov/preconditioner.h"
#include "matrix/distributed_mask.h"
#include "matrix/matrix_row.h"
#include "geometry/stencil_facts.h"
#include "shared_level.h"
#include "wrapped_level.h"

GSW_ENDS_WITH(gsw_multigrid_options, whole_points);

enum { COARSEST_LIMIT = 2000, SWEEPS_LIMIT = 1000 };

static gsw_status resolve(gsw_context *context, const gsw_multigrid_options *given,
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

/* Whether the interpolation takes the matrix. */
static gsw_status check_interpolation(gsw_context *context, gsw_interpolation interpolation,
                                      const gsw_matrix *matrix) {
    gsw_stencil near;
    if (interpolation != GSW_INTERPOLATION_BLACK_BOX)
        return matrix->grid.periodic
                   ? gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                              "multigrid with injection does not take periodic grids")
                   : GSW_SUCCESS;
    gsw_stencil_near(matrix, &near, NULL);
    const gsw_offset *far = gsw_stencil_beyond(&near, GSW_LUMPED_RADIUS);
    return far == NULL
               ? GSW_SUCCESS
               : gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                          "multigrid: offset (%d, %d, %d) of the stencil reaches farther than %d",
                          far->dx, far->dy, far->dz, GSW_LUMPED_RADIUS);
}

/* What several processes do not have; and fp64 where a cycle in fp32 gains nothing. */
static gsw_status check_shared(gsw_context *context, gsw_multigrid_options *o) {
    if (context->ops->link->on_host)
        o->cycle_type = GSW_F64; /* in which a cycle does all that one in fp32 does */
    if (o->interpolation == GSW_INTERPOLATION_BLACK_BOX && o->smoother != GSW_SMOOTHER_MULTICOLOR)
        return GSW_SUCCESS;
    return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                    "multigrid on several processes has neither injection nor the smoother "
                    "multicolor");
}

static uint64_t mark_of(const gsw_multigrid_options *o) {
    return gsw_mark_real(
        gsw_mark(0,
                 (int64_t[]){o->scope, o->smoother, o->cycle, o->pre_sweeps, o->post_sweeps,
                             o->whole_points, o->cycle_type, o->coarsest_points, o->max_levels},
                 9),
        o->theta);
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

/* An empty hierarchy for a matrix that has been checked; `partition`: NULL on one process. */
static gsw_status begin(gsw_context *context, gsw_partition *partition, const gsw_matrix *matrix,
                        const gsw_multigrid_options *options, gsw_multigrid **multigrid) {
    gsw_multigrid_options resolved;
    gsw_multigrid *made;
    *multigrid = NULL;
    GSW_TRY(resolve(context, options, &resolved));
    if (partition)
        GSW_TRY(check_shared(context, &resolved));
    GSW_TRY(check_interpolation(context, resolved.interpolation, matrix));
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "a multigrid hierarchy", (void **)&made));
    memset(made, 0, sizeof *made);
    made->context = context;
    made->options = resolved;
    made->grid = matrix->grid;
    made->stencil = matrix->stencil;
    made->partition = partition;
    *multigrid = made;
    return GSW_SUCCESS;
}

/* Builds or fills the levels of one process; messages name rows as the user counts them. */
static gsw_status take(gsw_multigrid *multigrid, const gsw_matrix *matrix, int again) {
    const gsw_quiet quiet = gsw_quiet_begin(multigrid->context);
    const gsw_status status = again ? gsw_multigrid_fill(multigrid, matrix)
                                    : gsw_multigrid_build(multigrid, matrix, NULL);
    const int64_t row = status == GSW_ERROR_ZERO_PIVOT ? multigrid->level[0]->survey.bad_row : -1;
    return gsw_matrix_explain(multigrid->context, &quiet, matrix, row, 0, status);
}

/* Points of a grid whose mask every process may take whole. */
#define WHOLE_MASK (INT64_C(1) << 24)

/* Finds the lakes: on CPUs those of all processes together, from the mask of the whole grid. */
static gsw_status take_lakes(gsw_multigrid *mg, gsw_distributed_matrix *rows,
                             const gsw_matrix *box) {
    gsw_partition *p = mg->partition;
    const double *const *arrays = (const double *const *)rows->values;
    gsw_matrix whole = *box;
    uint8_t *active = NULL;
    if (!mg->context->ops->link->on_host || mg->grid.nx * mg->grid.ny * mg->grid.nz > WHOLE_MASK)
        return gsw_partition_agree(p, gsw_lakes_take(mg->context, box,
                                                     &gsw_distributed_ghosts(rows)->frame, arrays,
                                                     &mg->lakes));
    gsw_status status = gsw_mask_of_grid(p, mg->masked.active, &active);
    whole.grid = p->grid;
    whole.active = active;
    if (status == GSW_SUCCESS)
        status = gsw_partition_agree(
            p, gsw_lakes_take_shared(mg->context, &whole, p->own.begin, box, arrays, &mg->lakes));
    gsw_unreserve(mg->context, active);
    return status;
}

/* Takes the mask of the own box, and extends its rows weakly into the inactive points. */
static gsw_status extend_shared(gsw_multigrid *mg, const gsw_matrix *matrix,
                                gsw_distributed_matrix *rows) {
    const gsw_matrix box = gsw_matrix_of_own_box(matrix);
    if (matrix->active == NULL)
        return GSW_SUCCESS;
    GSW_TRY(
        gsw_partition_agree(mg->partition, gsw_masked_take_mask(mg->context, &box, &mg->masked)));
    GSW_TRY(gsw_distributed_matrix_extend(rows, mg->masked.active));
    return take_lakes(mg, rows, &box);
}

gsw_status gsw_multigrid_create_shared(gsw_context *context, const gsw_matrix *matrix,
                                       const gsw_multigrid_options *options,
                                       gsw_multigrid **multigrid) {
    gsw_partition *p = matrix->partition;
    gsw_distributed_matrix *rows = NULL;
    gsw_multigrid *made = NULL;
    gsw_status status = gsw_partition_check_result(p, multigrid, "multigrid");
    if (status == GSW_SUCCESS) {
        *multigrid = NULL;
        status = begin(context, p, matrix, options, &made);
    }
    status = gsw_partition_agree_on(p, status, "options", made ? mark_of(&made->options) : 0);
    if (status == GSW_SUCCESS)
        status = gsw_distributed_matrix_open(matrix, &rows);
    if (status == GSW_SUCCESS && made != NULL) {
        status = extend_shared(made, matrix, rows);
        if (status != GSW_SUCCESS)
            gsw_distributed_matrix_destroy(rows);
    }
    if (status == GSW_SUCCESS && made != NULL)
        status = gsw_multigrid_build(made, matrix, rows);
    if (status == GSW_SUCCESS && made != NULL) {
        made->usable = 1;
        *multigrid = made;
    } else {
        gsw_multigrid_destroy(made);
    }
    return status;
}

gsw_status gsw_multigrid_create_known(gsw_context *context, const gsw_matrix *matrix,
                                      const gsw_multigrid_options *options, gsw_box_rows *known,
                                      gsw_multigrid **multigrid) {
    if (context && matrix && gsw_partition_of(matrix))
        return gsw_multigrid_create_shared(context, matrix, options, multigrid);
    gsw_multigrid *made;
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    *multigrid = NULL;
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    GSW_TRY(begin(context, NULL, matrix, options, &made));
    made->known = known;
    made->planes = known != NULL ? known->planes : 0;
    const gsw_status status = take(made, matrix, 0);
    made->known = NULL;
    if (status != GSW_SUCCESS) {
        gsw_multigrid_destroy(made);
        return status;
    }
    made->usable = 1;
    *multigrid = made;
    return GSW_SUCCESS;
}

gsw_status gsw_multigrid_create(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_multigrid_options *options, gsw_multigrid **multigrid) {
    return gsw_multigrid_create_known(context, matrix, options, NULL, multigrid);
}

/* Whether a matrix is that of the hierarchy, but for its values. */
static gsw_status check_system(gsw_context *context, const gsw_multigrid *multigrid,
                               const gsw_matrix *matrix) {
    GSW_REQUIRE(context, gsw_grid_is_same(&matrix->grid, &multigrid->grid),
                "matrix: its grid is not the hierarchy's");
    GSW_REQUIRE(context, gsw_stencil_is_same(&matrix->stencil, &multigrid->stencil),
                "matrix: its stencil is not the hierarchy's");
    return GSW_SUCCESS;
}

static gsw_status refactor_shared(gsw_context *context, gsw_multigrid *multigrid,
                                  const gsw_matrix *matrix) {
    gsw_distributed_matrix *rows = multigrid->level[0]->shared->own;
    const gsw_status own = check_system(context, multigrid, matrix);
    GSW_TRY(gsw_distributed_matrix_check_next(rows, matrix, own, "hierarchy"));
    multigrid->usable = 0;
    GSW_TRY(gsw_distributed_matrix_take(rows, matrix));
    GSW_TRY(extend_shared(multigrid, matrix, rows));
    GSW_TRY(gsw_multigrid_fill(multigrid, matrix));
    multigrid->usable = 1;
    return GSW_SUCCESS;
}

gsw_status gsw_multigrid_refactor(gsw_context *context, gsw_multigrid *multigrid,
                                  const gsw_matrix *matrix) {
    gsw_squeezed next;
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    if (multigrid->partition)
        return refactor_shared(context, multigrid, matrix);
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    GSW_TRY(check_system(context, multigrid, matrix));
    gsw_squeeze(matrix, &next);
    GSW_REQUIRE(context,
                (gsw_matrix_is_arrays(&next.matrix) && !matrix->active) ==
                    (multigrid->level[0]->setup.block == NULL),
                "matrix: its format is not that of the hierarchy's first matrix");
    GSW_REQUIRE(context, (matrix->active == NULL) == (multigrid->masked.active == NULL),
                "matrix: it %s a mask, but the hierarchy's first matrix %s",
                matrix->active ? "has" : "lacks", matrix->active ? "had none" : "had one");
    multigrid->usable = 0;
    GSW_TRY(take(multigrid, matrix, 1));
    multigrid->usable = 1;
    return GSW_SUCCESS;
}

const gsw_survey *gsw_multigrid_survey(const gsw_multigrid *multigrid) {
    return &multigrid->level[0]->survey;
}

/* ---- Applying ---------------------------------------------------------------------------------
 */

/* Whether all processes have the finest level whole. */
static int is_together(const gsw_multigrid *multigrid) {
    return multigrid->partition && multigrid->level[0]->shared->together;
}

/* The weak extension leaves values at inactive points, and the means of lakes. A mask is that of
 * the own box. */
static gsw_status end_cycle(const gsw_multigrid *multigrid, gsw_dtype type, const void *b,
                            void *x) {
    if (is_together(multigrid))
        return GSW_SUCCESS;
    GSW_TRY(gsw_masked_vector(multigrid->context, &multigrid->masked, type,
                              multigrid->level[0]->points, x, x));
    return gsw_lakes_add(multigrid->context, &multigrid->lakes, type, b, x);
}

/* x = M^-1 b for the finest level's own vectors. */
static gsw_status cycle_on_own(void *self, gsw_context *context) {
    gsw_multigrid *multigrid = self;
    (void)context;
    if (multigrid->partition)
        GSW_TRY(gsw_partition_usable(multigrid->partition));
    multigrid->level[0]->b = multigrid->own_b;
    multigrid->level[0]->x = multigrid->own_x;
    GSW_TRY(gsw_multigrid_cycle(multigrid));
    return end_cycle(multigrid, multigrid->options.cycle_type, multigrid->own_b, multigrid->own_x);
}

/* The same for other vectors, which the finest level can have. */
static gsw_status cycle(gsw_multigrid *multigrid, const double *b, double *x) {
    gsw_context *context = multigrid->context;
    const gsw_multigrid_ops *ops = context->ops->multigrid;
    gsw_level *finest = multigrid->level[0];
    const int64_t n = finest->points;
    if (multigrid->options.cycle_type == GSW_F32) {
        GSW_TRY(ops->narrow(context, n, b, multigrid->own_b, multigrid->scale));
        if (gsw_level_is_shared(finest))
            GSW_TRY(gsw_shared_scale(multigrid, b, multigrid->own_b));
        GSW_TRY(cycle_on_own(multigrid, context));
        return ops->widen(context, n, multigrid->own_x, multigrid->scale, x);
    }
    finest->b = (void *)(uintptr_t)b; /* only read */
    finest->x = x;
    if (b == x || gsw_level_is_wrapped(finest)) { /* whose steps change b for a while */
        finest->b = multigrid->own_b;
        GSW_TRY(context->ops->vector->copy(context, n, b, multigrid->own_b));
    }
    GSW_TRY(gsw_multigrid_cycle(multigrid));
    return end_cycle(multigrid, GSW_F64, finest->b, x);
}

/* The points of the user's vectors in this process. */
static int64_t points_of(const gsw_multigrid *multigrid) {
    const gsw_level *finest = multigrid->level[0];
    return multigrid->partition ? finest->shared->own->points : finest->points;
}

gsw_status gsw_multigrid_apply(gsw_context *context, gsw_multigrid *multigrid, const double *b,
                               double *x) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    GSW_REQUIRE(context, multigrid->usable, "multigrid holds no values: its last refactor failed");
    const int64_t n = points_of(multigrid);
    const gsw_vector vectors[] = {{.name = "b", .data = b},
                                  {.name = "x", .data = x, .written = 1, .may_be = "b"}};
    double *whole_b, *whole_x;
    GSW_TRY(gsw_check_vectors(context, n, GSW_F64, 1, vectors, 2));
    if (multigrid->partition)
        GSW_TRY(gsw_partition_usable(multigrid->partition));
    if (multigrid->masked.active) { /* b may hold anything at inactive points */
        GSW_TRY(gsw_masked_vector(context, &multigrid->masked, GSW_F64, n, b, x));
        b = x;
    }
    if (!is_together(multigrid))
        return cycle(multigrid, b, x);
    GSW_TRY(gsw_shared_gather(multigrid, b, &whole_b, &whole_x));
    GSW_TRY(cycle(multigrid, whole_b, whole_x));
    GSW_TRY(gsw_shared_keep(multigrid, whole_x, x));
    return gsw_masked_vector(context, &multigrid->masked, GSW_F64, n, x, x);
}

/* ---- As a preconditioner ----------------------------------------------------------------------
 */

static gsw_status apply_cycle(void *self, gsw_context *context, const double *b, double *x) {
    return gsw_multigrid_apply(context, self, b, x);
}

/* The finest level's own vectors. */
static int own_vectors(void *self, float **b, float **x) {
    const gsw_multigrid *multigrid = self;
    if (multigrid->options.cycle_type != GSW_F32 || is_together(multigrid))
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
    const gsw_multigrid *multigrid = self;
    return !multigrid->partition;
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

static gsw_status refill(void *self, gsw_context *context, const gsw_matrix *matrix) {
    return gsw_multigrid_refactor(context, self, matrix);
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
                                               .refill = refill,
                                               .check = check_values};
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, preconditioner, "preconditioner is NULL");
    *preconditioner = NULL;
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    return gsw_preconditioner_make(context, points_of(multigrid), &ops, multigrid, preconditioner);
}

void gsw_multigrid_destroy(gsw_multigrid *multigrid) {
    if (!multigrid)
        return;
    gsw_multigrid_clear(multigrid);
    free(multigrid);
}
