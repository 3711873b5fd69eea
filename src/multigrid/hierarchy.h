/* hierarchy.h: the parts of a hierarchy that its set-up, its cycles and its interface share. */
#ifndef GSW_HIERARCHY_H
#define GSW_HIERARCHY_H

#include <gridsweep/factor.h>
#include <gridsweep/multigrid.h>
#include "box_rows.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "geometry/multigrid.h"
#include "geometry/seam_level.h"
#include "geometry/squeeze.h"
#include "domain/lakes.h"
#include "domain/masked.h"
#include "space/partition.h"
#include "sweep/relax_loop.h"

enum { GSW_LEVELS_MAX = 64 }; /* an extent of at most 2^48 is halved fewer than 64 times */

#define GSW_JACOBI_WEIGHT (2.0 / 3)

enum { GSW_CHEBYSHEV_DEGREE = 2 };
#define GSW_CHEBYSHEV_SHARE                                                                        \
    0.25 /* of the spectrum's upper bound: the polynomial damps above it                           \
          */

typedef struct gsw_shared_level gsw_shared_level; /* shared_level.h */

typedef struct gsw_level {
    gsw_matrix matrix;  /* fp64; on the finest level the user's, valid during set-up only; on a
                           shared level that of a frame around the box */
    gsw_matrix product; /* of the cycle's type; on a shared level the rows of the box */
    gsw_level_arrays setup, cycle;
    int64_t points;           /* of this process */
    gsw_shared_level *shared; /* several processes have its points, or bring them together; NULL:
                                 neither */
    gsw_wrapped around; /* the couplings around a periodic grid, which the matrices do not have */
    gsw_survey survey;
    int coarsest;
    gsw_smoother smoother;
    int fell_back;                  /* its ILU(0) is no usable smoother */
    gsw_gauss_seidel *gauss_seidel; /* GS, SYMGS, */
    int64_t smoother_bytes;         /* and its size */
    gsw_factor *ilu;                /* ILU0 */
    gsw_relax_loop loop;            /* JACOBI, CHEBYSHEV */

    /* To the next level; NULL on the coarsest. */
    gsw_transfer *transfer;
    gsw_level_arrays prolongation, restriction; /* the same values where P = R^T */
    int64_t degenerate;
    gsw_seam_level *seam; /* on a periodic grid: the cycle's tables, */
    double *seam_block;   /* and the memory of their arrays */

    /* The coarsest, where it is solved directly; else NULL. */
    double *inverse, *dense_work;

    /* Vectors of the cycle's type. b and x of the finest level are set by each application. A loop
     * exchanges x and residual. */
    void *b, *x;
    void *residual;
    void *direction;   /* Chebyshev's p where a polynomial takes several passes; a shared level's
                          step */
    void *sheared;     /* on a periodic grid: b - W x of a loop, */
    double *saved;     /* and values of the seam */
    int64_t turned[3]; /* planes by which the level is turned against the transfer to it, */
    void *turn;        /* and then a vector of its points as that transfer numbers them */
    double *probe;     /* ILU(0) in fp32: the vector that its trial measures */
    int64_t bytes;
} gsw_level;

struct gsw_multigrid {
    gsw_context *context;
    gsw_multigrid_options options; /* defaults resolved */
    int usable;                    /* holds values */
    int symmetric, singular;
    int mixed;   /* AUTO: the axis of strong couplings varies, so that ILU(0) smooths */
    int judged;  /* AUTO: how often the smoother has been judged by a solve, */
    double rate; /* and the rate with the first one */
    int levels;
    gsw_level *level[GSW_LEVELS_MAX]; /* those that are not shared are of the squeezed grid */
    gsw_grid grid;                    /* the user's, and the stencil */
    gsw_stencil stencil;
    gsw_partition *partition; /* NULL: of one process */
    int shared_levels;        /* the next one is brought together, and those after it are whole */
    gsw_squeezed squeezed;    /* the matrix of the first level that is not shared; valid during
                                 set-up only, but for the axes */
    int64_t planes;           /* of gsw_box_rows, or 0 */
    gsw_box_rows *known;      /* during set-up: rows of the user's matrix that are known, or NULL */
    gsw_masked masked;        /* the mask of the finest level, */
    gsw_lakes lakes;          /* and its lakes */
    void *own_b, *own_x;      /* vectors of the finest level, where the user's cannot be used */
    double *scale;            /* fp32: factor of the solution */
    void *tiles;              /* host memory of the loops' passes; NULL: they need none, */
    size_t tiles_bytes;       /* and its size */
    int64_t bytes;            /* of own_b, own_x, scale and tiles */
};

