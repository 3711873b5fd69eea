/* relax.c: a pass of sweeps over tiles that stay in a core's cache.
 *
 * A thread takes a tile. The first sweep reads x itself, the last one writes y; between them x lies
 * in two buffers of the thread, by turns. Two more buffers keep the reciprocal diagonal, which the
 * first sweep computes, and p. The arrays of the matrix are not copied: a tile is so small that its
 * part of them stays in the cache from one sweep to the next.
 *
 * Lines are computed in strips, as products are (spmv_rows.inc); the points at their ends whose
 * neighbours lie outside the grid are computed one by one. */
#include <stdint.h>
#include <string.h>

#include "contract/relax_ops.h"
#include "cpu/kernels.h"
#include "cpu/multiply_add.h"
#include "cpu/relax_job.h"
#include "cpu/strip.h"
#include "cpu/threads.h"

#define STRIP STRIP_VALUES(double)
enum { STRIPS = 4, PREFETCH = 512 };

typedef strip_f64 strip;

/* Points begin..end-1 along each axis, and where the values of such a box lie: `at` is the value of
 * the grid's point 0 (which need not be there). */
typedef struct box {
    int64_t begin[3], end[3];
} box;

typedef struct plane_of {
    double *at;
    int64_t line, layer; /* values from one line, and from one layer, to the next */
} plane_of;

static double *line_at(const plane_of *from, int64_t y, int64_t z) {
    return from->at + from->line * y + from->layer * z;
}

/* The tile, `halos` halos larger where the grid goes on. */
static box grown(const gsw_grid *grid, const gsw_relax_job *job, const box *tile, int32_t halos) {
    const int64_t extent[3] = {grid->nx, grid->ny, grid->nz};
    box b;
    for (int a = 0; a < 3; a++) {
        const int64_t ghost = (int64_t)halos * job->reach[a];
        b.begin[a] = tile->begin[a] > ghost ? tile->begin[a] - ghost : 0;
        b.end[a] = tile->end[a] < extent[a] - ghost ? tile->end[a] + ghost : extent[a];
    }
    return b;
}

static plane_of whole_grid(const gsw_grid *grid, const double *at) {
    return (plane_of){(double *)(uintptr_t)at, grid->nx, grid->nx * grid->ny};
}

/* Buffer number k of a thread; `memory` is NULL where one sweep needs none. */
static plane_of buffer_of(const gsw_relax_job *job, double *memory, int k, const box *b) {
    if (memory == NULL)
        return (plane_of){0};
    const int64_t line = b->end[0] - b->begin[0], layer = line * (b->end[1] - b->begin[1]);
    const int64_t origin = b->begin[0] + line * b->begin[1] + layer * b->begin[2];
    return (plane_of){memory + k * job->buffer - origin, line, layer};
}

/* One sweep of one line. All pointers are at the grid's x = 0. */
typedef struct term {
    const double *a, *x;
    int64_t dx;
} term;

typedef struct line {
    int32_t count;
    int64_t nx;
    int64_t first, last;              /* points first..last-1 have all their neighbours along x */
    const double *b, *diagonal, *own; /* own: x before the sweep; NULL: zeros */
    double *y;
    double *reciprocal; /* written by the first sweep of several, then read; NULL: neither */
    const double *p;    /* NULL: beta is 0 */
    double *q;          /* may be p; NULL: p is not needed */
    double alpha, beta;
    int first_sweep;
    term term[GSW_STENCIL_MAX];
} line;

static void gather(const gsw_matrix *matrix, const plane_of *x, int64_t y, int64_t z, line *to) {
    const gsw_grid *grid = &matrix->grid;
    const int64_t row = gsw_grid_row(grid, 0, y, z);
    to->count = 0;
    to->nx = grid->nx;
    to->first = 0;
    to->last = grid->nx;
    if (to->own == NULL)
        return;
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        if (y + o.dy < 0 || y + o.dy >= grid->ny || z + o.dz < 0 || z + o.dz >= grid->nz)
            continue;
        to->term[to->count++] = (term){(const double *)matrix->array.values[e] + row,
                                       line_at(x, y + o.dy, z + o.dz), o.dx};
        if (to->first < -o.dx)
            to->first = -o.dx;
        if (to->last > grid->nx - o.dx)
            to->last = grid->nx - o.dx;
    }
}

static inline void finish_point(const line *l, int64_t i, double sum) {
    double scale;
    if (l->first_sweep) {
        scale = 1 / l->diagonal[i];
        if (l->reciprocal)
            l->reciprocal[i] = scale;
    } else {
        scale = l->reciprocal[i];
    }
    const double t = ROUNDED(sum * scale);
    const double next =
        l->p ? multiply_add_f64(l->alpha, t, ROUNDED(l->beta * l->p[i])) : ROUNDED(l->alpha * t);
    if (l->q)
        l->q[i] = next;
    l->y[i] = l->own ? l->own[i] + next : next;
}

static void point(const line *l, int64_t i) {
    double sum = l->b[i];
    for (int32_t k = 0; k < l->count; k++) {
        const term *t = &l->term[k];
        if (i + t->dx >= 0 && i + t->dx < l->nx)
            sum = multiply_add_f64(-t->a[i], t->x[i + t->dx], sum);
    }
    finish_point(l, i, sum);
}

