/* multigrid.c: set-up of multigrid levels and transfers between them, with SIMD over blocks of a
 * coarse line and OpenMP over lines.
 *
 * Every result is made by one thread, in an order that the tables of the transfer fix: nothing
 * depends on the number of threads. Set-up gathers: a block of coarse points fetches the rows of
 * the fine points that it needs into small arrays, with zeros where something lies outside a grid,
 * and walks the tables over them. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "cpu/kernels.h"
#include "cpu/multigrid.h"
#include "cpu/multiply_add.h"

enum {
    LANES = 16, /* coarse points of a block in the set-up */
    BLOCK = 64, /* coarse points of a block in the transfers */
    PARTS = 256 /* partial maxima */
};

/* Smaller grids are not worth waking the other threads. */
#define SERIAL_LIMIT 4096

/* ---- Blocks of lanes --------------------------------------------------------------------------
 *
 * In vectors of four, because compilers make slow string instructions of such short fills and
 * copies, and pass wider vectors through memory where the processor has none.
 */

typedef double quad __attribute__((vector_size(32), aligned(8), may_alias));
typedef float quad_f32 __attribute__((vector_size(16), aligned(4), may_alias));

static inline quad load(const double *from) {
    return *(const quad *)from;
}

static inline quad_f32 load_f32(const float *from) {
    return *(const quad_f32 *)from;
}

static inline void store(double *to, quad value) {
    *(quad *)to = value;
}

static inline void clear_lanes(double to[LANES]) {
    for (int k = 0; k < LANES; k += 4)
        store(to + k, (quad){0});
}

static inline void copy_lanes(const double *from, double *to) {
    for (int k = 0; k < LANES; k += 4)
        store(to + k, load(from + k));
}

static inline void widen_lanes(const float *restrict from, double *restrict to) {
#pragma omp simd
    for (int l = 0; l < LANES; l++)
        to[l] = from[l];
}

/* Asks for the values that the next block of a line takes: blocks go through more streams than the
 * hardware's prefetchers follow. */
static inline void prefetch_values(const void *array, gsw_dtype type, int64_t at, int64_t count) {
    const int64_t size = type == GSW_F64 ? 8 : 4;
    const char *from = (const char *)array + at * size;
    for (int64_t i = 0; i < count * size; i += 64)
        __builtin_prefetch(from + i);
}

/* Every other value; reads 2 LANES of them. */
static inline void even_lanes_f64(const double *from, double to[LANES]) {
    for (int k = 0; k < LANES; k += 4)
        store(to + k,
              __builtin_shufflevector(load(from + 2 * k), load(from + 2 * k + 4), 0, 2, 4, 6));
}

static inline void even_lanes_f32(const float *from, double to[LANES]) {
    for (int k = 0; k < LANES; k += 4) {
        const quad_f32 even =
            __builtin_shufflevector(load_f32(from + 2 * k), load_f32(from + 2 * k + 4), 0, 2, 4, 6);
        store(to + k, __builtin_convertvector(even, quad));
    }
}

/* to += factor * from, lane by lane. */
static inline void add_product_lanes(const double *factor, const double *from, double to[LANES]) {
    for (int k = 0; k < LANES; k += 4)
        store(to + k, load(to + k) + load(factor + k) * load(from + k));
}

static inline void add_multiple_lanes(double factor, const double *from, double to[LANES]) {
    for (int k = 0; k < LANES; k += 4)
        store(to + k, load(to + k) + factor * load(from + k));
}

/* ---- Fetching blocks --------------------------------------------------------------------------
 */

/* Fine points of a block: lane l is (x + step l, y, z). */
typedef struct fine_block {
    int64_t x, y, z;
    int64_t step; /* 1 or 2 */
} fine_block;

/* Lanes of a block whose x + dx lies in [0, nx). */
static inline void lanes_inside(int64_t x, int64_t step, int64_t dx, int64_t nx, int64_t *first,
                                int64_t *last) {
    int64_t low = x < 0 ? -x : 0, high = nx - x;
    if (x + dx < 0 && -(x + dx) > low)
        low = -(x + dx);
    if (nx - x - dx < high)
        high = nx - x - dx;
    if (step == 2) { /* x + 2 l >= 0 */
        low = (low + 1) / 2;
        high = high > 0 ? (high + 1) / 2 : 0;
    }
    high = high > 0 ? high : 0;
    *first = low < LANES ? low : LANES;
    *last = high < LANES ? high : LANES;
}

/* Lanes first..last-1 of array[at + step l], zeros in the others, which are read as well where they
 * lie in the array. */
