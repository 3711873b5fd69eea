/* sweep.h: one sweep of a packed factor on the CPU, and how pencils wait for each other.
 *
 * Each unfinished pencil has one number for its progress. Steps are counted from plane 0
 * (absolute), so that pencils that start in different planes compare. Pencil q has passed absolute
 * step t when its slot holds at least q*span + t. It is finished at (q+1)*span. Slots are reused
 * modulo `slots` > threads. */
#ifndef GSW_CPU_SWEEP_H
#define GSW_CPU_SWEEP_H

#include <stdatomic.h>
#include <stddef.h>
#include "geometry/chains.h"
#include "cpu/core/cores.h"
#include <gridsweep/matrix.h>

enum {
    GSW_VECTOR_LANES = 8, /* SIMD lanes, which is the number of chains of the pencils that
                             vectorised kernels sweep */
    GSW_SWEEP_CHUNK = 64, /* most steps between two polls of the previous pencil; multiple of 8 */
    GSW_CACHE_LINE = 64
};

typedef struct gsw_progress_slot {
    _Alignas(GSW_CACHE_LINE) _Atomic int64_t value;
} gsw_progress_slot;

typedef struct gsw_progress {
    _Alignas(GSW_CACHE_LINE) _Atomic int64_t ticket; /* next pencil to take */
    int64_t span; /* no absolute step is beyond it; the last wait of a pencil reaches it */
    int64_t slots;
    int64_t began; /* the time of gsw_progress_reset() */
    gsw_progress_slot *slot;
} gsw_progress;

/* Called by one thread before the others start. Pencils before `begin` count as finished. */
static inline void gsw_progress_reset(gsw_progress *progress, int64_t begin, int threads) {
    atomic_store_explicit(&progress->ticket, begin, memory_order_relaxed);
    for (int64_t i = 0; i < progress->slots; i++)
        atomic_store_explicit(&progress->slot[i].value, begin * progress->span,
                              memory_order_relaxed);
    progress->began = gsw_team_begins(threads);
}

/* Each thread calls this before it takes a pencil. */
static inline void gsw_progress_join(const gsw_progress *progress) {
    gsw_thread_begins(progress->began);
}

static inline int64_t gsw_progress_take(gsw_progress *progress) {
    return atomic_fetch_add_explicit(&progress->ticket, 1, memory_order_relaxed);
}

static inline void gsw_progress_publish(gsw_progress *progress, int64_t pencil, int64_t step) {
    atomic_store_explicit(&progress->slot[pencil % progress->slots].value,
                          pencil * progress->span + step, memory_order_release);
}

static inline void gsw_progress_finish(gsw_progress *progress, int64_t pencil) {
    gsw_progress_publish(progress, pencil, progress->span);
}

/* Returns when `pencil` has passed absolute step `step` or is finished. Returns at once for pencil
 * -1. */
static inline void gsw_progress_wait(gsw_progress *progress, int64_t pencil, int64_t step) {
    if (pencil < 0)
        return;
    const int64_t aim = pencil * progress->span + (step < progress->span ? step : progress->span);
    _Atomic int64_t *value = &progress->slot[pencil % progress->slots].value;
    gsw_wait wait = {0};
    while (atomic_load_explicit(value, memory_order_acquire) < aim)
        gsw_wait_turn(&wait);
}

/* Rows of a ring that keeps `reach` steps while a chunk is written. A power of two. */
static inline int64_t gsw_ring_rows(int64_t reach) {
    int64_t rows = GSW_SWEEP_CHUNK;
    while (rows < reach + GSW_SWEEP_CHUNK)
        rows *= 2;
    return rows;
}

/* Where a part's records are, in the order of its sweep. In a factor of coefficients that repeat,
 * periods of nx steps share records (factor/periods.c); `period` is NULL in any other. */
typedef struct gsw_records {
    int64_t count;   /* stored */
    int64_t *first;  /* of each pencil: its first record, or its first period */
    int64_t *period; /* the first record of each period */
    int64_t *writer; /* of stored periods: the period that fills it */
} gsw_records;

static inline int64_t gsw_record_of(const gsw_records *records, int64_t nx, int64_t pencil,
                                    int64_t step) {
    if (records->period == NULL)
        return records->first[pencil] + step;
    return records->period[records->first[pencil] + step / nx] + step % nx;
}

/* Whether this step's record is written for this step. */
static inline int gsw_record_is_own(const gsw_records *records, int64_t nx, int64_t pencil,
                                    int64_t step) {
    if (records->period == NULL)
        return 1;
    const int64_t period = records->first[pencil] + step / nx;
    return records->writer[records->period[period] / nx] == period;
}

typedef struct gsw_sweep_job {
    const gsw_chains *chains;
    int upper; /* the mirrored sweep */
    gsw_dtype factor_type, vector_type;
    int diagonal;       /* records begin with the reciprocal diagonal */
    const void *packed; /* the records */
    const gsw_records *records;
    int64_t begin, end; /* the pencils to sweep */
    int64_t chunk;      /* steps between two polls; a multiple of 8, at most GSW_SWEEP_CHUNK */
    int64_t slack;      /* steps that a thread stays behind the previous one, beyond its halo's */
    int threads;
    int64_t count; /* right-hand sides */
    const void *b;
    void *x;
    int64_t ldb, ldx;
    const double *ghosts; /* x of the ghosts before the own lines, in natural order; NULL: none */
    gsw_progress *progress;
    void *work; /* `threads` areas of gsw_sweep_work_bytes() */
    size_t work_bytes;
} gsw_sweep_job;

/* Scratch of one thread for `batch` right-hand sides: a ring of x and a halo for each, and the
 * staged b. */
static inline size_t gsw_sweep_work_bytes(const gsw_chains *g, int upper, gsw_dtype vector_type,
                                          int64_t batch) {
    const gsw_shape *shape = &g->part[upper];
    const size_t rows = (size_t)gsw_ring_rows(shape->reach);
    const size_t values = (size_t)batch * rows * (GSW_VECTOR_LANES + (size_t)shape->halo) +
                          GSW_SWEEP_CHUNK * GSW_VECTOR_LANES + 4 * GSW_CACHE_LINE;
    return (values * gsw_dtype_size(vector_type) + 2 * GSW_CACHE_LINE - 1) / GSW_CACHE_LINE *
           GSW_CACHE_LINE;
}

#endif
