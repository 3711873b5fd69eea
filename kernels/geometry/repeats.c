/* repeats.c: see repeats.h. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/error.h"
#include "geometry/repeats.h"

int gsw_lines_repeat(const gsw_factor *factor) {
    /* Pivots that are shifted are counted, so every row needs its own. */
    return factor->repeat != GSW_REPEAT_NONE && factor->options.pivot_shift == 0;
}

int64_t gsw_lines_reach(const gsw_stencil *stencil) {
    int64_t reach = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const int64_t dy = llabs(stencil->offsets[e].dy), dz = llabs(stencil->offsets[e].dz);
        reach = dy > reach ? dy : reach;
        reach = dz > reach ? dz : reach;
    }
    return reach;
}

static int64_t ends_near(int64_t at, int64_t extent, int64_t reach) {
    const int64_t low = at < reach ? at : reach;
    const int64_t high = extent - 1 - at < reach ? extent - 1 - at : reach;
    return low * (reach + 1) + high;
}

int64_t gsw_line_kind(gsw_repeat repeat, int64_t reach, int64_t ny, int64_t nz, int64_t y,
                      int64_t z) {
    if (y < 0 || y >= ny || z < 0 || z >= nz)
        return 0;
    const int64_t near =
        1 + ends_near(y, ny, reach) + (reach + 1) * (reach + 1) * ends_near(z, nz, reach);
    return repeat == GSW_REPEAT_Y ? near + ((z + 1) << 32) : near;
}

gsw_status gsw_groups_find(gsw_context *context, gsw_groups *groups, const int64_t *kinds,
                           int64_t *number) {
    const size_t size = (size_t)groups->lines * sizeof *kinds;
    for (int64_t looked = 0; looked < groups->count; looked++, ++*number) {
        if (*number >= groups->count)
            *number = 0;
        if (memcmp(groups->kinds + *number * groups->lines, kinds, size) == 0)
            return GSW_SUCCESS;
    }
    if (groups->count == groups->room) {
        const int64_t room = groups->room > 0 ? 2 * groups->room : 64;
        void *more;
        GSW_TRY(gsw_alloc(context, (size_t)room, size, "the kinds of lines", &more));
        if (groups->count > 0)
            memcpy(more, groups->kinds, (size_t)groups->count * size);
        free(groups->kinds);
        groups->kinds = (int64_t *)more;
        groups->room = room;
    }
    memcpy(groups->kinds + groups->count * groups->lines, kinds, size);
    *number = groups->count++;
    return GSW_SUCCESS;
}