static inline __attribute__((always_inline)) void fetch_lanes(const void *array, gsw_dtype type,
                                                              int64_t points, int64_t at,
                                                              int64_t step, int64_t first,
                                                              int64_t last, double *to) {
    if (at >= 0 && at + step * LANES <= points) {
        prefetch_values(array, type, at + step * LANES, step * LANES);
        if (type == GSW_F64 && step == 1)
            copy_lanes((const double *)array + at, to);
        else if (type == GSW_F64)
            even_lanes_f64((const double *)array + at, to);
        else if (step == 1)
            widen_lanes((const float *)array + at, to);
        else
            even_lanes_f32((const float *)array + at, to);
        for (int64_t l = 0; l < first; l++)
            to[l] = 0;
        for (int64_t l = last; l < LANES; l++)
            to[l] = 0;
        return;
    }
    for (int64_t l = 0; l < LANES; l++) {
        const int inside = l >= first && l < last;
        to[l] = !inside           ? 0
                : type == GSW_F64 ? ((const double *)array)[at + step * l]
                                  : ((const float *)array)[at + step * l];
    }
}

/* Entry e of the rows of a block, zero where row or neighbour is outside the grid. Returns 0 where
 * all are. */
static inline int fetch_entry(const gsw_matrix *matrix, int32_t e, const fine_block *block,
                              double to[LANES]) {
    const gsw_grid *g = &matrix->grid;
    const gsw_offset o = matrix->stencil.offsets[e];
    const void *array = matrix->array.values[e];
    const int64_t y = block->y, z = block->z;
    int64_t first, last;
    if (array == NULL || y < 0 || y >= g->ny || z < 0 || z >= g->nz || y + o.dy < 0 ||
        y + o.dy >= g->ny || z + o.dz < 0 || z + o.dz >= g->nz)
        return 0;
    lanes_inside(block->x, block->step, o.dx, g->nx, &first, &last);
    if (first >= last)
        return 0;
    const int64_t at = gsw_grid_row(g, block->x, y, z), points = g->nx * g->ny * g->nz;
    if (block->step == 1)
        fetch_lanes(array, matrix->array.value_type, points, at, 1, first, last, to);
    else
        fetch_lanes(array, matrix->array.value_type, points, at, 2, first, last, to);
    return 1;
}

/* Entry e and what it is in the column of each point: of (A + A^T) / 2, lumped. */
static void add_symmetric_part(const gsw_transfer *t, const gsw_matrix *matrix, int32_t e,
                               const fine_block *block, double a[GSW_SLOTS][LANES]) {
    const gsw_offset o = t->fine_stencil.offsets[e];
    const fine_block from = {block->x - o.dx, block->y - o.dy, block->z - o.dz, block->step};
    double value[LANES];
    if (fetch_entry(matrix, e, block, value))
        for (int32_t i = 0; i < t->lumps[e]; i++)
            add_multiple_lanes(0.5 * t->lump[e][i].factor, value, a[t->lump[e][i].slot]);
    if (fetch_entry(matrix, e, &from, value)) /* row i - o couples to i */
        for (int32_t i = 0; i < t->lumps[e]; i++)
            add_multiple_lanes(0.5 * t->lump[e][i].factor, value,
                               a[gsw_slot_mirror(t->lump[e][i].slot)]);
}

/* Entry e of a symmetric matrix, lumped so that the result is symmetric: each lump is shared by the
 * two rows that it couples. The diagonal receives what keeps the row's sum. */
static void add_symmetric_lumps(const gsw_transfer *t, const gsw_matrix *matrix, int32_t e,
                                const fine_block *block, double a[GSW_SLOTS][LANES]) {
    double value[LANES];
    if (fetch_entry(matrix, e, block, value)) {
        add_multiple_lanes(1, value, a[GSW_SLOT_CENTER]);
        for (int32_t i = 0; i < t->lumps[e]; i++)
            if (t->lump[e][i].slot != GSW_SLOT_CENTER) {
                const double factor = 0.5 * t->lump[e][i].factor;
                add_multiple_lanes(factor, value, a[t->lump[e][i].slot]);
                add_multiple_lanes(-factor, value, a[GSW_SLOT_CENTER]);
            }
    }
    for (int32_t i = 0; i < t->lumps[e]; i++) {
        const int32_t slot = t->lump[e][i].slot;
        const fine_block from = {block->x - gsw_slot_offset(slot, 0),
                                 block->y - gsw_slot_offset(slot, 1),
                                 block->z - gsw_slot_offset(slot, 2), block->step};
        if (slot == GSW_SLOT_CENTER || !fetch_entry(matrix, e, &from, value))
            continue;
        const double factor = 0.5 * t->lump[e][i].factor;
        add_multiple_lanes(factor, value, a[gsw_slot_mirror(slot)]);
        add_multiple_lanes(-factor, value, a[GSW_SLOT_CENTER]);
    }
}

/* The rows of a block as interpolation and product see them. Returns the bit set of the slots that
 * are set; the others hold zeros. */
static uint32_t fetch_rows(const gsw_transfer *t, const gsw_matrix *matrix, int symmetric_part,
                           const fine_block *block, double a[GSW_SLOTS][LANES]) {
    uint32_t found = 0;
    if (t->plain && !symmetric_part) {
        for (int32_t e = 0; e < t->fine_stencil.count; e++)
            if (t->lumps[e] && fetch_entry(matrix, e, block, a[t->lump[e][0].slot]))
                found |= 1U << t->lump[e][0].slot;
        return found;
    }
    const uint32_t slots = symmetric_part ? t->symmetric_slots : t->slots;
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
        if (slots >> slot & 1)
            clear_lanes(a[slot]);
    for (int32_t e = 0; e < t->fine_stencil.count; e++) {
        double value[LANES];
        if (!t->lumps[e])
            continue;
        if (symmetric_part)
            add_symmetric_part(t, matrix, e, block, a);
        else if (t->symmetric)
            add_symmetric_lumps(t, matrix, e, block, a);
        else if (fetch_entry(matrix, e, block, value))
            for (int32_t i = 0; i < t->lumps[e]; i++)
                add_multiple_lanes(t->lump[e][i].factor, value, a[t->lump[e][i].slot]);
    }
    return slots;
}

