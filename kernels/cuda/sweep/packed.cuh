/* packed.cuh: a packed factor in device memory, for the files that fill and use it. Its layout is
 * that of the tiles in tiles.h. */
#ifndef GSW_CUDA_PACKED_CUH
#define GSW_CUDA_PACKED_CUH

#include "cuda/device/context.cuh"

extern "C" {
#include "geometry/repeats.h"
#include "geometry/layout.h"
#include "geometry/named_shapes.h"
#include "geometry/tiles.h"
}

/* Do all couplings of a shape lie in one plane? */
static constexpr __host__ __device__ bool is_flat(int name) {
    bool flat = false;
#define SHAPE_IS_FLAT(shape, lower) flat = flat || (name == SHAPE_##shape && SHAPE_FLAT_##shape);
    GSW_NAMED_STENCILS(SHAPE_IS_FLAT, GSW_NO_OFFSET)
#undef SHAPE_IS_FLAT
    return flat;
}

/* Lines of a lane in the tile of a shape. Usually one; two in stars, whose lines have few
 * coefficients. Flat stars have one on devices without bulk copies, whose shared memory holds no
 * more. */
static constexpr __host__ __device__ int lines_of_a_lane(int name, bool bulk_copies) {
    int lines = 1;
#define SHAPE_LINES(shape, lower)                                                                  \
    if (name == SHAPE_##shape && SHAPE_STAR_##shape)                                               \
        lines = 2;
    GSW_NAMED_STENCILS(SHAPE_LINES, GSW_NO_OFFSET)
#undef SHAPE_LINES
    return is_flat(name) && !bulk_copies ? 1 : lines;
}

/* The shapes of multigrid's coarse levels. They have kernels of their own only for the operations
 * of multigrid, because kernels take long to compile. */
static constexpr __host__ __device__ bool is_coarse(int name) {
    return name == SHAPE_D3N15X || name == SHAPE_D3N15Y || name == SHAPE_D3N15Z;
}

/* The tile of a named shape. */
static constexpr __host__ __device__ gsw_tile_shape tile_of_shape(int name, bool bulk_copies) {
    const int lines = lines_of_a_lane(name, bulk_copies);
    return is_flat(name) ? gsw_tile_shape{32, lines, 1} : gsw_tile_shape{8, 1, lines};
}

/* One pencil of a part. Pencils are stored, and blocks take them, in an order in which each one
 * comes after those it depends on. Its place in that order is its ticket. */
struct alignas(16) gsw_pencil {
    int32_t j, k; /* its tile */
    /* Tickets of the pencils one tile before it in y', in z, in both, and of those after it; -1:
     * none. Pencils of other processes (slab_ops.h) have other numbers: before it, remote_before();
     * after it, the number of pencils plus this pencil's place among those that are read there. In
     * a dealt factor that place is the ticket. */
    int32_t before[3], after[3];
};

/* The vectors of a dealt factor's sweep, by process: the first value of each one's slab. Where
 * there is a gathered vector, it takes their place. It has the rows of tiles of this process alone,
 * one after the other in natural order. */
typedef struct gsw_dealt_vectors {
    const double *b[GSW_DEAL_MAX], *gathered_b;
    double *x[GSW_DEAL_MAX], *gathered_x;
} gsw_dealt_vectors;

/* The number in before[] of the pencil of another process that has place `place` there; and its
 * place. */
GSW_HD int32_t gsw_remote_before(int32_t place) {
    return -2 - place;
}
GSW_HD int32_t gsw_remote_place(int32_t before) {
    return -2 - before;
}

/* The description of a part for its kernels. It is on the host, because it is too large to be an
 * argument of every kernel. Addresses are in device memory. */
struct gsw_packed_view {
    gsw_tiles tiles;
    int32_t upper;               /* which part */
    int32_t pencils;             /* used ones of this process */
    int32_t remote_before;       /* pencils of other processes that its first ones read, */
    int32_t remote_after;        /* and pencils of its own that are read by others */
    int32_t spare;               /* pencils that `values` has room for after its own */
    int32_t distance;            /* in tickets, from a pencil to the last one that reads it */
    int32_t dealt[GSW_DEAL_MAX]; /* of a dealt factor: the pencils of each process, */
    int32_t *tickets;            /* and on the host the ticket of tile (j, k): [k * tiles_y + j] */
    const gsw_pencil *table;     /* in ticket order */
    int32_t stored;              /* pencils whose records are stored: all, or, where coefficients */
    const gsw_pencil *writers;   /* repeat, the first ones with equal records: these. Then */
    const int32_t *shared;       /* [ticket] is the place among them of a pencil's; else NULL */
    void *values;                /* [stored][record][gsw_packed_value()] of the factor's type */
    int32_t terms;               /* coefficients per line and record */
    int32_t diagonal;            /* 1: the reciprocal diagonal is stored too */
    int32_t scale;               /* the coefficients are multiplied by it */
    int32_t members;             /* lines of a lane */
    int32_t vector;              /* values in 16 bytes */
};

/* The process that sweeps row k of the tiles of a dealt factor. */
static inline int32_t gsw_dealt_to(const gsw_packed_view *view, const gsw_deal *deal, int64_t k) {
    return (int32_t)((view->upper ? view->tiles.tiles_z - 1 - k : k) % deal->processes);
}

/* Values of one record. */
GSW_HD int64_t gsw_record_values(const gsw_packed_view *view) {
    return (int64_t)(view->terms + view->diagonal) * view->members * GSW_TILE_LANES;
}

/* Values of a pencil. */
GSW_HD int64_t gsw_pencil_values(const gsw_packed_view *view) {
    return view->tiles.records * gsw_record_values(view);
}

/* Have other processes a part of the factor? */
static inline bool gsw_cuda_is_remote(const gsw_factor *factor) {
    return factor->deal || factor->ghosts[GSW_BELOW] + factor->ghosts[GSW_ABOVE] > 0;
}

/* Points of the planes of ghosts below. Kernels count rows from the first one, which vectors and
 * the user's arrays do not have. */
static inline int64_t gsw_points_below(const gsw_factor *factor) {
    return factor->ghosts[GSW_BELOW] * factor->grid.nx * factor->grid.ny;
}

/* Rows of tiles whose planes are ghosts, before and after a part's own ones. */
static inline int64_t gsw_ghost_rows(const gsw_factor *factor, const gsw_packed_view *view,
                                     int after) {
    return factor->ghosts[(view->upper != 0) != (after != 0) ? GSW_ABOVE : GSW_BELOW] /
           view->tiles.tile_z;
}

/* The result of a factorisation in packed->pivots. Row numbers are those of the user, 0-based;
 * INT64_MAX: none. */
struct gsw_cuda_pivots {
    int64_t bad;     /* lowest row with a bad pivot */
    int64_t misfit;  /* lowest row with a coupling outside the stencil, or unusable row pointers */
    int64_t shifted; /* pivots replaced */
    int64_t unfit;   /* nonzero: the rows have to be eliminated one by one (diagonal.cu) */
    int64_t beyond;  /* lowest row with a value that fp32 does not hold */
};

/* A thread's notes in them. */
__device__ inline void note_lowest(int64_t *lowest, int64_t row) {
    atomicMin((long long *)lowest, (long long)row);
}

__device__ inline void note_one(int64_t *count) {
    atomicAdd((unsigned long long *)count, 1ULL);
}

/* Counters and faces of sweeps, in device memory, shared by the parts. */
typedef struct gsw_sweep_area {
    struct gsw_sweep_state *state; /* sweep_plan.cuh; NULL: none yet. Counters, then faces */
    int32_t rhs;                   /* right-hand sides per block */
    int32_t groups;                /* groups of so many, at most, per launch */
    int32_t slots;                 /* of faces, for each group of a launch that has all groups */
} gsw_sweep_area;

/* The areas of a factor: for one right-hand side; for several, with a block for each; for several,
 * with blocks that share the coefficients. The last two are opened at the first solve that has
 * several. */
enum gsw_sweep_area_name { AREA_OF_1, AREA_OF_SINGLES, AREA_OF_BLOCKS, SWEEP_AREAS };

/* Where the faces go that pass from process to process (slab_ops.h), for the sweep of a part. */
typedef struct gsw_slab_faces {
    void *inbox, *outbox;
    int64_t wait_limit_ns; /* 0: the context's */
} gsw_slab_faces;

/* factor->packed of the CUDA backend. */
struct gsw_packed {
    gsw_layout layout; /* part[].packed is NULL: see view[].values */
    gsw_shape_name shape;
    gsw_packed_view view[2]; /* lower, upper: those that are present */
    gsw_updates updates;     /* of kinds that eliminate */
    bool diagonal_alone;  /* they change the diagonal alone, and a sweep can do it (diagonal.cu) */
    void *reciprocal;     /* JACOBI: the reciprocal diagonal in natural order; of pivots, if
                             they are all that changes (diagonal.cu); NULL: not yet needed */
    bool pivots_known;    /* `reciprocal` has those of the factor's present values */
    gsw_matrix unchecked; /* diagonal.cu: where the values came from, until factor_await */
    gsw_matrix written;   /* a copy of a matrix whose values repeat: factor.cu */
    void *written_memory; /* NULL: not yet needed */
    const void *written_values[GSW_STENCIL_MAX];
    void *eliminate_work;    /* eliminate.cu */
    gsw_cuda_pivots *pivots; /* what a factorisation found: device memory */
    gsw_sweep_area area[SWEEP_AREAS];
    gsw_slab_faces faces[2];   /* of the parts */
    gsw_dealt_vectors vectors; /* of a dealt factor's next sweep */
};

#endif
