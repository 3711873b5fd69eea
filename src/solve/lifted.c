/* lifted.c: see lifted.h. */
#include "lifted.h"

#include <math.h>

#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"
#include "core/sums.h"
#include "krylov/krylov_method.h"
#include "matrix/distributed_rows.h"
#include "taken.h"

/* A solve aims a little lower than it has to, because sums are rounded. */
#define MARGIN 0.9

/* Marks the fixed points on one process. */
static gsw_status find_alone(gsw_context *context, const gsw_matrix *matrix, uint8_t *left,
                             int64_t counts[3]) {
    const gsw_grid *g = &matrix->grid;
    const gsw_frame whole = {.n = {g->nx, g->ny, g->nz}, .e = {g->nx, g->ny, g->nz}};
    gsw_taken arrays = {.bytes = 0};
    gsw_status status = gsw_taken_copy(context, matrix, &arrays);
    if (status == GSW_SUCCESS)
        status = context->ops->mask->find_fixed(context, &arrays.view, &whole, left, counts);
    gsw_taken_close(context, &arrays);
    return status;
}

/* The same for the own box, from the rows around it. Collective. */
static gsw_status find_shared(gsw_context *context, const gsw_matrix *matrix, uint8_t *left,
                              int64_t counts[3]) {
    gsw_distributed_matrix *own;
    gsw_distributed_rows rows = {.of = NULL};
    uint8_t *framed = NULL;
    GSW_TRY(gsw_distributed_matrix_open(matrix, &own));
    gsw_status status = gsw_distributed_rows_around(own, &rows);
    if (status == GSW_SUCCESS && matrix->active != NULL)
        status = gsw_mask_in_frame(&rows.ghosts, matrix->active, &framed);
    rows.matrix.active = framed;
    if (status == GSW_SUCCESS)
        status =
            context->ops->mask->find_fixed(context, &rows.matrix, &rows.ghosts.frame, left, counts);
    status = gsw_partition_agree(matrix->partition, status);
    gsw_unreserve(context, framed);
    gsw_distributed_rows_close(&rows);
    gsw_distributed_matrix_destroy(own);
    return status;
}

/* Marks the fixed points, and counts those of all processes. */
static gsw_status find(gsw_lifted *l, const gsw_matrix *matrix) {
    int64_t counts[3] = {0}, bytes = 0;
    GSW_TRY(gsw_matrix_agree(
        matrix, gsw_reserve_counted(l->context, (size_t)l->points, 1, &bytes, (void **)&l->left)));
    GSW_TRY(gsw_partition_of(matrix) != NULL ? find_shared(l->context, matrix, l->left, counts)
                                             : find_alone(l->context, matrix, l->left, counts));
    double sums[3] = {(double)counts[0], (double)counts[1], (double)counts[2]};
    GSW_TRY(gsw_context_sum(l->context, 3, sums));
    l->alone = (int64_t)sums[0];
    l->large = (int64_t)sums[1];
    l->zeros = (int64_t)sums[2];
    return GSW_SUCCESS;
}

static gsw_status open_vectors(gsw_lifted *l, const gsw_matrix *matrix) {
    GSW_TRY(gsw_reserve_vector(l->context, l->points, &l->r));
    GSW_TRY(gsw_reserve_vector(l->context, l->points, &l->e));
    GSW_TRY(gsw_reserve_vector(l->context, l->points, &l->spare));
    return matrix->active != NULL ? gsw_reserve_vector(l->context, l->points, &l->kept)
                                  : GSW_SUCCESS;
}

gsw_status gsw_lifted_open(gsw_context *context, const gsw_matrix *matrix, gsw_lifted *l) {
    const gsw_grid *g = &matrix->grid;
    const gsw_factor_options jacobi = {.size = sizeof jacobi, .kind = GSW_JACOBI, .pivot_shift = 1};
    *l = (gsw_lifted){.context = context, .points = gsw_matrix_own_points(matrix)};
    GSW_TRY(find(l, matrix));
    const int64_t fixed = l->alone + l->large + l->zeros;
    if (fixed == 0 || fixed == g->nx * g->ny * g->nz) {
        gsw_lifted_close(l);
        return GSW_SUCCESS;
    }
    GSW_TRY(gsw_operator_from_matrix(context, matrix, &l->whole));
    GSW_TRY(gsw_factor_create(context, matrix, &jacobi, &l->diagonal));
    return gsw_matrix_agree(matrix, open_vectors(l, matrix));
}

