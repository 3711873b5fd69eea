/* multiply_add.h: a*x + c of single values in one rounding, where the instruction set can do it.
 *
 * It is written out because contraction is the compiler's choice. The compiler may fuse either
 * product of a*x + b*y, or none in a loop whose sums it takes in order. It need not choose the same
 * in every part of a loop. */
#ifndef GSW_CPU_MULTIPLY_ADD_H
#define GSW_CPU_MULTIPLY_ADD_H

/* The value of a product that is rounded before it is used: it is not fused with what follows. The
 * value fits one register. An empty assembly statement hides where it comes from. (Clang's
 * __arithmetic_fence does nothing unless sums may be reordered.) */
#if defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier) /* gcc 12 */
#define ROUNDED(product) __builtin_assoc_barrier(product)
#endif
#endif
#if !defined(ROUNDED) && (defined(__FMA__) || defined(__ARM_FEATURE_FMA))
#ifdef __FMA__
#define ROUNDED_REGISTER "+v"
#else
#define ROUNDED_REGISTER "+w"
#endif
#define ROUNDED(product)                                                                           \
    __extension__({                                                                                \
        __typeof__(product) rounded_ = (product);                                                  \
        __asm__("" : ROUNDED_REGISTER(rounded_));                                                  \
        rounded_;                                                                                  \
    })
#endif
#ifndef ROUNDED
#define ROUNDED(product) (product)
#endif

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)

static inline double multiply_add_f64(double a, double x, double c) {
    return __builtin_fma(a, x, c);
}

static inline float multiply_add_f32(float a, float x, float c) {
    return __builtin_fmaf(a, x, c);
}

#else

static inline double multiply_add_f64(double a, double x, double c) {
    return a * x + c;
}

static inline float multiply_add_f32(float a, float x, float c) {
    return a * x + c;
}

#endif

#endif
