/* box.c: couplings of a box to points of other processes. */
#include "contract/box_ops.h"
#include "cpu/core/kernels.h"
#include "cpu/core/multiply_add.h"

enum { LINES_SERIAL = 16 }; /* fewer lines are not worth a second thread */

static void couple_line(const gsw_box_couple *job, int64_t y, int64_t z) {
    const gsw_offset o = job->offset;
    const int64_t row = job->n[0] * (y + job->n[1] * z);
    const double *v = job->x + (o.dx - job->origin[0]) +
                      job->extent[0] * ((y + o.dy - job->origin[1]) +
                                        job->extent[1] * (z + o.dz - job->origin[2]));
    for (int64_t x = job->first[0]; x < job->end[0]; x++) {
        const double c = job->type == GSW_F32 ? (double)((const float *)job->c)[row + x]
                                              : ((const double *)job->c)[row + x];
        job->y[row + x] = multiply_add_f64(c, v[x], job->y[row + x]);
    }
}

void GSW_ISA_FN(gsw_couple)(int threads, const gsw_box_couple *job) {
    const int64_t lines = (job->end[1] - job->first[1]) * (job->end[2] - job->first[2]);
    const int64_t wide = job->end[1] - job->first[1];
#pragma omp parallel for schedule(static) num_threads(threads) if (lines >= LINES_SERIAL)
    for (int64_t i = 0; i < lines; i++)
        couple_line(job, job->first[1] + i % wide, job->first[2] + i / wide);
}
