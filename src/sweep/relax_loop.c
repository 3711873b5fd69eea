/* relax_loop.c: the passes of a stencil loop, and the methods' factors. */
#include "relax_loop.h"

#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"

gsw_status gsw_relax_loop_open(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_relax_options *options, int32_t most,
                               gsw_relax_loop *loop) {
    *loop = (gsw_relax_loop){.context = context, .matrix = matrix, .options = *options};
    GSW_TRY(context->ops->relax->prepare(context, matrix));
    return gsw_relax_choose(context, matrix, options->method == GSW_RELAX_CHEBYSHEV,
                            options->height, most, &loop->tile, &loop->cost);
}

int32_t gsw_relax_loop_passes(const gsw_relax_loop *loop, int32_t sweeps) {
    return sweeps == 0 ? 0 : (sweeps - 1) / loop->tile.height + 1;
}

gsw_relax_recurrence gsw_relax_begin(const gsw_relax_options *options) {
    return (gsw_relax_recurrence){.center = (options->highest + options->lowest) / 2,
                                  .half = (options->highest - options->lowest) / 2};
}

void gsw_relax_next(const gsw_relax_options *options, gsw_relax_recurrence *at, double *alpha,
                    double *beta) {
    *alpha = options->weight;
    *beta = 0;
    if (options->method == GSW_RELAX_JACOBI)
        return;
    const double sigma = at->center / at->half;
    if (at->sweep++ == 0) {
        at->rho = 1 / sigma;
        *alpha = 1 / at->center;
        return;
    }
    const double next = 1 / (2 * sigma - at->rho);
    *alpha = 2 * next / at->half;
    *beta = next * at->rho;
    at->rho = next;
}

/* *right = b - W x, and b where there is no W. */
static gsw_status shear(const gsw_relax_loop *loop, const void *b, const void *x,
                        const void **right) {
    const gsw_grid *g = &loop->matrix->grid;
    const gsw_dtype type = gsw_matrix_value_type(loop->matrix);
    if (loop->around == NULL)
        return GSW_SUCCESS;
    GSW_TRY(loop->context->ops->multigrid->combine(loop->context, type, g->nx * g->ny * g->nz, 1, b,
                                                   0, loop->sheared));
    *right = loop->sheared;
    return gsw_wrapped_multiply(loop->context, loop->around, type, -1, x, loop->sheared);
}

gsw_status gsw_relax_loop_run(const gsw_relax_loop *loop, int32_t sweeps, int zero, const void *b,
                              void *const x[2], void *const p[2], void *work) {
    const gsw_relax_options *options = &loop->options;
    gsw_relax_recurrence at = gsw_relax_begin(options);
    const int32_t passes = gsw_relax_loop_passes(loop, sweeps);
    for (int32_t pass = 0; pass < passes; pass++) {
        const void *right = b;
        if (!(zero && pass == 0))
            GSW_TRY(shear(loop, b, x[pass % 2], &right));
        const int32_t left = passes - pass, count = (sweeps - 1) / left + 1;
        gsw_relax_pass job = {.matrix = loop->matrix,
                              .tile = &loop->tile,
                              .sweeps = count,
                              .zero = zero && pass == 0,
                              .b = right,
                              .x = x[pass % 2],
                              .y = x[(pass + 1) % 2],
                              .p = p[pass % 2],
                              .q = left > 1 ? p[(pass + 1) % 2] : NULL,
                              .work = work};
        for (int32_t s = 0; s < count; s++)
            gsw_relax_next(options, &at, &job.alpha[s], &job.beta[s]);
        GSW_TRY(loop->context->ops->relax->pass(loop->context, &job));
        sweeps -= count;
    }
    return GSW_SUCCESS;
}
