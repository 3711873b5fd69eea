/* sweep_brief.cu: the sweep's kernels for boxes with short lines, and for constant coefficients, in
 * fp64, with two blocks on a multiprocessor. Stars with short lines have none, because their lines
 * can be turned (tiles.h). */
#include "sweep_kernel.cuh"

namespace {

template <int name> constexpr const void *brief_kernel() {
    if constexpr (is_flat(name) || is_coarse(name) || lines_of_a_lane(name, true) > 1)
        return NULL;
    else
        return (const void *)sweep_pencils<name, double, double, 1, false, false, false, true>;
}

/* D3N7's needs no registers of other warps, and is faster without them. */
template <int name> constexpr const void *constant_kernel() {
    constexpr bool moves_registers = name != SHAPE_D3N7;
    if constexpr (is_flat(name) || is_coarse(name))
        return NULL;
    else
        return (const void *)
            sweep_pencils<name, double, double, 1, false, false, false, moves_registers, true>;
}

} // namespace

const void *sweep_constant_kernel(gsw_shape_name name) {
#define CONSTANT_KERNEL(name, lower) constant_kernel<SHAPE_##name>(),
    static const void *const kernels[SHAPE_COUNT] = {
        NULL, GSW_NAMED_STENCILS(CONSTANT_KERNEL, GSW_NO_OFFSET)};
#undef CONSTANT_KERNEL
    return kernels[name];
}

const void *sweep_brief_kernel(gsw_shape_name name) {
#define BRIEF_KERNEL(name, lower) brief_kernel<SHAPE_##name>(),
    static const void *const kernels[SHAPE_COUNT] = {
        NULL, GSW_NAMED_STENCILS(BRIEF_KERNEL, GSW_NO_OFFSET)};
#undef BRIEF_KERNEL
    return kernels[name];
}
