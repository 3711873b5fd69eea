/* krylov_solve.h: solves with a matrix and a factor; operator and preconditioner exist for the one
 * call only. Where the arrays are in host memory, the result's claims are checked. */
#ifndef KRYLOV_SOLVE_H
#define KRYLOV_SOLVE_H

#include "krylov_truth.h"

static inline gsw_status solve_krylov(gsw_context *where, gsw_method method,
                                      const gsw_matrix *matrix, gsw_factor *factor,
                                      const gsw_krylov_options *options, const void *b, void *x,
                                      gsw_krylov_result *result) {
    gsw_operator *op = NULL;
    gsw_preconditioner *preconditioner = NULL;
    gsw_krylov_result own = {.size = sizeof own};
    gsw_krylov_result *filled = result != NULL ? result : &own;
    gsw_status status = gsw_operator_from_matrix(where, matrix, &op);
    if (status == GSW_SUCCESS && factor != NULL)
        status = gsw_preconditioner_from_factor(where, factor, &preconditioner);
    if (status == GSW_SUCCESS)
        status = gsw_krylov(where, method, op, preconditioner, options, b, x, filled);
    if (where != NULL && gsw_context_backend(where) == GSW_BACKEND_CPU)
        truth_check(gsw_method_name(method), matrix, options, b, x, status, filled, where, factor);
    gsw_preconditioner_destroy(preconditioner);
    gsw_operator_destroy(op);
    return status;
}

static inline gsw_status solve_cg(gsw_context *where, const gsw_matrix *matrix, gsw_factor *factor,
                                  const gsw_krylov_options *options, const void *b, void *x,
                                  gsw_krylov_result *result) {
    return solve_krylov(where, GSW_CG, matrix, factor, options, b, x, result);
}

static inline gsw_status solve_bicgstab(gsw_context *where, const gsw_matrix *matrix,
                                        gsw_factor *factor, const gsw_krylov_options *options,
                                        const void *b, void *x, gsw_krylov_result *result) {
    return solve_krylov(where, GSW_BICGSTAB, matrix, factor, options, b, x, result);
}

static inline gsw_status solve_gmres(gsw_context *where, const gsw_matrix *matrix,
                                     gsw_factor *factor, const gsw_krylov_options *options,
                                     const void *b, void *x, gsw_krylov_result *result) {
    return solve_krylov(where, GSW_GMRES, matrix, factor, options, b, x, result);
}

#endif
