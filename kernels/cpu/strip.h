/* strip.h: vectors that fill one register, unaligned. Some compilers pass wider vectors through
 * memory. The same source serves every instruction set.
 *
 * STRIP_VALUES(VALUE) is the number of values in a strip. STRIP_ZIP_LOW and its variants are lists
 * of lanes for __builtin_shufflevector of two strips: they interleave, or take every second
 * lane. */
#ifndef GSW_CPU_STRIP_H
#define GSW_CPU_STRIP_H

#include <stddef.h>
#include <stdint.h>

#if defined(__AVX512F__)
#define STRIP_BYTES 64
#else
#define STRIP_BYTES 32
#endif

#define STRIP_VALUES(VALUE) ((int64_t)(STRIP_BYTES / sizeof(VALUE)))

typedef double strip_f64 __attribute__((vector_size(STRIP_BYTES), aligned(8), may_alias));
typedef float strip_f32 __attribute__((vector_size(STRIP_BYTES), aligned(4), may_alias));
typedef int64_t lane_f64;
typedef int32_t lane_f32;
typedef int64_t lanes_f64 __attribute__((vector_size(STRIP_BYTES), aligned(8), may_alias));
typedef int32_t lanes_f32 __attribute__((vector_size(STRIP_BYTES), aligned(4), may_alias));

/* Prefetches `bytes` bytes into the second-level cache. With 27 arrays that takes a quarter less
 * time than prefetches into the first level, wherever the arrays begin (perf/NOTES.md). Functions
 * that only prefetch are always inlined: gcc removes calls of them, because they have no effect. */
static inline __attribute__((always_inline)) void gsw_prefetch_l2(const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const char *)from + i, 0, 2);
}

#define STRIP_EVEN_4  0, 2, 4, 6
#define STRIP_ODD_4   1, 3, 5, 7
#define STRIP_LOW_4   0, 4, 1, 5
#define STRIP_HIGH_4  2, 6, 3, 7
#define STRIP_EVEN_8  0, 2, 4, 6, 8, 10, 12, 14
#define STRIP_ODD_8   1, 3, 5, 7, 9, 11, 13, 15
#define STRIP_LOW_8   0, 8, 1, 9, 2, 10, 3, 11
#define STRIP_HIGH_8  4, 12, 5, 13, 6, 14, 7, 15
#define STRIP_EVEN_16 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define STRIP_ODD_16  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define STRIP_LOW_16  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define STRIP_HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

/* Lanes `which` of strips a and b of the type `suffix`. */
#if STRIP_BYTES == 64
#define STRIP_SHUFFLE_f64(a, b, which) __builtin_shufflevector(a, b, STRIP_##which##_8)
#define STRIP_SHUFFLE_f32(a, b, which) __builtin_shufflevector(a, b, STRIP_##which##_16)
#else
#define STRIP_SHUFFLE_f64(a, b, which) __builtin_shufflevector(a, b, STRIP_##which##_4)
#define STRIP_SHUFFLE_f32(a, b, which) __builtin_shufflevector(a, b, STRIP_##which##_8)
#endif

#endif
