/* csr.c: rows of a CSR (see rows.h). */
#include <string.h>
#include "common/csr.h"
#include "common/line_stencil.h"
#include "cpu/core/multiply_add.h"
#include "cpu/core/specialized.h"
#include "cpu/core/strip.h"
#include "cpu/rows/rows.h"

#define PART_LANES GSW_LANES_F64
#define VALUE      double
#define SIMD(name) name##_f64
#include "cpu/core/simd.h"
#undef PART_LANES
#undef VALUE
#undef SIMD

enum { LANES = GSW_VECTOR_LANES };

static const double zeros[LANES] = {0};

typedef int32_t vec_index
    __attribute__((vector_size(8 * sizeof(int32_t)), aligned(sizeof(int32_t)), may_alias));

/* Are all bits of all lanes clear? */
static inline int none_set(vec_index v) {
    v |= __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
    v |= __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
    return (v[0] | v[1]) == 0;
}

static int couples(const gsw_matrix *matrix, int32_t e) {
    (void)matrix;
    (void)e;
    return 1;
}

/* ---- Products ---------------------------------------------------------------------------------
 */

enum { SERIAL_LIMIT = 8192, ROWS = 2048 /* per task */ };

#define GSW_PAIRS "cpu/rows/csr_product.inc"
#include "cpu/core/typed.inc"

static void spmv(int threads, const gsw_matrix *matrix, gsw_dtype vector_type, int count,
                 int64_t stride, const void *b, const void *x, void *y) {
    GSW_CALL_PAIR(csr_rows, vector_type, matrix->csr.value_type, threads, &matrix->csr, count,
                  stride, b, x, y);
}

/* ---- Copies -----------------------------------------------------------------------------------
 */

static int64_t diagonal(const gsw_matrix *matrix, int64_t first, int64_t count, double *to) {
    const gsw_csr *csr = &matrix->csr;
    for (int64_t row = first; row < first + count; row++) {
        const int64_t begin = gsw_index_at(csr->row_ptr, csr->index_type, row);
        const int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1);
        to[row - first] = 0;
        if (!gsw_csr_pointers_fit(csr, row, begin, end))
            return row;
        for (int64_t k = begin - csr->base; k < end - csr->base; k++)
            if (gsw_index_at(csr->columns, csr->index_type, k) - csr->base == row) {
                to[row - first] = gsw_value_at(csr->values, csr->value_type, k);
                break;
            }
    }
    return -1;
}

/* Copies a row by a merge of its columns with the stencil of its line. Returns 0 where it does not
 * fit. */
static int spread_any_row(const gsw_matrix *matrix, const gsw_line_stencil *line, int64_t row,
                          int64_t x, int64_t k, int64_t last, gsw_dtype type, void *const *arrays) {
    const gsw_csr *csr = &matrix->csr;
    for (int i = 0; i < line->count; i++) {
        const int fits =
            k < last && gsw_inside_line(line, i, x, matrix->grid.nx) &&
            gsw_index_at(csr->columns, csr->index_type, k) - csr->base == row + line->distance[i];
        if (arrays[line->entry[i]])
            gsw_value_put(arrays[line->entry[i]], type, row,
                          fits ? gsw_value_at(csr->values, csr->value_type, k) : 0);
        k += fits;
    }
    return k == last;
}

/* Copies one line of a CSR to the arrays. Returns the first row that does not fit, or -1. Types are
 * constants where most matrices have them. */
static inline __attribute__((always_inline)) int64_t
spread_typed(const gsw_matrix *matrix, gsw_itype itype, gsw_dtype value_type, gsw_dtype type,
             void *const *arrays, int64_t y, int64_t z) {
    const gsw_csr *csr = &matrix->csr;
    const gsw_grid *g = &matrix->grid;
    gsw_line_stencil line;
    int64_t inside, outside;
    void *to[GSW_STENCIL_MAX];
    gsw_line_stencil_make(g, &matrix->stencil, 0, matrix->stencil.count - 1, y, z, &line);
    gsw_line_inside(&line, g->nx, &inside, &outside);
    for (int32_t e = 0, i = 0; e < matrix->stencil.count; e++) {
        const int is_there = i < line.count && line.entry[i] == e;
        if (is_there)
            to[i++] = arrays[e];
        for (int64_t x = 0; x < g->nx && !is_there && arrays[e]; x++)
            gsw_value_put(arrays[e], type, gsw_grid_row(g, x, y, z), 0);
    }
    for (int64_t x = 0; x < g->nx; x++) {
        const int64_t row = gsw_grid_row(g, x, y, z);
        const int64_t first = gsw_index_at(csr->row_ptr, itype, row);
        const int64_t last = gsw_index_at(csr->row_ptr, itype, row + 1);
        if (!gsw_csr_pointers_fit(csr, row, first, last))
            return row;
        const int64_t k = first - csr->base, end = last - csr->base;
        if (x >= inside && x < outside && gsw_line_is_row(&line, csr, itype, row, k, end)) {
            for (int i = 0; i < line.count; i++)
                if (to[i])
                    gsw_value_put(to[i], type, row, gsw_value_at(csr->values, value_type, k + i));
        } else if (!spread_any_row(matrix, &line, row, x, k, end, type, arrays)) {
            return row;
        }
    }
    return -1;
}

