/* distributed_factor.c: preconditioners on several processes.
 *
 * LOCAL is in distributed_local.c. GLOBAL keeps the factor in natural order, one array per
 * offset, and sweeps it line by line (cpu/box.c) as the schedule says. Ghosts hold the values of
 * other processes that a line reads. The factorisation runs through the same schedule as the sweep
 * upwards; its ghosts are the scaled upper rows and the reciprocal pivots of the neighbours. Slabs
 * in z then pack these arrays (distributed_bands.c), and their sweeps are as fast as on one
 * process. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"
#include "options.h"
#include "stencil_facts.h"

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
    (void)context;
    if (f->packed) {
        if (up)
            GSW_TRY(gsw_bands_sweep(f, 0, b, x));
        return down ? gsw_bands_sweep(f, 1, up ? x : b, x) : GSW_SUCCESS;
    }
    if (up)
        GSW_TRY(sweep(f, 0, b, down ? NULL : x));
    return down ? sweep(f, 1, up ? NULL : b, x) : GSW_SUCCESS;
}

/* ---- The matrix's values ----------------------------------------------------------------------
 */

static void copy_values(gsw_distributed_factor *f) {
    const gsw_distributed_matrix *a = f->matrix;
    for (int32_t e = 0; e < a->local.stencil.count; e++) {
        for (int64_t i = 0; i < a->points; i++)
            f->value[e][i] = !a->values[e] ? 0
                             : a->local.array.value_type == GSW_F64
                                 ? ((const double *)a->values[e])[i]
                                 : (double)((const float *)a->values[e])[i];
    }
}

/* IC(0) reads the lower part only: the upper part becomes its mirror image. */
static gsw_status mirror_lower(gsw_distributed_factor *f) {
    gsw_distributed_matrix *a = f->matrix;
    const gsw_stencil *stencil = &a->local.stencil;
    const gsw_frame *frame = &a->ghosts.frame;
    for (int32_t e = 0; e < stencil->center; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int32_t image = gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz});
        GSW_TRY(gsw_ghosts_update(&a->ghosts, f->value[e], f->x));
        double *to = f->value[image];
        for (int64_t z = 0; z < frame->n[2]; z++) {
            for (int64_t y = 0; y < frame->n[1]; y++) {
                for (int64_t x = 0; x < frame->n[0]; x++, to++) {
                    const int64_t at[3] = {x - o.dx + frame->low[0], y - o.dy + frame->low[1],
                                           z - o.dz + frame->low[2]};
                    const int exists = at[0] >= 0 && at[0] < frame->e[0] && at[1] >= 0 &&
                                       at[1] < frame->e[1] && at[2] >= 0 && at[2] < frame->e[2];
                    *to = exists ? f->x[gsw_frame_row(frame, x - o.dx, y - o.dy, z - o.dz)] : 0;
                }
            }
        }
    }
    return GSW_SUCCESS;
}

/* ---- Factorisation ----------------------------------------------------------------------------
 */

/* Brings the lowest bad row of all processes, in the grid; `row` is of the own box, or INT64_MAX.
 */
static gsw_status find_lowest(gsw_partition *p, int64_t row, int64_t *lowest) {
    const int64_t nx = p->own.end[0] - p->own.begin[0], ny = p->own.end[1] - p->own.begin[1];
    *lowest = INT64_MAX;
    if (row != INT64_MAX)
        row = gsw_grid_row(&p->grid, row % nx + p->own.begin[0], row / nx % ny + p->own.begin[1],
                           row / nx / ny + p->own.begin[2]);
    GSW_TRY(gsw_partition_gather(p, &row, sizeof row));
    for (int process = 0; process < p->transport.processes; process++) {
        memcpy(&row, p->answers + (size_t)process * sizeof row, sizeof row);
        *lowest = row < *lowest ? row : *lowest;
    }
    return GSW_SUCCESS;
}

/* Reports a bad row of the grid; INT64_MAX: there is none. */
static gsw_status report_row(const gsw_distributed_factor *f, int64_t lowest) {
    const gsw_partition *p = f->partition;
    if (lowest == INT64_MAX)
        return GSW_SUCCESS;
    return gsw_fail(p->context, GSW_ERROR_ZERO_PIVOT,
                    "%s: the pivot of row %lld, (x, y, z) = (%lld, %lld, %lld), is zero, not "
                    "finite or of the wrong sign",
                    gsw_factor_kind_name(f->options.kind), (long long)lowest,
                    (long long)(lowest % p->grid.nx), (long long)(lowest / p->grid.nx % p->grid.ny),
                    (long long)(lowest / p->grid.nx / p->grid.ny));
}

