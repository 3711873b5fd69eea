/* distributed_factor.c: preconditioners on several processes.
 *
 * LOCAL is in distributed_local.c, and GLOBAL on backends with memory of their own in
 * distributed_slabs.c. On the CPU GLOBAL sweeps slabs in z with packed factors
 * (distributed_bands.c), which it factorises in distributed_fill.c. Then sweeps and factorisation
 * are about as fast as on one process.
 *
 * For other boxes it keeps the factor in natural order, one array per offset, and sweeps it line by
 * line (cpu/sweep/box.c) as the schedule says. Ghosts hold the values of other processes that a
 * line reads. The factorisation runs through the same schedule as the sweep upwards; its ghosts are
 * the scaled upper rows and the reciprocal pivots of the neighbours. It reads the matrix's own
 * arrays and writes into the factor's. Slabs go this way, too, if bad pivots must be shifted,
 * because a shift depends on a whole row; their arrays are then packed. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"
#include "core/options.h"
#include "matrix/stencil_facts.h"

GSW_ENDS_WITH(gsw_distributed_factor_options, overlap);

const char *gsw_scope_name(gsw_scope scope) {
    return scope == GSW_SCOPE_LOCAL ? "local" : scope == GSW_SCOPE_GLOBAL ? "global" : "unknown";
}

/* ---- Sweeps -----------------------------------------------------------------------------------
 */

typedef struct sweeper {
    gsw_context *context;
    gsw_box_sweep job;
} sweeper;

static void sweep_block(void *user, const gsw_box_lines *lines, int64_t block) {
    const sweeper *s = user;
    (void)block;
    s->context->ops->box->sweep(s->context, &s->job, lines);
}

static gsw_status sweep(gsw_distributed_factor *f, int down, const double *b, double *out) {
    const gsw_schedule *schedule = down ? &f->down : &f->up;
    sweeper s = {.context = f->partition->context,
                 .job = {.frame = &schedule->frame, .b = b, .x = f->x, .out = out}};
    gsw_distributed_terms(f, down, f->value, &s.job);
    const gsw_schedule_run run = {
        .tag = GSW_TAG_SWEEP, .values = 1, .array = &f->x, .sweep = sweep_block, .user = &s};
    return gsw_schedule_go(schedule, down ? f->mail_down : f->mail_up, &run);
}

/* M^-1 b: b enters the first sweep, x leaves the last. */
static gsw_status apply(void *user, gsw_context *context, const double *b, double *x) {
    gsw_distributed_factor *f = user;
    const int up = gsw_distributed_sweeps(f, 0), down = gsw_distributed_sweeps(f, 1);
    GSW_TRY(gsw_distributed_usable(f, context));
    if (f->packed) {
        if (up)
            GSW_TRY(gsw_bands_sweep(f, 0, b, x));
        return down ? gsw_bands_sweep(f, 1, up ? x : b, x) : GSW_SUCCESS;
    }
    if (up)
        GSW_TRY(sweep(f, 0, b, down ? NULL : x));
    return down ? sweep(f, 1, up ? NULL : b, x) : GSW_SUCCESS;
}

static int64_t larger_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- The matrix's values ----------------------------------------------------------------------
 */

/* Writes entries e of the rows whose neighbour is a ghost, from the values of all ghosts. */
static void take_ghosts(const gsw_frame *frame, gsw_offset o, const double *ghosts, double *to) {
    const int64_t nx = frame->n[0];
    const int64_t first = larger_of(0, -o.dx - frame->low[0]);
    const int64_t last = smaller_of(nx, frame->e[0] - frame->low[0] - o.dx);
    for (int64_t i = 0; i < frame->n[1] * frame->n[2]; i++, to += nx) {
        const int64_t y = i % frame->n[1] + o.dy, z = i / frame->n[1] + o.dz;
        if (y < -frame->low[1] || y >= frame->e[1] - frame->low[1] || z < -frame->low[2] ||
            z >= frame->e[2] - frame->low[2])
            continue;
        const int is_own = y >= 0 && y < frame->n[1] && z >= 0 && z < frame->n[2];
        const double *from = ghosts + gsw_frame_row(frame, o.dx, y, z);
        for (int64_t x = first; x < (is_own ? smaller_of(last, -o.dx) : last); x++)
            to[x] = from[x];
        for (int64_t x = larger_of(first, nx - o.dx); is_own && x < last; x++)
            to[x] = from[x];
    }
}

