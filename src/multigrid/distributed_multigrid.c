/* distributed_multigrid.c: multigrid on several processes.
 *
 * Levels are cut where the finest one is. The coarsest of these levels is brought to all processes,
 * and a hierarchy of one process (multigrid.c) does the rest. distributed_cycle.c has the cycle. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_cycle.h"
#include "core/options.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "matrix/stencil_facts.h"

typedef gsw_distributed_level level;

/* ---- Application ------------------------------------------------------------------------------
 */

/* Brings own values that the backend has narrowed by its own factor to one factor for all
 * processes: that of the largest entry. Processes whose b is 0 do not count. */
static gsw_status share_scale(gsw_distributed_multigrid *mg, const double *b, float *narrowed) {
    gsw_partition *p = mg->partition;
    gsw_context *context = p->context;
    const int64_t points = mg->level[0].points;
    double own[2], common = 0;
    GSW_TRY(context->ops->download(context, &own[0], mg->scale, sizeof own[0]));
    GSW_TRY(context->ops->dot(context, points, b, b, &own[1]));
    GSW_TRY(gsw_partition_gather(p, own, sizeof own));
    for (int i = 0; i < p->transport.processes; i++) {
        double other[2];
        memcpy(other, p->answers + (size_t)i * sizeof other, sizeof other);
        /* The square of a small b may be 0, but then the factor is not 1. */
        if ((other[1] != 0 || other[0] != 1) && other[0] > common)
            common = other[0];
    }
    if (common == 0 || common == own[0])
        return GSW_SUCCESS;
    GSW_TRY(context->ops->upload(context, mg->scale, &common, sizeof common));
    return context->ops->multigrid->combine(context, GSW_F32, points, own[0] / common, narrowed, 0,
                                            narrowed);
}

gsw_status gsw_distributed_multigrid_apply(gsw_distributed_multigrid *mg, const double *b,
                                           double *x) {
    gsw_context *context = mg->partition->context;
    const gsw_multigrid_ops *ops = context->ops->multigrid;
    level *finest = &mg->level[0];
    GSW_TRY(gsw_partition_usable(mg->partition));
    if (gsw_distributed_cycle_type(mg) == GSW_F64 && b != x)
        return gsw_distributed_cycle(mg, b, x);
    if (gsw_distributed_cycle_type(mg) == GSW_F64) {
        GSW_TRY(context->ops->copy(context, finest->points, b, finest->b));
        return gsw_distributed_cycle(mg, finest->b, x);
    }
    GSW_TRY(ops->narrow(context, finest->points, b, finest->b, mg->scale));
    GSW_TRY(share_scale(mg, b, finest->b));
    GSW_TRY(gsw_distributed_cycle(mg, finest->b, finest->x));
    return ops->widen(context, finest->points, finest->x, mg->scale, x);
}

int gsw_distributed_multigrid_narrow(const gsw_distributed_multigrid *mg, float **b, float **x) {
    *b = mg->level[0].b;
    *x = mg->level[0].x;
    return gsw_distributed_cycle_type(mg) == GSW_F32;
}

gsw_status gsw_distributed_multigrid_apply_narrow(gsw_distributed_multigrid *mg) {
    GSW_TRY(gsw_partition_usable(mg->partition));
    return gsw_distributed_cycle(mg, mg->level[0].b, mg->level[0].x);
}

/* ---- Set-up -----------------------------------------------------------------------------------
 */

static gsw_status refuse_numbers(const gsw_distributed_multigrid *mg, int number,
                                 const gsw_survey *survey) {
    return gsw_level_refuse(mg->partition->context, mg->options.cycle_type, number,
                            mg->level[0].matrix->row_base, &mg->partition->grid, survey);
}

