/* basins.c: see basins.h. Points are joined with their neighbours in a forest whose roots are the
 * first points of the basins (Tarjan, J. ACM 22, 1975). */
#include "basins.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"
#include "common/seam.h"

static int64_t find_root(int64_t *parent, int64_t at) {
    while (parent[at] != at) {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    return at;
}

static void join(int64_t *parent, int64_t a, int64_t b) {
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Joins each active point with its active neighbours. */
static void join_all(const gsw_matrix *matrix, const uint8_t *active, int64_t *parent) {
    const gsw_grid *g = &matrix->grid;
    int64_t row = 0;
    for (int64_t z = 0; z < g->nz; z++)
        for (int64_t y = 0; y < g->ny; y++)
            for (int64_t x = 0; x < g->nx; x++, row++) {
                for (int32_t e = 0; e < matrix->stencil.count && active[row]; e++) {
                    const gsw_offset o = matrix->stencil.offsets[e];
                    int64_t to[3] = {x + o.dx, y + o.dy, z + o.dz};
                    if (!gsw_grid_take_in(g, to))
                        continue;
                    const int64_t other = gsw_grid_row(g, to[0], to[1], to[2]);
                    if (active[other] && other != row)
                        join(parent, row, other);
                }
            }
}

/* Numbers the basins in the order of their first points. */
static gsw_status number(gsw_basins *s, const uint8_t *active, int64_t *parent) {
    s->count = 0;
    for (int64_t row = 0; row < s->points; row++)
        s->count += active[row] && parent[row] == row;
    if (s->count <= 1 || s->count > INT32_MAX) {
        s->count = 1;
        return GSW_SUCCESS;
    }
    void *memory;
    GSW_TRY(gsw_alloc(s->context, (size_t)s->points, sizeof *s->basin, "basins", &memory));
    s->basin = memory;
    GSW_TRY(gsw_alloc(s->context, (size_t)s->count, sizeof *s->size, "basins", &memory));
    s->size = memory;
    GSW_TRY(gsw_alloc(s->context, (size_t)s->count, sizeof *s->first, "basins", &memory));
    s->first = memory;
    GSW_TRY(gsw_alloc(s->context, (size_t)s->points, sizeof *s->values, "basins", &memory));
    s->values = memory;
    int32_t next = 0;
    for (int64_t row = 0; row < s->points; row++) {
        const int64_t root = active[row] ? find_root(parent, row) : -1;
        if (root == row) {
            s->size[next] = 0;
            s->first[next] = row;
            s->basin[row] = next++;
        } else {
            s->basin[row] = root < 0 ? -1 : s->basin[root];
        }
        if (root >= 0)
            s->size[s->basin[row]]++;
    }
    return GSW_SUCCESS;
}

gsw_status gsw_basins_open(gsw_context *context, const gsw_matrix *matrix, gsw_basins *s) {
    const gsw_grid *g = &matrix->grid;
    void *active = NULL, *parent = NULL;
    gsw_status status;
    *s = (gsw_basins){.context = context, .grid = *g, .points = g->nx * g->ny * g->nz, .count = 1};
    if (matrix->active == NULL)
        return GSW_SUCCESS;
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)s->points, 1, "a mask", &active), cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)s->points, sizeof(int64_t), "basins", &parent),
                 cleanup);
    GSW_TRY_GOTO(context->ops->memory->download(context, active, matrix->active, (size_t)s->points),
                 cleanup);
    for (int64_t row = 0; row < s->points; row++)
        ((int64_t *)parent)[row] = row;
    GSW_TRY_GOTO(gsw_reserve_vector(context, s->points, &s->b), cleanup);
    join_all(matrix, active, parent);
    status = number(s, active, parent);

cleanup:
    free(parent);
    free(active);
    return status;
}

void gsw_basins_close(gsw_basins *s) {
    if (s->context != NULL)
        gsw_unreserve(s->context, s->b);
    free(s->values);
    free(s->first);
    free(s->size);
    free(s->basin);
    *s = (gsw_basins){.context = NULL};
}

/* The sums of a vector, whose values are left on the host. */
static gsw_status add_up(gsw_basins *s, const double *x, double **sums) {
    void *memory;
    GSW_TRY(gsw_alloc(s->context, (size_t)s->count, sizeof **sums, "sums", &memory));
    *sums = memory;
    for (int64_t k = 0; k < s->count; k++)
        (*sums)[k] = 0;
    GSW_TRY(s->context->ops->memory->download(s->context, s->values, x,
                                              (size_t)s->points * sizeof *s->values));
    for (int64_t row = 0; row < s->points; row++)
        if (s->basin[row] >= 0)
            (*sums)[s->basin[row]] += s->values[row];
    return GSW_SUCCESS;
}

/* Of a single basin the Krylov method itself leaves the mean out, and says how much it was. */
gsw_status gsw_basins_measure(gsw_basins *s, const double *b, gsw_unfit *unfit) {
    double *sums = NULL, size = 0, along = 0, most = 0;
    *unfit = (gsw_unfit){.share = 0};
    if (s->basin == NULL)
        return GSW_SUCCESS;
    const gsw_status status = add_up(s, b, &sums);
    for (int64_t k = 0; k < s->count && status == GSW_SUCCESS; k++) {
        const double part = fabs(sums[k]) / sqrt((double)s->size[k]);
        along += part * part;
        if (part > most) {
            most = part;
            unfit->basin = k;
        }
    }
    for (int64_t row = 0; row < s->points && status == GSW_SUCCESS; row++)
        size += s->basin[row] >= 0 ? s->values[row] * s->values[row] : 0;
    unfit->share = size > 0 ? sqrt(along / size) : 0;
    free(sums);
    return status;
}

gsw_status gsw_basins_project(gsw_basins *s, const double *x, double *y) {
    double *sums = NULL;
    const gsw_status status = add_up(s, x, &sums);
    for (int64_t row = 0; row < s->points && status == GSW_SUCCESS; row++) {
        const int32_t k = s->basin[row];
        if (k >= 0)
            s->values[row] -= sums[k] / (double)s->size[k];
    }
    free(sums);
    GSW_TRY(status);
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