/* Weight `weight` at the coarse points (x.., y, z), which may lie beside the line: what is found
 * there is finite and serves nobody. Returns 0 where the line is outside the grid. */
static inline __attribute__((always_inline)) const double *
fetch_weight(const gsw_transfer *t, gsw_dtype type, void *const *weights, int32_t weight, int64_t x,
             int64_t y, int64_t z, double own[LANES]) {
    static const double ones[LANES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const gsw_grid *g = &t->coarse;
    if (y < 0 || y >= g->ny || z < 0 || z >= g->nz)
        return NULL;
    if (weight == GSW_WEIGHT_ONE)
        return ones;
    const int64_t row = gsw_grid_row(g, x, y, z);
    if (type == GSW_F64)
        return (const double *)weights[weight] + row;
    widen_lanes((const float *)weights[weight] + row, own);
    return own;
}

static inline void store_lanes(void *array, gsw_dtype type, int64_t at, int64_t count,
                               const double *from) {
    if (type == GSW_F64)
        memcpy((double *)array + at, from, (size_t)count * sizeof *from);
    else
        for (int64_t l = 0; l < count; l++)
            ((float *)array)[at + l] = (float)from[l];
}

/* ---- What a matrix is like -------------------------------------------------------------------
 */

/* Sums and extremes over some lines. */
typedef struct tally {
    double coupling[3][LANES];
    double row_ratio, largest, least;
    double off_diagonal[LANES], same_sign[LANES];
    int64_t negative, bad_row;
    int symmetric, zero_sums;
} tally;

/* Entry e against its mirror image, entry `mirror` (-1: none), whose rows are the neighbours. */
static void compare_mirror(const gsw_matrix *matrix, int32_t e, int32_t mirror,
                           const fine_block *block, const double value[LANES],
                           const double diagonal[LANES], tally *sums) {
    const gsw_offset o = matrix->stencil.offsets[e];
    const fine_block there = {block->x + o.dx, block->y + o.dy, block->z + o.dz, 1};
    double other[LANES];
    if (mirror < 0 || !fetch_entry(matrix, mirror, &there, other))
        clear_lanes(other);
    int differ = 0;
    for (int l = 0; l < LANES; l++)
        differ |= fabs(value[l] - other[l]) > 1e-7 * fabs(diagonal[l]);
    if (differ)
        sums->symmetric = 0;
}

static inline void add_lanes(const double value[LANES], double to[LANES]) {
    for (int l = 0; l < LANES; l++)
        to[l] += value[l];
}

static void tally_block(const gsw_matrix *matrix, const int32_t *mirror, const fine_block *block,
                        tally *sums) {
    const int32_t center = matrix->stencil.center;
    const int64_t left = matrix->grid.nx - block->x, count = left < LANES ? left : LANES;
    double diagonal[LANES], size[LANES], total[LANES], axis_sum[3][LANES];
    clear_lanes(size);
    clear_lanes(total);
    for (int axis = 0; axis < 3; axis++)
        clear_lanes(axis_sum[axis]);
    if (!fetch_entry(matrix, center, block, diagonal))
        clear_lanes(diagonal);
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        double value[LANES];
        if (!fetch_entry(matrix, e, block, value))
            continue;
        for (int l = 0; l < LANES; l++)
            size[l] += fabs(value[l]);
        add_lanes(value, total);
        if (o.dx != 0)
            add_lanes(value, axis_sum[0]);
        if (o.dy != 0)
            add_lanes(value, axis_sum[1]);
        if (o.dz != 0)
            add_lanes(value, axis_sum[2]);
        /* One of each pair is enough, and that which has no mirror image. */
        if (sums->symmetric && (e > center || mirror[e] < 0))
            compare_mirror(matrix, e, mirror[e], block, value, diagonal, sums);
    }
    for (int64_t l = count; l < LANES; l++)
        diagonal[l] = DBL_MAX; /* behind the line: rows that say nothing */
    double ratio[LANES], share[3][LANES];
    int bad = 0, unbalanced = 0;
    for (int l = 0; l < LANES; l++) {
        const double d = fabs(diagonal[l]);
        bad |= !(d > 0 && d <= DBL_MAX);
        unbalanced |= !(fabs(total[l]) <= 1e-12 * size[l]);
        ratio[l] = size[l] / d;
    }
    for (int axis = 0; axis < 3; axis++)
        for (int l = 0; l < LANES; l++) {
            share[axis][l] = -axis_sum[axis][l] / diagonal[l];
            sums->coupling[axis][l] += share[axis][l] > 0 ? share[axis][l] : 0;
        }
    for (int l = 0; l < LANES; l++) {
        const double d = fabs(diagonal[l]);
        sums->row_ratio = ratio[l] > sums->row_ratio ? ratio[l] : sums->row_ratio;
        sums->largest = size[l] > sums->largest ? size[l] : sums->largest;
        sums->least = d < sums->least ? d : sums->least;
    }
    /* Of couplings whose absolute values add up to s and which add up to t, those that are positive
     * make (s + t) / 2. */
    for (int l = 0; l < LANES; l++) {
        const double d = fabs(diagonal[l]), off = ratio[l] - (l < count ? 1 : 0);
        const double sum = total[l] / diagonal[l] - (l < count ? 1 : 0);
        const double same = (off + sum) / 2;
        sums->off_diagonal[l] += off > 0 && d > 0 ? off : 0;
        sums->same_sign[l] += same > 1e-14 * off && d > 0 ? same : 0;
        sums->negative += diagonal[l] < 0;
    }
    if (unbalanced)
        sums->zero_sums = 0;
    for (int64_t l = 0; bad && l < count && sums->bad_row < 0; l++)
        if (!(fabs(diagonal[l]) > 0 && fabs(diagonal[l]) <= DBL_MAX))
            sums->bad_row = gsw_grid_row(&matrix->grid, block->x + l, block->y, block->z);
}

