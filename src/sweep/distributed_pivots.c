/* distributed_pivots.c: the report on pivots of all processes, and what follows from it. */
#include <string.h>
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"

gsw_status gsw_distributed_usable(const gsw_distributed_factor *f, gsw_context *context) {
    GSW_REQUIRE(context, f->usable, "factor holds no values: its last factorisation failed");
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_report_pivots(gsw_distributed_factor *f, int64_t row) {
    gsw_partition *p = f->partition;
    int64_t at[3], lowest = INT64_MAX;
    if (row != INT64_MAX)
        row = gsw_partition_row(p, row, at);
    GSW_TRY(gsw_partition_gather(p, &row, sizeof row));
    for (int process = 0; process < p->transport.processes; process++) {
        memcpy(&row, p->answers + (size_t)process * sizeof row, sizeof row);
        lowest = row < lowest ? row : lowest;
    }
    return lowest == INT64_MAX ? GSW_SUCCESS
                               : gsw_factor_refuse_pivot(p->context, f->options.kind,
                                                         f->matrix->row_base, &p->grid, lowest);
}
