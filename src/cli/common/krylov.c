/* krylov.c: see krylov.h. */
#include "krylov.h"

gsw_status cli_krylov(gsw_context *context, gsw_method method, const gsw_matrix *matrix,
                      gsw_factor *factor, gsw_multigrid *multigrid,
                      const gsw_krylov_options *options, const double *b, double *x,
                      gsw_krylov_result *result) {
    gsw_operator *op = NULL;
    gsw_preconditioner *preconditioner = NULL;
    gsw_status status = gsw_operator_from_matrix(context, matrix, &op);
    if (status == GSW_SUCCESS && factor != NULL)
        status = gsw_preconditioner_from_factor(context, factor, &preconditioner);
    if (status == GSW_SUCCESS && multigrid != NULL)
        status = gsw_preconditioner_from_multigrid(context, multigrid, &preconditioner);
    if (status == GSW_SUCCESS)
        status = gsw_krylov(context, method, op, preconditioner, options, b, x, result);
    gsw_preconditioner_destroy(preconditioner);
    gsw_operator_destroy(op);
    return status;
}
