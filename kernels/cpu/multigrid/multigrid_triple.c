/* multigrid_triple.c: the triple product R A P on stencils, with SIMD over blocks of a coarse line
 * and OpenMP over lines. One thread computes each result, in an order that the tables of the
 * transfer fix. So nothing depends on the number of threads. */
#include "multigrid_blocks.h"
#include "multigrid_kernels.h"

/* ---- Triple product --------------------------------------------------------------------------
 */

enum {
    PAIRS = LANES + 4
}; /* of fine points; the first pair belongs to the coarse point before lane 0 */

/* The rows of a fine line around a block. Each slot has one array for the even points and one for
 * the odd points, of the coarse points x - 1, x, ... Where lines are not coarsened, they hold
 * points x. */
typedef struct product_line {
    double even[GSW_SLOTS][PAIRS], odd[GSW_SLOTS][PAIRS];
    uint32_t slots; /* slots that are set; the others hold zeros */
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
        store(even + k, widen_quad(__builtin_shufflevector(a, b, 0, 2, 4, 6)));
        store(odd + k, widen_quad(__builtin_shufflevector(a, b, 1, 3, 5, 7)));
    }
}

/* Entry e of a fine line's pairs. Returns 0 where all entries are zero. Prefetches values at the
 * distance `ahead`. */
