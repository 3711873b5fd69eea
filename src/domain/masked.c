/* masked.c: see masked.h. */
#include "masked.h"

#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "common/arrays.h"
#include "core/reserve.h"

static int64_t points_of(const gsw_matrix *matrix) {
    return matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
}

gsw_status gsw_masked_take_mask(gsw_context *context, const gsw_matrix *matrix,
                                gsw_masked *masked) {
    const size_t points = (size_t)points_of(matrix);
    if (matrix->active == NULL)
        return GSW_SUCCESS;
    GSW_TRY(context->ops->memory->check_place(context, "active", matrix->active));
    if (masked->active == NULL)
        GSW_TRY(gsw_reserve_counted(context, points, 1, &masked->bytes, (void **)&masked->active));
    return context->ops->mask->take(context, (int64_t)points, matrix->active, masked->active);
}

static gsw_status open_arrays(gsw_context *context, const gsw_matrix *plain, gsw_masked *masked) {
    const size_t points = (size_t)points_of(plain);
    const size_t size = gsw_dtype_size(gsw_matrix_value_type(plain));
    if (masked->block != NULL)
        return GSW_SUCCESS;
    GSW_TRY(gsw_reserve_counted(context, points, (size_t)plain->stencil.count * size,
                                &masked->bytes, &masked->block));
    for (int32_t e = 0; e < plain->stencil.count; e++)
        masked->arrays[e] = (char *)masked->block + (size_t)e * points * size;
    return GSW_SUCCESS;
}

gsw_status gsw_masked_take(gsw_context *context, const gsw_matrix *matrix, int box,
                           gsw_masked *masked, gsw_matrix *plain) {
    const gsw_dtype type = gsw_matrix_value_type(matrix);
    const int is_csr = gsw_matrix_kind_of(matrix) == GSW_KIND_CSR;
    const int shortens = box && is_csr && matrix->grid.periodic;
    int is_cut = 0;
    *plain = *matrix;
    plain->active = NULL;
    plain->grid.periodic = 0;
    GSW_TRY(gsw_masked_take_mask(context, matrix, masked));
    if (!box && !is_csr)
        GSW_TRY(gsw_wrapped_take(context, matrix, &masked->around));
    if (matrix->active != NULL && masked->around.block != NULL)
        GSW_TRY(context->ops->wrap->cut(context, &masked->around.wraps, masked->active));
    if (matrix->active != NULL && gsw_matrix_is_arrays(matrix))
        GSW_TRY(context->ops->mask->is_cut(context, matrix, &is_cut));
    if (!shortens && (matrix->active == NULL || is_cut))
        return GSW_SUCCESS;
    if (shortens)
        gsw_stencil_near(matrix, &plain->stencil, NULL);
    GSW_TRY(open_arrays(context, plain, masked));
    if (shortens)
        GSW_TRY(gsw_wrapped_copy_box(context, matrix, type, masked->arrays));
    else
        GSW_TRY(context->ops->multigrid->copy_arrays(context, plain, type, masked->arrays));
    plain->format = GSW_FORMAT_STENCIL;
    plain->array =
        (gsw_stencil_array){.values = (const void *const *)masked->arrays, .value_type = type};
    if (matrix->active == NULL)
        return GSW_SUCCESS;
    gsw_matrix cut = *plain;
    cut.active = matrix->active;
    return context->ops->mask->cut(context, &cut, type, masked->arrays);
}

gsw_status gsw_masked_extend(gsw_context *context, const gsw_matrix *matrix,
                             const gsw_wrapped *around, double *const *arrays) {
    const gsw_mask_ops *ops = context->ops->mask;
    const gsw_wraps *wraps = gsw_wraps_of(around);
    const int64_t points = points_of(matrix);
    double *memory;
    if (wraps != NULL)
        GSW_TRY(context->ops->wrap->move(context, wraps, arrays, 0));
    GSW_TRY(ops->cut(context, matrix, GSW_F64, (void *const *)arrays));
    GSW_TRY(gsw_reserve_vector(context, points, &memory)); /* for one number per point */
    const gsw_status status = ops->extend(context, matrix, (int64_t *)memory, arrays);
    gsw_unreserve(context, memory);
    GSW_TRY(status);
    return wraps != NULL ? context->ops->wrap->move(context, wraps, arrays, 1) : GSW_SUCCESS;
}

void gsw_masked_drop_arrays(gsw_context *context, gsw_masked *masked) {
    gsw_unreserve(context, masked->block);
    masked->block = NULL;
}

void gsw_masked_drop_mask(gsw_context *context, gsw_masked *masked) {
    gsw_unreserve(context, masked->active);
    masked->active = NULL;
}

void gsw_masked_close(gsw_context *context, gsw_masked *masked) {
    gsw_masked_drop_arrays(context, masked);
    gsw_wrapped_close(context, &masked->around);
    gsw_masked_drop_mask(context, masked);
}

gsw_status gsw_masked_vector(gsw_context *context, const gsw_masked *masked, gsw_dtype type,
                             int64_t points, const void *x, void *y) {
    if (masked->active == NULL && x == y)
        return GSW_SUCCESS;
    return context->ops->mask->select(context, type, points, masked->active, x, NULL, y);
}

gsw_status gsw_masked_multiply(gsw_context *context, const gsw_masked *masked,
                               const gsw_matrix *plain, gsw_dtype type, const void *b,
                               const void *x, void *y) {
    const int64_t points = points_of(plain);
    const double sign = b != NULL ? -1 : 1;
    void *active_x = NULL;
    int64_t bytes = 0;
    gsw_status status = GSW_SUCCESS;
    if (masked->active != NULL) {
        GSW_TRY(
            gsw_reserve_counted(context, (size_t)points, gsw_dtype_size(type), &bytes, &active_x));
        status = gsw_masked_vector(context, masked, type, points, x, active_x);
        x = active_x;
    }
    if (status == GSW_SUCCESS)
        status = context->ops->matrix->spmv(context, plain, type, b, x, y);
    if (status == GSW_SUCCESS)
        status = gsw_wrapped_multiply(context, &masked->around, type, sign, x, y);
    if (status == GSW_SUCCESS)
        status = gsw_masked_vector(context, masked, type, points, y, y);
    gsw_unreserve(context, active_x);
    return status;
}
