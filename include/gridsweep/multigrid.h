/* gridsweep/multigrid.h: structured multigrid with exact sweeps as smoothers.
 *
 * Use multigrid for large grids with diffusion or pressure: its number of iterations hardly grows
 * with the grid. For small time steps, convection, or strong coupling along one axis a factor
 * (factor.h) is usually better. If you are not sure, gsw_solve() in solve.h compares both.
 *
 * - As a preconditioner: gsw_multigrid_create(), gsw_preconditioner_from_multigrid(), then gsw_cg()
 *   for a symmetric matrix, gsw_bicgstab() for others (krylov.h).
 * - As a solver of its own: the same with gsw_richardson().
 * - One cycle in a method of your own: gsw_multigrid_apply().
 * - New values in each time step: gsw_multigrid_refactor() instead of a new hierarchy.
 * - Reports and tests: gsw_multigrid_get_info(), gsw_multigrid_get_level() and
 *   gsw_multigrid_extract().
 *
 * A gsw_multigrid is a hierarchy of coarser grids, created from a matrix on a grid. Its
 * interpolation comes from the matrix's own coefficients (black-box interpolation). Its coarse
 * matrices are the triple products R A P. Its smoothers are sweeps in natural order on every level.
 * It takes a right-hand side and returns an approximate solution.
 *
 * Each level coarsens the axes along which its matrix couples most strongly (semi-coarsening), so
 * anisotropic matrices need no special smoother. Grids of any extents work: n points along a
 * coarsened axis become (n + 1) / 2. Stencils may reach 2 points along each axis. Then P, R and the
 * coarse matrix come from the matrix whose far couplings are moved to neighbours, with the same row
 * sums and second moments along the axes. Smoothers use the matrix itself.
 *
 * With a mask (matrix.h) the hierarchy is built from a matrix that is extended weakly into the
 * inactive points. Lakes, the basins beside the largest one, get their means corrected by
 * themselves in each cycle, where their rows nearly add up to 0.
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
 * AUTO is the usual choice: GS for a symmetric matrix, SYMGS for others. A Krylov method judges it
 * by the fourth to sixth cycle of its first solve. Where a cycle leaves more than 0.63 of the
 * residual, as on stretched grids, ILU0 takes over (on CUDA ILU0_FINEST), and the method begins
 * again from its x. Six cycles later ILU0 is judged in turn: it stays if it gains 1.6 times the
 * digits, else the first smoother comes back for good. A judged hierarchy is not judged again.
 * gsw_multigrid_apply() never judges, and a smoother that is named never changes. A point's colour
 * is the parity of its indices. MULTICOLOR does both directions in each step if the matrix is not
 * symmetric. A level whose stencil reaches farther than one point uses GS or SYMGS in place of
 * MULTICOLOR.
 *
 * On CUDA a sweep in natural order is slow on small levels, because its blocks wait for each other.
 * AUTO avoids this. If the matrix is symmetric, it sweeps sections of a level at the same time,
 * each in natural order. Couplings between two sections then count to the right-hand side. Sections
 * of coarse levels have four planes, and 16 lines where the level has at most 2^21 points. A finest
 * level of at most 2^22 points is cut into 16 planes by 32 lines, one of at most 2^24 into 64 by
 * 64; a larger one, and one that processes share, is swept as a whole. Over 26 problems this costs
 * 5 iterations of 310, and saves a tenth of the time. Levels that are long in x or y for their size
 * get MULTICOLOR. With GS every level is swept as a whole.
 *
 * INJECTION is HPCG's interpolation, far cheaper and far weaker than black-box interpolation. P
 * copies a coarse value to the one fine point at its place, and R = P^T. The coarse matrix takes
 * the coefficients of the fine one unchanged, without couplings that leave the coarse grid. All
 * axes of more than 2 points are coarsened. The stencil may have any reach. Use it for matrices of
 * constant coefficients. If they vary, the coarse matrices of a symmetric matrix are not symmetric,
 * and gsw_multigrid_info reports this.
 *
 * A symmetric matrix gives a symmetric operator with V and W cycles and every smoother, so that CG
 * can use it. An F cycle's operator is not exactly symmetric. For a matrix that is not symmetric,
 * the restriction comes from the symmetric part; use SYMGS.
 *
 * An fp32 cycle moves half the bytes. In CG and BiCGSTAB it cost at most one more iteration in
 * nearly all tests. GMRES needs a preconditioner that is more exactly linear than fp32 rounding
 * allows: it then stops short of 1e-7 per restart.
 *
 * A coarse ILU(0) can meet a bad pivot. It can also enlarge errors although its pivots are good; a
 * few steps of a power iteration detect this. Such a level uses GS, or SYMGS if the matrix is not
 * symmetric, and gsw_multigrid_info counts it.
 *
 * Rows with only a diagonal, x_i = b_i, may be anywhere in the grid, and their diagonals may have
 * any size. Their columns may stay. If you remove them, a symmetric matrix stays symmetric. A
 * matrix whose rows all add up to 0 is recognised as singular; set `nullspace` of the Krylov method
 * as well. For other singular matrices the direct solve is a generalised inverse.
 *
 * Both backends create and apply a hierarchy where the matrix is. On CUDA the set-up runs on the
 * device; factors of smoothers are packed on a stream of their own, which the context's stream
 * waits for. The host reads a survey of each level, which decides what the next level is. It also
 * inverts the coarsest matrix if that is nearly singular. An application is queued on the context's
 * stream, allocates nothing and does not wait. In tests the iterations on the two backends differed
 * by at most one, in a channel with periodic axes by two. They differ because CUDA solves larger
 * levels directly, extends coarse stencils to named ones, and sweeps sections.
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

/* For the defaults set all members except `size` to 0. */
typedef struct gsw_multigrid_options {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_smoother smoother;
    gsw_cycle cycle;
    int pre_sweeps;       /* smoothing steps before each coarse correction; 0 means 1 */
    int post_sweeps;      /* smoothing steps after it; 0 means 1. CG needs as many as before */
    gsw_dtype cycle_type; /* of the whole cycle: its matrices, factors and vectors. The set-up and
                             the direct solve are always in fp64 */
    double theta;         /* coarsen the axes whose coupling is at least theta times the strongest,
                             0 < theta <= 1; 0 means 0.25 */
    int64_t coarsest_points; /* a level of at most this many points is solved directly; 0 means 200,
                                on CUDA 520; at most 2000 */
    gsw_interpolation interpolation; /* INJECTION ignores theta */
    int max_levels;  /* at most 64; 0 means as many as the direct solve needs. If the last level has
                        more points than coarsest_points, one step smooths it (SYMGS in place of
                        GS) instead of a direct solve; `direct` of the level is then 0 */
    gsw_scope scope; /* of the sweeps on several processes (partition.h) */
    int64_t whole_points; /* there: a level of at most so many points is brought to all processes
                             (in fp32 also one that is little larger than the coarsest); 0: the
                             library decides by its points and those of the finest */
} gsw_multigrid_options;

