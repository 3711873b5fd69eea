/* wrapped_level.h: levels on periodic grids. Kernels know a level's box; what is coupled around it
 * follows, for the seam alone (geometry/seam_level.h). Smoothers are those of the box: a step on A
 * x = b is one of the box on B x = b - W x, with W x of the step's beginning. If A is symmetric and
 * an M-matrix, so is what the smoother leaves out: cycles stay symmetric and convergent. */
#ifndef GSW_WRAPPED_LEVEL_H
#define GSW_WRAPPED_LEVEL_H

#include "hierarchy.h"

/* Whether a level has couplings around its grid. */
static inline int gsw_level_is_wrapped(const gsw_level *level) {
    return level->around.block != NULL;
}

/* Opens what a level needs for its transfer, and W of the next one. */
gsw_status gsw_wrapped_open_transfer(gsw_multigrid *mg, gsw_level *level, gsw_level *coarse);

/* Opens the vectors that a level's smoother needs. */
gsw_status gsw_wrapped_open_vectors(gsw_multigrid *mg, gsw_level *level);

/* After the kernels for boxes: completes the weights (`which`: 0 of P, 1 of R), and the coarse
 * matrix. */
gsw_status gsw_wrapped_weigh(const gsw_multigrid *mg, const gsw_level *level, int which,
                             gsw_rows rows);
gsw_status gsw_wrapped_triple(const gsw_multigrid *mg, gsw_level *level, const gsw_level *coarse);

/* Before a step of a smoother of the box: b -= W x; and after it: b is what it was. Both do nothing
 * where there is no W. */
gsw_status gsw_wrapped_shear(const gsw_multigrid *mg, const gsw_level *level);
gsw_status gsw_wrapped_restore(const gsw_multigrid *mg, const gsw_level *level);

/* Where kernels restrict to; after them this completes R (b - A x), and brings it to the next
 * level's b. */
void *gsw_wrapped_target(const gsw_level *next);
gsw_status gsw_wrapped_restrict(const gsw_multigrid *mg, const gsw_level *level,
                                const gsw_level *next);

/* *x: the next level's x, as kernels prolong it; after them the second call completes x + P e. */
gsw_status gsw_wrapped_source(const gsw_multigrid *mg, const gsw_level *next, const void **x);
gsw_status gsw_wrapped_prolong_add(const gsw_multigrid *mg, const gsw_level *level,
                                   const void *from);

void gsw_wrapped_close_level(gsw_multigrid *mg, gsw_level *level);

#endif