/* Whether all processes take a level whole: its share of the work is small. */
static int is_small(const gsw_distributed_multigrid *mg, int number) {
    enum { LEAST = 4096, LEAST_ON_DEVICES = 1 << 20, SHARE = 16 /* of the finest level's work */ };
    const gsw_partition *p = mg->level[number].partition;
    const gsw_grid *g = &p->grid, *finest = &mg->partition->grid;
    const int device = p->context->ops->slab != NULL;
    const double points = (double)g->nx * (double)g->ny * (double)g->nz;
    const double all = (double)finest->nx * (double)finest->ny * (double)finest->nz;
    /* fp32: what all processes take whole is larger than a level that is solved directly. */
    if (mg->options.cycle_type == GSW_F32 &&
        points <= 8.0 * (double)p->context->ops->multigrid->coarsest_points)
        return 1;
    if (mg->options.whole_points > 0)
        return points <= (double)mg->options.whole_points;
    return points <= (device ? LEAST_ON_DEVICES : LEAST) ||
           (number > 0 && points * p->transport.processes <= all / SHARE);
}

/* Whether the boxes of a level are smoothed exactly, but have too few planes for that. */
static int is_thin(const gsw_distributed_multigrid *mg, int number) {
    const gsw_partition *p = mg->level[number].partition;
    const int64_t extent[3] = {p->grid.nx, p->grid.ny, p->grid.nz};
    return mg->options.scope == GSW_SCOPE_GLOBAL && mg->options.smoother != GSW_SMOOTHER_JACOBI &&
           mg->options.smoother != GSW_SMOOTHER_CHEBYSHEV &&
           extent[gsw_partition_last_axis(p)] < p->transport.processes;
}

/* The axes along which a level is coarsened on several processes. 0: all processes take it whole,
 * because it is small or thin, or no axis can be coarsened. */
static int axes_of(const gsw_distributed_multigrid *mg, int number) {
    const level *l = &mg->level[number];
    return is_small(mg, number) || is_thin(mg, number)
               ? 0
               : gsw_choose_axes(&l->partition->grid, l->survey.coupling, mg->options.theta);
}

/* Coarse levels on devices are swept section by section, as on one device. */
static gsw_status open_factor(const gsw_distributed_multigrid *mg, int number, gsw_factor_kind kind,
                              gsw_distributed_factor **factor) {
    const gsw_distributed_matrix *matrix = mg->level[number].matrix;
    const gsw_context *context = mg->partition->context;
    const int coarse = number > 0 && context->ops->slab;
    const gsw_factor_options options = {.size = sizeof options,
                                        .kind = kind,
                                        .scope = coarse ? GSW_SCOPE_LOCAL : mg->options.scope};
    const int sections = coarse && mg->sections && kind != GSW_SSOR && kind != GSW_JACOBI &&
                         !gsw_stencil_beyond(&matrix->local.stencil, 1);
    return gsw_distributed_factor_create_as(mg->level[number].matrix, &options,
                                            sections ? context->ops->multigrid->section : 0,
                                            mg->options.cycle_type, factor);
}

/* The planes of sections that Gauss-Seidel on a device sweeps at once; 0: one sweep crosses all. */
static int64_t planes_of(const level *l) {
    const gsw_partition *p = l->partition;
    if (!l->before->local)
        return 0;
    const int64_t section = l->before->local->section;
    return section > 0 || p->transport.processes == 1 ? section : p->own.end[2] - p->own.begin[2];
}

/* A smoother that always exists. */
static gsw_status open_smoother(gsw_distributed_multigrid *mg, int number) {
    level *l = &mg->level[number];
    if (l->smoother == GSW_SMOOTHER_GS) {
        GSW_TRY(open_factor(mg, number, GSW_FACTOR_LOWER, &l->before));
        GSW_TRY(open_factor(mg, number, GSW_FACTOR_UPPER, &l->after));
        /* Where sweeps end at the slab, kernels know couplings to the next plane only. */
        l->takes_rest = mg->partition->context->ops->slab &&
                        !(l->before->local && gsw_stencil_beyond(&l->matrix->local.stencil, 1));
        l->before->ordered = l->after->ordered = l->takes_rest;
        l->planes = planes_of(l);
        return GSW_SUCCESS;
    }
    GSW_TRY(open_factor(mg, number, l->smoother == GSW_SMOOTHER_SYMGS ? GSW_SSOR : GSW_JACOBI,
                        &l->before));
    l->after = l->before;
    return GSW_SUCCESS;
}

