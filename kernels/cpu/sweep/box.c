/* box.c: the rows of a box that are coupled to points of other processes. */
#include <string.h>
#include "common/elements.h"
#include "contract/box_ops.h"
#include "cpu/core/kernels.h"
#include "cpu/core/multiply_add.h"

enum { LINES_SERIAL = 16 }; /* fewer lines are not worth a second thread */

/* The terms of an offset that lead from a line into a patch. */
typedef struct term {
    int64_t begin, end;      /* points of the line */
    const void *coefficient; /* at x = 0; x of the neighbours, too */
    const double *x;
} term;

static int find_term(const gsw_couple *job, int32_t e, const gsw_patch *p, int64_t y, int64_t z,
                     term *t) {
    const gsw_matrix *matrix = job->matrix;
    const gsw_offset o = matrix->stencil.offsets[e];
    const char *values = matrix->array.values[e];
    if (!values || y + o.dy < p->begin[1] || y + o.dy >= p->end[1] || z + o.dz < p->begin[2] ||
        z + o.dz >= p->end[2])
        return 0;
    const int64_t nx = p->end[0] - p->begin[0], ny = p->end[1] - p->begin[1];
    const size_t size = gsw_dtype_size(matrix->array.value_type);
    t->begin = job->begin[0] > p->begin[0] - o.dx ? job->begin[0] : p->begin[0] - o.dx;
    t->end = job->end[0] < p->end[0] - o.dx ? job->end[0] : p->end[0] - o.dx;
    t->coefficient = values + (size_t)gsw_grid_row(&matrix->grid, 0, y, z) * size;
    t->x =
        p->x + (o.dx - p->begin[0]) + nx * (y + o.dy - p->begin[1] + ny * (z + o.dz - p->begin[2]));
    return 1;
}

#define ADD(dtype, ctype, name)                                                                    \
    static void add_##name(const term *t, const ctype *restrict a, const double *restrict x,       \
                           double *restrict sum) {                                                 \
        for (int64_t i = t->begin; i < t->end; i++)                                                \
            sum[i] = multiply_add_f64((double)a[i], x[i], sum[i]);                                 \
    }
GSW_ELEMENTS(ADD)
#undef ADD

static void couple_line(const gsw_couple *job, int64_t y, int64_t z) {
    const gsw_matrix *matrix = job->matrix;
    double *sums = job->y + gsw_grid_row(&matrix->grid, 0, y, z);
    term t;
    memset(sums + job->begin[0], 0, (size_t)(job->end[0] - job->begin[0]) * sizeof *sums);
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        for (int k = 0; k < job->patches; k++) {
            if (!find_term(job, e, &job->patch[k], y, z, &t))
                continue;
            GSW_CALL_VALUE(add, matrix->array.value_type, &t, t.coefficient, t.x, sums);
        }
    }
}

void GSW_ISA_FN(gsw_couple)(int threads, const gsw_couple *job) {
    const int64_t wide = job->end[1] - job->begin[1];
    const int64_t lines = wide * (job->end[2] - job->begin[2]);
#pragma omp parallel for schedule(static) num_threads(threads) if (lines >= LINES_SERIAL)
    for (int64_t i = 0; i < lines; i++)
        couple_line(job, job->begin[1] + i % wide, job->begin[2] + i / wide);
}
