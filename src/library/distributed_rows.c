/* distributed_rows.c: see distributed_rows.h. */
#include "distributed_rows.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/csr.h"
#include "contract/error.h"

/* ---- Frames -----------------------------------------------------------------------------------
 */

gsw_box gsw_frame_around(const gsw_partition *p, int process, int64_t width, int even) {
    const int64_t extent[3] = {p->grid.nx, p->grid.ny, p->grid.nz};
    gsw_box box = gsw_partition_box(p, process);
    for (int axis = 0; axis < 3; axis++) {
        int64_t begin = width < 0 ? 0 : box.begin[axis] - width;
        begin = begin < 0 ? 0 : begin;
        box.begin[axis] = even ? begin & ~INT64_C(1) : begin;
        box.end[axis] = width < 0 || box.end[axis] + width > extent[axis] ? extent[axis]
                                                                          : box.end[axis] + width;
    }
    return box;
}

static gsw_status open_frames(gsw_partition *p, int64_t width, int even, gsw_ghosts *ghosts) {
    gsw_box *wanted;
    GSW_TRY(gsw_alloc(p->context, (size_t)p->transport.processes, sizeof *wanted, "boxes",
                      (void **)&wanted));
    for (int process = 0; process < p->transport.processes; process++)
        wanted[process] = gsw_frame_around(p, process, width, even);
    const gsw_status status = gsw_ghosts_open_boxes(p, wanted, ghosts);
    free(wanted);
    return status;
}

/* ---- Rows -------------------------------------------------------------------------------------
 */

gsw_status gsw_distributed_rows_fetch(gsw_distributed_rows *rows, int32_t e) {
    const gsw_distributed_matrix *a = rows->of;
    const gsw_dtype type = a->local.array.value_type;
    double *own = NULL;
    const double *values = a->values[e];
    if (!values || type != GSW_F64) {
        GSW_TRY(gsw_alloc(a->partition->context, (size_t)a->points, sizeof *own, "values",
                          (void **)&own));
        for (int64_t i = 0; i < a->points; i++)
            own[i] = values ? gsw_value_at(a->values[e], type, i) : 0;
        values = own;
    }
    const gsw_status status = gsw_ghosts_update(&rows->ghosts, values, rows->values[e]);
    free(own);
    return status;
}