static gsw_status open_gauss_seidel(gsw_distributed_multigrid *mg, int number) {
    level *l = &mg->level[number];
    l->smoother = mg->symmetric ? GSW_SMOOTHER_GS : GSW_SMOOTHER_SYMGS;
    return open_smoother(mg, number);
}

/* The level of a trial. */
static gsw_status multiply(void *user, const void *x, void *y) {
    level *l = user;
    return gsw_distributed_matrix_multiply(l->matrix, x, y);
}

static gsw_status solve(void *user, const void *r, void *x) {
    const level *l = user;
    return gsw_distributed_factor_solve(l->before, r, x);
}

/* Whether the level's ILU(0), which exists, is a usable smoother. One of fp32 is taken without a
 * trial where the matrix is dominant, and else not at all. */
static gsw_status try_ilu(const gsw_distributed_multigrid *mg, level *l, int *serves) {
    const int narrow = l->transfer.type == GSW_F32;
    const gsw_smoother_trial trial = {.context = l->partition->context,
                                      .points = l->points,
                                      .x = l->x,
                                      .residual = l->residual,
                                      .row_ratio = l->survey.row_ratio,
                                      .singular = mg->singular,
                                      .shared = 1,
                                      .multiply = multiply,
                                      .apply = solve,
                                      .user = l};
    *serves = l->survey.row_ratio <= 2 && !mg->singular;
    return narrow ? GSW_SUCCESS : gsw_smoother_probe(&trial, serves);
}

/* ILU(0): a bad pivot is an answer in all processes, not an error. *serves = 0: there is none. */
static gsw_status open_ilu(gsw_distributed_multigrid *mg, int number, int *serves) {
    level *l = &mg->level[number];
    const int mirrored = mg->symmetric && gsw_stencil_is_symmetric(&l->matrix->local.stencil);
    const gsw_quiet quiet = gsw_quiet_begin(mg->partition->context);
    const gsw_status status = open_factor(mg, number, mirrored ? GSW_IC0 : GSW_ILU0, &l->before);
    const int answer = status == GSW_ERROR_ZERO_PIVOT || status == GSW_ERROR_UNSUPPORTED;
    gsw_quiet_end(mg->partition->context, &quiet, answer);
    l->after = l->before;
    *serves = status == GSW_SUCCESS;
    return answer ? GSW_SUCCESS : status;
}

/* Another smoother in place of an ILU(0) that does not serve. */
static gsw_status settle_smoother(gsw_distributed_multigrid *mg, int number, int serves) {
    level *l = &mg->level[number];
    if (l->smoother != GSW_SMOOTHER_ILU0)
        return GSW_SUCCESS;
    if (serves)
        GSW_TRY(try_ilu(mg, l, &serves));
    if (serves)
        return GSW_SUCCESS;
    gsw_distributed_factor_destroy(l->before);
    l->before = l->after = NULL;
    l->fell_back = 1;
    return open_gauss_seidel(mg, number);
}

/* The vectors of a level with a smoother; on devices with margins (distributed_transfer.h). */
static gsw_status open_vectors(gsw_distributed_multigrid *mg, int number) {
    level *l = &mg->level[number];
    gsw_context *context = l->partition->context;
    const gsw_grid *g = &l->partition->grid;
    const size_t size = gsw_dtype_size(l->transfer.type);
    const size_t margin = context->ops->slab ? (size_t)(GSW_MARGIN * g->nx * g->ny) * size : 0;
    const size_t pitch = (size_t)l->points * size + 2 * margin;
    void **const vector[] = {&l->x, &l->residual, &l->b, &l->step};
    const int wanted[] = {1, 1, 1, !l->takes_rest};
    const size_t count = (size_t)(wanted[0] + wanted[1] + wanted[2] + wanted[3]);
    GSW_TRY(context->ops->reserve(context, count * pitch, &l->block));
    GSW_TRY(context->ops->set(context, l->block, 0, count * pitch));
    char *next = (char *)l->block + margin;
    for (int i = 0; i < 4; i++) {
        *vector[i] = wanted[i] ? next : NULL;
        next += wanted[i] ? pitch : 0;
    }
    return GSW_SUCCESS;
}

