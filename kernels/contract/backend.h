/* backend.h: the table of operations that each backend fills. The library validates and decides,
 * then calls through this table. Pointers to vectors and matrix arrays are in the backend's memory.
 * Arguments have been validated. */
#ifndef GSW_BACKEND_H
#define GSW_BACKEND_H

#include "common/arrays.h"
#include "contract/box_ops.h"
#include "contract/krylov_passes.h"
#include "contract/link_ops.h"
#include "contract/multigrid_ops.h"
#include "contract/slab_ops.h"
#include <gridsweep/factor.h>
#include <gridsweep/sptrsv.h>

struct gsw_relax_ops; /* relax_ops.h */
struct gsw_packed;    /* a factor's packed storage: private to the backend */
struct gsw_masked;    /* masked.h */
struct gsw_seam;
struct gsw_seam_level;

/* A factor as the library keeps it. */
struct gsw_factor {
    gsw_context *context;       /* its creator */
    gsw_factor_options options; /* defaults resolved: omega set */
    gsw_grid grid;
    gsw_stencil stencil;
    int64_t points;
    gsw_repeat repeat;  /* kinds LOWER, UPPER and SSOR: how the lines of its matrices repeat, */
    int constant_lines; /* and that their values are equal */
    int usable;         /* holds values */
    int row_base;       /* from which messages count rows: that of the matrix's CSR, or 0 */
    gsw_factor_info info;
    struct gsw_packed *packed;

    /* Kinds LOWER and UPPER. factor_open rounds the requested extents, or sets them to 0, and sets
     * the shear. */
    gsw_sections sections;

    /* Planes of ghosts below and above (slab_ops.h): `grid` has them, too, but not `points`, and
     * not the vectors and arrays. On CPUs they are those of the last axis with several points. */
    int64_t ghosts[2];

    /* The factor of a process, with or without ghosts. Then its bits do not depend on how many
     * processes there are. */
    int as_slab;

    /* A dealt factor (slab_ops.h), which has no ghosts; NULL: it is not. */
    const gsw_deal *deal;

    /* The mask of its matrix, for vectors; NULL: there is none. */
    struct gsw_masked *masked;

    /* On several processes: what does the work, and `packed` is NULL. The backend does not see such
     * a factor. */
    struct gsw_distributed_factor *shared;
};

/* Eisenstat's form of a matrix A = L + D + U and of a factor M = (E + L) E^-1 (E + U) with the same
 * L and U. With S T = E, S^-1 A T^-1 = L1 + U1 + K, where L1 = I + S^-1 L T^-1, U1 = I + S^-1 U
 * T^-1 and K = D E^-1 - 2 I. So L1^-1 S^-1 A T^-1 U1^-1 v = t + L1^-1 (v + K t) with t = U1^-1 v:
 * two sweeps apply A and M^-1 together. Eisenstat, SIAM J. Sci. Stat. Comput. 2, 1981. */
typedef struct gsw_split {
    struct gsw_factor *parts; /* kind LU with unit diagonals: L1 and U1 */
    double *k;                /* K, one value per point */
    double *left, *right;     /* S^-1 and T^-1; left may be right, or NULL: S = I */
} gsw_split;

/* Notes the grid and the stencil of a factor whose options are set. */
void gsw_factor_name_system(gsw_factor *made, const gsw_matrix *matrix);

/* Closes a factor that was opened, or not yet, and frees it; NULL is allowed. */
void gsw_packed_close(gsw_factor *factor);

/* Whether values may come to a factor that its type does not hold (pivot.h): it is in fp32. LOWER,
 * UPPER and LU take values that are in fp32 already, with any diagonal. `upper` may be NULL. */
int gsw_factor_narrows(const gsw_factor *factor, const gsw_matrix *matrix, const gsw_matrix *upper);

/* The status of a factorisation, from factor->info.first_bad_row, the lowest row of the matrix that
 * does not fit the stencil, and the lowest one with a value beyond fp32 (-1: none). */
gsw_status gsw_factor_report(gsw_context *context, const gsw_factor *factor, int64_t misfit,
                             int64_t beyond);

/* ZERO_PIVOT, with a message that names the row. */
gsw_status gsw_factor_refuse_pivot(gsw_context *context, gsw_factor_kind kind, int base,
                                   const gsw_grid *grid, int64_t row);

/* Systems that a Krylov method solves side by side at most; and copies of their states that may be
 * under way: more than krylov->ahead of any backend. */
enum { GSW_KRYLOV_SYSTEMS = 8, GSW_KRYLOV_SLOTS = 8 };

