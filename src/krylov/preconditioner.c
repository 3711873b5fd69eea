/* preconditioner.c: preconditioners from factors, from callbacks, and from parts of the library. */
#include <stdlib.h>

#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/callback.h"
#include "preconditioner.h"
#include "core/reserve.h"

/* ---- the defaults ---- */

static int no(const void *self) {
    (void)self;
    return 0;
}

static int not_narrow(void *self, float **b, float **x) {
    (void)self;
    *b = *x = NULL;
    return 0;
}

static const gsw_factor *no_factor(const void *self) {
    (void)self;
    return NULL;
}

static gsw_status always(const void *self, gsw_context *context) {
    (void)self, (void)context;
    return GSW_SUCCESS;
}

static gsw_status no_values(void *self, gsw_context *context, const gsw_matrix *matrix) {
    (void)self, (void)context, (void)matrix;
    return GSW_SUCCESS;
}

static void keep(void *self) {
    (void)self;
}

gsw_status gsw_preconditioner_make(gsw_context *context, int64_t points,
                                   const gsw_preconditioner_ops *ops, void *self,
                                   gsw_preconditioner **preconditioner) {
    gsw_preconditioner *made;
    gsw_status status;
    size_t bytes;
    double *work = NULL;
    *preconditioner = NULL;
    GSW_TRY(gsw_vector_bytes(context, points, &bytes)); /* for every kind, also without `work` */
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "a preconditioner", (void **)&made));
    if (!ops->in_place)
        GSW_TRY_GOTO(gsw_reserve_vector(context, points, &work), fail);
    *made = (gsw_preconditioner){
        .context = context, .points = points, .ops = *ops, .self = self, .work = work};
    gsw_preconditioner_ops *own = &made->ops;
    own->costly = own->costly != NULL ? own->costly : no;
    own->takes_several = own->takes_several != NULL ? own->takes_several : no;
    own->narrow = own->narrow != NULL ? own->narrow : not_narrow;
    own->factor = own->factor != NULL ? own->factor : no_factor;
    own->is_judged = own->is_judged != NULL ? own->is_judged : no;
    own->refill = own->refill != NULL ? own->refill : no_values;
    own->check = own->check != NULL ? own->check : always;
    own->destroy = own->destroy != NULL ? own->destroy : keep;
    *preconditioner = made;
    return GSW_SUCCESS;

fail:
    free(made);
    return status;
}

/* ---- from a factor ---- */

static gsw_status factor_apply(void *self, gsw_context *context, const double *b, double *x) {
    gsw_factor *factor = self;
    return gsw_factor_solve(context, factor, 1, b, factor->points, x, factor->points);
}

static int factor_takes_several(const void *self) {
    (void)self;
    return 1;
}

static gsw_status factor_apply_several(void *self, gsw_context *context, int count, const double *b,
                                       double *x, int64_t ld) {
    return gsw_factor_solve(context, self, count, b, ld, x, ld);
}

static const gsw_factor *factor_itself(const void *self) {
    return self;
}

static const char *factor_name(const void *self) {
    const gsw_factor *factor = self;
    return gsw_factor_kind_name(factor->options.kind);
}

static gsw_status factor_check(const void *self, gsw_context *context) {
    const gsw_factor *factor = self;
    GSW_REQUIRE(context, factor->usable, "factor holds no values: its last factorisation failed");
    return GSW_SUCCESS;
}

/* A bad pivot on a device is reported here. */
static gsw_status factor_refill(void *self, gsw_context *context, const gsw_matrix *matrix) {
    GSW_TRY(gsw_factor_refactor(context, self, matrix, NULL));
    return gsw_context_synchronize(context);
}