/* The smoother and the vectors of a level. */
static gsw_status open_smoothed(gsw_distributed_multigrid *mg, int number) {
    level *l = &mg->level[number];
    const int gauss_seidel = mg->options.smoother == GSW_SMOOTHER_ILU0_FINEST && number > 0;
    int serves = 0;
    l->smoother =
        mg->options.smoother == GSW_SMOOTHER_ILU0_FINEST ? GSW_SMOOTHER_ILU0 : mg->options.smoother;
    if (gauss_seidel)
        GSW_TRY(open_gauss_seidel(mg, number));
    else if (l->smoother == GSW_SMOOTHER_ILU0)
        GSW_TRY(open_ilu(mg, number, &serves));
    else
        GSW_TRY(open_smoother(mg, number));
    GSW_TRY(gsw_partition_agree(l->partition, open_vectors(mg, number)));
    return settle_smoother(mg, number, serves);
}

/* The vectors of the last level. On devices they are part of the whole ones. */
static gsw_status open_last_vectors(gsw_distributed_multigrid *mg, int64_t points) {
    level *l = &mg->level[mg->levels - 1];
    gsw_context *context = l->partition->context;
    const gsw_frame *f = &mg->whole.frame;
    const size_t size = gsw_dtype_size(gsw_distributed_cycle_type(mg));
    const size_t first = (size_t)(f->e[0] * f->e[1] * f->low[2]) * size;
    double *memory;
    GSW_TRY(gsw_reserve_vector(context, 2 * points + 1, &memory));
    mg->all = memory;
    mg->scale = memory + 2 * points;
    mg->whole.value = size;
    if (!context->ops->slab)
        return open_vectors(mg, mg->levels - 1);
    l->b = (char *)mg->all + first;
    l->x = (char *)mg->all + (size_t)points * size + first;
    return GSW_SUCCESS;
}

/* The rows that a cycle on devices multiplies with. */
static gsw_status open_product(gsw_distributed_multigrid *mg, int number,
                               const gsw_distributed_rows *rows) {
    level *l = &mg->level[number];
    gsw_context *context = mg->partition->context;
    const gsw_frame *f = &rows->ghosts.frame;
    const int32_t count = l->matrix->local.stencil.count;
    void *arrays[GSW_STENCIL_MAX];
    l->product = l->matrix->local;
    if (mg->options.cycle_type == GSW_F64)
        return GSW_SUCCESS;
    GSW_TRY(context->ops->reserve(context, (size_t)rows->points * (size_t)count * sizeof(float),
                                  &l->cycle));
    for (int32_t e = 0; e < count; e++) {
        arrays[e] = (float *)l->cycle + e * rows->points;
        l->values[e] = (float *)arrays[e] + f->e[0] * f->e[1] * f->low[2];
    }
    l->product.array = (gsw_stencil_array){.values = l->values, .value_type = GSW_F32};
    return context->ops->multigrid->copy_arrays(context, &rows->matrix, GSW_F32, arrays);
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
    if (gsw_level_has_cancelled(&l->survey, &mg->level[0].survey)) {
        GSW_TRY(gsw_partition_agree(l->partition,
                                    gsw_distributed_product_mend(fine, product, l->matrix)));
        GSW_TRY(gsw_distributed_rows_fetch(rows, stencil->center));
        GSW_TRY(gsw_distributed_survey(rows, 0, &l->survey));
    }
    return refuse_numbers(mg, number, &l->survey);
}

