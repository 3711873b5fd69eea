/* box_ops.c: the CPU's operations on boxes. It picks the kernels and the number of threads. */
#include "contract/context.h"
#include "cpu/sweep/box.h"
#include "cpu/core/cores.h"
#include "cpu/factor/factors.h"
#include "cpu/core/kernels.h"
#include "packed.h"

enum { GRAIN = 8192 }; /* points that are worth a thread */

static const gsw_cpu_box *kernels_of(const gsw_context *context) {
    return ((const gsw_cpu_kernels *)context->backend_data)->box;
}

static int threads_for(const gsw_context *context, const gsw_frame *frame,
                       const gsw_box_lines *lines) {
    const int64_t count = lines->first[lines->groups] - lines->first[0];
    return gsw_useful_threads(context, frame->n[0] * count, GRAIN);
}

static void cpu_sweep(gsw_context *context, const gsw_box_sweep *sweep,
                      const gsw_box_lines *lines) {
    kernels_of(context)->sweep(threads_for(context, sweep->frame, lines), sweep, lines);
}

static void cpu_eliminate(gsw_context *context, gsw_box_eliminate *job,
                          const gsw_box_lines *lines) {
    kernels_of(context)->eliminate(threads_for(context, job->frame, lines), job, lines);
}

static void cpu_couple(gsw_context *context, const gsw_box_couple *job) {
    const int64_t points = (job->end[0] - job->first[0]) * (job->end[1] - job->first[1]) *
                           (job->end[2] - job->first[2]);
    kernels_of(context)->couple(gsw_useful_threads(context, points, GRAIN), job);
}

static void cpu_lead(gsw_context *context, const gsw_box_sweep *sweep, const gsw_box_lines *lines,
                     int64_t first, int64_t end, double *out) {
    kernels_of(context)->lead(sweep, lines, first, end, out);
}

static void cpu_lead_rows(gsw_context *context, const gsw_box_edges *job,
                          const gsw_box_lines *lines) {
    const int64_t points = job->lead_planes * job->frame->n[0] * job->frame->n[1];
    const int64_t all = lines->first[lines->groups] - lines->first[0];
    const int64_t mine = all * job->frame->n[0] / job->frame->n[2] * job->lead_planes;
    kernels_of(context)->lead_rows(
        gsw_useful_threads(context, mine < points ? mine : points, GRAIN), job, lines);
}

static void cpu_trail_rows(gsw_context *context, const gsw_box_edges *job,
                           const gsw_box_lines *lines) {
    kernels_of(context)->trail_rows(job, lines);
}

const gsw_box_ops gsw_cpu_box_ops = {.sweep = cpu_sweep,
                                     .eliminate = cpu_eliminate,
                                     .couple = cpu_couple,
                                     .lead = cpu_lead,
                                     .lead_rows = cpu_lead_rows,
                                     .trail_rows = cpu_trail_rows,
                                     .bands = gsw_cpu_bands,
                                     .eliminate_bands = gsw_cpu_eliminate_bands,
                                     .take_diagonal = gsw_cpu_take_diagonal,
                                     .pack = gsw_cpu_pack_arrays,
                                     .sweep_bands = gsw_cpu_sweep_bands};
