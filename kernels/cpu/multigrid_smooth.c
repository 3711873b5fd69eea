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

#include "cpu/multigrid_kernels.h"
#include "cpu/multiply_add.h"
#include "cpu/strip.h"
#include "cpu/sweep.h"

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

#define VALUE                double
#define TYPED(name)          name##_f64
#define SHUFFLE(a, b, which) STRIP_SHUFFLE_f64(a, b, which)
#include "cpu/multigrid_lines.inc"
#include "cpu/multigrid_smooth.inc"
#undef VALUE
#undef TYPED
#undef SHUFFLE
#undef WIDTH

#define VALUE                float
#define TYPED(name)          name##_f32
#define SHUFFLE(a, b, which) STRIP_SHUFFLE_f32(a, b, which)
#include "cpu/multigrid_lines.inc"
#include "cpu/multigrid_smooth.inc"

void GSW_ISA_FN(gsw_multigrid_smooth)(const gsw_smooth_job *job) {
    if (job->type == GSW_F64)
        smooth_f64(job);
    else
        smooth_f32(job);
}

void GSW_ISA_FN(gsw_multigrid_restrict)(int threads, const gsw_transfer *transfer,
                                        const gsw_matrix *matrix, gsw_dtype type,
                                        void *const *weights, const void *b, const void *x,
                                        void *to) {
    if (type == GSW_F64)
        restrict_all_f64(threads, transfer, matrix, weights, b, x, to);
    else
        restrict_all_f32(threads, transfer, matrix, weights, b, x, to);
}

void GSW_ISA_FN(gsw_multigrid_prolong)(int threads, const gsw_transfer *transfer, gsw_dtype type,
                                       void *const *weights, const void *from, void *to) {
    if (type == GSW_F64)
        prolong_f64(threads, transfer, weights, from, to);
    else
        prolong_f32(threads, transfer, weights, from, to);
}