typedef struct gsw_multigrid gsw_multigrid;

/* Describes a hierarchy. The library fills `size` bytes. */
typedef struct gsw_multigrid_info {
    size_t size; /* sizeof this struct, set by the caller */
    int levels;  /* the coarsest one included */
    gsw_smoother smoother;
    gsw_cycle cycle;
    gsw_dtype cycle_type;
    int symmetric;              /* the matrices of all levels are symmetric, and P = R^T */
    int singular;               /* every row's sum vanishes: constants are in the null space */
    int smoother_fallbacks;     /* levels that cannot use ILU(0): it has a bad pivot, or enlarges
                                   errors */
    double operator_complexity; /* couplings of all levels divided by those of the finest */
    double grid_complexity;     /* points of all levels divided by those of the finest */
    int64_t bytes;              /* all memory that the hierarchy keeps */
    int64_t degenerate_points;  /* fine points whose interpolation is the mean of its neighbours,
                                   because their couplings gave no weights */
    gsw_interpolation interpolation;
    int direct; /* 1: the coarsest level is solved directly; 0: it is smoothed, see max_levels */
    int shared_levels; /* the finest ones, which several processes share; each process has the
                          others whole */
    gsw_scope scope;   /* of the sweeps on these */
} gsw_multigrid_info;

