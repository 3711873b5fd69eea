/* sweep_sum.cu: the sweep's kernels whose storer also adds. */
#include "sweep_kernel.cuh"

namespace {

template <int name> constexpr const void *sum_kernel() {
    return (const void *)sweep_pencils<name, double, double, 1, false, false, true>;
}

} // namespace

const void *sweep_sum_kernel(gsw_shape_name name) {
#define SUM_KERNEL(name, lower) sum_kernel<SHAPE_##name>(),
    static const void *const kernels[SHAPE_COUNT] = {sum_kernel<SHAPE_OTHER>(),
                                                     GSW_NAMED_STENCILS(SUM_KERNEL, GSW_NO_OFFSET)};
#undef SUM_KERNEL
    return kernels[name];
}