static void survey(int threads, const gsw_matrix *matrix, int mirrored, gsw_survey *result) {
    const gsw_grid *g = &matrix->grid;
    int32_t mirror[GSW_STENCIL_MAX];
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        mirror[e] =
            mirrored ? gsw_stencil_find(&matrix->stencil, (gsw_offset){-o.dx, -o.dy, -o.dz}) : e;
    }
    const int64_t lines = g->ny * g->nz, length = (lines + PARTS - 1) / PARTS;
    tally part[PARTS];
#pragma omp parallel for schedule(static) num_threads(threads) if (g->nx * lines > SERIAL_LIMIT)
    for (int64_t p = 0; p < PARTS; p++) {
        tally own = {.least = DBL_MAX, .bad_row = -1, .symmetric = mirrored, .zero_sums = 1};
        for (int64_t line = p * length; line < (p + 1) * length && line < lines; line++)
            for (int64_t x = 0; x < g->nx; x += LANES)
                tally_block(matrix, mirror, &(fine_block){x, line % g->ny, line / g->ny, 1}, &own);
        part[p] = own;
    }
    *result = (gsw_survey){.least = DBL_MAX, .bad_row = -1, .symmetric = 1, .zero_sums = 1};
    for (int p = 0; p < PARTS; p++) {
        for (int axis = 0; axis < 3; axis++)
            for (int l = 0; l < LANES; l++)
                result->coupling[axis] += part[p].coupling[axis][l];
        if (part[p].row_ratio > result->row_ratio)
            result->row_ratio = part[p].row_ratio;
        if (part[p].largest > result->largest)
            result->largest = part[p].largest;
        if (part[p].least < result->least)
            result->least = part[p].least;
        for (int l = 0; l < LANES; l++) {
            result->off_diagonal += part[p].off_diagonal[l];
            result->same_sign += part[p].same_sign[l];
        }
        result->negative += part[p].negative;
        if (result->bad_row < 0)
            result->bad_row = part[p].bad_row;
        result->symmetric &= part[p].symmetric || !mirrored;
        result->zero_sums &= part[p].zero_sums;
    }
    for (int axis = 0; axis < 3; axis++)
        result->coupling[axis] /= (double)(g->nx * lines);
    result->off_diagonal /= (double)(g->nx * lines);
    result->same_sign /= (double)(g->nx * lines);
}

/* Stencil arrays copied line by line, with zeros where a coupling leaves the grid. */
static void copy_lines(int threads, const gsw_matrix *matrix, gsw_dtype type, void *const *arrays) {
    const gsw_grid *g = &matrix->grid;
    const int64_t lines = g->ny * g->nz;
#pragma omp parallel for schedule(static) num_threads(threads) if (g->nx * lines > SERIAL_LIMIT)
    for (int64_t line = 0; line < lines; line++)
        for (int32_t e = 0; e < matrix->stencil.count; e++)
            for (int64_t x = 0; arrays[e] && x < g->nx; x += LANES) {
                const int64_t count = g->nx - x < LANES ? g->nx - x : LANES;
                double value[LANES];
                if (!fetch_entry(matrix, e, &(fine_block){x, line % g->ny, line / g->ny, 1}, value))
                    clear_lanes(value);
                store_lanes(arrays[e], type, line * g->nx + x, count, value);
            }
}

/* ---- Interpolation ---------------------------------------------------------------------------
 */

