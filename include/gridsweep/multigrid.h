/* gridsweep/multigrid.h: structured multigrid around exact sweeps.
 *
 * A gsw_multigrid is a hierarchy of coarser grids made from a matrix on a grid: black-box
 * interpolation from the matrix's own coefficients, coarse matrices by the triple product R A P,
 * and sweeps in natural order as smoothers on every level. It takes a right-hand side and returns
 * an approximate solution: a preconditioner, and the heart of a solver of its own.
 *
 * Each level coarsens the axes along which its matrix couples most strongly (semi-coarsening), so
 * anisotropic matrices need no special smoother. Grids of any extents work: n points along a
 * coarsened axis become (n + 1) / 2. Stencils may reach 2 points along each axis.
 *
 *   smoother      one step before the coarse correction    one step after it
 *   GS            a Gauss-Seidel sweep upwards             a sweep downwards
 *   SYMGS         a sweep upwards, a sweep downwards       the same
 *   ILU0          x += (L U)^-1 (b - A x)                  the same
 *   ILU0_FINEST   as ILU0 on the finest level, as GS on the others
 *   JACOBI        x += 2/3 D^-1 (b - A x)                  the same
 *   CHEBYSHEV     a Chebyshev polynomial of degree 2 in D^-1 A
 *   MULTICOLOR    Gauss-Seidel in eight colours, upwards   the same downwards
 *
 * A point's colour is the parity of its indices. MULTICOLOR does both directions in each step where
 * the matrix is not symmetric. A level whose stencil reaches farther than one point uses GS or
 * SYMGS instead. AUTO is GS for a symmetric matrix and SYMGS for others. On CUDA AUTO does not make
 * coarse levels wait for themselves, as a sweep in natural order does there: where the matrix is
 * symmetric it sweeps slabs of four planes at once, each in natural order, with what lies between
 * two slabs on the right-hand side. That has cost no iteration in anything that has been tried.
 * Levels that are long in x or y for their size get MULTICOLOR. The finest level is always swept as
 * a whole, and with GS every level is.
 *
 * INJECTION is HPCG's interpolation, far cheaper and far weaker: P copies a coarse value to the one
 * fine point at its place, R = P^T, and the coarse matrix takes the fine one's coefficients as they
 * are, without couplings that leave the coarse grid. All axes of more than 2 points are coarsened.
 * The stencil may have any reach. It suits matrices of constant coefficients: where they vary, the
 * coarse matrices of a symmetric matrix are not symmetric, and gsw_multigrid_info says so.
 *
 * A symmetric matrix gives a symmetric operator with V and W cycles and every smoother, so that CG
 * can use it. (An F cycle's operator is not exactly symmetric.) For other matrices the restriction
 * is made from the symmetric part, and SYMGS is the smoother that serves.
 *
 * An fp32 cycle costs half the bytes and, in CG and BiCGSTAB, at most one iteration more in nearly
 * all that has been tried. GMRES wants a linear preconditioner more exactly than fp32 rounds: there
 * it stops short of 1e-7 per restart.
 *
 * A coarse ILU(0) can meet a bad pivot, or enlarge errors although its pivots are good: some steps
 * of a power iteration show that. Such a level uses GS, or SYMGS where the matrix is not symmetric,
 * and gsw_multigrid_info counts it.
 *
 * Rows with nothing but a diagonal, x_i = b_i, may stand anywhere in the grid, and their diagonals
 * may have any size. Their columns may stay, but without them a symmetric matrix stays symmetric.
 * Matrices whose rows all add up to 0 are known to be singular: tell the Krylov method, too
 * (nullspace). For other singular matrices the direct solve is a generalised inverse.
 *
 * Both backends make and apply a hierarchy where the matrix is. On CUDA the set-up runs on the
 * device: the host reads each level's survey, which decides what the next level is, and inverts the
 * coarsest matrix where that is nearly singular. An application is queued on the context's stream,
 * allocates nothing and does not wait. Iterations on the two differ by one at most in what
 * has been tried: CUDA solves larger levels directly, and extends coarse stencils to named ones.
 *
 * Sources: Dendy, Black box multigrid, J. Comput. Phys. 48 (1982), and Appl. Math. Comput. 13
 * (1983); Trottenberg, Oosterlee and Schueller, Multigrid (2001), for cycles. */
