/* oracle.c: see oracle.h. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/reference.h"
#include "common/csr.h"
#include "common/stencils.h"
#include "oracle.h"

static const gsw_grid grids[] = {
    {1, 1, 1},  {17, 1, 1},  {1, 19, 1}, {1, 1, 13}, {5, 1, 7},   {1, 6, 5},
    {8, 9, 1},  {37, 29, 1}, {2, 2, 2},  {3, 4, 3},  {7, 11, 5},  {13, 17, 3},
    {16, 8, 8}, {40, 9, 6},  {9, 40, 5}, {5, 6, 40}, {131, 3, 2}, {33, 21, 11},
};

int oracle_grid_count(void) {
    return (int)(sizeof grids / sizeof grids[0]);
}

gsw_grid oracle_grid(int i) {
    return grids[i];
}

gsw_grid oracle_short_grid(int i) {
    static const gsw_grid others[] = {{0, 41, 1}, {0, 7, 5}, {0, 3, 13}};
    return (gsw_grid){2 + i / 3, others[i % 3].ny, others[i % 3].nz};
}

int64_t oracle_points(const gsw_grid *grid) {
    return grid->nx * grid->ny * grid->nz;
}

static const gsw_offset asymmetric[] = {
    {0, 0, 0},  {-1, 0, 0}, {2, 0, 0},   {0, -1, 0}, {2, -1, 0},
    {1, 2, -1}, {0, 0, 1},  {-2, -1, 1}, {1, -2, 0},
};
static const gsw_offset slanted[] = {
    {0, 0, 0},  {-1, 0, 0}, {1, 0, 0},   {0, -1, 0}, {0, 1, 0},
    {0, 0, -2}, {0, 0, 2},  {-3, 1, -1}, {3, -1, 1},
};
static const gsw_offset along_x[] = {{0, 0, 0}, {-1, 0, 0}, {-4, 0, 0}, {3, 0, 0}, {1, 0, 0}};
static const gsw_offset centre[] = {{0, 0, 0}};

static const struct {
    const char *name;
    const gsw_offset *offsets;
    int32_t count;
} customs[] = {
    {"asymmetric", asymmetric, sizeof asymmetric / sizeof asymmetric[0]},
    {"slanted", slanted, sizeof slanted / sizeof slanted[0]},
    {"along x", along_x, sizeof along_x / sizeof along_x[0]},
    {"centre", centre, 1},
};

#define CUSTOMS ((int)(sizeof customs / sizeof customs[0]))

static void stop(const char *what) {
    fprintf(stderr, "tests/oracle.c: %s\n", what);
    abort();
}

static void *allocate(int64_t count, size_t size) {
    void *memory = calloc((size_t)count + 1, size);
    if (memory == NULL)
        stop("out of memory");
    return memory;
}

int oracle_stencil_count(void) {
    return GSW_NAMED_COUNT + CUSTOMS;
}

const gsw_stencil *oracle_stencil(int i, const char **name) {
    static gsw_stencil made[GSW_NAMED_COUNT + CUSTOMS];
    gsw_status status = GSW_SUCCESS;
    if (made[i].count == 0)
        status = i < GSW_NAMED_COUNT
                     ? gsw_stencil_named(gsw_stencil_known(i), &made[i])
                     : gsw_stencil_from_offsets(customs[i - GSW_NAMED_COUNT].offsets,
                                                customs[i - GSW_NAMED_COUNT].count, &made[i]);
    if (status != GSW_SUCCESS)
        stop("a stencil was refused");
    if (name != NULL)
        *name = i < GSW_NAMED_COUNT ? gsw_stencil_known(i) : customs[i - GSW_NAMED_COUNT].name;
    return &made[i];
}

const gsw_stencil *oracle_stencil_named(const char *name) {
    for (int i = 0; i < oracle_stencil_count(); i++) {
        const char *known;
        const gsw_stencil *stencil = oracle_stencil(i, &known);
        if (strcmp(known, name) == 0)
            return stencil;
    }
    stop("no such stencil");
    return NULL;
}

/* ---- vectors ---- */

double oracle_get(gsw_dtype type, const void *values, int64_t i) {
    return gsw_value_at(values, type, i);
}

void oracle_set(gsw_dtype type, void *values, int64_t i, double value) {
    gsw_value_put(values, type, i, value);
}

