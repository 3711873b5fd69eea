/* grid_csr.h: CSR matrices of grids for tests, built in the slow and obvious way. */
#ifndef GSW_TESTS_GRID_CSR_H
#define GSW_TESTS_GRID_CSR_H

#include "common/csr.h"
#include "keep.h"

typedef struct csr_recipe {
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_part part;
    gsw_itype index_type;
    gsw_dtype value_type;
    int base;
    int missing; /* percentage of couplings left out, never the diagonal */
} csr_recipe;

/* xorshift64*: good enough to choose the entries to leave out. */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static inline gsw_stencil named_stencil(const char *name) {
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named(name, &stencil), GSW_SUCCESS);
    return stencil;
}

static inline void set_index(const void *array, gsw_itype type, int64_t i, int64_t value) {
    gsw_index_put((void *)(uintptr_t)array, type, i, value);
}

static inline double value_of(const gsw_csr *csr, int64_t k) {
    return gsw_value_at(csr->values, csr->value_type, k);
}

/* A value that identifies row and offset and is exact in both precisions. */
static inline double value_for(int64_t row, int e) {
    return (double)(row % 4096) * 128.0 + e;
}

static inline int is_inside(const gsw_grid *g, int64_t x, int64_t y, int64_t z) {
    return x >= 0 && x < g->nx && y >= 0 && y < g->ny && z >= 0 && z < g->nz;
}

/* Values are those of value_for(). Asserts a property that the library
 * relies on: in one row the columns ascend with the stencil's offsets. */
static inline gsw_csr make_csr(const csr_recipe *r, uint64_t seed) {
    const gsw_grid *g = &r->grid;
    int64_t points = g->nx * g->ny * g->nz;
    size_t capacity = (size_t)points * (size_t)r->stencil.count;
    gsw_csr csr = {.rows = points,
                   .row_ptr = keep_bytes(((size_t)points + 1) * 8),
                   .columns = keep_bytes(capacity * 8),
                   .values = keep_bytes(capacity * 8),
                   .index_type = r->index_type,
                   .value_type = r->value_type,
                   .base = r->base};
    set_index(csr.row_ptr, r->index_type, 0, r->base);
    int64_t next = 0;
    for (int64_t row = 0; row < points; row++) {
        int64_t x = row % g->nx, y = row / g->nx % g->ny, z = row / (g->nx * g->ny);
        int64_t begin = next;
        for (int e = 0; e < r->stencil.count; e++) {
            gsw_offset d = r->stencil.offsets[e];
            int64_t column = gsw_grid_row(g, x + d.dx, y + d.dy, z + d.dz);
            int missing = next_random(&seed) % 100 < (uint64_t)r->missing && column != row;
            int in_part =
                (r->part != GSW_UPPER || column >= row) && (r->part != GSW_LOWER || column <= row);
            if (missing || !in_part || !is_inside(g, x + d.dx, y + d.dy, z + d.dz))
                continue;
            int64_t k = next++;
            ck_assert(k == begin ||
                      gsw_index_at(csr.columns, r->index_type, k - 1) < column + r->base);
            set_index(csr.columns, r->index_type, k, column + r->base);
            if (r->value_type == GSW_F64)
                ((double *)csr.values)[k] = value_for(row, e);
            else
                ((float *)csr.values)[k] = (float)value_for(row, e);
        }
        set_index(csr.row_ptr, r->index_type, row + 1, next + r->base);
    }
    csr.nonzeros = next;
    return csr;
}

#endif
