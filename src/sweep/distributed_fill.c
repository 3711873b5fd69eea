/* distributed_fill.c: the factorisation of slabs, straight into packed factors.
 *
 * The kernels of one process factorise a slab band by band. Rows of ghosts below come from the slab
 * that owns them, as scaled upper rows; after each block of bands the own ones that the next slab
 * needs are sent. So every row takes its updates as on one process, and only the rows of a few
 * planes exist as arrays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "common/csr.h"
#include "contract/error.h"
#include "distributed_internal.h"

typedef struct filler {
    gsw_distributed_factor *f;
    gsw_band_eliminate bands;
    double *given, *kept; /* arrays one after the other, from the centre on */
    int64_t kept_points;
    double *block;
    int64_t bad_row;
} filler;

/* IC(0) reads the lower part only: the upper part is its mirror image, which is in the next slab
 * where ghosts are. Collective. */
static gsw_status load_after(filler *w, double *to, int64_t points) {
    gsw_distributed_matrix *a = w->f->matrix;
    const gsw_partition *p = w->f->partition;
    const int axis = gsw_partition_last_axis(p);
    const int64_t first =
        gsw_grid_row(&p->grid, p->own.begin[0], p->own.begin[1], p->own.begin[2]) + a->points;
    double *scratch = to + points * a->local.stencil.center;
    for (int32_t e = 0; e < a->local.stencil.center; e++, to += points) {
        const gsw_offset o = a->local.stencil.offsets[e];
        if ((axis == 2 ? o.dz : axis == 1 ? o.dy : o.dx) == 0)
            continue;
        GSW_TRY(gsw_ghosts_begin(&a->ghosts, gsw_distributed_matrix_doubles(a, e, scratch)));
        GSW_TRY(gsw_ghosts_end(&a->ghosts));
        for (int i = 0; i < a->ghosts.peers; i++) {
            const gsw_ghost_peer *peer = &a->ghosts.peer[i];
            const gsw_box *take = &peer->take;
            if (peer->process > p->transport.rank && gsw_box_points(take) > 0)
                memcpy(to + gsw_grid_row(&p->grid, take->begin[0], take->begin[1], take->begin[2]) -
                           first,
                       peer->in, (size_t)gsw_box_points(take) * sizeof *to);
        }
        w->bands.after[e] = to;
    }
    return GSW_SUCCESS;
}

static void eliminate_block(void *user, int64_t block) {
    filler *w = user;
    gsw_distributed_factor *f = w->f;
    gsw_context *context = f->partition->context;
    gsw_bands_of_block(f, block, &w->bands.begin, &w->bands.end);
    const int64_t bad =
        context->ops->box->eliminate(context, f->packed, &f->matrix->local, &w->bands);
    if (bad >= 0 && bad < w->bad_row)
        w->bad_row = bad;
}

static double *place_of_row(void *user, int32_t value, int64_t row) {
    const filler *w = user;
    const int64_t before = w->f->before;
    return row < before ? w->given + value * before + row
                        : w->kept + value * w->kept_points + (row - before - w->bands.kept_from);
}

/* Memory for the rows that processes exchange, and for those of the matrix that IC(0) needs. */
static gsw_status open_filler(filler *w, int64_t after) {
    const gsw_distributed_factor *f = w->f;
    const gsw_partition *p = f->partition;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const int axis = gsw_partition_last_axis(p);
    const int64_t extent[3] = {p->grid.nx, p->grid.ny, p->grid.nz};
    const int64_t points = f->matrix->points;
    const int64_t read = gsw_reach_of(stencil, 0, stencil->center).before[axis] * f->plane;
    const size_t rows = (size_t)(stencil->count - stencil->center);
    const int is_last = p->own.end[axis] == extent[axis];
    w->kept_points = is_last ? 0 : read < points ? read : points;
    w->bands.kept_from = is_last ? INT64_MAX : points - w->kept_points;
    const size_t values =
        rows * (size_t)(f->before + w->kept_points) +
        (f->options.kind == GSW_IC0 ? (size_t)(after * stencil->center + points) : 0);
    void *memory;
    GSW_TRY(gsw_alloc(p->context, values + 1, sizeof(double), "rows of U", &memory));
    memset(memory, 0, values * sizeof(double));
    w->given = w->block = memory;
    w->kept = w->given + rows * (size_t)f->before;
    for (int32_t e = stencil->center; e < stencil->count; e++) {
        w->bands.given[e] = w->given + (e - stencil->center) * f->before;
        w->bands.kept[e] = w->kept + (e - stencil->center) * w->kept_points;
    }
    return GSW_SUCCESS;
}

/* Rows that depend on each other: ILU(0), IC(0), DILU. */
static gsw_status eliminate(filler *w) {
    gsw_distributed_factor *f = w->f;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const gsw_frame *frame = &f->matrix->ghosts.frame;
    const int32_t values = stencil->count - stencil->center;
    const int64_t after = frame->e[0] * frame->e[1] * frame->e[2] - f->before - f->matrix->points;
    gsw_mailbox *mailbox = NULL;
    gsw_status status = open_filler(w, after);
    if (status == GSW_SUCCESS)
        status = gsw_mailbox_open(&f->up, values, &mailbox);
    status = gsw_partition_agree(f->partition, status);
    if (status == GSW_SUCCESS && w->block && f->options.kind == GSW_IC0)
        status = load_after(w, w->kept + values * w->kept_points, after);
    const gsw_schedule_run run = {.tag = GSW_TAG_ELIMINATE,
                                  .values = values,
                                  .place = place_of_row,
                                  .sweep = eliminate_block,
                                  .user = w};
    if (status == GSW_SUCCESS)
        status = gsw_schedule_go(&f->up, mailbox, &run);
    gsw_mailbox_close(mailbox);
    free(w->block);
    return status;
}

static int64_t find_bad_diagonal(const gsw_distributed_matrix *a) {
    const void *values = a->values[a->local.stencil.center];
    for (int64_t i = 0; i < a->points; i++)
        if (!values || !isnormal(gsw_value_at(values, a->local.array.value_type, i)))
            return i;
    return INT64_MAX;
}

gsw_status gsw_bands_fill(gsw_distributed_factor *f) {
    const gsw_factor_kind kind = f->options.kind;
    filler w = {.f = f, .bands.kept_from = INT64_MAX, .bad_row = INT64_MAX};
    if (kind == GSW_ILU0 || kind == GSW_IC0 || kind == GSW_DILU)
        GSW_TRY(eliminate(&w));
    for (int64_t block = 0; w.block == NULL && block < f->up.blocks; block++)
        eliminate_block(&w, block);
    if (kind == GSW_FACTOR_LOWER || kind == GSW_FACTOR_UPPER)
        w.bad_row = find_bad_diagonal(f->matrix);
    return gsw_distributed_report_pivots(f, w.bad_row);
}
