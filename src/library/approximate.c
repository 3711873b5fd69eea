/* approximate.c: triangular solves with a factor by a few Jacobi sweeps.
 *
 * T x = b with T = D + N is solved by x = D^-1 (b - N x) from x = 0. N is strictly triangular, so
 * the sweeps are exact after as many as T has levels. They are sweeps of a stencil loop with T's
 * own stencil, which is a triangular part of the factor's. For IC0 they are L1 and D L1^T: a
 * diagonal that moves from one triangle to the other changes nothing but rounding. */
#include <gridsweep/memory.h>
#include <gridsweep/relax.h>
#include <stdio.h>
#include <stdlib.h>

#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "factor.h"
#include "preconditioner.h"
#include "reserve.h"

typedef struct approximate {
    gsw_context *context;
    gsw_matrix matrix[2]; /* L, U */
    gsw_relax *part[2];
    int32_t sweeps;
    double *between;
    char name[32];
} approximate;

static gsw_status apply(void *self, gsw_context *context, const double *b, double *x) {
    const approximate *a = self;
    GSW_TRY(gsw_relax_run(context, a->part[0], a->sweeps, 1, b, a->between));
    return gsw_relax_run(context, a->part[1], a->sweeps, 1, a->between, x);
}

static const char *name_of(const void *self) {
    return ((const approximate *)self)->name;
}

static void destroy(void *self) {
    approximate *a = self;
    gsw_unreserve(a->context, a->between);
    for (int k = 1; k >= 0; k--) {
        gsw_relax_destroy(a->part[k]);
        gsw_matrix_release(a->context, &a->matrix[k]);
    }
    free(a);
}

/* The triangles, and a loop for each; the loops keep pointers to them. Factors of kind LU may have
 * any diagonal. */
static gsw_status open_parts(approximate *a, const gsw_factor *factor) {
    for (int upper = 0; upper < 2; upper++) {
        GSW_TRY(gsw_factor_triangle(a->context, factor, upper, &a->matrix[upper]));
        const gsw_status status =
            gsw_relax_create(a->context, &a->matrix[upper], NULL, &a->part[upper]);
        if (status == GSW_ERROR_ZERO_PIVOT)
            return gsw_fail(a->context, status,
                            "factor: a diagonal of %c is zero or has no finite reciprocal",
                            upper ? 'U' : 'L');
        GSW_TRY(status);
    }
    return GSW_SUCCESS;
}

gsw_status gsw_preconditioner_from_factor_approximate(gsw_context *context,
                                                      const gsw_factor *factor, int32_t sweeps,
                                                      gsw_preconditioner **preconditioner) {
    static const gsw_preconditioner_ops ops = {.apply = apply, .name = name_of, .destroy = destroy};
    approximate *made;
    gsw_status status;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, preconditioner != NULL, "preconditioner is NULL");
    *preconditioner = NULL;
    GSW_REQUIRE(context, factor != NULL, "factor is NULL");
    GSW_REQUIRE(context, factor->context == context, "factor belongs to another context");
    GSW_REQUIRE(context, sweeps >= 1, "sweeps is %d; it must be >= 1", (int)sweeps);
    const gsw_factor_kind kind = factor->options.kind;
    if (kind != GSW_ILU0 && kind != GSW_IC0 && kind != GSW_DILU && kind != GSW_FACTOR_LU)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "factor: approximate solves are for ilu0, ic0, dilu and lu, not for %s",
                        gsw_factor_kind_name(kind));
    if (factor->options.transpose)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "factor: approximate solves are not for transposed factors");
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "a preconditioner", (void **)&made));
    *made = (approximate){.context = context, .sweeps = sweeps};
    (void)snprintf(made->name, sizeof made->name, "%s approx:%d", gsw_factor_kind_name(kind),
                   (int)sweeps);
    GSW_TRY_GOTO(open_parts(made, factor), fail);
    GSW_TRY_GOTO(gsw_reserve_vector(context, factor->points, &made->between), fail);
    GSW_TRY_GOTO(gsw_preconditioner_make(context, factor->points, &ops, made, preconditioner),
                 fail);
    return GSW_SUCCESS;

fail:
    destroy(made);
    return status;
}
