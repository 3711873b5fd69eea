/* distributed_bands.c: exact sweeps of slabs in z with packed factors.
 *
 * The factor is packed without the couplings to other slabs. Rows of the first planes of a sweep,
 * which have such couplings, begin with scale b - (terms of ghosts) instead of b, and their packed
 * scale is 1. These terms are the first ones of a row anyway, so the bits stay the same. A slab is
 * swept in bands of whole pencils. After each one the points that the next slab needs are sent. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"
#include "factor.h"

/* ---- The terms of a sweep ---------------------------------------------------------------------
 */

int gsw_distributed_sweeps(const gsw_distributed_factor *f, int down) {
    return f->options.kind != (down ? GSW_FACTOR_LOWER : GSW_FACTOR_UPPER);
}

/* Whether a sweep scales b: one of the two does. */
static int scales(const gsw_distributed_factor *f, int down) {
    const gsw_factor_kind kind = f->options.kind;
    return down != (kind == GSW_DILU || kind == GSW_SSOR || kind == GSW_FACTOR_LOWER);
}

int gsw_distributed_part(const gsw_distributed_factor *f, int down) {
    return down && gsw_distributed_sweeps(f, 0);
}

void gsw_distributed_terms(const gsw_distributed_factor *f, int down, double *const *value,
                           gsw_box_sweep *job) {
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    job->down = down;
    job->count = down ? stencil->count - 1 - stencil->center : stencil->center;
    job->scale = scales(f, down) ? value[stencil->center] : NULL;
    for (int32_t k = 0; k < job->count; k++) {
        const int32_t e = down ? stencil->count - 1 - k : k;
        job->offset[k] = stencil->offsets[e];
        job->c[k] = value[e];
    }
}

/* ---- Opening ----------------------------------------------------------------------------------
 */

/* The first planes of a sweep that are coupled to another slab. */
static int64_t planes_of(const gsw_distributed_factor *f, int down) {
    const gsw_frame *frame = &f->matrix->ghosts.frame;
    return down ? frame->e[2] - frame->low[2] - frame->n[2] : frame->low[2];
}

/* Whether this slab can be swept in bands that are those of the grid. */
static int is_suitable(const gsw_distributed_factor *f, int64_t shear) {
    const gsw_frame *frame = &f->matrix->ghosts.frame;
    gsw_bands bands;
    f->partition->context->ops->box->bands(f->packed, &bands);
    const int64_t reach = planes_of(f, 0) > planes_of(f, 1) ? planes_of(f, 0) : planes_of(f, 1);
    return bands.lines == 8 && bands.shear == shear && frame->n[2] > reach &&
           memcmp(bands.extent, frame->n, sizeof bands.extent) == 0;
}

static gsw_status open_edge(gsw_distributed_factor *f, int down) {
    const gsw_frame *frame = &f->matrix->ghosts.frame;
    gsw_edge *edge = &f->edge[down];
    edge->planes = planes_of(f, down);
    const size_t points = (size_t)(edge->planes * frame->n[0] * frame->n[1]);
    const int32_t count = f->matrix->local.stencil.count;
    void *memory;
    GSW_TRY(gsw_alloc(f->partition->context, points * (size_t)(count + 1), sizeof(double),
                      "the edge of a slab", &memory));
    edge->block = memory;
    for (int32_t e = 0; e < count; e++)
        edge->value[e] = edge->block + (size_t)e * points;
    edge->lead = edge->block + (size_t)count * points;
    f->bytes += (int64_t)(points * (size_t)(count + 1) * sizeof(double));
    return GSW_SUCCESS;
}

gsw_status gsw_bands_open(gsw_distributed_factor *f, int64_t *band) {
    gsw_partition *p = f->partition;
    const gsw_factor_options options = {
        .size = sizeof options, .kind = f->options.kind, .omega = f->options.omega};
    int64_t mine[2] = {0, gsw_context_threads(p->context)}, theirs[2];
    *band = 0;
    if (p->shape[0] > 1 || p->shape[1] > 1 || p->grid.nz == 1)
        return GSW_SUCCESS;
    GSW_TRY(gsw_partition_agree(
        p, gsw_factor_open(p->context, &f->matrix->local, &options, 0, &f->packed)));
    mine[0] = is_suitable(f, gsw_schedule_shear(&f->matrix->local.stencil));
    GSW_TRY(gsw_partition_gather(p, mine, sizeof mine));
    f->bands_per_block = 1;
    for (int process = 0; process < p->transport.processes; process++) {
        memcpy(theirs, p->answers + (size_t)process * sizeof theirs, sizeof theirs);
        mine[0] &= theirs[0];
        if (theirs[1] > f->bands_per_block)
            f->bands_per_block = theirs[1];
    }
    if (!mine[0]) {
        gsw_factor_destroy(f->packed);
        f->packed = NULL;
        return GSW_SUCCESS;
    }
    gsw_bands bands;
    p->context->ops->box->bands(f->packed, &bands);
    f->bands = bands.count;
    if (p->transport.processes == 1)
        f->bands_per_block = bands.count; /* nobody waits */
    *band = bands.lines * f->bands_per_block;
    GSW_TRY(open_edge(f, 0));
    return open_edge(f, 1);
}

