/* packed.h: a packed factor in the CPU's memory. */
#ifndef GSW_CPU_PACKED_H
#define GSW_CPU_PACKED_H

#include "contract/backend.h"
#include "contract/box_ops.h"
#include "cpu/sweep/sweep.h"
#include "geometry/layout.h"

enum { RHS_BATCH = 8 }; /* right-hand sides that share one pass over the factor */

struct gsw_packed {
    gsw_progress progress; /* aligned: first */
    gsw_chains chains, mirrored;
    int sweeps;              /* 2; 1 for LOWER and UPPER; 0 for JACOBI */
    int upper[2];            /* which part sweep 0 and 1 solve with */
    gsw_packed_part part[2]; /* lower, upper */
    gsw_records records[2];  /* in lower and in upper order */
    gsw_updates *updates;    /* NULL where rows do not depend on each other */
    void *sweep_work;
    size_t sweep_work_bytes; /* of one thread */
    void *eliminate_work;
    size_t eliminate_work_bytes; /* of one thread */
    double *faces;
    int64_t face_values;
    void *reciprocal; /* JACOBI: natural order */
};

/* Whether the factor shares records. If so, gsw_cpu_find_periods() indexes those of a part. */
int gsw_cpu_repeats(const gsw_factor *factor, const gsw_chains *g);
gsw_status gsw_cpu_find_periods(gsw_context *context, const gsw_factor *factor, int upper,
                                gsw_records *records);

/* Threads that a sweep over this many pencils of the chains is worth now. */
int gsw_cpu_band_threads(const gsw_context *context, const gsw_chains *g, int64_t pencils);

/* See backend.h. */
gsw_status gsw_cpu_factor_sweep(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                                const void *b, int64_t ldb, void *x, int64_t ldx);
gsw_status gsw_cpu_factor_unpack(gsw_context *context, const gsw_factor *factor, int which,
                                 double *const *arrays);

/* Writes the coefficients of sweep 0 or 1 of an fp64 factor from stencil arrays, and scales each:
 * row i's to neighbour j by left[i] and right[j]. left may be NULL: 1. */
void gsw_cpu_pack_scaled(const gsw_factor *factor, int which, const double *const *arrays,
                         const double *left, const double *right);

/* The reciprocal diagonal that sweep 0 or 1 stores, in natural order. */
void gsw_cpu_unpack_diagonal(const gsw_factor *factor, int which, double *out);

/* See box_ops.h. */
void gsw_cpu_bands(const gsw_factor *factor, gsw_bands *bands);
void gsw_cpu_sweep_bands(gsw_context *context, gsw_factor *factor, const gsw_band_sweep *sweep);

#endif