/* Decides where the elimination reads its rows. IC(0) reads the lower part only: the upper part is
 * its mirror image. Collective for IC(0). */
static gsw_status choose_sources(gsw_distributed_factor *f, gsw_box_eliminate *job) {
    gsw_distributed_matrix *a = f->matrix;
    const gsw_stencil *stencil = &a->local.stencil;
    const int mirrored = f->options.kind == GSW_IC0;
    for (int32_t e = 0; e < stencil->count; e++) {
        job->from[e] = job->a[e] = f->value[e];
        if (mirrored && e > stencil->center)
            continue;
        job->from[e] = gsw_distributed_matrix_doubles(a, e, f->value[e]);
    }
    for (int32_t e = stencil->center + 1; mirrored && e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int32_t image = gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz});
        job->mirror[e] = job->from[image];
        GSW_TRY(gsw_ghosts_begin(&a->ghosts, job->mirror[e]));
        GSW_TRY(gsw_ghosts_end(&a->ghosts));
        GSW_TRY(gsw_ghosts_put_others(&a->ghosts, f->x));
        take_ghosts(&a->ghosts.frame, o, f->x, f->value[e]);
    }
    return GSW_SUCCESS;
}

/* ---- Factorisation ----------------------------------------------------------------------------
 */

/* c = c * scale where c is not 0, as the packed factors do. */
static void scale_rows(const gsw_distributed_factor *f, int32_t first, int32_t end, double factor) {
    const double *scale = f->value[f->matrix->local.stencil.center];
    for (int32_t e = first; e < end; e++)
        for (int64_t i = 0; i < f->matrix->points; i++)
            f->value[e][i] = f->value[e][i] != 0 ? f->value[e][i] * (factor * scale[i]) : 0;
}

/* What replaces the bad pivot of row i of the box: a multiple of the row's largest entry. */
static double shifted_pivot(const gsw_distributed_factor *f, int64_t i) {
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    int64_t at[3];
    double largest = 0;
    (void)gsw_partition_row(f->partition, i, at);
    for (int32_t e = 0; e < stencil->count; e++) {
        const double size = fabs(f->value[e][i]);
        if (gsw_partition_has(f->partition, at, stencil->offsets[e]) && size > largest &&
            size <= DBL_MAX)
            largest = size;
    }
    const double shift = f->options.pivot_shift * (largest > 0 ? largest : 1);
    return f->value[stencil->center][i] < 0 ? -shift : shift;
}

/* SSOR, and with omega = 1 LOWER and UPPER. */
static gsw_status fill_scaled(gsw_distributed_factor *f) {
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const double omega = f->options.kind == GSW_SSOR ? f->options.omega : 1;
    double *diagonal = f->value[stencil->center];
    int64_t bad = INT64_MAX;
    for (int64_t i = f->matrix->points - 1; i >= 0; i--) {
        if (!isnormal(diagonal[i]) && f->options.kind == GSW_SSOR && f->options.pivot_shift > 0)
            diagonal[i] = shifted_pivot(f, i);
        else if (!isnormal(diagonal[i]))
            bad = i;
        diagonal[i] = 1 / diagonal[i];
    }
    GSW_TRY(gsw_distributed_report_pivots(f, bad));
    scale_rows(f, 0, stencil->center, omega);
    scale_rows(f, stencil->center + 1, stencil->count, omega);
    for (int64_t i = 0; i < f->matrix->points; i++)
        diagonal[i] = omega * (2 - omega) * diagonal[i];
    return GSW_SUCCESS;
}

typedef struct eliminator {
    gsw_context *context;
    gsw_box_eliminate job;
    double *block;       /* of the rows of ghosts */
    int64_t *ghost_line; /* see gsw_box_eliminate */
} eliminator;

static void eliminate_block(void *user, const gsw_box_lines *lines, int64_t block) {
    eliminator *e = user;
    (void)block;
    e->context->ops->box->eliminate(e->context, &e->job, lines);
}

