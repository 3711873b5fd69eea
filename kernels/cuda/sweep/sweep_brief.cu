/* sweep_brief.cu: the sweep's kernels for boxes with short lines, in fp64.
 *
 * Their pencils spend most of their time beginning, so a multiprocessor has two blocks. Stars have
 * none, because their lines can be turned (tiles.h). */
#include "sweep_kernel.cuh"

namespace {

template <int name> constexpr const void *brief_kernel() {
    if constexpr (is_flat(name) || is_coarse(name) || lines_of_a_lane(name, true) > 1)
        return NULL;
    else
        return (const void *)sweep_pencils<name, double, double, 1, false, false, false, true>;
}

} // namespace

const void *sweep_brief_kernel(gsw_shape_name name) {
#define BRIEF_KERNEL(name, lower) brief_kernel<SHAPE_##name>(),
    static const void *const kernels[SHAPE_COUNT] = {
        NULL, GSW_NAMED_STENCILS(BRIEF_KERNEL, GSW_NO_OFFSET)};
#undef BRIEF_KERNEL
    return kernels[name];
}
