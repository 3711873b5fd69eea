/* elements.h: the one list of what a coefficient, or a value of a vector, can be. The CPU's kernels
 * are built for them by cpu/core/typed.inc. */
#ifndef GSW_ELEMENTS_H
#define GSW_ELEMENTS_H

#include <gridsweep/matrix.h>

/* ROW(gsw_dtype, type, name) */
#define GSW_ELEMENTS(ROW) ROW(GSW_F64, double, f64) ROW(GSW_F32, float, f32)

static inline int gsw_is_element(gsw_dtype type) {
#define GSW_IS(dtype, ctype, name) type == dtype ||
    return GSW_ELEMENTS(GSW_IS) 0;
#undef GSW_IS
}

/* Calls the one of name_f64_f64, name_f64_f32 and name_f32_f32 for vectors and coefficients of
 * these types. No coefficient is wider than the vectors. */
#define GSW_CALL_PAIR(name, vectors, coefficients, ...)                                            \
    ((vectors) == GSW_F32        ? name##_f32_f32(__VA_ARGS__)                                     \
     : (coefficients) == GSW_F32 ? name##_f64_f32(__VA_ARGS__)                                     \
                                 : name##_f64_f64(__VA_ARGS__))

/* Calls the one of name_f64 and name_f32. */
#define GSW_CALL_VALUE(name, type, ...)                                                            \
    ((type) == GSW_F32 ? name##_f32(__VA_ARGS__) : name##_f64(__VA_ARGS__))

#endif
