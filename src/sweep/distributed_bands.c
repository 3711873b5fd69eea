/* distributed_bands.c: exact sweeps of slabs with packed factors on CPUs.
 *
 * The factor of a slab also has the lines of ghosts as rows of the identity (geometry/chains.h). A
 * sweep reads the x of ghosts that come before the slab from an array, so each row adds its terms
 * in the order of one process, and the bits are the same. A slab is swept in bands of whole
 * pencils. After each block of bands the points that the next slab needs are sent. Where the grid
 * has fewer than three extents above 1, a slab needs all of the one before it: one block. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"
#include "packed.h"

int gsw_distributed_sweeps(const gsw_distributed_factor *f, int down) {
    return f->options.kind != (down ? GSW_FACTOR_LOWER : GSW_FACTOR_UPPER);
}

int gsw_distributed_part(const gsw_distributed_factor *f, int down) {
    return down && gsw_distributed_sweeps(f, 0);
}

/* ---- Opening ----------------------------------------------------------------------------------
 */

/* The keys of a block: whole pencils of every process, a band for each of its threads. 0: all. */
static gsw_status choose_keys(gsw_distributed_factor *f, int64_t *keys) {
    gsw_partition *p = f->partition;
    enum { BAND = 8 }; /* lines: each number of lines of a pencil divides it */
    int64_t mine[3] = {f->bands.has_planes, f->bands.shear, gsw_context_threads(p->context)};
    int64_t theirs[3], threads = 1;
    int alike = p->transport.processes > 1;
    GSW_TRY(gsw_partition_gather(p, mine, sizeof mine));
    for (int process = 0; process < p->transport.processes; process++) {
        memcpy(theirs, p->answers + (size_t)process * sizeof theirs, sizeof theirs);
        alike = alike && theirs[0] && theirs[1] == mine[1];
        threads = theirs[2] > threads ? theirs[2] : threads;
    }
    *keys = alike ? BAND * threads : 0;
    f->bands_per_block = alike ? *keys / f->bands.lines : f->bands.count;
    return GSW_SUCCESS;
}

static gsw_status open_factor(gsw_distributed_factor *f, int64_t ghosts[2]) {
    gsw_context *context = f->partition->context;
    const int axis = gsw_partition_last_axis(f->partition);
    const gsw_frame *frame = &f->matrix->ghosts.frame;
    const gsw_factor_options options = gsw_distributed_part_options(f);
    f->plane = axis == 2 ? frame->n[0] * frame->n[1] : axis == 1 ? frame->n[0] : 1;
    ghosts[GSW_BELOW] = frame->low[axis];
    ghosts[GSW_ABOVE] = frame->e[axis] - frame->low[axis] - frame->n[axis];
    f->before = f->plane * ghosts[GSW_BELOW];
    return gsw_packed_open_ghosts(context, &f->matrix->local, &options, ghosts, axis, &f->packed);
}

static gsw_status open_all(gsw_distributed_factor *f) {
    gsw_partition *p = f->partition;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    int64_t ghosts[2], keys;
    GSW_TRY(gsw_partition_agree(p, open_factor(f, ghosts)));
    p->context->ops->box->bands(f->packed, &f->bands);
    GSW_TRY(choose_keys(f, &keys));
    for (int down = 0; down < 2; down++) {
        const size_t points = (size_t)(f->plane * ghosts[down ? GSW_ABOVE : GSW_BELOW]);
        gsw_schedule *schedule = down ? &f->down : &f->up;
        void *memory;
        GSW_TRY(gsw_schedule_open(p, stencil, down, f->bands.shear, keys, schedule));
        GSW_TRY(gsw_mailbox_open(schedule, 1, &f->mail[down]));
        GSW_TRY(gsw_alloc(p->context, points + 1, sizeof(double), "ghosts", &memory));
        memset(memory, 0, (points + 1) * sizeof(double));
        f->ghost[down] = memory;
        f->bytes += (int64_t)(points * sizeof(double));
    }
    return GSW_SUCCESS;
}

void gsw_bands_close(gsw_distributed_factor *f) {
    gsw_packed_close(f->packed);
    for (int down = 0; down < 2; down++) {
        gsw_mailbox_close(f->mail[down]);
        free(f->ghost[down]);
    }
    gsw_schedule_close(&f->up);
    gsw_schedule_close(&f->down);
}

/* ---- Sweeps -----------------------------------------------------------------------------------
 */

typedef struct band_sweeper {
    gsw_distributed_factor *f;
    int down;
    const double *b;
    double *x;
} band_sweeper;

static double *place_of_row(void *user, int32_t value, int64_t row) {
    const band_sweeper *s = user;
    const int64_t own = row - s->f->before, points = s->f->matrix->points;
    (void)value;
    return own < 0         ? s->f->ghost[0] + row
           : own >= points ? s->f->ghost[1] + (own - points)
                           : s->x + own;
}

static void sweep_block(void *user, int64_t block) {
    const band_sweeper *s = user;
    gsw_distributed_factor *f = s->f;
    gsw_context *context = f->partition->context;
    int64_t begin, end;
    gsw_bands_of_block(f, block, &begin, &end);
    const gsw_band_sweep bands = {.which = gsw_distributed_part(f, s->down),
                                  .begin = s->down ? f->bands.count - end : begin,
                                  .end = s->down ? f->bands.count - begin : end,
                                  .b = s->b,
                                  .ghosts = f->ghost[s->down],
                                  .x = s->x};
    context->ops->box->sweep(context, f->packed, &bands);
}

static gsw_status sweep(gsw_distributed_factor *f, int down, const double *b, double *x) {
    band_sweeper s = {.f = f, .down = down, .b = b, .x = x};
    const gsw_schedule_run run = {
        .tag = GSW_TAG_SWEEP, .values = 1, .place = place_of_row, .sweep = sweep_block, .user = &s};
    return gsw_schedule_go(down ? &f->down : &f->up, f->mail[down], &run);
}

static gsw_status apply(gsw_distributed_factor *f, const void *b, void *x) {
    const int up = gsw_distributed_sweeps(f, 0);
    if (up)
        GSW_TRY(sweep(f, 0, b, x));
    return gsw_distributed_sweeps(f, 1) ? sweep(f, 1, up ? x : b, x) : GSW_SUCCESS;
}

const gsw_factor_way gsw_bands_way = {.open = open_all, .fill = gsw_bands_fill, .apply = apply};