/* Describes one level; level 0 is the finest. The library fills `size` bytes. */
typedef struct gsw_multigrid_level {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_grid grid;
    gsw_stencil stencil; /* without offsets along axes on which the first grid has one point */
    int64_t points;
    int64_t couplings;         /* of its matrix, inside the grid */
    int axes;                  /* axes that the next level coarsens: bit 0 x, bit 1 y, bit 2 z */
    double coupling[3];        /* mean share of a row's couplings along each axis */
    int direct;                /* 1: solved directly; only the coarsest level can be */
    gsw_smoother smoother;     /* the smoother of this level */
    int64_t degenerate_points; /* of the interpolation to this level */
    int64_t bytes;
} gsw_multigrid_level;

/* Creates a hierarchy from a matrix. `options` may be NULL. The call reads the matrix and keeps no
 * pointer to it. The diagonal must not hold zeros.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (black-box interpolation with a stencil that reaches
 * farther than 2; fp32 cycles for values beyond the range of fp32), OVERFLOW, OUT_OF_MEMORY,
 * NOT_A_GRID, ZERO_PIVOT (a zero or not finite diagonal, with its row; a coarsest matrix that is
 * zero or not finite). */
GSW_API
gsw_status gsw_multigrid_create(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_multigrid_options *options, gsw_multigrid **multigrid);

/* Gives a hierarchy new values for the same grid, stencil and format; cheaper than creating it
 * again. The levels keep their grids, so the axes to coarsen are those of the first matrix. A
 * symmetric matrix must stay symmetric. The call does not allocate, except for a level that falls
 * back from ILU(0) or fell back before: each call tries ILU(0) again. A refused argument changes
 * nothing. After an error in the values the hierarchy cannot be applied or extracted until a
 * refactor succeeds. Values that are not symmetric, where the first ones were, are such an error:
 * INVALID_ARGUMENT. The other errors are those above. */
GSW_API
gsw_status gsw_multigrid_refactor(gsw_context *context, gsw_multigrid *multigrid,
                                  const gsw_matrix *matrix);

/* Does one cycle for A x = b from the guess 0. b and x hold one fp64 value per point of the finest
 * grid, in the context's memory. x may be b; otherwise they must not overlap. The call allocates
 * nothing. The result has the same bits for any number of threads. NaN and infinity in b give NaN
 * or infinity in x.
 * Errors: INVALID_ARGUMENT. */
GSW_API
gsw_status gsw_multigrid_apply(gsw_context *context, gsw_multigrid *multigrid, const double *b,
                               double *x);

/* Creates a preconditioner that applies one cycle. The hierarchy stays yours and must outlive the
 * preconditioner. gsw_multigrid_refactor() gives both new values. On failure *preconditioner is
 * NULL.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_preconditioner_from_multigrid(gsw_context *context, gsw_multigrid *multigrid,
                                             gsw_preconditioner **preconditioner);

/* These two describe the hierarchy and one level of it, also on several processes; `bytes` are
 * those of this one. Errors: INVALID_ARGUMENT (NULL, size, no such level). */
GSW_API
gsw_status gsw_multigrid_get_info(const gsw_multigrid *multigrid, gsw_multigrid_info *info);
GSW_API
gsw_status gsw_multigrid_get_level(const gsw_multigrid *multigrid, int level,
                                   gsw_multigrid_level *description);

/* Copies a matrix of the hierarchy to host CSR in fp64, to look at it. MATRIX is the matrix of a
 * level that is not the finest. PROLONGATION is the interpolation P from level + 1 to `level`.
 * RESTRICTION is R from `level` to level + 1. `columns` of P and R count the points of the other
 * level. Zero entries of P and R are left out. Free with gsw_csr_free().
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (on several processes), OVERFLOW, OUT_OF_MEMORY. */
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

/* Frees a hierarchy. NULL is allowed. */
GSW_API
void gsw_multigrid_destroy(gsw_multigrid *multigrid);

#ifdef __cplusplus
}
#endif

#endif
