/* distributed_fill.c: the factorisation of slabs in z, straight into packed factors.
 *
 * The kernels of one process factorise a slab band by band. They see the couplings inside the slab
 * only. Two more steps make this the factorisation of the whole grid, with the same bits:
 *
 *   before a band, rows of the first planes take the updates by ghosts. The terms of ghosts are the
 *   first ones of a row, so the band's kernel can go on with what they leave;
 *
 *   after a band, rows of the last planes get their couplings to the next slab. Only these planes'
 *   own entries of U take part. They and the rest of these rows are then sent to the next slab.
 *
 * So only a few planes exist as arrays in natural order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/csr.h"
#include "contract/error.h"
#include "distributed_internal.h"

typedef struct filler {
    gsw_distributed_factor *f;
    gsw_box_edges edges;
    double *block;         /* of the arrays of the last planes */
    int64_t plane, points; /* of a plane, of an array in `upper` */
    int64_t bad_row;
} filler;

/* ---- The matrix's values ----------------------------------------------------------------------
 */

/* to[x] = from[x + dx], where that is in the grid. */
static void shift_line(int64_t nx, int32_t dx, const double *from, double *to) {
    for (int64_t x = 0; x < nx; x++)
        to[x] = x + dx >= 0 && x + dx < nx ? from[x + dx] : 0;
}

/* IC(0) reads the lower part only: the upper part is its mirror image. */
static int is_mirrored(const gsw_distributed_factor *f, int32_t e) {
    return f->options.kind == GSW_IC0 && e > f->matrix->local.stencil.center;
}

static int32_t image_of(const gsw_stencil *stencil, int32_t e) {
    const gsw_offset o = stencil->offsets[e];
    return gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz});
}

/* The rows of the first planes. Couplings to slabs after this one are left out. */
static void load_lead(const filler *w) {
    const gsw_distributed_matrix *a = w->f->matrix;
    const gsw_stencil *stencil = &a->local.stencil;
    const int64_t *n = w->edges.frame->n;
    const int64_t lines = w->edges.lead_planes * n[1];
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        double *to = w->edges.lead[e];
        if (!to)
            continue;
        if (!is_mirrored(w->f, e)) {
            gsw_distributed_matrix_copy(a, e, 0, lines * n[0], to);
            continue;
        }
        for (int64_t i = 0; i < lines; i++, to += n[0]) {
            const int64_t y = i % n[1] + o.dy, z = i / n[1] + o.dz;
            memset(to, 0, (size_t)n[0] * sizeof *to);
            if (y < 0 || y >= n[1] || z >= n[2])
                continue;
            const int64_t begin = o.dx < 0 ? -o.dx : 0, end = o.dx > 0 ? n[0] - o.dx : n[0];
            if (end > begin)
                gsw_distributed_matrix_copy(a, image_of(stencil, e),
                                            n[0] * (y + n[1] * z) + begin + o.dx, end - begin,
                                            to + begin);
        }
    }
}

/* The couplings of the last planes to the next slab, at one offset. For IC(0) they are read from
 * the next slab's rows. Collective. */
static gsw_status load_trail(const filler *w, int32_t e) {
    gsw_distributed_factor *f = w->f;
    gsw_distributed_matrix *a = f->matrix;
    const gsw_frame *frame = w->edges.frame;
    const gsw_offset o = a->local.stencil.offsets[e];
    const int64_t *n = frame->n;
    const int64_t first = n[2] > o.dz ? n[2] - o.dz : 0, start = n[2] - w->edges.trail_planes;
    if (is_mirrored(f, e)) {
        const int32_t image = image_of(&a->local.stencil, e);
        const gsw_status begun =
            gsw_ghosts_begin(&a->ghosts, gsw_distributed_matrix_doubles(a, image, f->x));
        const gsw_status ended = gsw_ghosts_end(&a->ghosts);
        GSW_TRY(begun);
        GSW_TRY(ended);
        GSW_TRY(gsw_ghosts_put_others(&a->ghosts, f->x));
    }
    for (int64_t z = first; z < n[2]; z++) {
        for (int64_t y = 0; y < n[1]; y++) {
            double *to = w->edges.upper[e] + w->points - (n[2] - z) * w->plane + y * n[0];
            if (z < start || z + o.dz >= frame->e[2] - frame->low[2] || y + o.dy < 0 ||
                y + o.dy >= n[1])
                continue;
            if (is_mirrored(f, e))
                shift_line(n[0], o.dx, f->x + gsw_frame_row(frame, 0, y + o.dy, z + o.dz), to);
            else
                gsw_distributed_matrix_copy(a, e, n[0] * (y + n[1] * z), n[0], to);
        }
    }
    return GSW_SUCCESS;
}

