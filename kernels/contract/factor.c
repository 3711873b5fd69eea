/* factor.c: the status of a factorisation, and its message. */
#include "contract/backend.h"
#include "contract/error.h"
#include "contract/row.h"

gsw_status gsw_factor_report(gsw_context *context, const gsw_factor *factor, int64_t misfit) {
    char row[GSW_ROW_TEXT];
    if (misfit >= 0)
        return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                        "row %s of the matrix has a coupling outside the stencil or the grid, or "
                        "columns that do not ascend",
                        gsw_row_text(context, 0, &factor->grid, misfit, row));
    if (factor->info.first_bad_row >= 0)
        return gsw_fail(context, GSW_ERROR_ZERO_PIVOT,
                        "%s: the pivot of row %s is zero%s or not finite",
                        gsw_factor_kind_name(factor->options.kind),
                        gsw_row_text(context, 0, &factor->grid, factor->info.first_bad_row, row),
                        factor->options.kind == GSW_IC0 ? ", negative" : "");
    return GSW_SUCCESS;
}
