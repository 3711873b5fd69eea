/* factor.c: what a factor is of, the status of a factorisation, and its message. */
#include <stdlib.h>
#include "contract/backend.h"
#include "common/csr.h"
#include "contract/context.h"
#include "contract/error.h"
#include "contract/row.h"

void gsw_factor_name_system(gsw_factor *made, const gsw_matrix *matrix) {
    made->grid = matrix->grid;
    made->stencil = matrix->stencil;
    made->info = (gsw_factor_info){.size = sizeof made->info,
                                   .kind = made->options.kind,
                                   .factor_type = made->options.factor_type,
                                   .vector_type = made->options.vector_type,
                                   .grid = matrix->grid,
                                   .stencil = matrix->stencil,
                                   .first_bad_row = -1};
}

void gsw_packed_close(gsw_factor *factor) {
    if (!factor)
        return;
    if (factor->packed)
        factor->context->ops->factor->close(factor->context, factor);
    free(factor);
}

int gsw_factor_narrows(const gsw_factor *factor, const gsw_matrix *matrix,
                       const gsw_matrix *upper) {
    const gsw_factor_kind kind = factor->options.kind;
    return factor->options.factor_type == GSW_F32 &&
           (kind < GSW_FACTOR_LOWER || gsw_matrix_value_type(matrix) == GSW_F64 ||
            (upper != NULL && gsw_matrix_value_type(upper) == GSW_F64));
}

gsw_status gsw_factor_report(gsw_context *context, const gsw_factor *factor, int64_t misfit,
                             int64_t beyond) {
    char text[GSW_ROW_TEXT];
    if (misfit >= 0)
        return gsw_row_refuse_misfit(context, factor->row_base, &factor->grid, misfit);
    if (beyond >= 0)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "%s: a value of row %s is beyond the range of fp32; a factor in fp64 "
                        "takes it",
                        gsw_factor_kind_name(factor->options.kind),
                        gsw_row_text(context, factor->row_base, &factor->grid, beyond, text));
    if (factor->info.first_bad_row >= 0)
        return gsw_factor_refuse_pivot(context, factor->options.kind, factor->row_base,
                                       &factor->grid, factor->info.first_bad_row);
    return GSW_SUCCESS;
}

gsw_status gsw_factor_refuse_pivot(gsw_context *context, gsw_factor_kind kind, int base,
                                   const gsw_grid *grid, int64_t row) {
    char text[GSW_ROW_TEXT];
    (void)gsw_row_text(context, base, grid, row, text);
    if (kind == GSW_JACOBI)
        return gsw_fail(context, GSW_ERROR_ZERO_PIVOT,
                        "jacobi: the diagonal of row %s is zero or not finite", text);
    return gsw_fail(context, GSW_ERROR_ZERO_PIVOT,
                    "%s: the pivot of row %s is zero%s or not finite", gsw_factor_kind_name(kind),
                    text, kind == GSW_IC0 ? ", negative" : "");
}
