/* box.c: exact sweeps and factorisations of a box whose neighbours belong to other processes, line
 * by line on arrays in natural order.
 *
 * A line first takes the terms of other lines, which vectorise, into a buffer; then the recurrence
 * along x runs over the buffer. A recurrence waits for each multiply-add, so up to LINES lines of a
 * group, which do not depend on each other, run side by side.
 *
 * The order of a row's terms, and what happens where a coefficient is 0, are those of the packed
 * sweeps (cpu/sweep/sweep.c) and of their factorisation (cpu/factor/eliminate.c). The bits are the
 * same, for any boxes and any number of threads. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "box.h"
#include "cpu/core/kernels.h"
#include "cpu/core/multiply_add.h"

enum {
    LINES = 8,         /* recurrences side by side */
    SEGMENT = 512,     /* points of a line in a buffer */
    LINES_SERIAL = 16, /* groups of fewer lines are not worth a second thread */
};

/* The two ends of the points of a line that have a neighbour at distance dx in the frame. */
static void clip(const gsw_frame *f, int32_t dx, int64_t *begin, int64_t *end) {
    const int64_t before = f->low[0], after = f->e[0] - f->low[0] - f->n[0];
    *begin = -dx > before ? -dx - before : 0;
    *end = dx > after ? f->n[0] - (dx - after) : f->n[0];
}

static int line_exists(const gsw_frame *f, int64_t y, int64_t z) {
    return y >= -f->low[1] && y < f->e[1] - f->low[1] && z >= -f->low[2] && z < f->e[2] - f->low[2];
}