/* Opens the level after `number`, and exchanges the rows of that level for its own. */
static gsw_status open_next(gsw_distributed_multigrid *mg, int number, int axes,
                            gsw_partition *coarse, gsw_distributed_rows *rows,
                            gsw_distributed_rows *next_rows) {
    level *l = &mg->level[number], *next = l + 1;
    gsw_distributed_product product;
    mg->levels++;
    *next = (level){.partition = coarse, .points = gsw_box_points(&coarse->own)};
    GSW_TRY(gsw_partition_agree(l->partition, open_product(mg, number, rows)));
    gsw_status status = gsw_distributed_transfer_open(rows, coarse, axes, mg->symmetric,
                                                      l->survey.isolated, mg->options.cycle_type,
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
    const int sections = mg->sections && context->ops->slab, most = mg->options.max_levels;
    gsw_smoother smoother = mg->options.smoother;
    if (smoother == GSW_SMOOTHER_ILU0_FINEST && mg->levels > 1)
        smoother = mg->symmetric ? GSW_SMOOTHER_GS : GSW_SMOOTHER_SYMGS;
    const gsw_multigrid_options options = {.size = sizeof options,
                                           .smoother = sections ? GSW_SMOOTHER_AUTO : smoother,
                                           .cycle = mg->options.cycle,
                                           .pre_sweeps = mg->options.pre_sweeps,
                                           .post_sweeps = mg->options.post_sweeps,
                                           .theta = mg->options.theta,
                                           .cycle_type = mg->options.cycle_type,
                                           .coarsest_points = mg->options.coarsest_points,
                                           .max_levels = most > 0 ? most - (mg->levels - 1) : 0};
    mg->whole = rows->ghosts; /* to be closed with the hierarchy */
    rows->ghosts = (gsw_ghosts){.partition = NULL};
    GSW_TRY(open_last_vectors(mg, rows->points));
    return gsw_hierarchy_create(context, &rows->matrix, &options, sections && mg->levels > 1,
                                &mg->rest);
}

/* The rows of level 0 are rows[0]; those of the others take turns. */
static gsw_status build_levels(gsw_distributed_multigrid *mg, gsw_distributed_rows rows[2]) {
    const int most = mg->options.max_levels > 0 ? mg->options.max_levels : GSW_LEVELS_MAX;
    for (int number = 0;; number++) {
        level *l = &mg->level[number];
        const int axes = number + 1 < most ? axes_of(mg, number) : 0;
        gsw_partition *coarse = NULL;
        if (axes != 0) {
            const gsw_status status = gsw_partition_agree(
                l->partition, gsw_partition_coarsen(l->partition, axes, &coarse));
            if (status != GSW_SUCCESS) {
                gsw_partition_destroy(coarse);
                return status;
            }
        }
        if (!coarse)
            return GSW_SUCCESS;
        GSW_TRY(open_next(mg, number, axes, coarse, &rows[number % 2], &rows[(number + 1) % 2]));
        GSW_TRY(open_smoothed(mg, number));
    }
}

static gsw_status survey_finest(gsw_distributed_multigrid *mg, gsw_distributed_rows *rows) {
    level *l = &mg->level[0];
    GSW_TRY(gsw_distributed_rows_open(
        l->matrix, gsw_distributed_rows_width(&l->matrix->local.stencil), 1, rows));
    GSW_TRY(gsw_distributed_survey(rows, 1, &l->survey));
    GSW_TRY(refuse_numbers(mg, 0, &l->survey));
    mg->symmetric = l->survey.symmetric;
    mg->singular = l->survey.zero_sums;
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
    return status;
}

/* Frees the levels, but not the finest one's matrix. */
static void clear(gsw_distributed_multigrid *mg) {
    gsw_hierarchy_close(mg->rest);
    mg->rest = NULL;
    gsw_unreserve(mg->partition->context, mg->all);
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
        gsw_unreserve(mg->partition->context, l->block);
        gsw_unreserve(mg->partition->context, l->cycle);
        if (number > 0) {
            gsw_distributed_matrix_destroy(l->matrix);
            gsw_partition_destroy(l->partition);
        }
    }
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

static gsw_status check_options(gsw_distributed_multigrid *mg, const gsw_stencil *stencil) {
    gsw_context *context = mg->partition->context;
    gsw_multigrid_options *o = &mg->options;
    if (!context->ops->slab)
        o->cycle_type = GSW_F64; /* in which a cycle does all that one in fp32 does */
    if (o->interpolation != GSW_INTERPOLATION_BLACK_BOX || o->smoother == GSW_SMOOTHER_MULTICOLOR)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "multigrid on several processes has neither injection nor the smoother "
                        "multicolor");
    if (gsw_stencil_beyond(stencil, GSW_LUMPED_RADIUS))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "multigrid: the stencil reaches farther than %d", GSW_LUMPED_RADIUS);
    mg->sections = o->smoother == GSW_SMOOTHER_AUTO;
    return GSW_SUCCESS;
}

