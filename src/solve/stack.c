/* stack.c: see stack.h. */
#include "stack.h"

#include <math.h>
#include <stdlib.h>

#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/options.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "krylov/krylov_method.h"
#include "solver_state.h"

int gsw_stack_takes(const gsw_matrix *matrices, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        if (matrices[k].active != NULL || matrices[k].grid.periodic || matrices[k].partition)
            return 0;
    return 1;
}

static int64_t planes_of(const gsw_grid *g) {
    int64_t planes = 1;
    while (planes < g->nz)
        planes *= 2;
    return planes;
}

/* ---- values ---- */

static gsw_status fill(gsw_stack *s, const gsw_matrix *matrices) {
    const gsw_backend_ops *ops = s->context->ops;
    const gsw_stencil *stencil = &s->matrix.stencil;
    for (int64_t k = 0; k < s->count; k++) {
        void *to[GSW_STENCIL_MAX];
        for (int32_t e = 0; e < stencil->count; e++) {
            double *own = (double *)s->arrays.values[e] + k * s->pitch;
            const int64_t rest = s->pitch - s->points;
            if (rest > 0)
                GSW_TRY(ops->vector->fill(s->context, rest, e == stencil->center, own + s->points));
            to[e] = own;
        }
        GSW_TRY(ops->multigrid->copy_arrays(s->context, &matrices[k], GSW_F64, to));
    }
    return GSW_SUCCESS;
}

/* The options of the stack's solver: a residual of length 1 ends it. */
static gsw_status open_solver(gsw_stack *s, const gsw_solver_options *options) {
    gsw_solver_options own;
    gsw_krylov_options krylov;
    GSW_TRY(gsw_options_take(s->context, "gsw_solver_options", options, sizeof own, &own));
    GSW_TRY(
        gsw_options_take(s->context, "gsw_krylov_options", own.krylov, sizeof krylov, &s->krylov));
    krylov = s->krylov;
    krylov.rtol = 0;
    krylov.atol = 1;
    own.krylov = &krylov;
    return gsw_solver_create_stacked(s->context, &s->matrix, s->matrix.grid.nz / s->count, &own,
                                     &s->solver);
}

static gsw_status open_arrays(gsw_stack *s, const gsw_matrix *first) {
    const int64_t all = s->pitch * s->count;
    void *host;
    GSW_TRY(gsw_level_alloc_arrays(s->context, first->stencil.count, all, 0, GSW_F64, &s->bytes,
                                   &s->arrays));
    s->matrix.array =
        (gsw_stencil_array){.values = (const void *const *)s->arrays.values, .value_type = GSW_F64};
    GSW_TRY(gsw_reserve_counted(s->context, (size_t)all, 3 * sizeof(double), &s->bytes,
                                (void **)&s->b));
    s->x = s->b + all;
    s->r = s->x + all;
    GSW_TRY(gsw_reserve_counted(s->context, (size_t)s->count, sizeof(double), &s->bytes,
                                (void **)&s->sums));
    GSW_TRY(
        gsw_alloc(s->context, (size_t)s->count, 2 * sizeof(double), "a number per system", &host));
    s->host = host;
    return GSW_SUCCESS;
}

gsw_status gsw_stack_open(gsw_context *context, const gsw_matrix *matrices, int64_t count,
                          const gsw_solver_options *options, gsw_stack *s) {
    const gsw_grid *g = &matrices[0].grid;
    const gsw_grid grid = {g->nx, g->ny, planes_of(g) * count};
    *s = (gsw_stack){.context = context,
                     .count = count,
                     .points = g->nx * g->ny * g->nz,
                     .pitch = g->nx * g->ny * planes_of(g)};
    s->matrix =
        (gsw_matrix){.grid = grid, .stencil = matrices[0].stencil, .format = GSW_FORMAT_STENCIL};
    GSW_TRY(open_arrays(s, &matrices[0]));
    GSW_TRY(fill(s, matrices));
    GSW_TRY(context->ops->vector->fill(context, 3 * s->pitch * count, 0, s->b));
    return open_solver(s, options);
}

gsw_status gsw_stack_update(gsw_stack *s, const gsw_matrix *matrices) {
    GSW_TRY(fill(s, matrices));
    return gsw_solver_update(s->context, s->solver, &s->matrix);
}

