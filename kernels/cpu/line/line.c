/* line.c: the direct triangular sweep on the user's own arrays, in parallel and without packing.
 *
 * ONE SWEEP FOR FOUR SOLVES. The comments describe a sweep that visits the grid upward, in which a
 * point depends on neighbours at offsets lexicographically before (0, 0, 0). A sweep that runs
 * downward (upper part, or lower part transposed) is that sweep on the mirrored grid (row -> points
 * - 1 - row): `sign` is then -1. Transposes differ only in where coefficients are read: in the
 * neighbour's row instead of the point's own. A row's products are subtracted from the farthest
 * neighbour to the nearest, so the order does not depend on the number of threads.
 *
 * UNIT OF WORK. One line (constant y, z), numbered y + ny * z. Threads take lines by an atomic
 * ticket, wave by wave. Wave w holds the lines with y + shear * z = w. The shear is the smallest
 * that puts everything that a line depends on into earlier waves (the hyperplane method: Lamport,
 * 1974). So threads that work side by side rarely wait for each other. A single thread takes the
 * lines in natural order. A line is solved in blocks of points. Each block has a part that
 * vectorises (all neighbours in other lines) and a short recurrence along x.
 *
 * WAITS. progress[t] is the number of points of line t that are solved. Only the owner of line t
 * writes it, with a release store after each block. Before a block, the owner of a line waits, with
 * acquire loads, for the progress that its neighbours in other lines need. So it sees every value
 * of x that the block reads.
 *
 * TERMINATION. A neighbour outside the line has a smaller number and lies in an earlier wave. So in
 * either order of the tickets, a line waits only for lines with earlier tickets. Such a line has an
 * owner, which is a thread that already runs, whatever number of threads OpenMP provides. Of all
 * unfinished lines with an owner, the one with the earliest ticket waits for finished lines only,
 * so it always continues.
 *
 * SHORT LINES of stencil arrays. To hand over such a line takes longer than to solve it. So one
 * thread solves them all in natural order, point by point, from a list of the terms of each point.
 *
 * When a row does not fit the stencil, the thread that finds it raises `stop`. Waiting threads see
 * this flag and leave. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "contract/allocate.h"
#include "contract/context.h"
#include "common/arrays.h"
#include "common/csr.h"
#include "contract/error.h"
#include "contract/row.h"
#include "cpu/core/cores.h"
#include "cpu/core/kernels.h"
#include "cpu/core/multiply_add.h"
#include "cpu/rows/rows.h"

#define LINE_BLOCK      64 /* most points solved between two publications */
#define LINE_BLOCK_MIN  8  /* fewest, unless the line is shorter */
#define LINE_GRAIN      2048
#define LINE_SHORT      32  /* most points of a short line, */
#define LINE_TERMS      192 /* points times couplings, */
#define LINE_TEAM       128 /* and points times threads: more are left to the threads */
#define LINE_SAFE_SMALL 1e-18
#define LINE_SAFE_LARGE 1e18 /* diagonals between these have a reciprocal in full precision */

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* The state that all threads share. Offsets are those of the part in sweep coordinates, farthest
 * first: `far` of them lead to other lines, the rest stay in the line. */
struct plan {
    const gsw_matrix *matrix;
    const void *b;
    void *x;
    gsw_dtype vectors, coefficients;
    bool indexed; /* rows of a CSR */
    bool lists;   /* short lines can be solved from lists of terms */
    bool transpose, unit;
    int64_t nx, ny, nz, points, lines, block;
    int64_t sign;   /* 1 where the sweep runs upward, else -1 */
    int64_t stored; /* 1 to solve with the lower part, else -1: stored offset = stored * d */
    int32_t count, far;
    int64_t dx[GSW_STENCIL_MAX], dy[GSW_STENCIL_MAX], dz[GSW_STENCIL_MAX];
    int64_t distance[GSW_STENCIL_MAX]; /* dx + nx * (dy + ny * dz) */
    int32_t source[GSW_STENCIL_MAX];   /* index in the stencil */
    int64_t margin[3];                 /* how far they lead along y, z and x */
    struct list *list;                 /* of short lines; else NULL */
    int64_t *order;                    /* line of each ticket; NULL: natural order */
    _Atomic int64_t ticket;
    atomic_bool stop;
    _Atomic int64_t *progress;      /* of each line */
    int64_t apart[GSW_STENCIL_MAX]; /* as `distance`, between the coefficients of two points */
    /* The same as they are stored: dx, and the distance of the columns. */
    int64_t stored_dx[GSW_STENCIL_MAX], stored_distance[GSW_STENCIL_MAX];
};