/* A backend is a few tables, one an object. An entry is REQUIRED where nothing is said; DEFAULT
 * names the function that serves where a backend has nothing better. No entry may be NULL, but one
 * of `box` and `slab`, which link->on_host rules out. Numbers say what was measured to be faster.
 */

/* Memory for vectors; and for matrices. */
typedef struct gsw_memory_ops {
    gsw_status (*alloc)(gsw_context *context, size_t bytes, void **pointer);
    void (*release)(gsw_context *context, void *pointer);

    /* The same for memory that only this context's operations use. It is reserved and released in
     * the order of the queued work. The backend may keep released memory and reuse it without
     * asking the system. DEFAULT: alloc and release. */
    gsw_status (*reserve)(gsw_context *context, size_t bytes, void **pointer);
    void (*unreserve)(gsw_context *context, void *pointer);

    /* Copies between host and backend memory. In host memory DEFAULT: gsw_host_transfer(). */
    gsw_status (*upload)(gsw_context *context, void *to, const void *from_host, size_t bytes);
    gsw_status (*download)(gsw_context *context, void *to_host, const void *from, size_t bytes);
    gsw_status (*set)(gsw_context *context, void *pointer, int value, size_t bytes);

    /* Refuses the array `name` where kernels cannot reach it. */
    gsw_status (*check_place)(gsw_context *context, const char *name, const void *pointer);
} gsw_memory_ops;

/* fp64 vector operations. The order of sums does not depend on the number of threads. */
typedef struct gsw_vector_ops {
    gsw_status (*fill)(gsw_context *context, int64_t n, double a, double *x);
    gsw_status (*copy)(gsw_context *context, int64_t n, const double *x, double *y);

    /* y = a x + b y; with b == 0, y is not read and may be x. */
    gsw_status (*axpby)(gsw_context *context, int64_t n, double a, const double *x, double b,
                        double *y);
    gsw_status (*add_scaled)(gsw_context *context, int64_t n, const double *d, const double *x,
                             const double *y, double *z); /* z_i = y_i + d_i x_i; y NULL: 0 */
    gsw_status (*dot)(gsw_context *context, int64_t n, const double *x, const double *y,
                      double *result);

    /* y_i = x_i or -x_i, as gsw_changes_sign(i) says. */
    gsw_status (*change_signs)(gsw_context *context, int64_t n, const double *x, double *y);

    /* project: products[j] = x_j'y; subtract: y -= sum of c[j] x_j and *square = y'y; both for
     * j < count, at least 1, where x_j = x + j stride. Sums have the order of those of dot.
     * products, c and square are in the backend's memory. */
    gsw_status (*project)(gsw_context *context, int64_t n, int64_t count, const double *x,
                          int64_t stride, const double *y, double *products);
    gsw_status (*subtract)(gsw_context *context, int64_t n, int64_t count, const double *c,
                           const double *x, int64_t stride, double *y, double *square);

    /* For each of `count` systems, n values long, in one launch: squares[k] = x_k'x_k; and y_k =
     * a[k] x_k, zeros where a[k] is 0, whatever x holds, and nothing where a[k] is NaN. x_k = x + k
     * ldx, y_k = y + k ldy. squares and a are in the backend's memory. */
    gsw_status (*squares)(gsw_context *context, int64_t n, int64_t count, const double *x,
                          int64_t ldx, double *squares);
    gsw_status (*scale)(gsw_context *context, int64_t n, int64_t count, const double *a,
                        const double *x, int64_t ldx, double *y, int64_t ldy);
} gsw_vector_ops;

/* What reads the user's arrays. */
typedef struct gsw_matrix_ops {
    unsigned kinds; /* bit 1 << k: the row source reads the gsw_matrix_kind k (arrays.h) */

    /* Refuses a matrix as documented for gsw_matrix_validate(). DEFAULT in host memory:
     * gsw_matrix_validate_host(). */
    gsw_status (*validate)(gsw_context *context, const gsw_matrix *matrix);

    /* y = A x where b is NULL, else y = b - A x. */
    gsw_status (*spmv)(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                       const void *b, const void *x, void *y);

    /* y_j = A x_j for j < count, 1 to GSW_KRYLOV_SYSTEMS, where x_j = x + j stride and y_j = y + j
     * stride. The bits are those of spmv. If the backend can, it reads the matrix once for several
     * of them. */
    gsw_status (*multiply)(gsw_context *context, const gsw_matrix *matrix, int count,
                           const double *x, double *y, int64_t stride);

    /* The rows of a box that are coupled to other boxes (box_ops.h). */
    gsw_status (*couple)(gsw_context *context, const gsw_couple *job);

    /* The direct triangular solve, one right-hand side; algorithm LINE or REFERENCE. DEFAULT in
     * host memory: gsw_reference_sptrsv(). Errors: UNSUPPORTED. */
    gsw_status (*sptrsv)(gsw_context *context, const gsw_matrix *matrix,
                         const gsw_sptrsv_options *options, const void *b, void *x);

    /* Whether packing stencil arrays and sweeping once takes less time than a direct solve. */
    int packs_faster;
} gsw_matrix_ops;