static int is_own_line(gsw_offset o) {
    return o.dy == 0 && o.dz == 0;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- Sweeps -----------------------------------------------------------------------------------
 */

/* t = scale b - the terms of other lines, for points begin to end - 1 of a line. With `ghosts` only
 * the terms of ghosts in other planes. */
static void take_others(const gsw_box_sweep *s, gsw_box_line line, int64_t begin, int64_t end,
                        int ghosts, double *t) {
    const gsw_frame *f = s->frame;
    const int64_t row = f->n[0] * (line.y + f->n[1] * line.z), from = row - s->origin;
    const double *b = s->b ? s->b + row : s->x + gsw_frame_row(f, 0, line.y, line.z);
    if (s->scale)
        for (int64_t x = begin; x < end; x++)
            t[x - begin] = s->scale[from + x] * b[x];
    else
        memcpy(t, b + begin, (size_t)(end - begin) * sizeof *t);
    for (int32_t k = 0; k < s->count && !is_own_line(s->offset[k]); k++) {
        const gsw_offset o = s->offset[k];
        const int64_t y = line.y + o.dy, z = line.z + o.dz;
        int64_t first, last;
        clip(f, o.dx, &first, &last);
        if (!s->c[k] || !line_exists(f, y, z) || (ghosts && z >= 0 && z < f->n[2]))
            continue;
        first = larger(first, begin);
        last = smaller(last, end);
        const double *c = s->c[k] + from, *v = s->x + gsw_frame_row(f, o.dx, y, z);
        for (int64_t x = first; x < last; x++)
            t[x - begin] -= c[x] * (c[x] != 0 ? v[x] : 0);
    }
}

/* The recurrence along x of up to LINES lines, whose buffers are t[l]. */
static void run_along(const gsw_box_sweep *s, const gsw_box_line *line, int64_t count,
                      int64_t begin, int64_t end, double t[LINES][SEGMENT]) {
    const gsw_frame *f = s->frame;
    int32_t k = 0;
    while (k < s->count && !is_own_line(s->offset[k]))
        k++;
    const int64_t step = s->down ? -1 : 1, from = s->down ? end - 1 : begin;
    double *x[LINES];
    int64_t row[LINES];
    for (int64_t l = 0; l < count; l++) {
        x[l] = s->x + gsw_frame_row(f, 0, line[l].y, line[l].z);
        row[l] = f->n[0] * (line[l].y + f->n[1] * line[l].z);
    }
    if (s->count - k == 1 && s->c[k] && (s->offset[k].dx == 1 || s->offset[k].dx == -1)) {
        /* One neighbour, the point before: it stays in a register. */
        int64_t first, last;
        double before[LINES] = {0};
        clip(f, s->offset[k].dx, &first, &last);
        for (int64_t l = 0; l < count; l++)
            before[l] = from >= first && from < last ? x[l][from - step] : 0;
        for (int64_t i = 0, at = from; i < end - begin; i++, at += step) {
            for (int64_t l = 0; l < count; l++) {
                const double c = at >= first && at < last ? s->c[k][row[l] + at] : 0;
                before[l] = t[l][at - begin] - c * (c != 0 ? before[l] : 0);
                x[l][at] = before[l];
            }
        }
        return;
    }
    for (int64_t l = 0; l < count; l++) {
        for (int64_t i = 0, at = from; i < end - begin; i++, at += step) {
            double sum = t[l][at - begin];
            for (int32_t j = k; j < s->count; j++) {
                int64_t first, last;
                clip(f, s->offset[j].dx, &first, &last);
                const double c = s->c[j] && at >= first && at < last ? s->c[j][row[l] + at] : 0;
                sum -= c * (c != 0 ? x[l][at + s->offset[j].dx] : 0);
            }
            x[l][at] = sum;
        }
    }
}

/* Sweeps up to LINES lines that do not depend on each other. */
static void sweep_lines(const gsw_box_sweep *s, const gsw_box_line *line, int64_t count) {
    const gsw_frame *f = s->frame;
    const int64_t nx = f->n[0];
    double t[LINES][SEGMENT];
    for (int64_t done = 0; done < nx; done += SEGMENT) {
        const int64_t length = smaller(nx - done, SEGMENT);
        const int64_t begin = s->down ? nx - done - length : done, end = begin + length;
        for (int64_t l = 0; l < count; l++)
            take_others(s, line[l], begin, end, 0, t[l]);
        run_along(s, line, count, begin, end, t);
    }
    for (int64_t l = 0; l < count && s->out; l++)
        memcpy(s->out + nx * (line[l].y + f->n[1] * line[l].z),
               s->x + gsw_frame_row(f, 0, line[l].y, line[l].z), (size_t)nx * sizeof *s->out);
}

static void box_sweep(int threads, const gsw_box_sweep *s, const gsw_box_lines *lines) {
    for (int64_t g = 0; g < lines->groups; g++) {
        const int64_t begin = lines->first[g], end = lines->first[g + 1];
#pragma omp parallel for schedule(static) num_threads(threads) if (end - begin >= LINES_SERIAL)
        for (int64_t i = begin; i < end; i += LINES)
            sweep_lines(s, lines->line + i, smaller(end - i, LINES));
    }
}

static void box_lead(const gsw_box_sweep *s, const gsw_box_lines *lines, int64_t first, int64_t end,
                     double *out) {
    const gsw_frame *f = s->frame;
    for (int64_t i = lines->first[0]; i < lines->first[lines->groups]; i++) {
        const gsw_box_line line = lines->line[i];
        if (line.z >= first && line.z < end)
            take_others(s, line, 0, f->n[0], 1,
                        out + f->n[0] * (line.y + f->n[1] * line.z) - s->origin);
    }
}

/* ---- Factorisation ----------------------------------------------------------------------------
 */

/* A bundle of lines goes in pieces of ROWS points. A piece first takes the updates by rows of other
 * lines, which vectorise along x. Then the updates by rows of the own line, and the pivots, follow
 * point by point, for all lines of the bundle side by side. In the order of the offsets the rows of
 * the own line come last, so each entry takes its updates in the order of cpu/factor/eliminate.c.
 */
enum { BUNDLE = 4, ROWS = 64, UPDATES_MAX = GSW_STENCIL_MAX * GSW_STENCIL_MAX / 4 };

/* Updates by the lower neighbours k: a[target] -= a[k] * upper[from] of that neighbour. Those of k
 * are first[k] to first[k + 1] - 1. */
typedef struct updates {
    int32_t first[GSW_STENCIL_MAX + 1];
    int32_t own_line;                     /* the first k that lies on the own line */
    int is_late[GSW_STENCIL_MAX];         /* this entry of U is read on the own line */
    int32_t late[GSW_STENCIL_MAX], lates; /* those that are */
    int32_t from[UPDATES_MAX], target[UPDATES_MAX];
} updates;

/* Which of them: all, those by ghosts of slabs before, those of entries that lead to slabs after.
 */
typedef enum selection { ALL, BY_GHOSTS, OF_GHOSTS } selection;

static void find_updates(const gsw_stencil *s, int diagonal_only, selection which, updates *list) {
    int32_t count = 0;
    *list = (updates){.own_line = 0};
    for (int32_t k = 0; k < s->center; k++) {
        const gsw_offset a = s->offsets[k];
        list->first[k] = count;
        if (!is_own_line(a))
            list->own_line = k + 1;
        for (int32_t u = s->center + 1; u < s->count; u++) {
            const gsw_offset b = s->offsets[u];
            const gsw_offset sum = {a.dx + b.dx, a.dy + b.dy, a.dz + b.dz};
            const int32_t target = gsw_stencil_find(s, sum);
            if (target < 0 || (target != s->center && diagonal_only) ||
                (which == BY_GHOSTS && a.dz >= 0) || (which == OF_GHOSTS && sum.dz <= 0))
                continue;
            if (is_own_line(a) && !list->is_late[u]) {
                list->is_late[u] = 1;
                list->late[list->lates++] = u;
            }
            list->from[count] = u;
            list->target[count++] = target;
        }
    }
    list->first[s->center] = count;
}

/* Arrays that rows of U are in: those of the box, and those of ghosts. */
typedef struct places {
    double *const *own, *const *ghost;
} places;

/* Rows of a piece of a line: entries e at t[e], for the points begin <= x < end. The points
 * first[e] <= x < last[e] have a neighbour e. It is in the box for own_first[e] <= x < own_last[e].
 * The neighbours of x = 0 are number[e] of the arrays of the box, and before[e] or after[e] of
 * those of ghosts, where the neighbours are before or after the box's line. */
typedef struct rows {
    int64_t begin, end;
    int64_t place; /* of x = 0, in the box (or among the arrays of an edge) */
    int64_t first[GSW_STENCIL_MAX], own_first[GSW_STENCIL_MAX];
    int64_t own_last[GSW_STENCIL_MAX], last[GSW_STENCIL_MAX];
    int64_t number[GSW_STENCIL_MAX], before[GSW_STENCIL_MAX], after[GSW_STENCIL_MAX];
    double t[GSW_STENCIL_MAX][ROWS];
} rows;

/* Loads entry e of the points first <= x < last. The others get 0. */
static void load_entry(rows *r, int32_t e, int64_t first, int64_t last, const double *from) {
    double *t = r->t[e] - r->begin;
    first = larger(smaller(first, r->end), r->begin);
    last = larger(smaller(last, r->end), first);
    for (int64_t x = r->begin; x < first; x++)
        t[x] = 0;
    if (from)
        memcpy(t + first, from + first, (size_t)(last - first) * sizeof *t);
    for (int64_t x = from ? last : first; x < r->end; x++)
        t[x] = 0;
}

/* Loads entry e of more points. */
static void add_entry(rows *r, int32_t e, int64_t first, int64_t last, const double *from) {
    first = larger(first, r->begin);
    last = smaller(last, r->end);
    if (first < last)
        memcpy(r->t[e] + first - r->begin, from + first, (size_t)(last - first) * sizeof *from);
}

/* Takes the updates of the points first <= x < last by their neighbours k, which are `at` + x. */
static void update_range(const updates *list, double *const *upper, int64_t at, rows *r, int32_t k,
                         int64_t first, int64_t last) {
    const double *a = r->t[k] - r->begin;
    first = larger(first, r->begin);
    last = smaller(last, r->end);
    for (int32_t i = list->first[k]; first < last && i < list->first[k + 1]; i++) {
        const double *u = upper[list->from[i]] + at;
        double *to = r->t[list->target[i]] - r->begin;
        for (int64_t x = first; x < last; x++) {
            const double value = u[x];
            to[x] -= a[x] * (a[x] != 0 ? value : 0);
        }
    }
}

static void update_by(const updates *list, const places *u, rows *r, int32_t k) {
    update_range(list, u->ghost, r->before[k], r, k, r->first[k], r->own_first[k]);
    update_range(list, u->own, r->number[k], r, k, r->own_first[k], r->own_last[k]);
    update_range(list, u->ghost, r->after[k], r, k, r->own_last[k], r->last[k]);
}

static void multiply_range(const double *reciprocal, const rows *r, int32_t k, int64_t first,
                           int64_t last, double *to) {
    const double *a = r->t[k] - r->begin;
    first = larger(first, r->begin);
    last = smaller(last, r->end);
    for (int64_t x = first; x < last; x++) {
        const double value = reciprocal[x];
        to[x] = a[x] != 0 ? a[x] * value : 0;
    }
}

/* to = the multipliers of lower neighbour k, where there is one. */
static void find_multipliers(const places *u, int32_t center, const rows *r, int32_t k,
                             double *to) {
    if (r->first[k] < r->own_first[k])
        multiply_range(u->ghost[center] + r->before[k], r, k, r->first[k], r->own_first[k], to);
    if (r->own_first[k] < r->own_last[k])
        multiply_range(u->own[center] + r->number[k], r, k, r->own_first[k], r->own_last[k], to);
    if (r->own_last[k] < r->last[k])
        multiply_range(u->ghost[center] + r->after[k], r, k, r->own_last[k], r->last[k], to);
}

/* Takes the updates of a point by the rows of its own line. */
static inline void update_point(const updates *list, const places *u, rows *r, int64_t x,
                                int32_t center) {
    const int64_t i = x - r->begin;
    for (int32_t k = list->own_line; k < center; k++) {
        const double a = r->t[k][i];
        const int is_own = x >= r->own_first[k] && x < r->own_last[k];
        double *const *upper = is_own ? u->own : u->ghost;
        const int64_t at = is_own ? r->number[k] : x < r->own_first[k] ? r->before[k] : r->after[k];
        for (int32_t j = list->first[k]; a != 0 && j < list->first[k + 1]; j++)
            r->t[list->target[j]][i] -= a * upper[list->from[j]][at + x];
    }
}

/* to = entry e, scaled. */
static void scale_entry(const rows *r, int32_t e, const double *reciprocal, double *to) {
    const double *a = r->t[e] - r->begin;
    for (int64_t x = r->begin; x < r->end; x++) {
        const double value = reciprocal[x];
        to[x] = a[x] != 0 ? a[x] * value : 0;
    }
}

/* A bad pivot becomes a multiple of the row's largest entry, or is counted. */
static double mend_pivot(gsw_box_eliminate *job, const rows *r, int64_t x) {
    const gsw_stencil *s = job->stencil;
    const double pivot = r->t[s->center][x - r->begin];
    if (job->pivot_shift == 0) {
        job->bad_row = smaller(job->bad_row, r->place + x);
        return pivot;
    }
    double largest = 0;
    for (int32_t e = 0; e < s->count; e++) {
        const double size = fabs(r->t[e][x - r->begin]);
        if (size > largest && size <= DBL_MAX)
            largest = size;
    }
    const double shift = job->pivot_shift * (largest > 0 ? largest : 1);
    job->shifted++;
    return pivot < 0 && !job->positive ? -shift : shift;
}

static void begin_line(const gsw_box_eliminate *job, gsw_box_line line, rows *r) {
    const gsw_frame *f = job->frame;
    r->place = f->n[0] * (line.y + f->n[1] * line.z);
    for (int32_t e = 0; e < job->stencil->count; e++) {
        const gsw_offset o = job->stencil->offsets[e];
        const int64_t y = line.y + o.dy, z = line.z + o.dz;
        clip(f, o.dx, &r->first[e], &r->last[e]);
        r->own_first[e] = r->own_last[e] = r->first[e];
        r->number[e] = r->before[e] = r->after[e] = 0;
        if (!line_exists(f, y, z)) {
            r->last[e] = r->first[e];
            continue;
        }
        const int64_t start = job->ghost_line[y + f->low[1] + f->e[1] * (z + f->low[2])];
        r->number[e] = f->n[0] * (y + f->n[1] * z) + o.dx;
        r->before[e] = r->after[e] = start + f->low[0] + o.dx;
        if (y >= 0 && y < f->n[1] && z >= 0 && z < f->n[2]) {
            r->own_first[e] = smaller(larger(-o.dx, r->first[e]), r->last[e]);
            r->own_last[e] = larger(smaller(f->n[0] - o.dx, r->last[e]), r->own_first[e]);
            r->after[e] -= f->n[0];
        }
    }
}

/* The entries, the updates by other lines, and their multipliers. */
static void begin_rows(const gsw_box_eliminate *job, const updates *list, const places *u,
                       rows *r) {
    const gsw_stencil *s = job->stencil;
    for (int32_t e = 0; e < s->count; e++) {
        const double *from = job->from[e] ? job->from[e] + r->place : NULL;
        if (!job->mirror[e]) {
            load_entry(r, e, r->first[e], r->last[e], from);
            continue;
        }
        const double *image = job->mirror[e] + r->number[e];
        load_entry(r, e, r->own_first[e], r->own_last[e], image);
        add_entry(r, e, r->first[e], r->own_first[e], from);
        add_entry(r, e, r->own_last[e], r->last[e], from);
    }
    for (int32_t k = 0; k < s->count && k < s->center; k++) {
        double *to = job->a[k] + r->place;
        if (k < list->own_line)
            update_by(list, u, r, k);
        memcpy(to + r->begin, r->t[k], (size_t)(r->end - r->begin) * sizeof *to);
        if (k < list->own_line && !job->diagonal_only)
            find_multipliers(u, s->center, r, k, to);
    }
}

/* The updates by the own line, the pivot, and what the next points of the line read. */
static inline void finish_point(gsw_box_eliminate *job, const updates *list, const places *u,
                                rows *r, int64_t x) {
    const int32_t center = job->stencil->center;
    const int64_t i = x - r->begin;
    update_point(list, u, r, x, center);
    const double size = fabs(r->t[center][i]);
    if (!(size >= DBL_MIN && size <= DBL_MAX && !(job->positive && r->t[center][i] < 0)))
        r->t[center][i] = mend_pivot(job, r, x);
    const double reciprocal = 1 / r->t[center][i];
    job->a[center][r->place + x] = reciprocal;
    for (int32_t j = 0; j < list->lates; j++) {
        const double entry = r->t[list->late[j]][i];
        job->a[list->late[j]][r->place + x] = entry != 0 ? entry * reciprocal : 0;
    }
}

static void eliminate_lines(gsw_box_eliminate *job, const updates *list, const gsw_box_line *line,
                            int64_t count) {
    const gsw_stencil *s = job->stencil;
    const places u = {job->a, job->ghost};
    const int64_t nx = job->frame->n[0];
    rows r[BUNDLE];
    for (int64_t l = 0; l < count; l++)
        begin_line(job, line[l], &r[l]);
    for (int64_t begin = 0; begin < nx; begin += ROWS) {
        const int64_t end = smaller(nx, begin + ROWS);
        for (int64_t l = 0; l < count; l++) {
            r[l].begin = begin;
            r[l].end = end;
            begin_rows(job, list, &u, &r[l]);
        }
        for (int64_t x = begin; x < end; x++)
            for (int64_t l = 0; l < count; l++)
                finish_point(job, list, &u, &r[l], x);
        for (int64_t l = 0; l < count; l++) {
            for (int32_t e = s->center + 1; e < s->count; e++)
                if (!list->is_late[e])
                    scale_entry(&r[l], e, job->a[s->center] + r[l].place, job->a[e] + r[l].place);
            for (int32_t k = list->own_line; k < s->center; k++) {
                double *to = job->a[k] + r[l].place;
                memcpy(to + begin, r[l].t[k], (size_t)(end - begin) * sizeof *to);
                if (!job->diagonal_only)
                    find_multipliers(&u, s->center, &r[l], k, to);
            }
        }
    }
}

static void box_eliminate(int threads, gsw_box_eliminate *job, const gsw_box_lines *lines) {
    updates list;
    find_updates(job->stencil, job->diagonal_only, ALL, &list);
    for (int64_t g = 0; g < lines->groups; g++) {
        const int64_t begin = lines->first[g], end = lines->first[g + 1];
        int64_t bad = job->bad_row, shifted = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (end - begin >= LINES_SERIAL)    \
    reduction(min : bad) reduction(+ : shifted)
        for (int64_t i = begin; i < end; i += BUNDLE) {
            gsw_box_eliminate own = *job;
            own.shifted = 0;
            eliminate_lines(&own, &list, lines->line + i, smaller(end - i, BUNDLE));
            bad = smaller(bad, own.bad_row);
            shifted += own.shifted;
        }
        job->bad_row = bad;
        job->shifted += shifted;
    }
}

/* ---- Edges of slabs ---------------------------------------------------------------------------
 */

/* The row of a line in `upper`, whose arrays leave planes of the frame out. */
static int64_t place_of(const gsw_box_edges *job, int64_t y, int64_t z) {
    const gsw_frame *f = job->frame;
    const int64_t left_out = z < 0 ? 0 : f->n[2] - job->trail_planes;
    return f->n[0] * (y + f->n[1] * (z + f->low[2] - left_out));
}

/* A line of a slab. The neighbours in the planes begin <= z < end update it; the others lie outside
 * of `upper`. */
static void begin_edge(const gsw_box_edges *job, gsw_box_line line, int64_t begin, int64_t end,
                       rows *r) {
    const gsw_frame *f = job->frame;
    const gsw_stencil *s = job->stencil;
    r->place = place_of(job, line.y, line.z);
    for (int32_t e = 0; e < s->count; e++) {
        const gsw_offset o = s->offsets[e];
        const int64_t y = line.y + o.dy, z = line.z + o.dz;
        clip(f, o.dx, &r->first[e], &r->last[e]);
        if (!line_exists(f, y, z))
            r->last[e] = r->first[e];
        r->own_first[e] = r->own_last[e] = r->first[e];
        r->before[e] = r->number[e] = 0; /* not used: all neighbours count as after the line */
        r->after[e] = z >= begin && z < end ? place_of(job, y, z) + o.dx : 0;
    }
}

static void eliminate_lead(const gsw_box_edges *job, const updates *list, gsw_box_line line) {
    const gsw_frame *f = job->frame;
    const gsw_stencil *s = job->stencil;
    const places u = {job->upper, job->upper};
    const int64_t at = f->n[0] * (line.y + f->n[1] * line.z);
    rows r;
    begin_edge(job, line, -f->low[2], 0, &r);
    for (int64_t begin = 0; begin < f->n[0]; begin += ROWS) {
        r.begin = begin;
        r.end = smaller(f->n[0], begin + ROWS);
        for (int32_t e = 0; e < s->count; e++)
            load_entry(&r, e, r.first[e], r.last[e], job->lead[e] + at);
        for (int32_t k = 0; k < s->count && k < s->center; k++)
            if (line.z + s->offsets[k].dz < 0)
                update_by(list, &u, &r, k);
        for (int32_t e = 0; e < s->count; e++) {
            double *to = job->lead[e] + at;
            memcpy(to + begin, r.t[e], (size_t)(r.end - begin) * sizeof *to);
            if (e < s->center && line.z + s->offsets[e].dz < 0 && !job->diagonal_only)
                find_multipliers(&u, s->center, &r, e, to);
        }
    }
}

static void eliminate_trail(const gsw_box_edges *job, const updates *list, gsw_box_line line) {
    const gsw_frame *f = job->frame;
    const gsw_stencil *s = job->stencil;
    const places u = {job->upper, job->upper};
    const int64_t nz = f->n[2], z = nz - job->trail_planes;
    const double *reciprocal = job->upper[s->center];
    const int64_t at = f->n[0] * (line.y + f->n[1] * (line.z - z));
    rows r;
    begin_edge(job, line, z, nz, &r);
    for (int64_t begin = 0; begin < f->n[0]; begin += ROWS) {
        r.begin = begin;
        r.end = smaller(f->n[0], begin + ROWS);
        for (int32_t e = 0; e < s->count; e++) {
            const int ghost = e > s->center && line.z + s->offsets[e].dz >= nz;
            const int near = e < s->center && line.z + s->offsets[e].dz >= z;
            load_entry(&r, e, r.first[e], r.last[e],
                       ghost  ? job->upper[e] + r.place
                       : near ? job->trail[e] + at
                              : NULL);
        }
        for (int32_t k = 0; k < s->count && k < list->own_line; k++)
            if (line.z + s->offsets[k].dz >= z)
                update_by(list, &u, &r, k);
        for (int64_t x = r.begin; x < r.end; x++) {
            update_point(list, &u, &r, x, s->center);
            for (int32_t e = s->center + 1; e < s->count; e++) {
                const double a = r.t[e][x - r.begin];
                if (line.z + s->offsets[e].dz >= nz)
                    job->upper[e][r.place + x] = a != 0 ? a * reciprocal[r.place + x] : 0;
            }
        }
    }
}

static void box_lead_rows(int threads, const gsw_box_edges *job, const gsw_box_lines *lines) {
    updates list;
    find_updates(job->stencil, job->diagonal_only, BY_GHOSTS, &list);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t i = lines->first[0]; i < lines->first[lines->groups]; i++)
        if (lines->line[i].z < job->lead_planes)
            eliminate_lead(job, &list, lines->line[i]);
}

