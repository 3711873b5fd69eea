/* level_arrays.c: see level_arrays.h. */
#include "level_arrays.h"
#include <stdlib.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"
#include "geometry/stencil_facts.h"

/* Rounds a size so that equal places of several arrays lie in different sets of a cache, also where
 * the number of points is a power of two. The result is 384 bytes more than a multiple of 4096. */
static size_t spread(size_t bytes) {
    const size_t page = 4096, shift = 384;
    return (bytes + page - shift - 1) / page * page + shift;
}

gsw_status gsw_level_alloc_arrays(gsw_context *context, int32_t count, int64_t points, int64_t pad,
                                  gsw_dtype type, int64_t *bytes, gsw_level_arrays *arrays) {
    const size_t size = gsw_dtype_size(type), margin = (size_t)pad * size;
    size_t body, total;
    if (!gsw_mul_size((size_t)points, size, &body) || body > SIZE_MAX / 2 - margin - 4096 ||
        !gsw_mul_size((size_t)count, spread(body + margin), &total) ||
        total > SIZE_MAX / 2 - margin)
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "multigrid: a level's size exceeds 64 bits");
    const size_t pitch = spread(body + margin), between = pitch - body;
    GSW_TRY(gsw_reserve_counted(context, total + margin, 1, bytes, &arrays->block));
    for (int32_t e = 0; e <= count && pad > 0 && context->ops->multigrid->reads_margins; e++)
        GSW_TRY(context->ops->memory->set(context, (char *)arrays->block + (size_t)e * pitch, 0,
                                          e < count ? between : margin));
    for (int32_t e = 0; e < count; e++)
        arrays->values[e] = (char *)arrays->block + (size_t)e * pitch + between;
    return GSW_SUCCESS;
}

gsw_status gsw_level_alloc_matrix(gsw_context *context, const gsw_grid *grid,
                                  const gsw_stencil *stencil, int64_t points, int symmetric,
                                  gsw_dtype type, int64_t *bytes, gsw_level_arrays *arrays) {
    const int64_t size = (int64_t)gsw_dtype_size(type);
    int64_t reach = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int64_t distance = llabs(gsw_grid_row(grid, o.dx, o.dy, o.dz));
        reach = distance > reach ? distance : reach;
    }
    if (!symmetric || !gsw_stencil_is_symmetric(stencil) ||
        !context->ops->multigrid->shares_mirrored)
        return gsw_level_alloc_arrays(context, stencil->count, points, 0, type, bytes, arrays);
    const int32_t first = stencil->center;
    gsw_level_arrays upper = {.block = NULL};
    GSW_TRY(gsw_level_alloc_arrays(context, stencil->count - first, points, reach, type, bytes,
                                   &upper));
    arrays->block = upper.block;
    arrays->mirrored = first;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int32_t mirror = gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz});
        arrays->values[e] = e >= first ? upper.values[e - first]
                                       : (char *)upper.values[mirror - first] +
                                             size * gsw_grid_row(grid, o.dx, o.dy, o.dz);
    }
    return GSW_SUCCESS;
}
