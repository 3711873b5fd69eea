/* multigrid_triple.c: the triple product R A P on stencils, with SIMD over blocks of a coarse line
 * and OpenMP over lines. Every result is made by one thread, in an order that the tables of the
 * transfer fix: nothing depends on the number of threads. */
#include "cpu/multigrid_blocks.h"
#include "cpu/multigrid_kernels.h"

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
        line->slots =
            fetch_rows(t, matrix, GSW_ROWS_OF_MATRIX, &(fine_block){step * x + at, y, z, step}, a);
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

void GSW_ISA_FN(gsw_multigrid_triple)(int threads, const gsw_transfer *t, const gsw_matrix *matrix,
                                      gsw_dtype type, void *const *prolongation,
                                      void *const *restriction, double *const *coarse) {
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
