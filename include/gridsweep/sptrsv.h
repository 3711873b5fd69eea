/* gridsweep/sptrsv.h: one triangular solve on your own matrix, without set-up.
 *
 * gsw_sptrsv() solves T x = b, where T is the lower or the upper part of a matrix, diagonal
 * included, or its transpose. By default it analyses, packs and keeps nothing. Use it for a matrix
 * that you solve with once. For repeated solves with one matrix use a gsw_factor (factor.h). It
 * packs the coefficients in the order of the sweep, and its solves are several times faster. */
#ifndef GRIDSWEEP_SPTRSV_H
#define GRIDSWEEP_SPTRSV_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_algorithm {
    GSW_ALGORITHM_AUTO = 0,      /* the usual choice: LINE, or with a workspace the algorithm that
                                    was measured to be faster */
    GSW_ALGORITHM_REFERENCE = 1, /* the plain serial sweep, to compare results with; not on CUDA */
    GSW_ALGORITHM_LINE = 2,      /* each line is a task; works directly on your arrays */
    GSW_ALGORITHM_PENCIL = 3     /* packs into the workspace, or into a temporary gsw_factor */
} gsw_algorithm;

/* "auto", "reference", "line", "pencil". */
GSW_API
const char *gsw_algorithm_name(gsw_algorithm algorithm);

/* If all members except `size` are 0: lower part, not transposed, stored diagonal, fp64, AUTO. */
typedef struct gsw_sptrsv_options {
    size_t size;           /* sizeof this struct, set by the caller */
    gsw_part part;         /* GSW_LOWER or GSW_UPPER: the part of the stored matrix that is T */
    int transpose;         /* nonzero: solve with T transposed */
    int unit_diagonal;     /* nonzero: the diagonal counts as 1, whatever is stored */
    gsw_dtype vector_type; /* F64 with values F64 or F32; F32 with values F32 */
    gsw_algorithm algorithm;
    struct gsw_factor *workspace; /* a factor to pack into (factor.h), or NULL: see below */
} gsw_sptrsv_options;

/* Solves T x = b for `count` right-hand sides. Right-hand side r starts at b + r*ldb and its
 * solution at x + r*ldx, in values. If count > 1, ldb and ldx are at least the number of points. x
 * may be b, with ldb == ldx (in place); otherwise they must not overlap. `options` may be NULL for
 * the defaults.
 *
 * The call divides by a zero diagonal: the result then holds infinities or NaNs, as in IEEE
 * arithmetic. The diagonal of a row without a stored one is 0. Entries outside the part are
 * skipped. Bytes moved: the matrix once per right-hand side, b and x once.
 *
 * With CUDA the solve is queued on the context's stream and the call returns at once. Errors of a
 * kernel (TIMEOUT, NOT_A_GRID) are reported later: see gsw_context_synchronize(). Nothing is
 * analysed. A CSR is complete if it holds every coupling inside the grid, or every one of the
 * solved part. Its number of entries and its row pointers at the ends of lines show this. The solve
 * then reads values, b, x and only one column index per line. It does not notice a coupling outside
 * the stencil in a complete CSR; gsw_matrix_validate() finds it. The first solve on a grid with
 * more lines than any before allocates 8 bytes per line. Later solves allocate nothing and can be
 * captured in a CUDA graph. Solving out of place is faster than in place, because x can then hold
 * marks during the solve.
 *
 * PENCIL packs the part into a factor. factor.h describes the factor's memory, its waits and the
 * devices that it needs. PENCIL cannot be captured in a CUDA graph. If you have a factor to pack
 * into, pass it as `workspace`. It must be of kind LOWER or UPPER, with the same grid, stencil,
 * transpose and unit_diagonal, and both of its types must be vector_type. The call replaces its
 * values and allocates nothing. Without a workspace it creates a factor for the one call. Packing
 * and sweeping is faster than LINE on CUDA if the matrix consists of stencil arrays, even for a
 * matrix that is used once (perf/DECISIONS.md, Packing for one solve). With a workspace AUTO does
 * that there, and LINE elsewhere.
 *
 * Errors: INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY, DEVICE, TIMEOUT, NOT_A_GRID. NOT_A_GRID
 * means that the solve met a coupling outside the stencil; x is then undefined. */
GSW_API
gsw_status gsw_sptrsv(gsw_context *context, const gsw_matrix *matrix,
                      const gsw_sptrsv_options *options, int64_t count, const void *b, int64_t ldb,
                      void *x, int64_t ldx);

#ifdef __cplusplus
}
#endif

#endif