static int64_t spread_line(const gsw_matrix *matrix, gsw_dtype type, void *const *arrays, int64_t y,
                           int64_t z) {
    const gsw_csr *csr = &matrix->csr;
    return csr->index_type == GSW_I32 && csr->value_type == GSW_F64 && type == GSW_F64
               ? spread_typed(matrix, GSW_I32, GSW_F64, GSW_F64, arrays, y, z)
               : spread_typed(matrix, csr->index_type, csr->value_type, type, arrays, y, z);
}

static int64_t copy(int threads, const gsw_matrix *matrix, gsw_dtype type, void *const *arrays) {
    const gsw_grid *g = &matrix->grid;
    int64_t misfit = INT64_MAX;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : misfit)
    for (int64_t line = 0; line < g->ny * g->nz; line++) {
        const int64_t row = spread_line(matrix, type, arrays, line % g->ny, line / g->ny);
        if (row >= 0 && row < misfit)
            misfit = row;
    }
    return misfit == INT64_MAX ? -1 : misfit;
}

/* ---- Staging ----------------------------------------------------------------------------------
 */

/* Stages any row: merges its columns with the taps that stay in the grid, both ascending. Returns 0
 * where a column is no tap. */
static inline __attribute__((always_inline)) int
stage_any_row(const gsw_staging *s, const gsw_tap_set *set, const gsw_place *place, int64_t x,
              int64_t k, int64_t stop, gsw_itype index_type, gsw_dtype value_type, double *to) {
    const gsw_csr *csr = &set->matrix->csr;
    for (int32_t t = 0; t < set->count && k < stop; t++) {
        const gsw_tap *tap = &set->tap[t];
        int64_t begin, end;
        if (gsw_index_at(csr->columns, index_type, k) - csr->base != place->row + x + tap->step ||
            !tap_range(s->g, place, tap->offset, &begin, &end) || x < begin || x >= end)
            continue;
        if (tap->slot >= 0)
            to[tap->slot * LANES] = gsw_value_at(csr->values, value_type, k);
        k++;
    }
    return k == stop;
}

/* Stages a row that holds every tap, with int32 indices, without a search. Returns 0 for other
 * rows. */
static inline int stage_full_row(const gsw_staging *s, const gsw_tap_set *set, int64_t row,
                                 int64_t k, gsw_dtype value_type, double *to) {
    const gsw_csr *csr = &set->matrix->csr;
    const int32_t *columns = (const int32_t *)csr->columns + k;
    const int32_t first = (int32_t)row + csr->base;
    if (k + set->count + LANES > csr->nonzeros)
        return 0; /* the loads might leave the arrays */
    vec_index differ = {0};
    for (int32_t t = 0; t < set->count; t += LANES)
        differ |=
            (*(const vec_index *)(columns + t) ^ (*(const vec_index *)(s->step + t) + first)) &
            *(const vec_index *)(s->valid + t);
    if (!none_set(differ))
        return 0;
    for (int32_t t = 0; t < set->count; t++)
        if (set->tap[t].slot >= 0)
            to[set->tap[t].slot * LANES] = gsw_value_at(csr->values, value_type, k + t);
    return 1;
}

/* Stages `stretch` points of one line from CSR. Returns the first row that has a column outside the
 * taps, or pointers outside the arrays. Returns -1 where there is none. */
