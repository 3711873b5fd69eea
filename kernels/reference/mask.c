/* mask.c: inactive points (common/mask.h) in host memory, point by point. The CPU has the same
 * functions: threads take lines, and no value depends on who takes it. */
#include "common/csr.h"
#include "common/mask.h"
#include <stdlib.h>
#include <string.h>
#include "contract/context.h"
#include "reference/host.h"

/* Fewer points are not worth waking the other threads. */
enum { SERIAL_LIMIT = 16384 };

static int64_t lines_of(const gsw_grid *g) {
    return g->ny * g->nz;
}

/* The first inactive point from `row` on, before `end`; `end`: there is none. */
static int64_t next_inactive(const uint8_t *active, int64_t row, int64_t end) {
    if (row >= end || active[row] == 0) /* inactive points lie together */
        return row;
    const uint8_t *found = memchr(active + row, 0, (size_t)(end - row));
    return found != NULL ? found - active : end;
}

/* y = z, or 0, at inactive points, run by run. */
static void replace(int threads, size_t size, int64_t n, const uint8_t *active, const void *z,
                    void *y) {
    enum { BLOCK = SERIAL_LIMIT };
#pragma omp parallel for num_threads(threads) if (n > SERIAL_LIMIT)
    for (int64_t from = 0; from < n; from += BLOCK) {
        const int64_t end = n - from < BLOCK ? n : from + BLOCK;
        for (int64_t i = next_inactive(active, from, end), next; i < end;
             i = next_inactive(active, next, end)) {
            for (next = i + 1; next < end && active[next] == 0;)
                next++;
            void *to = (char *)y + (size_t)i * size;
            if (z != NULL)
                memcpy(to, (const char *)z + (size_t)i * size, (size_t)(next - i) * size);
            else
                memset(to, 0, (size_t)(next - i) * size);
        }
    }
}

static gsw_status host_select(gsw_context *context, gsw_dtype type, int64_t n,
                              const uint8_t *active, const void *x, const void *z, void *y) {
    const double *x8 = x, *z8 = z;
    const float *x4 = x, *z4 = z;
    double *y8 = y;
    float *y4 = y;
    if (x == y) {
        replace(context->threads, gsw_dtype_size(type), n, active, z, y);
    } else if (type == GSW_F64) {
#pragma omp parallel for num_threads(context->threads) if (n > SERIAL_LIMIT)
        for (int64_t i = 0; i < n; i++)
            y8[i] = active[i] ? x8[i] : z8 != NULL ? z8[i] : 0;
    } else {
#pragma omp parallel for num_threads(context->threads) if (n > SERIAL_LIMIT)
        for (int64_t i = 0; i < n; i++)
            y4[i] = active[i] ? x4[i] : z4 != NULL ? z4[i] : 0;
    }
    return GSW_SUCCESS;
}

static gsw_status host_take(gsw_context *context, int64_t n, const uint8_t *active, uint8_t *copy) {
    (void)context;
    for (int64_t i = 0; i < n; i++)
        copy[i] = active[i] != 0;
    return GSW_SUCCESS;
}

static gsw_status host_list(gsw_context *context, int64_t n, const uint8_t *active, int64_t *points,
                            int64_t *count) {
    int64_t found = 0;
    (void)context;
    for (int64_t i = 0; i < n; i++) {
        if (!active[i])
            continue;
        if (points != NULL)
            points[found] = i;
        found++;
    }
    *count = found;
    return GSW_SUCCESS;
}

static gsw_status host_spread(gsw_context *context, gsw_dtype type, int64_t rows,
                              const int64_t *points, const void *x, void *y) {
    const size_t size = gsw_dtype_size(type);
#pragma omp parallel for num_threads(context->threads) if (rows > SERIAL_LIMIT)
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)y + (size_t)points[i] * size, (const char *)x + (size_t)i * size, size);
    return GSW_SUCCESS;
}

static gsw_status host_collect(gsw_context *context, gsw_dtype type, int64_t rows,
                               const int64_t *points, const void *x, void *y) {
    const size_t size = gsw_dtype_size(type);
#pragma omp parallel for num_threads(context->threads) if (rows > SERIAL_LIMIT)
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)y + (size_t)i * size, (const char *)x + (size_t)points[i] * size, size);
    return GSW_SUCCESS;
}