/* Points that take no part: `active` has one byte per point, in the backend's memory. Arrays are
 * stencil arrays of all points. The table below is for host memory. */
typedef struct gsw_mask_ops {
    /* y_i = x_i at active points; z_i at the others, or 0 where z is NULL. y may be x or z. */
    gsw_status (*select)(gsw_context *context, gsw_dtype type, int64_t n, const uint8_t *active,
                         const void *x, const void *z, void *y);

    /* A copy of a mask, as zeros and ones. */
    gsw_status (*take)(gsw_context *context, int64_t n, const uint8_t *active, uint8_t *copy);

    /* Changes arrays of matrix's grid and stencil, of `type`: couplings from and to inactive points
     * become zeros, and rows of inactive points those of the identity. matrix->active is the mask.
     * An array may be NULL. */
    gsw_status (*cut)(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                      void *const *arrays);

    /* The same for the rows of a box; matrix->active is the mask of the frame around it. */
    gsw_status (*cut_box)(gsw_context *context, const gsw_matrix *matrix, const gsw_frame *frame,
                          gsw_dtype type, void *const *arrays);

    /* Whether a matrix of stencil arrays with a mask is such as cut() leaves it, but for the
     * diagonal of inactive rows, which is positive. The answer is in host memory. */
    gsw_status (*is_cut)(gsw_context *context, const gsw_matrix *matrix, int *yes);

    /* Of a matrix of stencil arrays, with a mask or without: left[i] = 0 at inactive points and in
     * rows that determine their unknown nearly alone (gsw_row_is_fixed()) or not at all, else 1.
     * counts: of these rows those with a diagonal alone, those with couplings, and those of zeros.
     * The counts are in host memory. For the rows of the box, of which matrix is the frame. */
    gsw_status (*find_fixed)(gsw_context *context, const gsw_matrix *matrix, const gsw_frame *frame,
                             uint8_t *left, int64_t counts[3]);

    /* points: the numbers of the active points, ascending; NULL: they are only counted. *count is
     * in host memory. */
    gsw_status (*list)(gsw_context *context, int64_t n, const uint8_t *active, int64_t *points,
                       int64_t *count);

    /* y[points[i]] = x[i], and y[i] = x[points[i]], for i < rows. The points are distinct. */
    gsw_status (*spread)(gsw_context *context, gsw_dtype type, int64_t rows, const int64_t *points,
                         const void *x, void *y);
    gsw_status (*collect)(gsw_context *context, gsw_dtype type, int64_t rows, const int64_t *points,
                          const void *x, void *y);

    /* Of a matrix of stencil arrays, with a mask or without, and on a periodic grid or not: fp64
     * arrays of a stencil that holds its neighbours along the axes and its other near offsets. What
     * reaches farther counts by its moments (common/mask.h). */
    gsw_status (*shorten)(gsw_context *context, const gsw_matrix *matrix, const gsw_stencil *near,
                          double *const *arrays);

    /* After cut, in fp64: couples inactive points weakly to their neighbours (common/mask.h).
     * `nearest`: room for one number per point. */
    gsw_status (*extend)(gsw_context *context, const gsw_matrix *matrix, int64_t *nearest,
                         double *const *arrays);

    /* After extend, of a box: along[axis][i] = the coupling along the axis that the active row
     * nearest to point i counts with, 0 where there is none; and the extension across the faces
     * between boxes, for which matrix->active and `along` are of the frame. */
    gsw_status (*couplings)(gsw_context *context, const gsw_matrix *matrix, const int64_t *nearest,
                            const double *const *arrays, double *const along[3]);
    gsw_status (*extend_faces)(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_frame *frame, const double *const along[3],
                               double *const *arrays);

    /* root[i] = the first row of the basin of point i, by the stencil and the mask of a matrix
     * whose values are not read; -1 at inactive points. The grid may be periodic. */
    gsw_status (*find_basins)(gsw_context *context, const gsw_matrix *matrix, int64_t *root);

    /* marked[i] = 1 in the basins but that of root `but`, else 0. */
    gsw_status (*mark_basins)(gsw_context *context, int64_t n, const int64_t *root, int64_t but,
                              uint8_t *marked);

    /* The sums of some rows of fp64 arrays, which hold zeros where couplings leave the grid, and
     * their diagonals. */
    gsw_status (*sum_rows)(gsw_context *context, const gsw_matrix *matrix,
                           const double *const *arrays, int64_t rows, const int64_t *points,
                           double *sums, double *diagonals);

    /* x += scale[k] times the sum of b over set k, at its points: points[begin[k]] to
     * points[begin[k + 1] - 1]. No two sets share a point. */
    gsw_status (*add_means)(gsw_context *context, gsw_dtype type, int64_t sets,
                            const int64_t *begin, const int64_t *points, const double *scale,
                            const void *b, void *x);
} gsw_mask_ops;

