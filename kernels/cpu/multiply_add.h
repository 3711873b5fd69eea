/* multiply_add.h: a*x + c of single values in one rounding, where the instruction set can do it.
 *
 * It is written out because contraction is the compiler's choice. The compiler may fuse either
 * product of a*x + b*y, or none in a loop whose sums it takes in order. It need not choose the same
 * in every part of a loop. */
#ifndef GSW_CPU_MULTIPLY_ADD_H
#define GSW_CPU_MULTIPLY_ADD_H

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
