/* sweep.cu: sweeps of packed factors: launch shapes, state, and the launch. */
#include "cuda/packed.cuh"

gsw_tile_shape gsw_cuda_tile_shape(gsw_shape_name name, const gsw_tiles *tiles) {
    if (tiles->nz == 1)
        return name == SHAPE_D2N5 ? gsw_tile_shape{32, 2, 1} : gsw_tile_shape{32, 1, 1};
    return name == SHAPE_D3N7 || name == SHAPE_D3N13 ? gsw_tile_shape{8, 1, 2}
                                                     : gsw_tile_shape{8, 1, 1};
}

gsw_status gsw_cuda_sweep_open(gsw_context *context, gsw_factor *factor) {
    (void)context, (void)factor;
    return GSW_SUCCESS;
}

void gsw_cuda_sweep_close(struct gsw_packed *packed) {
    (void)packed;
}

gsw_status gsw_cuda_sweep(gsw_context *context, gsw_factor *factor, int part, int64_t count,
                          const void *b, int64_t ldb, void *x, int64_t ldx) {
    (void)factor, (void)part, (void)count, (void)b, (void)ldb, (void)x, (void)ldx;
    return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "not yet");
}