static int split_entry(const gsw_matrix *matrix, int32_t e, int64_t x, int64_t y, int64_t z,
                       int64_t ahead, double even[PAIRS], double odd[PAIRS]) {
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
        prefetch_values(array, matrix->array.value_type, at + ahead, 2 * LANES);
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

/* Fetches the line (y, z) of the fine grid, which must be inside. */
static void fetch_product_line(const gsw_transfer *t, const gsw_matrix *matrix, int64_t x,
                               int64_t y, int64_t z, product_line *line) {
    line->slots = 0;
    if (t->plain && t->axes & 1) {
        const int64_t ahead = (t->axes & 2 ? 2 : 1) * t->fine.nx; /* the next coarse line's */
        for (int32_t e = 0; e < t->fine_stencil.count; e++) {
            const int32_t slot = t->lump[e][0].slot;
            if (t->lumps[e] &&
                split_entry(matrix, e, x, y, z, ahead, line->even[slot], line->odd[slot]))
                line->slots |= 1U << slot;
        }
        return;
    }
    double a[GSW_SLOTS][LANES];
    for (int64_t at = t->axes & 1 ? -1 : 0; at <= (t->axes & 1 ? 1 : 0); at++) {
        const int64_t step = t->axes & 1 ? 2 : 1;
        line->slots = fetch_rows(t, matrix, GSW_ROWS_OF_MATRIX,
                                 &(fine_block){step * x + at, y, z, step, 0}, a);
        for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
            if (line->slots >> slot & 1)
                copy_lanes(a[slot], at == 0 ? line->even[slot] + 1 : line->odd[slot] + (at > 0));
    }
}

/* One contribution to a row of A P: lanes of a product_line times a weight. */
typedef struct factors {
    int32_t lanes;      /* position of the coupling's lanes: which double of the product_line */
    int32_t slot;       /* slot of the coupling */
    const void *weight; /* NULL: 1; includes the shift */
    int8_t shift_y, shift_z;
} factors;

/* Contributions first..last-1 go to the coarse coupling `to`. */
typedef struct target {
    int32_t first, last, to;
} target;

/* The state that all blocks of a product share: the transfer's terms, sorted by target. */
typedef struct product {
    const gsw_transfer *t;
    const gsw_matrix *matrix;
    gsw_dtype type;
    void *const *prolongation, *const *restriction;
    int whole; /* every array is given */
    factors factor[GSW_PRODUCT_TERMS_MAX];
    target target[GSW_SLOTS * GSW_SLOTS];
    int32_t first_target[GSW_SLOTS + 1]; /* of each row */
} product;

static void sort_terms(product *s) {
    const gsw_transfer *t = s->t;
    const int64_t size = (int64_t)gsw_dtype_size(s->type);
    int32_t factors_made = 0, targets = 0;
    for (int32_t r = 0; r < t->rows; r++) {
        const gsw_product_row *row = &t->row[r];
        /* Lanes of the first coarse point: one after the start, except for the odd point before. */
        const int32_t odd = row->at[0] == 0 ? 0 : GSW_SLOTS * PAIRS, lane = row->at[0] >= 0;
        s->first_target[r] = targets;
        for (int32_t to = 0; to < GSW_SLOTS; to++) {
            const int32_t first = factors_made;
            for (int32_t i = row->first; i < row->last; i++) {
                const gsw_product_term *term = &t->product_term[i];
                if (term->to != to)
                    continue;
                factors *f = &s->factor[factors_made++];
                *f = (factors){odd + term->slot * PAIRS + lane, term->slot, NULL, term->shift[1],
                               term->shift[2]};
                if (term->weight >= 0)
                    f->weight = (const char *)s->prolongation[term->weight] +
                                size * gsw_grid_row(&t->coarse, term->shift[0], term->shift[1],
                                                    term->shift[2]);
            }
            if (factors_made > first)
                s->target[targets++] = (target){first, factors_made, to};
        }
    }
    s->first_target[t->rows] = targets;
}

/* Where a block of coarse points lies. */
typedef struct coarse_block {
    int64_t x, y, z, row;
    int whole; /* every line and weight around it exists */
} coarse_block;

static inline quad load_weights(gsw_dtype type, const void *weights, int64_t at) {
    if (type == GSW_F64)
        return load((const double *)weights + at);
    return widen_quad(load_f32((const float *)weights + at));
}

/* Adds the sum of one target's contributions, times r, to the block's coarse coupling. */
static inline __attribute__((always_inline)) void
add_target(const product *s, gsw_dtype type, const product_line *line, const target *aim,
           const coarse_block *at, const quad r[4], double sum[LANES]) {
    const gsw_grid *g = &s->t->coarse;
    quad ap[4] = {{0}, {0}, {0}, {0}};
    for (int32_t i = aim->first; i < aim->last; i++) {
        const factors *f = &s->factor[i];
        const double *a = &line->even[0][0] + f->lanes;
        if (!at->whole &&
            (!(line->slots >> f->slot & 1) || (uint64_t)(at->y + f->shift_y) >= (uint64_t)g->ny ||
             (uint64_t)(at->z + f->shift_z) >= (uint64_t)g->nz))
            continue;
        if (f->weight == NULL)
            for (int k = 0; k < 4; k++)
                ap[k] += load(a + 4 * k);
        else
            for (int k = 0; k < 4; k++)
                ap[k] += load(a + 4 * k) * load_weights(type, f->weight, at->row + 4 * k);
    }
    for (int k = 0; k < 4; k++)
        store(sum + 4 * k, load(sum + 4 * k) + r[k] * ap[k]);
}

/* One fine row of A P for a block, scaled and added to the block's rows of R A P. */
static void add_product_row(const product *s, const product_line *line, int32_t row,
                            const coarse_block *at, double sum[GSW_SLOTS][LANES]) {
    const gsw_product_row *own = &s->t->row[row];
    double lanes[LANES];
    const double *weights =
        fetch_weight(s->t, s->type, s->restriction, own->weight, at->x + own->shift[0],
                     at->y + own->shift[1], at->z + own->shift[2], lanes);
    if (!weights)
        return;
    const quad r[4] = {load(weights), load(weights + 4), load(weights + 8), load(weights + 12)};
    for (int32_t i = s->first_target[row]; i < s->first_target[row + 1]; i++) {
        const target *aim = &s->target[i];
        if (s->type == GSW_F64)
            add_target(s, GSW_F64, line, aim, at, r, sum[aim->to]);
        else
            add_target(s, GSW_F32, line, aim, at, r, sum[aim->to]);
    }
}

/* Stores zeros where a coupling of a block's points leaves the coarse grid. Where it leaves the
 * plane of lines, the whole block gets zeros. Otherwise the point at the end of its line gets
 * one. */
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

/* Stores a block's coarse coupling `slot`, and its mirror image in the lower part of a symmetric
 * product. */
static void store_coupling(const gsw_transfer *t, int32_t slot, int64_t x, int64_t y, int64_t z,
                           const double sum[LANES], double *const *coarse) {
    const gsw_grid *g = &t->coarse;
    const int dx = gsw_slot_offset(slot, 0);
    const int64_t ny = y + gsw_slot_offset(slot, 1), nz = z + gsw_slot_offset(slot, 2);
    const int64_t left = g->nx - x, count = left < LANES ? left : LANES;
    const int32_t mirror = gsw_slot_mirror(slot);
    if (t->coarse_entry[slot] < 0 || !coarse[t->coarse_entry[slot]])
        return;
    const int both = t->symmetric && slot != GSW_SLOT_CENTER && coarse[t->coarse_entry[mirror]];

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

/* Prefetches the weights that the next line of coarse points reads from the next plane. */
static void prefetch_weights(const product *s, const coarse_block *at) {
    const gsw_transfer *t = s->t;
    const int64_t ahead = at->row + gsw_grid_row(&t->coarse, 0, 2, t->axes & 4 ? 1 : 0);
    for (int32_t i = 0; at->whole && i < t->weights; i++)
        prefetch_values(s->prolongation[i], s->type, ahead, LANES);
}

/* R A P for a block of coarse points. */
static void multiply_block(const product *s, const coarse_block *at, double *const *coarse) {
    const gsw_transfer *t = s->t;
    double sum[GSW_SLOTS][LANES];
    product_line line;
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
        clear_lanes(sum[slot]);
    prefetch_weights(s, at);
    for (int32_t i = 0, last; i < t->rows; i = last) {
        const gsw_product_row *row = &t->row[i];
        const int64_t fy = (t->axes & 2 ? 2 : 1) * at->y + row->at[1];
        const int64_t fz = (t->axes & 4 ? 2 : 1) * at->z + row->at[2];
        last = i + (t->axes & 1 ? 3 : 1); /* rows of one line */
        if (fy < 0 || fy >= t->fine.ny || fz < 0 || fz >= t->fine.nz)
            continue;
        fetch_product_line(t, s->matrix, at->x, fy, fz, &line);
        for (; i < last; i++)
            add_product_row(s, &line, i, at, sum);
    }
    for (int32_t slot = t->symmetric ? GSW_SLOT_CENTER : 0; slot < GSW_SLOTS; slot++)
        store_coupling(t, slot, at->x, at->y, at->z, sum[slot], coarse);
}

void GSW_ISA_FN(gsw_multigrid_triple)(int threads, const gsw_transfer *t, const gsw_matrix *matrix,
                                      gsw_dtype type, void *const *prolongation,
                                      void *const *restriction, double *const *coarse) {
    const gsw_grid *g = &t->coarse;
    const int64_t lines = g->ny * g->nz, points = g->nx * lines;
    product shared = {.t = t,
                      .matrix = matrix,
                      .type = type,
                      .prolongation = prolongation,
                      .restriction = restriction,
                      .whole = 1};
    for (int32_t e = 0; e < t->fine_stencil.count; e++)
        shared.whole = shared.whole && matrix->array.values[e] && t->lumps[e];
    sort_terms(&shared);
#pragma omp parallel for schedule(static) num_threads(threads) if (points > SERIAL_LIMIT / 8)
    for (int64_t line = 0; line < lines; line++) {
        coarse_block at = {.y = line % g->ny, .z = line / g->ny};
        at.whole = shared.whole && at.y > 0 && at.y < g->ny - 1 && at.z > 0 && at.z < g->nz - 1;
        for (at.x = 0; at.x < g->nx; at.x += LANES) {
            at.row = gsw_grid_row(g, at.x, at.y, at.z);
            multiply_block(&shared, &at, coarse);
        }
    }
}