/* The coupling of a row to row + shift. */
struct term {
    const void *values;
    int64_t shift;
};

/* The points of short lines, in the order of the sweep. fits[k][q]: offset q leads from point k to
 * an x of the grid. The terms are those of a line that is inside. */
struct list {
    bool fits[LINE_SHORT][GSW_STENCIL_MAX];
    struct term term[LINE_SHORT * GSW_STENCIL_MAX];
    int32_t end[LINE_SHORT]; /* of each point's terms */
};

/* A line that is being solved. depends[q]: offset q leads from the point to a line of the grid that
 * the point depends on. stores[q]: offset q leads to a line of the grid that the row stores a
 * coupling to. The two differ in transposes. */
struct line {
    int64_t number;
    bool inside;  /* all neighbours along y are in the grid */
    int64_t edge; /* the plane, if not all neighbours along z are; else -1 */
    bool depends[GSW_STENCIL_MAX];
    bool stores[GSW_STENCIL_MAX];
    int64_t guess[GSW_STENCIL_MAX]; /* position in its row of the last transposed coupling found */
};

/* Consecutive points of a line in the user's numbering. */
struct span {
    int64_t row, x; /* of the first point */
    int64_t length;
    int64_t swept; /* points of the line that the sweep visits earlier */
};

static bool line_exists(const struct plan *plan, int64_t y, int64_t z) {
    return y >= 0 && y < plan->ny && z >= 0 && z < plan->nz;
}

static void list_terms(const struct plan *plan, const struct line *line) {
    struct list *list = plan->list;
    int32_t count = 0;
    for (int64_t k = 0; k < plan->nx; k++) {
        for (int32_t q = 0; q < plan->count; q++) {
            if (list->fits[k][q] && line->depends[q])
                list->term[count++] = (struct term){plan->matrix->array.values[plan->source[q]],
                                                    plan->sign * plan->distance[q]};
        }
        list->end[k] = count;
    }
}

static void line_start(const struct plan *plan, int64_t number, struct line *line) {
    const int64_t y = number % plan->ny, z = number / plan->ny;
    const int64_t mirror = plan->sign * plan->stored;
    const bool inside = y >= plan->margin[0] && y < plan->ny - plan->margin[0];
    const int64_t edge = z >= plan->margin[1] && z < plan->nz - plan->margin[1] ? -1 : z;
    const bool alike = inside && line->inside && edge == line->edge;
    line->number = number;
    line->inside = inside;
    line->edge = edge;
    if (alike)
        return;
    for (int32_t q = 0; q < plan->count; q++) {
        line->depends[q] = line_exists(plan, y + plan->dy[q], z + plan->dz[q]);
        line->stores[q] = line_exists(plan, y + mirror * plan->dy[q], z + mirror * plan->dz[q]);
    }
    if (inside && plan->list)
        list_terms(plan, line);
}

static struct span span_of(const struct plan *plan, int64_t number, int64_t swept, int64_t length) {
    struct span span = {number * plan->nx + swept, swept, length, swept};
    if (plan->sign < 0) {
        span.row = plan->points - span.row - length;
        span.x = plan->nx - swept - length;
    }
    return span;
}

/* Points first..end-1 of the span have a neighbour at offset q along x. */
static void span_clip(const struct plan *plan, const struct span *span, int32_t q, int64_t *first,
                      int64_t *end) {
    const int64_t x = span->x + plan->sign * plan->dx[q];
    *first = x < 0 ? -x : 0;
    *end = x + span->length > plan->nx ? plan->nx - x : span->length;
}

/* Finds where a row (at coordinate x of its line) stores its couplings: position[q], and *diagonal;
 * -1 where it has none. The entries of the part are consumed in the order of the offsets. An entry
 * that remains is out of order or outside the stencil, so the row does not fit. */
