/* pack.cu: from the user's matrix to packed factors and back. */
#include "cuda/packed.cuh"

gsw_status gsw_cuda_pack(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                         const gsw_matrix *upper) {
    (void)factor, (void)matrix, (void)upper;
    return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "not yet");
}

gsw_status gsw_cuda_unpack(gsw_context *context, const gsw_factor *factor, int which,
                           double *const *arrays) {
    (void)factor, (void)which, (void)arrays;
    return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "not yet");
}

gsw_status gsw_cuda_jacobi_fill(gsw_context *context, gsw_factor *factor,
                                const gsw_matrix *matrix) {
    (void)factor, (void)matrix;
    return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "not yet");
}

gsw_status gsw_cuda_jacobi_apply(gsw_context *context, gsw_factor *factor, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx) {
    (void)factor, (void)count, (void)b, (void)ldb, (void)x, (void)ldx;
    return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "not yet");
}
