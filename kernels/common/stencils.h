/* stencils.h: the named stencils, one row each. All other facts about a named stencil follow from
 * its row: points, detection, couplings in sweep coordinates, tiles, and kernels. */
#ifndef GSW_STENCILS_H
#define GSW_STENCILS_H

#include <gridsweep/grid.h>

/* ROW(name, lower): `lower` is O(dx, dy, dz) for each offset of the lower part, in ascending
 * (dz, dy, dx) order. Every stencil also holds (-1, 0, 0), the last offset of the lower part, which
 * is not listed; the centre; and the upper part, which is the lower part's mirror image. The name
 * is D, the dimensions, N, the number of points, and an axis if the name needs one. No row overruns
 * an array: static assertions refuse a row that its users cannot hold. */
#define GSW_NAMED_STENCILS(ROW, O)                                                                 \
    ROW(D2N5, O(0, -1, 0))                                                                         \
    ROW(D2N9, O(-1, -1, 0) O(0, -1, 0) O(1, -1, 0))                                                \
    ROW(D3N7, O(0, 0, -1) O(0, -1, 0))                                                             \
    ROW(D3N13, O(0, 0, -2) O(0, 0, -1) O(0, -2, 0) O(0, -1, 0) O(-2, 0, 0))                        \
    ROW(D3N15, O(-1, -1, -1) O(1, -1, -1) O(0, 0, -1) O(-1, 1, -1) O(1, 1, -1) O(0, -1, 0))        \
    ROW(D3N15X, O(-1, 0, -1) O(0, 0, -1) O(1, 0, -1) O(-1, -1, 0) O(0, -1, 0) O(1, -1, 0))         \
    ROW(D3N15Y, O(0, -1, -1) O(0, 0, -1) O(0, 1, -1) O(-1, -1, 0) O(0, -1, 0) O(1, -1, 0))         \
    ROW(D3N15Z, O(0, -1, -1) O(-1, 0, -1) O(0, 0, -1) O(1, 0, -1) O(0, 1, -1) O(0, -1, 0))         \
    ROW(D3N19, O(0, -1, -1) O(-1, 0, -1) O(0, 0, -1) O(1, 0, -1) O(0, 1, -1) O(-1, -1, 0)          \
                   O(0, -1, 0) O(1, -1, 0))                                                        \
    ROW(D3N27, O(-1, -1, -1) O(0, -1, -1) O(1, -1, -1) O(-1, 0, -1) O(0, 0, -1) O(1, 0, -1)        \
                   O(-1, 1, -1) O(0, 1, -1) O(1, 1, -1) O(-1, -1, 0) O(0, -1, 0) O(1, -1, 0))      \
    ROW(D3N33, O(0, 0, -2) O(-1, -1, -1) O(0, -1, -1) O(1, -1, -1) O(-1, 0, -1) O(0, 0, -1)        \
                   O(1, 0, -1) O(-1, 1, -1) O(0, 1, -1) O(1, 1, -1) O(0, -2, 0) O(-1, -1, 0)       \
                       O(0, -1, 0) O(1, -1, 0) O(-2, 0, 0))

/* For users of a row that need no offsets. */
#define GSW_NO_OFFSET(dx, dy, dz)

enum {
#define GSW_COUNT_ROW(name, lower) +1
    GSW_NAMED_COUNT = 0 GSW_NAMED_STENCILS(GSW_COUNT_ROW, GSW_NO_OFFSET)
#undef GSW_COUNT_ROW
};

/* A row as data. */
typedef struct gsw_named_stencil {
    const char *name;
    int32_t terms;           /* offsets of the lower part, (-1, 0, 0) included */
    const gsw_offset *lower; /* ascending */
} gsw_named_stencil;

extern const gsw_named_stencil gsw_named_stencils[GSW_NAMED_COUNT];

#endif
