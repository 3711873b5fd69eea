/* spmv.c: validates and dispatches products with a matrix. */
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"

static gsw_status check_types(gsw_context *context, const gsw_matrix *matrix,
                              gsw_dtype vector_type) {
    gsw_dtype values =
        matrix->format == GSW_FORMAT_CSR ? matrix->csr.value_type : matrix->array.value_type;
    GSW_REQUIRE(context, vector_type == GSW_F64 || vector_type == GSW_F32,
                "vector_type %d is unknown", (int)vector_type);
    if (vector_type == GSW_F32 && values == GSW_F64)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "fp32 vectors need a matrix with fp32 values");
    return GSW_SUCCESS;
}

gsw_status gsw_spmv(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                    const void *x, void *y) {
    const gsw_vector vectors[] = {{.name = "x", .data = x}, {.name = "y", .data = y, .written = 1}};
    int64_t points;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(check_types(context, matrix, vector_type));
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    GSW_TRY(gsw_check_vectors(context, points, vector_type, 1, vectors, 2));
    return context->ops->spmv(context, matrix, vector_type, NULL, x, y);
}

gsw_status gsw_residual(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                        const void *b, const void *x, void *r) {
    const gsw_vector vectors[] = {{.name = "b", .data = b},
                                  {.name = "x", .data = x},
                                  {.name = "r", .data = r, .written = 1, .may_be = "b"}};
    int64_t points;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(check_types(context, matrix, vector_type));
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    GSW_TRY(gsw_check_vectors(context, points, vector_type, 1, vectors, 3));
    return context->ops->spmv(context, matrix, vector_type, b, x, r);
}
