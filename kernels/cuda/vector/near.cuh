/* near.cuh: couplings that reach two points or less along each axis. Bits decide in few
 * instructions whether a coupling stays inside the grid. */
#ifndef GSW_CUDA_NEAR_CUH
#define GSW_CUDA_NEAR_CUH

#include <stdint.h>

namespace {

enum { NEAR_REACH = 2 };

/* Which neighbours a point lacks along an axis, as bits: 1 and 2 before it, 1 and 2 after it. */
__host__ __device__ constexpr uint32_t lacks(uint32_t i, uint32_t extent) {
    return (i < 1 ? 1u : 0u) | (i < 2 ? 2u : 0u) | (i + 1 >= extent ? 4u : 0u) |
           (i + 2 >= extent ? 8u : 0u);
}

/* Which of them an offset's component needs. */
__host__ __device__ constexpr uint32_t needs(int32_t d) {
    return d == 0 ? 0 : d < 0 ? 1u << (-d - 1) : 4u << (d - 1);
}

/* Of a term that fills up a batch, or has no array. */
constexpr uint32_t NOTHING_HAS = 1u << 15;

/* The bits above are these. */
constexpr uint32_t LACKS = 0xffff;

/* Edges of a section that a point lies at: the one behind it along z, as a sweep goes, the one
 * behind it along y + shear z, and that one or a line from it; and a bit that all points have. A
 * term of sections has the edges that make it one: it counts at any of them. */
constexpr uint32_t EDGE_PLANE = 1u << 16, EDGE_LINE = 1u << 17, EDGE_LINES = 1u << 18,
                   EDGE_ALWAYS = 1u << 19;

/* The edges across which an offset leads backwards, that far along z and along y + shear z. */
__host__ __device__ constexpr uint32_t crosses(int32_t planes, int32_t lines) {
    return (planes > 0 ? EDGE_PLANE : 0u) | (lines == 1 ? EDGE_LINE : 0u) |
           (lines == 2 ? EDGE_LINES : 0u);
}

/* All bits of a point: of x, y and z, and the one that no point has. */
__host__ __device__ constexpr uint32_t all_lacks(uint32_t x, uint32_t y, uint32_t z, uint32_t nx,
                                                 uint32_t ny, uint32_t nz) {
    return lacks(x, nx) | lacks(y, ny) << 4 | lacks(z, nz) << 8 | NOTHING_HAS;
}

/* All bits that an offset needs. */
__host__ __device__ constexpr uint32_t all_needs(int32_t dx, int32_t dy, int32_t dz) {
    return needs(dx) | needs(dy) << 4 | needs(dz) << 8;
}

} // namespace

#endif