static gsw_status open_rows(gsw_distributed_matrix *a, int64_t width, int even,
                            gsw_distributed_rows *rows) {
    const gsw_stencil *stencil = &a->local.stencil;
    size_t values;
    GSW_TRY(open_frames(a->partition, width, even, &rows->ghosts));
    const int64_t *e = rows->ghosts.frame.e;
    rows->points = e[0] * e[1] * e[2];
    if (!gsw_mul_size((size_t)rows->points, (size_t)stencil->count, &values))
        return gsw_fail(a->partition->context, GSW_ERROR_OVERFLOW, "a matrix exceeds 64-bit sizes");
    GSW_TRY(gsw_alloc(a->partition->context, values, sizeof *rows->block, "rows around a box",
                      (void **)&rows->block));
    for (int32_t i = 0; i < stencil->count; i++)
        rows->values[i] = rows->block + i * rows->points;
    rows->matrix =
        (gsw_matrix){.grid = {e[0], e[1], e[2]},
                     .stencil = *stencil,
                     .format = GSW_FORMAT_STENCIL,
                     .array = {.values = (const void *const *)rows->values, .value_type = GSW_F64}};
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_rows_open(gsw_distributed_matrix *a, int64_t width, int even,
                                     gsw_distributed_rows *rows) {
    *rows = (gsw_distributed_rows){.of = a};
    GSW_TRY(gsw_partition_agree(a->partition, open_rows(a, width, even, rows)));
    gsw_status status = GSW_SUCCESS;
    for (int32_t e = 0; e < a->local.stencil.count && status == GSW_SUCCESS; e++)
        status = gsw_distributed_rows_fetch(rows, e);
    return status;
}

void gsw_distributed_rows_close(gsw_distributed_rows *rows) {
    if (rows->ghosts.partition)
        gsw_ghosts_close(&rows->ghosts);
    free(rows->block);
    *rows = (gsw_distributed_rows){0};
}

/* ---- Survey -----------------------------------------------------------------------------------
 */

/* The row (x, y, z) of the frame: its sums, added to *s. */
static void survey_row(const gsw_distributed_rows *rows, const int32_t *mirror, int64_t x,
                       int64_t y, int64_t z, gsw_survey *s) {
    const gsw_grid *g = &rows->matrix.grid;
    const gsw_stencil *stencil = &rows->matrix.stencil;
    const int64_t row = gsw_grid_row(g, x, y, z);
    const double diagonal = rows->values[stencil->center][row], size = fabs(diagonal);
    double total = 0, sizes = 0, along[3] = {0, 0, 0};
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        if (x + o.dx < 0 || x + o.dx >= g->nx || y + o.dy < 0 || y + o.dy >= g->ny ||
            z + o.dz < 0 || z + o.dz >= g->nz)
            continue;
        const double value = rows->values[e][row];
        total += value;
        sizes += fabs(value);
        along[0] += o.dx != 0 ? value : 0;
        along[1] += o.dy != 0 ? value : 0;
        along[2] += o.dz != 0 ? value : 0;
        if (!s->symmetric || !mirror)
            continue;
        const double other =
            mirror[e] < 0 ? 0 : rows->values[mirror[e]][row + gsw_grid_row(g, o.dx, o.dy, o.dz)];
        s->symmetric = !(fabs(value - other) > 1e-7 * size);
    }
    for (int axis = 0; axis < 3; axis++)
        s->coupling[axis] += -along[axis] / diagonal > 0 ? -along[axis] / diagonal : 0;
    s->row_ratio = fmax(s->row_ratio, sizes / size);
    s->largest = fmax(s->largest, sizes);
    s->least = fmin(s->least, size);
    s->zero_sums = s->zero_sums && fabs(total) <= 1e-12 * sizes;
    s->isolated = s->isolated || sizes == size;
    if (s->bad_row < 0 && (!(size > 0) || !(size <= DBL_MAX))) {
        const gsw_partition *p = rows->of->partition;
        const gsw_frame *f = &rows->ghosts.frame;
        s->bad_row = gsw_grid_row(&p->grid, x - f->low[0] + p->own.begin[0],
                                  y - f->low[1] + p->own.begin[1], z - f->low[2] + p->own.begin[2]);
    }
}

/* Adds what another process has found. */
static void merge(const gsw_survey *other, gsw_survey *s) {
    for (int axis = 0; axis < 3; axis++)
        s->coupling[axis] += other->coupling[axis];
    s->row_ratio = fmax(s->row_ratio, other->row_ratio);
    s->largest = fmax(s->largest, other->largest);
    s->least = fmin(s->least, other->least);
    s->zero_sums = s->zero_sums && other->zero_sums;
    s->isolated = s->isolated || other->isolated;
    s->symmetric = s->symmetric && other->symmetric;
    if (other->bad_row >= 0 && (s->bad_row < 0 || other->bad_row < s->bad_row))
        s->bad_row = other->bad_row;
}

gsw_status gsw_distributed_survey(const gsw_distributed_rows *rows, int mirror,
                                  gsw_survey *survey) {
    static const gsw_survey nothing = {
        .least = DBL_MAX, .bad_row = -1, .symmetric = 1, .zero_sums = 1};
    gsw_partition *p = rows->of->partition;
    const gsw_stencil *stencil = &rows->matrix.stencil;
    const gsw_frame *f = &rows->ghosts.frame;
    int32_t mirrors[GSW_STENCIL_MAX];
    gsw_survey own = nothing, other;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        mirrors[e] = gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz});
    }
    for (int64_t z = f->low[2]; z < f->low[2] + f->n[2]; z++)
        for (int64_t y = f->low[1]; y < f->low[1] + f->n[1]; y++)
            for (int64_t x = f->low[0]; x < f->low[0] + f->n[0]; x++)
                survey_row(rows, mirror ? mirrors : NULL, x, y, z, &own);
    GSW_TRY(gsw_partition_gather(p, &own, sizeof own));
    *survey = nothing;
    for (int process = 0; process < p->transport.processes; process++) {
        memcpy(&other, p->answers + (size_t)process * sizeof other, sizeof other);
        merge(&other, survey);
    }
    for (int axis = 0; axis < 3; axis++)
        survey->coupling[axis] /= (double)p->grid.nx * (double)p->grid.ny * (double)p->grid.nz;
    return GSW_SUCCESS;
}