/* ---- Elimination ------------------------------------------------------------------------------
 */

static void eliminate_block(void *user, const gsw_box_lines *lines, int64_t block) {
    filler *w = user;
    gsw_distributed_factor *f = w->f;
    gsw_context *context = f->partition->context;
    const gsw_box_ops *ops = context->ops->box;
    const int64_t n = f->bands_per_block;
    gsw_band_eliminate bands = {.begin = block * n,
                                .end = (block + 1) * n < f->bands ? (block + 1) * n : f->bands,
                                .lead_planes = w->edges.lead_planes,
                                .trail_planes = w->edges.trail_planes};
    const int32_t center = f->matrix->local.stencil.center;
    for (int32_t e = 0; e < f->matrix->local.stencil.count; e++) {
        bands.lead[e] = w->edges.lead[e];
        bands.trail[e] = e < center
                             ? w->edges.trail[e]
                             : w->edges.upper[e] + w->points - w->edges.trail_planes * w->plane;
    }
    if (bands.lead_planes > 0)
        ops->lead_rows(context, &w->edges, lines);
    const int64_t bad = ops->eliminate_bands(context, f->packed, &f->matrix->local, &bands);
    if (bad >= 0 && bad < w->bad_row)
        w->bad_row = bad;
    if (bands.trail_planes > 0)
        ops->trail_rows(context, &w->edges, lines);
}

static gsw_status open_filler(filler *w) {
    gsw_distributed_factor *f = w->f;
    const gsw_partition *p = f->partition;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const gsw_frame *frame = w->edges.frame;
    const gsw_reach reach = gsw_reach_of(stencil, 0, stencil->center);
    int64_t planes = p->own.end[2] < p->grid.nz ? reach.before[2] : 0;
    planes = planes < frame->n[2] ? planes : frame->n[2];
    w->edges.lead_planes = f->edge[0].planes;
    w->edges.trail_planes = planes > f->edge[1].planes ? planes : f->edge[1].planes;
    w->plane = frame->n[0] * frame->n[1];
    w->points = (frame->low[2] + w->edges.trail_planes) * w->plane;
    const int64_t trail = w->edges.trail_planes * w->plane;
    const size_t values =
        (size_t)(stencil->center * trail + (stencil->count - stencil->center) * w->points);
    void *memory;
    GSW_TRY(gsw_alloc(p->context, values + 1, sizeof(double), "rows of U", &memory));
    memset(memory, 0, values * sizeof(double));
    w->block = memory;
    double *next = w->block;
    for (int32_t e = 0; e < stencil->count; e++) {
        double **array = e < stencil->center ? &w->edges.trail[e] : &w->edges.upper[e];
        *array = next;
        next += e < stencil->center ? trail : w->points;
        w->edges.lead[e] = f->edge[0].value[e];
    }
    return GSW_SUCCESS;
}

/* Where `upper` holds a row of the frame: planes in between are left out. */
static double *place_of_row(void *user, int32_t value, int64_t row) {
    const filler *w = user;
    const gsw_frame *frame = w->edges.frame;
    const int64_t left_out = (frame->n[2] - w->edges.trail_planes) * w->plane;
    return w->edges.upper[w->f->matrix->local.stencil.center + value] + row -
           (row < frame->low[2] * w->plane ? 0 : left_out);
}

/* Rows that depend on each other: ILU(0), IC(0), DILU. */
static gsw_status eliminate(filler *w, gsw_mailbox *mailbox) {
    gsw_distributed_factor *f = w->f;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    load_lead(w);
    for (int32_t e = stencil->center + 1; e < stencil->count; e++)
        if (stencil->offsets[e].dz > 0)
            GSW_TRY(load_trail(w, e));
    const gsw_schedule_run run = {.tag = GSW_TAG_ELIMINATE,
                                  .values = stencil->count - stencil->center,
                                  .place = place_of_row,
                                  .sweep = eliminate_block,
                                  .user = w};
    return gsw_schedule_go(&f->up, mailbox, &run);
}