#ifndef GRIDSWEEP_MULTIGRID_H
#define GRIDSWEEP_MULTIGRID_H

#include <gridsweep/preconditioner.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_smoother {
    GSW_SMOOTHER_AUTO = 0, /* GS for a symmetric matrix, SYMGS for others; see above for CUDA */
    GSW_SMOOTHER_GS = 1,
    GSW_SMOOTHER_SYMGS = 2,
    GSW_SMOOTHER_ILU0 = 3,
    GSW_SMOOTHER_ILU0_FINEST = 4,
    GSW_SMOOTHER_JACOBI = 5,
    GSW_SMOOTHER_CHEBYSHEV = 6,
    GSW_SMOOTHER_MULTICOLOR = 7
} gsw_smoother;

typedef enum gsw_cycle { GSW_CYCLE_V = 0, GSW_CYCLE_F = 1, GSW_CYCLE_W = 2 } gsw_cycle;

typedef enum gsw_interpolation {
    GSW_INTERPOLATION_BLACK_BOX = 0,
    GSW_INTERPOLATION_INJECTION = 1
} gsw_interpolation;

/* All members but `size` are 0 for the defaults. */
typedef struct gsw_multigrid_options {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_smoother smoother;
    gsw_cycle cycle;
    int pre_sweeps;       /* smoothing steps before each coarse correction; 0 means 1 */
    int post_sweeps;      /* and after it; 0 means 1. CG needs as many as before */
    gsw_dtype cycle_type; /* of the whole cycle: its matrices, factors and vectors. The set-up and
                             the direct solve are always in fp64 */
    double theta;         /* coarsen the axes whose coupling is at least theta times the strongest,
                             0 < theta <= 1; 0 means 0.25 */
    int64_t coarsest_points; /* a level of at most so many points is solved directly; 0 means 200,
                                on CUDA 520; at most 2000 */
    gsw_interpolation interpolation; /* INJECTION does not look at theta */
    int max_levels; /* at most 64; 0 means as many as the direct solve needs. Where the last of so
                       many levels has more points than coarsest_points, it is not solved but
                       smoothed by one step (SYMGS in place of GS), and the level says so */
} gsw_multigrid_options;

typedef struct gsw_multigrid gsw_multigrid;

/* What a hierarchy is. Filled by the library, as many bytes as `size` says. */
typedef struct gsw_multigrid_info {
    size_t size; /* sizeof this struct, set by the caller */
    int levels;  /* the coarsest one included */
    gsw_smoother smoother;
    gsw_cycle cycle;
    gsw_dtype cycle_type;
    int symmetric;              /* the matrices of all levels are symmetric, and P = R^T */
    int singular;               /* every row's sum vanishes: constants are in the null space */
    int smoother_fallbacks;     /* levels where ILU(0) does not serve: a bad pivot, or it enlarges
                                   errors */
    double operator_complexity; /* couplings of all levels over those of the finest */
    double grid_complexity;     /* points of all levels over those of the finest */
    int64_t bytes;              /* all memory that the hierarchy keeps */
    int64_t degenerate_points;  /* fine points whose interpolation is the mean of its neighbours,
                                   because their couplings gave no weights */
    gsw_interpolation interpolation;
    int direct; /* the coarsest level is solved directly; 0: it is smoothed, see max_levels */
} gsw_multigrid_info;

