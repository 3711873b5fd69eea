/* rows.h: the CPU's row source, which turns a matrix into rows. Each kind of matrix has a table;
 * only gsw_rows_of() asks which. Points outside the grid are no part of any row. A new kind of
 * coefficients is a file beside this one and a row in table.c. */
#ifndef GSW_CPU_ROWS_H
#define GSW_CPU_ROWS_H

#include "common/arrays.h"
#include "geometry/chains.h"
#include "cpu/core/kernels.h"
#include "cpu/sweep/sweep.h"

/* Coefficients of a row during its elimination are the lower part in the order of part[0] of the
 * chains, the diagonal, and the upper part in the order of part[1]. A tap describes the source of
 * coefficient `slot`. It is entry (row, row + step) of the matrix, or (row + step, row) if
 * transposed. */
typedef struct gsw_tap {
    gsw_offset offset;
    int64_t step;   /* dx + nx*(dy + ny*dz) */
    int64_t shift;  /* from the row's place in an array to the coefficient's */
    int32_t slot;   /* which coefficient of the row it becomes; -1: none */
    int32_t source; /* index in the matrix's stencil arrays */
} gsw_tap;

/* Taps that come from one matrix, in ascending order of offset. */
typedef struct gsw_tap_set {
    const gsw_matrix *matrix;
    int transposed;
    gsw_array_steps steps; /* where values repeat: y and z are those of the chains */
    int32_t count;
    gsw_tap tap[GSW_STENCIL_MAX];
} gsw_tap_set;

/* What a thread of the elimination knows about the taps that it stages. Coefficient `slot` of step
 * i, chain l goes to chunk[(i * slots + slot) * GSW_VECTOR_LANES + l]. */
typedef struct gsw_staging {
    const gsw_chains *g;
    const gsw_tap_set *taps;    /* two sets */
    const double *const *after; /* IC(0)'s rows of ghosts after the own lines, by offset */
    int32_t slots;              /* coefficients of a row */
    int64_t margin[3];          /* how far couplings reach along x, y and z */
    /* Of the first set, with room to load whole vectors: where taps lead, and -1 for each. */
    int32_t step[GSW_STENCIL_MAX + GSW_VECTOR_LANES];
    int32_t valid[GSW_STENCIL_MAX + GSW_VECTOR_LANES];
} gsw_staging;

/* Values of steps that lie between a prefetch and their use. */
enum { GSW_ROWS_AHEAD = 5 * GSW_VECTOR_LANES };

/* All entries are REQUIRED. Functions that may meet a row that does not fit its stencil return the
 * lowest such row that they know, or -1. */
typedef struct gsw_row_source {
    /* Whether rows may be coupled to offset e. */
    int (*couples)(const gsw_matrix *matrix, int32_t e);

    /* y = A x (b NULL) or b - A x; any supported combination of types. Without b for `count`
     * vectors, at most GSW_SPMV_VECTORS, each `stride` values after the one before. */
    void (*spmv)(int threads, const gsw_matrix *matrix, gsw_dtype vector_type, int count,
                 int64_t stride, const void *b, const void *x, void *y);

    /* line.c: the direct triangular solve on the user's arrays. */
    gsw_status (*line)(gsw_context *context, const gsw_matrix *matrix,
                       const gsw_sptrsv_options *options, const void *b, void *x);

    /* The diagonals of rows first..first+count-1. */
    int64_t (*diagonal)(const gsw_matrix *matrix, int64_t first, int64_t count, double *to);

    /* Writes arrays[e], where it is not NULL, with zeros where couplings leave the grid. */
    int64_t (*copy)(int threads, const gsw_matrix *matrix, gsw_dtype type, void *const *arrays);

    /* Stages `stretch` points of a line from a tap set. */
    int64_t (*stage)(const gsw_staging *s, const gsw_tap_set *set, const gsw_place *place,
                     int64_t stretch, double *to);

    /* Whether a set can be staged by squares: eight steps at once of the chains whose couplings all
     * exist (`deep`). Other chains get zeros. Returns the bit set of the chains that are done. */
    int (*has_squares)(const gsw_staging *s, const gsw_tap_set *set);
    uint8_t (*stage_square)(const gsw_staging *s, const gsw_tap_set *set,
                            const gsw_place at[GSW_VECTOR_LANES], const int deep[GSW_VECTOR_LANES],
                            double *to);
} gsw_row_source;

static inline const gsw_row_source *gsw_rows_of(const gsw_cpu_kernels *kernels,
                                                const gsw_matrix *matrix) {
    return kernels->rows[matrix->format];
}

#ifdef GSW_ISA
void GSW_ISA_FN(gsw_spmv_arrays)(int threads, const gsw_matrix *matrix, gsw_dtype vector_type,
                                 int count, int64_t stride, const void *b, const void *x, void *y);
extern const gsw_row_source GSW_ISA_FN(gsw_rows_of_arrays), GSW_ISA_FN(gsw_rows_of_csr);
gsw_status GSW_ISA_FN(gsw_line_arrays)(gsw_context *context, const gsw_matrix *matrix,
                                       const gsw_sptrsv_options *options, const void *b, void *x);
gsw_status GSW_ISA_FN(gsw_line_csr)(gsw_context *context, const gsw_matrix *matrix,
                                    const gsw_sptrsv_options *options, const void *b, void *x);
#endif

/* Whether the coupling stays in the grid for this line; if so, *begin and *end receive the range of
 * x. */
static inline int tap_range(const gsw_chains *g, const gsw_place *place, gsw_offset o,
                            int64_t *begin, int64_t *end) {
    const int64_t y = place->y + o.dy, z = place->z + o.dz;
    *begin = o.dx < 0 ? -o.dx : 0;
    *end = o.dx > 0 ? g->nx - o.dx : g->nx;
    return y >= 0 && y < g->ny && z >= 0 && z < g->nz;
}

/* The same for `stretch` points from `place` on. */
static inline int tap_span(const gsw_chains *g, const gsw_place *place, int64_t stretch,
                           gsw_offset o, int64_t *begin, int64_t *end) {
    const int inside = tap_range(g, place, o, begin, end);
    *begin = *begin > place->x ? *begin : place->x;
    *end = *end < place->x + stretch ? *end : place->x + stretch;
    return inside;
}

#endif
