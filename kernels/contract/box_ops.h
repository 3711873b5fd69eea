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

/* Lines of a box (constant y and z) in the order of a sweep. Lines of a group do not depend on each
 * other. Group g holds line[first[g]] to line[first[g + 1] - 1]. */
typedef struct gsw_box_line {
    int32_t y, z; /* counted from the box's first line */
} gsw_box_line;

typedef struct gsw_box_lines {
    const gsw_box_line *line;
    const int64_t *first;
    int64_t groups;
} gsw_box_lines;

/* One triangular sweep over some lines: x_i = scale_i b_i - sum of c x. The terms are subtracted in
 * the order of the list: those of other lines first, then those of the own line, the nearest last.
 * A coefficient of 0 reads nothing. `down`: each line is swept towards smaller x. */
typedef struct gsw_box_sweep {
    const gsw_frame *frame;
    int down;
    int32_t count;
    gsw_offset offset[GSW_STENCIL_MAX];
    const double *c[GSW_STENCIL_MAX]; /* of the box */
    const double *scale;              /* of the box; NULL: 1 */
    const double *b;                  /* of the box; NULL: what x holds */
    double *x;                        /* of the frame: ghosts and earlier lines are there */
    double *out;                      /* of the box; NULL: x alone is written */
    int64_t origin; /* the row of the box that c and scale begin with; 0 in a sweep */
} gsw_box_sweep;

/* Incomplete factorisation of some lines, as in cpu/factor/eliminate.c. Row i begins as from[e][i]
 * and ends in a[e][i] as its multipliers (e below the centre; DILU leaves them as they are), its
 * reciprocal pivot, and its scaled upper part. Entries may be read from the mirror image: of row i
 * + o in mirror[e], where this row is in the box. `from` may be `a`.
 *
 * Rows of ghosts are in `ghost`, line by line of the frame, from ghost_line[y + e[1] z] on (y and z
 * counted from the frame's first line): all points of a line outside the box, else the low[0]
 * points before it, and then those after it. */
typedef struct gsw_box_eliminate {
    const gsw_frame *frame;
    const gsw_stencil *stencil;
    int diagonal_only;                     /* DILU: only the pivots change */
    int positive;                          /* IC(0): a pivot that is not positive is bad */
    double pivot_shift;                    /* > 0: replaces bad pivots, as in gsw_factor_options */
    const double *from[GSW_STENCIL_MAX];   /* of the box; NULL: zeros */
    const double *mirror[GSW_STENCIL_MAX]; /* of the box; NULL: not mirrored */
    double *a[GSW_STENCIL_MAX];            /* of the box */
    double *ghost[GSW_STENCIL_MAX];        /* from the centre on */
    const int64_t *ghost_line;
    int64_t bad_row; /* out: lowest row of the box with a bad pivot; INT64_MAX: none */
    int64_t shifted; /* out: number of replaced pivots */
} gsw_box_eliminate;

/* Rows of a slab in z that are coupled to other slabs. Packed factors hold the couplings inside the
 * slab. These operations do the rest of the factorisation.
 *
 * The first `lead_planes` planes: lead[e] begins as their rows of the matrix and ends as what
 * ghosts leave of them. Couplings to ghosts become multipliers (DILU leaves them as they are).
 *
 * The last `trail_planes` planes: trail[e] is their lower part as eliminated, which only the
 * multipliers differ from. `upper` holds their scaled upper part, as in gsw_box_eliminate, where
 * the neighbour is in the slab. Its entries whose neighbour is a ghost begin as those of the
 * matrix.
 *
 * Arrays have one value per point of these planes in natural order; those of `upper` begin with the
 * planes of ghosts before the slab. */
typedef struct gsw_box_edges {
    const gsw_frame *frame; /* low[0] and low[1] are 0 */
    const gsw_stencil *stencil;
    int diagonal_only; /* DILU */
    int64_t lead_planes, trail_planes;
    double *lead[GSW_STENCIL_MAX];
    double *trail[GSW_STENCIL_MAX];
    double *upper[GSW_STENCIL_MAX];
} gsw_box_edges;

