/* multigrid_blocks.h: how the set-up of multigrid fetches rows. A block of coarse points copies the
 * rows of the fine points that it needs into small arrays, with zeros for anything outside a grid.
 * It then applies the tables to them. Included by the kernels of each instruction set. */
#ifndef GSW_CPU_MULTIGRID_BLOCKS_H
#define GSW_CPU_MULTIGRID_BLOCKS_H

#include <string.h>
#include "multigrid.h"
#include "cpu/core/multiply_add.h"

enum { LANES = 16 /* coarse points of a block */ };

/* Smaller grids are not worth waking the other threads. */
#define SERIAL_LIMIT 4096

/* ---- Blocks of lanes --------------------------------------------------------------------------
 *
 * Vectors of four, because compilers generate slow string instructions for such short fills and
 * copies, and pass wider vectors through memory where the processor has none. */

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

/* gcc splits this into two conversions of halves, through memory, where the processor has one. */
static inline quad widen_quad(quad_f32 value) {
#if defined(__AVX__) && !defined(__clang__)
    return (quad)__builtin_ia32_cvtps2pd256(value);
#else
    return __builtin_convertvector(value, quad);
#endif
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

/* Prefetches the values of the next block of a line. Blocks read more streams than the hardware's
 * prefetchers follow. */
static inline __attribute__((always_inline)) void prefetch_values(const void *array, gsw_dtype type,
                                                                  int64_t at, int64_t count) {
    const int64_t size = type == GSW_F64 ? 8 : 4;
    const char *from = (const char *)array + at * size;
    for (int64_t i = 0; i < count * size; i += 64)
        __builtin_prefetch(from + i, 0, 2);
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
        store(to + k, widen_quad(even));
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
    int64_t step;  /* 1 or 2 */
    int64_t ahead; /* values to the next fetched block; 0: the line continues there */
} fine_block;

/* The lanes of a block whose x + dx lies in [0, nx). */
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

/* Lanes first..last-1 of array[at + step l], zeros in the others. The others are read as well where
 * they lie in the array. */
static inline __attribute__((always_inline)) void
fetch_lanes(const void *array, gsw_dtype type, int64_t points, int64_t at, int64_t step,
            int64_t ahead, int64_t first, int64_t last, double *to) {
    if (at >= 0 && at + step * LANES <= points) {
        prefetch_values(array, type, at + ahead, step * LANES);
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
 * all entries are zero. */
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
    const int64_t ahead = block->ahead ? block->ahead : block->step * LANES;
    if (block->step == 1)
        fetch_lanes(array, matrix->array.value_type, points, at, 1, ahead, first, last, to);
    else
        fetch_lanes(array, matrix->array.value_type, points, at, 2, ahead, first, last, to);
    return 1;
}

/* 1 for rows of a block that have couplings, 0 for rows that have none. */
static inline void find_coupled(const gsw_matrix *matrix, const fine_block *block,
                                double coupled[LANES]) {
    clear_lanes(coupled);
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        double value[LANES];
        if (e == matrix->stencil.center || !fetch_entry(matrix, e, block, value))
            continue;
        for (int l = 0; l < LANES; l++)
            coupled[l] = value[l] != 0 ? 1 : coupled[l];
    }
}

/* Sets couplings of a block's rows at offset o to 0 where the row at the other end has no
 * couplings. Only couplings without a mirror image need this check. */
static inline void cut_to_isolated(const gsw_matrix *matrix, gsw_offset o, const fine_block *block,
                                   double value[LANES]) {
    const fine_block there = {block->x + o.dx, block->y + o.dy, block->z + o.dz, block->step, 0};
    const int32_t back = gsw_stencil_find(&matrix->stencil, (gsw_offset){-o.dx, -o.dy, -o.dz});
    double other[LANES];
    int one_way = 0;
    if (back < 0 || !fetch_entry(matrix, back, &there, other))
        clear_lanes(other);
    for (int l = 0; l < LANES; l++)
        one_way |= value[l] != 0 && other[l] == 0;
    if (!one_way)
        return;
    find_coupled(matrix, &there, other);
    for (int l = 0; l < LANES; l++)
        value[l] = other[l] != 0 ? value[l] : 0;
}

/* Adds entry e of (A + A^T) / 2, lumped: from the row and from the column of each point. Where
 * `coupled` is not NULL, couplings are cut, and `coupled` states which rows have couplings. */
static inline void add_symmetric_part(const gsw_transfer *t, const gsw_matrix *matrix, int32_t e,
                                      const fine_block *block, const double *coupled,
                                      double a[GSW_SLOTS][LANES]) {
    const gsw_offset o = t->fine_stencil.offsets[e];
    const fine_block from = {block->x - o.dx, block->y - o.dy, block->z - o.dz, block->step,
                             block->ahead};
    const int cut = coupled && e != t->fine_stencil.center;
    double value[LANES];
    if (fetch_entry(matrix, e, block, value)) {
        if (cut)
            cut_to_isolated(matrix, o, block, value);
        for (int32_t i = 0; i < t->lumps[e]; i++)
            add_multiple_lanes(0.5 * t->lump[e][i].factor, value, a[t->lump[e][i].slot]);
    }
    if (fetch_entry(matrix, e, &from, value)) { /* row i - o couples to i */
        for (int l = 0; cut && l < LANES; l++)
            value[l] *= coupled[l];
        for (int32_t i = 0; i < t->lumps[e]; i++)
            add_multiple_lanes(0.5 * t->lump[e][i].factor, value,
                               a[gsw_slot_mirror(t->lump[e][i].slot)]);
    }
}

/* Adds entry e of a symmetric matrix, lumped so that the result is symmetric: the two rows that a
 * lump couples share it. The diagonal receives the difference, so the row's sum stays. */
static inline void add_symmetric_lumps(const gsw_transfer *t, const gsw_matrix *matrix, int32_t e,
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
                                 block->z - gsw_slot_offset(slot, 2), block->step, block->ahead};
        if (slot == GSW_SLOT_CENTER || !fetch_entry(matrix, e, &from, value))
            continue;
        const double factor = 0.5 * t->lump[e][i].factor;
        add_multiple_lanes(factor, value, a[gsw_slot_mirror(slot)]);
        add_multiple_lanes(-factor, value, a[GSW_SLOT_CENTER]);
    }
}