/* Calls point() for every inactive point. */
static void for_inactive(const gsw_context *context, const gsw_matrix *matrix,
                         const gsw_mask_rows *m, const int64_t *nearest,
                         void (*point)(const gsw_mask_rows *m, const int64_t *nearest,
                                       int64_t row)) {
    const int64_t nx = matrix->grid.nx, lines = lines_of(&matrix->grid);
#pragma omp parallel for num_threads(context->threads) if (nx * lines > SERIAL_LIMIT)
    for (int64_t line = 0; line < lines; line++) {
        const int64_t end = (line + 1) * nx;
        for (int64_t row = next_inactive(m->active, line * nx, end); row < end;
             row = next_inactive(m->active, row + 1, end))
            point(m, nearest, row);
    }
}

static void cut_point(const gsw_mask_rows *m, const int64_t *nearest, int64_t row) {
    (void)nearest;
    gsw_mask_cut_point(m, row);
}

static gsw_status host_cut(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                           void *const *arrays) {
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, type, arrays);
    for_inactive(context, matrix, &m, NULL, cut_point);
    return GSW_SUCCESS;
}

static gsw_status host_cut_box(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_frame *frame, gsw_dtype type, void *const *arrays) {
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, type, arrays);
    const int64_t points = matrix->grid.nx * lines_of(&matrix->grid);
#pragma omp parallel for num_threads(context->threads) if (points > SERIAL_LIMIT)
    for (int64_t row = 0; row < points; row++)
        gsw_mask_cut_row(&m, frame->e, frame->low, row);
    return GSW_SUCCESS;
}

static gsw_status host_is_cut(gsw_context *context, const gsw_matrix *matrix, int *yes) {
    const gsw_grid *g = &matrix->grid;
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, matrix->array.value_type,
                                             (void *const *)(uintptr_t)matrix->array.values);
    const int64_t points = g->nx * lines_of(g);
    int cut = 1;
#pragma omp parallel for num_threads(context->threads) if (points > SERIAL_LIMIT) reduction(& : cut)
    for (int64_t line = 0; line < lines_of(g); line++) {
        const int64_t end = (line + 1) * g->nx;
        for (int64_t row = next_inactive(m.active, line * g->nx, end); row < end && cut;
             row = next_inactive(m.active, row + 1, end))
            cut = gsw_mask_is_cut(&m, row);
    }
    *yes = cut;
    return GSW_SUCCESS;
}

static gsw_status host_find_fixed(gsw_context *context, const gsw_matrix *matrix,
                                  const gsw_frame *f, uint8_t *left, int64_t counts[3]) {
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, matrix->array.value_type,
                                             (void *const *)(uintptr_t)matrix->array.values);
    const int64_t points = f->n[0] * f->n[1] * f->n[2];
    int64_t alone = 0, large = 0, zeros = 0;
#pragma omp parallel for num_threads(context->threads) if (points > SERIAL_LIMIT) reduction(+ : alone, large, zeros)
    for (int64_t row = 0; row < points; row++) {
        const int kind = gsw_mask_kind(&m, gsw_mask_row_in_frame(f->n, f->e, f->low, row));
        left[row] = kind == 0;
        alone += kind == 1;
        large += kind == 2;
        zeros += kind == 3;
    }
    counts[0] = alone;
    counts[1] = large;
    counts[2] = zeros;
    return GSW_SUCCESS;
}

static gsw_status host_shorten(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_stencil *near, double *const *arrays) {
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, matrix->array.value_type,
                                             (void *const *)(uintptr_t)matrix->array.values);
    const gsw_mask_near n = gsw_mask_near_of(matrix, near, arrays);
    const int64_t points = matrix->grid.nx * lines_of(&matrix->grid);
#pragma omp parallel for num_threads(context->threads) if (points > SERIAL_LIMIT)
    for (int64_t row = 0; row < points; row++)
        gsw_mask_shorten_row(&m, &n, row);
    return GSW_SUCCESS;
}

/* Where a line has an active point, all of it has a nearest one after its own gaps are filled; so
 * whole lines are gaps of a plane, and whole planes gaps of the grid. */
