/* multigrid_smooth.c: Gauss-Seidel in natural order on a level's own arrays, with the transfer
 * before or after it, line by line, and transfers alone.
 *
 * LINES. A line is solved in two parts. Couplings to other lines are summed in vectors. Couplings
 * to the previous point in the same line form a recurrence of first order. Recursive doubling turns
 * it into a recurrence over strips. Long lines are cut into segments, always at the same points.
 *
 * PLANES. A unit of work is a plane: constant z, or a line of a flat grid. Threads take planes in
 * the sweep's order by ticket. Before each segment of a line, plane p waits until plane p - 1 is
 * ahead by `lag` segments. These are the segments that the segment couples to, and those whose sums
 * still need the segment's old values. The previous plane waited in the same way, so earlier planes
 * are far enough, too. Progress is published with release and awaited with acquire (sweep.h). A
 * plane waits for an earlier ticket only, whose owner runs.
 *
 * FUSION. After a sweep upwards from zero the residual is -U x, or in general the terms above the
 * diagonal. The thread that finishes the last plane that a coarse plane needs restricts to that
 * coarse plane, while x and the arrays are in the cache. In a sweep downwards, the thread that
 * takes plane p adds the coarse correction to plane p + reach first. So each sum finds corrected
 * values.
 *
 * Neither a thread's share nor the number of threads changes the order of any sum. */
#include <stdlib.h>
#include <string.h>

#include "multigrid_kernels.h"
#include "common/elements.h"
#include "cpu/core/multiply_add.h"
/* Lines are short, and few are aligned: with 64 bytes a cycle takes a quarter longer. */
#if defined(__AVX__)
#define STRIP_BYTES 32
#else
#define STRIP_BYTES 16
#endif
#include "cpu/core/strip.h"
#include "cpu/sweep/sweep.h"

enum {
    SEGMENT = 256,        /* points of a line that are solved between two publications */
    AHEAD = 256,          /* distance of prefetches in values */
    STRIPS = 4,           /* summed together, to hide the latency of the multiply-adds */
    RESTRICT_BLOCK = 256, /* coarse points whose residual is computed together */
    RESTRICT_LINES = 16,  /* coarse lines per task: it recomputes its neighbours' residuals */
    WORKERS_MAX = 62      /* threads */
};

/* The order in which a sweep visits a grid. */
typedef struct walk {
    int64_t planes, lines, segments; /* per grid, per plane, per line */
    int64_t lag;   /* segments that the plane before must be ahead, this segment included */
    int64_t reach; /* planes that a coupling spans at most */
    int flat;      /* planes are lines: the grid has one z only */
    int down;
} walk;

typedef struct place {
    int64_t y, z;
} place;

/* Restricts to coarse lines cy0..cy1-1 of plane cz, of the vector `to`. */
typedef struct restriction {
    const gsw_transfer *transfer;
    void *const *weights;
    void *to;
    int64_t cy0, cy1, cz;
} restriction;

static walk walk_of(const gsw_matrix *matrix, int down) {
    const gsw_grid *g = &matrix->grid;
    walk w = {.flat = g->nz == 1, .down = down};
    int64_t lines = 0, beside = 0;
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        if (llabs(o.dx) >= g->nx || llabs(o.dy) >= g->ny || llabs(o.dz) >= g->nz)
            continue;
        const int64_t dp = llabs(w.flat ? o.dy : o.dz), dq = w.flat ? 0 : llabs(o.dy);
        w.reach = dp > w.reach ? dp : w.reach;
        lines = dp > 0 && dq > lines ? dq : lines;
        beside = dp > 0 && o.dx != 0 ? 1 : beside;
    }
    w.planes = w.flat ? g->ny : g->nz;
    w.lines = w.flat ? 1 : g->ny;
    w.segments = (g->nx + SEGMENT - 1) / SEGMENT;
    w.lag = lines * w.segments + beside + 1;
    return w;
}

static place place_of(const walk *w, int64_t p, int64_t q) {
    if (w->down) {
        p = w->planes - 1 - p;
        q = w->lines - 1 - q;
    }
    return w->flat ? (place){p, 0} : (place){q, p};
}

/* Lanes of two strips. LOW and HIGH interleave them. BACK_n: zeros and a strip, whose lanes move n
 * up; FORTH_n: a strip and zeros, n down. */
#define EVEN_2    0, 2
#define ODD_2     1, 3
#define LOW_2     0, 2
#define HIGH_2    1, 3
#define BACK_1_2  1, 2
#define BACK_2_2  0, 1
#define FORTH_1_2 1, 2
#define FORTH_2_2 2, 3
#define EVEN_4    0, 2, 4, 6
#define ODD_4     1, 3, 5, 7
#define LOW_4     0, 4, 1, 5
#define HIGH_4    2, 6, 3, 7
#define BACK_1_4  3, 4, 5, 6
#define BACK_2_4  2, 3, 4, 5
#define FORTH_1_4 1, 2, 3, 4
#define FORTH_2_4 2, 3, 4, 5
#define EVEN_8    0, 2, 4, 6, 8, 10, 12, 14
#define ODD_8     1, 3, 5, 7, 9, 11, 13, 15
#define LOW_8     0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8    4, 12, 5, 13, 6, 14, 7, 15
#define BACK_1_8  7, 8, 9, 10, 11, 12, 13, 14
#define BACK_2_8  6, 7, 8, 9, 10, 11, 12, 13
#define FORTH_1_8 1, 2, 3, 4, 5, 6, 7, 8
#define FORTH_2_8 2, 3, 4, 5, 6, 7, 8, 9

/* Zeros, set bits, zeros, a strip each: what is read from the middle, n lanes on, has the last n
 * lanes cleared, or for n < 0 the first -n. */
#if STRIP_BYTES == 32
static const int64_t mask_f64[12] = {0, 0, 0, 0, -1, -1, -1, -1};
static const int32_t mask_f32[24] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};
#define SHUFFLE_f64(a, b, which) __builtin_shufflevector(a, b, which##_4)
#define SHUFFLE_f32(a, b, which) __builtin_shufflevector(a, b, which##_8)
#else
static const int64_t mask_f64[6] = {0, 0, -1, -1};
static const int32_t mask_f32[12] = {0, 0, 0, 0, -1, -1, -1, -1};
#define SHUFFLE_f64(a, b, which) __builtin_shufflevector(a, b, which##_2)
#define SHUFFLE_f32(a, b, which) __builtin_shufflevector(a, b, which##_4)
#endif

#define GSW_VALUES "cpu/multigrid/multigrid_smooth.inc"
#include "cpu/core/typed.inc"

void GSW_ISA_FN(gsw_multigrid_smooth)(const gsw_smooth_job *job) {
    GSW_CALL_VALUE(smooth, job->type, job);
}

void GSW_ISA_FN(gsw_multigrid_restrict)(int threads, const gsw_transfer *transfer,
                                        const gsw_matrix *matrix, gsw_dtype type,
                                        void *const *weights, const void *b, const void *x,
                                        void *to) {
    GSW_CALL_VALUE(restrict_all, type, threads, transfer, matrix, weights, b, x, to);
}

void GSW_ISA_FN(gsw_multigrid_prolong)(int threads, const gsw_transfer *transfer, gsw_dtype type,
                                       void *const *weights, const void *from, void *to) {
    GSW_CALL_VALUE(prolong, type, threads, transfer, weights, from, to);
}