static gsw_status report_pivots(gsw_distributed_factor *f, int64_t row) {
    int64_t lowest;
    GSW_TRY(find_lowest(f->partition, row, &lowest));
    return report_row(f, lowest);
}

/* c = c * scale where c is not 0, as the packed factors do. */
static void scale_rows(const gsw_distributed_factor *f, int32_t first, int32_t end, double factor) {
    const double *scale = f->value[f->matrix->local.stencil.center];
    for (int32_t e = first; e < end; e++)
        for (int64_t i = 0; i < f->matrix->points; i++)
            f->value[e][i] = f->value[e][i] != 0 ? f->value[e][i] * (factor * scale[i]) : 0;
}

/* SSOR, and with omega = 1 LOWER and UPPER. */
static gsw_status fill_scaled(gsw_distributed_factor *f) {
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const double omega = f->options.kind == GSW_SSOR ? f->options.omega : 1;
    double *diagonal = f->value[stencil->center];
    int64_t bad = INT64_MAX;
    for (int64_t i = f->matrix->points - 1; i >= 0; i--) {
        if (!isnormal(diagonal[i]))
            bad = i;
        diagonal[i] = 1 / diagonal[i];
    }
    GSW_TRY(report_pivots(f, bad));
    scale_rows(f, 0, stencil->center, omega);
    scale_rows(f, stencil->center + 1, stencil->count, omega);
    for (int64_t i = 0; i < f->matrix->points; i++)
        diagonal[i] = omega * (2 - omega) * diagonal[i];
    return GSW_SUCCESS;
}

typedef struct eliminator {
    gsw_context *context;
    gsw_box_eliminate job;
} eliminator;

static void eliminate_block(void *user, const gsw_box_lines *lines, int64_t block) {
    eliminator *e = user;
    (void)block;
    e->context->ops->box->eliminate(e->context, &e->job, lines);
}

/* Moves the scaled upper rows from the frame into the box's arrays. */
static void keep_upper(const gsw_distributed_factor *f, double *const *upper) {
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const gsw_frame *frame = &f->up.frame;
    const int64_t nx = frame->n[0], lines = frame->n[1] * frame->n[2];
    for (int32_t e = stencil->center; e < stencil->count; e++)
        for (int64_t i = 0; i < lines; i++)
            memcpy(f->value[e] + i * nx,
                   upper[e] + gsw_frame_row(frame, 0, i % frame->n[1], i / frame->n[1]),
                   (size_t)nx * sizeof(double));
}

static gsw_status eliminate(gsw_distributed_factor *f, double *upper, gsw_mailbox *mailbox) {
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const gsw_frame *frame = &f->up.frame;
    const int64_t points = frame->e[0] * frame->e[1] * frame->e[2];
    eliminator e = {.context = f->partition->context,
                    .job = {.frame = frame,
                            .stencil = stencil,
                            .diagonal_only = f->options.kind == GSW_DILU,
                            .positive = f->options.kind == GSW_IC0,
                            .pivot_shift = f->options.pivot_shift,
                            .bad_row = INT64_MAX}};
    for (int32_t i = 0; i < stencil->count; i++) {
        e.job.a[i] = f->value[i];
        e.job.upper[i] = i < stencil->center ? NULL : upper + (i - stencil->center) * points;
    }
    const gsw_schedule_run run = {.tag = GSW_TAG_ELIMINATE,
                                  .values = stencil->count - stencil->center,
                                  .array = e.job.upper + stencil->center,
                                  .sweep = eliminate_block,
                                  .user = &e};
    GSW_TRY(gsw_schedule_go(&f->up, mailbox, &run));
    GSW_TRY(report_pivots(f, e.job.bad_row));
    keep_upper(f, e.job.upper);
    if (f->options.kind == GSW_DILU)
        scale_rows(f, 0, stencil->center, 1);
    return GSW_SUCCESS;
}

