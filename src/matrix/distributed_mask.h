/* distributed_mask.h: inactive points of a matrix on several processes, for the set-up of
 * multigrid.
 */
#ifndef GSW_DISTRIBUTED_MASK_H
#define GSW_DISTRIBUTED_MASK_H

#include "distributed_matrix.h"

/* The mask of the whole grid, from those of the boxes, in new memory of the backend
 * (gsw_unreserve(), also after a failure). Collective. */
gsw_status gsw_mask_of_grid(gsw_partition *p, const uint8_t *active, uint8_t **whole);

/* Extends rows of a matrix with a mask weakly into the inactive points (common/mask.h); `active` is
 * the mask of the box. Each process finds the nearest active points in its own box. Collective. */
gsw_status gsw_distributed_matrix_extend(gsw_distributed_matrix *a, const uint8_t *active);

#endif