void gsw_bands_close(gsw_distributed_factor *f) {
    gsw_factor_destroy(f->packed);
    free(f->edge[0].block);
    free(f->edge[1].block);
}

/* ---- Packing ----------------------------------------------------------------------------------
 */

/* The row of the box that a sweep's edge begins with. */
static int64_t edge_origin(const gsw_distributed_factor *f, int down) {
    const gsw_frame *frame = &f->matrix->ghosts.frame;
    return down ? frame->n[0] * frame->n[1] * (frame->n[2] - f->edge[1].planes) : 0;
}

void gsw_bands_take_scales(gsw_distributed_factor *f) {
    const gsw_box_ops *ops = f->partition->context->ops->box;
    const int64_t nz = f->matrix->ghosts.frame.n[2];
    for (int down = 0; down < 2; down++) {
        const gsw_edge *edge = &f->edge[down];
        if (gsw_distributed_sweeps(f, down) && scales(f, down) && edge->planes > 0)
            ops->take_diagonal(f->packed, gsw_distributed_part(f, down),
                               down ? nz - edge->planes : 0, down ? nz : edge->planes,
                               edge->value[f->matrix->local.stencil.center]);
    }
}

void gsw_bands_pack(gsw_distributed_factor *f) {
    const gsw_frame *frame = &f->matrix->ghosts.frame;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    for (int down = 0; down < 2; down++) {
        if (!gsw_distributed_sweeps(f, down))
            continue;
        const gsw_edge *edge = &f->edge[down];
        const int64_t points = edge->planes * frame->n[0] * frame->n[1];
        const int64_t origin = edge_origin(f, down);
        for (int32_t e = 0; e < stencil->count; e++)
            memcpy(edge->value[e], f->value[e] + origin, (size_t)points * sizeof(double));
        for (int64_t i = 0; i < points && scales(f, down); i++)
            f->value[stencil->center][origin + i] = 1;
        f->partition->context->ops->box->pack(f->packed, gsw_distributed_part(f, down), f->value);
    }
}

/* ---- Sweeps -----------------------------------------------------------------------------------
 */

typedef struct band_sweeper {
    gsw_distributed_factor *f;
    int down;
    gsw_box_sweep lead;
    const double *b;
    double *x;
} band_sweeper;

/* Copies the lines that the next slab reads into the frame. */
static void show_lines(const band_sweeper *s, const gsw_box_lines *lines) {
    const gsw_frame *frame = s->lead.frame;
    const gsw_reach reach =
        gsw_reach_of(&s->f->matrix->local.stencil, 0, s->f->matrix->local.stencil.count);
    const int64_t first = s->down ? 0 : frame->n[2] - reach.before[2];
    const int64_t end = s->down ? reach.after[2] : frame->n[2];
    for (int64_t i = lines->first[0]; i < lines->first[lines->groups]; i++) {
        const gsw_box_line line = lines->line[i];
        if (line.z >= first && line.z < end)
            memcpy(s->f->x + gsw_frame_row(frame, 0, line.y, line.z),
                   s->x + frame->n[0] * (line.y + frame->n[1] * line.z),
                   (size_t)frame->n[0] * sizeof(double));
    }
}

static void sweep_block(void *user, const gsw_box_lines *lines, int64_t block) {
    const band_sweeper *s = user;
    gsw_distributed_factor *f = s->f;
    gsw_context *context = f->partition->context;
    const gsw_edge *edge = &f->edge[s->down];
    const int64_t nz = s->lead.frame->n[2];
    /* Sweeps downwards take the blocks in reverse, and count bands from the last one. */
    const int64_t number = s->down ? f->down.blocks - 1 - block : block;
    const int64_t begin = number * f->bands_per_block;
    const int64_t end =
        begin + f->bands_per_block < f->bands ? begin + f->bands_per_block : f->bands;
    const gsw_band_sweep bands = {.which = gsw_distributed_part(f, s->down),
                                  .begin = s->down ? f->bands - end : begin,
                                  .end = s->down ? f->bands - begin : end,
                                  .b = s->b,
                                  .x = s->x,
                                  .lead = edge->lead,
                                  .lead_planes = edge->planes};
    if (edge->planes > 0)
        context->ops->box->lead(context, &s->lead, lines, s->down ? nz - edge->planes : 0,
                                s->down ? nz : edge->planes, edge->lead);
    context->ops->box->sweep_bands(context, f->packed, &bands);
    show_lines(s, lines);
}

gsw_status gsw_bands_sweep(gsw_distributed_factor *f, int down, const double *b, double *x) {
    const gsw_schedule *schedule = down ? &f->down : &f->up;
    band_sweeper s = {
        .f = f,
        .down = down,
        .lead = {.frame = &schedule->frame, .b = b, .x = f->x, .origin = edge_origin(f, down)},
        .b = b,
        .x = x};
    gsw_distributed_terms(f, down, f->edge[down].value, &s.lead);
    const gsw_schedule_run run = {
        .tag = GSW_TAG_SWEEP, .values = 1, .array = &f->x, .sweep = sweep_block, .user = &s};
    return gsw_schedule_go(schedule, down ? f->mail_down : f->mail_up, &run);
}