/* Where a row of U is whose row in the frame is `row`. */
static double *place_of_row(void *user, int32_t value, int64_t row) {
    const eliminator *e = user;
    const gsw_frame *frame = e->job.frame;
    const int32_t entry = e->job.stencil->center + value;
    const int64_t line = row / frame->e[0];
    const int64_t x = row % frame->e[0] - frame->low[0], y = line % frame->e[1] - frame->low[1],
                  z = line / frame->e[1] - frame->low[2];
    const int is_own = y >= 0 && y < frame->n[1] && z >= 0 && z < frame->n[2];
    if (is_own && x >= 0 && x < frame->n[0])
        return e->job.a[entry] + x + frame->n[0] * (y + frame->n[1] * z);
    return e->job.ghost[entry] + e->ghost_line[line] + x + frame->low[0] -
           (is_own && x >= 0 ? frame->n[0] : 0);
}

static gsw_status eliminate(gsw_distributed_factor *f, eliminator *e, gsw_mailbox *mailbox) {
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const gsw_schedule_run run = {.tag = GSW_TAG_ELIMINATE,
                                  .values = stencil->count - stencil->center,
                                  .place = place_of_row,
                                  .sweep = eliminate_block,
                                  .user = e};
    GSW_TRY(choose_sources(f, &e->job));
    GSW_TRY(gsw_schedule_go(&f->up, mailbox, &run));
    GSW_TRY(gsw_distributed_report_pivots(f, e->job.bad_row));
    if (f->options.kind == GSW_DILU)
        scale_rows(f, 0, stencil->center, 1);
    return GSW_SUCCESS;
}

/* Memory for the rows of ghosts. */
static gsw_status open_eliminator(const gsw_distributed_factor *f, eliminator *e) {
    gsw_context *context = f->partition->context;
    const gsw_stencil *stencil = e->job.stencil;
    const gsw_frame *frame = e->job.frame;
    const int64_t lines = frame->e[1] * frame->e[2];
    const size_t values = (size_t)(stencil->count - stencil->center);
    int64_t points = 0;
    void *memory;
    GSW_TRY(gsw_alloc(context, (size_t)lines, sizeof *e->ghost_line, "rows of U", &memory));
    e->job.ghost_line = e->ghost_line = memory;
    for (int64_t i = 0; i < lines; i++) {
        const int64_t y = i % frame->e[1] - frame->low[1], z = i / frame->e[1] - frame->low[2];
        const int is_own = y >= 0 && y < frame->n[1] && z >= 0 && z < frame->n[2];
        e->ghost_line[i] = points;
        points += frame->e[0] - (is_own ? frame->n[0] : 0);
    }
    GSW_TRY(gsw_alloc(context, (size_t)points * values, sizeof(double), "rows of U", &memory));
    e->block = memory;
    for (int32_t i = stencil->center; i < stencil->count; i++)
        e->job.ghost[i] = e->block + (i - stencil->center) * points;
    return GSW_SUCCESS;
}

static gsw_status fill_eliminated(gsw_distributed_factor *f) {
    gsw_partition *p = f->partition;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    gsw_mailbox *mailbox = NULL;
    eliminator e = {.context = p->context,
                    .job = {.frame = &f->up.frame,
                            .stencil = stencil,
                            .diagonal_only = f->options.kind == GSW_DILU,
                            .positive = f->options.kind == GSW_IC0,
                            .pivot_shift = f->options.pivot_shift,
                            .bad_row = INT64_MAX}};
    gsw_status status = open_eliminator(f, &e);
    if (status == GSW_SUCCESS)
        status = gsw_mailbox_open(&f->up, stencil->count - stencil->center, &mailbox);
    status = gsw_partition_agree(p, status);
    if (status == GSW_SUCCESS)
        status = eliminate(f, &e, mailbox);
    gsw_mailbox_close(mailbox);
    free(e.block);
    free(e.ghost_line);
    return status;
}

static gsw_status fill_arrays(gsw_distributed_factor *f) {
    if (f->options.kind != GSW_SSOR && f->options.kind != GSW_FACTOR_LOWER &&
        f->options.kind != GSW_FACTOR_UPPER)
        return fill_eliminated(f);
    const gsw_distributed_matrix *a = f->matrix;
    for (int32_t e = 0; e < a->local.stencil.count; e++)
        gsw_distributed_matrix_copy(a, e, 0, a->points, f->value[e]);
    return fill_scaled(f);
}

