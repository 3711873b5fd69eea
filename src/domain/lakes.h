/* lakes.h: the basins beside the largest one, for multigrid.
 *
 * A lake is coupled to nothing but the weak extension (masked.h). Where little else holds its mean,
 * the hierarchy takes the extension for what holds it, and corrects the mean by far too little: a
 * conjugate gradient needs an iteration more for each lake. So a cycle adds, for each such basin k,
 *
 *   x += 1_k (1_k' A 1_k)^-1 1_k' b
 *
 * which is the exact correction along 1_k, the vector that is 1 in the basin and 0 elsewhere: the
 * basins are not coupled, so 1_k' A 1_k is the sum of the basin's rows. Nicolaides, SIAM J. Numer.
 * Anal. 24 (1987), has such vectors for subdomains. (perf/DECISIONS.md, Lakes) */
#ifndef GSW_LAKES_H
#define GSW_LAKES_H

#include "contract/box_ops.h"
#include "contract/context.h"

/* {0}: there are none. In the backend's memory. */
typedef struct gsw_lakes {
    int64_t count;          /* basins, of all processes where they share them */
    int64_t *begin, *point; /* their points are point[begin[k]] to point[begin[k + 1] - 1] */
    double *scale;          /* 1 / (1_k' A 1_k) */
    double *sums;           /* shared lakes: room for a sum of each; NULL: no process shares them */
    void *block;
} gsw_lakes;

/* Finds the lakes of a box whose matrix has been extended weakly into `arrays`; `box` says the
 * grid, the near stencil and the mask. `others`: the frame of the box on several processes, or
 * NULL. Lakes that reach another process or the seam of a periodic axis are left out, and all of
 * them where they are an eighth of all points or more. What was open is closed before. Errors:
 * OUT_OF_MEMORY, DEVICE. */
gsw_status gsw_lakes_take(gsw_context *context, const gsw_matrix *box, const gsw_frame *others,
                          const double *const *arrays, gsw_lakes *lakes);

/* The same on several processes in host memory: all lakes, of which each process has the points in
 * its box. `whole` says the whole grid, the stencil and the whole mask; the box begins at `begin`.
 * Collective, but for what fails in a process alone; gsw_lakes_add() is, too, then. */
gsw_status gsw_lakes_take_shared(gsw_context *context, const gsw_matrix *whole,
                                 const int64_t begin[3], const gsw_matrix *box,
                                 const double *const *arrays, gsw_lakes *lakes);
void gsw_lakes_close(gsw_context *context, gsw_lakes *lakes);

/* Adds the corrections for b to x. */
gsw_status gsw_lakes_add(gsw_context *context, const gsw_lakes *lakes, gsw_dtype type,
                         const void *b, void *x);

#endif
