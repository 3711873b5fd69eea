/* matrix_fit.c: a matrix for every solver from a CSR as users have it. */
#include <gridsweep/matrix.h>
#include "contract/check.h"
#include "contract/error.h"
#include "detect.h"
#include "core/quiet.h"

gsw_status gsw_matrix_fit(gsw_context *context, const gsw_csr *csr, const gsw_grid *grid,
                          const gsw_stencil *stencil, gsw_matrix *matrix, gsw_csr *copy) {
    gsw_matrix view;
    gsw_grid found;
    gsw_stencil shape;
    gsw_csr made = {0};
    int64_t strays = 0;
    int look = 1;
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, matrix, "matrix must not be NULL");
    GSW_REQUIRE(context, copy, "copy must not be NULL");
    GSW_REQUIRE(context, grid || !stencil, "stencil: it is given without its grid");
    if (!stencil) {
        GSW_TRY(gsw_detect_zeros(context, csr, grid, &found, &shape, &look));
        grid = &found;
        stencil = &shape;
    }
    GSW_TRY(gsw_matrix_from_csr(context, grid, stencil, csr, &view));
    if (look) {
        const gsw_quiet quiet = gsw_quiet_begin(context);
        const gsw_status status = gsw_matrix_count_strays(context, &view, &strays);
        if (status == GSW_ERROR_NOT_A_GRID) /* perhaps because the grid is wrong */
            (void)gsw_detect_zeros(context, csr, grid, &found, &shape, &look);
        GSW_TRY(gsw_quiet_settle(context, &quiet, status, 0));
    }
    if (strays > 0) {
        GSW_TRY(gsw_matrix_to_csr(context, &view, GSW_FULL, csr->index_type, &made));
        view.csr = made;
    }
    *matrix = view;
    *copy = made;
    return GSW_SUCCESS;
}
