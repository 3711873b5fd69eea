/* operator.c: operators from matrices and from callbacks. */
#include <stdlib.h>

#include "common/arrays.h"
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "contract/multigrid_ops.h"
#include "core/callback.h"
#include "core/reserve.h"
#include "krylov_method.h"

/* Creates an operator without a matrix or callback. */
static gsw_status create(gsw_context *context, int64_t points, gsw_operator **op) {
    gsw_operator *made;
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "an operator", (void **)&made));
    memset(made, 0, sizeof *made);
    made->context = context;
    made->points = points;
    *op = made;
    return GSW_SUCCESS;
}

static gsw_status multiply_shared(void *user, gsw_context *context, const double *x, double *y) {
    (void)context;
    return gsw_distributed_matrix_multiply(user, x, y);
}

/* The product with a matrix on a periodic grid. */
static gsw_status multiply_around(void *user, gsw_context *context, const double *x, double *y) {
    const gsw_operator *op = user;
    GSW_TRY(context->ops->matrix->spmv(context, &op->product, GSW_F64, NULL, x, y));
    return gsw_wrapped_multiply(context, &op->masked.around, GSW_F64, 1, x, y);
}

/* An operator of a matrix on a partition. */
static gsw_status from_shared(gsw_context *context, const gsw_matrix *matrix, gsw_operator **op) {
    gsw_partition *p = matrix->partition;
    gsw_operator *made = NULL;
    gsw_status status = gsw_partition_check_result(p, op, "op");
    if (status == GSW_SUCCESS)
        status = create(context, gsw_box_points(&p->own), &made);
    status = gsw_partition_agree(p, status);
    if (status == GSW_SUCCESS && made != NULL)
        status = gsw_distributed_matrix_open(matrix, &made->shared);
    if (status == GSW_SUCCESS && made != NULL) {
        const gsw_matrix box = gsw_matrix_of_own_box(matrix);
        made->apply = multiply_shared;
        made->user = made->shared;
        status = gsw_partition_agree(p, gsw_masked_take_mask(context, &box, &made->masked));
    }
    if (status != GSW_SUCCESS) {
        gsw_operator_destroy(made);
        made = NULL;
    }
    if (op != NULL)
        *op = made;
    return status;
}

gsw_status gsw_operator_from_matrix(gsw_context *context, const gsw_matrix *matrix,
                                    gsw_operator **op) {
    int64_t points;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    if (matrix != NULL && gsw_partition_of(matrix) != NULL)
        return from_shared(context, matrix, op);
    GSW_REQUIRE(context, op != NULL, "op is NULL");
    *op = NULL;
    GSW_REQUIRE(context, matrix != NULL, "matrix is NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    gsw_operator *made;
    gsw_matrix plain;
    GSW_TRY(create(context, points, &made));
    const gsw_status status = gsw_masked_take(context, matrix, 0, &made->masked, &plain);
    if (status != GSW_SUCCESS) {
        gsw_operator_destroy(made);
        return status;
    }
    gsw_matrix_keep(&plain, &made->matrix, made->arrays);
    gsw_matrix_keep(&plain, &made->product, made->halves);
    if (made->masked.around.block != NULL) {
        made->apply = multiply_around;
        made->user = made;
    }
    *op = made;
    return GSW_SUCCESS;
}

void gsw_operator_read_half(gsw_operator *op) {
    const gsw_matrix *m = &op->matrix;
    const int64_t size = (int64_t)gsw_dtype_size(m->array.value_type);
    for (int32_t e = 0; e < m->stencil.center; e++) {
        const gsw_offset o = m->stencil.offsets[e];
        const int32_t mirror = gsw_matrix_mirror(m, e);
        if (mirror >= 0 && op->arrays[e] != NULL && op->arrays[mirror] != NULL)
            op->halves[e] =
                (const char *)op->arrays[mirror] + size * gsw_grid_row(&m->grid, o.dx, o.dy, o.dz);
    }
}

gsw_status gsw_operator_from_callback(gsw_context *context, int64_t points, gsw_apply_fn apply,
                                      void *user, gsw_operator **op) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, op != NULL, "op is NULL");
    *op = NULL;
    GSW_REQUIRE(context, points >= 1, "points is %lld; it must be at least 1", (long long)points);
    GSW_REQUIRE(context, apply != NULL, "apply is NULL");
    GSW_TRY(create(context, points, op));
    (*op)->apply = apply;
    (*op)->user = user;
    return GSW_SUCCESS;
}

gsw_status gsw_operator_check(gsw_context *context, const gsw_operator *op) {
    GSW_REQUIRE(context, op != NULL, "operator is NULL");
    GSW_REQUIRE(context, op->context == context, "operator belongs to another context");
    return GSW_SUCCESS;
}

gsw_status gsw_operator_multiply(const gsw_operator *op, const double *x, double *y) {
    if (op->apply != NULL)
        return gsw_call_apply(op->context, "operator", op->apply, op->user, x, y);
    return op->context->ops->matrix->spmv(op->context, &op->product, GSW_F64, NULL, x, y);
}

/* On several processes: x may hold anything at inactive points. */
static gsw_status multiply_masked(const gsw_operator *op, const double *x, double *y) {
    gsw_context *context = op->context;
    double *active_x = NULL;
    gsw_status status = gsw_reserve_vector(context, op->points, &active_x);
    if (status == GSW_SUCCESS)
        status = gsw_masked_vector(context, &op->masked, GSW_F64, op->points, x, active_x);
    status = gsw_partition_agree(op->shared->partition, status);
    if (status == GSW_SUCCESS)
        status = gsw_operator_multiply(op, active_x, y);
    gsw_unreserve(context, active_x);
    return status;
}

gsw_status gsw_operator_apply(gsw_context *context, const gsw_operator *op, const double *x,
                              double *y) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_operator_check(context, op));
    const gsw_vector vectors[] = {{.name = "x", .data = x}, {.name = "y", .data = y, .written = 1}};
    GSW_TRY(gsw_check_vectors(context, op->points, GSW_F64, 1, vectors, 2));
    if (op->masked.active == NULL)
        return gsw_operator_multiply(op, x, y);
    return op->shared != NULL
               ? multiply_masked(op, x, y)
               : gsw_masked_multiply(context, &op->masked, &op->matrix, GSW_F64, NULL, x, y);
}

int64_t gsw_operator_points(const gsw_operator *op) {
    return op == NULL ? 0 : op->points;
}

void gsw_operator_destroy(gsw_operator *op) {
    if (op == NULL)
        return;
    gsw_distributed_matrix_destroy(op->shared);
    gsw_masked_close(op->context, &op->masked);
    free(op);
}
