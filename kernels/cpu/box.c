/* box.c: exact sweeps and factorisations of a box whose neighbours belong to other processes, line
 * by line on arrays in natural order.
 *
 * A line first takes the terms of other lines, which vectorise, into a buffer; then the recurrence
 * along x runs over the buffer. A recurrence waits for each multiply-add, so up to LINES lines of a
 * group, which do not depend on each other, run side by side.
 *
 * The order of a row's terms, and what happens where a coefficient is 0, are those of the packed
 * sweeps (cpu/sweep.c) and of their factorisation (cpu/eliminate.c). The bits are the same, for any
 * boxes and any number of threads. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "cpu/box.h"
#include "cpu/kernels.h"
#include "cpu/multiply_add.h"

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

/* Updates of a row by its lower neighbour k: a[target] -= a[k] * upper[from] of that neighbour. */
typedef struct update {
    int32_t k, from, target;
} update;

enum { UPDATES_MAX = GSW_STENCIL_MAX * GSW_STENCIL_MAX / 4 };

static int32_t find_updates(const gsw_box_eliminate *job, update *list) {
    const gsw_stencil *s = job->stencil;
    int32_t count = 0;
    for (int32_t k = 0; k < s->center; k++) {
        for (int32_t u = s->center + 1; u < s->count; u++) {
            const gsw_offset a = s->offsets[k], b = s->offsets[u];
            const gsw_offset sum = {a.dx + b.dx, a.dy + b.dy, a.dz + b.dz};
            const int32_t target = gsw_stencil_find(s, sum);
            if (target >= 0 && (target == s->center || !job->diagonal_only))
                list[count++] = (update){k, u, target};
        }
    }
    return count;
}

/* A bad pivot becomes a multiple of the row's largest entry, or is counted. */
static double mend_pivot(gsw_box_eliminate *job, const double *row, int64_t number) {
    const gsw_stencil *s = job->stencil;
    const double pivot = row[s->center], size = fabs(pivot);
    if (size >= DBL_MIN && size <= DBL_MAX && !(job->positive && pivot < 0))
        return pivot;
    if (job->pivot_shift == 0) {
        job->bad_row = smaller(job->bad_row, number);
        return pivot;
    }
    double largest = 0;
    for (int32_t e = 0; e < s->count; e++)
        if (fabs(row[e]) > largest && fabs(row[e]) <= DBL_MAX)
            largest = fabs(row[e]);
    const double shift = job->pivot_shift * (largest > 0 ? largest : 1);
    job->shifted++;
    return pivot < 0 && !job->positive ? -shift : shift;
}

static void eliminate_row(gsw_box_eliminate *job, const update *list, int32_t updates, int64_t x,
                          gsw_box_line line) {
    const gsw_frame *f = job->frame;
    const gsw_stencil *s = job->stencil;
    const int64_t number = x + f->n[0] * (line.y + f->n[1] * line.z);
    const int64_t place = gsw_frame_row(f, x, line.y, line.z);
    double row[GSW_STENCIL_MAX] = {0};
    int64_t other[GSW_STENCIL_MAX] = {0}; /* the lower neighbours in the frame; -1: there is none */
    for (int32_t e = 0; e < s->count; e++) {
        const gsw_offset o = s->offsets[e];
        const int64_t at = x + o.dx + f->low[0];
        const int exists = at >= 0 && at < f->e[0] && line_exists(f, line.y + o.dy, line.z + o.dz);
        other[e] = exists ? gsw_frame_row(f, x + o.dx, line.y + o.dy, line.z + o.dz) : -1;
        row[e] = exists && job->a[e] ? job->a[e][number] : 0;
    }
    double multiplier[GSW_STENCIL_MAX] = {0};
    for (int32_t i = 0, k = 0; k < s->center; k++) {
        const double a = row[k];
        multiplier[k] = a != 0 ? a * job->upper[s->center][other[k]] : 0;
        for (; i < updates && list[i].k == k; i++)
            row[list[i].target] -= a * (a != 0 ? job->upper[list[i].from][other[k]] : 0);
    }
    row[s->center] = mend_pivot(job, row, number);
    const double reciprocal = 1 / row[s->center];
    job->upper[s->center][place] = reciprocal;
    for (int32_t e = s->center + 1; e < s->count; e++)
        job->upper[e][place] = row[e] != 0 ? row[e] * reciprocal : 0;
    for (int32_t k = 0; k < s->center; k++)
        if (job->a[k])
            job->a[k][number] = job->diagonal_only ? row[k] : multiplier[k];
}

static void box_eliminate(int threads, gsw_box_eliminate *job, const gsw_box_lines *lines) {
    update list[UPDATES_MAX];
    const int32_t updates = find_updates(job, list);
    for (int64_t g = 0; g < lines->groups; g++) {
        const int64_t begin = lines->first[g], end = lines->first[g + 1];
        int64_t bad = job->bad_row, shifted = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (end - begin >= LINES_SERIAL)    \
    reduction(min : bad) reduction(+ : shifted)
        for (int64_t i = begin; i < end; i++) {
            gsw_box_eliminate own = *job;
            own.shifted = 0;
            for (int64_t x = 0; x < job->frame->n[0]; x++)
                eliminate_row(&own, list, updates, x, lines->line[i]);
            bad = smaller(bad, own.bad_row);
            shifted += own.shifted;
        }
        job->bad_row = bad;
        job->shifted += shifted;
    }
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

const gsw_cpu_box GSW_ISA_FN(gsw_cpu_box) = {box_sweep, box_eliminate, box_couple, box_lead};
