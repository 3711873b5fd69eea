/* frames.h: boxes around those of the processes. */
#ifndef GSW_FRAMES_H
#define GSW_FRAMES_H

#include "ghosts.h"

/* How far frames reach. */
typedef struct gsw_frame_reach {
    int64_t width; /* points beyond the boxes, as far as the grid goes; < 0: the whole grid */
    int even;      /* they begin at even indices, at most one point earlier, so that their even
                      points are those of the grid */
    int around;    /* along periodic axes they go on beyond its ends; with `even` these axes have an
                      even number of points */
} gsw_frame_reach;

/* Opens frames around the boxes of `fine`. They are those of p: either p is `fine` and `axes` is 0,
 * or p is coarser along `axes`, and has their even points. Collective. *ghosts can be closed on
 * failure, too. */
gsw_status gsw_frames_open(gsw_partition *p, const gsw_partition *fine, int axes,
                           const gsw_frame_reach *reach, gsw_ghosts *ghosts);

/* The points that the stencil reaches along an axis at most, and 1 at least. */
int64_t gsw_stencil_width(const gsw_stencil *stencil);

#endif