/* Memory for the factor in natural order. */
static gsw_status open_arrays(gsw_distributed_factor *f) {
    const size_t points = (size_t)f->matrix->points;
    void *memory;
    if (f->block)
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(f->partition->context, points * (size_t)f->matrix->local.stencil.count,
                      sizeof(double), "the factor", &memory));
    f->block = memory;
    for (int32_t e = 0; e < f->matrix->local.stencil.count; e++)
        f->value[e] = f->block + (size_t)e * points;
    return GSW_SUCCESS;
}

static gsw_status fill_global(gsw_distributed_factor *f) {
    if (f->partition->context->ops->slab)
        return gsw_slabs_fill(f);
    if (f->packed) {
        int64_t row, lowest;
        GSW_TRY(gsw_bands_fill(f, &row));
        GSW_TRY(gsw_distributed_lowest_row(f, row, &lowest));
        if (lowest == INT64_MAX || f->options.pivot_shift == 0)
            return gsw_distributed_report_row(f, lowest);
        /* A shift depends on couplings to other slabs, too: the arrays hold them. */
    }
    GSW_TRY(gsw_partition_agree(f->partition, open_arrays(f)));
    GSW_TRY(fill_arrays(f));
    if (!f->packed)
        return GSW_SUCCESS;
    gsw_bands_pack(f);
    free(f->block);
    f->block = NULL;
    return GSW_SUCCESS;
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

static gsw_status open_global(gsw_distributed_factor *f) {
    gsw_partition *p = f->partition;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const size_t count = (size_t)stencil->count, points = (size_t)f->matrix->points;
    int64_t band;
    void *memory;
    if (p->context->ops->slab)
        return gsw_slabs_open(f);
    GSW_TRY(gsw_bands_open(f, &band));
    GSW_TRY(gsw_schedule_open(p, stencil, 0, band, &f->up));
    GSW_TRY(gsw_schedule_open(p, stencil, 1, band, &f->down));
    GSW_TRY(gsw_mailbox_open(&f->up, 1, &f->mail_up));
    GSW_TRY(gsw_mailbox_open(&f->down, 1, &f->mail_down));
    const gsw_frame *frame = &f->up.frame;
    const size_t framed = (size_t)(frame->e[0] * frame->e[1] * frame->e[2]);
    GSW_TRY(gsw_alloc(p->context, framed, sizeof(double), "the sweep's vector", &memory));
    f->x = memory;
    memset(f->x, 0, framed * sizeof(double));
    f->bytes += (int64_t)(((f->packed ? 0 : points * count) + framed) * sizeof(double));
    return gsw_preconditioner_from_callback(p->context, f->matrix->points, apply, f,
                                            &f->preconditioner);
}

static int is_local(const gsw_distributed_factor *f) {
    return f->options.scope == GSW_SCOPE_LOCAL || f->options.kind == GSW_JACOBI;
}

static gsw_status check_options(gsw_distributed_factor *f,
                                const gsw_distributed_factor_options *given) {
    gsw_context *context = f->partition->context;
    gsw_distributed_factor_options *o = &f->options;
    GSW_TRY(gsw_options_take(context, "gsw_distributed_factor_options", given, sizeof *o, o));
    GSW_REQUIRE(context, (unsigned)o->kind < GSW_FACTOR_LU,
                "options->kind %d is not ilu0, ic0, dilu, ssor, jacobi, lower or upper",
                (int)o->kind);
    GSW_REQUIRE(context, (unsigned)o->scope <= GSW_SCOPE_GLOBAL, "options->scope %d is unknown",
                (int)o->scope);
    GSW_REQUIRE(context, o->omega >= 0 && o->omega < 2, "options->omega %g is not in (0, 2)",
                o->omega);
    GSW_REQUIRE(context, o->pivot_shift >= 0 && isfinite(o->pivot_shift),
                "options->pivot_shift %g is negative or not finite", o->pivot_shift);
    GSW_REQUIRE(context, o->overlap >= 0, "options->overlap %lld is negative",
                (long long)o->overlap);
    GSW_REQUIRE(context, o->overlap == 0 || o->scope == GSW_SCOPE_LOCAL,
                "options->overlap is for the scope local");
    if (o->overlap > 0 && context->ops->slab)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "the backend %s has no overlaps",
                        gsw_backend_name(context->backend));
    const gsw_grid *grid = &f->partition->grid;
    o->overlap = smaller_of(o->overlap, larger_of(grid->nx, larger_of(grid->ny, grid->nz)));
    if (o->omega == 0)
        o->omega = 1;
    if (o->kind == GSW_IC0 && !gsw_stencil_is_symmetric(&f->matrix->local.stencil))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "ic0 needs a symmetric stencil: one that has -o for each offset o");
    return GSW_SUCCESS;
}