ALWAYS_INLINE bool locate_row(const struct plan *plan, const gsw_csr *csr, const struct line *line,
                              int64_t row, int64_t x, gsw_itype type, int64_t *position,
                              int64_t *diagonal) {
    const int64_t begin = gsw_index_at(csr->row_ptr, type, row) - csr->base;
    const int64_t end = gsw_index_at(csr->row_ptr, type, row + 1) - csr->base;
    const int64_t step = plan->stored;
    if (begin < 0 || begin > end || end > csr->nonzeros)
        return false;

    const int64_t own = row + csr->base; /* the column of the diagonal, as it is stored */
    int64_t p = step > 0 ? begin : end - 1;
    int64_t left = end - begin;
    bool whole = line->inside && line->edge < 0 && x >= plan->margin[2] &&
                 x < plan->nx - plan->margin[2] && left > plan->count;
    if (whole) { /* most rows store all couplings, one after the other */
        int64_t differ = 0;
        for (int32_t q = 0; q < plan->count; q++) {
            position[q] = p + step * q;
            differ |=
                gsw_index_at(csr->columns, type, p + step * q) - own - plan->stored_distance[q];
        }
        whole = differ == 0;
        p += whole ? step * plan->count : 0;
    }
    for (int32_t q = 0; q < plan->count && !whole; q++) {
        position[q] = -1;
        if (left > 0 && line->stores[q] &&
            (uint64_t)(x + plan->stored_dx[q]) < (uint64_t)plan->nx &&
            gsw_index_at(csr->columns, type, p) == own + plan->stored_distance[q]) {
            position[q] = p;
            p += step;
            left--;
        }
    }
    *diagonal = -1;
    if (left > 0) {
        const int64_t column = gsw_index_at(csr->columns, type, p);
        if (step > 0 ? column < own : column > own)
            return false;
        if (column == own)
            *diagonal = p;
    }
    return true;
}

/* The position where `row` stores the given column, or -1. Neighbouring rows mostly store it at the
 * same place, counted from the row's beginning. */
ALWAYS_INLINE int64_t find_entry(const gsw_csr *csr, gsw_itype type, int64_t row, int64_t column,
                                 int64_t *guess) {
    const int64_t begin = gsw_index_at(csr->row_ptr, type, row) - csr->base;
    const int64_t end = gsw_index_at(csr->row_ptr, type, row + 1) - csr->base;
    if (begin < 0 || end > csr->nonzeros)
        return -1; /* reported when that row itself is located */
    if (begin + *guess < end &&
        gsw_index_at(csr->columns, type, begin + *guess) - csr->base == column)
        return begin + *guess;
    for (int64_t p = begin; p < end; p++) {
        if (gsw_index_at(csr->columns, type, p) - csr->base == column) {
            *guess = p - begin;
            return p;
        }
    }
    return -1;
}

#define GSW_PAIRS "cpu/line/line_block.inc"
#include "cpu/core/typed.inc"

static bool solve_span(const struct plan *plan, struct line *line, const struct span *span) {
    return GSW_CALL_PAIR(solve_span, plan->vectors, plan->coefficients, plan, line, span);
}

/* Waits until `needed` points of a line are solved. Returns false when the solve stops. */
static bool await_progress(struct plan *plan, int64_t number, int64_t needed) {
    gsw_wait wait = {0};
    while (atomic_load_explicit(&plan->progress[number], memory_order_acquire) < needed) {
        if (atomic_load_explicit(&plan->stop, memory_order_relaxed))
            return false;
        gsw_wait_turn(&wait);
    }
    return true;
}

/* Waits for every value that points before `end` of a line read from other lines. */
static bool await_neighbours(struct plan *plan, const struct line *line, int64_t end) {
    for (int32_t q = 0; q < plan->far; q++) {
        const int64_t other = line->number + plan->dy[q] + plan->ny * plan->dz[q];
        int64_t needed = end + plan->dx[q];
        /* Of several offsets to one line, the last reaches farthest. */
        if (q + 1 < plan->far && plan->dy[q] == plan->dy[q + 1] && plan->dz[q] == plan->dz[q + 1])
            continue;
        if (needed > plan->nx)
            needed = plan->nx;
        if (line->depends[q] && !await_progress(plan, other, needed))
            return false;
    }
    return true;
}

/* The work of one thread. Returns false when it found a row that does not fit. */
static bool solve_lines(struct plan *plan) {
    struct line line = {0};
    for (;;) {
        const int64_t ticket = atomic_fetch_add_explicit(&plan->ticket, 1, memory_order_relaxed);
        if (ticket >= plan->lines)
            return true;
        const int64_t number = plan->order != NULL ? plan->order[ticket] : ticket;
        line_start(plan, number, &line);
        for (int64_t begin = 0; begin < plan->nx; begin += plan->block) {
            const int64_t rest = plan->nx - begin;
            const int64_t length = rest < plan->block ? rest : plan->block;
            const struct span span = span_of(plan, number, begin, length);
            if (!await_neighbours(plan, &line, begin + length))
                return true;
            if (!solve_span(plan, &line, &span)) {
                atomic_store_explicit(&plan->stop, true, memory_order_relaxed);
                return false;
            }
            atomic_store_explicit(&plan->progress[number], begin + length, memory_order_release);
        }
    }
}

/* Solves all lines, those that are inside from a list, several at a time. A plane counts as one
 * line if it has few points. */