void oracle_fill(gsw_dtype type, void *values, int64_t count, double value) {
    for (int64_t i = 0; i < count; i++)
        oracle_set(type, values, i, value);
}

void *oracle_vector(gsw_dtype type, uint64_t seed, int64_t count) {
    double *random = allocate(count, sizeof *random);
    void *values = allocate(count, gsw_dtype_size(type));
    gsw_random_vector(seed, count, random);
    for (int64_t i = 0; i < count; i++)
        oracle_set(type, values, i, random[i]);
    free(random);
    return values;
}

void *oracle_copy(gsw_dtype type, const void *values, int64_t count) {
    void *copy = allocate(count, gsw_dtype_size(type));
    memcpy(copy, values, (size_t)count * gsw_dtype_size(type));
    return copy;
}

double oracle_error(gsw_dtype type, int64_t count, const void *x, const void *y) {
    double largest = type == GSW_F64 ? DBL_MIN : (double)FLT_MIN, difference = 0;
    for (int64_t i = 0; i < count; i++) {
        const double a = oracle_get(type, x, i), b = oracle_get(type, y, i);
        if (isnan(a) != isnan(b) || ((isinf(a) || isinf(b)) && !isnan(a) && a != b))
            return INFINITY;
        if (isnan(a) || isinf(a))
            continue;
        largest = fmax(largest, fabs(b));
        difference = fmax(difference, fabs(a - b));
    }
    return difference == 0 ? 0 : difference / largest;
}

double oracle_tolerance(gsw_dtype type) {
    return type == GSW_F64 ? 1e-13 : 1e-5;
}

/* ---- matrices ---- */

static void set_arrays(oracle_matrix *matrix, gsw_dtype type) {
    matrix->view.format = GSW_FORMAT_STENCIL;
    matrix->view.array.value_type = type;
    matrix->view.array.values = (const void *const *)matrix->arrays;
}

oracle_matrix *oracle_random(const gsw_grid *grid, const gsw_stencil *stencil, uint64_t seed,
                             oracle_diagonal diagonal) {
    const int64_t points = oracle_points(grid);
    oracle_matrix *matrix =
        oracle_zeros(&(gsw_matrix){.grid = *grid, .stencil = *stencil}, GSW_F64);
    for (int32_t e = 0; e < stencil->count; e++) {
        double *values = matrix->arrays[e];
        gsw_random_vector(1000 * seed + (uint64_t)e, points, values);
        for (int64_t i = 0; i < points; i++) {
            if (e != stencil->center)
                values[i] /= stencil->count;
            else if (diagonal == ORACLE_POSITIVE || values[i] > 0)
                values[i] = 1 + fabs(values[i]);
            else
                values[i] -= 1;
            if (gsw_reference_neighbour(grid, i, stencil->offsets[e], 1) < 0)
                values[i] = NAN;
        }
    }
    return matrix;
}

oracle_matrix *oracle_zeros(const gsw_matrix *like, gsw_dtype type) {
    oracle_matrix *matrix = allocate(1, sizeof *matrix);
    matrix->view.grid = like->grid;
    matrix->view.stencil = like->stencil;
    set_arrays(matrix, type);
    for (int32_t e = 0; e < like->stencil.count; e++)
        matrix->arrays[e] = allocate(oracle_points(&like->grid), gsw_dtype_size(type));
    return matrix;
}

static oracle_matrix *convert_arrays(const oracle_matrix *matrix, gsw_dtype type) {
    oracle_matrix *copy = oracle_zeros(&matrix->view, type);
    for (int32_t e = 0; e < matrix->view.stencil.count; e++)
        for (int64_t i = 0; i < oracle_points(&matrix->view.grid); i++)
            oracle_set(type, copy->arrays[e], i, ((const double *)matrix->arrays[e])[i]);
    return copy;
}

/* Whether the layout stores the coupling of a row at offset e. */
static int stores(const oracle_layout *layout, const gsw_stencil *stencil, int64_t row, int32_t e) {
    if (layout->part == GSW_LOWER && e > stencil->center)
        return 0;
    if (layout->part == GSW_UPPER && e < stencil->center)
        return 0;
    if (layout->missing == 0 || e == stencil->center)
        return 1;
    const uint64_t hash = ((uint64_t)row * 131 + (uint64_t)e) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash >> 33) % (uint64_t)layout->missing != 0;
}

