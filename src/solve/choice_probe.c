/* choice_probe.c: see choice_probe.h. */
#include <math.h>
#include <stdlib.h>

#include "choice_probe.h"
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"
#include "core/sums.h"
#include "krylov/krylov_method.h"
#include "matrix/distributed_matrix.h"

static gsw_status dot(const gsw_probe *p, const double *x, const double *y, double *result) {
    return gsw_partition_of(p->matrix) != NULL
               ? gsw_dot(p->context, p->n, x, y, result)
               : p->context->ops->vector->dot(p->context, p->n, x, y, result);
}

/* e without its mean. */
static gsw_status remove_constants(gsw_probe *p) {
    double sum;
    if (p->ones == NULL)
        return GSW_SUCCESS;
    GSW_TRY(dot(p, p->ones, p->error, &sum));
    return p->context->ops->vector->axpby(p->context, p->n, -sum / p->active, p->ones, 1, p->error);
}

static gsw_status mask(gsw_probe *p, double *x) {
    return gsw_masked_vector(p->context, &p->op->masked, GSW_F64, p->n, x, x);
}

static gsw_status measure(gsw_probe *p) {
    double square;
    GSW_TRY(mask(p, p->error));
    GSW_TRY(remove_constants(p));
    GSW_TRY(dot(p, p->error, p->error, &square));
    p->size = sqrt(square);
    return GSW_SUCCESS;
}

/* A straight line over the rows, in one piece from -1 to 1. */
static gsw_status set_ramp(gsw_probe *p) {
    const gsw_partition *shared = gsw_partition_of(p->matrix);
    void *memory;
    int64_t at[3];
    GSW_TRY(gsw_alloc(p->context, (size_t)p->n, sizeof(double), "a smooth vector", &memory));
    double *ramp = memory;
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t row = shared ? gsw_partition_row(shared, i, at) : i;
        ramp[i] = (double)(2 * row + 1) / p->total - 1;
    }
    const gsw_status status =
        p->context->ops->memory->upload(p->context, p->error, ramp, (size_t)p->n * sizeof *ramp);
    free(ramp);
    return status;
}

static gsw_status reserve(gsw_probe *p, int zero_sums) {
    GSW_TRY(gsw_reserve_vector(p->context, p->n, &p->error));
    GSW_TRY(gsw_reserve_vector(p->context, p->n, &p->residual));
    return zero_sums ? gsw_reserve_vector(p->context, p->n, &p->ones) : GSW_SUCCESS;
}

static gsw_status fill_probe(gsw_probe *p) {
    if (p->ones == NULL) {
        GSW_TRY(p->context->ops->vector->fill(p->context, p->n, 1, p->error));
    } else {
        GSW_TRY(p->context->ops->vector->fill(p->context, p->n, 1, p->ones));
        GSW_TRY(mask(p, p->ones));
        GSW_TRY(dot(p, p->ones, p->ones, &p->active));
        GSW_TRY(set_ramp(p));
    }
    return measure(p);
}

gsw_status gsw_probe_open(gsw_context *context, const gsw_matrix *matrix, int zero_sums,
                          gsw_probe *probe) {
    gsw_status status;
    const gsw_grid *g = &matrix->grid;
    *probe = (gsw_probe){.context = context,
                         .matrix = matrix,
                         .n = gsw_matrix_own_points(matrix),
                         .total = (double)(g->nx * g->ny * g->nz)};
    GSW_TRY(gsw_operator_from_matrix(context, matrix, &probe->op));
    GSW_TRY_GOTO(gsw_matrix_agree(matrix, reserve(probe, zero_sums)), fail);
    GSW_TRY_GOTO(fill_probe(probe), fail);
    return GSW_SUCCESS;

fail:
    gsw_probe_close(probe);
    return status;
}

void gsw_probe_close(gsw_probe *probe) {
    double *const vectors[] = {probe->ones, probe->residual, probe->error};
    for (int i = 0; i < 3; i++)
        gsw_unreserve(probe->context, vectors[i]);
    gsw_operator_destroy(probe->op);
    *probe = (gsw_probe){.context = probe->context};
}

gsw_status gsw_probe_roughen(gsw_probe *probe) {
    const gsw_backend_ops *ops = probe->context->ops;
    GSW_TRY(ops->vector->fill(probe->context, probe->n, 1, probe->residual));
    GSW_TRY(ops->vector->change_signs(probe->context, probe->n, probe->residual, probe->residual));
    GSW_TRY(ops->vector->axpby(probe->context, probe->n, 1, probe->residual, 1, probe->error));
    return measure(probe);
}

gsw_status gsw_probe_energy(gsw_probe *probe, double *energy) {
    GSW_TRY(gsw_operator_apply(probe->context, probe->op, probe->error, probe->residual));
    return dot(probe, probe->error, probe->residual, energy);
}

/* The product that the energy takes is the step's residual. */
gsw_status gsw_probe_step(gsw_probe *probe, gsw_preconditioner *preconditioner, double *left,
                          double *energy) {
    gsw_context *context = probe->context;
    const double before = probe->size;
    GSW_TRY(gsw_probe_energy(probe, energy));
    GSW_TRY(gsw_preconditioner_apply(context, preconditioner, probe->residual, probe->residual));
    GSW_TRY(context->ops->vector->axpby(context, probe->n, -1, probe->residual, 1, probe->error));
    GSW_TRY(measure(probe));
    *left = before > 0 ? probe->size / before : before == 0 ? 0 : INFINITY;
    if (!isfinite(*left)) /* an overflow */
        *left = INFINITY;
    return GSW_SUCCESS;
}

double gsw_probe_iterations(double left) {
    if (!(left < 1))
        return INFINITY;
    const double root = sqrt(1 / (1 - left)), rate = (root - 1) / (root + 1);
    return rate > 0 ? fmax(1, log(1e-8) / log(rate)) : 1;
}
