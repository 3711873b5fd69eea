/* api_world.c: see api_world.h. */
#include "api_world.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void fuzz_check(bool holds) {
    if (!holds)
        abort();
}

int fuzz_byte(world *w) {
    return w->at < w->end ? *w->at++ : 0;
}

int fuzz_below(world *w, int limit) {
    return fuzz_byte(w) % limit;
}

uint64_t fuzz_seed(world *w) {
    uint64_t seed = 1;
    for (int i = 0; i < 4; i++)
        seed = seed << 8 | (uint64_t)fuzz_byte(w);
    return seed;
}

uint64_t fuzz_next(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double fuzz_uniform(uint64_t *state) {
    return (double)(fuzz_next(state) >> 11) * 0x1p-52 - 1;
}

void *fuzz_allocate(size_t bytes) {
    void *memory = malloc(bytes);
    fuzz_check(memory != NULL || bytes == 0);
    return memory;
}

bool fuzz_status(const gsw_context *context, gsw_status status, unsigned allowed) {
    if (status == GSW_SUCCESS)
        return true;
    fuzz_check((unsigned)status <= GSW_ERROR_COMMUNICATION && (allowed & FUZZ_BIT(status)) != 0);
    fuzz_check(context == NULL || gsw_context_message(context)[0] != '\0');
    return false;
}

void *fuzz_struct(world *w, const void *full, size_t size) {
    static const size_t wrong[] = {0, 1, 8, 15, 1 << 20, SIZE_MAX, SIZE_MAX - 7};
    const int shape = fuzz_byte(w);
    size_t given = size, room = size;
    if (shape >= 240)
        return NULL;
    if (shape >= 232) /* longer */
        given = room = size + 8 * (size_t)(shape - 231);
    else if (shape >= 216) /* shorter */
        given = room = (size_t)(shape - 214) * 8 < size ? (size_t)(shape - 214) * 8 : size;
    else if (shape >= 208)
        given = wrong[(size_t)(shape - 208) % (sizeof wrong / sizeof *wrong)];
    char *copy = fuzz_allocate(room);
    memset(copy, 0, room);
    memcpy(copy, full, room < size ? room : size);
    memcpy(copy, &given, sizeof given);
    if (room > size && fuzz_below(w, 4) == 1)
        copy[room - 1] = 1; /* a member of a newer version */
    return copy;
}

/* ---- Grids and stencils --------------------------------------------------------------------- */

static gsw_grid make_grid(world *w) {
    int64_t n[3];
    const int shape = fuzz_byte(w);
    for (int axis = 0; axis < 3; axis++)
        n[axis] = 1 + fuzz_below(w, shape & 8 << axis ? 50 : 6);
    while (n[0] * n[1] * n[2] > MOST_POINTS)
        for (int axis = 0; axis < 3; axis++)
            if (n[0] * n[1] * n[2] > MOST_POINTS)
                n[axis] = (n[axis] + 1) / 2;
    return (gsw_grid){n[0], n[1], n[2]};
}

static bool make_stencil(world *w, gsw_stencil *stencil) {
    gsw_offset offsets[16] = {{0, 0, 0}};
    const int kind = fuzz_below(w, 16), count = 1 + fuzz_below(w, 15);
    const char *name = gsw_stencil_known(kind);
    if (name != NULL)
        return gsw_stencil_named(name, stencil) == GSW_SUCCESS;
    for (int e = 1; e < count; e++) {
        const int a = fuzz_byte(w), b = fuzz_byte(w);
        offsets[e] = (gsw_offset){a % 5 - 2, a / 5 % 5 - 2, a / 25 % 5 - 2};
        if (b >= 240)
            offsets[e].dx = b % 2 ? 1024 - a : a - 1025; /* far, or too far */
        else if (b >= 224)
            offsets[e].dz = b % 16 - 8;
    }
    return gsw_stencil_from_offsets(offsets, count, stencil) == GSW_SUCCESS;
}

/* ---- Values --------------------------------------------------------------------------------- */

enum { DOMINANT, SYMMETRIC, WILD, NO_DIAGONAL, TINY, VALUE_MODES };

static double wild(uint64_t *state) {
    static const double values[] = {0,      -0.0,     1e308, -1e308, 1e-310,
                                    1e-160, INFINITY, NAN,   1e39,   -1};
    const uint64_t which = fuzz_next(state) % 24;
    return which < sizeof values / sizeof *values ? values[which] : fuzz_uniform(state);
}

static double make_value(int mode, bool diagonal, int count, uint64_t *state) {
    const double u = fuzz_uniform(state);
    switch (mode) {
    case SYMMETRIC:
        return diagonal ? count : -1;
    case WILD:
        return wild(state);
    case NO_DIAGONAL:
        return diagonal && fuzz_next(state) % 4 == 0 ? 0 : u;
    case TINY:
        return 1e-300 * (diagonal ? count : u);
    default:
        return diagonal ? count + u : u;
    }
}

static void put_value(void *array, gsw_dtype type, int64_t i, double value) {
    if (type == GSW_F64)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = fabs(value) > 3e38 ? (float)copysign(INFINITY, value) : (float)value;
}

/* ---- Matrices ------------------------------------------------------------------------------- */

void fuzz_free_matrix(world_matrix *matrix) {
    for (int e = 0; e < GSW_STENCIL_MAX; e++)
        free(matrix->arrays[e]);
    *matrix = (world_matrix){0};
}

static void make_arrays(world *w, world_matrix *matrix, int64_t points, gsw_dtype type) {
    const gsw_stencil *stencil = &matrix->view.stencil;
    const int mode = fuzz_below(w, VALUE_MODES), missing = fuzz_byte(w);
    uint64_t state = fuzz_seed(w);
    for (int32_t e = 0; e < stencil->count; e++) {
        if (missing >= 192 && e == missing % stencil->count)
            continue; /* NULL: zeros */
        matrix->arrays[e] = fuzz_allocate((size_t)points * gsw_dtype_size(type));
        matrix->values[e] = matrix->arrays[e];
        for (int64_t i = 0; i < points; i++)
            put_value(matrix->arrays[e], type, i,
                      make_value(mode, e == stencil->center, stencil->count, &state));
    }
    matrix->view.format = GSW_FORMAT_STENCIL;
    matrix->view.array = (gsw_stencil_array){.values = matrix->values, .value_type = type};
}

static int64_t index_at(const gsw_csr *csr, const void *indices, int64_t i) {
    return csr->index_type == GSW_I32 ? ((const int32_t *)indices)[i]
                                      : ((const int64_t *)indices)[i];
}

static void put_index(const gsw_csr *csr, void *indices, int64_t i, int64_t value) {
    if (csr->index_type == GSW_I32)
        ((int32_t *)indices)[i] = (int32_t)value;
    else
        ((int64_t *)indices)[i] = value;
}

static double value_at(const gsw_csr *csr, int64_t k) {
    return csr->value_type == GSW_F64 ? ((const double *)csr->values)[k]
                                      : ((const float *)csr->values)[k];
}

static bool is_sound(const gsw_csr *csr) {
    if (index_at(csr, csr->row_ptr, 0) != csr->base ||
        index_at(csr, csr->row_ptr, csr->rows) != csr->nonzeros + csr->base)
        return false;
    for (int64_t row = 0; row < csr->rows; row++) {
        const int64_t begin = index_at(csr, csr->row_ptr, row) - csr->base;
        const int64_t end = index_at(csr, csr->row_ptr, row + 1) - csr->base;
        int64_t last = csr->base - 1;
        if (begin < 0 || begin > end || end > csr->nonzeros)
            return false;
        for (int64_t k = begin; k < end; k++) {
            const int64_t column = index_at(csr, csr->columns, k);
            if (column <= last || column >= csr->rows + csr->base)
                return false;
            last = column;
        }
    }
    return true;
}

/* Changes a few indices. */
static void spoil(world *w, gsw_csr *csr, void *row_ptr, void *columns) {
    const int changes = fuzz_byte(w);
    for (int change = 0; changes >= 192 && change < changes % 4; change++) {
        const int place = fuzz_byte(w), how = fuzz_below(w, 8);
        const int64_t far[] = {INT32_MAX, INT32_MIN, -1, csr->rows, csr->rows + 1, csr->nonzeros};
        void *indices = place & 1 && csr->nonzeros > 0 ? columns : row_ptr;
        const int64_t length = indices == columns ? csr->nonzeros : csr->rows + 1;
        const int64_t i = place / 2 * 7 % length;
        put_index(csr, indices, i,
                  how < 6 ? far[how] : index_at(csr, indices, i) + (how == 6 ? 1 : -1));
    }
}

/* Makes a CSR of the stencil arrays, in arrays of its own, with some entries left out. */
static void make_csr(world *w, gsw_context *context, world_matrix *matrix) {
    const gsw_itype index_type = (gsw_itype)fuzz_below(w, 2);
    const gsw_dtype type = matrix->view.array.value_type;
    const int part = fuzz_byte(w), dropped = fuzz_byte(w), base = fuzz_below(w, 2);
    const size_t index = gsw_itype_size(index_type);
    uint64_t state = fuzz_seed(w);
    gsw_csr full;
    const gsw_status status = gsw_matrix_to_csr(
        context, &matrix->view, part < 192 ? GSW_FULL : (gsw_part)(part % 2), index_type, &full);
    fuzz_check(status == GSW_SUCCESS);
    void *row_ptr = fuzz_allocate((size_t)(full.rows + 1) * index);
    void *columns = fuzz_allocate((size_t)full.nonzeros * index);
    void *values = fuzz_allocate((size_t)full.nonzeros * gsw_dtype_size(type));
    gsw_csr csr = {full.rows, 0, row_ptr, columns, values, index_type, type, base};
    put_index(&csr, row_ptr, 0, base);
    for (int64_t row = 0; row < full.rows; row++) {
        const int64_t end = index_at(&full, full.row_ptr, row + 1);
        for (int64_t k = index_at(&full, full.row_ptr, row); k < end; k++) {
            if (dropped >= 128 && (int)(fuzz_next(&state) % 512) < dropped - 128)
                continue;
            put_index(&csr, columns, csr.nonzeros, index_at(&full, full.columns, k) + base);
            put_value(values, type, csr.nonzeros++, value_at(&full, k));
        }
        put_index(&csr, row_ptr, row + 1, csr.nonzeros + base);
    }
    spoil(w, &csr, row_ptr, columns);
    gsw_csr_free(&full);
    const gsw_grid grid = matrix->view.grid;
    const gsw_stencil stencil = matrix->view.stencil;
    fuzz_free_matrix(matrix);
    matrix->view = (gsw_matrix){.grid = grid, .stencil = stencil, .csr = csr};
    matrix->arrays[0] = row_ptr;
    matrix->arrays[1] = columns;
    matrix->arrays[2] = values;
    matrix->sound = is_sound(&csr);
}

/* Gives a CSR another stencil than its own, and asks for the view. */
static void finish_csr(world *w, gsw_context *context, world_matrix *matrix) {
    gsw_stencil other;
    const gsw_csr csr = matrix->view.csr;
    const gsw_grid grid = matrix->view.grid;
    if (fuzz_below(w, 8) == 1 && make_stencil(w, &other))
        matrix->view.stencil = other;
    const gsw_stencil stencil = matrix->view.stencil;
    fuzz_check(gsw_matrix_from_csr(context, &grid, &stencil, &csr, &matrix->view) == GSW_SUCCESS);
}

void fuzz_make_matrix(world *w, gsw_context *context, world_matrix *matrix) {
    gsw_stencil stencil;
    int64_t points = 0;
    const gsw_grid grid = make_grid(w);
    const int form = fuzz_byte(w);
    fuzz_free_matrix(matrix);
    if (!make_stencil(w, &stencil))
        return;
    fuzz_check(gsw_grid_points(&grid, &points) == GSW_SUCCESS);
    matrix->view.grid = grid;
    matrix->view.stencil = stencil;
    matrix->sound = true;
    make_arrays(w, matrix, points, (gsw_dtype)(form % 2));
    const gsw_stencil_array array = matrix->view.array;
    fuzz_check(gsw_matrix_from_stencil(context, &grid, &stencil, &array, &matrix->view) ==
               GSW_SUCCESS);
    if (form & 2) {
        make_csr(w, context, matrix);
        finish_csr(w, context, matrix);
    }
    matrix->made = true;
}

void fuzz_copy_matrix(const gsw_matrix *from, world_matrix *matrix) {
    const size_t bytes = (size_t)(from->grid.nx * from->grid.ny * from->grid.nz) * sizeof(double);
    matrix->view = *from;
    matrix->view.active = NULL; /* problems are right without it */
    for (int32_t e = 0; e < from->stencil.count; e++) {
        if (from->array.values[e] == NULL)
            continue;
        matrix->arrays[e] = fuzz_allocate(bytes);
        memcpy(matrix->arrays[e], from->array.values[e], bytes);
        matrix->values[e] = matrix->arrays[e];
    }
    matrix->view.array.values = matrix->values;
    matrix->sound = matrix->made = true;
}

/* ---- Vectors -------------------------------------------------------------------------------- */

static int64_t make_ld(world *w, int64_t points) {
    const int64_t odd[] = {points - 1, 0, -5, INT64_MAX, INT64_MAX / 2, points + 1, points + 2};
    const int which = fuzz_byte(w);
    return which < 192 ? points + which % 2 : odd[which % 7];
}

void fuzz_open_vectors(world *w, int number, int64_t points, gsw_dtype type, bool columns,
                       fuzz_vectors *v) {
    const size_t size = gsw_dtype_size(type);
    /* A shorter struct of options can mean F64. */
    const size_t one = sizeof(double) * (size_t)(MOST_COUNT * (points + 2));
    *v = (fuzz_vectors){.count = 1, .ld = {points, points, points}};
    if (columns) {
        const int count = fuzz_byte(w);
        v->count = count < 128 ? 1 : count < 240 ? count % (MOST_COUNT + 1) : -1;
        for (int i = 0; i < number && count >= 96; i++)
            v->ld[i] = make_ld(w, points);
    }
    /* Even a vector that begins late ends in the memory. */
    v->bytes = one * (size_t)(number + 1) + 128 * sizeof(double);
    v->memory = fuzz_allocate(v->bytes);
    v->before = fuzz_allocate(v->bytes);
    uint64_t state = fuzz_seed(w);
    for (int64_t i = 0; i < (int64_t)(v->bytes / size); i++)
        put_value(v->memory, type, i, fuzz_uniform(&state));
    for (int i = 0; i < number; i++) {
        const int place = fuzz_byte(w);
        char *good = v->memory + (size_t)i * one, *last = i > 0 ? v->vector[i - 1] : NULL;
        v->vector[i] = good;
        if (place >= 248)
            v->vector[i] = NULL;
        else if (place >= 240)
            v->vector[i] = good + place % 8;
        else if (place >= 224 && last != NULL)
            v->vector[i] = last;
        else if (place >= 208 && last != NULL)
            v->vector[i] = last + size * (size_t)(place - 208);
    }
    memcpy(v->before, v->memory, v->bytes);
}

void fuzz_check_refused(const fuzz_vectors *v, gsw_status status) {
    if (status == GSW_ERROR_INVALID_ARGUMENT || status == GSW_ERROR_UNSUPPORTED ||
        status == GSW_ERROR_OVERFLOW)
        fuzz_check(memcmp(v->memory, v->before, v->bytes) == 0);
}

char *fuzz_rewind_vectors(fuzz_vectors *v) {
    char *kept = fuzz_allocate(v->bytes);
    memcpy(kept, v->memory, v->bytes);
    memcpy(v->memory, v->before, v->bytes);
    return kept;
}

void fuzz_check_same(const fuzz_vectors *v, char *kept) {
    fuzz_check(memcmp(v->memory, kept, v->bytes) == 0);
    free(kept);
}

void fuzz_close_vectors(fuzz_vectors *v) {
    free(v->memory);
    free(v->before);
}
