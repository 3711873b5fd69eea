/* line_f32.cu: the direct sweep for values of type float and vectors of type float. */
#include "line_kernel.cuh"

const line_kernels *line_kernels_f32(void) {
    return make_table<float, float>();
}
