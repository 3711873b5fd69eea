/* spmv.c: validates and dispatches products with a matrix. */
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"
#include "masked.h"

/* y = A x, or b - A x, of a matrix with a mask: with copies of the matrix and of the vectors. */
static gsw_status multiply_masked(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                  int64_t points, const void *b, const void *x, void *y) {
    gsw_masked masked = {0};
    gsw_matrix plain;
    void *active_x = NULL;
    gsw_status status = gsw_masked_take(context, matrix, &masked, &plain);
    if (status == GSW_SUCCESS)
        status = gsw_reserve_counted(context, (size_t)points, gsw_dtype_size(type), &masked.bytes,
                                     &active_x);
    if (status == GSW_SUCCESS)
        status = gsw_masked_vector(context, &masked, type, points, x, active_x);
    if (status == GSW_SUCCESS)
        status = context->ops->matrix->spmv(context, &plain, type, b, active_x, y);
    if (status == GSW_SUCCESS)
        status = gsw_masked_vector(context, &masked, type, points, y, y);
    gsw_unreserve(context, active_x);
    gsw_masked_close(context, &masked);
    return status;
}

static gsw_status multiply(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                           int64_t points, const void *b, const void *x, void *y) {
    return matrix->active != NULL ? multiply_masked(context, matrix, type, points, b, x, y)
                                  : context->ops->matrix->spmv(context, matrix, type, b, x, y);
}

gsw_status gsw_spmv(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                    const void *x, void *y) {
    const gsw_vector vectors[] = {{.name = "x", .data = x}, {.name = "y", .data = y, .written = 1}};
    int64_t points;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_kind(context, matrix));
    GSW_TRY(gsw_check_vector_type(context, matrix, vector_type));
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    GSW_TRY(gsw_check_vectors(context, points, vector_type, 1, vectors, 2));
    return multiply(context, matrix, vector_type, points, NULL, x, y);
}

gsw_status gsw_residual(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                        const void *b, const void *x, void *r) {
    const gsw_vector vectors[] = {{.name = "b", .data = b},
                                  {.name = "x", .data = x},
                                  {.name = "r", .data = r, .written = 1, .may_be = "b"}};
    int64_t points;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_kind(context, matrix));
    GSW_TRY(gsw_check_vector_type(context, matrix, vector_type));
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    GSW_TRY(gsw_check_vectors(context, points, vector_type, 1, vectors, 3));
    return multiply(context, matrix, vector_type, points, b, x, r);
}
