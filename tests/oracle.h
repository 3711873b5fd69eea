/* oracle.h: parts that the tests share: random matrices in every layout, random vectors, the grids
 * and stencils to try, and the measure of error.
 *
 * All helpers stop the program when memory runs out. They cannot fail otherwise. */
#ifndef GSW_TESTS_ORACLE_H
#define GSW_TESTS_ORACLE_H

#include <gridsweep/gridsweep.h>

/* Ends a function with the status of a call that fails. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const gsw_status status_ = (call);                                                         \
        if (status_ != GSW_SUCCESS)                                                                \
            return status_;                                                                        \
    } while (0)

/* ---- what to try ---- */

/* Grids: one point, one wide along each axis, flat, prime and odd extents, larger than a tile. */
int oracle_grid_count(void);
gsw_grid oracle_grid(int i);

/* A sanitizer slows the tests down many times. Where they try all grids with all stencils, every
 * seventh grid is enough for it, others for each stencil. */
#ifdef GSW_SLOW_BUILD
enum { ORACLE_STRIDE = 7 };
#else
enum { ORACLE_STRIDE = 1 };
#endif

/* Grids of 2 to 20 points along x: many lines in one plane, and several planes. */
enum { ORACLE_SHORT_GRIDS = 19 * 3 };
gsw_grid oracle_short_grid(int i);

/* Stencils: all named ones, then custom ones: without symmetry, with long slanted offsets,
 * with offsets along x only, and the centre alone. */
int oracle_stencil_count(void);
const gsw_stencil *oracle_stencil(int i, const char **name);
const gsw_stencil *oracle_stencil_named(const char *name);

int64_t oracle_points(const gsw_grid *grid);

/* ---- matrices ---- */

typedef struct oracle_layout {
    gsw_format format;
    gsw_dtype value_type;
    gsw_itype index_type; /* CSR: of its indices, */
    int base;             /* their base, */
    gsw_part part;        /* what is stored, */
    int missing;          /* and, where > 0: one coupling in about this many is left out */
} oracle_layout;

typedef struct oracle_matrix {
    gsw_matrix view;
    void *arrays[GSW_STENCIL_MAX]; /* stencil arrays, in the order of the stencil */
    void *row_ptr, *columns, *values;
} oracle_matrix;

typedef enum oracle_diagonal { ORACLE_POSITIVE, ORACLE_ANY_SIGN } oracle_diagonal;

/* A random matrix as fp64 stencil arrays: couplings within +-1/count, and 1 <= |diagonal| <= 2. So
 * solves with the stored and with a unit diagonal stay bounded, and every factorisation exists.
 * Values for couplings that leave the grid are NaN, because no code may read them. */
oracle_matrix *oracle_random(const gsw_grid *grid, const gsw_stencil *stencil, uint64_t seed,
                             oracle_diagonal diagonal);

/* Stencil arrays of zeros, for the grid and the stencil of another matrix. */
oracle_matrix *oracle_zeros(const gsw_matrix *like, gsw_dtype type);

/* The same matrix (fp64 stencil arrays) in another layout. */
oracle_matrix *oracle_convert(const oracle_matrix *matrix, const oracle_layout *layout);

/* The Laplacian on a cube of n^3 cells whose widths grow by a ratio from cell to cell. */
oracle_matrix *oracle_stretched(int64_t n, double ratio);

void oracle_free(oracle_matrix *matrix);

/* ---- vectors of either type ---- */

/* Allocates `count` values in [-1, 1]; free with free(). */
void *oracle_vector(gsw_dtype type, uint64_t seed, int64_t count);

void *oracle_copy(gsw_dtype type, const void *values, int64_t count);
void oracle_fill(gsw_dtype type, void *values, int64_t count, double value);
double oracle_get(gsw_dtype type, const void *values, int64_t i);
void oracle_set(gsw_dtype type, void *values, int64_t i, double value);

/* Largest |x - y| over the largest finite |y|, which counts as normal where it is not: values below
 * have fewer digits. Infinite unless NaNs stand in the same places and infinities are equal. */
double oracle_error(gsw_dtype type, int64_t count, const void *x, const void *y);

/* 1e-13 for fp64, 1e-5 for fp32. */
double oracle_tolerance(gsw_dtype type);

/* ---- the library ---- */

/* A CPU context with the given number of threads; or one of another backend in host memory. */
gsw_context *oracle_context(int threads);
gsw_context *oracle_context_of(gsw_backend backend, int threads);

#endif
