/* relax.c: the plain sweep of stencil loops, which the kernels equal, bit by bit where the
 * processor fuses multiply-adds. A tile is the whole grid, and a pass is one sweep. */
#include "reference/relax.h"
#include "common/arrays.h"
#include "contract/context.h"
#include "reference/reference.h"
#include "reference/rows.h"

void gsw_reference_relax(const gsw_matrix *matrix, double alpha, double beta, int zero,
                         const void *b, const void *x, void *y, const void *p, void *q) {
    const gsw_grid *g = &matrix->grid;
    const gsw_dtype type = gsw_matrix_value_type(matrix);
    const double a = gsw_reference_rounded(type, alpha), c = gsw_reference_rounded(type, beta);
    for (int64_t row = 0; row < gsw_reference_points(g); row++) {
        double sum = gsw_value_at(b, type, row), diagonal;
        if (!zero)
            sum = gsw_reference_row_product(matrix, row, type, sum, 1, x);
        (void)gsw_reference_stored(matrix, row, matrix->stencil.center, &diagonal);
        const double t =
            gsw_reference_rounded(type, sum * gsw_reference_rounded(type, 1 / diagonal));
        double next = gsw_reference_rounded(type, a * t);
        if (beta != 0)
            next = gsw_reference_fused(type, a, t,
                                       gsw_reference_rounded(type, c * gsw_value_at(p, type, row)));
        if (q)
            gsw_value_put(q, type, row, next);
        gsw_value_put(y, type, row, zero ? next : gsw_value_at(x, type, row) + next);
    }
}

static gsw_status tile(gsw_context *context, const gsw_matrix *matrix, int32_t height, int32_t k,
                       gsw_relax_tile *tile) {
    const gsw_grid *g = &matrix->grid;
    (void)context;
    *tile = (gsw_relax_tile){0};
    if (height == 1 && k == 0)
        *tile = (gsw_relax_tile){.height = 1,
                                 .stream = -1,
                                 .extent = {g->nx, g->ny, g->nz},
                                 .workers = 1,
                                 .load = 1,
                                 .effort = 1};
    return GSW_SUCCESS;
}

static gsw_status prepare(gsw_context *context, const gsw_matrix *matrix) {
    (void)context;
    (void)matrix;
    return GSW_SUCCESS;
}

static gsw_status pass(gsw_context *context, const gsw_relax_pass *pass) {
    (void)context;
    gsw_reference_relax(pass->matrix, pass->alpha[0], pass->beta[0], pass->zero, pass->b, pass->x,
                        pass->y, pass->p, pass->q);
    return GSW_SUCCESS;
}

/* Times of any machine: there is one tile to choose from. */
static void machine(gsw_context *context, gsw_dtype type, gsw_relax_machine *machine) {
    (void)context;
    (void)type;
    *machine = (gsw_relax_machine){.bandwidth = 1e9, .point = 1e-8, .term = 1e-8, .line = 1e-8};
}

const gsw_relax_ops gsw_reference_relax_ops = {
    .machine = machine, .tile = tile, .prepare = prepare, .pass = pass};
