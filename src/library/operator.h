/* operator.h: what an operator holds, and how the Krylov methods use it. */
#ifndef GSW_OPERATOR_H
#define GSW_OPERATOR_H

#include <gridsweep/operator.h>

struct gsw_operator {
    gsw_context *context; /* the one that made it */
    int64_t points;
    gsw_apply_fn apply; /* NULL: the matrix is used */
    void *user;
    gsw_matrix matrix;
    const void *arrays[GSW_STENCIL_MAX]; /* of the matrix, where it is made of stencil arrays */
};

/* Refuses NULL and an operator of another context. */
gsw_status gsw_operator_check(gsw_context *context, const gsw_operator *op);

/* y = A x and r = b - A x with checked arguments; x overlaps neither y nor r, and r may be b where
 * the operator is a matrix. */
gsw_status gsw_operator_multiply(const gsw_operator *op, const double *x, double *y);
gsw_status gsw_operator_residual(const gsw_operator *op, const double *b, const double *x,
                                 double *r);

#endif