/* One level, 0 the finest. Filled by the library, as many bytes as `size` says. */
typedef struct gsw_multigrid_level {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_grid grid;
    gsw_stencil stencil;
    int64_t points;
    int64_t couplings;         /* of its matrix, inside the grid */
    int axes;                  /* which are coarsened below: bit 0 x, bit 1 y, bit 2 z */
    double coupling[3];        /* mean share of a row's couplings along each axis */
    int direct;                /* solved directly; only the coarsest can be */
    gsw_smoother smoother;     /* the one that serves here */
    int64_t degenerate_points; /* of the interpolation to this level */
    int64_t bytes;
} gsw_multigrid_level;

/* Makes a hierarchy from a matrix. `options` may be NULL. The matrix is read, and no pointer to it
 * is kept. Its diagonal must not hold zeros.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (black-box interpolation with a stencil that reaches
 * farther than 2; fp32 cycles for values beyond the range of fp32), OVERFLOW, OUT_OF_MEMORY,
 * NOT_A_GRID, ZERO_PIVOT (a zero or not finite diagonal, with its row; a coarsest matrix that is
 * zero or not finite). */
GSW_API
gsw_status gsw_multigrid_create(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_multigrid_options *options, gsw_multigrid **multigrid);

/* Takes new values for the same grid and stencil. The levels keep their grids, so the axes to
 * coarsen are those of the first matrix. A matrix that is symmetric must stay so. Allocates
 * nothing, except where a level's ILU(0) does not serve any more. A refused argument changes
 * nothing. After an error in the values every call except this one refuses the hierarchy. Errors as
 * above. */
GSW_API
gsw_status gsw_multigrid_refactor(gsw_context *context, gsw_multigrid *multigrid,
                                  const gsw_matrix *matrix);

/* x = one cycle for A x = b from the guess 0. b and x hold one fp64 value per point of the finest
 * grid, in the context's memory; x may be b. Allocates nothing. The same bits for any number of
 * threads. NaN and infinity in b come out as such. Errors: INVALID_ARGUMENT. */
GSW_API
gsw_status gsw_multigrid_apply(gsw_context *context, gsw_multigrid *multigrid, const double *b,
                               double *x);

/* Makes a preconditioner that applies one cycle. The hierarchy stays the user's and must outlive
 * the preconditioner; gsw_multigrid_refactor() gives both new values. On failure *preconditioner is
 * NULL. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_preconditioner_from_multigrid(gsw_context *context, gsw_multigrid *multigrid,
                                             gsw_preconditioner **preconditioner);

/* Fill *info and *description. Errors: INVALID_ARGUMENT (NULL, size, no such level). */
GSW_API
gsw_status gsw_multigrid_get_info(const gsw_multigrid *multigrid, gsw_multigrid_info *info);
GSW_API
gsw_status gsw_multigrid_get_level(const gsw_multigrid *multigrid, int level,
                                   gsw_multigrid_level *description);

/* A matrix of the hierarchy as a user would write it, as host CSR in fp64: the matrix of a level
 * that is not the finest, the interpolation P from level + 1 to `level`, or the restriction R from
 * `level` to level + 1. `columns` of P and R count the points of the other level. Entries that are
 * zero are left out of P and R. Free with gsw_csr_free().
 * Errors: INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY. */
typedef enum gsw_multigrid_part {
    GSW_MULTIGRID_MATRIX = 0,
    GSW_MULTIGRID_PROLONGATION = 1,
    GSW_MULTIGRID_RESTRICTION = 2
} gsw_multigrid_part;
GSW_API
gsw_status gsw_multigrid_extract(gsw_context *context, const gsw_multigrid *multigrid, int level,
                                 gsw_multigrid_part part, gsw_csr *csr);

/* "auto", "gs", "symgs", "ilu0", "ilu0-finest", "jacobi", "chebyshev", "multicolor"; "V", "F",
 * "W". */
GSW_API
const char *gsw_smoother_name(gsw_smoother smoother);
GSW_API
const char *gsw_cycle_name(gsw_cycle cycle);

/* Frees a hierarchy; NULL is allowed. */
GSW_API
void gsw_multigrid_destroy(gsw_multigrid *multigrid);

#ifdef __cplusplus
}
#endif

#endif
