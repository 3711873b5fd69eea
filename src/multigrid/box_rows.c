/* box_rows.c: see box_rows.h. */
#include "box_rows.h"

#include "common/arrays.h"
#include "contract/error.h"
#include "core/reserve.h"
#include "domain/masked.h"

gsw_status gsw_box_rows_take(gsw_context *context, const gsw_matrix *matrix, gsw_box_rows *rows) {
    rows->view = *matrix;
    rows->view.grid.periodic = 0;
    GSW_TRY(gsw_wrapped_take(context, matrix, &rows->around));
    if (gsw_matrix_is_arrays(matrix) && matrix->active == NULL)
        return GSW_SUCCESS;
    int64_t points;
    gsw_matrix box = gsw_matrix_of_box(matrix);
    double *const *arrays = (double *const *)rows->arrays.values;
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    if (rows->arrays.block == NULL)
        GSW_TRY(gsw_level_alloc_arrays(context, box.stencil.count, points, 0, GSW_F64, &rows->bytes,
                                       &rows->arrays));
    box.array = (gsw_stencil_array){.values = (const void *const *)rows->arrays.values,
                                    .value_type = GSW_F64};
    rows->view = box;
    GSW_TRY(gsw_wrapped_copy_box(context, matrix, GSW_F64, rows->arrays.values));
    if (matrix->active == NULL)
        return GSW_SUCCESS;
    box.active = matrix->active;
    box.grid.periodic = matrix->grid.periodic;
    return gsw_masked_extend(context, &box, &rows->around, arrays);
}

void gsw_box_rows_move(gsw_box_rows *from, gsw_box_rows *to) {
    *to = *from;
    if (to->arrays.block != NULL)
        to->view.array.values = (const void *const *)to->arrays.values;
    from->arrays.block = NULL;
    from->around.block = NULL;
}

void gsw_box_rows_release(gsw_context *context, gsw_box_rows *rows) {
    gsw_wrapped_close(context, &rows->around);
    gsw_unreserve(context, rows->arrays.block);
    rows->arrays.block = NULL;
}