/* A block's rows, collapsed over the axes outside the class, and what they are divided by. */
static void collapse(const gsw_transfer *t, int class_, uint32_t slots,
                     const double a[GSW_SLOTS][LANES], double c[GSW_SLOTS][LANES],
                     double divisor[LANES], double diagonal[LANES]) {
    static const double none[LANES] = {0};
    double total[LANES], sides[6][LANES], coupled[LANES];
    int count = 0;
    clear_lanes(total);
    clear_lanes(coupled);
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
        if (t->project[class_][slot] == slot)
            clear_lanes(c[slot]);
    for (int axis = 0; axis < 3; axis++)
        if (class_ >> axis & 1) {
            clear_lanes(sides[count]);
            clear_lanes(sides[count + 1]);
            for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
                const int side = t->project[1 << axis][slot] - GSW_SLOT_CENTER;
                if (!(slots >> slot & 1) || side == 0)
                    continue;
                add_multiple_lanes(1, a[slot], sides[count + (side > 0)]);
            }
            count += 2;
        }
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
        if (!(slots >> slot & 1))
            continue;
        add_multiple_lanes(1, a[slot], c[t->project[class_][slot]]);
        add_multiple_lanes(1, a[slot], total);
    }
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
        if (slot != GSW_SLOT_CENTER && t->project[class_][slot] == slot)
            add_multiple_lanes(1, c[slot], coupled);
    const double *center = slots >> GSW_SLOT_CENTER & 1 ? a[GSW_SLOT_CENTER] : none;
    for (int l = 0; l < LANES; l++) {
        double side[6];
        for (int i = 0; i < count; i++)
            side[i] = sides[i][l];
        diagonal[l] = center[l];
        divisor[l] = gsw_weight_divisor(center[l], total[l], coupled[l], side, count);
    }
}

/* The mean of the coarse neighbours that exist. */
static void take_mean(const gsw_transfer *t, int class_, int64_t x, int64_t y, int64_t z, int lane,
                      double w[8][LANES]) {
    int exist = 0;
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        if (!(subset & ~class_))
            exist += gsw_subset_exists(&t->coarse, subset, x, y, z);
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        if (!(subset & ~class_))
            w[gsw_subset_index(class_, subset)][lane] =
                gsw_subset_exists(&t->coarse, subset, x, y, z) ? 1.0 / exist : 0;
}

/* The weights of one class at the coarse points (x.., y, z). Returns the degenerate points. */
static int64_t weigh_block(const gsw_transfer *t, const gsw_matrix *matrix, int symmetric_part,
                           gsw_dtype type, void *const *weights, int class_, int64_t x, int64_t y,
                           int64_t z) {
    double a[GSW_SLOTS][LANES], c[GSW_SLOTS][LANES], divisor[LANES], diagonal[LANES];
    double w[8][LANES];
    const int64_t step[3] = {t->axes & 1 ? 2 : 1, t->axes & 2 ? 2 : 1, t->axes & 4 ? 2 : 1};
    const fine_block block = {step[0] * x + (class_ & 1), step[1] * y + (class_ >> 1 & 1),
                              step[2] * z + (class_ >> 2 & 1), step[0]};
    const int64_t count = t->coarse.nx - x < LANES ? t->coarse.nx - x : LANES;
    const int subsets = 1 << gsw_class_size(class_);
    int64_t degenerate = 0;
    for (int k = 0; k < subsets; k++)
        clear_lanes(w[k]);
    if (block.y < t->fine.ny && block.z < t->fine.nz) {
        const uint32_t slots = fetch_rows(t, matrix, symmetric_part, &block, a);
        collapse(t, class_, slots, (const double(*)[LANES])a, c, divisor, diagonal);
        for (int32_t i = t->first_term[class_]; i < t->first_term[class_ + 1]; i++) {
            const gsw_weight_term *term = &t->weight_term[i];
            double own[LANES];
            const double *p = fetch_weight(t, type, weights, term->weight, x + term->shift[0],
                                           y + term->shift[1], z + term->shift[2], own);
            if (!p)
                continue;
            add_product_lanes(c[term->slot], p, w[term->to]);
        }
        for (int l = 0; l < count; l++) {
            const int there = block.x + block.step * l < t->fine.nx;
            const int serves = gsw_divisor_serves(divisor[l], diagonal[l]);
            for (int k = 0; k < subsets; k++)
                w[k][l] = there && serves ? -w[k][l] / divisor[l] : 0;
            if (there && !serves) {
                take_mean(t, class_, x + l, y, z, l, w);
                degenerate++;
            }
        }
    }
    for (int k = 0; k < subsets; k++)
        store_lanes(weights[t->first[class_] + k], type, gsw_grid_row(&t->coarse, x, y, z), count,
                    w[k]);
    return degenerate;
}

static int64_t interpolate(int threads, const gsw_transfer *t, const gsw_matrix *matrix,
                           int symmetric_part, gsw_dtype type, void *const *weights) {
    const gsw_grid *g = &t->coarse;
    const int64_t lines = g->ny * g->nz, points = g->nx * lines;
    int64_t degenerate = 0;
    /* Edges, then faces, then centres: each class rests on smaller ones. */
    for (int size = 1; size <= gsw_class_size(t->axes); size++) {
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : degenerate) if (points > SERIAL_LIMIT)
        for (int64_t line = 0; line < lines; line++)
            for (int class_ = 1; class_ < GSW_CLASSES; class_++)
                for (int64_t x = 0;
                     gsw_class_size(class_) == size && !(class_ & ~t->axes) && x < g->nx;
                     x += LANES)
                    degenerate += weigh_block(t, matrix, symmetric_part, type, weights, class_, x,
                                              line % g->ny, line / g->ny);
    }
    return degenerate;
}

