/* repeats.h: factors of coefficients that repeat store equal groups of lines once.
 *
 * The rows of a line depend on where the line is: outside the grid, or inside and so many lines, up
 * to the reach of the stencil, from each end of y and z. That is the line's kind. Groups whose
 * lines have equal kinds share their records. */
#ifndef GSW_REPEATS_H
#define GSW_REPEATS_H

#include <gridsweep/matrix.h>
#include "contract/backend.h"

/* Whether lines of the factor may be equal at all. A group has more than one line. */
int gsw_lines_repeat(const gsw_factor *factor);

/* The farthest that the stencil reaches along y or z. */
int64_t gsw_lines_reach(const gsw_stencil *stencil);

/* The kind of line (y, z) of ny x nz lines, also in a mirrored grid. */
int64_t gsw_line_kind(gsw_repeat repeat, int64_t reach, int64_t ny, int64_t nz, int64_t y,
                      int64_t z);

/* Distinct groups of `lines` kinds. */
typedef struct gsw_groups {
    int32_t lines;
    int64_t count, room;
    int64_t *kinds; /* [count][lines]; free() it */
} gsw_groups;

/* *number receives the place of the group with these kinds, which is added where there is none. The
 * search begins at *number. Errors: OUT_OF_MEMORY. */
gsw_status gsw_groups_find(gsw_context *context, gsw_groups *groups, const int64_t *kinds,
                           int64_t *number);

#endif
