/* distributed_rows.h: the rows of a process and of points around its box, as a matrix of their own,
 * with which the set-up of multigrid works as on one process. */
#ifndef GSW_DISTRIBUTED_ROWS_H
#define GSW_DISTRIBUTED_ROWS_H

#include "contract/multigrid_ops.h"
#include "distributed_matrix.h"
#include "space/frames.h"

/* Rows of the matrix in a frame around the box. Couplings that leave the frame but not the grid are
 * there, too; kernels count them as absent. */
typedef struct gsw_distributed_rows {
    gsw_distributed_matrix *of;
    gsw_ghosts ghosts;
    gsw_matrix matrix; /* on the frame, fp64 */
    double *values[GSW_STENCIL_MAX];
    double *block;
    void *room;     /* of own values that the matrix does not hold as fp64; NULL: it does */
    int64_t points; /* of the frame */
} gsw_distributed_rows;

/* Opens rows in frames, and fetches their present values; and does both. Collective. *rows can be
 * closed on failure, too. */
gsw_status gsw_distributed_rows_reserve(gsw_distributed_matrix *matrix,
                                        const gsw_frame_reach *reach, gsw_distributed_rows *rows);
gsw_status gsw_distributed_rows_fetch(gsw_distributed_rows *rows);
gsw_status gsw_distributed_rows_open(gsw_distributed_matrix *matrix, const gsw_frame_reach *reach,
                                     gsw_distributed_rows *rows);

/* The same in frames that reach as far as the stencil, also around the grid. */
gsw_status gsw_distributed_rows_around(gsw_distributed_matrix *matrix, gsw_distributed_rows *rows);
void gsw_distributed_rows_close(gsw_distributed_rows *rows);

/* The survey of the whole grid, the same in all processes (multigrid_ops.h). Frames reach at least
 * as far as the stencil. Rows are those of the grid. Collective. */
gsw_status gsw_distributed_survey(const gsw_distributed_rows *rows, int mirror, gsw_survey *survey);
gsw_status gsw_distributed_survey_matrix(gsw_distributed_matrix *matrix, gsw_survey *survey);

#endif
