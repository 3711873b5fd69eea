/* distributed_factor.c: preconditioners on several processes.
 *
 * LOCAL is in distributed_local.c, and GLOBAL on backends with memory of their own in
 * distributed_slabs.c. On the CPU GLOBAL sweeps slabs with packed factors (distributed_bands.c),
 * which it factorises in distributed_fill.c. Then sweeps and factorisation are about as fast as on
 * one process. Other boxes are laid out again as slabs (distributed_relaid.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"
#include "core/options.h"
#include "matrix/stencil_facts.h"

GSW_ENDS_WITH(gsw_distributed_factor_options, overlap);

const char *gsw_scope_name(gsw_scope scope) {
    return scope == GSW_SCOPE_LOCAL ? "local" : scope == GSW_SCOPE_GLOBAL ? "global" : "unknown";
}

static int64_t larger_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* M^-1 b */
static gsw_status apply(void *user, gsw_context *context, const double *b, double *x) {
    gsw_distributed_factor *f = user;
    GSW_TRY(gsw_distributed_usable(f, context));
    return f->relaid ? gsw_relaid_apply(f->relaid, b, x) : gsw_bands_apply(f, b, x);
}

static gsw_status fill_global(gsw_distributed_factor *f) {
    if (f->partition->context->ops->slab)
        return gsw_slabs_fill(f);
    return f->relaid ? gsw_relaid_fill(f) : gsw_bands_fill(f);
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

static gsw_status open_global(gsw_distributed_factor *f) {
    gsw_context *context = f->partition->context;
    if (context->ops->slab)
        return gsw_slabs_open(f);
    GSW_TRY(gsw_partition_has_slabs(f->partition) ? gsw_bands_open(f) : gsw_relaid_open(f));
    return gsw_preconditioner_from_callback(context, f->matrix->points, apply, f,
                                            &f->preconditioner);
}

static int is_local(const gsw_distributed_factor *f) {
    return f->options.scope == GSW_SCOPE_LOCAL || f->options.kind == GSW_JACOBI;
}

static gsw_status check_options(gsw_distributed_factor *f,
                                const gsw_distributed_factor_options *given) {
    gsw_context *context = f->partition->context;
    gsw_distributed_factor_options *o = &f->options;
    GSW_TRY(gsw_options_take(context, "gsw_distributed_factor_options", given, sizeof *o, o));
    GSW_REQUIRE(context, (unsigned)o->kind < GSW_FACTOR_LU,
                "options->kind %d is not ilu0, ic0, dilu, ssor, jacobi, lower or upper",
                (int)o->kind);
    GSW_REQUIRE(context, (unsigned)o->scope <= GSW_SCOPE_GLOBAL, "options->scope %d is unknown",
                (int)o->scope);
    GSW_REQUIRE(context, o->omega >= 0 && o->omega < 2, "options->omega %g is not in (0, 2)",
                o->omega);
    GSW_REQUIRE(context, o->pivot_shift >= 0 && isfinite(o->pivot_shift),
                "options->pivot_shift %g is negative or not finite", o->pivot_shift);
    GSW_REQUIRE(context, o->overlap >= 0, "options->overlap %lld is negative",
                (long long)o->overlap);
    GSW_REQUIRE(context, o->overlap == 0 || o->scope == GSW_SCOPE_LOCAL,
                "options->overlap is for the scope local");
    if (o->overlap > 0 && context->ops->slab)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "the backend %s has no overlaps",
                        gsw_backend_name(context->backend));
    const gsw_grid *grid = &f->partition->grid;
    o->overlap = smaller_of(o->overlap, larger_of(grid->nx, larger_of(grid->ny, grid->nz)));
    if (o->omega == 0)
        o->omega = 1;
    if (o->kind == GSW_IC0 && !gsw_stencil_is_symmetric(&f->matrix->local.stencil))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "ic0 needs a symmetric stencil: one that has -o for each offset o");
    return GSW_SUCCESS;
}

