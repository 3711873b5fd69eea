/* vector.h: vector operations, products and direct solves of the reference backend. See backend.h.
 */
#ifndef GSW_REFERENCE_VECTOR_H
#define GSW_REFERENCE_VECTOR_H

#include "contract/backend.h"

gsw_status gsw_reference_fill(gsw_context *context, int64_t n, double a, double *x);
gsw_status gsw_reference_copy(gsw_context *context, int64_t n, const double *x, double *y);
gsw_status gsw_reference_axpby(gsw_context *context, int64_t n, double a, const double *x, double b,
                               double *y);
gsw_status gsw_reference_add_scaled(gsw_context *context, int64_t n, const double *d,
                                    const double *x, const double *y, double *z);
gsw_status gsw_reference_change_signs(gsw_context *context, int64_t n, const double *x, double *y);
gsw_status gsw_reference_dot(gsw_context *context, int64_t n, const double *x, const double *y,
                             double *result);
gsw_status gsw_reference_project(gsw_context *context, int64_t n, int64_t count, const double *x,
                                 int64_t stride, const double *y, double *products);
gsw_status gsw_reference_subtract(gsw_context *context, int64_t n, int64_t count, const double *c,
                                  const double *x, int64_t stride, double *y, double *square);
gsw_status gsw_reference_krylov_pass(gsw_context *context, gsw_pass which, int64_t n,
                                     void *const *vectors, gsw_krylov_state *state);
gsw_status gsw_reference_spmv(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              const void *b, const void *x, void *y);
gsw_status gsw_reference_multiply(gsw_context *context, const gsw_matrix *matrix, int count,
                                  const double *x, double *y, int64_t stride);
gsw_status gsw_reference_couple(gsw_context *context, const gsw_couple *job);

#endif