static inline __attribute__((always_inline)) int64_t
stage_typed(const gsw_staging *s, const gsw_tap_set *set, const gsw_place *place, int64_t stretch,
            double *to, gsw_itype index_type, gsw_dtype value_type) {
    const gsw_csr *csr = &set->matrix->csr;
    const gsw_chains *g = s->g;
    const int deep = index_type == GSW_I32 && set == &s->taps[0] && place->y >= s->margin[1] &&
                     place->y < g->end[0] - s->margin[1] && place->z >= s->margin[2] &&
                     place->z < g->end[1] - s->margin[2];
    for (int64_t x = place->x; x < place->x + stretch; x++, to += (int64_t)s->slots * LANES) {
        const int64_t row = place->row + x;
        const int64_t k = gsw_index_at(csr->row_ptr, index_type, row) - csr->base;
        const int64_t stop = gsw_index_at(csr->row_ptr, index_type, row + 1) - csr->base;
        if (k < 0 || stop < k || stop > csr->nonzeros)
            return row;
        if (deep && x >= s->margin[0] && x < g->nx - s->margin[0] && stop - k == set->count &&
            stage_full_row(s, set, row, k, value_type, to))
            continue;
        if (!stage_any_row(s, set, place, x, k, stop, index_type, value_type, to))
            return row;
    }
    return -1;
}

/* The same for entries (row + step, row): looks up each one in its row. Returns a row whose
 * pointers lie outside the arrays, or -1. */
static inline __attribute__((always_inline)) int64_t
stage_transposed(const gsw_staging *s, const gsw_tap_set *set, const gsw_place *place,
                 int64_t stretch, double *to, gsw_itype index_type, gsw_dtype value_type) {
    const gsw_csr *csr = &set->matrix->csr;
    const int64_t pitch = (int64_t)s->slots * LANES;
    for (int32_t t = 0; t < set->count; t++) {
        const gsw_tap *tap = &set->tap[t];
        int64_t begin, end;
        if (tap->slot < 0 || !tap_span(s->g, place, stretch, tap->offset, &begin, &end))
            continue;
        for (int64_t x = begin; x < end; x++) {
            const int64_t column = place->row + x, row = column + tap->step;
            int64_t low = gsw_index_at(csr->row_ptr, index_type, row) - csr->base;
            int64_t high = gsw_index_at(csr->row_ptr, index_type, row + 1) - csr->base;
            if (low < 0 || high > csr->nonzeros)
                return row;
            /* where it is in a row that has all couplings, as most rows have */
            const int64_t guess = low + tap->source;
            if (guess < high &&
                gsw_index_at(csr->columns, index_type, guess) - csr->base == column) {
                to[tap->slot * LANES + (x - place->x) * pitch] =
                    gsw_value_at(csr->values, value_type, guess);
                continue;
            }
            while (low < high) {
                const int64_t middle = low + (high - low) / 2;
                const int64_t found = gsw_index_at(csr->columns, index_type, middle) - csr->base;
                if (found == column)
                    to[tap->slot * LANES + (x - place->x) * pitch] =
                        gsw_value_at(csr->values, value_type, middle);
                if (found < column)
                    low = middle + 1;
                else
                    high = middle;
            }
        }
    }
    return -1;
}

static int64_t stage(const gsw_staging *s, const gsw_tap_set *set, const gsw_place *place,
                     int64_t stretch, double *to) {
    const gsw_csr *csr = &set->matrix->csr;
    const gsw_itype index_type = csr->index_type;
    const gsw_dtype value_type = csr->value_type;
    if (index_type == GSW_I32 && value_type == GSW_F64)
        return set->transposed ? stage_transposed(s, set, place, stretch, to, GSW_I32, GSW_F64)
                               : stage_typed(s, set, place, stretch, to, GSW_I32, GSW_F64);
    return set->transposed ? stage_transposed(s, set, place, stretch, to, index_type, value_type)
                           : stage_typed(s, set, place, stretch, to, index_type, value_type);
}

/* Steps between the prefetch of a row pointer and its use. */
enum { ASK_POINTERS = 12 * LANES };

/* Prefetches the entries of the rows that a chain will reach, or of those `step` rows later, and
 * the pointers of rows after them. Chains jump to another plane at the end of their line, and
 * hardware prefetchers lose them there. */
static inline __attribute__((always_inline)) void prefetch_rows(const gsw_chains *g,
                                                                const gsw_csr *csr, gsw_place place,
                                                                int64_t step, int64_t count) {
    const int32_t *row_ptr = csr->row_ptr;
    gsw_place_advance(g, &place, GSW_ROWS_AHEAD);
    if (place.inside && place.row + place.x + step < g->points) {
        const int64_t k = row_ptr[place.row + place.x + step] - csr->base;
        gsw_prefetch_l2((const double *)csr->values + k, (size_t)(LANES * count) * sizeof(double));
        gsw_prefetch_l2((const int32_t *)csr->columns + k,
                        (size_t)(LANES * count) * sizeof(int32_t));
    }
    gsw_place_advance(g, &place, ASK_POINTERS - GSW_ROWS_AHEAD);
    if (place.inside)
        gsw_prefetch_l2(row_ptr + place.row + place.x + step, 1);
}

