/* arrays.c: rows of stencil arrays, whose values may repeat (see rows.h). Every row fits. */
#include <stdlib.h>
#include <string.h>
#include "common/csr.h"
#include "cpu/core/strip.h"
#include "cpu/rows/rows.h"

#define PART_LANES GSW_LANES_F64
#define VALUE      double
#define SIMD(name) name##_f64
#include "cpu/core/simd.h"
#undef VALUE
#undef SIMD

enum { LANES = GSW_VECTOR_LANES };

static const double zeros[LANES] = {0};

static int couples(const gsw_matrix *matrix, int32_t e) {
    return matrix->array.values[e] != NULL;
}

static int64_t diagonal(const gsw_matrix *matrix, int64_t first, int64_t count, double *to) {
    const void *values = matrix->array.values[matrix->stencil.center];
    const gsw_dtype type = matrix->array.value_type;
    if (values == NULL)
        memset(to, 0, (size_t)count * sizeof *to);
    else if (gsw_repeat_of(matrix) == GSW_REPEAT_NONE && type == GSW_F64)
        memcpy(to, (const double *)values + first, (size_t)count * sizeof *to);
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = gsw_value_at(values, type, gsw_array_at(matrix, first + i));
    return -1;
}

/* Values at..at+count-1 as values row..row+count-1 of another array. */
static void convert(const void *from, gsw_dtype from_type, int64_t at, int64_t count, void *to,
                    gsw_dtype type, int64_t row) {
    const size_t size = gsw_dtype_size(type);
    if (from_type == type)
        memcpy((char *)to + (size_t)row * size, (const char *)from + (size_t)at * size,
               (size_t)count * size);
    else
        for (int64_t i = 0; i < count; i++)
            gsw_value_put(to, type, row + i, gsw_value_at(from, from_type, at + i));
}

/* Entry e of the line (y, z). */
static void copy_line(const gsw_matrix *matrix, gsw_dtype type, int32_t e, int64_t y, int64_t z,
                      void *to) {
    const gsw_grid *g = &matrix->grid;
    const gsw_offset o = matrix->stencil.offsets[e];
    const void *from = matrix->array.values[e];
    const size_t size = gsw_dtype_size(type);
    const int64_t row = gsw_grid_row(g, 0, y, z);
    const int inside = from != NULL && y + o.dy >= 0 && y + o.dy < g->ny && z + o.dz >= 0 &&
                       z + o.dz < g->nz && llabs(o.dx) < g->nx;
    const int64_t first = inside ? (o.dx < 0 ? -o.dx : 0) : g->nx;
    const int64_t last = inside && o.dx > 0 ? g->nx - o.dx : g->nx;
    memset((char *)to + (size_t)row * size, 0, (size_t)first * size);
    memset((char *)to + (size_t)(row + last) * size, 0, (size_t)(g->nx - last) * size);
    if (inside)
        convert(from, matrix->array.value_type, gsw_array_line(matrix, y, z) + first, last - first,
                to, type, row + first);
}

static int64_t copy(int threads, const gsw_matrix *matrix, gsw_dtype type, void *const *arrays) {
    const gsw_grid *g = &matrix->grid;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < g->ny * g->nz; line++)
        for (int32_t e = 0; e < matrix->stencil.count; e++)
            if (arrays[e])
                copy_line(matrix, type, e, line % g->ny, line / g->ny, arrays[e]);
    return -1;
}

/* Whether a coupling leads to ghosts after the own lines whose rows IC(0) needs. */
static inline int is_beyond(const gsw_staging *s, const gsw_tap_set *set, const gsw_place *place,
                            const gsw_tap *tap) {
    return set->transposed && s->after[tap->source] &&
           (place->y + tap->offset.dy >= s->g->end[0] || place->z + tap->offset.dz >= s->g->end[1]);
}

/* Where arrays hold the coefficients of a line. */
static inline int64_t array_line(const gsw_tap_set *set, const gsw_place *place) {
    return gsw_repeat_of(set->matrix) == GSW_REPEAT_NONE
               ? place->row
               : set->steps.y * place->y + set->steps.z * place->z;
}

/* Stages `stretch` points of one line from stencil arrays. */
static int64_t stage(const gsw_staging *s, const gsw_tap_set *set, const gsw_place *place,
                     int64_t stretch, double *to) {
    const gsw_stencil_array *array = &set->matrix->array;
    const int64_t pitch = (int64_t)s->slots * LANES, line = array_line(set, place);
    for (int32_t t = 0; t < set->count; t++) {
        const gsw_tap *tap = &set->tap[t];
        int64_t begin, end;
        if (tap->slot < 0 || !tap_span(s->g, place, stretch, tap->offset, &begin, &end))
            continue;
        const int64_t row = line + tap->shift;
        double *out = to + tap->slot * LANES - place->x * pitch;
        if (is_beyond(s, set, place, tap)) {
            const double *from = s->after[tap->source] + row - s->g->points;
            for (int64_t x = begin; x < end; x++)
                out[x * pitch] = from[x];
        } else if (!array->values[tap->source]) {
            continue;
        } else if (array->value_type == GSW_F32) {
            const float *from = (const float *)array->values[tap->source] + row;
            for (int64_t x = begin; x < end; x++)
                out[x * pitch] = (double)from[x];
        } else {
            const double *from = (const double *)array->values[tap->source] + row;
            for (int64_t x = begin; x < end; x++)
                out[x * pitch] = from[x];
        }
    }
    return -1;
}

static int has_squares(const gsw_staging *s, const gsw_tap_set *set) {
    (void)s;
    return set->matrix->array.value_type == GSW_F64;
}

static uint8_t stage_square(const gsw_staging *s, const gsw_tap_set *set, const gsw_place at[LANES],
                            const int deep[LANES], double *to) {
    const int64_t pitch = (int64_t)s->slots * LANES;
    int64_t row[LANES], ahead[LANES];
    uint8_t done = 0;
    for (int l = 0; l < LANES; l++)
        done |= (uint8_t)(deep[l] << l);
    if (!done)
        return 0;
    for (int l = 0; l < LANES; l++) {
        gsw_place next = at[l];
        gsw_place_advance(s->g, &next, GSW_ROWS_AHEAD);
        row[l] = array_line(set, &at[l]) + at[l].x;
        ahead[l] = next.inside ? array_line(set, &next) + next.x : row[l];
    }
    for (int32_t t = 0; t < set->count; t++) {
        const gsw_tap *tap = &set->tap[t];
        const double *values = set->matrix->array.values[tap->source];
        if (tap->slot < 0 || !values)
            continue;
        const double *from[LANES];
        double *rows[LANES];
        for (int l = 0; l < LANES; l++) {
            from[l] = deep[l] ? values + (row[l] + tap->shift) : zeros;
            rows[l] = to + l * pitch + tap->slot * LANES;
            gsw_prefetch_l2(values + (ahead[l] + tap->shift), 1);
        }
        transpose_f64(from, rows);
    }
    return done;
}

const gsw_row_source GSW_ISA_FN(gsw_rows_of_arrays) = {
    .couples = couples,
    .spmv = GSW_ISA_FN(gsw_spmv_arrays),
    .line = GSW_ISA_FN(gsw_line_arrays),
    .diagonal = diagonal,
    .copy = copy,
    .stage = stage,
    .has_squares = has_squares,
    .stage_square = stage_square,
};
