/* line_f64.cu: the direct sweep for values of type double and vectors of type double. */
#include "line_kernel.cuh"

const line_kernels *line_kernels_f64(void) {
    return make_table<double, double>();
}