static void solve_short_lines(struct plan *plan) {
    const int64_t nx = plan->nx, rows = nx * plan->ny <= LINE_SHORT ? plan->ny : 1;
    struct line line = {0};
    struct list list;
    plan->list = &list;
    plan->nx *= rows;
    plan->ny /= rows;
    plan->lines /= rows;
    for (int32_t q = 0; q < plan->count; q++) {
        for (int64_t k = 0; k < plan->nx; k++)
            list.fits[k][q] = (uint64_t)(k % nx + plan->dx[q]) < (uint64_t)nx &&
                              (rows == 1 || (uint64_t)(k / nx + plan->dy[q]) < (uint64_t)rows);
        if (rows > 1)
            plan->dy[q] = plan->margin[0] = 0;
    }
    for (int64_t number = 0, lines; number < plan->lines; number += lines) {
        line_start(plan, number, &line);
        lines = line.inside ? plan->ny - plan->margin[0] - number % plan->ny : 1;
        const struct span span = span_of(plan, number, 0, lines * plan->nx);
        solve_span(plan, &line, &span);
    }
    plan->list = NULL;
}

/* Copies the part's offsets, farthest first. It drops offsets that can never stay inside the grid,
 * and those that couple nothing. */
static void plan_offsets(struct plan *plan, const gsw_row_source *rows) {
    const gsw_matrix *matrix = plan->matrix;
    const gsw_stencil *stencil = &matrix->stencil;
    const int32_t total = plan->stored > 0 ? stencil->center : stencil->count - 1 - stencil->center;
    plan->count = 0;
    plan->far = 0;
    for (int32_t i = 0; i < total; i++) {
        const int32_t e = plan->stored > 0 ? i : stencil->count - 1 - i;
        const int64_t dx = plan->stored * stencil->offsets[e].dx;
        const int64_t dy = plan->stored * stencil->offsets[e].dy;
        const int64_t dz = plan->stored * stencil->offsets[e].dz;
        if (llabs(dx) >= plan->nx || llabs(dy) >= plan->ny || llabs(dz) >= plan->nz)
            continue;
        if (!rows->couples(matrix, e))
            continue;
        const int32_t q = plan->count++;
        plan->dx[q] = dx;
        plan->dy[q] = dy;
        plan->dz[q] = dz;
        plan->distance[q] = dx + plan->nx * (dy + plan->ny * dz);
        plan->apart[q] = dx + gsw_array_line(matrix, dy, dz);
        plan->stored_dx[q] = plan->stored * dx;
        plan->stored_distance[q] = plan->stored * plan->distance[q];
        plan->source[q] = e;
        plan->margin[0] = llabs(dy) > plan->margin[0] ? llabs(dy) : plan->margin[0];
        plan->margin[1] = llabs(dz) > plan->margin[1] ? llabs(dz) : plan->margin[1];
        plan->margin[2] = llabs(dx) > plan->margin[2] ? llabs(dx) : plan->margin[2];
        if (dy != 0 || dz != 0)
            plan->far = plan->count;
    }
}

/* Reports the lowest row that does not fit. */
static gsw_status report_misfit(gsw_context *context, const struct plan *plan) {
    const gsw_csr *csr = &plan->matrix->csr;
    int64_t position[GSW_STENCIL_MAX], diagonal, row = 0;
    struct line line = {0};
    char text[GSW_ROW_TEXT];
    for (int64_t i = 0; i < plan->lines; i++) {
        line_start(plan, plan->sign > 0 ? i : plan->lines - 1 - i, &line);
        for (int64_t x = 0; x < plan->nx; x++, row++)
            if (!locate_row(plan, csr, &line, row, x, csr->index_type, position, &diagonal))
                return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                                "row %s does not fit the grid and the stencil",
                                gsw_row_text(context, csr->base, &plan->matrix->grid, row, text));
    }
    return gsw_fail(context, GSW_ERROR_NOT_A_GRID, "matrix: its arrays changed during the solve");
}

/* The shear of the waves. An offset moves by dy + shear * dz waves, which must be negative. */
static int64_t find_shear(const struct plan *plan) {
    int64_t shear = 0;
    for (int32_t q = 0; q < plan->far; q++)
        if (plan->dz[q] < 0 && plan->dy[q] >= 0 && shear <= plan->dy[q] / -plan->dz[q])
            shear = plan->dy[q] / -plan->dz[q] + 1;
    return shear;
}

