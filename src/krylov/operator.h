/* operator.h: the contents of an operator, and how the Krylov methods use it. */
#ifndef GSW_OPERATOR_H
#define GSW_OPERATOR_H

#include <gridsweep/operator.h>
#include "matrix/distributed_matrix.h"

struct gsw_operator {
    gsw_context *context; /* the context of its creation */
    int64_t points;
    gsw_apply_fn apply; /* NULL: the matrix is used */
    void *user;
    gsw_distributed_matrix *shared; /* of several processes: apply() multiplies with it */
    gsw_matrix matrix;
    const void *arrays[GSW_STENCIL_MAX]; /* of the matrix, where it has stencil arrays */
};

/* Refuses NULL and an operator of another context. */
gsw_status gsw_operator_check(gsw_context *context, const gsw_operator *op);

/* y = A x with checked arguments; x does not overlap y. */
gsw_status gsw_operator_multiply(const gsw_operator *op, const double *x, double *y);

#endif
