/* eliminate.cu: ILU(0), IC(0) and DILU on packed factors. */
#include "cuda/packed.cuh"

gsw_status gsw_cuda_eliminate(gsw_context *context, gsw_factor *factor) {
    (void)factor;
    return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "not yet");
}