static oracle_matrix *convert_csr(const oracle_matrix *matrix, const oracle_layout *layout) {
    const gsw_stencil *stencil = &matrix->view.stencil;
    const gsw_grid *grid = &matrix->view.grid;
    const int64_t points = oracle_points(grid);
    const gsw_itype type = layout->index_type;
    oracle_matrix *copy = allocate(1, sizeof *copy);
    copy->row_ptr = allocate(points + 1, gsw_itype_size(type));
    copy->columns = allocate(points * stencil->count, gsw_itype_size(type));
    copy->values = allocate(points * stencil->count, gsw_dtype_size(layout->value_type));

    int64_t p = 0;
    for (int64_t i = 0; i < points; i++) {
        gsw_index_put(copy->row_ptr, type, i, p + layout->base);
        for (int32_t e = 0; e < stencil->count; e++) {
            const int64_t column = gsw_reference_neighbour(grid, i, stencil->offsets[e], 1);
            if (column < 0 || !stores(layout, stencil, i, e))
                continue;
            gsw_index_put(copy->columns, type, p, column + layout->base);
            oracle_set(layout->value_type, copy->values, p, ((const double *)matrix->arrays[e])[i]);
            p++;
        }
    }
    gsw_index_put(copy->row_ptr, type, points, p + layout->base);
    copy->view.grid = *grid;
    copy->view.stencil = *stencil;
    copy->view.format = GSW_FORMAT_CSR;
    copy->view.csr = (gsw_csr){.rows = points,
                               .nonzeros = p,
                               .row_ptr = copy->row_ptr,
                               .columns = copy->columns,
                               .values = copy->values,
                               .index_type = type,
                               .value_type = layout->value_type,
                               .base = layout->base};
    return copy;
}

oracle_matrix *oracle_convert(const oracle_matrix *matrix, const oracle_layout *layout) {
    if (layout->format == GSW_FORMAT_STENCIL)
        return convert_arrays(matrix, layout->value_type);
    return convert_csr(matrix, layout);
}

/* The coupling of a cell to its neighbour along an axis, or to the edge. */
static double coupling_of(const int64_t at[3], int axis, int sign, int64_t n, double ratio) {
    const double width = pow(ratio, (double)at[axis]);
    const int outside = at[axis] + sign < 0 || at[axis] + sign >= n;
    double area = 1;
    for (int a = 0; a < 3; a++)
        area *= a != axis ? pow(ratio, (double)at[a]) : 1;
    return area / (outside ? width / 2 : (width + width * pow(ratio, sign)) / 2);
}

oracle_matrix *oracle_stretched(int64_t n, double ratio) {
    const gsw_grid g = {n, n, n};
    oracle_matrix *matrix = oracle_random(&g, oracle_stencil_named("D3N7"), 1, ORACLE_POSITIVE);
    const gsw_stencil *stencil = &matrix->view.stencil;
    for (int64_t row = 0; row < n * n * n; row++) {
        const int64_t at[3] = {row % n, row / n % n, row / n / n};
        double sum = 0;
        for (int32_t e = 0; e < stencil->count; e++) {
            const gsw_offset o = stencil->offsets[e];
            const int axis = o.dx != 0 ? 0 : o.dy != 0 ? 1 : 2, sign = o.dx + o.dy + o.dz;
            const int inside = at[axis] + sign >= 0 && at[axis] + sign < n;
            if (e == stencil->center)
                continue;
            const double k = coupling_of(at, axis, sign, n, ratio);
            ((double *)matrix->arrays[e])[row] = inside ? -k : 0;
            sum += k;
        }
        ((double *)matrix->arrays[stencil->center])[row] = sum;
    }
    return matrix;
}

void oracle_free(oracle_matrix *matrix) {
    if (matrix == NULL)
        return;
    for (int32_t e = 0; e < GSW_STENCIL_MAX; e++)
        free(matrix->arrays[e]);
    free(matrix->row_ptr);
    free(matrix->columns);
    free(matrix->values);
    free(matrix);
}

gsw_context *oracle_context_of(gsw_backend backend, int threads) {
    const gsw_context_options options = {
        .size = sizeof options, .backend = backend, .threads = threads};
    gsw_context *context = NULL;
    if (gsw_context_create(&options, &context) != GSW_SUCCESS)
        stop("no context in host memory");
    return context;
}

gsw_context *oracle_context(int threads) {
    return oracle_context_of(GSW_BACKEND_CPU, threads);
}
