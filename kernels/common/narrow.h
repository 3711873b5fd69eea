/* narrow.h: what a factor in fp32 cannot hold. Host and device alike. */
#ifndef GSW_NARROW_H
#define GSW_NARROW_H

#include <float.h>
#include <math.h>

#include "common/host_device.h"

/* Whether a value is finite in fp64 and infinite in fp32. */
GSW_HD int gsw_is_beyond_f32(double v) {
    return fabs(v) > (double)FLT_MAX && fabs(v) <= DBL_MAX;
}

/* The same for a pivot or a diagonal, of which a factor holds the reciprocal. */
GSW_HD int gsw_pivot_is_beyond_f32(double d) {
    return gsw_is_beyond_f32(d) || gsw_is_beyond_f32(1 / d);
}

#endif