static gsw_status fill_eliminated(gsw_distributed_factor *f) {
    gsw_partition *p = f->partition;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const gsw_frame *frame = &f->up.frame;
    const int32_t values = stencil->count - stencil->center;
    const size_t points = (size_t)(frame->e[0] * frame->e[1] * frame->e[2]);
    void *upper = NULL;
    gsw_mailbox *mailbox = NULL;
    gsw_status status =
        gsw_alloc(p->context, points * (size_t)values, sizeof(double), "rows of U", &upper);
    if (status == GSW_SUCCESS)
        status = gsw_mailbox_open(&f->up, values, &mailbox);
    status = gsw_partition_agree(p, status);
    if (status == GSW_SUCCESS) {
        memset(upper, 0, points * (size_t)values * sizeof(double));
        status = eliminate(f, upper, mailbox);
    }
    gsw_mailbox_close(mailbox);
    free(upper);
    return status;
}

static gsw_status fill_arrays(gsw_distributed_factor *f) {
    copy_values(f);
    if (f->options.kind == GSW_SSOR || f->options.kind == GSW_FACTOR_LOWER ||
        f->options.kind == GSW_FACTOR_UPPER)
        return fill_scaled(f);
    if (f->options.kind == GSW_IC0)
        GSW_TRY(mirror_lower(f));
    return fill_eliminated(f);
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
    if (f->packed) {
        int64_t row, lowest;
        GSW_TRY(gsw_bands_fill(f, &row));
        GSW_TRY(find_lowest(f->partition, row, &lowest));
        if (lowest == INT64_MAX || f->options.pivot_shift == 0)
            return report_row(f, lowest);
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
    if (o->omega == 0)
        o->omega = 1;
    if (o->kind == GSW_IC0 && !gsw_stencil_is_symmetric(&f->matrix->local.stencil))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "ic0 needs a symmetric stencil: one that has -o for each offset o");
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_factor_create(gsw_distributed_matrix *matrix,
                                         const gsw_distributed_factor_options *options,
                                         gsw_distributed_factor **factor) {
    gsw_distributed_factor *f;
    if (!matrix || !factor)
        return GSW_ERROR_INVALID_ARGUMENT;
    *factor = NULL;
    gsw_partition *p = matrix->partition;
    gsw_status status = gsw_alloc(p->context, 1, sizeof *f, "a factor", (void **)&f);
    if (status != GSW_SUCCESS)
        return gsw_partition_agree(p, status);
    memset(f, 0, sizeof *f);
    f->partition = p;
    f->matrix = matrix;
    status = check_options(f, options);
    if (status == GSW_SUCCESS && !is_local(f))
        status = open_global(f);
    status = gsw_partition_agree(p, status);
    if (status == GSW_SUCCESS)
        status = gsw_distributed_factor_refactor(f);
    if (status == GSW_SUCCESS)
        *factor = f;
    else
        gsw_distributed_factor_destroy(f);
    return status;
}

gsw_status gsw_distributed_factor_refactor(gsw_distributed_factor *factor) {
    if (!factor)
        return GSW_ERROR_INVALID_ARGUMENT;
    return gsw_partition_agree(factor->partition,
                               is_local(factor) ? gsw_local_fill(factor) : fill_global(factor));
}

gsw_preconditioner *gsw_distributed_factor_preconditioner(gsw_distributed_factor *factor) {
    return factor ? factor->preconditioner : NULL;
}

void gsw_distributed_factor_bytes(const gsw_distributed_factor *factor, int64_t *held,
                                  int64_t *sent) {
    const int64_t values =
        factor ? gsw_schedule_sent(&factor->up) + gsw_schedule_sent(&factor->down) : 0;
    *held = factor ? factor->bytes : 0;
    *sent = values * (int64_t)sizeof(double);
}

void gsw_distributed_factor_destroy(gsw_distributed_factor *f) {
    if (!f)
        return;
    gsw_preconditioner_destroy(f->preconditioner);
    gsw_local_close(f);
    gsw_bands_close(f);
    gsw_mailbox_close(f->mail_down);
    gsw_mailbox_close(f->mail_up);
    gsw_schedule_close(&f->down);
    gsw_schedule_close(&f->up);
    free(f->x);
    free(f->block);
    free(f);
}
