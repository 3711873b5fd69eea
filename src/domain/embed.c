/* embed.c: matrices whose rows are some points of a grid, and the map from rows to points.
 *
 * A coupling is found by the distance of its two points in natural order, which has one meaning at
 * a point: the offset that stays inside the grid. Coordinates are compared only where the distance
 * is new. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/embed.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "common/csr.h"
#include "contract/error.h"
#include "contract/row.h"
#include "common/stencils.h"
#include "geometry/stencil_facts.h"
#include "wrapped.h"

/* The longest component of an offset where rows may be in a wrong order: that of the named
 * stencils. */
#define NATURAL_REACH 2

/* Coordinates are one plane where they differ by this part of the axis's span, or of the largest
 * coordinate: where an axis has one plane, its span is rounding. Points of a grid per row at most.
 */
#define SAME_PLANE     1e-6
#define ROUNDING       1e-9
#define POINTS_PER_ROW 16

struct gsw_embedding {
    gsw_context *context;
    gsw_grid grid;
    int64_t rows, count; /* count: of the points */
    int reach;           /* of stencils that are found */
    uint8_t *active;     /* zeros and ones; NULL: each point has a row */
    int64_t *points;     /* in the context's memory, as `active` */
    int64_t *copy;       /* of points on the host; NULL: not needed so far */
};

/* ---- From a mask, and from coordinates ---- */

static gsw_status new_embedding(gsw_context *context, int64_t rows, gsw_embedding **embedding) {
    void *made;
    GSW_TRY(gsw_alloc(context, 1, sizeof **embedding, "an embedding", &made));
    *embedding = made;
    **embedding = (gsw_embedding){.context = context, .rows = rows};
    return GSW_SUCCESS;
}

static gsw_status take_mask(gsw_embedding *embedding, const uint8_t *active) {
    gsw_context *context = embedding->context;
    const gsw_mask_ops *ops = context->ops->mask;
    const int64_t count = embedding->count;
    void *mask, *points;
    GSW_TRY(context->ops->memory->check_place(context, "active", active));
    GSW_TRY(ops->list(context, count, active, NULL, &embedding->rows));
    GSW_REQUIRE(context, embedding->rows > 0, "active: none of the %lld points is active",
                (long long)count);
    GSW_TRY(gsw_memory_alloc(context, (size_t)embedding->rows * sizeof(int64_t), &points));
    embedding->points = points;
    GSW_TRY(ops->list(context, count, active, embedding->points, &embedding->rows));
    if (embedding->rows == count)
        return GSW_SUCCESS;
    GSW_TRY(gsw_memory_alloc(context, (size_t)count, &mask));
    embedding->active = mask;
    return ops->take(context, count, active, embedding->active);
}