/* Whether eight rows from `row` on hold every tap, so that their entries are a matrix of 8 x taps.
 * If so, *k is its first entry. Needs int32 indices; the loads stay in the arrays. */
static inline int eight_full_rows(const gsw_staging *s, const gsw_tap_set *set, int64_t row,
                                  int64_t *k) {
    const gsw_csr *csr = &set->matrix->csr;
    const int32_t *row_ptr = (const int32_t *)csr->row_ptr + row;
    const vec_index lengths = *(const vec_index *)(row_ptr + 1) - *(const vec_index *)row_ptr;
    vec_index differ = lengths ^ set->count;
    *k = row_ptr[0] - csr->base;
    if (*k < 0 || *k + 8 * (int64_t)set->count + LANES > csr->nonzeros)
        return 0;
    const int32_t *columns = (const int32_t *)csr->columns + *k;
    const int32_t first = (int32_t)row + csr->base;
    for (int32_t t = 0; t < set->count; t += LANES) {
        const vec_index expected = *(const vec_index *)(s->step + t) + first;
        const vec_index valid = *(const vec_index *)(s->valid + t);
        for (int32_t i = 0; i < LANES; i++)
            differ |= (*(const vec_index *)(columns + i * set->count + t) ^ (expected + i)) & valid;
    }
    return none_set(differ);
}

static int has_squares(const gsw_staging *s, const gsw_tap_set *set) {
    const gsw_csr *csr = &set->matrix->csr;
    return (set == &s->taps[0] || set->transposed) && csr->index_type == GSW_I32 &&
           csr->value_type == GSW_F64;
}

/* Stages eight steps of a transposed set, entry by entry. Returns the bit set of the chains that it
 * staged; the others get zeros. */
static uint8_t stage_transposed_square(const gsw_staging *s, const gsw_tap_set *set,
                                       const gsw_place at[LANES], const int deep[LANES],
                                       double *to) {
    uint8_t done = 0;
    for (int32_t t = 0; t < set->count; t++)
        for (int64_t step = 0; step < LANES && set->tap[t].slot >= 0; step++)
            memset(to + (step * s->slots + set->tap[t].slot) * LANES, 0, LANES * sizeof *to);
    /* No earlier step has read the rows of the farthest tap. */
    for (int l = 0; l < LANES; l++)
        if (at[l].inside)
            prefetch_rows(s->g, &set->matrix->csr, at[l], set->tap[set->count - 1].step,
                          set->count);
    for (int l = 0; l < LANES; l++)
        if (deep[l] && stage_transposed(s, set, &at[l], LANES, to + l, GSW_I32, GSW_F64) < 0)
            done |= (uint8_t)(1 << l);
    return done;
}

/* Stages eight steps for the chains whose rows are full, with one transposed square per
 * step and eight taps. Returns the bit set of the chains that it staged. */
static uint8_t stage_square(const gsw_staging *s, const gsw_tap_set *set, const gsw_place at[LANES],
                            const int deep[LANES], double *to) {
    if (set->transposed)
        return stage_transposed_square(s, set, at, deep, to);
    const gsw_csr *csr = &set->matrix->csr;
    const int64_t count = set->count;
    const double *values[LANES];
    uint8_t full = 0;
    for (int l = 0; l < LANES; l++) {
        int64_t k;
        if (at[l].inside)
            prefetch_rows(s->g, csr, at[l], 0, count);
        if (!deep[l] || !eight_full_rows(s, set, at[l].row + at[l].x, &k))
            continue;
        full |= (uint8_t)(1 << l);
        values[l] = (const double *)csr->values + k;
    }
    for (int64_t step = 0; step < LANES && full; step++, to += (int64_t)s->slots * LANES) {
        for (int64_t t = 0; t < count; t += LANES) {
            const double *from[LANES];
            double *rows[LANES], unused[LANES];
            for (int l = 0; l < LANES; l++) {
                from[l] = full >> l & 1 ? values[l] + step * count + t : zeros;
                rows[l] = t + l < count && set->tap[t + l].slot >= 0
                              ? to + set->tap[t + l].slot * LANES
                              : unused;
            }
            transpose_f64(from, rows);
        }
    }
    return full;
}

const gsw_row_source GSW_ISA_FN(gsw_rows_of_csr) = {
    .couples = couples,
    .spmv = spmv,
    .line = GSW_ISA_FN(gsw_line_csr),
    .diagonal = diagonal,
    .copy = copy,
    .stage = stage,
    .has_squares = has_squares,
    .stage_square = stage_square,
};
