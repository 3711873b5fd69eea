/* distributed_multigrid.c: multigrid on several processes.
 *
 * Levels are cut where the finest one is. A smoothing step is x += M^-1 (b - A x), with M one sweep
 * of the level (distributed_factor.c), or Jacobi's diagonal. The coarsest of these levels is
 * brought to all processes, and a hierarchy of one process (multigrid.c) does the rest. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "contract/row.h"
#include "distributed_transfer.h"
#include "options.h"
#include "stencil_facts.h"

GSW_ENDS_WITH(gsw_distributed_multigrid_options, theta);
GSW_ENDS_WITH(gsw_distributed_multigrid_info, operator_complexity);

enum { LEVELS_MAX = 64, SWEEPS_LIMIT = 1000 };

#define JACOBI_DAMPING (2.0 / 3)

/* Coarse diagonals this far below the finest level's largest entry may have cancelled, as in
 * multigrid_setup.c. */
#define CANCELLED 1e-12

typedef struct level {
    gsw_partition *partition;       /* level 0: the user's */
    gsw_distributed_matrix *matrix; /* likewise */
    int64_t points;                 /* of the box */
    gsw_survey survey;
    gsw_distributed_factor *before, *after; /* of the smoother; the same where it has one */
    gsw_distributed_transfer transfer;
    double *block; /* of the vectors */
    double *b, *x, *residual, *step;
} level;

struct gsw_distributed_multigrid {
    gsw_partition *partition;
    gsw_distributed_multigrid_options options;
    gsw_preconditioner *preconditioner;
    int usable, symmetric;
    int levels; /* on several processes, the one that all processes bring together included */
    level level[LEVELS_MAX];
    gsw_multigrid *rest; /* from the last of these levels on */
    gsw_ghosts whole;    /* of that level */
    double *all;         /* its vectors b and x */
};

/* ---- The cycle --------------------------------------------------------------------------------
 */

/* y = a x + b y on a level. */
static gsw_status combine(const level *l, double a, const double *x, double b, double *y) {
    gsw_context *context = l->partition->context;
    return context->ops->multigrid->combine(context, GSW_F64, l->points, a, x, b, y);
}

static gsw_status find_residual(const level *l, const double *b, const double *x) {
    GSW_TRY(gsw_operator_apply(l->partition->context, gsw_distributed_matrix_operator(l->matrix), x,
                               l->residual));
    return combine(l, 1, b, -1, l->residual);
}

/* Smoothing steps; `zero`: x counts as 0 before the first one. */
static gsw_status smooth(const gsw_distributed_multigrid *mg, const level *l,
                         gsw_distributed_factor *factor, int steps, int zero, const double *b,
                         double *x) {
    gsw_preconditioner *M = gsw_distributed_factor_preconditioner(factor);
    const double weight = mg->options.smoother == GSW_SMOOTHER_JACOBI ? JACOBI_DAMPING : 1;
    for (int step = 0; step < steps; step++) {
        const int first = zero && step == 0;
        if (!first)
            GSW_TRY(find_residual(l, b, x));
        GSW_TRY(
            gsw_preconditioner_apply(l->partition->context, M, first ? b : l->residual, l->step));
        GSW_TRY(combine(l, weight, l->step, first ? 0 : 1, x));
    }
    return GSW_SUCCESS;
}

/* The last level: all processes get b, and each keeps its box of the result. */
static gsw_status solve_whole(gsw_distributed_multigrid *mg, const double *b, double *x) {
    const int64_t *e = mg->whole.frame.e;
    double *all_b = mg->all, *all_x = mg->all + e[0] * e[1] * e[2];
    GSW_TRY(gsw_ghosts_update(&mg->whole, b, all_b));
    GSW_TRY(gsw_multigrid_apply(mg->partition->context, mg->rest, all_b, all_x));
    gsw_ghosts_take_own(&mg->whole, all_x, x);
    return GSW_SUCCESS;
}