/* ---- Triple product --------------------------------------------------------------------------
 */

enum {
    PAIRS = LANES + 4
}; /* of fine points; the first is that of the coarse point before lane 0 */

/* The rows of a fine line around a block: one array per slot for the even points, and one for the
 * odd points, of the coarse points x - 1, x, ...; or, where lines are not coarsened, of points x.
 */
typedef struct product_line {
    double even[GSW_SLOTS][PAIRS], odd[GSW_SLOTS][PAIRS];
    uint32_t slots; /* those that are set; the others hold zeros */
} product_line;

/* Splits 2 PAIRS values into even and odd ones. */
static inline void split_pairs_f64(const double *from, double *even, double *odd) {
    for (int k = 0; k < PAIRS; k += 4) {
        const quad a = load(from + 2 * k), b = load(from + 2 * k + 4);
        store(even + k, __builtin_shufflevector(a, b, 0, 2, 4, 6));
        store(odd + k, __builtin_shufflevector(a, b, 1, 3, 5, 7));
    }
}

static inline void split_pairs_f32(const float *from, double *even, double *odd) {
    for (int k = 0; k < PAIRS; k += 4) {
        const quad_f32 a = load_f32(from + 2 * k), b = load_f32(from + 2 * k + 4);
        store(even + k, __builtin_convertvector(__builtin_shufflevector(a, b, 0, 2, 4, 6), quad));
        store(odd + k, __builtin_convertvector(__builtin_shufflevector(a, b, 1, 3, 5, 7), quad));
    }
}

/* Entry e of a fine line's pairs. Returns 0 where all are zero. */
static int split_entry(const gsw_matrix *matrix, int32_t e, int64_t x, int64_t y, int64_t z,
                       double even[PAIRS], double odd[PAIRS]) {
    const gsw_grid *g = &matrix->grid;
    const gsw_offset o = matrix->stencil.offsets[e];
    const void *array = matrix->array.values[e];
    const int f32 = matrix->array.value_type == GSW_F32;
    if (array == NULL || y + o.dy < 0 || y + o.dy >= g->ny || z + o.dz < 0 || z + o.dz >= g->nz)
        return 0;
    const int64_t first = 2 * (x - 1), at = gsw_grid_row(g, first, y, z);
    const int64_t low = o.dx < 0 ? -o.dx : 0, high = o.dx > 0 ? g->nx - o.dx : g->nx;
    const int whole = at >= 0 && at + 2 * PAIRS <= g->nx * g->ny * g->nz;
    if (whole)
        prefetch_values(array, matrix->array.value_type, at + 2 * PAIRS, 2 * LANES);
    if (whole && f32)
        split_pairs_f32((const float *)array + at, even, odd);
    else if (whole)
        split_pairs_f64((const double *)array + at, even, odd);
    for (int64_t i = 0; !whole && i < 2 * PAIRS; i++)
        if (first + i >= low && first + i < high)
            (i % 2 ? odd : even)[i / 2] =
                f32 ? ((const float *)array)[at + i] : ((const double *)array)[at + i];
    for (int64_t i = 0; i < 2 * PAIRS && first + i < low; i++)
        (i % 2 ? odd : even)[i / 2] = 0;
    for (int64_t i = high > first ? high - first : 0; i < 2 * PAIRS; i++)
        (i % 2 ? odd : even)[i / 2] = 0;
    return 1;
}

/* The line (y, z) of the fine grid, which is inside. */
static void fetch_product_line(const gsw_transfer *t, const gsw_matrix *matrix, int64_t x,
                               int64_t y, int64_t z, product_line *line) {
    line->slots = 0;
    if (t->plain && t->axes & 1) {
        for (int32_t e = 0; e < t->fine_stencil.count; e++) {
            const int32_t slot = t->lump[e][0].slot;
            if (t->lumps[e] && split_entry(matrix, e, x, y, z, line->even[slot], line->odd[slot]))
                line->slots |= 1U << slot;
        }
        return;
    }
    double a[GSW_SLOTS][LANES];
    for (int64_t at = t->axes & 1 ? -1 : 0; at <= (t->axes & 1 ? 1 : 0); at++) {
        const int64_t step = t->axes & 1 ? 2 : 1;
        line->slots = fetch_rows(t, matrix, 0, &(fine_block){step * x + at, y, z, step}, a);
        for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
            if (line->slots >> slot & 1)
                copy_lanes(a[slot], at == 0 ? line->even[slot] + 1 : line->odd[slot] + (at > 0));
    }
}

/* What all blocks of a product share. */
typedef struct product {
    const gsw_transfer *t;
    const gsw_matrix *matrix;
    gsw_dtype type;
    void *const *prolongation, *const *restriction;
    int64_t step[GSW_PRODUCT_TERMS_MAX]; /* of each term's shift, in coarse rows */
} product;