extern const gsw_mask_ops gsw_host_mask_ops;

/* What is done around periodic grids (common/wraps.h, geometry/seam_level.h). The descriptions are
 * in host memory; everything may be queued. DEFAULT in host memory: gsw_host_wrap_ops. */
typedef struct gsw_wrap_ops {
    /* Finds the rows of the seam, and the columns of W. */
    gsw_status (*open)(gsw_context *context, const struct gsw_wraps *wraps);

    /* Reads W from the user's matrix of either format. */
    gsw_status (*take)(gsw_context *context, const gsw_matrix *matrix,
                       const struct gsw_wraps *wraps);

    /* W to its places in fp64 arrays of all points; `back`: from there, and zeros take its place.
     */
    gsw_status (*move)(gsw_context *context, const struct gsw_wraps *wraps, double *const *arrays,
                       int back);

    /* to = from, with each point `by` planes farther along the axes, around the grid. */
    gsw_status (*turn)(gsw_context *context, const gsw_grid *grid, const int64_t by[3],
                       gsw_dtype type, const void *from, void *to);

    /* Couplings of inactive points become zeros. */
    gsw_status (*cut)(gsw_context *context, const struct gsw_wraps *wraps, const uint8_t *active);

    /* y += sign W x. `saved`: seam.count values that keep what y was there; NULL: nothing does. And
     * what gives these back to y. */
    gsw_status (*multiply)(gsw_context *context, const struct gsw_wraps *wraps, gsw_dtype type,
                           double sign, const void *x, void *y, double *saved);
    gsw_status (*restore)(gsw_context *context, const struct gsw_wraps *wraps, gsw_dtype type,
                          const double *saved, void *y);

    /* Weights of the points of a seam (`which`: 0 of P, 1 of R), from the rows that `rows` names;
     * and rows of the coarse matrix. */
    gsw_status (*weigh)(gsw_context *context, const struct gsw_seam *seam,
                        const struct gsw_seam_level *level, int which, gsw_rows rows);
    gsw_status (*triple)(gsw_context *context, const struct gsw_seam *seam,
                         const struct gsw_seam_level *level);

    /* After the weights: finds what the next two operations need. They complete R (b - A x) at
     * coarse points, and x + P e across the seam. `residual`: room for values of
     * the rows of `wraps` and of `across`. */
    gsw_status (*prepare)(gsw_context *context, const struct gsw_seam_level *level);
    gsw_status (*restrict_residual)(gsw_context *context, const struct gsw_wraps *wraps,
                                    const struct gsw_seam_level *level, const void *b,
                                    const void *x, double *residual, void *to);
    gsw_status (*prolong_add)(gsw_context *context, const struct gsw_seam_level *level,
                              const void *from, void *to);
} gsw_wrap_ops;

