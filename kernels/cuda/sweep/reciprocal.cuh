/* reciprocal.cuh: reciprocals of pivots, without a branch. */
#ifndef GSW_CUDA_RECIPROCAL_CUH
#define GSW_CUDA_RECIPROCAL_CUH

#include <stdint.h>

namespace {

/* Neither v nor its reciprocal is NaN or near the ends of the range. */
__device__ __forceinline__ bool has_plain_reciprocal(double v) {
    const uint32_t size = (uint32_t)__double2hiint(v) & 0x7fffffffu;
    return size >= 0x00300000u && size < 0x7fb00000u;
}
/* The same for fp32, which shall hold the value and its reciprocal. */
__device__ __forceinline__ bool has_narrow_reciprocal(double v) {
    const uint32_t size = (uint32_t)__double2hiint(v) & 0x7fffffffu;
    return size > 0x37f00000u && size < 0x47efffffu;
}
/* The reciprocal of such a value, to a unit in the last place: an approximation of 20 bits, and one
 * step of third order. */
__device__ __forceinline__ double near_reciprocal(double v) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(v));
    const double e = fma(-v, r, 1.0);
    return fma(r, fma(e, e, e), r);
}

/* The same with a step of Newton's iteration more: nearly always the nearest number. */
__device__ __forceinline__ double plain_reciprocal(double v) {
    const double r = near_reciprocal(v);
    return fma(r, fma(-v, r, 1.0), r);
}

} // namespace

#endif
