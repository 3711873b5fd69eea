/* gridsweep/relax.h: iterative stencil loops, several sweeps in one pass over memory.
 *
 * A gsw_relax makes sweeps of weighted Jacobi or of Chebyshev iteration for A x = b. Use it as a
 * smoother, or for a fixed number of steps as a preconditioner. A sweep is a product with the
 * matrix and little else, so memory limits its speed. A gsw_relax therefore fuses `height` sweeps:
 * a tile of the grid reads a ghost zone of `height` halos around itself, and makes all these sweeps
 * in a cache (CPU) or in shared memory (CUDA), without values from its neighbours. Neighbouring
 * tiles compute these points, too. This costs arithmetic and saves memory traffic. A model of the
 * device chooses the tile and the height; gsw_relax_get_info() has its prediction.
 *
 *   method      a sweep, with t = D^-1 (b - A x)
 *   JACOBI      x = x + weight t
 *   CHEBYSHEV   p = alpha t + beta p; x = x + p, where alpha and beta of sweep s = 1, 2, ...
 *               follow from the interval of eigenvalues of D^-1 A; a call is one polynomial
 *
 * Arithmetic: b - A x subtracts the products of a row in ascending order of columns, each with one
 * fused multiply-add if the processor has it. It is multiplied with 1 / a_ii. So the bits do not
 * depend on the height, the tile or the number of threads. With weight 1 they are those of
 * gsw_smooth() with a JACOBI factor, except for the sign of zeros. Entries that are not stored
 * count as zeros and are multiplied, too. So a NaN or infinity in x also spreads through them.
 *
 * A gsw_relax belongs to the context that it was created with, and makes one call at a time.
 *
 * Sources: Meng and Skadron, A performance study for iterative stencil loops on GPUs with ghost
 * zone optimizations, Int. J. Parallel Programming 39 (2011); Saad, Iterative Methods for Sparse
 * Linear Systems, 2nd ed., algorithm 12.1, for Chebyshev. */
#ifndef GRIDSWEEP_RELAX_H
#define GRIDSWEEP_RELAX_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_relax_method { GSW_RELAX_JACOBI = 0, GSW_RELAX_CHEBYSHEV = 1 } gsw_relax_method;

/* If all members except `size` are 0: Jacobi with weight 1, and the model chooses. */
typedef struct gsw_relax_options {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_relax_method method;
    int32_t height;         /* sweeps in a pass, 1..8; 0: the model chooses */
    double weight;          /* JACOBI: not 0; 0 means 1 */
    double lowest, highest; /* CHEBYSHEV: 0 < lowest < highest, eigenvalues of D^-1 A */
} gsw_relax_options;

typedef struct gsw_relax gsw_relax;

/* Describes a loop, for reports. */
typedef struct gsw_relax_info {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_relax_method method;
    int32_t height;      /* sweeps in a pass */
    int64_t tile[3];     /* points along x, y and z that a tile writes in a pass */
    double predicted_ms; /* of one sweep, in a call of many sweeps */
    double moved_bytes;  /* least number of bytes that a pass moves, divided by its height */
    double redundant;    /* points that a pass computes, divided by (height * points of
                              the grid); 1: none twice */
    int64_t work_bytes;  /* that the object keeps */
} gsw_relax_info;

/* Creates a loop for this matrix, in fp64 throughout. Of stencil arrays it keeps the pointers: the
 * arrays must stay where they are, and a later call uses the values that they hold then. It copies
 * a CSR, fp32 values, and arrays of which one is NULL; gsw_relax_refactor() copies them again.
 * `options` may be NULL. On CUDA height 1 takes any stencil. Greater heights take the named ones
 * and their triangular parts.
 *
 * A diagonal that is zero or not finite ends in ZERO_PIVOT, with its row in the message. On failure
 * *relax is NULL. Bytes moved: the diagonal, and what is copied.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED (options->height has no tile that fits), OVERFLOW,
 * OUT_OF_MEMORY, NOT_A_GRID, ZERO_PIVOT, DEVICE. */
GSW_API
gsw_status gsw_relax_create(gsw_context *context, const gsw_matrix *matrix,
                            const gsw_relax_options *options, gsw_relax **relax);

/* Takes the values of another matrix with the same grid, stencil, format and type. It allocates one
 * vector and frees it again, to check the diagonal, and waits for the stream. After an error in the
 * values the loop holds none, and calls are refused until a refactor succeeds. The errors are those
 * above. */
GSW_API
gsw_status gsw_relax_refactor(gsw_context *context, gsw_relax *relax, const gsw_matrix *matrix);

/* Makes `sweeps` sweeps, beginning with the given x; if zero_guess is nonzero, x counts as 0 and is
 * not read. b and x hold one fp64 value per point in the backend's memory, and must not overlap.
 * The call allocates nothing. With CUDA it returns when everything is queued on the context's
 * stream, and can be captured in a CUDA graph.
 *
 * A pass of `height` sweeps reads the matrix, b, x and the ghost zones, and writes x. If the number
 * of passes is odd and zero_guess is 0, the call first copies x.
 * Errors: INVALID_ARGUMENT, DEVICE. */
GSW_API
gsw_status gsw_relax_run(gsw_context *context, gsw_relax *relax, int32_t sweeps, int zero_guess,
                         const double *b, double *x);

/* Fills info->size bytes of *info. Errors: INVALID_ARGUMENT (NULL, size). */
GSW_API
gsw_status gsw_relax_get_info(const gsw_relax *relax, gsw_relax_info *info);

/* "jacobi", "chebyshev". */
GSW_API
const char *gsw_relax_method_name(gsw_relax_method method);

/* Frees a loop. NULL is allowed. */
GSW_API
void gsw_relax_destroy(gsw_relax *relax);

#ifdef __cplusplus
}
#endif

#endif
