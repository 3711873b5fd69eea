/* mask_systems.h: matrices with masks, in every layout, and their compact systems. What a mask
 * leaves out is NaN in the matrices that the library gets. */
#ifndef GSW_TESTS_MASK_SYSTEMS_H
#define GSW_TESTS_MASK_SYSTEMS_H

#include <stdio.h>

#include "common/csr.h"
#include "context_fixture.h"
#include "compact.h"
#include "multigrid_matrices.h"

/* ---- masks ---- */

/* Active points have any byte that is not 0. */
static inline uint8_t *keep_mask(int64_t points) {
    return keep_bytes((size_t)points);
}

static inline uint8_t *mask_of_share(const gsw_grid *g, double share, uint64_t seed) {
    uint8_t *active = keep_mask(oracle_points(g));
    for (int64_t row = 0; row < oracle_points(g); row++)
        if (hard_random(seed, row, 0, 0) < share)
            active[row] = (uint8_t)(1 + row % 255);
    return active;
}

/* Smooth noise of several lengths, each half of the last. */
static inline double mask_height(uint64_t seed, const int64_t at[3]) {
    double height = 0, weight = 1;
    for (int64_t cell = 32; cell >= 2; cell /= 2, weight /= 2) {
        int64_t low[3];
        double part[3];
        for (int a = 0; a < 3; a++) {
            low[a] = at[a] / cell;
            part[a] = (double)(at[a] % cell) / (double)cell;
        }
        for (int corner = 0; corner < 8; corner++) {
            double share = weight;
            for (int a = 0; a < 3; a++)
                share *= corner >> a & 1 ? part[a] : 1 - part[a];
            height += share * hard_random(seed + (uint64_t)cell, low[0] + (corner & 1),
                                          low[1] + (corner >> 1 & 1), low[2] + (corner >> 2));
        }
    }
    return height;
}

static inline int mask_ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Marks the points that are connected with `row` along the axes; returns their number. */
static inline int64_t mask_flood(const gsw_grid *g, const uint8_t *active, int64_t row,
                                 int32_t mark, int32_t *basin) {
    static const gsw_offset sides[] = {{-1, 0, 0}, {1, 0, 0},  {0, -1, 0},
                                       {0, 1, 0},  {0, 0, -1}, {0, 0, 1}};
    const size_t room = keep_mark();
    int64_t *queue = keep_bytes((size_t)oracle_points(g) * sizeof *queue), count = 0;
    queue[count++] = row;
    basin[row] = mark;
    for (int64_t k = 0; k < count; k++)
        for (int side = 0; side < 6; side++) {
            const int64_t other = hard_neighbour(g, queue[k], sides[side]);
            if (other < 0 || !active[other] || basin[other] != 0)
                continue;
            basin[other] = mark;
            queue[count++] = other;
        }
    keep_release(room);
    return count;
}

/* Makes all points inactive that are not in the largest connected part. */
static inline void mask_keep_main_basin(const gsw_grid *g, uint8_t *active) {
    int32_t *basin = keep_bytes((size_t)oracle_points(g) * sizeof *basin), marks = 0, largest = 0;
    int64_t most = 0;
    for (int64_t row = 0; row < oracle_points(g); row++) {
        if (!active[row] || basin[row] != 0)
            continue;
        const int64_t size = mask_flood(g, active, row, ++marks, basin);
        if (size > most) {
            most = size;
            largest = marks;
        }
    }
    for (int64_t row = 0; row < oracle_points(g); row++)
        if (basin[row] != largest)
            active[row] = 0;
}

/* An ocean: this share of a rough surface is land, and so is what is not of the main basin. */
static inline uint8_t *mask_ocean(const gsw_grid *g, double land, uint64_t seed) {
    const int64_t n = oracle_points(g);
    uint8_t *active = keep_mask(n);
    double *height = keep_zeros(n);
    for (int64_t row = 0; row < n; row++) {
        int64_t at[3];
        hard_place(g, row, at);
        height[row] = mask_height(seed, at);
    }
    double *sorted = keep_copy(height, n);
    qsort(sorted, (size_t)n, sizeof *sorted, mask_ascending);
    const double shore = sorted[(int64_t)(land * (double)(n - 1))];
    for (int64_t row = 0; row < n; row++)
        active[row] = height[row] > shore;
    mask_keep_main_basin(g, active);
    return active;
}

