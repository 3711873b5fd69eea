/* sweep_table.cuh: the table of a sweep's kernels for one pair of types. */
#ifndef GSW_CUDA_SWEEP_TABLE_CUH
#define GSW_CUDA_SWEEP_TABLE_CUH

#include "sweep_kernel.cuh"

namespace {

template <int name, class Real, class Value, bool remote> constexpr const void *single_kernel() {
    return (const void *)sweep_pencils<name, Real, Value, 1, remote, false>;
}

/* NULL for flat shapes, whose rings for several right-hand sides would be too large, and for coarse
 * shapes. */
template <int name, class Real, class Value> constexpr const void *several_kernel() {
    if constexpr (is_flat(name) || is_coarse(name))
        return NULL;
    else
        return (const void *)sweep_pencils<name, Real, Value, rhs_of_blocks(name), false, false>;
}

template <class Real, class Value> const sweep_kernels *sweep_kernels_of() {
#define SINGLE_KERNEL(name, lower)  single_kernel<SHAPE_##name, Real, Value, false>(),
#define REMOTE_KERNEL(name, lower)  single_kernel<SHAPE_##name, Real, Value, true>(),
#define SEVERAL_KERNEL(name, lower) several_kernel<SHAPE_##name, Real, Value>(),
    static const sweep_kernels kernels = {
        {single_kernel<SHAPE_OTHER, Real, Value, false>(),
         GSW_NAMED_STENCILS(SINGLE_KERNEL, GSW_NO_OFFSET)},
        {single_kernel<SHAPE_OTHER, Real, Value, true>(),
         GSW_NAMED_STENCILS(REMOTE_KERNEL, GSW_NO_OFFSET)},
        {NULL, GSW_NAMED_STENCILS(SEVERAL_KERNEL, GSW_NO_OFFSET)}};
#undef SEVERAL_KERNEL
#undef REMOTE_KERNEL
#undef SINGLE_KERNEL
    return &kernels;
}

} // namespace

#define SWEEP_KERNELS(type, Real, Value)                                                           \
    const sweep_kernels *sweep_kernels_##type(void) {                                              \
        return sweep_kernels_of<Real, Value>();                                                    \
    }

#endif