/* The rows of a block as interpolation and product use them. Returns the bit set of the slots that
 * are set; the others hold zeros. */
static inline uint32_t fetch_rows(const gsw_transfer *t, const gsw_matrix *matrix, gsw_rows rows,
                                  const fine_block *block, double a[GSW_SLOTS][LANES]) {
    const int symmetric_part = rows != GSW_ROWS_OF_MATRIX;
    double coupled[LANES];
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
    if (rows == GSW_ROWS_OF_SYMMETRIC_PART_CUT)
        find_coupled(matrix, block, coupled);
    for (int32_t e = 0; e < t->fine_stencil.count; e++) {
        double value[LANES];
        if (!t->lumps[e])
            continue;
        if (symmetric_part)
            add_symmetric_part(t, matrix, e, block,
                               rows == GSW_ROWS_OF_SYMMETRIC_PART_CUT ? coupled : NULL, a);
        else if (t->symmetric)
            add_symmetric_lumps(t, matrix, e, block, a);
        else if (fetch_entry(matrix, e, block, value))
            for (int32_t i = 0; i < t->lumps[e]; i++)
                add_multiple_lanes(t->lump[e][i].factor, value, a[t->lump[e][i].slot]);
    }
    return slots;
}

/* Weight `weight` at the coarse points (x.., y, z), which may lie beside the line. The values there
 * are finite and unused. Returns NULL where the line is outside the grid. */
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

#endif