/* y += sum of c x over the points first <= (x, y, z) < end of the box whose neighbour at `offset`
 * is a ghost. The ghosts of one process are an array x with the extents `extent`, whose first value
 * is the point `origin`; all coordinates count from the box's first point. */
typedef struct gsw_box_couple {
    int64_t n[3]; /* of the box */
    int64_t first[3], end[3];
    gsw_offset offset;
    const void *c; /* of the box */
    gsw_dtype type;
    const double *x;
    int64_t origin[3], extent[3];
    double *y; /* of the box */
} gsw_box_couple;

/* Packed factors of slabs in z. Their pencils are bands of lines: pencil q of a factor holds the
 * lines with lines * q <= y + shear z < lines * (q + 1). */
typedef struct gsw_bands {
    int64_t count;
    int32_t lines;
    int64_t shear;
    int64_t extent[3]; /* those of the grid, where no extent is 1 */
} gsw_bands;

/* Sweep `which` over the bands begin <= q < end, in the order of the sweep. Earlier ones have been
 * swept. `lead` is what the rows of the first planes of the sweep begin with instead of b: one
 * value per point of these planes in natural order. */
typedef struct gsw_band_sweep {
    int which;
    int64_t begin, end;
    const double *b;
    double *x;
    const double *lead;
    int64_t lead_planes;
} gsw_band_sweep;

/* The factorisation of the bands begin <= q < end. Earlier ones have been factorised. Rows of the
 * first planes begin as `lead` instead of the matrix's. Rows of the last planes are also written to
 * `trail`, from the centre on as the reciprocal pivot and the scaled upper part. Couplings to
 * points outside the slab are neither read nor written. */
typedef struct gsw_band_eliminate {
    int64_t begin, end;
    int64_t lead_planes, trail_planes;
    const double *lead[GSW_STENCIL_MAX];
    double *trail[GSW_STENCIL_MAX];
} gsw_band_eliminate;

typedef struct gsw_box_ops {
    void (*sweep)(gsw_context *context, const gsw_box_sweep *sweep, const gsw_box_lines *lines);
    void (*eliminate)(gsw_context *context, gsw_box_eliminate *job, const gsw_box_lines *lines);
    void (*couple)(gsw_context *context, const gsw_box_couple *job);

    /* out[row - origin] = scale b - the terms of ghosts in other planes, for the lines whose z is
     * first <= z < end. */
    void (*lead)(gsw_context *context, const gsw_box_sweep *sweep, const gsw_box_lines *lines,
                 int64_t first, int64_t end, double *out);

    /* Rows of the first planes, and of the last planes, among some lines. */
    void (*lead_rows)(gsw_context *context, const gsw_box_edges *job, const gsw_box_lines *lines);
    void (*trail_rows)(gsw_context *context, const gsw_box_edges *job, const gsw_box_lines *lines);

    /* Of a packed factor that has been opened. eliminate_bands returns the lowest row with a bad
     * pivot, or -1. take_diagonal moves the reciprocal diagonal of sweep `which` in the planes
     * first <= z < end to `out`, and leaves 1 behind. pack writes the values of sweep `which` from
     * arrays in natural order: row-scaled coefficients in arrays[e], and the reciprocal diagonal in
     * arrays[center], where the sweep stores it. */
    void (*bands)(const gsw_factor *factor, gsw_bands *bands);
    int64_t (*eliminate_bands)(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               const gsw_band_eliminate *bands);
    void (*take_diagonal)(const gsw_factor *factor, int which, int64_t first, int64_t end,
                          double *out);
    void (*pack)(const gsw_factor *factor, int which, double *const *arrays);
    void (*sweep_bands)(gsw_context *context, gsw_factor *factor, const gsw_band_sweep *sweep);
} gsw_box_ops;

#endif
