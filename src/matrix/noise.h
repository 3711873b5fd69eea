/* noise.h: random numbers of the model problems, the same on every machine: a hash of seed, row and
 * offset built on the finaliser of SplitMix64 (Steele, Lea and Flood, 2014). */
#ifndef GSW_NOISE_H
#define GSW_NOISE_H

#include <stdint.h>

#define GSW_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t gsw_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The `index`-th number of row `row` in the stream of `seed`, uniform in [-1, 1): 53 bits. */
static inline double gsw_random_value(uint64_t seed, int64_t row, int32_t index) {
    uint64_t h = gsw_mix(seed + GSW_GOLDEN);
    h = gsw_mix(h + ((uint64_t)row + 1) * GSW_GOLDEN);
    h = gsw_mix(h + ((uint64_t)index + 1) * GSW_GOLDEN);
    return (double)(h >> 11) * 0x1p-52 - 1.0;
}

static inline double gsw_lerp(double a, double b, double t) {
    return a + t * (b - a);
}

#endif