/* The operations of the Krylov methods between products and solves. */
typedef struct gsw_krylov_ops {
    /* See krylov_passes.h. The state is in the backend's memory, and so are the vectors, but not
     * the list of them. Nothing that changes between iterations is passed by value. */
    gsw_status (*pass)(gsw_context *context, gsw_pass pass, int64_t n, void *const *vectors,
                       gsw_krylov_state *state);

    /* matrix->multiply, and then a pass over each x_j and y_j that updates nothing, with its own
     * state. The list of states is on the host. If the backend can, it reads x_j and y_j only once.
     * y_j of a method that has ended may keep its values. DEFAULT: gsw_host_multiply_pass(). */
    gsw_status (*multiply_pass)(gsw_context *context, const gsw_matrix *matrix, gsw_pass pass,
                                int count, double *x, double *y, int64_t stride,
                                gsw_krylov_state *const *states);

    /* r = b - A x, where each product is complete before it is subtracted. Also computes for the
     * host x'x, r'r and t't with t = A S x, where S changes signs as change_signs does. *done = 0:
     * nothing has been done, and the operations above serve as well. DEFAULT: gsw_host_judge(). */
    gsw_status (*judge)(gsw_context *context, const gsw_matrix *matrix, const double *b,
                        const double *x, double *r, double sums[3], int *done);

    /* How the host follows a method. ahead: iterations that it queues beyond the one whose end it
     * waits for. It is 0 where work is done when a call returns, because further iterations would
     * be wasted. post takes a copy of `count` states, at most GSW_KRYLOV_SYSTEMS, after all work
     * that has been queued so far. collect waits for that copy and brings it to to[0..count), which
     * is the same in both calls. A slot, one of GSW_KRYLOV_SLOTS, holds one copy at a time. DEFAULT
     * in host memory: 0, gsw_host_krylov_post(), gsw_host_krylov_collect(). */
    int ahead;
    gsw_status (*post)(gsw_context *context, int slot, int count, const gsw_krylov_state *states,
                       gsw_krylov_state *to);
    gsw_status (*collect)(gsw_context *context, int slot, int count, gsw_krylov_state *to);
} gsw_krylov_ops;

/* Packed factors. */
typedef struct gsw_factor_ops {
    /* Allocates factor->packed and fills the sizes in factor->info. */
    gsw_status (*open)(gsw_context *context, gsw_factor *factor);

    /* (Re)computes the values (`upper` for kind LU only), or queues that. */
    gsw_status (*fill)(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                       const gsw_matrix *upper);

    /* Waits for fill before the first sweep and returns its error. DEFAULT where fill does not
     * queue: gsw_host_factor_await(). */
    gsw_status (*await)(gsw_context *context, gsw_factor *factor);

    /* Runs sweep 0 or 1 (for JACOBI: the scaling). */
    gsw_status (*sweep)(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                        const void *b, int64_t ldb, void *x, int64_t ldx);

    /* Writes the triangle of sweep 0 or 1 to fp64 arrays in natural order in the backend's memory:
     * arrays[e] for each offset of the stencil that the triangle has. Rows that are stored with
     * their reciprocal diagonal are no longer scaled by it; else the diagonal is 1. May be queued.
     */
    gsw_status (*unpack)(gsw_context *context, const gsw_factor *factor, int which,
                         double *const *arrays);
    void (*close)(gsw_context *context, gsw_factor *factor);
} gsw_factor_ops;

/* Eisenstat's form. */
typedef struct gsw_split_ops {
    /* Computes the values of *split from the matrix, which has fp64 arrays and none NULL, and from
     * the factor, of kind ILU0, IC0, DILU or SSOR in fp64. SSOR's E is diag(A) / omega of the
     * matrix as it is now. *fits = 0: the values are of no use, because left is right and not all
     * of E is positive, or for reasons of the backend. */
    gsw_status (*fill)(gsw_context *context, const gsw_factor *factor, const gsw_matrix *matrix,
                       const gsw_split *split, int *fits);

    /* t = U1^-1 v and y = t + L1^-1 (v + K t); the vectors do not overlap. DEFAULT:
     * gsw_host_split_apply(). */
    gsw_status (*apply)(gsw_context *context, const gsw_split *split, const double *v, double *t,
                        double *y);
    int saves_time; /* against two sweeps and a product with A */
} gsw_split_ops;

typedef struct gsw_backend_ops {
    /* Fills context->threads, ->device and ->backend_data. */
    gsw_status (*open)(gsw_context *context, const gsw_context_options *options);
    void (*close)(gsw_context *context);

    /* Waits for all work that was started and returns its error, if any. */
    gsw_status (*synchronize)(gsw_context *context);

    const gsw_memory_ops *memory;
    const gsw_vector_ops *vector;
    const gsw_matrix_ops *matrix;
    const gsw_mask_ops *mask;
    const gsw_wrap_ops *wrap;
    const gsw_krylov_ops *krylov;
    const gsw_factor_ops *factor;
    const gsw_split_ops *split;
    const gsw_multigrid_ops *multigrid;
    const struct gsw_relax_ops *relax; /* stencil loops with ghost zones */
    const gsw_link_ops *link;
    /* Exact sweeps across processes: `box` where link->on_host, else `slab`. */
    const gsw_box_ops *box;
    const gsw_slab_ops *slab;
} gsw_backend_ops;

#endif
