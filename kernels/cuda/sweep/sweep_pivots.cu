/* sweep_pivots.cu: the sweep's kernels that compute reciprocal pivots. */
#include "sweep_kernel.cuh"

namespace {

template <int name, bool remote> constexpr const void *pivot_kernel() {
    if constexpr (is_coarse(name))
        return NULL;
    else
        return (const void *)sweep_pencils<name, double, double, 1, remote, true>;
}

} // namespace

const void *sweep_pivot_kernel(gsw_shape_name name, bool remote) {
#define PIVOT_KERNELS(name, lower)                                                                 \
    {pivot_kernel<SHAPE_##name, false>(), pivot_kernel<SHAPE_##name, true>()},
    static const void *const kernels[SHAPE_COUNT][2] = {
        {NULL, NULL}, GSW_NAMED_STENCILS(PIVOT_KERNELS, GSW_NO_OFFSET)};
#undef PIVOT_KERNELS
    return kernels[name][remote];
}