static gsw_status cycle(gsw_distributed_multigrid *mg, const double *b, double *x) {
    const int last = mg->levels - 1;
    for (int number = 0; number < last; number++) {
        level *l = &mg->level[number], *coarse = l + 1;
        const double *own_b = number == 0 ? b : l->b;
        double *own_x = number == 0 ? x : l->x;
        GSW_TRY(smooth(mg, l, l->before, mg->options.pre_sweeps, 1, own_b, own_x));
        GSW_TRY(find_residual(l, own_b, own_x));
        GSW_TRY(gsw_distributed_restrict(&l->transfer, l->residual, coarse->b));
    }
    GSW_TRY(solve_whole(mg, last == 0 ? b : mg->level[last].b, last == 0 ? x : mg->level[last].x));
    for (int number = last - 1; number >= 0; number--) {
        level *l = &mg->level[number], *coarse = l + 1;
        const double *own_b = number == 0 ? b : l->b;
        double *own_x = number == 0 ? x : l->x;
        GSW_TRY(gsw_distributed_prolong_add(&l->transfer, coarse->x, own_x));
        GSW_TRY(smooth(mg, l, l->after, mg->options.post_sweeps, 0, own_b, own_x));
    }
    return GSW_SUCCESS;
}

static gsw_status apply(void *user, gsw_context *context, const double *b, double *x) {
    gsw_distributed_multigrid *mg = user;
    GSW_REQUIRE(context, mg->usable, "multigrid holds no values: its last refactor failed");
    return cycle(mg, b, x);
}

/* ---- Set-up -----------------------------------------------------------------------------------
 */

static gsw_status refuse_row(const gsw_distributed_multigrid *mg, int number,
                             const gsw_survey *survey) {
    gsw_context *context = mg->partition->context;
    const gsw_grid *grid = &mg->level[number].partition->grid;
    char row[GSW_ROW_TEXT];
    if (survey->bad_row < 0)
        return GSW_SUCCESS;
    return gsw_fail(context, GSW_ERROR_ZERO_PIVOT,
                    "multigrid: on level %d the diagonal of row %s is zero or not finite", number,
                    gsw_row_text(context, 0, number == 0 ? grid : NULL, survey->bad_row, row));
}

/* The axes along which a level is coarsened on several processes. 0: all processes take it whole,
 * because no axis can be coarsened, or its share of the work is small then. */
static int axes_of(const gsw_distributed_multigrid *mg, int number) {
    enum { LEAST = 4096, SHARE = 16 }; /* points; fraction of the finest level's work */
    const gsw_partition *p = mg->level[number].partition;
    const gsw_grid *g = &p->grid, *finest = &mg->partition->grid;
    const double points = (double)g->nx * (double)g->ny * (double)g->nz;
    const double all = (double)finest->nx * (double)finest->ny * (double)finest->nz;
    if (points <= LEAST || (number > 0 && points * p->transport.processes <= all / SHARE))
        return 0;
    return gsw_choose_axes(g, mg->level[number].survey.coupling, mg->options.theta);
}

static gsw_status open_factor(const gsw_distributed_multigrid *mg, const level *l,
                              gsw_factor_kind kind, gsw_distributed_factor **factor) {
    const gsw_distributed_factor_options options = {
        .size = sizeof options, .kind = kind, .scope = mg->options.scope};
    return gsw_distributed_factor_create(l->matrix, &options, factor);
}

static gsw_status open_smoother(const gsw_distributed_multigrid *mg, level *l) {
    if (mg->options.smoother == GSW_SMOOTHER_GS) {
        GSW_TRY(open_factor(mg, l, GSW_FACTOR_LOWER, &l->before));
        return open_factor(mg, l, GSW_FACTOR_UPPER, &l->after);
    }
    GSW_TRY(open_factor(mg, l, mg->options.smoother == GSW_SMOOTHER_JACOBI ? GSW_JACOBI : GSW_SSOR,
                        &l->before));
    l->after = l->before;
    return GSW_SUCCESS;
}

static gsw_status open_vectors(level *l) {
    const size_t points = (size_t)l->points;
    GSW_TRY(gsw_alloc(l->partition->context, 4 * points, sizeof(double), "a level's vectors",
                      (void **)&l->block));
    memset(l->block, 0, 4 * points * sizeof(double));
    l->b = l->block;
    l->x = l->b + points;
    l->residual = l->x + points;
    l->step = l->residual + points;
    return GSW_SUCCESS;
}

