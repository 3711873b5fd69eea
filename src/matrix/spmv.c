/* spmv.c: validates and dispatches products with a matrix. */
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"

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
    return context->ops->matrix->spmv(context, matrix, vector_type, NULL, x, y);
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
    return context->ops->matrix->spmv(context, matrix, vector_type, b, x, r);
}