gsw_status gsw_preconditioner_from_factor(gsw_context *context, gsw_factor *factor,
                                          gsw_preconditioner **preconditioner) {
    static const gsw_preconditioner_ops ops = {.in_place = 1,
                                               .apply = factor_apply,
                                               .takes_several = factor_takes_several,
                                               .apply_several = factor_apply_several,
                                               .factor = factor_itself,
                                               .name = factor_name,
                                               .refill = factor_refill,
                                               .check = factor_check};
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, preconditioner != NULL, "preconditioner is NULL");
    *preconditioner = NULL;
    GSW_REQUIRE(context, factor != NULL, "factor is NULL");
    GSW_REQUIRE(context, factor->context == context, "factor belongs to another context");
    if (factor->options.vector_type != GSW_F64)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "factor: its vectors are fp32, but preconditioners work in fp64");
    return gsw_preconditioner_make(context, factor->points, &ops, factor, preconditioner);
}

/* ---- from a callback ---- */

typedef struct callback {
    gsw_apply_fn apply;
    void *user;
} callback;

static gsw_status callback_apply(void *self, gsw_context *context, const double *b, double *x) {
    const callback *given = self;
    return gsw_call_apply(context, "preconditioner", given->apply, given->user, b, x);
}

static const char *callback_name(const void *self) {
    (void)self;
    return "callback";
}

gsw_status gsw_preconditioner_from_callback(gsw_context *context, int64_t points,
                                            gsw_apply_fn apply, void *user,
                                            gsw_preconditioner **preconditioner) {
    static const gsw_preconditioner_ops ops = {
        .apply = callback_apply, .name = callback_name, .destroy = free};
    callback *given;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, preconditioner != NULL, "preconditioner is NULL");
    *preconditioner = NULL;
    GSW_REQUIRE(context, points >= 1, "points is %lld; it must be at least 1", (long long)points);
    GSW_REQUIRE(context, apply != NULL, "apply is NULL");
    GSW_TRY(gsw_alloc(context, 1, sizeof *given, "a preconditioner", (void **)&given));
    *given = (callback){.apply = apply, .user = user};
    const gsw_status status = gsw_preconditioner_make(context, points, &ops, given, preconditioner);
    if (status != GSW_SUCCESS)
        free(given);
    return status;
}

/* ---- all kinds ---- */

gsw_status gsw_preconditioner_check(gsw_context *context,
                                    const gsw_preconditioner *preconditioner) {
    GSW_REQUIRE(context, preconditioner != NULL, "preconditioner is NULL");
    GSW_REQUIRE(context, preconditioner->context == context,
                "preconditioner belongs to another context");
    return preconditioner->ops.check(preconditioner->self, context);
}

gsw_status gsw_preconditioner_solve(gsw_preconditioner *preconditioner, const double *b,
                                    double *x) {
    gsw_context *context = preconditioner->context;
    if (b == x && preconditioner->work != NULL) {
        GSW_TRY(
            context->ops->vector->copy(context, preconditioner->points, b, preconditioner->work));
        b = preconditioner->work;
    }
    return preconditioner->ops.apply(preconditioner->self, context, b, x);
}

gsw_status gsw_preconditioner_apply(gsw_context *context, gsw_preconditioner *preconditioner,
                                    const double *b, double *x) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_preconditioner_check(context, preconditioner));
    const gsw_vector vectors[] = {{.name = "b", .data = b},
                                  {.name = "x", .data = x, .written = 1, .may_be = "b"}};
    GSW_TRY(gsw_check_vectors(context, preconditioner->points, GSW_F64, 1, vectors, 2));
    return gsw_preconditioner_solve(preconditioner, b, x);
}

int64_t gsw_preconditioner_points(const gsw_preconditioner *preconditioner) {
    return preconditioner == NULL ? 0 : preconditioner->points;
}

const char *gsw_preconditioner_name(const gsw_preconditioner *preconditioner) {
    return preconditioner == NULL ? "none" : preconditioner->ops.name(preconditioner->self);
}

void gsw_preconditioner_destroy(gsw_preconditioner *preconditioner) {
    if (preconditioner == NULL)
        return;
    gsw_unreserve(preconditioner->context, preconditioner->work);
    preconditioner->ops.destroy(preconditioner->self);
    free(preconditioner);
}
