/* eliminate_f32.cu: elimination of factors that are stored in fp32. */
#include "eliminate_named.cuh"

eliminate_kernel gsw_cuda_eliminate_kernel_f32(gsw_shape_name shape, int dilu) {
    return kernel_for<float>(shape, dilu);
}
