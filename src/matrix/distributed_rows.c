/* distributed_rows.c: see distributed_rows.h. */
#include "distributed_rows.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"

/* ---- Rows -------------------------------------------------------------------------------------
 */

/* The own values of offset e as fp64, if need be in rows->room. */
static gsw_status own_values(const gsw_distributed_rows *rows, int32_t e, const double **values) {
    const gsw_distributed_matrix *a = rows->of;
    const int ready = gsw_distributed_matrix_holds_f64(a, e);
    *values = ready ? a->values[e] : rows->room;
    return ready ? GSW_SUCCESS
                 : gsw_distributed_copy_values(a->partition->context, a->local.array.value_type,
                                               a->points, a->values[e],
                                               (double *)rows->room + a->points, rows->room);
}

static gsw_status open_rows(gsw_distributed_matrix *a, gsw_distributed_rows *rows) {
    gsw_context *context = a->partition->context;
    const gsw_stencil *stencil = &a->local.stencil;
    const int64_t *e = rows->ghosts.frame.e;
    size_t values;
    rows->points = e[0] * e[1] * e[2];
    if (!gsw_mul_size((size_t)rows->points, (size_t)stencil->count, &values) ||
        !gsw_mul_size(values, sizeof *rows->block, &values))
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "a matrix exceeds 64-bit sizes");
    GSW_TRY(context->ops->memory->reserve(context, values, (void **)&rows->block));
    for (int32_t i = 0; i < stencil->count; i++)
        rows->values[i] = rows->block + i * rows->points;
    rows->matrix =
        (gsw_matrix){.grid = {e[0], e[1], e[2]},
                     .stencil = *stencil,
                     .format = GSW_FORMAT_STENCIL,
                     .array = {.values = (const void *const *)rows->values, .value_type = GSW_F64}};
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_rows_reserve(gsw_distributed_matrix *a, const gsw_frame_reach *reach,
                                        gsw_distributed_rows *rows) {
    *rows = (gsw_distributed_rows){.of = a};
    gsw_status status = gsw_frames_open(a->partition, a->partition, 0, reach, &rows->ghosts);
    if (status == GSW_SUCCESS)
        status = open_rows(a, rows);
    if (reach->width < 0)
        rows->matrix.grid.periodic = a->partition->grid.periodic;
    return gsw_partition_agree(a->partition, status);
}

/* Room for own values that are not fp64. */
static gsw_status open_room(gsw_distributed_rows *rows) {
    const gsw_distributed_matrix *a = rows->of;
    gsw_context *context = a->partition->context;
    int needed = 0;
    for (int32_t e = 0; e < a->local.stencil.count; e++)
        needed = needed || !gsw_distributed_matrix_holds_f64(a, e);
    return !needed || rows->room
               ? GSW_SUCCESS
               : context->ops->memory->reserve(context, ((size_t)a->points + 1) * sizeof(double),
                                               &rows->room);
}

gsw_status gsw_distributed_rows_fetch(gsw_distributed_rows *rows) {
    const double *values;
    rows->ghosts.value = sizeof *values;
    GSW_TRY(gsw_partition_agree(rows->of->partition, open_room(rows)));
    for (int32_t e = 0; e < rows->of->local.stencil.count; e++) {
        GSW_TRY(own_values(rows, e, &values));
        GSW_TRY(gsw_ghosts_update(&rows->ghosts, values, rows->values[e]));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_rows_open(gsw_distributed_matrix *a, const gsw_frame_reach *reach,
                                     gsw_distributed_rows *rows) {
    GSW_TRY(gsw_distributed_rows_reserve(a, reach, rows));
    return gsw_distributed_rows_fetch(rows);
}

void gsw_distributed_rows_close(gsw_distributed_rows *rows) {
    if (rows->ghosts.partition)
        gsw_ghosts_close(&rows->ghosts);
    if (rows->of) {
        gsw_unreserve(rows->of->partition->context, rows->room);
        gsw_unreserve(rows->of->partition->context, rows->block);
    }
    *rows = (gsw_distributed_rows){0};
}

/* ---- Survey -----------------------------------------------------------------------------------
 */

/* Adds what another process has found; means are sums here. */
static void merge(const gsw_survey *other, gsw_survey *s) {
    for (int axis = 0; axis < 3; axis++)
        s->coupling[axis] += other->coupling[axis];
    s->row_ratio = fmax(s->row_ratio, other->row_ratio);
    s->largest = fmax(s->largest, other->largest);
    s->least = fmin(s->least, other->least);
    s->off_diagonal += other->off_diagonal;
    s->same_sign += other->same_sign;
    s->strongest += other->strongest;
    s->negative += other->negative;
    s->fixed += other->fixed;
    s->zero_sums = s->zero_sums && other->zero_sums;
    s->constants = s->constants && other->constants;
    s->isolated = s->isolated || other->isolated;
    s->symmetric = s->symmetric && other->symmetric;
    if (other->bad_row >= 0 && (s->bad_row < 0 || other->bad_row < s->bad_row))
        s->bad_row = other->bad_row;
}

static void scale_means(gsw_survey *s, double by) {
    for (int axis = 0; axis < 3; axis++)
        s->coupling[axis] *= by;
    s->off_diagonal *= by;
    s->same_sign *= by;
    s->strongest *= by;
}

/* The row of the grid of a row of the frame. */
static int64_t row_of_grid(const gsw_distributed_rows *rows, int64_t row) {
    const gsw_partition *p = rows->of->partition;
    const gsw_frame *f = &rows->ghosts.frame;
    const int64_t x = row % f->e[0], y = row / f->e[0] % f->e[1], z = row / f->e[0] / f->e[1];
    return gsw_grid_row(&p->grid, x - f->low[0] + p->own.begin[0], y - f->low[1] + p->own.begin[1],
                        z - f->low[2] + p->own.begin[2]);
}

gsw_status gsw_distributed_survey(const gsw_distributed_rows *rows, int mirror,
                                  gsw_survey *survey) {
    gsw_partition *p = rows->of->partition;
    gsw_survey own = {.bad_row = -1}, other;
    GSW_TRY(gsw_partition_agree(p, p->context->ops->multigrid->survey(p->context, &rows->matrix,
                                                                      &rows->ghosts.frame, NULL,
                                                                      mirror, &own)));
    scale_means(&own, (double)rows->of->points);
    if (own.bad_row >= 0)
        own.bad_row = row_of_grid(rows, own.bad_row);
    GSW_TRY(gsw_partition_gather(p, &own, sizeof own));
    *survey = (gsw_survey){
        .least = DBL_MAX, .bad_row = -1, .symmetric = 1, .zero_sums = 1, .constants = 1};
    for (int process = 0; process < p->transport.processes; process++) {
        memcpy(&other, p->answers + (size_t)process * sizeof other, sizeof other);
        merge(&other, survey);
    }
    scale_means(survey, 1 / ((double)p->grid.nx * (double)p->grid.ny * (double)p->grid.nz));
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_rows_around(gsw_distributed_matrix *matrix, gsw_distributed_rows *rows) {
    const gsw_frame_reach reach = {.width = gsw_stencil_width(&matrix->local.stencil), .around = 1};
    return gsw_distributed_rows_open(matrix, &reach, rows);
}

gsw_status gsw_distributed_survey_matrix(gsw_distributed_matrix *matrix, gsw_survey *survey) {
    gsw_distributed_rows rows;
    gsw_status status = gsw_distributed_rows_around(matrix, &rows);
    if (status == GSW_SUCCESS)
        status = gsw_distributed_survey(&rows, 1, survey);
    gsw_distributed_rows_close(&rows);
    return status;
}
