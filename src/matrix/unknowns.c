/* unknowns.c: see unknowns.h. */
#include "unknowns.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "contract/check.h"
#include "contract/error.h"
#include "matrix_row.h"

/* An axis of more points is no list of unknowns. Of so many points the rows are read; of fewer than
 * the half they would prove nothing. */
enum { UNKNOWNS_MAX = 6, SAMPLES = 64 };

/* An index along the axis counts as another equation where the mean couplings across it have less
 * than this share of the sign that neighbours have. */
#define PULL 0.25
/* They must be no noise: this share of the mean sizes. */
#define STEADY 0.5
/* Means that differ by less than this share from their mirror images are the same. */
#define ALIKE 0.1

/* Means over the samples, of coefficients divided by the diagonal. */
typedef struct averages {
    double mean[UNKNOWNS_MAX][GSW_STENCIL_MAX], size[UNKNOWNS_MAX][GSW_STENCIL_MAX];
} averages;

static int32_t component(gsw_offset o, int axis) {
    return axis == 0 ? o.dx : axis == 1 ? o.dy : o.dz;
}

static gsw_offset mirror(gsw_offset o, int axis) {
    return (gsw_offset){axis == 0 ? -o.dx : o.dx, axis == 1 ? -o.dy : o.dy,
                        axis == 2 ? -o.dz : o.dz};
}

/* Adds the rows at the same points for each index along the axis. `step` is the distance of two
 * indices in rows, `points` the number of points, spread over those of the matrix. */
static gsw_status sample(gsw_context *context, const gsw_matrix *matrix, int extent, int64_t step,
                         int64_t points, averages *a) {
    const int32_t center = matrix->stencil.center, count = matrix->stencil.count;
    const int64_t samples = points < SAMPLES ? points : SAMPLES;
    memset(a, 0, sizeof *a);
    for (int64_t i = 0; i < samples; i++) {
        const int64_t point = (int64_t)(((double)i + 0.5) / (double)samples * (double)points);
        for (int k = 0; k < extent; k++) {
            const int64_t row = step == 1 ? point * extent + k : point + k * step;
            gsw_matrix_row read;
            GSW_TRY(gsw_matrix_read_row(context, matrix, row, &read));
            const double diagonal = read.values[center];
            for (int32_t e = 0; e < count; e++) {
                const double value = diagonal != 0 ? read.values[e] / diagonal : read.values[e];
                if (e == center || !isfinite(value))
                    continue;
                a->mean[k][e] += value;
                a->size[k][e] += fabs(value);
            }
        }
    }
    return GSW_SUCCESS;
}

/* Whether some index has couplings across the axis that are not those of neighbours. */
static int is_odd(const averages *a, const gsw_stencil *stencil, int extent, int axis) {
    for (int k = 0; k < extent; k++) {
        double sum = 0, sizes = 0, all = 0;
        for (int32_t e = 0; e < stencil->count; e++) {
            if (component(stencil->offsets[e], axis) == 0)
                continue;
            sum += a->mean[k][e];
            sizes += fabs(a->mean[k][e]);
            all += a->size[k][e];
        }
        if (all > 0 && sizes > STEADY * all && sum > -PULL * sizes)
            return 1;
    }
    return 0;
}

/* Whether the rows at one end of the axis are the mirrored rows of the other end. */
static int is_mirrored(const averages *a, const gsw_stencil *stencil, int extent, int axis) {
    double differ = 0, all = 0;
    for (int k = 0; k < extent; k++)
        for (int32_t e = 0; e < stencil->count; e++) {
            const int32_t other = gsw_stencil_find(stencil, mirror(stencil->offsets[e], axis));
            const double mean = other < 0 ? 0 : a->mean[extent - 1 - k][other];
            differ += fabs(a->mean[k][e] - mean);
            all += a->size[k][e];
        }
    return differ <= ALIKE * all;
}

gsw_status gsw_unknowns_look(gsw_context *context, const gsw_matrix *matrix,
                             gsw_unknowns *unknowns) {
    const gsw_grid *g = &matrix->grid;
    const int64_t extent[3] = {g->nx, g->ny, g->nz}, points = g->nx * g->ny * g->nz;
    const int candidates[2] = {0, g->nz > 1 ? 2 : 1}; /* the fastest axis, and the slowest one */
    averages a;
    *unknowns = (gsw_unknowns){.count = 1};
    for (int i = 0; i < 2; i++) {
        const int axis = candidates[i];
        const int64_t others = points / extent[axis];
        if (extent[axis] < 2 || extent[axis] > UNKNOWNS_MAX || others < SAMPLES / 2)
            continue;
        const int n = (int)extent[axis];
        GSW_TRY(sample(context, matrix, n, axis == 0 ? 1 : others, others, &a));
        if (!is_odd(&a, &matrix->stencil, n, axis) || is_mirrored(&a, &matrix->stencil, n, axis))
            continue;
        *unknowns = (gsw_unknowns){.count = n, .axis = axis};
        break;
    }
    return GSW_SUCCESS;
}

gsw_status gsw_matrix_remark(gsw_context *context, const gsw_matrix *matrix, char *text,
                             size_t size) {
    static const char *const names[] = {"x", "y", "z"};
    gsw_unknowns seen;
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, text != NULL && size > 0, "text is NULL, or has no room");
    text[0] = '\0';
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_unknowns_look(context, matrix, &seen));
    if (seen.count > 1)
        (void)snprintf(
            text, size,
            "the rows look like %d unknowns per point, which are taken for the %s axis of "
            "a %lld x %lld x %lld grid; multigrid may fail on them: take ilu0 then, or solve "
            "for one unknown at a time",
            seen.count, names[seen.axis], (long long)matrix->grid.nx, (long long)matrix->grid.ny,
            (long long)matrix->grid.nz);
    return GSW_SUCCESS;
}