gsw_status gsw_embedding_create(gsw_context *context, const gsw_grid *grid, const uint8_t *active,
                                gsw_embedding **embedding) {
    gsw_embedding *made;
    int64_t points;
    GSW_REQUIRE(context, embedding, "embedding must not be NULL");
    *embedding = NULL;
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_TRY(gsw_grid_check(context, grid, &points));
    GSW_REQUIRE(context, active, "active must not be NULL");
    GSW_TRY(new_embedding(context, 0, &made));
    made->grid = *grid;
    made->count = points;
    made->reach = NATURAL_REACH;
    const gsw_status status = take_mask(made, active);
    if (status == GSW_SUCCESS)
        *embedding = made;
    else
        gsw_embedding_destroy(made);
    return status;
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts values, and leaves the first one of each plane. Returns the number of planes, which are
 * farther apart than `least`. */
static int64_t find_planes(int64_t rows, double least, double *values) {
    qsort(values, (size_t)rows, sizeof *values, compare);
    least = fmax(least, SAME_PLANE * (values[rows - 1] - values[0]));
    int64_t count = 1;
    for (int64_t i = 1; i < rows; i++)
        if (values[i] - values[count - 1] > least)
            values[count++] = values[i];
    return count;
}

static int64_t plane_of(const double *planes, int64_t count, double value) {
    int64_t low = 0, high = count;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (planes[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Finds the planes along all axes, and the number of the point of each row. */
static gsw_status place_rows(gsw_embedding *made, int axes, const double *coordinates,
                             double *values, int64_t *points) {
    const int64_t rows = made->rows;
    int64_t count[3] = {1, 1, 1}, step = 1;
    double all = 1, largest = 0;
    for (int64_t i = 0; i < axes * rows; i++)
        largest = fmax(largest, fabs(coordinates[i]));
    memset(points, 0, (size_t)rows * sizeof *points);
    for (int axis = 0; axis < axes; axis++) {
        for (int64_t i = 0; i < rows; i++)
            values[i] = coordinates[axes * i + axis];
        count[axis] = find_planes(rows, ROUNDING * largest, values);
        all *= (double)count[axis];
        for (int64_t i = 0; i < rows && all <= POINTS_PER_ROW * (double)rows; i++)
            points[i] += step * plane_of(values, count[axis], coordinates[axes * i + axis]);
        step *= all <= POINTS_PER_ROW * (double)rows ? count[axis] : 1;
    }
    if (all > POINTS_PER_ROW * (double)rows)
        return gsw_fail(made->context, GSW_ERROR_NOT_A_GRID,
                        "coordinates: %lld, %lld and %lld different values along x, y and z make "
                        "%.0f points for %lld rows; these are on no regular grid",
                        (long long)count[0], (long long)count[1], (long long)count[2], all,
                        (long long)rows);
    made->grid = (gsw_grid){.nx = count[0], .ny = count[1], .nz = count[2]};
    return gsw_grid_check(made->context, &made->grid, &made->count);
}

/* Marks the point of each row; refuses two rows at one point. */
static gsw_status mark_points(const gsw_embedding *made, const int64_t *points, uint8_t *active) {
    char text[2][GSW_ROW_TEXT];
    memset(active, 0, (size_t)made->count);
    for (int64_t i = 0; i < made->rows; i++) {
        int64_t other = 0;
        if (!active[points[i]]++)
            continue;
        while (points[other] != points[i])
            other++;
        return gsw_fail(made->context, GSW_ERROR_NOT_A_GRID,
                        "coordinates: rows %s and %s are at one point",
                        gsw_row_text(made->context, 0, NULL, other, text[0]),
                        gsw_row_text(made->context, 0, NULL, i, text[1]));
    }
    return GSW_SUCCESS;
}

static gsw_status keep(gsw_context *context, const void *host, size_t bytes, void **kept) {
    GSW_TRY(gsw_memory_alloc(context, bytes, kept));
    return gsw_memory_upload(context, *kept, host, bytes);
}

static gsw_status take_coordinates(gsw_embedding *made, int axes, const double *coordinates) {
    gsw_context *context = made->context;
    void *values = NULL, *points = NULL, *active = NULL, *kept = NULL;
    gsw_status status;
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)made->rows, sizeof(double), "coordinates", &values),
                 cleanup);
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)made->rows, sizeof(int64_t), "the points of rows", &points),
        cleanup);
    GSW_TRY_GOTO(place_rows(made, axes, coordinates, values, points), cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, (size_t)made->count, 1, "a mask", &active), cleanup);
    GSW_TRY_GOTO(mark_points(made, points, active), cleanup);
    status = keep(context, points, (size_t)made->rows * sizeof(int64_t), &kept);
    made->points = kept;
    if (status == GSW_SUCCESS && made->rows < made->count) {
        status = keep(context, active, (size_t)made->count, &kept);
        made->active = kept;
    }
cleanup:
    free(active);
    free(points);
    free(values);
    return status;
}

gsw_status gsw_embedding_create_from_coordinates(gsw_context *context, int64_t rows, int axes,
                                                 const double *coordinates,
                                                 gsw_embedding **embedding) {
    gsw_embedding *made;
    char text[GSW_ROW_TEXT];
    GSW_REQUIRE(context, embedding, "embedding must not be NULL");
    *embedding = NULL;
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_REQUIRE(context, rows >= 1 && rows <= INT64_MAX / 64,
                "coordinates: there are %lld rows, not 1 or more", (long long)rows);
    GSW_REQUIRE(context, axes >= 1 && axes <= 3, "axes must be 1, 2 or 3, not %d", axes);
    GSW_REQUIRE(context, coordinates, "coordinates must not be NULL");
    for (int64_t i = 0; i < axes * rows; i++)
        GSW_REQUIRE(context, isfinite(coordinates[i]), "coordinates: row %s has one that is %g",
                    gsw_row_text(context, 0, NULL, i / axes, text), coordinates[i]);
    GSW_TRY(new_embedding(context, rows, &made));
    made->reach = GSW_OFFSET_MAX;
    const gsw_status status = take_coordinates(made, axes, coordinates);
    if (status == GSW_SUCCESS)
        *embedding = made;
    else
        gsw_embedding_destroy(made);
    return status;
}

