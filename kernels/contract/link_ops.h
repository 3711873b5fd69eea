/* link_ops.h: how a process gives values to others, and how parts of arrays are copied for that.
 * All entries are REQUIRED.
 *
 * WINDOWS. A window is memory of one process that others of the same machine can write, by means of
 * the device. The owner opens it and gives its name to another process, which attaches it. Where a
 * process cannot attach a window, the library brings the same bytes through messages ("staged").
 * Windows of the host's memory cannot be attached. */
#ifndef GSW_LINK_OPS_H
#define GSW_LINK_OPS_H

#include <gridsweep/partition.h>

enum { GSW_WINDOW_NAME = 128 };

/* Names a window for other processes; without pointers. */
typedef struct gsw_window_name {
    char bytes[GSW_WINDOW_NAME];
} gsw_window_name;

/* An array of a box of points, x fastest: its first point, the points along each axis, and the
 * bytes of a value. */
typedef struct gsw_box_array {
    int64_t origin[3], extent[3];
    size_t value;
} gsw_box_array;

typedef struct gsw_link_ops {
    /* Whether arrays are in the host's memory. Else boxes are whole planes. */
    int on_host;

    /* The planes of which a slab has a multiple, where it has so many. */
    int64_t tile_planes;

    /* A window's memory holds `value` in each byte at first. Attaching: UNSUPPORTED, with a reason,
     * where this process cannot write the window. */
    gsw_status (*window_open)(gsw_context *context, size_t bytes, int value, void **memory,
                              gsw_window_name *name);
    void (*window_close)(gsw_context *context, void *memory);
    gsw_status (*window_attach)(gsw_context *context, const gsw_window_name *name, void **memory);
    void (*window_detach)(gsw_context *context, const gsw_window_name *name, void *memory);

    /* Queued: sets a counter in a window after all that was queued before; waits until a counter in
     * an own window has reached a value, at most `limit` seconds. After that time the context
     * reports TIMEOUT. */
    gsw_status (*post)(gsw_context *context, uint64_t *counter, uint64_t value);
    gsw_status (*await)(gsw_context *context, const uint64_t *counter, uint64_t least,
                        double limit);

    /* Waits of this context's kernels that have ended without an answer. After one of them windows
     * may hold values of another solve. */
    int64_t (*timeouts)(gsw_context *context);

    /* Queued: copies a box between an array and dense values, also of a window; nothing where they
     * are the same memory. `to_dense`: from the array. Dense values in the host's memory are there
     * at once. */
    gsw_status (*copy_box)(gsw_context *context, const gsw_box *box, const gsw_box_array *place,
                           void *array, void *dense, int to_dense);
} gsw_link_ops;

/* Of backends that work in the host's memory, and for arrays of the library that lie there. */
extern const gsw_link_ops gsw_host_link;

#endif
