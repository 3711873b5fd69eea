/* taken.c: see taken.h. */
#include "taken.h"

#include "common/arrays.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "domain/wrapped.h"
#include "matrix/distributed_matrix.h"
#include "matrix/matrix_row.h"

/* Arrays may have this many times the values of the CSR. */
enum { MOST_ZEROS = 2 };

static int is_worth_it(const gsw_matrix *matrix) {
    gsw_stencil near;
    if (matrix->partition != NULL || gsw_matrix_kind_of(matrix) != GSW_KIND_CSR)
        return 0;
    gsw_stencil_near(matrix, &near, NULL);
    return gsw_matrix_own_points(matrix) <= MOST_ZEROS * matrix->csr.nonzeros / near.count;
}

/* Fills the arrays, those around a periodic grid and without inactive points included. */
static gsw_status fill(gsw_context *context, const gsw_matrix *matrix, const gsw_matrix *view,
                       void *const *arrays) {
    gsw_wrapped around = {.block = NULL};
    GSW_TRY(gsw_wrapped_copy_box(context, matrix, view->array.value_type, arrays));
    gsw_status status = gsw_wrapped_take(context, matrix, &around);
    if (status == GSW_SUCCESS && around.block != NULL)
        status = context->ops->wrap->move(context, &around.wraps, (double *const *)arrays, 0);
    gsw_wrapped_close(context, &around);
    if (status == GSW_SUCCESS && view->active != NULL)
        status = context->ops->mask->cut(context, view, view->array.value_type, arrays);
    return status;
}

static gsw_status copy_rows(gsw_context *context, const gsw_matrix *matrix, gsw_taken *taken) {
    const gsw_dtype type = matrix->grid.periodic ? GSW_F64 : gsw_matrix_value_type(matrix);
    gsw_matrix view = *matrix;
    gsw_stencil_near(matrix, &view.stencil, NULL);
    if (taken->arrays.block == NULL)
        GSW_TRY(gsw_level_alloc_arrays(context, view.stencil.count, gsw_matrix_own_points(matrix),
                                       0, type, &taken->bytes, &taken->arrays));
    view.format = GSW_FORMAT_STENCIL;
    view.array = (gsw_stencil_array){.values = (const void *const *)taken->arrays.values,
                                     .value_type = type};
    taken->view = view;
    return fill(context, matrix, &view, taken->arrays.values);
}

gsw_status gsw_taken_copy(gsw_context *context, const gsw_matrix *matrix, gsw_taken *taken) {
    taken->view = *matrix;
    return gsw_matrix_is_arrays(matrix) ? GSW_SUCCESS : copy_rows(context, matrix, taken);
}

gsw_status gsw_taken_take(gsw_context *context, const gsw_matrix *matrix, gsw_taken *taken) {
    taken->view = *matrix;
    if (!is_worth_it(matrix))
        return GSW_SUCCESS;
    const gsw_quiet quiet = gsw_quiet_begin(context);
    const gsw_status status = copy_rows(context, matrix, taken);
    if (status != GSW_ERROR_OUT_OF_MEMORY)
        return gsw_matrix_explain(context, &quiet, matrix, -1, 0, status);
    gsw_quiet_end(context, &quiet, 1);
    gsw_taken_close(context, taken);
    taken->view = *matrix;
    return GSW_SUCCESS;
}

void gsw_taken_close(gsw_context *context, gsw_taken *taken) {
    gsw_unreserve(context, taken->arrays.block);
    taken->arrays.block = NULL;
}
