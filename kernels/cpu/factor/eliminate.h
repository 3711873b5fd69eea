/* eliminate.h: from a user's matrix to packed factors on the CPU. */
#ifndef GSW_CPU_ELIMINATE_H
#define GSW_CPU_ELIMINATE_H

#include <gridsweep/factor.h>
#include "geometry/layout.h"
#include "cpu/rows/rows.h"
#include "cpu/sweep/sweep.h"

/* Steps that are staged and eliminated together. */
enum { GSW_ELIMINATE_CHUNK = 16 };

typedef struct gsw_eliminate_job {
    const gsw_chains *chains;
    int64_t begin, end; /* the pencils to eliminate; those before have been, in other calls */
    const gsw_records *records; /* of both parts */
    gsw_factor_kind kind;
    gsw_dtype factor_type;
    double omega;
    double pivot_shift;
    int unit_diagonal;          /* of LOWER, UPPER and U of LU */
    int narrows;                /* to fp32, which may not hold all values */
    gsw_tap_set taps[2];        /* where the coefficients come from; the second may be empty */
    const gsw_updates *updates; /* NULL: rows do not depend on each other */
    gsw_packed_part part[2];
    int threads;
    gsw_progress *progress;
    void *work; /* threads areas of work_bytes */
    size_t work_bytes;
    double *faces; /* progress->slots faces of face_values each */
    int64_t face_values;
    /* Slabs (chains.h, GHOSTS). Arrays hold the scaled upper rows of points in natural order: their
     * reciprocal pivot, then the coefficients in the order of part[1]. `given`: of the ghosts
     * before. `kept`: of own rows from `kept_from` on, which are written, too. `after`: IC(0)'s
     * rows of ghosts after, as the matrix has them (NULL: zeros), by index of stencil array. */
    const double *given[GSW_STENCIL_MAX];
    double *kept[GSW_STENCIL_MAX];
    int64_t kept_from; /* INT64_MAX: none */
    const double *after[GSW_STENCIL_MAX];
    /* Results. */
    int64_t bad_pivot;      /* lowest row, or -1 */
    int64_t shifted_pivots; /* replaced */
    int64_t misfit;         /* lowest row with a coupling outside the stencil, or -1 */
    int64_t beyond;         /* lowest row with a value that fp32 does not hold, or -1 */
} gsw_eliminate_job;

/* Chains at the end of a pencil whose rows later pencils read. */
static inline int64_t gsw_face_chains(const gsw_chains *g) {
    return g->part[0].halo < g->chains ? g->part[0].halo : g->chains;
}

/* Values of the scaled upper row that a pencil publishes: reciprocal diagonal and upper part. */
static inline int64_t gsw_row_values(const gsw_chains *g) {
    return 1 + g->part[1].count;
}

/* Values of one pencil's face. There is room before its first row, because a load may end with that
 * row. */
static inline int64_t gsw_face_size(const gsw_chains *g) {
    const int64_t steps = g->nx * g->nz + (int64_t)g->chains * g->skew;
    return GSW_VECTOR_LANES + steps * gsw_row_values(g) * gsw_face_chains(g);
}

/* Scratch of one thread: a chunk of rows and, where rows depend on each other, the ring of scaled
 * upper rows. */
static inline size_t gsw_eliminate_work_bytes(const gsw_chains *g, int dependent) {
    const size_t row = (size_t)(g->part[0].count + 1 + g->part[1].count) * GSW_VECTOR_LANES;
    const size_t ring = (size_t)gsw_ring_rows(g->part[0].reach) * (size_t)gsw_row_values(g);
    return (GSW_ELIMINATE_CHUNK * row + (dependent ? ring * GSW_VECTOR_LANES : 0)) *
               sizeof(double) +
           2 * GSW_CACHE_LINE;
}

#endif