static inline void add_narrow_product_lanes(const float *restrict factor,
                                            const double *restrict from, double *restrict to) {
#pragma omp simd
    for (int l = 0; l < LANES; l++)
        to[l] = multiply_add_f64(factor[l], from[l], to[l]);
}

/* ap += a p, where p are weights as they are stored; NULL: 1. */
static inline void add_term(gsw_dtype type, const void *weights, int64_t at, const double *a,
                            double ap[LANES]) {
    if (weights == NULL)
        add_multiple_lanes(1, a, ap);
    else if (type == GSW_F64)
        add_product_lanes((const double *)weights + at, a, ap);
    else
        add_narrow_product_lanes((const float *)weights + at, a, ap);
}

/* One fine row of A P for a block, scaled and added to the block's rows of R A P. */
static void add_product_row(const product *s, const product_line *line, const gsw_product_row *row,
                            int64_t x, int64_t y, int64_t z, double sum[GSW_SLOTS][LANES]) {
    const gsw_transfer *t = s->t;
    const gsw_grid *g = &t->coarse;
    const int64_t at = gsw_grid_row(g, x, y, z);
    const double(*a)[PAIRS] = row->at[0] == 0 ? line->even : line->odd;
    const int first_lane = row->at[0] >= 0;
    double ap[GSW_SLOTS][LANES], own[LANES];
    const double *r = fetch_weight(t, s->type, s->restriction, row->weight, x + row->shift[0],
                                   y + row->shift[1], z + row->shift[2], own);
    if (!r)
        return;
    for (int32_t k = 0; k < GSW_SLOTS; k++)
        if (row->reach >> k & 1)
            clear_lanes(ap[k]);
    for (int32_t i = row->first; i < row->last; i++) {
        const gsw_product_term *term = &t->product_term[i];
        if (!(line->slots >> term->slot & 1) || (uint64_t)(y + term->shift[1]) >= (uint64_t)g->ny ||
            (uint64_t)(z + term->shift[2]) >= (uint64_t)g->nz)
            continue;
        add_term(s->type, term->weight < 0 ? NULL : s->prolongation[term->weight], at + s->step[i],
                 a[term->slot] + first_lane, ap[term->to]);
    }
    for (int32_t k = 0; k < GSW_SLOTS; k++)
        if (row->reach >> k & 1)
            add_product_lanes(r, ap[k], sum[k]);
}

/* Zeros where a coupling of a block's points leaves the coarse grid: those of the whole block where
 * it leaves the plane of lines, else of the point at the end of its line. */
static void store_zeros(const gsw_transfer *t, int32_t slot, int64_t x, int64_t y, int64_t z,
                        int64_t count, double *const *coarse) {
    const gsw_grid *g = &t->coarse;
    const int dx = gsw_slot_offset(slot, 0);
    const int64_t ny = y + gsw_slot_offset(slot, 1), nz = z + gsw_slot_offset(slot, 2);
    double *to = coarse[t->coarse_entry[slot]] + gsw_grid_row(g, x, y, z);
    if (ny < 0 || ny >= g->ny || nz < 0 || nz >= g->nz)
        for (int64_t l = 0; l < count; l++)
            to[l] = 0;
    else if (dx < 0 && x == 0)
        to[0] = 0;
    else if (dx > 0 && x + count == g->nx)
        to[count - 1] = 0;
}

static inline void store_range(double *to, const double *from, int64_t first, int64_t last) {
    if (first == 0 && last == LANES)
        copy_lanes(from, to);
    else
        for (int64_t l = first; l < last; l++)
            to[l] = from[l];
}

/* Puts a block's coarse coupling `slot` where it belongs, and its mirror image into the lower part
 * of a symmetric product. */
static void store_coupling(const gsw_transfer *t, int32_t slot, int64_t x, int64_t y, int64_t z,
                           const double sum[LANES], double *const *coarse) {
    const gsw_grid *g = &t->coarse;
    const int dx = gsw_slot_offset(slot, 0);
    const int64_t ny = y + gsw_slot_offset(slot, 1), nz = z + gsw_slot_offset(slot, 2);
    const int64_t left = g->nx - x, count = left < LANES ? left : LANES;
    const int both = t->symmetric && slot != GSW_SLOT_CENTER;
    const int32_t mirror = gsw_slot_mirror(slot);
    if (t->coarse_entry[slot] < 0)
        return;
    store_zeros(t, slot, x, y, z, count, coarse);
    if (both)
        store_zeros(t, mirror, x, y, z, count, coarse);
    if (ny < 0 || ny >= g->ny || nz < 0 || nz >= g->nz)
        return;
    const int64_t first = x + dx < 0, last = count == left && dx > 0 ? count - 1 : count;
    store_range(coarse[t->coarse_entry[slot]] + gsw_grid_row(g, x, y, z), sum, first, last);
    if (both)
        store_range(coarse[t->coarse_entry[mirror]] + gsw_grid_row(g, x + dx, ny, nz), sum, first,
                    last);
}

