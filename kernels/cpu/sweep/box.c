/* box.c: the rows of a box that are coupled to points of other processes. */
#include <stdlib.h>
#include <string.h>
#include "common/elements.h"
#include "contract/box_ops.h"
#include "cpu/core/kernels.h"
#include "cpu/core/multiply_add.h"

enum {
    LINES = 32,       /* of a plane that a thread takes at once */
    LINES_SERIAL = 16 /* fewer lines are not worth a second thread */
};

/* Some rows of the box, and of these the ones that an offset leads into a patch. */
typedef struct rows {
    int64_t begin[3], end[3];
} rows;

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int find_rows(const rows *all, const gsw_patch *p, gsw_offset o, rows *found) {
    const int64_t d[3] = {o.dx, o.dy, o.dz};
    int some = 1;
    for (int axis = 0; axis < 3; axis++) {
        found->begin[axis] = larger(all->begin[axis], p->begin[axis] - d[axis]);
        found->end[axis] = smaller(all->end[axis], p->end[axis] - d[axis]);
        some = some && found->begin[axis] < found->end[axis];
    }
    return some;
}

/* Adds the terms of an offset that lead into a patch. */
#define ADD(dtype, ctype, name)                                                                    \
    static void add_##name(const gsw_couple *job, const rows *r, const gsw_patch *p, gsw_offset o, \
                           const ctype *coefficient) {                                             \
        const gsw_grid *g = &job->matrix->grid;                                                    \
        const int64_t nx = p->end[0] - p->begin[0], ny = p->end[1] - p->begin[1];                  \
        for (int64_t z = r->begin[2]; z < r->end[2]; z++) {                                        \
            for (int64_t y = r->begin[1]; y < r->end[1]; y++) {                                    \
                const ctype *restrict a = coefficient + gsw_grid_row(g, 0, y, z);                  \
                double *restrict sum = job->y + gsw_grid_row(g, 0, y, z);                          \
                const double *restrict x =                                                         \
                    p->x + (o.dx - p->begin[0]) +                                                  \
                    nx * (y + o.dy - p->begin[1] + ny * (z + o.dz - p->begin[2]));                 \
                for (int64_t i = r->begin[0]; i < r->end[0]; i++)                                  \
                    sum[i] = multiply_add_f64((double)a[i], x[i], sum[i]);                         \
            }                                                                                      \
        }                                                                                          \
    }
GSW_ELEMENTS(ADD)
#undef ADD

/* Lines of a plane. */
static void couple_lines(const gsw_couple *job, const rows *all) {
    const gsw_matrix *matrix = job->matrix;
    rows found;
    for (int64_t y = all->begin[1]; y < all->end[1]; y++)
        memset(job->y + gsw_grid_row(&matrix->grid, all->begin[0], y, all->begin[2]), 0,
               (size_t)(all->end[0] - all->begin[0]) * sizeof *job->y);
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        for (int k = 0; k < job->patches && matrix->array.values[e] != NULL; k++)
            if (find_rows(all, &job->patch[k], o, &found))
                GSW_CALL_VALUE(add, matrix->array.value_type, job, &found, &job->patch[k], o,
                               matrix->array.values[e]);
    }
}

void GSW_ISA_FN(gsw_couple)(int threads, const gsw_couple *job) {
    const int64_t wide = job->end[1] - job->begin[1], pieces = (wide + LINES - 1) / LINES;
    const int64_t planes = job->end[2] - job->begin[2];
#pragma omp parallel for schedule(static) num_threads(threads) if (wide * planes >= LINES_SERIAL)
    for (int64_t i = 0; i < pieces * planes; i++) {
        const int64_t y = job->begin[1] + i % pieces * LINES, z = job->begin[2] + i / pieces;
        const rows some = {{job->begin[0], y, z},
                           {job->end[0], smaller(y + LINES, job->end[1]), z + 1}};
        couple_lines(job, &some);
    }
}
