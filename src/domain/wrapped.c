/* wrapped.c: see wrapped.h. */
#include "wrapped.h"

#include <stdlib.h>
#include <string.h>

#include "contract/backend.h"
#include "contract/error.h"
#include "core/reserve.h"

int gsw_offset_shorten(const gsw_grid *grid, int64_t d[3]) {
    int around = 0;
    for (int a = 0; a < 3; a++) {
        const int64_t n = gsw_seam_extent(grid, a);
        if (!(grid->periodic >> a & 1) || 2 * llabs(d[a]) <= n)
            continue;
        d[a] += d[a] > 0 ? -n : n;
        around = 1;
    }
    return around;
}

static gsw_offset offset_of(const int64_t d[3]) {
    return (gsw_offset){(int32_t)d[0], (int32_t)d[1], (int32_t)d[2]};
}

/* Adds an offset to a list where it lacks. Returns 0 where the list is full. */
static int add(gsw_offset *offsets, int32_t *count, gsw_offset o) {
    for (int32_t i = 0; i < *count; i++)
        if (offsets[i].dx == o.dx && offsets[i].dy == o.dy && offsets[i].dz == o.dz)
            return 1;
    if (*count == GSW_STENCIL_MAX)
        return 0;
    offsets[(*count)++] = o;
    return 1;
}

gsw_status gsw_stencil_around(gsw_context *context, const gsw_grid *grid, const gsw_stencil *near,
                              gsw_stencil *stencil) {
    static const char *const names[] = {"x", "y", "z"};
    gsw_offset offsets[GSW_STENCIL_MAX];
    int32_t count = 0;
    for (int32_t e = 0; e < near->count; e++) {
        const gsw_offset o = near->offsets[e];
        for (int ways = 0; ways < 8; ways++) {
            int64_t d[3] = {o.dx, o.dy, o.dz};
            int exists = 1;
            for (int a = 0; a < 3; a++) {
                const int64_t n = gsw_seam_extent(grid, a);
                if (!(ways >> a & 1))
                    continue;
                exists = exists && (grid->periodic >> a & 1) && d[a] != 0 && 2 * llabs(d[a]) < n;
                d[a] += d[a] > 0 ? -n : n;
                if (exists && llabs(d[a]) > GSW_OFFSET_MAX)
                    return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                                    "grid: it is periodic along %s with %lld points, and couplings "
                                    "of a CSR reach at most %d; stencil arrays have no such limit",
                                    names[a], (long long)n, GSW_OFFSET_MAX);
            }
            if (exists && !add(offsets, &count, offset_of(d)))
                return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                                "stencil: with the offsets around the periodic grid it has more "
                                "than %d; stencil arrays have no such limit",
                                GSW_STENCIL_MAX);
        }
    }
    return gsw_stencil_from_offsets(offsets, count, stencil);
}

void gsw_stencil_near(const gsw_matrix *matrix, gsw_stencil *near, int32_t *inside) {
    gsw_offset offsets[GSW_STENCIL_MAX];
    int32_t count = 0;
    const gsw_stencil *from = &matrix->stencil;
    const int is_csr = gsw_matrix_kind_of(matrix) == GSW_KIND_CSR;
    for (int32_t e = 0; e < from->count; e++) {
        int64_t d[3] = {from->offsets[e].dx, from->offsets[e].dy, from->offsets[e].dz};
        if (is_csr)
            (void)gsw_offset_shorten(&matrix->grid, d);
        (void)add(offsets, &count, offset_of(d));
    }
    (void)gsw_stencil_from_offsets(offsets, count, near);
    for (int32_t e = 0; e < from->count && inside != NULL; e++) {
        int64_t d[3] = {from->offsets[e].dx, from->offsets[e].dy, from->offsets[e].dz};
        inside[e] = is_csr && gsw_offset_shorten(&matrix->grid, d)
                        ? -1
                        : gsw_stencil_find(near, offset_of(d));
    }
}

void gsw_matrix_near_stencil(const gsw_matrix *matrix, gsw_stencil *stencil) {
    gsw_stencil_near(matrix, stencil, NULL);
}

