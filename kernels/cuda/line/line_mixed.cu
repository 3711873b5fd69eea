/* line_mixed.cu: the direct sweep for values of type float and vectors of type double. */
#include "line_kernel.cuh"

const line_kernels *line_kernels_mixed(void) {
    return make_table<float, double>();
}
