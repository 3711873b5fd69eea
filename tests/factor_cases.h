/* factor_cases.h: the options that the tests of packed factors try, on every backend. */
#ifndef GSW_TESTS_FACTOR_CASES_H
#define GSW_TESTS_FACTOR_CASES_H

#include <gridsweep/gridsweep.h>

#include "oracle.h"

#define OMEGA 1.3

/* Types of factor and vectors. */
static const struct {
    gsw_dtype factor, vector;
} types[] = {{GSW_F64, GSW_F64}, {GSW_F32, GSW_F64}, {GSW_F32, GSW_F32}};
#define TYPES ((int)(sizeof types / sizeof types[0]))

/* The options to combine: kinds, transposes, unit diagonals. `unit_diagonal` affects some kinds
 * only. */
#define OPTIONS ((GSW_FACTOR_LU + 1) * 4)

static inline int is_symmetric(const gsw_stencil *stencil) {
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        if (gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz}) < 0)
            return 0;
    }
    return 1;
}

/* The i-th of the OPTIONS; 0 where it repeats another or where the stencil does not allow it. */
static inline int options_at(int i, int type, const gsw_stencil *stencil,
                             gsw_factor_options *options) {
    *options = (gsw_factor_options){.size = sizeof(gsw_factor_options),
                                    .kind = (gsw_factor_kind)(i / 4),
                                    .transpose = i & 1,
                                    .unit_diagonal = i >> 1 & 1,
                                    .factor_type = types[type].factor,
                                    .vector_type = types[type].vector,
                                    .omega = OMEGA};
    if (options->kind == GSW_IC0 && !is_symmetric(stencil))
        return 0;
    return options->kind >= GSW_FACTOR_LOWER || !options->unit_diagonal;
}

/* The error that a solve may have: that of the coarser type. */
static inline double tolerance_of(const gsw_factor_options *options) {
    return oracle_tolerance(options->factor_type == GSW_F32 ? GSW_F32 : options->vector_type);
}

#endif