static inline __attribute__((always_inline)) strip load(const double *from) {
    return *(const strip *)from;
}

/* STRIP * `strips` points that have all their neighbours. */
static inline __attribute__((always_inline)) void block(const line *l, int64_t i, int strips) {
    strip sum[STRIPS];
    for (int v = 0; v < strips; v++)
        sum[v] = load(l->b + i + STRIP * v);
    for (int32_t k = 0; k < l->count; k++) {
        const double *a = l->term[k].a + i, *x = l->term[k].x + i + l->term[k].dx;
        gsw_prefetch_l2((const char *)a + PREFETCH, (size_t)(strips * STRIP) * sizeof *a);
        for (int v = 0; v < strips; v++)
            sum[v] -= load(a + STRIP * v) * load(x + STRIP * v);
    }
    for (int v = 0; v < strips; v++) {
        const int64_t at = i + STRIP * v;
        strip scale;
        if (l->first_sweep) {
            scale = 1 / load(l->diagonal + at);
            if (l->reciprocal)
                *(strip *)(l->reciprocal + at) = scale;
        } else {
            scale = load(l->reciprocal + at);
        }
        const strip t = ROUNDED(sum[v] * scale);
        strip before = -(strip){0}; /* -0 changes no sum */
        if (l->p)
            before = ROUNDED(l->beta * load(l->p + at));
        strip next = l->alpha * t + before;
        if (l->q)
            *(strip *)(l->q + at) = next;
        if (l->own)
            next += load(l->own + at);
        *(strip *)(l->y + at) = next;
    }
}

static void points(const line *l, int64_t begin, int64_t end) {
    const int64_t near = l->last < end ? l->last : end;
    int64_t i = begin;
    for (; i < end && i < l->first; i++)
        point(l, i);
    for (; i + STRIP * STRIPS <= near; i += STRIP * STRIPS)
        block(l, i, STRIPS);
    for (; i + STRIP <= near; i += STRIP)
        block(l, i, 1);
    for (; i < end; i++)
        point(l, i);
}

/* All sweeps of one tile. `buffer`: four buffers of job->buffer values each. */
static void sweep_tile(const gsw_relax_job *job, const box *tile, double *buffer) {
    const gsw_relax_pass *pass = job->pass;
    const gsw_matrix *matrix = pass->matrix;
    const gsw_grid *grid = &matrix->grid;
    const box most = grown(grid, job, tile, pass->sweeps - 1);
    const plane_of turns[2] = {buffer_of(job, buffer, 0, &most), buffer_of(job, buffer, 1, &most)};
    const plane_of scales = buffer_of(job, buffer, 2, &most),
                   steps = buffer_of(job, buffer, 3, &most);
    plane_of from = whole_grid(grid, pass->x);
    for (int32_t s = 0; s < pass->sweeps; s++) {
        const int last = s == pass->sweeps - 1;
        const box now = grown(grid, job, tile, pass->sweeps - 1 - s);
        const plane_of to = last ? whole_grid(grid, pass->y) : turns[s % 2];
        const int wanted = last ? pass->q != NULL : pass->beta[s + 1] != 0;
        for (int64_t z = now.begin[2]; z < now.end[2]; z++)
            for (int64_t y = now.begin[1]; y < now.end[1]; y++) {
                const int64_t row = gsw_grid_row(grid, 0, y, z);
                line l; /* not its terms */
                l.b = pass->b + row;
                l.diagonal = (const double *)matrix->array.values[matrix->stencil.center] + row;
                l.own = s == 0 && pass->zero ? NULL : line_at(&from, y, z);
                l.y = line_at(&to, y, z);
                l.reciprocal = pass->sweeps > 1 ? line_at(&scales, y, z) : NULL;
                l.p = pass->beta[s] == 0 ? NULL : s == 0 ? pass->p + row : line_at(&steps, y, z);
                l.q = !wanted ? NULL : last ? pass->q + row : line_at(&steps, y, z);
                l.alpha = pass->alpha[s];
                l.beta = pass->beta[s];
                l.first_sweep = s == 0;
                gather(matrix, &from, y, z, &l);
                points(&l, now.begin[0], now.end[0]);
            }
        from = to;
    }
}

void GSW_ISA_FN(gsw_relax)(int threads, const gsw_relax_job *job) {
    const gsw_grid *g = &job->pass->matrix->grid;
    const int64_t *tile = job->tile, *tiles = job->tiles;
    const int64_t extent[3] = {g->nx, g->ny, g->nz}, all = tiles[0] * tiles[1] * tiles[2];
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (threads > 1)
    for (int64_t number = 0; number < all; number++) {
        const int64_t place[3] = {number % tiles[0], number / tiles[0] % tiles[1],
                                  number / tiles[0] / tiles[1]};
        box own;
        for (int a = 0; a < 3; a++) {
            own.begin[a] = place[a] * tile[a];
            own.end[a] = own.begin[a] + tile[a] < extent[a] ? own.begin[a] + tile[a] : extent[a];
        }
        double *buffers = job->buffers;
        if (buffers != NULL)
            buffers += gsw_thread_index() * 4 * job->buffer;
        sweep_tile(job, &own, buffers);
    }
}