void gsw_stack_close(gsw_stack *s) {
    if (s->context == NULL)
        return;
    gsw_solver_destroy(s->solver);
    gsw_unreserve(s->context, s->sums);
    gsw_unreserve(s->context, s->b);
    gsw_unreserve(s->context, s->arrays.block);
    free(s->host);
    *s = (gsw_stack){.context = NULL};
}

/* ---- solving ---- */

/* The lengths of all systems' parts of a vector, `pitch` apart. */
static gsw_status norms(gsw_stack *s, const double *v, int64_t pitch, double *result) {
    const gsw_backend_ops *ops = s->context->ops;
    GSW_TRY(ops->vector->squares(s->context, s->points, s->count, v, pitch, s->sums));
    GSW_TRY(ops->memory->download(s->context, result, s->sums, (size_t)s->count * sizeof *result));
    for (int64_t k = 0; k < s->count; k++)
        result[k] = sqrt(result[k]);
    return GSW_SUCCESS;
}

/* The scale at which a residual of length 1 meets a system's tolerance; 0: b is 0. */
static double scale_of(const gsw_stack *s, double length) {
    const gsw_krylov_options *k = &s->krylov;
    const double rtol = k->rtol == 0 && k->atol == 0 ? 1e-8 : k->rtol;
    return length > 0 && isfinite(length) ? 1 / fmax(rtol * length, k->atol) : 0;
}

static gsw_status set_scales(const gsw_stack *s, const double *scale) {
    return s->context->ops->memory->upload(s->context, s->sums, scale,
                                           (size_t)s->count * sizeof *scale);
}

/* Brings b and the guess in. */
static gsw_status bring_in(gsw_stack *s, const double *scale, const double *b, const double *x) {
    const gsw_vector_ops *ops = s->context->ops->vector;
    GSW_TRY(set_scales(s, scale));
    GSW_TRY(ops->scale(s->context, s->points, s->count, s->sums, b, s->points, s->b, s->pitch));
    return ops->scale(s->context, s->points, s->count, s->sums, x, s->points, s->x, s->pitch);
}

/* Brings x out; that of a system whose b is not finite stays. Overwrites the scales. */
static gsw_status bring_out(gsw_stack *s, double *scale, const gsw_system_report *systems,
                            double *x) {
    for (int64_t k = 0; k < s->count; k++)
        scale[k] = scale[k] != 0 ? 1 / scale[k] : systems[k].converged ? 0 : (double)NAN;
    GSW_TRY(set_scales(s, scale));
    return s->context->ops->vector->scale(s->context, s->points, s->count, s->sums, s->x, s->pitch,
                                          x, s->points);
}

gsw_status gsw_stack_solve(gsw_stack *s, const double *b, double *x, gsw_solver_report *report,
                           gsw_system_report *systems) {
    gsw_context *context = s->context;
    double *length = s->host, *scale = s->host + s->count;
    GSW_TRY(norms(s, b, s->points, length));
    for (int64_t k = 0; k < s->count; k++)
        scale[k] = scale_of(s, length[k]);
    GSW_TRY(bring_in(s, scale, b, x));
    const gsw_quiet quiet = gsw_quiet_begin(context);
    const gsw_status status = gsw_solver_solve(context, s->solver, s->b, s->x, report);
    gsw_quiet_end(context, &quiet, 1);
    if (status != GSW_SUCCESS && !gsw_krylov_ended(status))
        return gsw_fail(context, status, "%s", report->message);
    GSW_TRY(gsw_operator_multiply(s->solver->op, s->x, s->r));
    GSW_TRY(context->ops->vector->axpby(context, s->pitch * s->count, 1, s->b, -1, s->r));
    for (int64_t k = 0; k < s->count; k++)
        systems[k].residual = length[k];
    GSW_TRY(norms(s, s->r, s->pitch, length));
    for (int64_t k = 0; k < s->count; k++) {
        const double size = systems[k].residual * scale[k];
        systems[k].converged = size > 0 ? length[k] <= 1 : systems[k].residual == 0;
        systems[k].residual = size > 0 ? length[k] / size : 0;
        systems[k].iterations = report->iterations;
    }
    return bring_out(s, scale, systems, x);
}