/* Orders lines wave by wave. */
static void order_lines(const struct plan *plan, int64_t *order) {
    const int64_t shear = find_shear(plan);
    for (int64_t wave = 0; wave < plan->ny + shear * (plan->nz - 1); wave++) {
        int64_t first = 0, last = plan->nz - 1;
        if (shear > 0 && wave >= plan->ny)
            first = (wave - plan->ny) / shear + 1;
        if (shear > 0 && wave / shear < last)
            last = wave / shear;
        for (int64_t z = first; z <= last; z++)
            *order++ = wave - shear * z + plan->ny * z;
    }
}

/* Points between two publications. Where every line waits for the one before it, threads follow
 * each other along x, so blocks must be short enough to give all threads work. */
static int64_t choose_block(const struct plan *plan, int threads) {
    const int64_t shared = plan->nx / (4 * (int64_t)threads);
    if (threads == 1 || (plan->ny > 1 && plan->nz > 1) || shared > LINE_BLOCK)
        return LINE_BLOCK;
    return shared < LINE_BLOCK_MIN ? LINE_BLOCK_MIN : shared;
}

static gsw_status run_plan(gsw_context *context, struct plan *plan) {
    /* Solving LINE_GRAIN points takes about as long as waking a thread. */
    const int useful = gsw_useful_threads(context, plan->points, LINE_GRAIN);
    /* Threads share a wave. Only in long lines can they work on waves that follow each other. */
    const int64_t waves = plan->ny + find_shear(plan) * (plan->nz - 1);
    const int64_t most = plan->nx > LINE_SHORT ? plan->lines : (plan->lines + waves - 1) / waves;
    const int threads = most < useful ? (int)most : useful;
    if (plan->lists && plan->nx <= LINE_SHORT && plan->nx * plan->count <= LINE_TERMS &&
        plan->nx * threads <= LINE_TEAM) {
        solve_short_lines(plan);
        return GSW_SUCCESS;
    }
    const size_t lines = (size_t)plan->lines;
    void *progress = NULL, *order = NULL;
    gsw_status status;
    GSW_TRY_GOTO(
        gsw_alloc(context, lines, sizeof *plan->progress, "the lines' progress", &progress),
        cleanup);
    if (threads > 1) {
        GSW_TRY_GOTO(gsw_alloc(context, lines, sizeof *plan->order, "the lines' order", &order),
                     cleanup);
        order_lines(plan, order);
    }
    plan->progress = progress;
    plan->order = order;
    plan->block = choose_block(plan, threads);
    for (int64_t i = 0; i < plan->lines; i++)
        atomic_init(&plan->progress[i], 0);
    atomic_init(&plan->ticket, 0);
    atomic_init(&plan->stop, false);

    bool fits = true;
    const int64_t began = gsw_team_begins(threads);
#pragma omp parallel num_threads(threads) reduction(&& : fits)
    {
        gsw_thread_begins(began);
        fits = solve_lines(plan);
    }
    status = fits ? GSW_SUCCESS : report_misfit(context, plan);

cleanup:
    free(order);
    free(progress);
    return status;
}

static gsw_status solve(gsw_context *context, const gsw_matrix *matrix, const gsw_row_source *rows,
                        bool indexed, const gsw_sptrsv_options *options, const void *b, void *x) {
    struct plan plan = {
        .matrix = matrix,
        .b = b,
        .x = x,
        .indexed = indexed,
        .lists = !indexed && gsw_repeat_of(matrix) == GSW_REPEAT_NONE,
        .vectors = options->vector_type,
        .coefficients = gsw_matrix_value_type(matrix),
        .transpose = options->transpose != 0,
        .unit = options->unit_diagonal != 0,
        .nx = matrix->grid.nx,
        .ny = matrix->grid.ny,
        .nz = matrix->grid.nz,
        .points = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz,
        .lines = matrix->grid.ny * matrix->grid.nz,
        .stored = options->part == GSW_LOWER ? 1 : -1,
    };
    plan.sign = plan.transpose ? -plan.stored : plan.stored;
    plan_offsets(&plan, rows);
    return run_plan(context, &plan);
}

gsw_status GSW_ISA_FN(gsw_line_arrays)(gsw_context *context, const gsw_matrix *matrix,
                                       const gsw_sptrsv_options *options, const void *b, void *x) {
    return solve(context, matrix, &GSW_ISA_FN(gsw_rows_of_arrays), false, options, b, x);
}

gsw_status GSW_ISA_FN(gsw_line_csr)(gsw_context *context, const gsw_matrix *matrix,
                                    const gsw_sptrsv_options *options, const void *b, void *x) {
    return solve(context, matrix, &GSW_ISA_FN(gsw_rows_of_csr), true, options, b, x);
}
