/* slabs.h: processes whose backend has memory of its own. Each has a slab of planes, and shares
 * windows with the slabs below and above (contract/slab_ops.h). */
#ifndef GSW_SLABS_H
#define GSW_SLABS_H

#include "contract/slab_ops.h"
#include "partition.h"

/* Windows between neighbours. */
typedef struct gsw_slab_link {
    gsw_partition *partition;
    int process[2];      /* below, above; -1: none */
    void *window;        /* the own one */
    int64_t place[2][2]; /* [side][i]: what that process passed to gsw_slab_link_open() */
    gsw_window_name theirs[2];
    void *attached[2]; /* their windows; NULL: messages carry what goes there */
    int direct[2];     /* they have attached the own one */
} gsw_slab_link;

/* Opens a window of so many bytes, which hold `value` at first, and attaches those of the
 * neighbours. `place` goes to the neighbours. Collective. */
gsw_status gsw_slab_link_open(gsw_partition *p, size_t bytes, int value, const int64_t place[2],
                              gsw_slab_link *link);

/* Collective. After a failed wait the window stays, because others may still write to it. */
void gsw_slab_link_close(gsw_slab_link *link);

/* The ghost planes of a vector. */
typedef struct gsw_slab_ghosts {
    gsw_slab_link link;
    int64_t plane;          /* points */
    int64_t nz;             /* planes of the slab */
    int64_t take[2];        /* planes of the slabs below and above that this one needs */
    int64_t give[2];        /* own planes that they need */
    int64_t room[2];        /* planes in each window */
    uint64_t round;         /* exchanges so far */
    double *in[2], *out[2]; /* of messages */
    void *receiving[2], *sending[2];
} gsw_slab_ghosts;

gsw_status gsw_slab_ghosts_open(gsw_partition *p, const gsw_stencil *stencil,
                                gsw_slab_ghosts *ghosts);
void gsw_slab_ghosts_close(gsw_slab_ghosts *ghosts);

/* Gives the neighbours their planes of x, and takes those of theirs; x is in the backend's memory.
 * After the end `planes` has the ghosts below and above, NULL where there are none, for work that
 * is queued next. They stay until the exchange after the next one begins. */
gsw_status gsw_slab_ghosts_begin(gsw_slab_ghosts *ghosts, const double *x);
gsw_status gsw_slab_ghosts_end(gsw_slab_ghosts *ghosts, const double *planes[2]);

/* Whether the partition is one of slabs, as such backends need it; else says so. */
gsw_status gsw_slabs_check(const gsw_partition *p);

#endif