/* gsw_multigrid_create() of a matrix on a partition, also of one process. */
gsw_status gsw_multigrid_create_shared(gsw_context *context, const gsw_matrix *matrix,
                                       const gsw_multigrid_options *options,
                                       gsw_multigrid **multigrid);

/* gsw_multigrid_create() of a matrix whose rows are known, or NULL. It takes them over where its
 * levels can use them. */
gsw_status gsw_multigrid_create_known(gsw_context *context, const gsw_matrix *matrix,
                                      const gsw_multigrid_options *options, gsw_box_rows *known,
                                      gsw_multigrid **multigrid);

/* Builds the levels of an empty hierarchy, or fills existing levels with the values of a matrix.
 * Collective. `rows`: those of this process, where several share the matrix; the finest level
 * takes them over, also on failure. */
struct gsw_distributed_matrix;
gsw_status gsw_multigrid_build(gsw_multigrid *multigrid, const gsw_matrix *matrix,
                               struct gsw_distributed_matrix *rows);
gsw_status gsw_multigrid_fill(gsw_multigrid *multigrid, const gsw_matrix *matrix);

/* The survey of the finest level. */
const gsw_survey *gsw_multigrid_survey(const gsw_multigrid *multigrid);

/* Frees the levels. */
void gsw_multigrid_clear(gsw_multigrid *multigrid);

/* Whether couplings are strong along one axis here and along another one there, as on grids that
 * are stretched in several directions. Sweeps leave errors there that no coarsening of whole axes
 * reaches. */
int gsw_smoother_sees_mixed(const gsw_survey *survey);

/* The smoother of a level whose grid and stencil are known. */
gsw_smoother gsw_smoother_choose(const gsw_multigrid *multigrid, int number);

/* Opens the loop of a smoother JACOBI or CHEBYSHEV, whose matrix may be still without values, and
 * the vector that only it needs. */
gsw_status gsw_smoother_open_loop(gsw_multigrid *multigrid, gsw_level *level);

/* Opens what a level's smoother needs and does not have yet. The matrix may be still without
 * values. */
gsw_status gsw_smoother_open(gsw_multigrid *multigrid, gsw_level *level);

/* Queues the values of an open smoother; waits for them; and frees what open made. */
gsw_status gsw_smoother_fill(gsw_multigrid *multigrid, gsw_level *level);
gsw_status gsw_smoother_await(gsw_multigrid *multigrid, gsw_level *level);
void gsw_smoother_close(gsw_multigrid *multigrid, gsw_level *level);

/* AUTO: whether the smoother is to change after a cycle has left `rate` of a residual; and the
 * change. It leaves the matrices as they are. */
int gsw_smoother_judge(gsw_multigrid *multigrid, double rate);
gsw_status gsw_smoother_change(gsw_multigrid *multigrid);

/* Allocates a level's vectors for its smoother, where it lacks them. */
gsw_status gsw_smoother_open_vectors(gsw_multigrid *multigrid, gsw_level *level);

/* A factor that may serve as a smoother, for vectors of `type`, which are overwritten. */
typedef struct gsw_smoother_trial {
    gsw_context *context;
    int64_t points; /* of this process */
    gsw_dtype type;
    void *x, *residual;
    double *wide, *scale; /* fp32: a vector in fp64, and a number */
    double row_ratio;     /* of the survey */
    int singular;
    int shared; /* several processes share the level */
    gsw_status (*multiply)(void *user, const void *x, void *y); /* y = A x */
    gsw_status (*apply)(void *user, const void *r, void *x);    /* x = M^-1 r */
    void *user;
} gsw_smoother_trial;

/* Whether a step with the factor reduces errors. */
gsw_status gsw_smoother_probe(const gsw_smoother_trial *trial, int *serves);

/* One cycle from zero for level 0, whose b and x are set. */
gsw_status gsw_multigrid_cycle(gsw_multigrid *multigrid);

#endif
