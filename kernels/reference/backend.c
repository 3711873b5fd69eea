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
    static const gsw_memory_ops memory = {
        .alloc = gsw_host_alloc,
        .release = gsw_host_release,
        .reserve = gsw_host_alloc,
        .unreserve = gsw_host_release,
        .upload = gsw_host_transfer,
        .download = gsw_host_transfer,
        .set = gsw_host_set,
        .check_place = gsw_host_check_place,
    };
    static const gsw_vector_ops vector = {
        .fill = gsw_reference_fill,
        .copy = gsw_reference_copy,
        .axpby = gsw_reference_axpby,
        .add_scaled = gsw_reference_add_scaled,
        .dot = gsw_reference_dot,
        .change_signs = gsw_reference_change_signs,
        .project = gsw_reference_project,
        .subtract = gsw_reference_subtract,
        .squares = gsw_host_squares,
        .scale = gsw_host_scale,
    };
    static const gsw_matrix_ops matrix = {
        .kinds = 1 << GSW_KIND_CSR | 1 << GSW_KIND_ARRAYS | 1 << GSW_KIND_REPEAT,
        .validate = gsw_matrix_validate_host,
        .spmv = gsw_reference_spmv,
        .multiply = gsw_reference_multiply,
        .couple = gsw_reference_couple,
        .sptrsv = gsw_reference_sptrsv,
    };
    static const gsw_krylov_ops krylov = {
        .pass = gsw_reference_krylov_pass,
        .multiply_pass = gsw_host_multiply_pass,
        .judge = gsw_host_judge,
        .post = gsw_host_krylov_post,
        .collect = gsw_host_krylov_collect,
    };
    static const gsw_factor_ops factor = {
        .open = gsw_reference_factor_open,
        .fill = gsw_reference_factor_fill,
        .await = gsw_host_factor_await,
        .sweep = gsw_reference_factor_sweep,
        .unpack = gsw_reference_factor_unpack,
        .close = gsw_reference_factor_close,
    };
    static const gsw_split_ops split = {
        .fill = gsw_reference_split_fill,
        .apply = gsw_host_split_apply,
    };
    static const gsw_backend_ops operations = {
        .open = reference_open,
        .close = gsw_host_close,
        .synchronize = gsw_host_synchronize,
        .memory = &memory,
        .vector = &vector,
        .matrix = &matrix,
        .mask = &gsw_host_mask_ops,
        .wrap = &gsw_host_wrap_ops,
        .krylov = &krylov,
        .factor = &factor,
        .split = &split,
        .multigrid = &gsw_reference_multigrid_ops,
        .relax = &gsw_reference_relax_ops,
        .link = &gsw_host_link,
        .box = &box_ops,
    };
    return &operations;
}
