/* simd.h: eight lanes as one vector, with the compiler's vector extension (gcc >= 12, clang). So
 * the same source serves every instruction set. It needs VALUE (double or float), SIMD(name), which
 * gives names for that type, and PART_LANES, the lanes that fit a register: GSW_LANES_F64 or
 * GSW_LANES_F32. It is included once for each type. */
#ifndef GSW_LANES_F64
#if defined(__AVX512F__)
#define GSW_LANES_F64 8
#define GSW_LANES_F32 8
#elif defined(__AVX__)
#define GSW_LANES_F64 4
#define GSW_LANES_F32 8
#else
#define GSW_LANES_F64 2
#define GSW_LANES_F32 4
#endif
#endif

typedef VALUE SIMD(vec) __attribute__((vector_size(8 * sizeof(VALUE)), may_alias));
typedef VALUE SIMD(loose)
    __attribute__((vector_size(8 * sizeof(VALUE)), aligned(sizeof(VALUE)), may_alias));

static inline __attribute__((always_inline)) SIMD(vec) SIMD(load)(const VALUE *from) {
    return *(const SIMD(loose) *)from;
}

static inline __attribute__((always_inline)) void SIMD(store)(VALUE *to, SIMD(vec) value) {
    *(SIMD(loose) *)to = value;
}

/* Transposes the 8 x 8 square whose rows are from[0..7] to the rows to[0..7], which are other
 * memory, in blocks whose rows fit registers. */
#if PART_LANES == 2
typedef VALUE SIMD(pair)
    __attribute__((vector_size(2 * sizeof(VALUE)), aligned(sizeof(VALUE)), may_alias));

static inline __attribute__((always_inline)) void SIMD(transpose)(const VALUE *const from[8],
                                                                  VALUE *const to[8]) {
    for (int i = 0; i < 8; i += 2)
        for (int j = 0; j < 8; j += 2) {
            const SIMD(pair) a = *(const SIMD(pair) *)(from[i] + j);
            const SIMD(pair) b = *(const SIMD(pair) *)(from[i + 1] + j);
            *(SIMD(pair) *)(to[j] + i) = __builtin_shufflevector(a, b, 0, 2);
            *(SIMD(pair) *)(to[j + 1] + i) = __builtin_shufflevector(a, b, 1, 3);
        }
}
#elif PART_LANES == 4
typedef VALUE SIMD(quad)
    __attribute__((vector_size(4 * sizeof(VALUE)), aligned(sizeof(VALUE)), may_alias));

static inline __attribute__((always_inline)) void SIMD(transpose)(const VALUE *const from[8],
                                                                  VALUE *const to[8]) {
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 8; j += 4) {
            SIMD(quad) r[4];
            for (int k = 0; k < 4; k++)
                r[k] = *(const SIMD(quad) *)(from[i + k] + j);
            const SIMD(quad) a = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6);
            const SIMD(quad) b = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7);
            const SIMD(quad) c = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6);
            const SIMD(quad) d = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
            *(SIMD(quad) *)(to[j] + i) = __builtin_shufflevector(a, c, 0, 1, 4, 5);
            *(SIMD(quad) *)(to[j + 1] + i) = __builtin_shufflevector(b, d, 0, 1, 4, 5);
            *(SIMD(quad) *)(to[j + 2] + i) = __builtin_shufflevector(a, c, 2, 3, 6, 7);
            *(SIMD(quad) *)(to[j + 3] + i) = __builtin_shufflevector(b, d, 2, 3, 6, 7);
        }
}
#else
/* In three rounds, which swap off-diagonal blocks of 4, 2 and 1. */
static inline __attribute__((always_inline)) void SIMD(transpose)(const VALUE *const from[8],
                                                                  VALUE *const to[8]) {
    SIMD(vec) r[8];
    for (int i = 0; i < 8; i++)
        r[i] = SIMD(load)(from[i]);
#define SWAP(i, distance, ...)                                                                     \
    do {                                                                                           \
        const SIMD(vec) a = r[i], b = r[(i) + (distance)];                                         \
        r[i] = __builtin_shufflevector(a, b, __VA_ARGS__);                                         \
        r[(i) + (distance)] = __builtin_shufflevector(a, b, HIGH_##distance);                      \
    } while (0)
#define LOW_4  0, 1, 2, 3, 8, 9, 10, 11
#define HIGH_4 4, 5, 6, 7, 12, 13, 14, 15
#define LOW_2  0, 1, 8, 9, 4, 5, 12, 13
#define HIGH_2 2, 3, 10, 11, 6, 7, 14, 15
#define LOW_1  0, 8, 2, 10, 4, 12, 6, 14
#define HIGH_1 1, 9, 3, 11, 5, 13, 7, 15
    for (int i = 0; i < 4; i++)
        SWAP(i, 4, LOW_4);
    for (int i = 0; i < 8; i += 4) {
        SWAP(i, 2, LOW_2);
        SWAP(i + 1, 2, LOW_2);
    }
    for (int i = 0; i < 8; i += 2)
        SWAP(i, 1, LOW_1);
    for (int i = 0; i < 8; i++)
        SIMD(store)(to[i], r[i]);
#undef SWAP
#undef LOW_4
#undef HIGH_4
#undef LOW_2
#undef HIGH_2
#undef LOW_1
#undef HIGH_1
}
#endif
