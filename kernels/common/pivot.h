/* pivot.h: which pivots are bad, what replaces them, and what a factor in fp32 cannot hold. Host
 * and device alike. */
#ifndef GSW_PIVOT_H
#define GSW_PIVOT_H

#include <float.h>
#include <math.h>

#include "common/host_device.h"

/* A pivot whose reciprocal, or which itself, is not a number that keeps its digits: 0, less than
 * the least normal number, infinite or NaN. `positive`, for IC(0): negative ones are bad, too. */
GSW_HD int gsw_pivot_is_bad(double pivot, int positive) {
    const double size = fabs(pivot);
    return !(size >= DBL_MIN && size <= DBL_MAX) || (positive && pivot < 0);
}

/* The largest of `largest` and a coefficient that is finite: for the next function. */
GSW_HD double gsw_pivot_larger(double largest, double coefficient) {
    const double size = fabs(coefficient);
    return size > largest && size <= DBL_MAX ? size : largest;
}

/* What replaces a bad pivot: `shift` times the largest of its row's coefficients, or `shift` itself
 * where that is 0. The sign stays, unless all pivots have to be positive. */
GSW_HD double gsw_pivot_shifted(double pivot, double shift, double largest, int positive) {
    shift *= largest > 0 ? largest : 1;
    return pivot < 0 && !positive ? -shift : shift;
}

/* Whether a row determines its unknown nearly alone: the sum of the |couplings| is at most a
 * millionth of |diagonal|. `size`: their sum with the diagonal. */
GSW_HD int gsw_row_is_fixed(double diagonal, double size) {
    return diagonal > 0 && size <= (1 + 1e-6) * diagonal && size <= DBL_MAX;
}

/* Whether the sum of a row is 0 but for rounding; `size`: the sum of its absolute values. */
GSW_HD int gsw_row_sum_is_zero(double sum, double size) {
    return fabs(sum) <= 10 * DBL_EPSILON * size;
}

/* Whether a value is finite in fp64 and infinite in fp32. */
GSW_HD int gsw_is_beyond_f32(double v) {
    return fabs(v) > (double)FLT_MAX && fabs(v) <= DBL_MAX;
}

/* The same for a pivot or a diagonal, of which a factor holds the reciprocal. */
GSW_HD int gsw_pivot_is_beyond_f32(double d) {
    return gsw_is_beyond_f32(d) || gsw_is_beyond_f32(1 / d);
}

#endif
