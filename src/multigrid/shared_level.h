/* shared_level.h: a level of a hierarchy whose points several processes share.
 *
 * Levels are cut where the finest one is. For the set-up each process computes the weights and the
 * coarse rows with the kernels of one process, on a frame around its box that is wide enough: what
 * the edge of the frame makes wrong does not reach the box. So the weights and the coarse matrix
 * are those of one process, but for rounding. In a cycle the frames are narrow.
 *
 * The level after the last shared one is *brought together*: every process has all its points, and
 * that level and those after it are as on one process.
 *
 * On devices the vectors of a shared level have GSW_MARGIN more planes, or reach the ends of the
 * grid, on both sides of the box; frames are parts of them. Ghosts of x are exchanged before each
 * product. Transfers work on whole frames, and what they write to ghosts is not used. */
#ifndef GSW_SHARED_LEVEL_H
#define GSW_SHARED_LEVEL_H

#include "hierarchy.h"
#include "matrix/distributed_rows.h"
#include "sweep/distributed_internal.h"

enum { GSW_MARGIN = 3 };

struct gsw_shared_level {
    gsw_partition *partition;    /* of level 0: the user's */
    gsw_distributed_matrix *own; /* the rows of the box */
    gsw_distributed_rows rows;   /* of the wide frame; of the grid where brought together */
    int together;
    void *block; /* memory of the level's vectors; brought together: of level 0's b and x, */
    void *b;     /* and this is b of the box, except on devices */
    const void *values[GSW_STENCIL_MAX]; /* devices: of level->product */

    /* The smoother: sweeps upwards and downwards, the same where it has one. */
    gsw_distributed_factor *before, *after;
    int takes_rest; /* sweeps take b - N x (multigrid_ops.h) in place of a residual */
    int64_t planes; /* then: of sections, as gsw_slab_rest has them */

    /* To the next level. */
    gsw_level_arrays product;   /* its rows in the wide frame */
    gsw_transfer tables;        /* between narrow frames */
    gsw_ghosts fine, coarse;    /* of these frames, on the two levels */
    gsw_level_arrays narrow[2]; /* CPU: their weights, of P and R */
    void *prolongation[GSW_WEIGHTS_MAX], *restriction[GSW_WEIGHTS_MAX];
    void *frames; /* CPU: vectors of the frames */
    double *fine_frame, *coarse_frame;
};

/* Whether several processes share the level's vectors. */
static inline int gsw_level_is_shared(const gsw_level *level) {
    return level->shared && !level->shared->together;
}

/* Makes a level one of several processes; it takes the partition (but that of level 0) and the rows
 * over, also on failure. */
gsw_status gsw_shared_open(const gsw_multigrid *mg, gsw_partition *partition,
                           gsw_distributed_matrix *own, gsw_level *level);

/* Opens the level's matrix: rows of the wide frame, or, where it is small or thin, of the whole
 * grid. gsw_distributed_rows_fetch() brings their values. The second one brings a level together
 * that has the former, with values. Collective. */
gsw_status gsw_shared_open_rows(const gsw_multigrid *mg, int number);
gsw_status gsw_shared_bring_together(const gsw_multigrid *mg, int number);

/* The rows of the box, as the cycle takes them: in fp32 those of the frame's copy. */
void gsw_shared_find_product(const gsw_multigrid *mg, gsw_level *level);

/* Opens the vectors of a shared level. */
gsw_status gsw_shared_open_vectors(const gsw_multigrid *mg, gsw_level *level);

/* The partition of the next level; NULL: there is none on several processes. Collective. */
gsw_status gsw_shared_coarsen(const gsw_level *level, int axes, gsw_partition **coarse);

/* Opens the transfer of a shared level, whose tables for the wide frame exist, and the next level.
 * The first one is not collective. */
gsw_status gsw_shared_open_product(const gsw_multigrid *mg, gsw_level *level);
gsw_status gsw_shared_open_transfer(const gsw_multigrid *mg, int number, gsw_partition *coarse);

/* Takes the weights, and the next level's own rows, from the wide frame. */
gsw_status gsw_shared_take_product(const gsw_level *level, const gsw_level *next);

/* y = b - the part times x, where x is the level's; b may be NULL for zeros. */
gsw_status gsw_shared_rest(const gsw_multigrid *mg, const gsw_level *level, gsw_slab_part part,
                           const void *b, void *y);

/* b of the next level = R times the level's residual; x += P times x of the next level. */
gsw_status gsw_shared_restrict(const gsw_multigrid *mg, const gsw_level *level,
                               const gsw_level *next);
gsw_status gsw_shared_prolong_add(const gsw_multigrid *mg, const gsw_level *level,
                                  const gsw_level *next);

/* Where the finest level is brought together: its vectors from those of the boxes, and back. */
gsw_status gsw_shared_gather(const gsw_multigrid *mg, const double *b, double **whole_b,
                             double **whole_x);
gsw_status gsw_shared_keep(const gsw_multigrid *mg, const double *whole_x, double *x);

/* Brings values that each process has narrowed by its own factor to one factor for all: that of the
 * largest entry. */
gsw_status gsw_shared_scale(const gsw_multigrid *mg, const double *b, float *narrowed);

/* Frees the factors of the smoother. */
void gsw_shared_drop_factors(gsw_shared_level *shared);

/* Frees what a level has in common with others but its vectors' owner; collective, levels with
 * coarser ones first. The transfers of all levels are closed before. */
void gsw_shared_close_transfer(gsw_level *level);
void gsw_shared_close(gsw_level *level, int number);

#endif