void gsw_embedding_destroy(gsw_embedding *embedding) {
    if (embedding == NULL)
        return;
    gsw_memory_free(embedding->context, embedding->active);
    gsw_memory_free(embedding->context, embedding->points);
    free(embedding->copy);
    free(embedding);
}

int64_t gsw_embedding_rows(const gsw_embedding *embedding) {
    return embedding != NULL ? embedding->rows : 0;
}

const int64_t *gsw_embedding_points(const gsw_embedding *embedding) {
    return embedding != NULL ? embedding->points : NULL;
}

/* ---- Matrices ---- */

/* The offsets that have occurred, or those of a stencil in its order. */
typedef struct offset_set {
    int32_t count;
    int fixed; /* no other offset may occur */
    gsw_offset offset[GSW_STENCIL_MAX];
    int64_t distance[GSW_STENCIL_MAX]; /* in natural order */
} offset_set;

typedef struct grid_point {
    int64_t number, at[3];
} grid_point;

static grid_point point_of(const gsw_grid *g, int64_t number) {
    const int64_t line = number / g->nx;
    return (grid_point){number, {number % g->nx, line % g->ny, line / g->ny}};
}

static void add_offset(offset_set *set, const gsw_grid *g, gsw_offset o) {
    set->offset[set->count] = o;
    set->distance[set->count++] = o.dx + g->nx * (o.dy + g->ny * o.dz);
}

static void take_offsets(offset_set *set, const gsw_grid *g, const gsw_stencil *stencil) {
    set->count = 0;
    set->fixed = stencil != NULL;
    for (int32_t e = 0; stencil != NULL && e < stencil->count; e++)
        add_offset(set, g, stencil->offsets[e]);
    if (stencil == NULL)
        add_offset(set, g, (gsw_offset){0, 0, 0});
}

/* Whether an offset leads from a point over a distance. */
static inline int leads_there(const offset_set *set, int32_t e, const gsw_grid *g,
                              const grid_point *p, int64_t distance) {
    const gsw_offset o = set->offset[e];
    int64_t to[3] = {p->at[0] + o.dx, p->at[1] + o.dy, p->at[2] + o.dz};
    if (g->periodic)
        return gsw_grid_take_in(g, to) &&
               gsw_grid_row(g, to[0], to[1], to[2]) == p->number + distance;
    return set->distance[e] == distance && to[0] >= 0 && to[0] < g->nx && to[1] >= 0 &&
           to[1] < g->ny;
}

/* The offset that does so, looked for from number `from` on; -1: it is not in the set. */
static inline int32_t find_offset(const offset_set *set, const gsw_grid *g, const grid_point *p,
                                  int64_t distance, int32_t from) {
    for (int32_t k = 0, e = from; k < set->count; k++, e++) {
        e = e < set->count ? e : 0;
        if (leads_there(set, e, g, p, distance))
            return e;
    }
    return -1;
}

/* Adds the offset between the points of a row and a column, or refuses the coupling. */
static gsw_status meet_offset(const gsw_embedding *embedding, const gsw_csr *csr, offset_set *set,
                              int64_t row, int64_t column) {
    gsw_context *context = embedding->context;
    const gsw_grid *g = &embedding->grid;
    const grid_point p = point_of(g, embedding->copy[row]),
                     q = point_of(g, embedding->copy[column]);
    int64_t d[3] = {q.at[0] - p.at[0], q.at[1] - p.at[1], q.at[2] - p.at[2]};
    const char *why =
        set->fixed ? "which the stencil does not hold"
        : embedding->reach > NATURAL_REACH
            ? "and the stencil would be too large; the coordinates seem to be those of other rows"
            : "too far where no stencil is given; the rows must be the active points in natural "
              "order (x fastest)";
    int fits = !set->fixed && set->count < GSW_STENCIL_MAX;
    char text[GSW_ROW_TEXT];
    (void)gsw_offset_shorten(g, d);
    for (int axis = 0; axis < 3; axis++)
        fits = fits && llabs(d[axis]) <= embedding->reach;
    if (!fits)
        return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                        "row %s, column %lld: on the %lld x %lld x %lld grid they are (%lld, %lld, "
                        "%lld) points apart, %s",
                        gsw_row_text(context, csr->base, NULL, row, text),
                        (long long)column + gsw_row_base(context, csr->base), (long long)g->nx,
                        (long long)g->ny, (long long)g->nz, (long long)d[0], (long long)d[1],
                        (long long)d[2], why);
    add_offset(set, g, (gsw_offset){(int32_t)d[0], (int32_t)d[1], (int32_t)d[2]});
    return GSW_SUCCESS;
}

