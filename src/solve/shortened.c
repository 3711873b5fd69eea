/* shortened.c: see shortened.h. */
#include "shortened.h"

#include <stdlib.h>

#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"
#include "geometry/multigrid.h"
#include "geometry/stencil_facts.h"
#include "taken.h"

/* Couplings that reach farther are no part of a difference, such as those around a grid that is not
 * said to be periodic. */
enum { FARTHEST = 8 };

/* The neighbours along the axes that the stencil reaches, and its other near offsets. */
static gsw_status short_stencil(const gsw_stencil *from, gsw_stencil *to) {
    gsw_offset offsets[GSW_STENCIL_MAX];
    int32_t count = 0;
    int along[3] = {0, 0, 0};
    for (int32_t e = 0; e < from->count; e++) {
        const gsw_offset o = from->offsets[e];
        along[0] |= o.dx != 0;
        along[1] |= o.dy != 0;
        along[2] |= o.dz != 0;
        if (abs(o.dx) <= 1 && abs(o.dy) <= 1 && abs(o.dz) <= 1 &&
            abs(o.dx) + abs(o.dy) + abs(o.dz) != 1)
            offsets[count++] = o;
    }
    for (int axis = 0; axis < 3; axis++)
        for (int side = -1; side <= 1 && along[axis]; side += 2)
            offsets[count++] =
                (gsw_offset){axis == 0 ? side : 0, axis == 1 ? side : 0, axis == 2 ? side : 0};
    return gsw_stencil_from_offsets(offsets, count, to);
}

gsw_status gsw_shortened_take(gsw_context *context, const gsw_matrix *matrix,
                              gsw_shortened *shortened) {
    gsw_stencil near;
    gsw_taken taken = {.bytes = 0};
    double *arrays[GSW_STENCIL_MAX];
    gsw_matrix_near_stencil(matrix, &near);
    shortened->view = *matrix;
    if (matrix->partition != NULL || gsw_stencil_beyond(&near, GSW_LUMPED_RADIUS) == NULL ||
        gsw_stencil_beyond(&near, FARTHEST) != NULL)
        return GSW_SUCCESS;
    GSW_TRY(short_stencil(&near, &shortened->view.stencil));
    const int32_t count = shortened->view.stencil.count;
    const int64_t points = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
    if (shortened->block == NULL)
        GSW_TRY(gsw_reserve_vector(context, points * count, &shortened->block));
    for (int32_t e = 0; e < count; e++)
        shortened->values[e] = arrays[e] = shortened->block + e * points;
    shortened->view.format = GSW_FORMAT_STENCIL;
    shortened->view.array = (gsw_stencil_array){.values = shortened->values, .value_type = GSW_F64};
    gsw_status status = gsw_taken_copy(context, matrix, &taken);
    if (status == GSW_SUCCESS)
        status =
            context->ops->mask->shorten(context, &taken.view, &shortened->view.stencil, arrays);
    gsw_taken_close(context, &taken);
    return status;
}

void gsw_shortened_close(gsw_context *context, gsw_shortened *shortened) {
    gsw_unreserve(context, shortened->block);
    shortened->block = NULL;
}