/* R A P for a block of coarse points. */
static void multiply_block(const product *s, int64_t x, int64_t y, int64_t z,
                           double *const *coarse) {
    const gsw_transfer *t = s->t;
    double sum[GSW_SLOTS][LANES];
    product_line line;
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
        clear_lanes(sum[slot]);
    for (int32_t i = 0, last; i < t->rows; i = last) {
        const gsw_product_row *row = &t->row[i];
        const int64_t fy = (t->axes & 2 ? 2 : 1) * y + row->at[1];
        const int64_t fz = (t->axes & 4 ? 2 : 1) * z + row->at[2];
        last = i + (t->axes & 1 ? 3 : 1); /* rows of one line */
        if (fy < 0 || fy >= t->fine.ny || fz < 0 || fz >= t->fine.nz)
            continue;
        fetch_product_line(t, s->matrix, x, fy, fz, &line);
        for (; i < last; i++)
            add_product_row(s, &line, &t->row[i], x, y, z, sum);
    }
    for (int32_t slot = t->symmetric ? GSW_SLOT_CENTER : 0; slot < GSW_SLOTS; slot++)
        store_coupling(t, slot, x, y, z, sum[slot], coarse);
}

static void triple(int threads, const gsw_transfer *t, const gsw_matrix *matrix, gsw_dtype type,
                   void *const *prolongation, void *const *restriction, double *const *coarse) {
    const gsw_grid *g = &t->coarse;
    const int64_t lines = g->ny * g->nz, points = g->nx * lines;
    product shared = {t, matrix, type, prolongation, restriction, {0}};
    for (int32_t i = 0; i < t->row[t->rows - 1].last; i++) {
        const int8_t *shift = t->product_term[i].shift;
        shared.step[i] = gsw_grid_row(g, shift[0], shift[1], shift[2]);
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (points > SERIAL_LIMIT / 8)
    for (int64_t line = 0; line < lines; line++)
        for (int64_t x = 0; x < g->nx; x += LANES)
            multiply_block(&shared, x, line % g->ny, line / g->ny, coarse);
}

/* ---- Vectors ---------------------------------------------------------------------------------
 */

#define VALUE       double
#define TYPED(name) name##_f64
#include "cpu/multigrid_transfer.inc"
#undef VALUE
#undef TYPED

#define VALUE       float
#define TYPED(name) name##_f32
#include "cpu/multigrid_transfer.inc"
#undef VALUE
#undef TYPED

static void restrict_vector(int threads, const gsw_transfer *t, gsw_dtype type,
                            void *const *weights, double scale, const void *from, void *to) {
    if (type == GSW_F64)
        restrict_f64(threads, t, weights, scale, from, to);
    else
        restrict_f32(threads, t, weights, (float)scale, from, to);
}

static void prolong_add(int threads, const gsw_transfer *t, gsw_dtype type, void *const *weights,
                        const void *from, void *to) {
    if (type == GSW_F64)
        prolong_f64(threads, t, weights, from, to);
    else
        prolong_f32(threads, t, weights, from, to);
}

static void combine(int threads, gsw_dtype type, int64_t n, double a, const void *x, double b,
                    void *y) {
    if (type == GSW_F64)
        combine_f64(threads, n, a, x, b, y);
    else
        combine_f32(threads, n, (float)a, x, (float)b, y);
}

/* The largest |from[i]|, NaN left out; eight maxima side by side. */
static double largest(int64_t n, const double *from) {
    double own[8] = {0}, most = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) {
            const double size = fabs(from[i + l]);
            own[l] = size > own[l] ? size : own[l];
        }
    for (; i < n; i++)
        own[0] = fabs(from[i]) > own[0] ? fabs(from[i]) : own[0];
    for (int l = 0; l < 8; l++)
        most = own[l] > most ? own[l] : most;
    return most;
}

static void narrow(int threads, int64_t n, const double *from, float *to, double *scale) {
    double part[PARTS] = {0}, most = 0;
    const int64_t length = (n + PARTS - 1) / PARTS;
#pragma omp parallel for schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t p = 0; p < PARTS; p++) {
        const int64_t left = n - p * length;
        part[p] = left > 0 ? largest(left < length ? left : length, from + p * length) : 0;
    }
    for (int p = 0; p < PARTS; p++)
        most = part[p] > most ? part[p] : most;
    /* NaN and infinity go through as they are. */
    const int exponent = most > 0 && isfinite(most) ? ilogb(most) : 0;
    const double factor = ldexp(1, -exponent);
    *scale = ldexp(1, exponent);
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)(factor * from[i]);
}

static void widen(int threads, int64_t n, const float *from, double scale, double *to) {
#pragma omp parallel for simd schedule(static) num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        to[i] = scale * from[i];
}

extern const gsw_cpu_multigrid GSW_ISA_FN(gsw_cpu_multigrid);
const gsw_cpu_multigrid GSW_ISA_FN(gsw_cpu_multigrid) = {
    .survey = survey,
    .copy_lines = copy_lines,
    .interpolate = interpolate,
    .triple = triple,
    .restrict_vector = restrict_vector,
    .prolong_add = prolong_add,
    .narrow = narrow,
    .widen = widen,
    .combine = combine,
};