/* Fetches the next level's rows and surveys them. */
static gsw_status survey_coarse(gsw_distributed_multigrid *mg, int number,
                                const gsw_distributed_rows *fine,
                                const gsw_distributed_product *product,
                                gsw_distributed_rows *rows) {
    level *l = &mg->level[number];
    const gsw_stencil *stencil = &l->matrix->local.stencil;
    GSW_TRY(gsw_distributed_rows_open(l->matrix, gsw_distributed_rows_width(stencil), 1, rows));
    GSW_TRY(gsw_distributed_survey(rows, 0, &l->survey));
    if (l->survey.bad_row >= 0 || l->survey.least <= CANCELLED * mg->level[0].survey.largest) {
        GSW_TRY(gsw_distributed_product_mend(fine, product, l->matrix));
        GSW_TRY(gsw_distributed_rows_fetch(rows, stencil->center));
        GSW_TRY(gsw_distributed_survey(rows, 0, &l->survey));
    }
    return refuse_row(mg, number, &l->survey);
}

/* Opens the level after `number`, and exchanges the rows of that level for its own. */
static gsw_status open_next(gsw_distributed_multigrid *mg, int number, int axes,
                            gsw_partition *coarse, gsw_distributed_rows *rows,
                            gsw_distributed_rows *next_rows) {
    level *l = &mg->level[number], *next = l + 1;
    gsw_distributed_product product;
    mg->levels++;
    *next = (level){.partition = coarse, .points = gsw_box_points(&coarse->own)};
    gsw_status status =
        gsw_distributed_transfer_open(rows, coarse, axes, mg->symmetric, l->survey.isolated,
                                      &l->transfer, &product, &next->matrix);
    if (status == GSW_SUCCESS)
        status = survey_coarse(mg, number + 1, rows, &product, next_rows);
    gsw_distributed_product_close(&product);
    gsw_distributed_rows_close(rows);
    return status;
}

/* The hierarchy of one process for the last level, which *rows holds whole. */
static gsw_status open_rest(gsw_distributed_multigrid *mg, gsw_distributed_rows *rows) {
    gsw_context *context = mg->partition->context;
    const gsw_multigrid_options options = {.size = sizeof options,
                                           .smoother = mg->options.smoother,
                                           .pre_sweeps = mg->options.pre_sweeps,
                                           .post_sweeps = mg->options.post_sweeps,
                                           .theta = mg->options.theta};
    mg->whole = rows->ghosts; /* to be closed with the hierarchy */
    rows->ghosts = (gsw_ghosts){.partition = NULL};
    GSW_TRY(gsw_alloc(context, 2 * (size_t)rows->points, sizeof(double), "a level's vectors",
                      (void **)&mg->all));
    return gsw_multigrid_create(context, &rows->matrix, &options, &mg->rest);
}

/* The rows of level 0 are rows[0]; those of the others take turns. */
static gsw_status build_levels(gsw_distributed_multigrid *mg, gsw_distributed_rows rows[2]) {
    for (int number = 0;; number++) {
        level *l = &mg->level[number];
        const int axes = number + 1 < LEVELS_MAX ? axes_of(mg, number) : 0;
        gsw_partition *coarse = NULL;
        GSW_TRY(gsw_partition_agree(l->partition, open_vectors(l)));
        if (axes != 0)
            GSW_TRY(gsw_partition_agree(l->partition,
                                        gsw_partition_coarsen(l->partition, axes, &coarse)));
        if (!coarse)
            return GSW_SUCCESS;
        GSW_TRY(open_smoother(mg, l));
        GSW_TRY(open_next(mg, number, axes, coarse, &rows[number % 2], &rows[(number + 1) % 2]));
    }
}

