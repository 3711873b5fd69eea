/* relax.cuh: stencil loops with ghost zones, for the table of operations. */
#ifndef GSW_CUDA_RELAX_CUH
#define GSW_CUDA_RELAX_CUH

#include "cuda/device/context.cuh"

extern "C" {
#include "contract/relax_ops.h"
}

void gsw_cuda_relax_machine(gsw_context *context, gsw_dtype type, gsw_relax_machine *machine);
gsw_status gsw_cuda_relax_tile(gsw_context *context, const gsw_matrix *matrix, int32_t height,
                               int32_t k, gsw_relax_tile *tile);
gsw_status gsw_cuda_relax_prepare(gsw_context *context, const gsw_matrix *matrix);
gsw_status gsw_cuda_relax_pass(gsw_context *context, const gsw_relax_pass *pass);

#endif