static void find_nearest(const gsw_context *context, const gsw_matrix *matrix, int64_t *nearest) {
    const gsw_grid *g = &matrix->grid;
    const int64_t nx = g->nx, plane = nx * g->ny, lines = lines_of(g), points = nx * lines;
    int full = 1;
#pragma omp parallel for num_threads(context->threads) if (points > SERIAL_LIMIT)
    for (int64_t line = 0; line < lines; line++) {
        for (int64_t row = line * nx; row < (line + 1) * nx; row++)
            nearest[row] = matrix->active[row] ? row : -1;
        gsw_mask_fill_gaps(nearest + line * nx, 1, nx);
    }
#pragma omp parallel for num_threads(context->threads) if (points > SERIAL_LIMIT)
    for (int64_t z = 0; z < g->nz; z++) {
        int has_gaps = 0;
        for (int64_t y = 0; y < g->ny; y++)
            has_gaps = has_gaps || nearest[z * plane + y * nx] < 0;
        for (int64_t x = 0; x < nx && has_gaps; x++)
            gsw_mask_fill_gaps(nearest + z * plane + x, nx, g->ny);
    }
    for (int64_t z = 0; z < g->nz; z++)
        full = full && nearest[z * plane] >= 0;
    if (full)
        return;
#pragma omp parallel for num_threads(context->threads) if (points > SERIAL_LIMIT)
    for (int64_t column = 0; column < plane; column++)
        gsw_mask_fill_gaps(nearest + column, plane, g->nz);
}

static void end_point(const gsw_mask_rows *m, const int64_t *nearest, int64_t row) {
    (void)nearest;
    gsw_mask_end_point(m, row);
}

/* What a thread has found at `width` places of a line: often the next place has the same nearest
 * rows, and so has the next line where this one is inactive. */
enum { WIDTH_MOST = 4096, SIDES = 6 };

typedef struct found_rows {
    gsw_mask_couplings own[1 + SIDES];
    double sum;
} found_rows;

static void extend_points(const gsw_context *context, const gsw_mask_rows *m,
                          const int64_t *nearest) {
    const int64_t nx = m->n[0], lines = m->n[1] * m->n[2];
#pragma omp parallel num_threads(context->threads) if (nx * lines > SERIAL_LIMIT)
    {
        const int64_t most = nx < WIDTH_MOST ? nx : WIDTH_MOST;
        found_rows one = {.sum = 0}, *rows = calloc((size_t)most, sizeof *rows);
        found_rows *found = rows != NULL ? rows : &one;
        const int64_t width = rows != NULL ? most : 1;
        for (int64_t k = 0; k < width; k++)
            for (int side = 0; side <= SIDES; side++)
                found[k].own[side].row = -1;
#pragma omp for
        for (int64_t line = 0; line < lines; line++) {
            const int64_t first = line * nx, end = first + nx;
            for (int64_t row = next_inactive(m->active, first, end); row < end;
                 row = next_inactive(m->active, row + 1, end)) {
                const int64_t at = (row - first) % width;
                found_rows *of = found + at;
                if (at > 0 && of->own[0].row != nearest[row] && of[-1].own[0].row == nearest[row])
                    *of = of[-1];
                gsw_mask_extend_point(m, nearest, row, of->own, &of->sum, of->own + 1, 1);
            }
        }
        free(rows);
    }
}

static gsw_status host_extend(gsw_context *context, const gsw_matrix *matrix, int64_t *nearest,
                              double *const *arrays) {
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, GSW_F64, (void *const *)arrays);
    find_nearest(context, matrix, nearest);
    extend_points(context, &m, nearest);
    for_inactive(context, matrix, &m, nearest, end_point);
    return GSW_SUCCESS;
}

static gsw_status host_couplings(gsw_context *context, const gsw_matrix *matrix,
                                 const int64_t *nearest, const double *const *arrays,
                                 double *const along[3]) {
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, GSW_F64, (void *const *)(uintptr_t)arrays);
    const int64_t points = matrix->grid.nx * lines_of(&matrix->grid);
#pragma omp parallel for num_threads(context->threads) if (points > SERIAL_LIMIT)
    for (int64_t row = 0; row < points; row++)
        gsw_mask_put_couplings(&m, nearest, row, along);
    return GSW_SUCCESS;
}

static gsw_status host_extend_faces(gsw_context *context, const gsw_matrix *matrix,
                                    const gsw_frame *frame, const double *const along[3],
                                    double *const *arrays) {
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, GSW_F64, (void *const *)arrays);
    const int64_t points = matrix->grid.nx * lines_of(&matrix->grid);
