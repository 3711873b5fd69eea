/* frames.c: see frames.h. */
#include "frames.h"
#include <stdlib.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/error.h"

static gsw_box frame_around(const gsw_partition *p, int process, const gsw_frame_reach *reach) {
    const int64_t extent[3] = {p->grid.nx, p->grid.ny, p->grid.nz};
    gsw_box box = gsw_partition_box(p, process);
    for (int axis = 0; axis < 3; axis++) {
        const int around = reach->around && reach->width >= 0 && (p->grid.periodic >> axis & 1);
        int64_t begin = reach->width < 0 ? 0 : box.begin[axis] - reach->width;
        int64_t end = reach->width < 0 ? extent[axis] : box.end[axis] + reach->width;
        begin = begin < 0 && !around ? 0 : begin;
        box.begin[axis] = reach->even ? begin & ~INT64_C(1) : begin;
        box.end[axis] = end > extent[axis] && !around ? extent[axis] : end;
    }
    return box;
}

/* The coarse points of a box that begins at even points. */
static gsw_box coarse_box(const gsw_box *fine, int axes) {
    gsw_box coarse = *fine;
    for (int axis = 0; axis < 3; axis++) {
        if (!(axes >> axis & 1))
            continue;
        coarse.begin[axis] = fine->begin[axis] / 2;
        coarse.end[axis] = (fine->end[axis] + 1) / 2;
    }
    return coarse;
}

gsw_status gsw_frames_open(gsw_partition *p, const gsw_partition *fine, int axes,
                           const gsw_frame_reach *reach, gsw_ghosts *ghosts) {
    const size_t processes = (size_t)p->transport.processes;
    void *memory = NULL;
    gsw_status status =
        gsw_partition_agree(p, gsw_alloc(p->context, processes, sizeof(gsw_box), "boxes", &memory));
    if (status == GSW_SUCCESS) {
        gsw_box *wanted = memory;
        for (size_t i = 0; i < processes; i++) {
            wanted[i] = frame_around(fine, (int)i, reach);
            wanted[i] = coarse_box(&wanted[i], axes);
        }
        status = gsw_ghosts_open_boxes(p, wanted, ghosts);
    }
    free(memory);
    return status;
}

int64_t gsw_stencil_width(const gsw_stencil *stencil) {
    const gsw_reach reach = gsw_reach_of(stencil, 0, stencil->count);
    int64_t width = 1;
    for (int axis = 0; axis < 3; axis++) {
        width = reach.before[axis] > width ? reach.before[axis] : width;
        width = reach.after[axis] > width ? reach.after[axis] : width;
    }
    return width;
}
