/* wrap_ops.h: the operations of a backend around periodic grids (common/wraps.h, seam_level.h).
 * Values, arrays and vectors are in the backend's memory, the descriptions on the host. Everything
 * may be queued. No result depends on the number of threads. */
#ifndef GSW_WRAP_OPS_H
#define GSW_WRAP_OPS_H

#include "common/seam_level.h"

/* DEFAULT in host memory: gsw_host_wrap_ops. */
typedef struct gsw_wrap_ops {
    /* Finds the rows of the seam, and the columns of W. */
    gsw_status (*open)(gsw_context *context, const gsw_wraps *wraps);

    /* Reads W from the user's matrix of either format. */
    gsw_status (*take)(gsw_context *context, const gsw_matrix *matrix, const gsw_wraps *wraps);

    /* W to its places in fp64 arrays of all points; `back`: from there, and zeros take its place.
     */
    gsw_status (*move)(gsw_context *context, const gsw_wraps *wraps, double *const *arrays,
                       int back);

    /* Couplings of inactive points become zeros. */
    gsw_status (*cut)(gsw_context *context, const gsw_wraps *wraps, const uint8_t *active);

    /* y += sign W x. `saved`: seam.count values that keep what y was there; NULL: nothing does. And
     * what gives these back to y. */
    gsw_status (*multiply)(gsw_context *context, const gsw_wraps *wraps, gsw_dtype type,
                           double sign, const void *x, void *y, double *saved);
    gsw_status (*restore)(gsw_context *context, const gsw_wraps *wraps, gsw_dtype type,
                          const double *saved, void *y);

    /* Weights of the points of a seam (`which`: 0 of P, 1 of R), from the rows that `rows` names;
     * and rows of the coarse matrix. */
    gsw_status (*weigh)(gsw_context *context, const gsw_seam *seam, const gsw_seam_level *level,
                        int which, gsw_rows rows);
    gsw_status (*triple)(gsw_context *context, const gsw_seam *seam, const gsw_seam_level *level);

    /* After the weights: finds what the next two operations need. They complete R (b - A x) at
     * coarse points, and x + P e across the seam. `residual`: room for values of
     * the rows of `wraps` and of `across`. */
    gsw_status (*prepare)(gsw_context *context, const gsw_seam_level *level);
    gsw_status (*restrict_residual)(gsw_context *context, const gsw_wraps *wraps,
                                    const gsw_seam_level *level, const void *b, const void *x,
                                    double *residual, void *to);
    gsw_status (*prolong_add)(gsw_context *context, const gsw_seam_level *level, const void *from,
                              void *to);
} gsw_wrap_ops;

#endif