static inline uint8_t *mask_holes(const gsw_grid *g, double land, uint64_t seed) {
    uint8_t *active = mask_of_share(g, 1 - land, seed);
    mask_keep_main_basin(g, active);
    return active;
}

/* ---- layouts ---- */

typedef struct mask_layout {
    const char *name;
    oracle_layout layout;
    int bare;     /* CSR: nothing is stored of inactive rows, nor couplings to them */
    int constant; /* constant coefficients, of each plane where it is 2 */
} mask_layout;

static const mask_layout mask_layouts[] = {
    {"arrays", {GSW_FORMAT_STENCIL, GSW_F64, GSW_I32, 0, GSW_FULL, 0}, 0, 0},
    {"arrays, fp32", {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0}, 0, 0},
    {"csr, int32", {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0}, 0, 0},
    {"csr, int64, base 1, fp32", {GSW_FORMAT_CSR, GSW_F32, GSW_I64, 1, GSW_FULL, 0}, 0, 0},
    {"csr without inactive rows", {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 1, GSW_FULL, 0}, 1, 0},
    {"csr with gaps, int64", {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 0, GSW_FULL, 4}, 0, 0},
    {"constants", {GSW_FORMAT_STENCIL, GSW_F64, GSW_I32, 0, GSW_FULL, 0}, 0, 1},
    {"constants of planes, fp32", {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0}, 0, 2},
};
#define MASK_LAYOUTS LENGTH(mask_layouts)

/* NaN in what the mask leaves out. */
static inline void mask_poison(oracle_matrix *m, const uint8_t *active) {
    const gsw_stencil *s = &m->view.stencil;
    const gsw_csr *csr = &m->view.csr;
    for (int64_t row = 0; row < oracle_points(&m->view.grid); row++) {
        if (m->view.format == GSW_FORMAT_STENCIL) {
            for (int32_t e = 0; e < s->count; e++) {
                const int64_t other = hard_neighbour(&m->view.grid, row, s->offsets[e]);
                if (!active[row] || other < 0 || !active[other])
                    oracle_set(m->view.array.value_type, m->arrays[e], row, NAN);
            }
            continue;
        }
        const int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
        for (int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base; k < end; k++)
            if (!active[row] || !active[gsw_index_at(csr->columns, csr->index_type, k) - csr->base])
                oracle_set(csr->value_type, m->values, k, NAN);
    }
}

/* Takes out of a CSR what the mask leaves out. */
static inline void mask_strip(oracle_matrix *m, const uint8_t *active) {
    gsw_csr *csr = &m->view.csr;
    int64_t next = 0, k = 0;
    for (int64_t row = 0; row < csr->rows; row++) {
        const int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
        for (; k < end; k++) {
            const int64_t column = gsw_index_at(csr->columns, csr->index_type, k);
            if (!active[row] || !active[column - csr->base])
                continue;
            gsw_index_put(m->columns, csr->index_type, next, column);
            oracle_set(csr->value_type, m->values, next++,
                       oracle_get(csr->value_type, m->values, k));
        }
        gsw_index_put(m->row_ptr, csr->index_type, row + 1, next + csr->base);
    }
    csr->nonzeros = next;
}

/* ---- systems ---- */

typedef struct mask_system {
    compact c;
    gsw_dtype type; /* of the values */
    gsw_matrix host, unmasked;
    const gsw_matrix *there; /* a copy of `host` */
    char name[160];
} mask_system;

/* The mask goes up with the matrix. */
static inline void mask_finish(mask_system *s, const gsw_matrix *host, const uint8_t *active) {
    s->host = *host;
    s->host.active = active;
    s->there = keep_there(context, &s->host);
    ck_assert_ptr_nonnull(s->there->active);
    s->unmasked = *s->there;
    s->unmasked.active = NULL;
    s->type = host->format == GSW_FORMAT_CSR ? host->csr.value_type : host->array.value_type;
}

/* Takes a clean matrix of fp64 arrays. */
static inline mask_system mask_system_of(const oracle_matrix *clean, const uint8_t *active,
                                         const mask_layout *layout) {
    mask_system s = {0};
    oracle_matrix *m = keep_converted(clean, &layout->layout);
    s.c = compact_of(&m->view, active);
    if (layout->bare)
        mask_strip(m, active);
    else
        mask_poison(m, active);
    mask_finish(&s, &m->view, active);
    snprintf(s.name, sizeof s.name, "%s, %s", gsw_stencil_name(&m->view.stencil), layout->name);
    return s;
}

