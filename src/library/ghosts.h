/* ghosts.h: copies of points of other boxes, as far as a stencil reaches. */
#ifndef GSW_GHOSTS_H
#define GSW_GHOSTS_H

#include "contract/box_ops.h"
#include "partition.h"

/* A process that shares points with this one. */
typedef struct gsw_ghost_peer {
    int process;
    gsw_box take;     /* its points that this process needs, in the grid */
    gsw_box give;     /* own points that it needs */
    double *in, *out; /* their values, x fastest */
    void *receiving, *sending;
} gsw_ghost_peer;

typedef struct gsw_ghosts {
    gsw_partition *partition;
    gsw_frame frame;
    int peers;
    gsw_ghost_peer *peer;
} gsw_ghosts;

/* The reach of some offsets, first <= e < end, along each axis: how far they lead to smaller and to
 * larger coordinates. */
typedef struct gsw_reach {
    int64_t before[3], after[3];
} gsw_reach;
gsw_reach gsw_reach_of(const gsw_stencil *stencil, int32_t first, int32_t end);

/* What process `to` needs of process `from` for these offsets: points of the box of `from`. An
 * empty box where it needs nothing. */
gsw_box gsw_ghosts_of(const gsw_partition *p, const gsw_stencil *stencil, int32_t first,
                      int32_t end, int to, int from);

/* The box of a process and its ghosts. */
gsw_frame gsw_frame_of(const gsw_partition *p, const gsw_stencil *stencil);

gsw_status gsw_ghosts_open(gsw_partition *p, const gsw_stencil *stencil, gsw_ghosts *ghosts);

/* The same for any boxes: wanted[r], which holds the box of process r, is the frame of process r.
 * Its points are those that r gets. */
gsw_status gsw_ghosts_open_boxes(gsw_partition *p, const gsw_box *wanted, gsw_ghosts *ghosts);

void gsw_ghosts_close(gsw_ghosts *ghosts);

/* Sends the points of x (of the box) that others need, and begins to receive theirs. */
gsw_status gsw_ghosts_begin(gsw_ghosts *ghosts, const double *x);

/* Waits until peer->in holds the values of the other processes, and until x may be changed. */
gsw_status gsw_ghosts_end(gsw_ghosts *ghosts);

/* Writes x and the received ghosts into an array of the frame. */
void gsw_ghosts_fill(const gsw_ghosts *ghosts, const double *x, double *frame);

/* Begins, ends and fills. */
gsw_status gsw_ghosts_update(gsw_ghosts *ghosts, const double *x, double *frame);

/* Writes the received ghosts into an array of the frame. */
void gsw_ghosts_put_others(const gsw_ghosts *ghosts, double *frame);

/* Copies the box from the frame, or into it. */
void gsw_ghosts_take_own(const gsw_ghosts *ghosts, const double *frame, double *x);
void gsw_ghosts_put_own(const gsw_ghosts *ghosts, const double *x, double *frame);

#endif