static gsw_status survey_finest(gsw_distributed_multigrid *mg, gsw_distributed_rows *rows) {
    level *l = &mg->level[0];
    GSW_TRY(gsw_distributed_rows_open(
        l->matrix, gsw_distributed_rows_width(&l->matrix->local.stencil), 1, rows));
    GSW_TRY(gsw_distributed_survey(rows, 1, &l->survey));
    GSW_TRY(refuse_row(mg, 0, &l->survey));
    mg->symmetric = l->survey.symmetric;
    if (mg->options.smoother == GSW_SMOOTHER_AUTO)
        mg->options.smoother = mg->symmetric ? GSW_SMOOTHER_GS : GSW_SMOOTHER_SYMGS;
    return GSW_SUCCESS;
}

static gsw_status build(gsw_distributed_multigrid *mg) {
    gsw_distributed_rows rows[2] = {{.of = NULL}};
    gsw_status status = survey_finest(mg, &rows[0]);
    if (status == GSW_SUCCESS)
        status = build_levels(mg, rows);
    gsw_distributed_rows_close(&rows[0]);
    gsw_distributed_rows_close(&rows[1]);
    if (status == GSW_SUCCESS)
        status = gsw_distributed_rows_open(mg->level[mg->levels - 1].matrix, -1, 0, &rows[0]);
    if (status == GSW_SUCCESS)
        status = gsw_partition_agree(mg->partition, open_rest(mg, &rows[0]));
    gsw_distributed_rows_close(&rows[0]);
    mg->usable = status == GSW_SUCCESS;
    return status;
}

/* Frees the levels, but not the finest one's matrix. */
static void clear(gsw_distributed_multigrid *mg) {
    mg->usable = 0;
    gsw_multigrid_destroy(mg->rest);
    mg->rest = NULL;
    free(mg->all);
    mg->all = NULL;
    if (mg->whole.partition)
        gsw_ghosts_close(&mg->whole);
    for (int number = 0; number < mg->levels; number++) /* they use two partitions each */
        gsw_distributed_transfer_close(&mg->level[number].transfer);
    for (int number = mg->levels - 1; number >= 0; number--) {
        level *l = &mg->level[number];
        if (l->after != l->before)
            gsw_distributed_factor_destroy(l->after);
        gsw_distributed_factor_destroy(l->before);
        free(l->block);
        if (number > 0) {
            gsw_distributed_matrix_destroy(l->matrix);
            gsw_partition_destroy(l->partition);
        }
    }
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

static gsw_status check_options(gsw_distributed_multigrid *mg, const gsw_stencil *stencil,
                                const gsw_distributed_multigrid_options *given) {
    gsw_context *context = mg->partition->context;
    gsw_distributed_multigrid_options *o = &mg->options;
    GSW_TRY(gsw_options_take(context, "gsw_distributed_multigrid_options", given, sizeof *o, o));
    if (context->ops->slab)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "multigrid: the backend %s does not work on several processes",
                        gsw_backend_name(context->backend));
    GSW_REQUIRE(context, (unsigned)o->scope <= GSW_SCOPE_GLOBAL, "options->scope %d is unknown",
                (int)o->scope);
    GSW_REQUIRE(context, o->pre_sweeps >= 0 && o->pre_sweeps <= SWEEPS_LIMIT,
                "options->pre_sweeps %d is not in 0..%d", o->pre_sweeps, SWEEPS_LIMIT);
    GSW_REQUIRE(context, o->post_sweeps >= 0 && o->post_sweeps <= SWEEPS_LIMIT,
                "options->post_sweeps %d is not in 0..%d", o->post_sweeps, SWEEPS_LIMIT);
    GSW_REQUIRE(context, o->theta >= 0 && o->theta <= 1, "options->theta %g is not in (0, 1]",
                o->theta);
    if (o->smoother != GSW_SMOOTHER_AUTO && o->smoother != GSW_SMOOTHER_GS &&
        o->smoother != GSW_SMOOTHER_SYMGS && o->smoother != GSW_SMOOTHER_JACOBI)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "options->smoother is %s; on several processes it is auto, gs, symgs or "
                        "jacobi",
                        gsw_smoother_name(o->smoother));
    if (gsw_stencil_beyond(stencil, GSW_LUMPED_RADIUS))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "multigrid: the stencil reaches farther than %d", GSW_LUMPED_RADIUS);
    o->pre_sweeps = o->pre_sweeps == 0 ? 1 : o->pre_sweeps;
    o->post_sweeps = o->post_sweeps == 0 ? 1 : o->post_sweeps;
    o->theta = o->theta == 0 ? 0.25 : o->theta;
    return GSW_SUCCESS;
}