static inline mask_system mask_constants(const gsw_grid *g, const gsw_stencil *stencil,
                                         const uint8_t *active, const mask_layout *layout) {
    const int64_t planes = layout->constant == 2 ? g->nz : 1;
    double *values = keep_random(5, stencil->count * planes);
    mask_system s = {0};
    for (int64_t i = 0; i < stencil->count * planes; i++)
        values[i] = i / planes == stencil->center ? 1.5 + values[i] / 4
                                                  : values[i] / (double)stencil->count;
    gsw_matrix *made = malloc(sizeof *made);
    ck_assert_ptr_nonnull(made);
    must(cpu, gsw_matrix_from_constants(cpu, g, stencil, values, planes, layout->layout.value_type,
                                        made));
    keep(KEPT_MATRIX, cpu, made);
    s.c = compact_of(made, active);
    mask_finish(&s, made, active);
    snprintf(s.name, sizeof s.name, "%s, %s", gsw_stencil_name(stencil), layout->name);
    return s;
}

/* Random coefficients of a dominant diagonal. */
static inline mask_system mask_random(const gsw_grid *g, const gsw_stencil *stencil,
                                      const uint8_t *active, const mask_layout *layout) {
    return layout->constant
               ? mask_constants(g, stencil, active, layout)
               : mask_system_of(keep_matrix_of(g, stencil, 3, ORACLE_POSITIVE), active, layout);
}

/* A flow between active points, with faces of conductivity 1/2 to 3/2 and none at the coast. */
typedef struct mask_flow {
    double shift;        /* added to each diagonal */
    double wind;         /* along each axis, to higher points */
    double sign;         /* of all coefficients */
    const char *stencil; /* NULL: that of the neighbours along the axes */
} mask_flow;

static inline mask_system mask_flow_system(const gsw_grid *g, const uint8_t *active,
                                           const mask_flow *flow, const mask_layout *layout) {
    const gsw_matrix like = {.grid = *g,
                             .stencil = *oracle_stencil_named(flow->stencil != NULL ? flow->stencil
                                                              : g->nz == 1          ? "D2N5"
                                                                                    : "D3N7")};
    oracle_matrix *m = keep(KEPT_ORACLE, NULL, oracle_zeros(&like, GSW_F64));
    const gsw_stencil *s = &m->view.stencil;
    double *diagonal = m->arrays[s->center];
    for (int64_t row = 0; row < oracle_points(g); row++) {
        diagonal[row] += flow->sign * flow->shift;
        for (int32_t e = 0; e < s->count; e++) {
            const int64_t other = hard_neighbour(g, row, s->offsets[e]);
            if (e == s->center || other < 0 || !active[row] || !active[other])
                continue;
            const int64_t low = row < other ? row : other,
                          step = row < other ? other - row : row - other;
            const double k = flow->sign * (0.5 + hard_random(17, low, step, 0) +
                                           (e < s->center ? flow->wind : 0));
            ((double *)m->arrays[e])[row] = -k;
            diagonal[row] += k;
        }
    }
    return mask_system_of(m, active, layout);
}

static inline const mask_layout *mask_arrays(void) {
    return &mask_layouts[0];
}

/* ---- vectors ---- */

/* A vector of all points on the backend: NaN at inactive ones. */
static inline device_vector mask_put(const compact *c, gsw_dtype type, const double *v) {
    const size_t mark = keep_mark();
    device_vector there = device_vector_make(context, type, c->points);
    device_put(context, &there, compact_spread(c, type, v, NAN));
    keep_release(mark);
    keep(KEPT_THERE, context, there.memory);
    return there;
}

static inline void *mask_get(const device_vector *v) {
    void *host = keep_bytes((size_t)v->count * gsw_dtype_size(v->type));
    device_get(context, v, host);
    return host;
}

static inline void mask_expect(const mask_system *s, const device_vector *v, const double *expected,
                               double tolerance, const char *what) {
    char text[256];
    const size_t mark = keep_mark();
    snprintf(text, sizeof text, "%s: %s", s->name, what);
    compact_check(&s->c, v->type, mask_get(v), expected, tolerance, text);
    keep_release(mark);
}

#endif