static uint64_t mark_of(const gsw_distributed_factor_options *o) {
    const uint64_t mark = gsw_mark(0, (int64_t[]){o->kind, o->scope, o->overlap}, 3);
    return gsw_mark_real(gsw_mark_real(mark, o->omega), o->pivot_shift);
}

gsw_status gsw_distributed_factor_create_as(gsw_distributed_matrix *matrix,
                                            const gsw_distributed_factor_options *options,
                                            int64_t planes, gsw_dtype type,
                                            gsw_distributed_factor **factor) {
    gsw_distributed_factor *f;
    if (!matrix)
        return GSW_ERROR_INVALID_ARGUMENT;
    gsw_partition *p = matrix->partition;
    gsw_status status = gsw_partition_check_result(p, factor, "factor");
    if (status == GSW_SUCCESS) {
        *factor = NULL;
        status = gsw_alloc(p->context, 1, sizeof *f, "a factor", (void **)&f);
    }
    if (status != GSW_SUCCESS)
        return gsw_partition_agree(p, status);
    memset(f, 0, sizeof *f);
    f->partition = p;
    f->matrix = matrix;
    f->planes = planes;
    f->type = type;
    status = check_options(f, options);
    status = gsw_partition_agree_on(p, status, "options", mark_of(&f->options));
    if (status == GSW_SUCCESS && !is_local(f))
        status = gsw_partition_agree(p, open_global(f));
    if (status == GSW_SUCCESS)
        status = gsw_distributed_factor_refactor(f);
    if (status == GSW_SUCCESS)
        *factor = f;
    else
        gsw_distributed_factor_destroy(f);
    return status;
}

gsw_status gsw_distributed_factor_create(gsw_distributed_matrix *matrix,
                                         const gsw_distributed_factor_options *options,
                                         gsw_distributed_factor **factor) {
    return gsw_distributed_factor_create_as(matrix, options, 0, GSW_F64, factor);
}

gsw_status gsw_distributed_factor_refactor(gsw_distributed_factor *factor) {
    if (!factor)
        return GSW_ERROR_INVALID_ARGUMENT;
    const gsw_status status = gsw_partition_agree(
        factor->partition, is_local(factor) ? gsw_local_fill(factor) : fill_global(factor));
    factor->usable = status == GSW_SUCCESS;
    if (factor->local && !factor->usable)
        factor->local->usable = 0; /* in all processes alike */
    return status;
}

gsw_status gsw_distributed_factor_solve(gsw_distributed_factor *f, const void *b, void *x) {
    gsw_context *context = f->partition->context;
    if (f->local && f->options.overlap == 0)
        return gsw_factor_solve(context, f->local, 1, b, 0, x, 0);
    return context->ops->slab ? gsw_slabs_solve(f, b, x)
                              : gsw_preconditioner_apply(context, f->preconditioner, b, x);
}

gsw_preconditioner *gsw_distributed_factor_preconditioner(gsw_distributed_factor *factor) {
    return factor ? factor->preconditioner : NULL;
}

void gsw_distributed_factor_bytes(const gsw_distributed_factor *factor, int64_t *held,
                                  int64_t *sent) {
    *held = *sent = 0;
    if (!factor)
        return;
    const gsw_factor *own = factor->packed ? factor->packed : factor->local;
    gsw_factor_info info = {.size = sizeof info};
    if (own)
        (void)gsw_factor_get_info(own, &info);
    if (factor->relaid)
        gsw_distributed_factor_bytes(factor->relaid->factor, held, sent);
    const int64_t values = gsw_schedule_sent(&factor->up) + gsw_schedule_sent(&factor->down);
    *held += factor->bytes + info.packed_bytes + info.work_bytes;
    *sent += values * (int64_t)sizeof(double) + factor->sent;
}

void gsw_distributed_factor_destroy(gsw_distributed_factor *f) {
    if (!f)
        return;
    gsw_preconditioner_destroy(f->preconditioner);
    gsw_relaid_close(f->relaid);
    gsw_local_close(f);
    gsw_slabs_close(f);
    gsw_bands_close(f);
    free(f);
}
