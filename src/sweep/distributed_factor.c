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
#include "packed.h"
#include "geometry/stencil_facts.h"

static int64_t larger_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

static gsw_status check_options(gsw_distributed_factor *f, const gsw_factor_options *given) {
    gsw_context *context = f->partition->context;
    gsw_factor_options *o = &f->options;
    GSW_TRY(gsw_factor_resolve(context, given, o));
    GSW_REQUIRE(context, o->kind != GSW_FACTOR_LU,
                "options->kind is LU: call gsw_factor_create_lu()");
    if (o->transpose || o->unit_diagonal || o->factor_type != GSW_F64 || o->vector_type != GSW_F64)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "factors on several processes are in fp64, not transposed, and have no "
                        "unit diagonal");
    if (o->overlap > 0 && !context->ops->link->on_host)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "the backend %s has no overlaps",
                        gsw_backend_name(context->backend));
    const gsw_grid *grid = &f->partition->grid;
    o->overlap = smaller_of(o->overlap, larger_of(grid->nx, larger_of(grid->ny, grid->nz)));
    if (o->kind == GSW_IC0 && !gsw_stencil_is_symmetric(&f->matrix->local.stencil))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "ic0 needs a symmetric stencil: one that has -o for each offset o");
    return GSW_SUCCESS;
}

static const gsw_factor_way *way_of(const gsw_distributed_factor *f) {
    if (f->options.scope == GSW_SCOPE_LOCAL || f->options.kind == GSW_JACOBI)
        return &gsw_local_way;
    if (!f->partition->context->ops->link->on_host)
        return &gsw_slabs_way;
    return gsw_partition_has_slabs(f->partition) ? &gsw_bands_way : &gsw_relaid_way;
}

static uint64_t mark_of(const gsw_factor_options *o) {
    const uint64_t mark = gsw_mark(0, (int64_t[]){o->kind, o->scope, o->overlap}, 3);
    return gsw_mark_real(gsw_mark_real(mark, o->omega), o->pivot_shift);
}

gsw_status gsw_distributed_factor_create_as(gsw_distributed_matrix *matrix,
                                            const gsw_factor_options *options, int64_t planes,
                                            gsw_dtype type, gsw_distributed_factor **factor) {
    gsw_distributed_factor *f;
    gsw_partition *p = matrix->partition;
    *factor = NULL;
    gsw_status status = gsw_alloc(p->context, 1, sizeof *f, "a factor", (void **)&f);
    if (status != GSW_SUCCESS)
        return gsw_partition_agree(p, status);
    memset(f, 0, sizeof *f);
    f->partition = p;
    f->matrix = matrix;
    f->planes = planes;
    f->type = type;
    status = check_options(f, options);
    status = gsw_partition_agree_on(p, status, "options", mark_of(&f->options));
    if (status == GSW_SUCCESS) {
        f->way = way_of(f);
        status = gsw_partition_agree(p, f->way->open(f));
    }
    if (status == GSW_SUCCESS)
        status = gsw_distributed_factor_refactor(f);
    if (status == GSW_SUCCESS)
        *factor = f;
    else
        gsw_distributed_factor_destroy(f);
    return status;
}

gsw_status gsw_distributed_factor_refactor(gsw_distributed_factor *factor) {
    const gsw_status status = gsw_partition_agree(factor->partition, factor->way->fill(factor));
    factor->usable = status == GSW_SUCCESS;
    return status;
}

gsw_status gsw_distributed_factor_solve(gsw_distributed_factor *f, const void *b, void *x) {
    GSW_TRY(gsw_distributed_usable(f, f->partition->context));
    return f->way->apply(f, b, x);
}

void gsw_distributed_factor_describe(const gsw_distributed_factor *f, gsw_factor_info *info) {
    const gsw_factor *own = f->packed ? f->packed : f->local;
    const int64_t values = gsw_schedule_sent(&f->up) + gsw_schedule_sent(&f->down);
    gsw_factor_info part = {.size = sizeof part};
    if (f->relaid)
        gsw_distributed_factor_describe(f->relaid->factor, &part);
    else if (own)
        part = own->info;
    info->packed_bytes = part.packed_bytes;
    info->work_bytes = part.work_bytes + f->bytes;
    info->moved_bytes = part.moved_bytes;
    info->shifted_pivots = part.shifted_pivots;
    info->sent_bytes = part.sent_bytes + values * (int64_t)sizeof(double) + f->sent;
}

void gsw_distributed_factor_destroy(gsw_distributed_factor *f) {
    if (!f)
        return;
    gsw_relaid_close(f->relaid);
    gsw_local_close(f);
    gsw_slabs_close(f);
    gsw_bands_close(f);
    free(f);
}