/* Checks all rows and collects their offsets, or, where `arrays` is not NULL, writes their values
 * to arrays on the host, one for each offset of the set. */
static gsw_status read_rows(const gsw_embedding *embedding, const gsw_csr *csr, offset_set *set,
                            void *const *arrays) {
    const int64_t *points = embedding->copy;
    int64_t begin = 0, end;
    for (int64_t row = 0; row < csr->rows; row++, begin = end) {
        if (!gsw_csr_row_end(csr, csr->index_type, row, begin, &end))
            return gsw_csr_refuse_row(embedding->context, csr, row, begin);
        const grid_point p = point_of(&embedding->grid, points[row]);
        int64_t previous = -1;
        int32_t e = -1;
        for (int64_t k = begin; k < end; k++) {
            const int64_t column = gsw_index_at(csr->columns, csr->index_type, k) - csr->base;
            if (column <= previous || column >= csr->rows)
                return gsw_csr_refuse_row(embedding->context, csr, row, begin);
            previous = column;
            e = find_offset(set, &embedding->grid, &p, points[column] - p.number, e + 1);
            if (e < 0 && !gsw_csr_is_zero(csr, k))
                GSW_TRY(meet_offset(embedding, csr, set, row, column));
            else if (e >= 0 && arrays != NULL)
                gsw_value_put(arrays[e], csr->value_type, p.number,
                              gsw_value_at(csr->values, csr->value_type, k));
        }
    }
    return GSW_SUCCESS;
}

/* The smallest named stencil with all offsets of a set, else these offsets. */
static gsw_status choose_stencil(const offset_set *set, gsw_stencil *stencil) {
    int32_t least = INT32_MAX;
    for (int n = 0; n < GSW_NAMED_COUNT; n++) {
        gsw_stencil named;
        int32_t e = 0;
        GSW_TRY(gsw_stencil_named(gsw_named_stencils[n].name, &named));
        while (e < set->count && gsw_stencil_find(&named, set->offset[e]) >= 0)
            e++;
        if (e < set->count || named.count >= least)
            continue;
        least = named.count;
        *stencil = named;
    }
    return least < INT32_MAX ? GSW_SUCCESS
                             : gsw_stencil_from_offsets(set->offset, set->count, stencil);
}

/* New arrays on the host with the values of a CSR; rows of inactive points are those of the
 * identity. free() arrays[0]. */
static gsw_status stage(const gsw_embedding *embedding, const gsw_csr *csr,
                        const gsw_stencil *stencil, void **arrays) {
    const size_t bytes = (size_t)embedding->count * gsw_dtype_size(csr->value_type);
    offset_set set;
    GSW_TRY(
        gsw_alloc(embedding->context, (size_t)stencil->count, bytes, "stencil arrays", &arrays[0]));
    memset(arrays[0], 0, (size_t)stencil->count * bytes);
    for (int32_t e = 1; e < stencil->count; e++)
        arrays[e] = (char *)arrays[0] + (size_t)e * bytes;
    for (int64_t i = 0; i < embedding->count; i++)
        gsw_value_put(arrays[stencil->center], csr->value_type, i, 1);
    for (int64_t row = 0; row < csr->rows; row++)
        gsw_value_put(arrays[stencil->center], csr->value_type, embedding->copy[row], 0);
    take_offsets(&set, &embedding->grid, stencil);
    const gsw_status status = read_rows(embedding, csr, &set, arrays);
    if (status != GSW_SUCCESS)
        free(arrays[0]);
    return status;
}

/* Checks the CSR, and brings the points to the host. */
static gsw_status begin(gsw_context *context, const gsw_csr *csr, gsw_embedding *embedding) {
    const size_t bytes = (size_t)(embedding != NULL ? embedding->rows : 0) * sizeof(int64_t);
    void *copy;
    GSW_REQUIRE(context, embedding, "embedding must not be NULL");
    GSW_REQUIRE(context, embedding->context == context, "embedding belongs to another context");
    GSW_TRY(gsw_csr_check(context, csr, 1));
    GSW_REQUIRE(context, csr->rows == embedding->rows,
                "csr: %lld rows, but the embedding has %lld active points", (long long)csr->rows,
                (long long)embedding->rows);
    if (embedding->copy != NULL)
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(context, 1, bytes, "the points of rows", &copy));
    const gsw_status status = gsw_memory_download(context, copy, embedding->points, bytes);
    if (status == GSW_SUCCESS)
        embedding->copy = copy;
    else
        free(copy);
    return status;
}

