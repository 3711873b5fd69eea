/* host.c: what a backend in host memory does besides arithmetic. Work is done when a call returns.
 */
#include "reference/host.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/error.h"

void gsw_host_close(gsw_context *context) {
    (void)context;
}

gsw_status gsw_host_synchronize(gsw_context *context) {
    (void)context;
    return GSW_SUCCESS;
}

gsw_status gsw_host_alloc(gsw_context *context, size_t bytes, void **pointer) {
    return gsw_alloc(context, bytes, 1, "a vector", pointer);
}

void gsw_host_release(gsw_context *context, void *pointer) {
    (void)context;
    free(pointer);
}

gsw_status gsw_host_transfer(gsw_context *context, void *to, const void *from, size_t bytes) {
    (void)context;
    memcpy(to, from, bytes);
    return GSW_SUCCESS;
}

gsw_status gsw_host_set(gsw_context *context, void *pointer, int value, size_t bytes) {
    (void)context;
    memset(pointer, value, bytes);
    return GSW_SUCCESS;
}

/* Kernels reach all memory. */
gsw_status gsw_host_check_place(gsw_context *context, const char *name, const void *pointer) {
    (void)context, (void)name, (void)pointer;
    return GSW_SUCCESS;
}

/* Products and norms of their own serve. */
gsw_status gsw_host_judge(gsw_context *context, const gsw_matrix *matrix, const double *b,
                          const double *x, double *r, double sums[3], int *done) {
    (void)context, (void)matrix, (void)b, (void)x, (void)r, (void)sums;
    *done = 0;
    return GSW_SUCCESS;
}

gsw_status gsw_host_factor_await(gsw_context *context, gsw_factor *factor) {
    (void)context, (void)factor;
    return GSW_SUCCESS;
}

gsw_status gsw_host_transfer_open(gsw_context *context, gsw_transfer *transfer) {
    (void)context, (void)transfer;
    return GSW_SUCCESS;
}

void gsw_host_transfer_close(gsw_context *context, gsw_transfer *transfer) {
    (void)context, (void)transfer;
}

gsw_status gsw_host_squares(gsw_context *context, int64_t n, int64_t count, const double *x,
                            int64_t ldx, double *squares) {
    for (int64_t k = 0; k < count; k++)
        GSW_TRY(context->ops->vector->dot(context, n, x + k * ldx, x + k * ldx, &squares[k]));
    return GSW_SUCCESS;
}

gsw_status gsw_host_scale(gsw_context *context, int64_t n, int64_t count, const double *a,
                          const double *x, int64_t ldx, double *y, int64_t ldy) {
    const gsw_vector_ops *ops = context->ops->vector;
    for (int64_t k = 0; k < count; k++)
        if (a[k] == 0)
            GSW_TRY(ops->fill(context, n, 0, y + k * ldy));
        else if (!isnan(a[k]))
            GSW_TRY(ops->axpby(context, n, a[k], x + k * ldx, 0, y + k * ldy));
    return GSW_SUCCESS;
}

gsw_status gsw_host_aside(gsw_context *context, gsw_aside step) {
    (void)context, (void)step;
    return GSW_SUCCESS;
}

gsw_sections gsw_host_sections(const gsw_grid *grid, int finest) {
    (void)grid, (void)finest;
    return gsw_uncut();
}

int gsw_host_prefers_colors(const gsw_grid *grid, gsw_sections sections) {
    (void)grid, (void)sections;
    return 0;
}

gsw_status gsw_host_krylov_post(gsw_context *context, int slot, int count,
                                const gsw_krylov_state *states, gsw_krylov_state *to) {
    (void)context;
    (void)slot;
    memcpy(to, states, (size_t)count * sizeof *to);
    return GSW_SUCCESS;
}

gsw_status gsw_host_krylov_collect(gsw_context *context, int slot, int count,
                                   gsw_krylov_state *to) {
    (void)context;
    (void)slot;
    (void)count;
    (void)to;
    return GSW_SUCCESS;
}

gsw_status gsw_host_multiply_pass(gsw_context *context, const gsw_matrix *matrix, gsw_pass pass,
                                  int count, double *x, double *y, int64_t stride,
                                  gsw_krylov_state *const *states) {
    const gsw_backend_ops *ops = context->ops;
    const gsw_grid *g = &matrix->grid;
    GSW_TRY(ops->matrix->multiply(context, matrix, count, x, y, stride));
    for (int j = 0; j < count; j++)
        GSW_TRY(ops->krylov->pass(context, pass, g->nx * g->ny * g->nz,
                                  (void *[]){x + j * stride, y + j * stride}, states[j]));
    return GSW_SUCCESS;
}

/* In the second sweep a row may read y of earlier rows, so t is added only afterwards. */
gsw_status gsw_host_split_apply(gsw_context *context, const gsw_split *split, const double *v,
                                double *t, double *y) {
    const gsw_backend_ops *ops = context->ops;
    gsw_factor *parts = split->parts;
    const int64_t n = parts->points;
    GSW_TRY(ops->factor->sweep(context, parts, 1, 1, v, n, t, n));
    GSW_TRY(ops->vector->add_scaled(context, n, split->k, t, v, y));
    GSW_TRY(ops->factor->sweep(context, parts, 0, 1, y, n, y, n));
    return ops->vector->axpby(context, n, 1, t, 1, y);
}
