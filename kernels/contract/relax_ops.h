/* relax_ops.h: the operations of a backend for iterative stencil loops with ghost zones (relax.h).
 *
 * A tile is a box of points. To make `height` sweeps without any communication it reads x on the
 * tile and a ghost zone of `height` halos around it. Sweep s of the pass computes the points within
 * height - s halos of the tile; the last one computes the tile itself.
 *
 * The arithmetic of a sweep at one point, the same for every tile and height:
 *
 *   r = b; for each offset e inside the grid, in ascending order: r = fma(-a_e, x_e, r)
 *   t = r * (1 / a_centre);  p = alpha t, or fma(alpha, t, beta p) where beta is not 0
 *   x = x + p
 *
 * From zero the first sweep takes r = b and x = p. */
#ifndef GSW_RELAX_OPS_H
#define GSW_RELAX_OPS_H

#include <gridsweep/matrix.h>

enum { GSW_RELAX_HEIGHT_MAX = 8 };

/* How a pass is cut, and what the backend says about that. */
typedef struct gsw_relax_tile {
    int32_t height;
    int32_t stream;    /* the axis along which a worker proceeds layer by layer, or -1 */
    int64_t extent[3]; /* points that a tile writes along x, y and z */
    int64_t workers;   /* tiles that the device computes at a time */
    double load;       /* of a worker's processor: how many units share it (gsw_relax_machine) */
    double effort;     /* arithmetic costs so many times as much as usual */
    size_t work_bytes; /* host memory that a pass needs besides the vectors */
} gsw_relax_tile;

/* The constants of a device for the model of relax_model.h, which has the formulas. Seconds, and
 * bytes per second of all workers together. */
typedef struct gsw_relax_machine {
    double bandwidth;        /* of memory */
    double stream_bandwidth; /* where workers proceed by layers: of what they ask for at a time, */
    double latency;          /* and the time between asking for a layer and its arrival */
    double near_bytes; /* a pass that moves at most so many stays in a cache of the device: then
                          stream_bandwidth is memory's, too */
    double ghost;      /* the cost of a byte that only a ghost zone reads, against one that is read
                          once: it may come from a cache */
    double
        synchronise; /* of each sweep of a layer: its barrier, and what does not depend on load */
    double point, term; /* of a unit of load: a point in a sweep, and a product there; where workers
                           proceed by layers, those of all the unit's threads */
    double line;        /* the same: a line of points in a sweep, */
    int64_t short_line; /* unless it has at most so many, and a tile has all of them */
    double cache_bytes; /* of a worker: a tile that needs more reads memory in each sweep; 0: no
                           such limit */
    double overlap;     /* the share that is hidden of the shorter one of memory and arithmetic */
} gsw_relax_machine;

/* One pass: `tile.height` or fewer sweeps. */
typedef struct gsw_relax_pass {
    const gsw_matrix *matrix; /* stencil arrays; none is NULL. Vectors and arithmetic are of its
                                 type */
    const gsw_relax_tile *tile;
    int32_t sweeps; /* of this pass: 1..tile->height */
    int32_t zero;   /* x counts as zeros and is not read */
    double alpha[GSW_RELAX_HEIGHT_MAX], beta[GSW_RELAX_HEIGHT_MAX]; /* of each sweep */
    const void *b, *x;
    void *y;       /* x after the sweeps; overlaps nothing else */
    const void *p; /* before the first sweep; read where beta[0] != 0 */
    void *q;       /* p after the last sweep; overlaps nothing else; NULL: not needed */
    void *work;    /* tile->work_bytes bytes of host memory; NULL where that is 0 */
} gsw_relax_pass;

typedef struct gsw_relax_ops {
    /* For matrices of that type. */
    void (*machine)(gsw_context *context, gsw_dtype type, gsw_relax_machine *machine);

    /* Tile number k = 0, 1, ... for that height. tile->height is 0 where there is no such tile;
     * then all later ones do not exist either. Height 1 has one for every stencil. Errors: DEVICE.
     */
    gsw_status (*tile)(gsw_context *context, const gsw_matrix *matrix, int32_t height, int32_t k,
                       gsw_relax_tile *tile);

    /* What a pass needs once before the first one. Errors: DEVICE. */
    gsw_status (*prepare)(gsw_context *context, const gsw_matrix *matrix);

    gsw_status (*pass)(gsw_context *context, const gsw_relax_pass *pass);
} gsw_relax_ops;

#endif
