/* line_plan.cuh: what the host passes to the kernels of the direct sweep (line.cu fills it).
 *
 * SWEEP COORDINATES. Extents of 1 are squeezed out, and a sweep that runs downward is an upward
 * sweep of the mirrored grid (row -> points - 1 - row). In sweep coordinates a point depends on
 * points before it, and the stored entries of a CSR are in ascending order of row and offset. So
 * one set of formulas serves all eight solves. The kernels access the user's arrays through a
 * pointer to the first element in sweep order and a step of +1 or -1. */
#ifndef GSW_CUDA_LINE_PLAN_CUH
#define GSW_CUDA_LINE_PLAN_CUH

#include "cuda/device/context.cuh"
#include "geometry/shape.h"

#define LINE_TILE_MAX    16 /* lines of a tile */
#define LINE_GROUPS_MAX  16 /* other lines that one line depends on, in the tiled kernel */
#define LINE_HALO_MAX    48 /* lines that a tile reads from other tiles */
#define LINE_SLOTS_MAX   (LINE_TILE_MAX + LINE_HALO_MAX)
#define LINE_PATTERN_MAX 64        /* entries of a row, in the tiled kernel */
#define LINE_REACH_MAX   8         /* largest |dx| of an entry, in the tiled kernel */
#define LINE_EXTENT_MAX  (1 << 30) /* points along an axis */

/* Where coefficients come from. */
enum line_source {
    LINE_BOX,   /* CSR that holds every coupling inside the grid: positions are computed */
    LINE_LISTS, /* any other CSR: row pointers and columns are read */
    LINE_ARRAYS /* stencil arrays */
};

struct line_offset {
    int16_t x, y, z;
};

/* All blocks share this state in device memory. It is zero before the first solve, and each solve
 * prepares it for the next: `base` grows by the length of a line. So values of earlier solves in
 * `progress` mean "nothing solved yet" and need not be cleared. */
struct line_state {
    int64_t base;
    uint32_t ticket;    /* next tile (line) to hand out */
    uint32_t finished;  /* blocks that have left */
    uint32_t abandoned; /* 1: the solve is abandoned (handover.cuh) */
    uint32_t reserved;
    int64_t progress[1]; /* of each line: base + points solved; or base + 1: the line is marked */
};

/* One triangular system in sweep coordinates. A row consists of TERMS: term 0 is the diagonal,
 * terms 1..own lead to the row's own line (nearest first), and the rest lead to other lines, in
 * ascending order. Terms that lead to the same line form a GROUP. */
struct line_plan {
    int64_t points, lines;
    int32_t nx, ny, nz;
    int32_t shear; /* y' = y + shear * z: then dependences have dy' <= 0 */
    int32_t width; /* values of y' */
    int32_t step;  /* 1 upward, -1 downward, in the user's numbering */
    int32_t terms, own, groups;
    int32_t patterns; /* LINE_BOX: offsets that a row of the CSR may hold, */
    int32_t part;     /* of these the first ones, so many, are read as terms of the row itself, */
    int32_t reach;    /* and the largest |dx| among them */
    int32_t diagonal_ends; /* a line's rows end (1) or begin (-1) with their diagonal; 0: neither */
    enum line_source source;
    int32_t transpose, unit;
    int32_t marked; /* x is not b: x holds a sentinel until it is solved */
    gsw_itype index_type;
    int32_t index_base;
    int64_t nonzeros;
    int64_t step_y, step_z; /* LINE_ARRAYS: from line to line in the arrays, along y and z */

    const void *values; /* CSR: the user's array, */
    const void *first;  /* and its first element in sweep order */
    const void *row_ptr, *columns;
    const void *b;
    void *x;
    line_state *state;
    gsw_cuda_report *report;
    int64_t wait_limit_ns;
    int64_t withheld_line;

    line_offset term[GSW_STENCIL_MAX + 1];
    line_offset group[GSW_STENCIL_MAX]; /* x: the farthest ahead that the group reads */
    uint8_t group_of[GSW_STENCIL_MAX + 1];
    union {
        struct {
            line_offset offset[GSW_STENCIL_MAX]; /* ascending */
            uint8_t of_term[GSW_STENCIL_MAX + 1];
        } pattern;                              /* LINE_BOX */
        const void *array[GSW_STENCIL_MAX + 1]; /* LINE_ARRAYS: of each term, or NULL */
    };
};

