/* gridsweep/sptrsv.h: one triangular solve on your own matrix, without set-up.
 *
 * gsw_sptrsv() solves T x = b, where T is the lower or the upper part of a matrix, diagonal
 * included, or its transpose. It analyses, packs and keeps nothing. Use it for a matrix that you
 * solve with once. For repeated solves with one matrix use a gsw_factor (factor.h). It packs the
 * coefficients in the order of the sweep, and its solves are several times faster. */
#ifndef GRIDSWEEP_SPTRSV_H
#define GRIDSWEEP_SPTRSV_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_algorithm {
    GSW_ALGORITHM_AUTO = 0,      /* LINE, or with a workspace what was measured to be faster */
    GSW_ALGORITHM_REFERENCE = 1, /* the plain serial sweep; CPU only */
    GSW_ALGORITHM_LINE = 2,      /* lines as tasks on the user's arrays where they lie */
    GSW_ALGORITHM_PENCIL = 3     /* packed: into the workspace, or into a temporary gsw_factor */
} gsw_algorithm;

/* "auto", "reference", "line", "pencil". */
GSW_API
const char *gsw_algorithm_name(gsw_algorithm algorithm);

/* With all members but `size` 0: lower part, not transposed, stored diagonal, fp64, AUTO. */
typedef struct gsw_sptrsv_options {
    size_t size;           /* sizeof this struct, set by the caller */
    gsw_part part;         /* GSW_LOWER or GSW_UPPER: the part of the stored matrix that is T */
    int transpose;         /* nonzero: solve with T transposed */
    int unit_diagonal;     /* nonzero: the diagonal is 1, whatever is stored */
    gsw_dtype vector_type; /* F64 with values F64 or F32; F32 with values F32 */
    gsw_algorithm algorithm;
    struct gsw_factor *workspace; /* a factor to pack into (factor.h), or NULL: see below */
} gsw_sptrsv_options;

/* Solves for `count` right-hand sides: column r starts at b + r*ldb and x + r*ldx (in values;
 * ldb, ldx >= points where count > 1). x may be b (in place, then ldb == ldx); otherwise they must
 * not overlap. `options` may be NULL for the defaults.
 *
 * A zero diagonal divides: the result holds infinities or NaNs, as IEEE arithmetic gives them. A
 * row without a stored diagonal has the diagonal 0. Entries outside the part are skipped.
 * Bytes moved: the matrix once per right-hand side, b and x once.
 *
 * With CUDA the solve is queued on the context's stream and the call returns at once; what a kernel
 * runs into (TIMEOUT, NOT_A_GRID) is reported as gsw_context_synchronize() says. Nothing is
 * analysed. A CSR may hold every coupling inside the grid, or every one of the part that is solved
 * with. Its number of entries and its row pointers at the ends of lines show that. The solve then
 * reads values, b, x and one column index per line, so a coupling outside the stencil goes
 * unnoticed; gsw_matrix_validate() finds it. The first solve with a grid of more lines than any
 * before allocates 8 bytes per line; later ones allocate nothing and can be captured in a CUDA
 * graph. Out of place is faster than in place, because x then holds marks while it is being solved.
 *
 * REFERENCE runs on the CPU only. PENCIL packs the part into a factor, with what factor.h says of
 * its memory, its waits and the devices that it takes; it does not go into a CUDA graph.
 * `workspace` is that factor where the caller has one: of kind LOWER or UPPER, the same grid,
 * stencil, transpose and unit_diagonal, and both of its types vector_type. Its values are replaced,
 * and nothing is allocated; without one a factor is made for the one call. For a matrix that is
 * used once, packing and sweeping is faster than LINE on CUDA where the matrix lies in stencil
 * arrays (perf/NOTES.md): with a workspace AUTO does that there, and LINE elsewhere.
 *
 * Errors: INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY, DEVICE, TIMEOUT, and NOT_A_GRID, after
 * which x holds nothing of use: a coupling outside the stencil is found while solving. */
GSW_API
gsw_status gsw_sptrsv(gsw_context *context, const gsw_matrix *matrix,
                      const gsw_sptrsv_options *options, int64_t count, const void *b, int64_t ldb,
                      void *x, int64_t ldx);

#ifdef __cplusplus
}
#endif

#endif