#pragma omp parallel for num_threads(context->threads) if (points > SERIAL_LIMIT)
    for (int64_t row = 0; row < points; row++)
        gsw_mask_extend_faces(&m, frame->e, frame->low, along, row);
    return GSW_SUCCESS;
}

/* ---- Basins ---- */

static int64_t find_root(int64_t *parent, int64_t at) {
    while (parent[at] != at) {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    return at;
}

static void join(int64_t *parent, int64_t a, int64_t b) {
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Joins the points of a line with those that a side of the stencil, or all of it, leads to. */
static void join_line(const gsw_mask_rows *m, int32_t joining, int64_t y, int64_t z,
                      int64_t *parent) {
    const int64_t first = m->n[0] * (y + m->n[1] * z);
    for (int64_t x = 0; x < m->n[0]; x++) {
        const gsw_mask_point p = gsw_mask_point_at(m, first + x, x, y, z);
        if (!m->active[p.row])
            continue;
        for (int32_t e = 0; e < joining; e++) {
            const int64_t other = gsw_mask_joined(m, &p, e);
            if (other >= 0)
                join(parent, p.row, other);
        }
    }
}

static gsw_status host_find_basins(gsw_context *context, const gsw_matrix *matrix, int64_t *root) {
    void *const none[GSW_STENCIL_MAX] = {NULL};
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, GSW_F64, none);
    const int32_t joining = gsw_mask_joining(&m, &matrix->stencil);
    const int64_t points = m.n[0] * m.n[1] * m.n[2];
    (void)context;
    for (int64_t row = 0; row < points; row++)
        root[row] = m.active[row] ? row : -1;
    for (int64_t z = 0; z < m.n[2]; z++)
        for (int64_t y = 0; y < m.n[1]; y++)
            join_line(&m, joining, y, z, root);
    for (int64_t row = 0; row < points; row++) /* roots come first, and point to themselves */
        root[row] = root[row] < 0 ? -1 : root[root[row]];
    return GSW_SUCCESS;
}

static gsw_status host_mark_basins(gsw_context *context, int64_t n, const int64_t *root,
                                   int64_t but, uint8_t *marked) {
#pragma omp parallel for num_threads(context->threads) if (n > SERIAL_LIMIT)
    for (int64_t i = 0; i < n; i++)
        marked[i] = root[i] >= 0 && root[i] != but;
    return GSW_SUCCESS;
}

static gsw_status host_sum_rows(gsw_context *context, const gsw_matrix *matrix,
                                const double *const *arrays, int64_t rows, const int64_t *points,
                                double *sums, double *diagonals) {
    const gsw_mask_rows m = gsw_mask_rows_of(matrix, GSW_F64, (void *const *)(uintptr_t)arrays);
#pragma omp parallel for num_threads(context->threads) if (rows > SERIAL_LIMIT)
    for (int64_t i = 0; i < rows; i++)
        gsw_mask_sum_row(&m, points[i], &sums[i], &diagonals[i]);
    return GSW_SUCCESS;
}

static gsw_status host_add_means(gsw_context *context, gsw_dtype type, int64_t sets,
                                 const int64_t *begin, const int64_t *points, const double *scale,
                                 const void *b, void *x) {
#pragma omp parallel for schedule(dynamic)                                                         \
    num_threads(context->threads) if (begin[sets] > SERIAL_LIMIT)
    for (int64_t k = 0; k < sets; k++) {
        double sum = 0;
        for (int64_t i = begin[k]; i < begin[k + 1]; i++)
            sum += gsw_value_at(b, type, points[i]);
        for (int64_t i = begin[k]; i < begin[k + 1]; i++)
            gsw_value_put(x, type, points[i], gsw_value_at(x, type, points[i]) + scale[k] * sum);
    }
    return GSW_SUCCESS;
}

const gsw_mask_ops gsw_host_mask_ops = {.select = host_select,
                                        .take = host_take,
                                        .cut = host_cut,
                                        .cut_box = host_cut_box,
                                        .is_cut = host_is_cut,
                                        .find_fixed = host_find_fixed,
                                        .shorten = host_shorten,
                                        .list = host_list,
                                        .spread = host_spread,
                                        .collect = host_collect,
                                        .extend = host_extend,
                                        .couplings = host_couplings,
                                        .extend_faces = host_extend_faces,
                                        .find_basins = host_find_basins,
                                        .mark_basins = host_mark_basins,
                                        .sum_rows = host_sum_rows,
                                        .add_means = host_add_means};
