/* spmv.c: validates and dispatches products with a matrix. */
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "domain/masked.h"

/* y = A x, or b - A x; of a matrix with a mask through a copy without its inactive points, and on a
 * periodic grid in two parts. */
static gsw_status multiply(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                           const void *b, const void *x, void *y) {
    gsw_masked masked = {0};
    gsw_matrix plain;
    if (matrix->active == NULL && matrix->grid.periodic == 0)
        return context->ops->matrix->spmv(context, matrix, type, b, x, y);
    gsw_status status = gsw_masked_take(context, matrix, 0, &masked, &plain);
    if (status == GSW_SUCCESS)
        status = gsw_masked_multiply(context, &masked, &plain, type, b, x, y);
    gsw_masked_close(context, &masked);
    return status;
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
    return multiply(context, matrix, vector_type, NULL, x, y);
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
    return multiply(context, matrix, vector_type, b, x, r);
}
