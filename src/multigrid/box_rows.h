/* box_rows.h: a matrix of one process as the set-up of a hierarchy reads it: stencil arrays without
 * couplings around a periodic grid, extended weakly into inactive points (common/mask.h). They can
 * be surveyed before it is known whether there will be a hierarchy, which then takes them over. */
#ifndef GSW_BOX_ROWS_H
#define GSW_BOX_ROWS_H

#include "contract/multigrid_ops.h"
#include "domain/wrapped.h"
#include "level_arrays.h"

typedef struct gsw_box_rows {
    gsw_matrix view;         /* the caller's arrays, or the copies below */
    gsw_level_arrays arrays; /* fp64; block NULL: nothing was copied */
    gsw_wrapped around;      /* the couplings around the grid */
    int64_t bytes;
    int64_t planes; /* of each grid, where grids that nothing couples follow each other; else 0 */
    int is_surveyed;
    gsw_survey survey; /* it stays when the arrays are released */
} gsw_box_rows;

/* Takes a matrix that has been checked; {0} is one without memory. Needs the backend's multigrid
 * operations. On failure release it. Errors: OVERFLOW, OUT_OF_MEMORY, NOT_A_GRID. */
gsw_status gsw_box_rows_take(gsw_context *context, const gsw_matrix *matrix, gsw_box_rows *rows);
/* Moves them; the view then reads the arrays where they are now. */
void gsw_box_rows_move(gsw_box_rows *from, gsw_box_rows *to);
void gsw_box_rows_release(gsw_context *context, gsw_box_rows *rows);

#endif