gsw_matrix gsw_matrix_of_box(const gsw_matrix *matrix) {
    static const void *const none[GSW_STENCIL_MAX];
    gsw_matrix box = {.grid = matrix->grid,
                      .format = GSW_FORMAT_STENCIL,
                      .array = {.values = none, .value_type = gsw_matrix_value_type(matrix)}};
    gsw_stencil_near(matrix, &box.stencil, NULL);
    box.grid.periodic = 0;
    return box;
}

gsw_status gsw_wrapped_copy_box(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                void *const *arrays) {
    gsw_stencil near;
    int32_t inside[GSW_STENCIL_MAX];
    void *to[GSW_STENCIL_MAX];
    gsw_matrix view = *matrix;
    gsw_stencil_near(matrix, &near, inside);
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        to[e] = inside[e] < 0 ? NULL : arrays[inside[e]];
    view.grid.periodic = 0;
    view.active = NULL;
    return context->ops->multigrid->copy_arrays(context, &view, type, to);
}

gsw_status gsw_wrapped_check_exact(gsw_context *context, const gsw_matrix *matrix) {
    return matrix->grid.periodic == 0 || gsw_matrix_kind_of(matrix) == GSW_KIND_CSR
               ? GSW_SUCCESS
               : gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                          "matrix: exact triangular solves on a periodic grid take a CSR, not "
                          "stencil arrays");
}

gsw_status gsw_wrapped_open(gsw_context *context, const gsw_grid *grid, const gsw_stencil *near,
                            gsw_wrapped *wrapped) {
    gsw_wraps *w = &wrapped->wraps;
    int64_t reach[3] = {0, 0, 0};
    int32_t arrays = 0;
    if (grid->periodic == 0 || wrapped->block != NULL)
        return GSW_SUCCESS;
    memset(w, 0, sizeof *w);
    w->periodic = grid->periodic;
    w->count = near->count;
    w->center = near->center;
    for (int32_t e = 0; e < near->count; e++) {
        const gsw_offset o = near->offsets[e];
        const int32_t d[3] = {o.dx, o.dy, o.dz};
        w->array[e] = -1;
        for (int a = 0; a < 3; a++) {
            w->offset[e][a] = (int16_t)d[a];
            if (!(grid->periodic >> a & 1) || d[a] == 0)
                continue;
            w->array[e] = (int16_t)arrays;
            reach[a] = abs(d[a]) > reach[a] ? abs(d[a]) : reach[a];
        }
        w->mirror[e] = (int16_t)gsw_stencil_find(near, (gsw_offset){-o.dx, -o.dy, -o.dz});
        arrays += w->array[e] >= 0;
    }
    w->seam = gsw_seam_make(grid, reach, reach);
    w->arrays = arrays;
    if (arrays == 0)
        return GSW_SUCCESS;
    const int64_t rows = w->seam.count;
    _Static_assert(sizeof(double) == sizeof(int64_t), "values and columns share a block");
    GSW_TRY(gsw_reserve_counted(context, (size_t)rows, (size_t)(2 * arrays + 1) * sizeof(double),
                                &wrapped->bytes, &wrapped->block));
    w->values = wrapped->block;
    w->to = (int64_t *)(w->values + arrays * rows);
    w->row = w->to + arrays * rows;
    return context->ops->wrap->open(context, w);
}

gsw_status gsw_wrapped_take(gsw_context *context, const gsw_matrix *matrix, gsw_wrapped *wrapped) {
    gsw_stencil near;
    if (matrix->grid.periodic == 0)
        return GSW_SUCCESS;
    gsw_stencil_near(matrix, &near, NULL);
    GSW_TRY(gsw_wrapped_open(context, &matrix->grid, &near, wrapped));
    return wrapped->block != NULL ? context->ops->wrap->take(context, matrix, &wrapped->wraps)
                                  : GSW_SUCCESS;
}

void gsw_wrapped_close(gsw_context *context, gsw_wrapped *wrapped) {
    gsw_unreserve(context, wrapped->block);
    wrapped->block = NULL;
}

gsw_status gsw_wrapped_multiply(gsw_context *context, const gsw_wrapped *wrapped, gsw_dtype type,
                                double sign, const void *x, void *y) {
    return wrapped->block != NULL
               ? context->ops->wrap->multiply(context, &wrapped->wraps, type, sign, x, y, NULL)
               : GSW_SUCCESS;
}
