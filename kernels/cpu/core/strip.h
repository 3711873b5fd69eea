/* strip.h: vectors that fill one register, unaligned. Compilers take wider vectors apart, often
 * through memory. The same source serves every instruction set.
 *
 * STRIP_BYTES is the size of a register, unless it is defined before. STRIP_VALUES(VALUE) is the
 * number of values in a strip. lanes_f64 and lanes_f32 are masks of strips. */
#ifndef GSW_CPU_STRIP_H
#define GSW_CPU_STRIP_H

#include <stddef.h>
#include <stdint.h>

#ifndef STRIP_BYTES
#if defined(__AVX512F__)
#define STRIP_BYTES 64
#elif defined(__AVX__)
#define STRIP_BYTES 32
#else
#define STRIP_BYTES 16
#endif
#endif

#define STRIP_VALUES(VALUE) ((int64_t)(STRIP_BYTES / sizeof(VALUE)))

typedef double strip_f64 __attribute__((vector_size(STRIP_BYTES), aligned(8), may_alias));
typedef float strip_f32 __attribute__((vector_size(STRIP_BYTES), aligned(4), may_alias));
typedef int64_t lane_f64;
typedef int32_t lane_f32;
typedef int64_t lanes_f64 __attribute__((vector_size(STRIP_BYTES), aligned(8), may_alias));
typedef int32_t lanes_f32 __attribute__((vector_size(STRIP_BYTES), aligned(4), may_alias));

/* Prefetches `bytes` bytes into the second-level cache. With 27 arrays that takes a quarter less
 * time than prefetches into the first level, wherever the arrays begin (perf/DECISIONS.md, Prefetch
 * into the second level). Functions that only prefetch are always inlined: gcc removes calls of
 * them, because they have no effect. */
static inline __attribute__((always_inline)) void gsw_prefetch_l2(const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const char *)from + i, 0, 2);
}

#endif
