/* box_ops.h: what a process does with its box of a grid that several processes share.
 *
 * A *frame* is the box and the ghosts around it: copies of points of other boxes, as far as the
 * stencil reaches and the grid goes. So a point of the box has a neighbour in the frame exactly
 * where it has one in the grid. Arrays of the box have one value per point of the box, arrays of
 * the frame one per point of the frame, x fastest in both. */
#ifndef GSW_BOX_OPS_H
#define GSW_BOX_OPS_H

#include <gridsweep/factor.h>

typedef struct gsw_frame {
    int64_t n[3];   /* extents of the box */
    int64_t e[3];   /* extents of the frame */
    int64_t low[3]; /* where the box begins in the frame */
} gsw_frame;

/* The index in the frame of point (x, y, z), counted from the box's first point. */
static inline int64_t gsw_frame_row(const gsw_frame *f, int64_t x, int64_t y, int64_t z) {
    return x + f->low[0] + f->e[0] * (y + f->low[1] + f->e[1] * (z + f->low[2]));
}

/* x at the points begin <= (x, y, z) < end of the own box, or of ghosts; x fastest. Coordinates
 * count from the box's first point. */
typedef struct gsw_patch {
    int64_t begin[3], end[3];
    const double *x;
} gsw_patch;

/* y = A x in the rows begin <= (x, y, z) < end of a box, each added up in the order of the offsets,
 * as spmv does. Neighbours in no patch are outside the grid. */
typedef struct gsw_couple {
    const gsw_matrix *matrix; /* of the box; stencil arrays */
    int64_t begin[3], end[3];
    int patches; /* at most 3 in slabs of a backend with memory of its own */
    const gsw_patch *patch;
    double *y; /* of the box */
} gsw_couple;

/* A packed factor of a slab and its ghosts (struct gsw_factor). Its pencils are bands of lines:
 * pencil q holds the lines with lines * q <= y + shear z < lines * (q + 1), where y and z count
 * from the first line of the frame. */
typedef struct gsw_bands {
    int64_t count;
    int32_t lines;
    int64_t shear;
    int has_planes; /* 0: not so in grids of fewer than three extents above 1 */
} gsw_bands;

/* Sweep `which` over the bands begin <= q < end, in the order of the sweep. Earlier ones have been
 * swept. `ghosts`: x of the ghosts before the slab in this order, natural order. b may be x. */
typedef struct gsw_band_sweep {
    int which;
    int64_t begin, end;
    const double *b, *ghosts;
    double *x;
} gsw_band_sweep;

/* The factorisation of the bands begin <= q < end. Earlier ones have been factorised. Arrays belong
 * to the stencil's offsets, and hold values of points in natural order: at the centre the
 * reciprocal pivots, above it the scaled upper part. `given`: of the ghosts below. `kept`: of the
 * own rows from `kept_from` on, to be written; INT64_MAX: none. `after`: for IC(0) the matrix's
 * lower part in the ghosts above; NULL: zeros. */
typedef struct gsw_band_eliminate {
    int64_t begin, end, kept_from;
    const double *given[GSW_STENCIL_MAX];
    double *kept[GSW_STENCIL_MAX];
    const double *after[GSW_STENCIL_MAX];
} gsw_band_eliminate;

/* `eliminate` returns the lowest own row with a bad pivot, or -1. */
typedef struct gsw_box_ops {
    void (*bands)(const gsw_factor *factor, gsw_bands *bands);
    int64_t (*eliminate)(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                         const gsw_band_eliminate *bands);
    void (*sweep)(gsw_context *context, gsw_factor *factor, const gsw_band_sweep *sweep);
} gsw_box_ops;

#endif