gsw_status gsw_matrix_from_active(gsw_context *context, const gsw_csr *csr,
                                  gsw_embedding *embedding, const gsw_stencil *stencil,
                                  gsw_matrix *matrix) {
    void *arrays[GSW_STENCIL_MAX];
    gsw_stencil found;
    gsw_matrix host;
    offset_set set;
    GSW_REQUIRE(context, matrix, "matrix must not be NULL");
    *matrix = (gsw_matrix){0};
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_TRY(begin(context, csr, embedding));
    const gsw_stencil_array array = {.values = (const void *const *)arrays,
                                     .value_type = csr->value_type};
    if (stencil == NULL) {
        take_offsets(&set, &embedding->grid, NULL);
        GSW_TRY(read_rows(embedding, csr, &set, NULL));
        GSW_TRY(choose_stencil(&set, &found));
        stencil = &found;
    }
    GSW_TRY(gsw_matrix_from_stencil(context, &embedding->grid, stencil, &array, &host));
    GSW_TRY(stage(embedding, csr, stencil, arrays));
    const gsw_status status = gsw_matrix_upload(context, &host, matrix);
    free(arrays[0]);
    if (status == GSW_SUCCESS)
        matrix->active = embedding->active;
    return status;
}

gsw_status gsw_matrix_refill_active(gsw_context *context, const gsw_csr *csr,
                                    gsw_embedding *embedding, const gsw_matrix *matrix) {
    void *arrays[GSW_STENCIL_MAX];
    gsw_status status = GSW_SUCCESS;
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_TRY(begin(context, csr, embedding));
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_REQUIRE(context,
                matrix->format == GSW_FORMAT_STENCIL &&
                    gsw_grid_is_same(&matrix->grid, &embedding->grid),
                "matrix: it has not been made with this embedding");
    GSW_REQUIRE(context, matrix->array.value_type == csr->value_type,
                "csr: its values have another type than the matrix");
    GSW_TRY(stage(embedding, csr, &matrix->stencil, arrays));
    const size_t bytes = (size_t)embedding->count * gsw_dtype_size(csr->value_type);
    for (int32_t e = 0; e < matrix->stencil.count && status == GSW_SUCCESS; e++)
        status = gsw_memory_upload(context, (void *)(uintptr_t)matrix->array.values[e], arrays[e],
                                   bytes);
    free(arrays[0]);
    return status;
}

/* ---- Vectors ---- */

static gsw_status check_move(gsw_context *context, const gsw_embedding *embedding, gsw_dtype type,
                             const void *rows, const void *points) {
    const gsw_vector of_rows = {.name = "rows", .data = rows};
    const gsw_vector of_points = {.name = "points", .data = points};
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_REQUIRE(context, embedding, "embedding must not be NULL");
    GSW_REQUIRE(context, embedding->context == context, "embedding belongs to another context");
    GSW_REQUIRE(context, gsw_is_element(type), "type %d is not a gsw_dtype", (int)type);
    GSW_TRY(gsw_check_vectors(context, embedding->rows, type, 1, &of_rows, 1));
    GSW_TRY(gsw_check_vectors(context, embedding->count, type, 1, &of_points, 1));
    const uintptr_t r = (uintptr_t)rows, p = (uintptr_t)points, size = gsw_dtype_size(type);
    GSW_REQUIRE(context,
                r + (uintptr_t)embedding->rows * size <= p ||
                    p + (uintptr_t)embedding->count * size <= r,
                "rows and points overlap");
    return GSW_SUCCESS;
}

gsw_status gsw_embedding_spread(gsw_context *context, const gsw_embedding *embedding,
                                gsw_dtype type, const void *rows, void *points) {
    GSW_TRY(check_move(context, embedding, type, rows, points));
    if (embedding->active != NULL)
        GSW_TRY(
            gsw_memory_set(context, points, 0, (size_t)embedding->count * gsw_dtype_size(type)));
    return context->ops->mask->spread(context, type, embedding->rows, embedding->points, rows,
                                      points);
}

gsw_status gsw_embedding_collect(gsw_context *context, const gsw_embedding *embedding,
                                 gsw_dtype type, const void *points, void *rows) {
    GSW_TRY(check_move(context, embedding, type, rows, points));
    return context->ops->mask->collect(context, type, embedding->rows, embedding->points, points,
                                       rows);
}