static void box_trail_rows(const gsw_box_edges *job, const gsw_box_lines *lines) {
    updates list;
    find_updates(job->stencil, job->diagonal_only, OF_GHOSTS, &list);
    for (int64_t i = lines->first[0]; i < lines->first[lines->groups]; i++)
        if (lines->line[i].z >= job->frame->n[2] - job->trail_planes)
            eliminate_trail(job, &list, lines->line[i]);
}

/* ---- Products ---------------------------------------------------------------------------------
 */

static void couple_line(const gsw_box_couple *job, int64_t y, int64_t z) {
    const gsw_offset o = job->offset;
    const int64_t row = job->n[0] * (y + job->n[1] * z);
    const double *v = job->x + (o.dx - job->origin[0]) +
                      job->extent[0] * ((y + o.dy - job->origin[1]) +
                                        job->extent[1] * (z + o.dz - job->origin[2]));
    for (int64_t x = job->first[0]; x < job->end[0]; x++) {
        const double c = job->type == GSW_F32 ? (double)((const float *)job->c)[row + x]
                                              : ((const double *)job->c)[row + x];
        job->y[row + x] = multiply_add_f64(c, v[x], job->y[row + x]);
    }
}

static void box_couple(int threads, const gsw_box_couple *job) {
    const int64_t lines = (job->end[1] - job->first[1]) * (job->end[2] - job->first[2]);
    const int64_t wide = job->end[1] - job->first[1];
#pragma omp parallel for schedule(static) num_threads(threads) if (lines >= LINES_SERIAL)
    for (int64_t i = 0; i < lines; i++)
        couple_line(job, job->first[1] + i % wide, job->first[2] + i / wide);
}

const gsw_cpu_box GSW_ISA_FN(gsw_cpu_box) = {box_sweep, box_eliminate, box_couple,
                                             box_lead,  box_lead_rows, box_trail_rows};
