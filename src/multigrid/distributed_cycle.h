/* distributed_cycle.h: a hierarchy on several processes, as its set-up and its cycle share it. */
#ifndef GSW_DISTRIBUTED_CYCLE_H
#define GSW_DISTRIBUTED_CYCLE_H

#include "sweep/distributed_internal.h"
#include "distributed_transfer.h"
#include "hierarchy.h"

typedef struct gsw_distributed_level {
    gsw_partition *partition;       /* level 0: the user's */
    gsw_distributed_matrix *matrix; /* likewise */
    int64_t points;                 /* of the box */
    gsw_survey survey;
    gsw_smoother smoother;                  /* not AUTO */
    int fell_back;                          /* its ILU(0) is no usable smoother */
    gsw_distributed_factor *before, *after; /* of the smoother; the same where it has one */
    gsw_distributed_transfer transfer;
    gsw_matrix product; /* devices: the rows of the box, of the cycle's type */
    const void *values[GSW_STENCIL_MAX];
    void *cycle;                   /* memory of these arrays, where they are not the matrix's */
    void *block;                   /* of the vectors, which have the cycle's type */
    void *b, *x, *residual, *step; /* some smoothers need a step */
    int takes_rest; /* sweeps take b - N x (multigrid_ops.h) in place of a residual */
    int64_t planes; /* then: of sections, as gsw_slab_rest has them */
} gsw_distributed_level;

typedef struct gsw_distributed_multigrid {
    gsw_partition *partition;
    gsw_multigrid_options options; /* defaults resolved */
    int symmetric, singular;
    int sections; /* AUTO: coarse levels may be swept in sections, as backends prefer them */
    int levels;   /* on several processes, the one that all processes bring together included */
    gsw_distributed_level level[GSW_LEVELS_MAX];
    gsw_multigrid *rest; /* from the last of these levels on */
    gsw_ghosts whole;    /* of that level */
    void *all;           /* its vectors b and x */
    double *scale;       /* fp32: see gsw_multigrid_ops.narrow */
} gsw_distributed_multigrid;

/* Creates the hierarchy of a matrix, which must outlive it; the options are resolved. The next one
 * computes it anew from the present values; the levels may change. Collective. On failure the first
 * leaves *multigrid NULL. */
gsw_status gsw_distributed_multigrid_create(gsw_distributed_matrix *matrix,
                                            const gsw_multigrid_options *options,
                                            gsw_distributed_multigrid **multigrid);
gsw_status gsw_distributed_multigrid_refactor(gsw_distributed_multigrid *mg);

/* x = M^-1 b; x may be b. The next two are for cycles in fp32 (gsw_preconditioner_ops.narrow).
 * Collective. */
gsw_status gsw_distributed_multigrid_apply(gsw_distributed_multigrid *mg, const double *b,
                                           double *x);
int gsw_distributed_multigrid_narrow(const gsw_distributed_multigrid *mg, float **b, float **x);
gsw_status gsw_distributed_multigrid_apply_narrow(gsw_distributed_multigrid *mg);

/* Describes it; not collective. */
gsw_status gsw_distributed_multigrid_get_info(const gsw_distributed_multigrid *mg,
                                              gsw_multigrid_info *info);

/* NULL is allowed. */
void gsw_distributed_multigrid_destroy(gsw_distributed_multigrid *mg);

/* The type of the vectors of several processes. One level alone has the user's fp64 vectors. */
gsw_dtype gsw_distributed_cycle_type(const gsw_distributed_multigrid *multigrid);

/* One cycle from zero for vectors of that type. */
gsw_status gsw_distributed_cycle(gsw_distributed_multigrid *multigrid, const void *b, void *x);

#endif
