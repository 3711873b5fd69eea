/* slabs.h: processes whose backend has memory of its own. Each has a slab of planes, and shares
 * windows with the slabs below and above (contract/slab_ops.h). */
#ifndef GSW_SLABS_H
#define GSW_SLABS_H

#include "windows.h"

/* Windows between neighbours. */
typedef struct gsw_slab_link {
    gsw_windows windows;
    int process[2];      /* below, above; -1: none */
    int64_t place[2][2]; /* [side][i]: what that process passed to gsw_slab_link_open() */
    void *attached[2];   /* their windows; NULL: messages carry what goes there */
    int direct[2];       /* they have attached the own one */
} gsw_slab_link;

/* Opens a window of so many bytes, which hold `value` at first, and attaches those of the
 * neighbours. `place` goes to the neighbours. Collective. */
gsw_status gsw_slab_link_open(gsw_partition *p, size_t bytes, int value, const int64_t place[2],
                              gsw_slab_link *link);

/* Collective. */
void gsw_slab_link_close(gsw_slab_link *link);

/* Whether the partition is one of slabs, as such backends need it; else says so. */
gsw_status gsw_slabs_check(const gsw_partition *p);

#endif