static uint64_t mark_of(const gsw_multigrid_options *o) {
    return gsw_mark_real(
        gsw_mark(0,
                 (int64_t[]){o->scope, o->smoother, o->pre_sweeps, o->post_sweeps, o->whole_points,
                             o->cycle_type, o->coarsest_points, o->max_levels},
                 8),
        o->theta);
}

static void begin(gsw_distributed_multigrid *mg, gsw_distributed_matrix *matrix) {
    mg->levels = 1;
    mg->level[0] = (level){.partition = mg->partition, .matrix = matrix, .points = matrix->points};
}

gsw_status gsw_distributed_multigrid_create(gsw_distributed_matrix *matrix,
                                            const gsw_multigrid_options *options,
                                            gsw_distributed_multigrid **multigrid) {
    gsw_distributed_multigrid *mg;
    gsw_partition *p = matrix->partition;
    *multigrid = NULL;
    gsw_status status = gsw_alloc(p->context, 1, sizeof *mg, "a hierarchy", (void **)&mg);
    if (status != GSW_SUCCESS)
        return gsw_partition_agree(p, status);
    memset(mg, 0, sizeof *mg);
    mg->partition = p;
    mg->options = *options;
    begin(mg, matrix);
    status = check_options(mg, &matrix->local.stencil);
    status = gsw_partition_agree_on(p, status, "options", mark_of(&mg->options));
    if (status == GSW_SUCCESS)
        status = build(mg);
    if (status == GSW_SUCCESS)
        *multigrid = mg;
    else
        gsw_distributed_multigrid_destroy(mg);
    return status;
}

gsw_status gsw_distributed_multigrid_refactor(gsw_distributed_multigrid *mg) {
    gsw_distributed_matrix *matrix = mg->level[0].matrix;
    clear(mg);
    begin(mg, matrix);
    return build(mg);
}

gsw_status gsw_distributed_multigrid_get_info(const gsw_distributed_multigrid *mg,
                                              gsw_multigrid_info *info) {
    gsw_multigrid_info made = {.size = sizeof made};
    if (!mg->rest)
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_hierarchy_get_info(mg->rest, &made));
    const int last = mg->levels - 1;
    const double rest_couplings = made.operator_complexity, rest_points = made.grid_complexity;
    double finest_couplings = 1, finest_points = 1;
    made.levels += last;
    made.shared_levels = last;
    made.scope = mg->options.scope;
    made.smoother = mg->options.smoother;
    made.symmetric = mg->symmetric;
    made.operator_complexity = made.grid_complexity = 0;
    for (int number = 0; number <= last; number++) {
        const level *l = &mg->level[number];
        const gsw_grid *g = &l->partition->grid;
        const double couplings = (double)gsw_stencil_couplings(&l->matrix->local.stencil, g);
        const double points = (double)g->nx * (double)g->ny * (double)g->nz;
        finest_couplings = number == 0 ? couplings : finest_couplings;
        finest_points = number == 0 ? points : finest_points;
        made.operator_complexity += couplings * (number == last ? rest_couplings : 1);
        made.grid_complexity += points * (number == last ? rest_points : 1);
        made.smoother_fallbacks += l->fell_back;
    }
    made.operator_complexity /= finest_couplings;
    made.grid_complexity /= finest_points;
    gsw_result_give(info, &made, sizeof made);
    return GSW_SUCCESS;
}

void gsw_distributed_multigrid_destroy(gsw_distributed_multigrid *mg) {
    if (!mg)
        return;
    clear(mg);
    free(mg);
}