static uint64_t mark_of(const gsw_distributed_factor_options *o) {
    const uint64_t mark = gsw_mark(0, (int64_t[]){o->kind, o->scope, o->overlap}, 3);
    return gsw_mark_real(gsw_mark_real(mark, o->omega), o->pivot_shift);
}

gsw_status gsw_distributed_factor_create_as(gsw_distributed_matrix *matrix,
                                            const gsw_distributed_factor_options *options,
                                            int64_t planes, gsw_dtype type,
                                            gsw_distributed_factor **factor) {
    gsw_distributed_factor *f;
    if (!matrix)
        return GSW_ERROR_INVALID_ARGUMENT;
    gsw_partition *p = matrix->partition;
    gsw_status status = gsw_partition_check_result(p, factor, "factor");
    if (status == GSW_SUCCESS) {
        *factor = NULL;
        status = gsw_alloc(p->context, 1, sizeof *f, "a factor", (void **)&f);
    }
    if (status != GSW_SUCCESS)
        return gsw_partition_agree(p, status);
    memset(f, 0, sizeof *f);
    f->partition = p;
    f->matrix = matrix;
    f->planes = planes;
    f->type = type;
    status = check_options(f, options);
    status = gsw_partition_agree_on(p, status, "options", mark_of(&f->options));
    if (status == GSW_SUCCESS && !is_local(f))
        status = gsw_partition_agree(p, open_global(f));
    if (status == GSW_SUCCESS)
        status = gsw_distributed_factor_refactor(f);
    if (status == GSW_SUCCESS)
        *factor = f;
    else
        gsw_distributed_factor_destroy(f);
    return status;
}

gsw_status gsw_distributed_factor_create(gsw_distributed_matrix *matrix,
                                         const gsw_distributed_factor_options *options,
                                         gsw_distributed_factor **factor) {
    return gsw_distributed_factor_create_as(matrix, options, 0, GSW_F64, factor);
}

gsw_status gsw_distributed_factor_refactor(gsw_distributed_factor *factor) {
    if (!factor)
        return GSW_ERROR_INVALID_ARGUMENT;
    const gsw_status status = gsw_partition_agree(
        factor->partition, is_local(factor) ? gsw_local_fill(factor) : fill_global(factor));
    factor->usable = status == GSW_SUCCESS;
    if (factor->local && !factor->usable)
        factor->local->usable = 0; /* in all processes alike */
    return status;
}

gsw_status gsw_distributed_factor_solve(gsw_distributed_factor *f, const void *b, void *x) {
    gsw_context *context = f->partition->context;
    if (f->local && f->options.overlap == 0)
        return gsw_factor_solve(context, f->local, 1, b, 0, x, 0);
    return context->ops->slab ? gsw_slabs_solve(f, b, x)
                              : gsw_preconditioner_apply(context, f->preconditioner, b, x);
}

gsw_preconditioner *gsw_distributed_factor_preconditioner(gsw_distributed_factor *factor) {
    return factor ? factor->preconditioner : NULL;
}

void gsw_distributed_factor_bytes(const gsw_distributed_factor *factor, int64_t *held,
                                  int64_t *sent) {
    *held = *sent = 0;
    if (!factor)
        return;
    const gsw_factor *own = factor->packed ? factor->packed : factor->local;
    gsw_factor_info info = {.size = sizeof info};
    if (own)
        (void)gsw_factor_get_info(own, &info);
    const int64_t values = gsw_schedule_sent(&factor->up) + gsw_schedule_sent(&factor->down);
    *held = factor->bytes + info.packed_bytes + info.work_bytes;
    *sent = values * (int64_t)sizeof(double) + factor->sent;
}

void gsw_distributed_factor_destroy(gsw_distributed_factor *f) {
    if (!f)
        return;
    gsw_preconditioner_destroy(f->preconditioner);
    gsw_local_close(f);
    gsw_slabs_close(f);
    gsw_bands_close(f);
    gsw_mailbox_close(f->mail_down);
    gsw_mailbox_close(f->mail_up);
    gsw_schedule_close(&f->down);
    gsw_schedule_close(&f->up);
    free(f->x);
    free(f->block);
    free(f);
}
