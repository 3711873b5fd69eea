/* packed_gauss_seidel.c: Gauss-Seidel with packed factors: see gauss_seidel_ops.h. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "contract/gauss_seidel_ops.h"

struct gsw_gauss_seidel {
    gsw_dtype type;
    int64_t points;
    gsw_sections sections;
    gsw_factor *factor[2]; /* D + L and D + U; with `both` SSOR's, and NULL */
};

static gsw_status open_factor(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              gsw_factor_kind kind, gsw_sections sections, int64_t *bytes,
                              gsw_factor **factor) {
    gsw_factor *made;
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "a factor", (void **)&made));
    memset(made, 0, sizeof *made);
    made->context = context;
    made->options = (gsw_factor_options){.size = sizeof made->options,
                                         .kind = kind,
                                         .factor_type = type,
                                         .vector_type = type,
                                         .omega = 1};
    made->sections = sections;
    gsw_factor_name_system(made, matrix);
    made->points = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
    const gsw_status status = context->ops->factor->open(context, made);
    if (status != GSW_SUCCESS) {
        free(made);
        return status;
    }
    *bytes += made->info.packed_bytes + made->info.work_bytes;
    *factor = made;
    return GSW_SUCCESS;
}

gsw_status gsw_packed_gs_open(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              int both, gsw_sections sections, int64_t *bytes,
                              gsw_gauss_seidel **made) {
    gsw_gauss_seidel *g;
    gsw_status status;
    GSW_TRY(gsw_alloc(context, 1, sizeof *g, "a smoother", (void **)&g));
    *g = (gsw_gauss_seidel){.type = type,
                            .points = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz};
    if (both) {
        GSW_TRY_GOTO(
            open_factor(context, matrix, type, GSW_SSOR, gsw_uncut(), bytes, &g->factor[0]), fail);
    } else {
        GSW_TRY_GOTO(
            open_factor(context, matrix, type, GSW_FACTOR_LOWER, sections, bytes, &g->factor[0]),
            fail);
        GSW_TRY_GOTO(
            open_factor(context, matrix, type, GSW_FACTOR_UPPER, sections, bytes, &g->factor[1]),
            fail);
        g->sections = g->factor[0]->sections;
    }
    *made = g;
    return GSW_SUCCESS;

fail:
    gsw_packed_gs_close(context, g);
    return status;
}

gsw_status gsw_packed_gs_fill(gsw_context *context, gsw_gauss_seidel *g, const gsw_matrix *matrix) {
    for (int i = 0; i < 2; i++)
        if (g->factor[i])
            GSW_TRY(context->ops->factor->fill(context, g->factor[i], matrix, NULL));
    return GSW_SUCCESS;
}

gsw_status gsw_packed_gs_await(gsw_context *context, gsw_gauss_seidel *g) {
    for (int i = 0; i < 2; i++)
        if (g->factor[i])
            GSW_TRY(context->ops->factor->await(context, g->factor[i]));
    return GSW_SUCCESS;
}

static const gsw_packed_gauss_seidel_ops *own(const gsw_context *context) {
    return (const gsw_packed_gauss_seidel_ops *)(const void *)context->ops->multigrid->gauss_seidel;
}

static gsw_status sweep(gsw_context *context, gsw_factor *factor, int which, const void *b,
                        void *x) {
    return context->ops->factor->sweep(context, factor, which, 1, b, 0, x, 0);
}

/* Sweeps upwards and downwards: with z = (D + L)^-1 (b - U x), x becomes (D + U)^-1 (b - L z). The
 * second right-hand side is D z + U x. So x + (I + D^-1 U)^-1 (z - x) is the same and needs no
 * other product: the factor is SSOR's, (D + L) (I + D^-1 U). From x = 0 it needs no product at
 * all. */
static gsw_status sweep_both(gsw_context *context, const gsw_gauss_seidel *g,
                             const gsw_matrix *matrix, int zero, const void *b, void *x,
                             void *work) {
    const gsw_multigrid_ops *ops = context->ops->multigrid;
    void *to = zero ? x : work;
    if (!zero)
        GSW_TRY(own(context)->rest(context, matrix, g->type, 0, gsw_uncut(), b, x, to));
    GSW_TRY(sweep(context, g->factor[0], 0, zero ? b : to, to));
    if (!zero)
        GSW_TRY(ops->combine(context, g->type, g->points, -1, x, 1, to));
    GSW_TRY(sweep(context, g->factor[0], 1, to, to));
    return zero ? GSW_SUCCESS : ops->combine(context, g->type, g->points, 1, to, 1, x);
}

/* Upwards: x = (D + L)^-1 (b - U x); downwards: with L and U exchanged. With sections L and U are
 * the parts inside of sections. Couplings between sections belong to the right-hand side in both
 * directions. */
gsw_status gsw_packed_gs_step(gsw_context *context, gsw_gauss_seidel *g, const gsw_matrix *matrix,
                              int down, int zero, const void *b, void *x, void *work) {
    if (!g->factor[1])
        return sweep_both(context, g, matrix, zero, b, x, work);
    if (!zero)
        GSW_TRY(own(context)->rest(context, matrix, g->type, down, g->sections, b, x, work));
    return sweep(context, g->factor[down != 0], 0, zero ? b : work, x);
}

/* After a sweep upwards from zero (D + L) x = b, so the residual is -U x and needs only half the
 * matrix. With sections, it also needs the couplings between sections. */
gsw_status gsw_packed_gs_descend(gsw_context *context, gsw_gauss_seidel *g,
                                 const gsw_transfer *transfer, const gsw_matrix *matrix,
                                 void *const *weights, const void *b, void *x, void *work,
                                 void *to) {
    GSW_TRY(sweep(context, g->factor[0], 0, b, x));
    return own(context)->restrict_rest(context, transfer, matrix, g->type, g->sections, weights, x,
                                       work, to);
}

gsw_status gsw_packed_gs_ascend(gsw_context *context, gsw_gauss_seidel *g,
                                const gsw_transfer *transfer, const gsw_matrix *matrix,
                                void *const *weights, const void *from, const void *b, void *x,
                                void *work) {
    GSW_TRY(context->ops->multigrid->prolong_add(context, transfer, g->type, weights, from, x));
    return gsw_packed_gs_step(context, g, matrix, 1, 0, b, x, work);
}

void gsw_packed_gs_close(gsw_context *context, gsw_gauss_seidel *g) {
    (void)context;
    if (!g)
        return;
    gsw_packed_close(g->factor[1]);
    gsw_packed_close(g->factor[0]);
    free(g);
}