static uint64_t mark_of(const gsw_distributed_multigrid_options *o) {
    return gsw_mark_real(
        gsw_mark(0, (int64_t[]){o->scope, o->smoother, o->pre_sweeps, o->post_sweeps}, 4),
        o->theta);
}

gsw_status gsw_distributed_multigrid_create(gsw_distributed_matrix *matrix,
                                            const gsw_distributed_multigrid_options *options,
                                            gsw_distributed_multigrid **multigrid) {
    gsw_distributed_multigrid *mg;
    if (!matrix || !multigrid)
        return GSW_ERROR_INVALID_ARGUMENT;
    *multigrid = NULL;
    gsw_partition *p = matrix->partition;
    gsw_status status = gsw_alloc(p->context, 1, sizeof *mg, "a hierarchy", (void **)&mg);
    if (status != GSW_SUCCESS)
        return gsw_partition_agree(p, status);
    memset(mg, 0, sizeof *mg);
    mg->partition = p;
    mg->levels = 1;
    mg->level[0] = (level){.partition = p, .matrix = matrix, .points = matrix->points};
    status = check_options(mg, &matrix->local.stencil, options);
    if (status == GSW_SUCCESS)
        status = gsw_preconditioner_from_callback(p->context, matrix->points, apply, mg,
                                                  &mg->preconditioner);
    status = gsw_partition_agree_on(p, status, "options", mark_of(&mg->options));
    if (status == GSW_SUCCESS)
        status = build(mg);
    if (status == GSW_SUCCESS)
        *multigrid = mg;
    else
        gsw_distributed_multigrid_destroy(mg);
    return status;
}

gsw_status gsw_distributed_multigrid_refactor(gsw_distributed_multigrid *multigrid) {
    if (!multigrid)
        return GSW_ERROR_INVALID_ARGUMENT;
    gsw_distributed_matrix *matrix = multigrid->level[0].matrix;
    clear(multigrid);
    multigrid->levels = 1;
    multigrid->level[0] =
        (level){.partition = multigrid->partition, .matrix = matrix, .points = matrix->points};
    return build(multigrid);
}

gsw_preconditioner *gsw_distributed_multigrid_preconditioner(gsw_distributed_multigrid *multigrid) {
    return multigrid ? multigrid->preconditioner : NULL;
}

gsw_status gsw_distributed_multigrid_get_info(const gsw_distributed_multigrid *multigrid,
                                              gsw_distributed_multigrid_info *info) {
    if (!multigrid || !info || !multigrid->usable)
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_result_check(NULL, "gsw_distributed_multigrid_info", info));
    gsw_multigrid_info rest = {.size = sizeof rest};
    GSW_TRY(gsw_multigrid_get_info(multigrid->rest, &rest));
    const int last = multigrid->levels - 1;
    gsw_distributed_multigrid_info made = {.size = sizeof made,
                                           .levels = last + rest.levels,
                                           .distributed_levels = last,
                                           .smoother = multigrid->options.smoother,
                                           .symmetric = multigrid->symmetric};
    double finest = 0;
    for (int number = 0; number <= last; number++) {
        const level *l = &multigrid->level[number];
        const double couplings =
            (double)gsw_stencil_couplings(&l->matrix->local.stencil, &l->partition->grid);
        finest = number == 0 ? couplings : finest;
        made.operator_complexity += couplings * (number == last ? rest.operator_complexity : 1);
    }
    made.operator_complexity /= finest;
    gsw_result_give(info, &made, sizeof made);
    return GSW_SUCCESS;
}

void gsw_distributed_multigrid_destroy(gsw_distributed_multigrid *multigrid) {
    if (!multigrid)
        return;
    clear(multigrid);
    gsw_preconditioner_destroy(multigrid->preconditioner);
    free(multigrid);
}
