/* multigrid_internal.h: a hierarchy as its set-up, its cycles and its interface see it. */
#ifndef GSW_MULTIGRID_INTERNAL_H
#define GSW_MULTIGRID_INTERNAL_H

#include <gridsweep/factor.h>
#include <gridsweep/multigrid.h>
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "geometry/multigrid.h"

enum { GSW_LEVELS_MAX = 64 }; /* an extent below 2^62 is halved fewer times, and only one is left */

/* Arrays of one block of backend memory, as a matrix. */
typedef struct gsw_level_arrays {
    void *block; /* NULL: the values are those of others */
    void *values[GSW_STENCIL_MAX];
    int32_t mirrored; /* arrays before this one are later ones, shifted */
} gsw_level_arrays;

typedef struct gsw_level {
    gsw_matrix matrix;  /* fp64; on the finest level the user's, valid during set-up only */
    gsw_matrix product; /* of the cycle's type */
    gsw_level_arrays setup, cycle;
    int64_t points;
    gsw_survey survey;
    int coarsest;
    gsw_smoother smoother;
    int fell_back;              /* its ILU(0) does not serve as a smoother */
    gsw_factor *first, *second; /* GS: D + L and D + U; else the factor alone. SYMGS: SSOR's */
    int64_t slab;               /* GS: planes of the slabs that those sweep, or 0 */
    void *reciprocal;           /* GS, SYMGS on the arrays themselves: of the diagonal */

    /* To the next level; NULL on the coarsest. */
    gsw_transfer *transfer;
    gsw_level_arrays prolongation, restriction; /* the same values where P = R^T */
    int64_t degenerate;

    /* The coarsest, where it is solved directly; else NULL. */
    double *inverse, *dense_work;

    /* Vectors of the cycle's type. Those of the finest level are set by each application. */
    void *b, *x;
    void *residual;
    void *direction; /* Chebyshev */
    double *probe;   /* ILU(0) in fp32: what gsw_smoother_probe() measures */
    int64_t bytes;
} gsw_level;

struct gsw_multigrid {
    gsw_context *context;
    gsw_multigrid_options options; /* defaults resolved */
    int usable;                    /* holds values */
    int symmetric, singular;
    int levels;
    gsw_level *level[GSW_LEVELS_MAX];
    void *own_b, *own_x; /* vectors of the finest level, where the user's do not serve */
    double *scale;       /* fp32: what the solution is multiplied by */
    int64_t bytes;       /* of these three */
};

/* Backend memory, counted in *bytes. */
gsw_status gsw_multigrid_alloc(gsw_context *context, size_t count, size_t size, int64_t *bytes,
                               void **pointer);

/* Builds the levels of an empty hierarchy, or fills those it has with the values of a matrix. */
gsw_status gsw_multigrid_build(gsw_multigrid *multigrid, const gsw_matrix *matrix);
gsw_status gsw_multigrid_fill(gsw_multigrid *multigrid, const gsw_matrix *matrix);

/* Frees the levels. */
void gsw_multigrid_clear(gsw_multigrid *multigrid);

/* Factors of a level's smoother, made or filled anew. */
gsw_status gsw_smoother_fill(gsw_multigrid *multigrid, gsw_level *level);

/* Whether the level's ILU(0), which has been made, serves as a smoother. Overwrites the level's
 * vectors. */
gsw_status gsw_smoother_probe(gsw_multigrid *multigrid, gsw_level *level, int *serves);

/* One cycle from zero for level 0, whose b and x are set. */
gsw_status gsw_multigrid_cycle(gsw_multigrid *multigrid);

#endif