void gsw_lifted_close(gsw_lifted *l) {
    void *const memory[] = {l->kept, l->spare, l->e, l->r, l->left};
    for (int i = 0; i < 5 && l->context != NULL; i++)
        gsw_unreserve(l->context, memory[i]);
    gsw_factor_destroy(l->diagonal);
    gsw_operator_destroy(l->whole);
    *l = (gsw_lifted){.context = NULL};
}

static gsw_status norm(const gsw_lifted *l, const double *x, double *result) {
    GSW_TRY(gsw_dot(l->context, l->points, x, x, result));
    *result = sqrt(*result);
    return GSW_SUCCESS;
}

/* y = x where the point is active (`left`: is left), else z, or 0. */
static gsw_status select(const gsw_lifted *l, int left, const double *x, const double *z,
                         double *y) {
    const uint8_t *active = left ? l->left : l->whole->masked.active;
    return active == NULL
               ? GSW_SUCCESS
               : l->context->ops->mask->select(l->context, GSW_F64, l->points, active, x, z, y);
}

/* r = b - A x. */
static gsw_status find_residual(const gsw_lifted *l, const double *b, const double *x) {
    GSW_TRY(gsw_operator_multiply(l->whole, x, l->r));
    GSW_TRY(l->context->ops->vector->axpby(l->context, l->points, 1, b, -1, l->r));
    return select(l, 0, l->r, NULL, l->r);
}

/* x_F += D_F^-1 r_F */
static gsw_status fix(const gsw_lifted *l, double *x) {
    GSW_TRY(gsw_factor_solve(l->context, l->diagonal, 1, l->r, l->points, l->spare, l->points));
    GSW_TRY(l->context->ops->vector->axpby(l->context, l->points, 1, x, 1, l->spare));
    return select(l, 1, x, l->spare, x);
}

gsw_status gsw_lifted_begin(gsw_lifted *l, const double *b, double *x, gsw_lifted_goal *goal) {
    const gsw_vector_ops *ops = l->context->ops->vector;
    double inside = 0, guess;
    if (l->kept != NULL)
        GSW_TRY(ops->copy(l->context, l->points, x, l->kept));
    GSW_TRY(select(l, 0, x, NULL, x));
    GSW_TRY(norm(l, x, &guess));
    if (!isfinite(guess)) /* as where nothing is lifted */
        GSW_TRY(ops->fill(l->context, l->points, 0, x));
    GSW_TRY(ops->copy(l->context, l->points, b, l->r));
    GSW_TRY(select(l, 0, l->r, NULL, l->r));
    GSW_TRY(norm(l, l->r, &goal->reference));
    goal->is_fixed = 0;
    if (!isfinite(goal->reference))
        return gsw_fail(l->context, GSW_ERROR_NON_FINITE, "the norm of b is not finite");
    if (l->large > 0) { /* b of what is left */
        GSW_TRY(ops->fill(l->context, l->points, 0, l->e));
        GSW_TRY(fix(l, l->e));
        GSW_TRY(find_residual(l, b, l->e));
        GSW_TRY(select(l, 1, l->r, NULL, l->r));
        GSW_TRY(norm(l, l->r, &inside));
    }
    goal->all = fmax(goal->rtol * goal->reference, goal->atol);
    goal->left = inside > 0 ? fmax(goal->rtol * inside, goal->atol) : goal->all;
    return GSW_SUCCESS;
}

gsw_status gsw_lifted_next(gsw_lifted *l, const double *b, double *x, gsw_lifted_goal *goal,
                           double *rtol) {
    double left;
    if (!goal->is_fixed) {
        GSW_TRY(find_residual(l, b, x));
        GSW_TRY(fix(l, x));
        goal->is_fixed = l->large == 0;
    }
    GSW_TRY(find_residual(l, b, x));
    GSW_TRY(norm(l, l->r, &goal->residual));
    GSW_TRY(select(l, 1, l->r, NULL, l->r));
    GSW_TRY(norm(l, l->r, &left));
    if (!isfinite(goal->residual))
        return gsw_fail(l->context, GSW_ERROR_NON_FINITE, "the norm of b - A x is not finite");
    const double least = goal->left < goal->all ? goal->left : goal->all;
    if (goal->residual <= goal->all && left <= goal->left)
        *rtol = 0;
    else
        *rtol = left > 0 ? fmin(MARGIN * least / left, 1) : 1;
    return GSW_SUCCESS;
}

gsw_status gsw_lifted_restore(const gsw_lifted *l, double *x) {
    return l->kept != NULL ? select(l, 0, x, l->kept, x) : GSW_SUCCESS;
}
