/* basins.c: see basins.h. */
#include "basins.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/mask.h"
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"
#include "core/sums.h"
#include "matrix/distributed_mask.h"

/* Finds the size and the first point of each basin, from the numbers of all points. */
static void measure(gsw_basins *s, const int64_t *number, int64_t points) {
    for (int64_t k = 0; k < s->count; k++)
        s->size[k] = 0;
    for (int64_t row = 0; row < points; row++)
        if (number[row] >= 0 && s->size[number[row]]++ == 0)
            s->first[number[row]] = row;
}

/* Keeps the basins of the own points, where there are several. */
static gsw_status keep(gsw_basins *s, const gsw_partition *p, int64_t *root, int64_t points) {
    void *memory;
    int64_t at[3];
    s->count = gsw_mask_number_basins(root, points, -1);
    if (s->count <= 1 || s->count >= INT32_MAX) {
        s->count = 1;
        return GSW_SUCCESS;
    }
    GSW_TRY(gsw_alloc(s->context, (size_t)s->points, sizeof *s->basin, "basins", &memory));
    s->basin = memory;
    GSW_TRY(gsw_alloc(s->context, (size_t)s->count, sizeof *s->size, "basins", &memory));
    s->size = memory;
    GSW_TRY(gsw_alloc(s->context, (size_t)s->count, sizeof *s->first, "basins", &memory));
    s->first = memory;
    GSW_TRY(gsw_alloc(s->context, (size_t)s->points, sizeof *s->values, "basins", &memory));
    s->values = memory;
    GSW_TRY(gsw_alloc(s->context, (size_t)s->count + 1, sizeof *s->sums, "sums", &memory));
    s->sums = memory;
    measure(s, root, points);
    for (int64_t row = 0; row < s->points; row++)
        s->basin[row] = (int32_t)root[p != NULL ? gsw_partition_row(p, row, at) : row];
    return GSW_SUCCESS;
}

/* The mask of the whole grid, on the host. Collective on several processes. */
static gsw_status take_mask(gsw_context *context, const gsw_matrix *matrix, int64_t points,
                            void *active) {
    gsw_partition *p = gsw_partition_of(matrix);
    uint8_t *whole = NULL;
    if (p == NULL)
        return context->ops->memory->download(context, active, matrix->active, (size_t)points);
    gsw_status status = gsw_mask_of_grid(p, matrix->active, &whole);
    if (status == GSW_SUCCESS)
        status = context->ops->memory->download(context, active, whole, (size_t)points);
    gsw_unreserve(context, whole);
    return status;
}

static gsw_status open_room(gsw_basins *s, int64_t points, void **active, void **root) {
    GSW_TRY(gsw_alloc(s->context, (size_t)points, 1, "a mask", active));
    GSW_TRY(gsw_alloc(s->context, (size_t)points, sizeof(int64_t), "basins", root));
    return gsw_reserve_vector(s->context, s->points, &s->b);
}

gsw_status gsw_basins_open(gsw_context *context, const gsw_matrix *matrix, gsw_basins *s) {
    const gsw_grid *g = &matrix->grid;
    const int64_t points = g->nx * g->ny * g->nz;
    void *active = NULL, *root = NULL;
    *s = (gsw_basins){
        .context = context, .grid = *g, .points = gsw_matrix_own_points(matrix), .count = 1};
    if (matrix->active == NULL)
        return GSW_SUCCESS;
    gsw_status status = gsw_matrix_agree(matrix, open_room(s, points, &active, &root));
    if (status == GSW_SUCCESS)
        status = gsw_matrix_agree(matrix, take_mask(context, matrix, points, active));
    if (status == GSW_SUCCESS) {
        gsw_matrix whole = *matrix;
        whole.active = active;
        status = gsw_host_mask_ops.find_basins(context, &whole, root);
    }
    if (status == GSW_SUCCESS)
        status = gsw_matrix_agree(matrix, keep(s, gsw_partition_of(matrix), root, points));
    free(root);
    free(active);
    return status;
}

void gsw_basins_close(gsw_basins *s) {
    if (s->context != NULL)
        gsw_unreserve(s->context, s->b);
    free(s->sums);
    free(s->values);
    free(s->first);
    free(s->size);
    free(s->basin);
    *s = (gsw_basins){.context = NULL};
}

/* Fills in the values and the sums of a vector. */
static gsw_status add_up(gsw_basins *s, const double *x) {
    for (int64_t k = 0; k <= s->count; k++)
        s->sums[k] = 0;
    GSW_TRY(s->context->ops->memory->download(s->context, s->values, x,
                                              (size_t)s->points * sizeof *s->values));
    for (int64_t row = 0; row < s->points; row++)
        if (s->basin[row] >= 0) {
            s->sums[s->basin[row]] += s->values[row];
            s->sums[s->count] += s->values[row] * s->values[row];
        }
    return gsw_context_sum(s->context, (int)s->count + 1, s->sums);
}

/* Of a single basin the Krylov method itself leaves the mean out, and says how much it was. */
gsw_status gsw_basins_measure(gsw_basins *s, const double *b, gsw_unfit *unfit) {
    double along = 0, most = 0;
    *unfit = (gsw_unfit){.share = 0};
    if (s->basin == NULL)
        return GSW_SUCCESS;
    GSW_TRY(add_up(s, b));
    for (int64_t k = 0; k < s->count; k++) {
        const double part = fabs(s->sums[k]) / sqrt((double)s->size[k]);
        along += part * part;
        if (part > most) {
            most = part;
            unfit->basin = k;
        }
    }
    if (s->sums[s->count] > 0)
        unfit->share = sqrt(along / s->sums[s->count]);
    return GSW_SUCCESS;
}

gsw_status gsw_basins_project(gsw_basins *s, const double *x, double *y) {
    GSW_TRY(add_up(s, x));
    for (int64_t row = 0; row < s->points; row++) {
        const int32_t k = s->basin[row];
        if (k >= 0)
            s->values[row] -= s->sums[k] / (double)s->size[k];
    }
    return s->context->ops->memory->upload(s->context, y, s->values,
                                           (size_t)s->points * sizeof *s->values);
}

const char *gsw_basin_text(const gsw_basins *s, int64_t basin, char text[GSW_BASIN_TEXT]) {
    if (s->basin == NULL) {
        text[0] = '\0';
        return text;
    }
    const int64_t row = s->first[basin], line = row / s->grid.nx;
    (void)snprintf(
        text, GSW_BASIN_TEXT,
        " in each basin (most misses in one of %lld points, the first at %lld, %lld, %lld)",
        (long long)s->size[basin], (long long)(row % s->grid.nx), (long long)(line % s->grid.ny),
        (long long)(line / s->grid.ny));
    return text;
}
