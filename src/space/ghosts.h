/* ghosts.h: copies of points of other boxes, as far as a stencil reaches.
 *
 * Vectors are in the backend's memory. Where that is not the host's, boxes are slabs of planes. */
#ifndef GSW_GHOSTS_H
#define GSW_GHOSTS_H

#include "contract/box_ops.h"
#include "windows.h"

/* A process that shares points with this one. On a periodic grid it may be this one, and it counts
 * once for each way around the grid on which points are needed. */
typedef struct gsw_ghost_peer {
    int process;
    gsw_box take;        /* its points that this process needs, as the own frame counts them: beyond
                            the ends of a periodic axis they go on */
    gsw_box give;        /* own points that it needs, in the grid */
    void *in;            /* values of `take`, x fastest, in the own window */
    char *window;        /* of the peer, where both reach the other's; NULL: messages go there */
    int64_t place;       /* in points: where `take` begins in a set of the own window, */
    int64_t to, pitch;   /* `give` in a set of the peer's, and that set's size */
    void *message, *out; /* what comes by message, and goes; in the host's memory */
    void *receiving, *sending;
} gsw_ghost_peer;

typedef struct gsw_ghosts {
    gsw_partition *partition;
    gsw_frame frame;
    size_t value; /* bytes: 8; on devices less may be set, for all processes alike */
    int peers;
    gsw_ghost_peer *peer; /* by rank */

    /* Two sets of ghosts in turns (ghosts.c). */
    gsw_windows windows;
    int64_t set;    /* points of one */
    uint64_t round; /* exchanges so far */
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

/* Collective. *ghosts can be closed on failure, too. */
gsw_status gsw_ghosts_open(gsw_partition *p, const gsw_stencil *stencil, gsw_ghosts *ghosts);

/* The same for any boxes: wanted[r], which holds the box of process r, is the frame of process r.
 * Its points are those that r gets. Along periodic axes it may lead around the grid, in host
 * memory. */
gsw_status gsw_ghosts_open_boxes(gsw_partition *p, const gsw_box *wanted, gsw_ghosts *ghosts);

/* Collective. */
void gsw_ghosts_close(gsw_ghosts *ghosts);

/* Sends the points of x (of the box) that others need, and begins to receive theirs. */
gsw_status gsw_ghosts_begin(gsw_ghosts *ghosts, const void *x);

/* Waits until peer->in holds the values of the other processes, and until x may be changed; on a
 * device for work that is queued next. There they stay until the exchange after the next one
 * begins. */
gsw_status gsw_ghosts_end(gsw_ghosts *ghosts);

/* Begins and ends an exchange, and writes x and the received ghosts into an array of the frame. x
 * may be the frame's own part. */
gsw_status gsw_ghosts_update(gsw_ghosts *ghosts, const void *x, void *frame);

/* Writes the received ghosts into an array of the frame. */
gsw_status gsw_ghosts_put_others(const gsw_ghosts *ghosts, void *frame);

/* Copies a box between dense values and an array of the frame, or one of the own box alone. */
gsw_status gsw_ghosts_copy(const gsw_ghosts *ghosts, const gsw_box *box, int framed,
                           const void *array, void *dense, int to_dense);

/* Copies the box from the frame, or into it, unless x is the frame's own part. */
gsw_status gsw_ghosts_take_own(const gsw_ghosts *ghosts, const void *frame, void *x);
gsw_status gsw_ghosts_put_own(const gsw_ghosts *ghosts, const void *x, void *frame);

/* The arrays that hold x of the box and of its ghosts, as products read them. Those of peers that
 * lie one behind the other are one patch. `patch` has room for one more than there are peers.
 * Returns how many there are. */
int gsw_ghosts_patches(const gsw_ghosts *ghosts, const double *x, gsw_patch *patch);

#endif
