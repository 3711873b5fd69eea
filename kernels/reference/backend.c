/* backend.c: a complete serial backend in plain loops. Each operation is its definition, so that a
 * reader can check it against the textbook. The other backends are compared with it; it is not
 * fast. */
#include "reference/backend.h"
#include <stdio.h>
#include "contract/check.h"
#include "contract/context.h"
#include "reference/host.h"
#include "reference/levels.h"
#include "reference/packed.h"
#include "reference/reference.h"
#include "reference/relax.h"
#include "reference/vector.h"

static gsw_status reference_open(gsw_context *context, const gsw_context_options *options) {
    (void)options; /* it has one thread and one device */
    context->threads = 1;
    context->backend_data = NULL;
    snprintf(context->device, sizeof context->device, "serial reference");
    return GSW_SUCCESS;
}

static void bands(const gsw_factor *factor, gsw_bands *bands) {
    (void)factor;
    *bands = (gsw_bands){.count = 1, .lines = 1};
}

static const gsw_box_ops box_ops = {
    .bands = bands, .eliminate = gsw_reference_eliminate_bands, .sweep = gsw_reference_sweep_bands};

const gsw_backend_ops *gsw_backend_reference(void) {
    static const gsw_backend_ops operations = {
        .open = reference_open,
        .close = gsw_host_close,
        .synchronize = gsw_host_synchronize,
        .alloc = gsw_host_alloc,
        .release = gsw_host_release,
        .reserve = gsw_host_alloc,
        .unreserve = gsw_host_release,
        .upload = gsw_host_transfer,
        .download = gsw_host_transfer,
        .set = gsw_host_set,
        .kinds = 1 << GSW_KIND_CSR | 1 << GSW_KIND_ARRAYS | 1 << GSW_KIND_REPEAT,
        .check_place = gsw_host_check_place,
        .fill = gsw_reference_fill,
        .copy = gsw_reference_copy,
        .axpby = gsw_reference_axpby,
        .add_scaled = gsw_reference_add_scaled,
        .dot = gsw_reference_dot,
        .change_signs = gsw_reference_change_signs,
        .project = gsw_reference_project,
        .subtract = gsw_reference_subtract,
        .krylov_pass = gsw_reference_krylov_pass,
        .multiply = gsw_reference_multiply,
        .multiply_pass = gsw_host_multiply_pass,
        .judge = gsw_host_judge,
        .krylov_post = gsw_host_krylov_post,
        .krylov_collect = gsw_host_krylov_collect,
        .validate = gsw_matrix_validate_host,
        .spmv = gsw_reference_spmv,
        .couple = gsw_reference_couple,
        .sptrsv = gsw_reference_sptrsv,
        .factor_open = gsw_reference_factor_open,
        .factor_fill = gsw_reference_factor_fill,
        .factor_await = gsw_host_factor_await,
        .factor_sweep = gsw_reference_factor_sweep,
        .factor_unpack = gsw_reference_factor_unpack,
        .factor_close = gsw_reference_factor_close,
        .split_fill = gsw_reference_split_fill,
        .split_apply = gsw_host_split_apply,
        .multigrid = &gsw_reference_multigrid_ops,
        .relax = &gsw_reference_relax_ops,
        .link = &gsw_host_link,
        .box = &box_ops,
    };
    return &operations;
}
