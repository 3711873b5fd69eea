/* windows.h: windows of a partition's processes: memory of a device that other processes write
 * (contract/link_ops.h). */
#ifndef GSW_WINDOWS_H
#define GSW_WINDOWS_H

#include "contract/link_ops.h"
#include "partition.h"

typedef struct gsw_windows {
    gsw_partition *partition; /* NULL: there are none */
    void *own;
    size_t bytes;  /* of it; */
    uint64_t most; /* of the largest one of all processes */
    /* Of each process. */
    gsw_window_name *name;
    void **theirs;         /* its window; NULL: this process does not reach it, messages serve */
    unsigned char *direct; /* it reaches the own window */
    unsigned char *wanted; /* whose windows were to be attached */
    struct gsw_windows *next, *room; /* of an idle one the next one, and room for this struct */
} gsw_windows;

/* Opens a window of so many bytes, which hold `value` at first, and attaches those of the processes
 * r with wanted[r] != 0. That one cannot be attached is no error. Small windows that were closed
 * are idle until the partition ends, and serve again: to map memory of another process takes a
 * millisecond. Collective. *windows can be closed on failure, too. */
gsw_status gsw_windows_open(gsw_partition *p, size_t bytes, int value, const unsigned char *wanted,
                            gsw_windows *windows);

/* Collective. After a failed wait the own window stays, because others may still write to it. */
void gsw_windows_close(gsw_windows *windows);

#endif
