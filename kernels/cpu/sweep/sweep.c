/* sweep.c: the skewed wavefront on packed factors, OpenMP and SIMD.
 *
 * UNIT OF WORK. A pencil (chains.h). A thread takes the next pencil from an atomic ticket and
 * sweeps it in chunks of at most GSW_SWEEP_CHUNK steps. For each chunk it copies b and the halo (x
 * of the chains of earlier pencils) from natural order into step order. It then performs the steps
 * and copies x back into natural order. All chains of a step are computed together, one per SIMD
 * lane.
 *
 * HAND-OVER. After each chunk a thread publishes the number of steps that it has passed (release).
 * Before a chunk it waits (acquire) until the previous pencil has passed all steps whose x the halo
 * of the chunk needs. Halo chain -h at step s lies at the position that chain `chains`-h of the
 * previous pencil reaches at step s + chains*skew. Earlier pencils are then far enough too, because
 * the previous pencil waited for them in the same way.
 *
 * PROGRESS. A pencil waits only for the pencil with the previous ticket, which a running thread
 * holds or has finished. The unfinished pencil with the smallest ticket waits for a finished one,
 * so it continues. This needs no particular number of threads. Pencils finish in the order of their
 * tickets, because the last chunk of each waits for the end of the previous one. So at most
 * `threads` pencils are unfinished at a time, and no progress slot is reused while another thread
 * waits for its old meaning.
 *
 * ARITHMETIC. x_i = b_i * d_i, then x_i -= c_ij x_j with fused multiply-add for j in ascending
 * order (of the mirrored grid in upper sweeps). Here d is the reciprocal diagonal, and c the row
 * scaled by it. A zero coefficient is skipped, not multiplied. Couplings that leave the grid are
 * zeros next to arbitrary values, and NaN or infinity must not travel along them. The result does
 * not depend on the number of threads or on the chunk.
 *
 * SHORT LINES. Copies and lanes would take longer than the arithmetic there. sweep_lines.inc sweeps
 * such pencils without them: the same factor, order of pencils, hand-over and arithmetic. */
#include <string.h>
#include "geometry/named_shapes.h"
#include "common/elements.h"
#include "cpu/core/kernels.h"
#include "cpu/core/multiply_add.h"
#include "cpu/core/specialized.h"
#include "cpu/core/strip.h"
#include "sweep.h"
#include "cpu/core/threads.h"

/* A chunk that is being swept. */
typedef struct chunk {
    const gsw_chains *g;
    const gsw_shape *shape;
    int64_t first_chain, first_plane;
    int64_t step;  /* first step, counted in the pencil */
    int64_t steps; /* at most GSW_SWEEP_CHUNK */
    int64_t mask;  /* ring rows - 1 */
    int diagonal;
    const double *ghosts; /* x of the first ghost in the order of the sweep; NULL: none is near */
    int apart;            /* x is not b: its lines must be prefetched as well */
    /* The packed factor is prefetched ahead of its use, evenly over the time that a chunk takes:
     * some of it with every square, the rest with every step. It goes into the second-level cache,
     * like the lines of b and x: the first level awaits too few lines at a time
     * (perf/DECISIONS.md, Lines that a core awaits). */
    const char *stream;
    int64_t stream_square, stream_step; /* bytes */
} chunk;

enum {
    STREAM_AHEAD = 32768, /* bytes: a few memory latencies */
    LINES_AHEAD = 8192,   /* the same for short lines, which come in the order of memory */
    STREAM_SQUARE = 512,  /* most bytes to prefetch with one square */
    SHORT_LINE_TERMS = 72 /* most points times couplings of a short line */
};

static void stream_begin(chunk *c, const void *packed, int64_t record_bytes) {
    const int64_t square = 8 * record_bytes / 4; /* two squares prefetch half of 8 records */
    c->stream = (const char *)packed + STREAM_AHEAD;
    c->stream_square = square < STREAM_SQUARE ? square : STREAM_SQUARE;
    c->stream_step = record_bytes - 2 * c->stream_square / 8;
}

static inline __attribute__((always_inline)) void prefetch_bytes(const char *from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += GSW_CACHE_LINE)
        __builtin_prefetch(from + i);
}

static inline __attribute__((always_inline)) void stream_square(chunk *c) {
    gsw_prefetch_l2(c->stream, (size_t)c->stream_square);
    c->stream += c->stream_square;
}

/* Number of steps that a chain stays on its line, at most `limit`. */
static inline int64_t line_stretch(const gsw_chains *g, const gsw_place *place, int64_t limit) {
    const int64_t left = g->nx - place->x;
    return left < limit ? left : limit;
}

/* Squares that can be copied before one of eight chains reaches the end of its line. */
static inline int64_t whole_squares(const gsw_chains *g, const gsw_place at[8], int64_t steps) {
    int64_t left = steps;
    for (int l = 0; l < 8; l++)
        left = line_stretch(g, &at[l], left);
    return left / 8;
}

static inline void advance_chains(const gsw_chains *g, gsw_place at[8], int64_t steps) {
    for (int l = 0; l < 8; l++)
        gsw_place_advance(g, &at[l], steps);
}

/* Steps that a thread stays behind the previous one: those that the halo needs, and some more. A
 * thread that follows too closely may fetch lines that the previous thread is still writing. But
 * all threads together must not stay behind by more than a pencil, or some would have nothing to
 * do. */
static inline int64_t steps_behind(const gsw_sweep_job *job, int64_t steps, int64_t needed) {
    const int64_t spare = steps / job->threads - job->chunk - needed;
    return needed + (spare < 0 ? 0 : spare < job->slack ? spare : job->slack);
}

/* The steps from `step` on that are done together. Where periods share records, a chunk ends with a
 * period, and none goes around the ring. */
static int64_t chunk_at(const gsw_sweep_job *job, int64_t nx, int64_t step, int64_t steps) {
    const int64_t left = steps - step < job->chunk ? steps - step : job->chunk;
    if (job->records->period == NULL)
        return left;
    const int64_t period = nx - step % nx, ring = GSW_SWEEP_CHUNK - step % GSW_SWEEP_CHUNK;
    const int64_t most = period < ring ? period : ring;
    return left < most ? left : most;
}

#define GSW_VALUES "cpu/sweep/sweep_stage.inc"
#define GSW_PAIRS  "cpu/sweep/sweep_steps.inc"
#include "cpu/core/typed.inc"

void GSW_ISA_FN(gsw_sweep)(const gsw_sweep_job *job) {
    const gsw_chains *g = job->chains;
    const int lines = g->nx * g->part[job->upper].count <= SHORT_LINE_TERMS &&
                      job->records->period == NULL &&
                      g->points == g->nx * g->ny * g->nz; /* no ghosts */
    gsw_progress_reset(job->progress, job->begin, job->threads);
#pragma omp parallel num_threads(job->threads)
    {
        void *work = (char *)job->work + (size_t)gsw_thread_index() * job->work_bytes;
        int64_t pencil;
        gsw_progress_join(job->progress);
        if (lines)
            GSW_CALL_PAIR(sweep_lines, job->vector_type, job->factor_type, job);
        while (!lines && (pencil = gsw_progress_take(job->progress)) < job->end)
            GSW_CALL_PAIR(sweep_pencil, job->vector_type, job->factor_type, job, pencil, work);
    }
}
