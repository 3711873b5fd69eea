/* eliminate_f64.cu: elimination of factors that are stored in fp64. */
#include "eliminate_named.cuh"

eliminate_kernel gsw_cuda_eliminate_kernel_f64(gsw_shape_name shape, int dilu) {
    return kernel_for<double>(shape, dilu);
}