/* What the sweeps of the first and of the last planes need. */
static void keep_edges(const filler *w) {
    gsw_distributed_factor *f = w->f;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    const int64_t end = f->edge[1].planes * w->plane;
    gsw_bands_take_scales(f);
    for (int32_t e = stencil->center + 1; e < stencil->count && end > 0; e++)
        memcpy(f->edge[1].value[e], w->edges.upper[e] + w->points - end,
               (size_t)end * sizeof(double));
    if (f->options.kind != GSW_DILU)
        return;
    for (int32_t e = 0; e < stencil->center; e++) {
        double *c = f->edge[0].value[e];
        const double *scale = f->edge[0].value[stencil->center];
        for (int64_t i = 0; i < f->edge[0].planes * w->plane; i++)
            c[i] = c[i] != 0 ? c[i] * scale[i] : 0;
    }
}

/* Without elimination: SSOR, and with omega = 1 LOWER and UPPER. */
static void fill_scaled(const filler *w) {
    gsw_distributed_factor *f = w->f;
    const gsw_distributed_matrix *a = f->matrix;
    const gsw_stencil *stencil = &a->local.stencil;
    const double omega = f->options.kind == GSW_SSOR ? f->options.omega : 1;
    const gsw_band_eliminate all = {.end = f->bands};
    f->partition->context->ops->box->eliminate_bands(f->partition->context, f->packed, &a->local,
                                                     &all);
    for (int down = 0; down < 2; down++) {
        const gsw_edge *edge = &f->edge[down];
        const int64_t points = edge->planes * w->plane, from = down ? a->points - points : 0;
        double *scale = edge->value[stencil->center];
        if (points == 0)
            continue;
        gsw_distributed_matrix_copy(a, stencil->center, from, points, scale);
        for (int64_t i = 0; i < points; i++)
            scale[i] = 1 / scale[i];
        for (int32_t e = 0; e < stencil->count; e++) {
            double *c = edge->value[e];
            if (e == stencil->center)
                continue;
            gsw_distributed_matrix_copy(a, e, from, points, c);
            for (int64_t i = 0; i < points; i++)
                c[i] = c[i] != 0 ? c[i] * (omega * scale[i]) : 0;
        }
    }
    gsw_bands_take_scales(f);
}

static int64_t find_bad_diagonal(const gsw_distributed_matrix *a) {
    const void *values = a->values[a->local.stencil.center];
    for (int64_t i = 0; i < a->points; i++)
        if (!values || !isnormal(gsw_value_at(values, a->local.array.value_type, i)))
            return i;
    return INT64_MAX;
}

gsw_status gsw_bands_fill(gsw_distributed_factor *f, int64_t *bad_row) {
    gsw_partition *p = f->partition;
    const gsw_factor_kind kind = f->options.kind;
    const gsw_stencil *stencil = &f->matrix->local.stencil;
    gsw_mailbox *mailbox = NULL;
    filler w = {.f = f,
                .edges = {.frame = &f->matrix->ghosts.frame,
                          .stencil = stencil,
                          .diagonal_only = kind == GSW_DILU},
                .bad_row = INT64_MAX};
    if (kind == GSW_SSOR || kind == GSW_FACTOR_LOWER || kind == GSW_FACTOR_UPPER) {
        *bad_row = find_bad_diagonal(f->matrix);
        w.plane = w.edges.frame->n[0] * w.edges.frame->n[1];
        fill_scaled(&w);
        return GSW_SUCCESS;
    }
    gsw_status status = open_filler(&w);
    if (status == GSW_SUCCESS)
        status = gsw_mailbox_open(&f->up, stencil->count - stencil->center, &mailbox);
    status = gsw_partition_agree(p, status);
    if (status == GSW_SUCCESS)
        status = eliminate(&w, mailbox);
    if (status == GSW_SUCCESS)
        keep_edges(&w);
    *bad_row = w.bad_row;
    gsw_mailbox_close(mailbox);
    free(w.block);
    return status;
}
