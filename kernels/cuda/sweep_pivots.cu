/* sweep_pivots.cu: the sweep's kernels that compute reciprocal pivots. */
#include "cuda/sweep_kernel.cuh"

namespace {

template <int name> constexpr const void *pivot_kernel() {
    if constexpr (is_coarse(name))
        return NULL;
    else
        return (const void *)sweep_pencils<name, double, double, 1, false, true>;
}

} // namespace

const void *sweep_pivot_kernel(gsw_shape_name name) {
#define PIVOT_KERNEL(name, lower) pivot_kernel<SHAPE_##name>(),
    static const void *const kernels[SHAPE_COUNT] = {
        NULL, GSW_NAMED_STENCILS(PIVOT_KERNEL, GSW_NO_OFFSET)};
#undef PIVOT_KERNEL
    return kernels[name];
}