/* How the tiled kernel cuts the work. */
struct line_tiling {
    int32_t tile_y, tile_z; /* lines of a tile in y' and z */
    int32_t tiles_y, tiles_z;
    int32_t rows;           /* of a subtask */
    int32_t skew_y, skew_z; /* points by which subtasks are shifted from line to line */
    int32_t workers;        /* D: warps that share a line */
    int32_t receivers;      /* warps that bring in other tiles' lines */
    int32_t halos;
    int32_t ring;         /* points that are kept of each line: a power of 2 */
    int32_t stage_values; /* of each of a worker's two places for coefficients */
    int32_t worker_bytes; /* of these and its table of terms */
    int32_t back;         /* farthest that a line reads back in another line */
    int64_t tiles;
    uint16_t exported;                                    /* lines that other tiles read, by bit */
    uint16_t consumers[LINE_SLOTS_MAX];                   /* of each slot: the lines that read it */
    uint8_t slot[LINE_TILE_MAX][LINE_GROUPS_MAX];         /* of each line: where its groups are */
    int32_t halo_y[LINE_HALO_MAX], halo_z[LINE_HALO_MAX]; /* from the tile's first line, y' and z */
};

/* What a block shares besides rings and scratch. */
struct alignas(16) tile {
    int64_t ticket;
    int64_t base; /* state->base */
    /* Entries of rows x < reach, and of rows x >= nx - reach, that stay in the grid along x. */
    uint64_t edge[2 * LINE_REACH_MAX];
    int64_t line[LINE_SLOTS_MAX];     /* its number, y + ny * z; -1 outside the grid */
    int32_t progress[LINE_SLOTS_MAX]; /* points in the ring */
    int32_t y, z;                     /* of the first line: y' and z */
    double zero[2];                   /* read where a row has no coupling; the rings follow */
};

/* Where a term of a worker's line is stored. A row is WHOLE if it is `reach` or more points away
 * from the ends of the line. Row x of the line that stores the term begins at begin + per_row * x
 * as long as no row from `reach` to x lacks an entry; `begin` accounts for the entries that the
 * first rows lack. */
struct alignas(16) line_term {
    int64_t begin;
    uint64_t pattern; /* entries of the line's whole rows, by bit */
    int32_t per_row;  /* their number */
    int32_t rank;     /* the term's place among them */
    uint32_t before;  /* offsets before the term's, by bit: the first 32 */
    int32_t missing;  /* entries that the rows before the first whole one lack */
    int32_t ring;     /* where the ring of the term's line begins; -1: the line does not exist */
};

/* Tiles (d - tz, tz) of an antidiagonal that can hold lines: a range of tz. */
GSW_HD void gsw_antidiagonal(const line_plan &plan, int32_t tile_y, int32_t tile_z, int32_t tiles_y,
                             int32_t tiles_z, int64_t d, int32_t *low, int32_t *count) {
    const int64_t slant = (int64_t)plan.shear * tile_z + tile_y;
    int64_t first = d - (tiles_y - 1), last = d;
    if (last > tiles_z - 1)
        last = tiles_z - 1;
    if (plan.shear > 0) {
        const int64_t end = gsw_floor_div(d * tile_y + tile_y - 1, slant);
        const int64_t begin =
            -gsw_floor_div(plan.ny - 1 + (int64_t)plan.shear * (tile_z - 1) - d * tile_y, slant);
        if (last > end)
            last = end;
        if (first < begin)
            first = begin;
    }
    if (first < 0)
        first = 0;
    *low = (int32_t)first;
    *count = last >= first ? (int32_t)(last - first + 1) : 0;
}

static_assert(sizeof(line_plan) + sizeof(line_tiling) <= 4096, "kernel parameters are limited");

/* Most threads of a block of the tiled kernel. */
#define LINE_THREADS(terms) 640

/* The kernels for one pair of types; see line_kernel.cuh. */
struct line_kernels {
    const void *staged[4]; /* at most line_terms[k] terms; rows of CSR entries read across lanes */
    const void *direct[2]; /* at most line_direct_terms[k] terms; each lane reads its own row */
    const void *general;   /* any stencil, without tiles */
};

extern const int line_terms[4];
extern const int line_direct_terms[2];

const line_kernels *line_kernels_f64(void);   /* fp64 values and vectors */
const line_kernels *line_kernels_mixed(void); /* fp32 values, fp64 vectors */
const line_kernels *line_kernels_f32(void);

#endif
