/* fill.c: from a matrix to packed factors: which coefficient comes from where, and the calls of the
 * elimination. */
#include "cpu/factor/factors.h"
#include <string.h>
#include "contract/context.h"
#include "eliminate.h"
#include "cpu/core/kernels.h"
#include "packed.h"

/* Adds one coefficient of the row. `slot` is -1 where `set` knows the coefficient and the row does
 * not take it. */
static void add_tap(gsw_tap_set *set, const gsw_chains *g, gsw_offset offset, int32_t source,
                    int32_t slot) {
    if (set->transposed) /* the mirror image: offsets ascend, so it has the mirrored index */
        source = set->matrix->stencil.count - 1 - source;
    gsw_tap *tap = &set->tap[set->count++];
    tap->offset = offset;
    tap->step = offset.dx + g->nx * (offset.dy + g->ny * (int64_t)offset.dz);
    tap->shift = 0;
    if (set->transposed)
        tap->shift = gsw_repeat_of(set->matrix) == GSW_REPEAT_NONE
                         ? tap->step
                         : offset.dx + set->steps.y * offset.dy + set->steps.z * offset.dz;
    tap->slot = slot;
    tap->source = source;
}

/* Collects the taps of a set. The parts with wanted[] = 0 get the slot -1. wanted: lower part,
 * diagonal, upper part. */
static void collect_taps(gsw_tap_set *set, const gsw_chains *g, const gsw_matrix *matrix,
                         int transposed, const int wanted[3]) {
    const gsw_shape *lower = &g->part[0], *upper = &g->part[1];
    set->matrix = matrix;
    set->transposed = transposed;
    set->steps = gsw_array_steps_of(matrix);
    set->count = 0;
    for (int32_t j = 0; j < lower->count; j++)
        add_tap(set, g, lower->offset[j], lower->source[j], wanted[0] ? j : -1);
    const gsw_stencil *stencil = &matrix->stencil;
    const int32_t center = transposed ? stencil->count - 1 - stencil->center : stencil->center;
    add_tap(set, g, (gsw_offset){0, 0, 0}, center, wanted[1] ? lower->count : -1);
    for (int32_t j = upper->count - 1; j >= 0; j--) {
        const gsw_offset o = {-upper->offset[j].dx, -upper->offset[j].dy, -upper->offset[j].dz};
        add_tap(set, g, o, upper->source[j], wanted[2] ? lower->count + 1 + j : -1);
    }
}

/* Chooses, for every kind, which matrix each part of the rows comes from. */
static void choose_taps(gsw_eliminate_job *job, const gsw_factor_options *options,
                        const gsw_matrix *matrix, const gsw_matrix *upper) {
    static const int all[3] = {1, 1, 1}, lower_only[3] = {1, 0, 0}, upper_only[3] = {0, 0, 1},
                     lower_diagonal[3] = {1, 1, 0}, upper_diagonal[3] = {0, 1, 1};
    const gsw_chains *g = job->chains;
    const int transpose = options->transpose != 0;
    switch (options->kind) {
    case GSW_IC0: /* symmetric: the upper part is the lower part's mirror image */
        collect_taps(&job->taps[0], g, matrix, 0, lower_diagonal);
        collect_taps(&job->taps[1], g, matrix, 1, upper_only);
        break;
    case GSW_FACTOR_LU:
        if (!upper)
            break;
        collect_taps(&job->taps[0], g, matrix, transpose, transpose ? upper_only : lower_only);
        collect_taps(&job->taps[1], g, upper, transpose,
                     transpose ? lower_diagonal : upper_diagonal);
        break;
    case GSW_FACTOR_LOWER:
        collect_taps(&job->taps[0], g, matrix, transpose,
                     transpose ? upper_diagonal : lower_diagonal);
        break;
    case GSW_FACTOR_UPPER:
        collect_taps(&job->taps[0], g, matrix, transpose,
                     transpose ? lower_diagonal : upper_diagonal);
        break;
    default:
        collect_taps(&job->taps[0], g, matrix, transpose, all);
    }
}

/* All pencils, from one matrix. */
static gsw_eliminate_job job_of(const gsw_factor *factor, const gsw_matrix *matrix,
                                const gsw_matrix *upper) {
    struct gsw_packed *packed = factor->packed;
    gsw_eliminate_job job = {
        .chains = &packed->chains,
        .end = packed->chains.pencils,
        .kept_from = INT64_MAX,
        .records = packed->records,
        .kind = factor->options.kind,
        .factor_type = factor->options.factor_type,
        .omega = factor->options.omega,
        .pivot_shift = factor->options.pivot_shift,
        .unit_diagonal = factor->options.unit_diagonal != 0,
        .updates = packed->updates,
        .part = {packed->part[0], packed->part[1]},
        .progress = &packed->progress,
        .work = packed->eliminate_work,
        .work_bytes = packed->eliminate_work_bytes,
        .faces = packed->faces,
        .face_values = packed->face_values,
    };
    job.narrows = gsw_factor_narrows(factor, matrix, upper);
    choose_taps(&job, &factor->options, matrix, upper);
    return job;
}

static void eliminate(const gsw_context *context, gsw_eliminate_job *job) {
    job->threads = gsw_cpu_band_threads(context, job->chains, job->end - job->begin);
    ((const gsw_cpu_kernels *)context->backend_data)->eliminate(job);
}

gsw_status gsw_cpu_factor_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               const gsw_matrix *upper) {
    if (factor->options.kind == GSW_JACOBI)
        return gsw_cpu_fill_jacobi(context, factor, matrix, factor->packed->reciprocal);
    gsw_eliminate_job job = job_of(factor, matrix, upper);
    eliminate(context, &job);
    factor->info.first_bad_row = job.bad_pivot;
    factor->info.shifted_pivots = job.shifted_pivots;
    return gsw_factor_report(context, factor, job.misfit, job.beyond);
}

int64_t gsw_cpu_eliminate_bands(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                                const gsw_band_eliminate *bands) {
    gsw_eliminate_job job = job_of(factor, matrix, NULL);
    const gsw_shape *above = &job.chains->part[1];
    job.begin = bands->begin;
    job.end = bands->end;
    job.kept_from = bands->kept_from;
    memcpy(job.after, bands->after, sizeof job.after);
    for (int32_t v = 0; v <= above->count; v++) {
        const int32_t e = v == 0 ? factor->stencil.center : above->source[v - 1];
        job.given[v] = bands->given[e];
        job.kept[v] = bands->kept[e];
    }
    if (job.end <= job.begin)
        return -1;
    eliminate(context, &job);
    return job.bad_pivot;
}
