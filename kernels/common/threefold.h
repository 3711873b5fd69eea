/* threefold.h: sums of three words, as in three times the working precision (Dot3 of Ogita, Rump
 * and Oishi, SIAM J. Sci. Comput. 26, 2005).
 *
 * The second and the third word carry what rounding loses. Rounded at the end, such a sum is nearly
 * always the double next to the true one. So a vector that is cut in other pieces, or lies in
 * several processes, has the same sum. Two words are not enough, nor two between processes: where
 * BiCGSTAB nearly breaks down, the terms of a sum are more than 1e12 times as large as the sum. */
#ifndef GSW_THREEFOLD_H
#define GSW_THREEFOLD_H

#include "common/host_device.h"

typedef struct gsw_threefold {
    double sum, rest, last;
} gsw_threefold;

/* to += value; returns the rounding error, exactly. */
GSW_HD double gsw_add_exactly(double *to, double value) {
    const double sum = *to + value, part = sum - *to;
    const double error = (*to - (sum - part)) + (value - part);
    *to = sum;
    return error;
}

GSW_HD void gsw_threefold_add_rest(gsw_threefold *to, double rest) {
    to->last += gsw_add_exactly(&to->rest, rest);
}

GSW_HD void gsw_threefold_add(gsw_threefold *to, const gsw_threefold *value) {
    gsw_threefold_add_rest(to, gsw_add_exactly(&to->sum, value->sum));
    gsw_threefold_add_rest(to, value->rest);
    to->last += value->last;
}

/* The double next to it. The rests of an infinite sum mean nothing. */
GSW_HD double gsw_threefold_round(const gsw_threefold *value) {
    double sum = value->sum;
    if (!(sum - sum == 0))
        return sum;
    const double rest = gsw_add_exactly(&sum, value->rest);
    return sum + (rest + value->last);
}

#endif
